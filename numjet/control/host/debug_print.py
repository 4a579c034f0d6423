"""`debug.print`: values printed when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from numjet.control.host.debug_callback import debug_op, observer, with_options
from numjet.foundation import lazy_import

debug_print_p = debug_op("debug_print", ("fmt", "ordered", "callback"), lambda p: p["ordered"])

format_check = lazy_import.Module("numjet.control.host.format_check")


class _Printer:
    """Prints a format string with values, with NumPy's print options of the call of debug.print."""

    def __init__(self, fmt: str):
        self.fmt, self.options = fmt, np.get_printoptions()
        self.__name__ = f"print({fmt!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            text = self.fmt.format(*args, **kwargs)
        print(text)


def debug_print(fmt: str | None = None, *args: Any, ordered: bool = False, skip_format_check: bool = False,
                **kwargs: Any) -> Any:
    """Prints values when the program runs, on standard output.

    Args:
      fmt: a format string as for str.format (no f-string); {} stands for positional, {name} for keyword arguments.
        Without it, the options alone are given, and the result takes the rest: debug.print(ordered=True)(fmt, x=x).
      args, kwargs: pytrees; leaves that are no arrays or numbers are printed as they are.
      ordered: keep the order of the program. Here prints always do.
      skip_format_check: don't look whether fmt and the arguments fit.

    Raises:
      TypeError: when fmt is no str.
      IndexError, KeyError: when fmt names a missing argument.
      ValueError: for arguments that fmt does not name, as when an f-string was passed.

    Under vmap it prints once per element, under grad the primal values. `effects_barrier()` waits for all prints.

    >>> import numjet as nj
    >>> @nj.jit
    ... def f(x):
    ...     nj.debug.print("x = {:.1f}, twice = {y}", x, y=2 * x)
    ...     return x
    >>> _ = f(3.0).block_until_ready()
    x = 3.0, twice = 6.0
    """
    if fmt is None:
        return with_options("debug_print", debug_print, args, kwargs, ordered=ordered, skip_format_check=skip_format_check)
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print expects a format string first, got {fmt!r} of type {type(fmt).__name__}: write "
                        'debug.print("{}", value)')
    if not skip_format_check:
        format_check.Checker().vformat(fmt, args, kwargs)
    called, arrays = observer("debug.print", _Printer(fmt), args, kwargs)
    debug_print_p.bind(*arrays, fmt=fmt, ordered=bool(ordered), callback=called)
    return None
