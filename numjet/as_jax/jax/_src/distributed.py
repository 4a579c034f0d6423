"""The service by which processes of one computation find each other: this process has none, and is the only one."""
from types import SimpleNamespace

from numjet.distributed import initialize as initialize, is_initialized as is_initialized, shutdown as shutdown

global_state = SimpleNamespace(client=None, service=None, coordinator_address=None, preemption_sync_manager=None,
                               num_processes=1, process_id=0)
