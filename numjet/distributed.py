"""Programs of several processes: each begins with initialize, and then they run the same programs on the devices of all."""

from numjet.api.processes import initialize as initialize, is_initialized as is_initialized, shutdown as shutdown
