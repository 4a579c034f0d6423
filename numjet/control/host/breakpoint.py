"""`debug.breakpoint`: Python's debugger inside of a program, with the current values."""

from __future__ import annotations

import sys
import types
from typing import Any

from numjet.control.host.debug_callback import debug_callback
from numjet.core.trace import ArrayBase
from numjet.foundation import lazy_import, source
from numjet.foundation.tree import tree_leaves

pdb = lazy_import.Module("pdb")


def breakpoint(*, backend: str | None = None, filter_frames: bool = True, num_frames: int | None = None, ordered: bool = False,
               token: Any = None, **kwargs: Any) -> None:
    """Opens pdb when the program reaches this call, with the calling function's local variables as arrays with values.

    `p x` shows a variable, `c` continues. Variables cannot be changed for the program. Inside of loops it opens at every
    iteration; `lax.cond` around it opens it on a condition.

    Args:
      backend: "cli" or "pdb"; both are pdb.
      ordered: keep the order of the program. Here calls always do.
      filter_frames, num_frames, token: accepted for compatibility; there is one frame, the caller's.
      kwargs: further arguments of pdb.Pdb: stdin, stdout.

    Raises:
      ValueError: for other backends.
    """
    del filter_frames, num_frames, token
    if backend not in (None, "cli", "pdb"):
        raise ValueError(f"debug.breakpoint: unknown backend {backend!r}: expected 'cli' or 'pdb'")
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and source.is_internal(frame.f_code):
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("debug.breakpoint: there is no calling function outside of the package")
    session = _Session(frame.f_code.co_filename, frame.f_lineno, frame.f_globals, kwargs)
    debug_callback(session, _values(frame.f_locals), ordered=ordered)


def _values(variables: dict[str, Any]) -> dict[str, Any]:
    """Splits variables: pytrees of arrays become operands; the others are wrapped, to be passed on as they are."""
    return {k: v if _holds_arrays(v) else _Opaque(v) for k, v in variables.items() if isinstance(k, str)}


def _holds_arrays(value: Any) -> bool:
    return any(isinstance(x, ArrayBase) for x in tree_leaves(value))


class _Opaque:
    def __init__(self, value: Any):
        self.value = value


class _Session:
    """Opens the debugger at a line of the user's file."""

    def __init__(self, file: str, line: int, variables: dict[str, Any], options: dict[str, Any]):
        self.file, self.line, self.globals, self.options = file, line, variables, options
        self.__name__ = "breakpoint"

    def __call__(self, values: dict[str, Any]) -> None:
        here = {k: v.value if isinstance(v, _Opaque) else v for k, v in values.items()}
        # A statement at the user's line, so that the debugger shows the lines around it.
        code = compile("\n" * (self.line - 1) + "pass", self.file, "exec")
        pdb.Pdb(**{"nosigint": True, **self.options}).runctx(code, dict(self.globals), here)
