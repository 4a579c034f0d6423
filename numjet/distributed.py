"""Programs of several processes: not supported yet; a program of one process may say so."""

from numjet.api.processes import initialize as initialize, is_initialized as is_initialized, shutdown as shutdown
