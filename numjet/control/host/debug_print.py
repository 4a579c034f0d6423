"""`debug.print` and `debug.log`: values printed or logged when the program runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.control.host.debug_callback import debug_op, observer, with_options
from numjet.foundation import lazy_import, source

debug_print_p = debug_op("debug_print", ("fmt", "ordered", "partitioned", "callback"), lambda p: p["ordered"])

logging = lazy_import.Module("logging")
format_check = lazy_import.Module("numjet.control.host.format_check")


class _Printer:
    """Prints a format string with values, with NumPy's print options of the call of debug.print."""

    verb = "print"

    def __init__(self, fmt: str):
        self.fmt, self.options = fmt, np.get_printoptions()
        self.__name__ = f"{self.verb}({fmt!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            text = self.fmt.format(*args, **kwargs)
        self.show(text)

    def show(self, text: str) -> None:
        """Writes a line at once, as several devices may print at the same time."""
        print(f"{text}\n", end="")


class _Logger(_Printer):
    """Logs a format string with values, under the user's line that called debug.log."""

    verb = "log"

    def __init__(self, fmt: str):
        super().__init__(fmt)
        self.frame = source.user_frame()

    def show(self, text: str) -> None:
        """Hands a record of level INFO to the handlers of the logger, whatever its own level."""
        logger, frame = logging.getLogger("numjet.debug"), self.frame
        file, line, function = (frame.file, frame.line, frame.function) if frame is not None else ("<unknown>", 0, None)
        logger.handle(logger.makeRecord(logger.name, logging.INFO, file, line, text, (), None, function))


def debug_print(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
                skip_format_check: bool = False, **kwargs: Any) -> Any:
    """Prints values when the program runs, on standard output.

    Args:
      fmt: a format string as for str.format (no f-string); {} stands for positional, {name} for keyword arguments.
        Without it, the options alone are given, and the result takes the rest: debug.print(ordered=True)(fmt, x=x).
      args, kwargs: pytrees; leaves that are no arrays or numbers are printed as they are.
      ordered: keep the order of the program. On one device prints always do.
      partitioned: in a program over several devices, each prints its part of the values; without it, the whole is printed once.
      skip_format_check: don't look whether fmt and the arguments fit.

    Raises:
      TypeError: when fmt is no str.
      IndexError, KeyError: when fmt names a missing argument.
      ValueError: for arguments that fmt does not name, as when an f-string was passed; for ordered and partitioned prints on
        several devices, and for ordered prints of the shards of a shard_map.

    Under vmap it prints once per element, under grad the primal values. `effects_barrier()` waits for all prints.

    >>> import numjet as nj
    >>> @nj.jit
    ... def f(x):
    ...     nj.debug.print("x = {:.1f}, twice = {y}", x, y=2 * x)
    ...     return x
    >>> _ = f(3.0).block_until_ready()
    x = 3.0, twice = 6.0
    """
    bind = functools.partial(_bind, _Printer, (ordered, partitioned, skip_format_check))
    return with_options("debug_print", bind, args, kwargs) if fmt is None else bind(fmt, args, kwargs)


def debug_log(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
              skip_format_check: bool = False, **kwargs: Any) -> Any:
    """Logs values when the program runs: `debug.print` through Python's `logging`.

    The records have level INFO and the location of the call. The handlers of the logger "numjet.debug" and of those above it
    get them, whatever the level of the logger is.

    Args: those of `debug.print`.

    Raises:
      TypeError: when fmt is no str.
      IndexError, KeyError: when fmt names a missing argument.
      ValueError: as `debug.print`.

    >>> import logging, sys, numjet as nj
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> logging.getLogger("numjet.debug").addHandler(handler)
    >>> _ = nj.jit(lambda x: nj.debug.log("x = {}", x))(3)
    >>> nj.effects_barrier()
    x = 3
    >>> logging.getLogger("numjet.debug").removeHandler(handler)
    """
    bind = functools.partial(_bind, _Logger, (ordered, partitioned, skip_format_check))
    return with_options("debug_log", bind, args, kwargs) if fmt is None else bind(fmt, args, kwargs)


def _bind(kind: type[_Printer], options: tuple[bool, bool, bool], fmt: Any, args: Sequence[Any], kwargs: dict[str, Any]
          ) -> None:
    """Writes down the call that prints or logs. options: ordered, partitioned, skip_format_check."""
    ordered, partitioned, skip_format_check = options
    if not isinstance(fmt, str):
        raise TypeError(f"debug.{kind.verb} expects a format string first, got {fmt!r} of type {type(fmt).__name__}: write "
                        f'debug.{kind.verb}("{{}}", value)')
    if not skip_format_check:
        format_check.Checker().vformat(fmt, args, kwargs)
    called, arrays = observer(f"debug.{kind.verb}", kind(fmt), args, kwargs)
    debug_print_p.bind(*arrays, fmt=fmt, ordered=bool(ordered), partitioned=bool(partitioned), callback=called)
