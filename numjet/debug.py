"""Looking at values while programs run: `debug.print`, `debug.callback`, `debug.breakpoint`."""

from numjet.control.breakpoint import breakpoint as breakpoint
from numjet.control.debug_callback import debug_callback as callback
from numjet.control.debug_print import debug_print as print

__all__ = ["breakpoint", "callback", "print"]
