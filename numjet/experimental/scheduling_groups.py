"""Groups of operations that XLA plans together."""

from numjet.control.call.metadata_call import scheduling_group as scheduling_group, xla_metadata_call as xla_metadata_call
