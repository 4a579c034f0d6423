"""Debugging of running programs: `debug.print`, `debug.log`, `debug.callback`, `debug.breakpoint`."""

from numjet.control.host.breakpoint import breakpoint as breakpoint
from numjet.control.host.debug_callback import debug_callback as callback
from numjet.control.host.debug_print import debug_log as log, debug_print as print

__all__ = ["breakpoint", "callback", "log", "print"]
