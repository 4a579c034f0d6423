"""Debugging of running programs: `debug.print`, `debug.log`, `debug.callback`, `debug.breakpoint`, pictures of placements."""

from numjet.api.sharding.inspection import (
    inspect_array_sharding as inspect_array_sharding,
    visualize_array_sharding as visualize_array_sharding,
    visualize_sharding as visualize_sharding,
)
from numjet.control.host.breakpoint import breakpoint as breakpoint
from numjet.control.host.debug_callback import debug_callback as callback
from numjet.control.host.debug_print import debug_log as log, debug_print as print

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding", "visualize_sharding"]
