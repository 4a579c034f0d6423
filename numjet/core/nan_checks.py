"""NaN checks (the flags jax_debug_nans and jax_debug_infs): which values are invalid, and the error that says where one was
made."""
from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numjet.core import lanes
from numjet.core.aval import ShapedArray
from numjet.core.lanes import Lanes
from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes, source
from numjet.foundation.config import config
from numjet.foundation.record import Record

STEPS_BACK = "steps_back"  # the name of bodies of loops that run the steps of another one from the last to the first


class Iteration(Record):
    """An iteration of a loop. length: how many there are; None for a while loop. from_end: the last one is number 0."""
    number: int
    length: int | None = None
    from_end: bool = False

    def __str__(self) -> str:
        loop = "while loop" if self.length is None else f"scan of {self.length} steps"
        return f"iteration {self.number}{' from the end' if self.from_end else ''} of a {loop}"


class InvalidValueError(FloatingPointError):
    """A NaN or an infinity, with the place where it was made.

    kind: "nan" or "inf". primitive: the operation. file, line, function: the user's code; None where it is not known.
    backward: whether the operation belongs to a backward pass. iterations: of the loops around it, outermost first.
    lanes: the element of each vmap around it, outermost first. index: of the element in the rest of the operation's result.
    """

    def __init__(self, kind: str, primitive: str, where: Any, *, iterations: Sequence[Iteration] = (), lanes: Lanes = (),
                 shape: Sequence[int] = (), position: int = 0, note: str = ""):
        frame = where.frame if isinstance(where, source.Source) else where
        self.kind, self.primitive, self.iterations = kind, primitive, tuple(iterations)
        self.file: str | None = None if frame is None else frame.file
        self.line: int | None = None if frame is None else frame.line
        self.function: str | None = None if frame is None else frame.function
        self.backward = frame is not None and frame.backward
        index = [int(i) for i in np.unravel_index(position, shape)] if shape else []
        axes = [axis for _, axis in lanes]
        self.lanes = tuple(index[a] for a in axes)
        self.index = tuple(i for a, i in enumerate(index) if a not in axes)
        self.sizes = tuple(shape[a] for a in axes)
        super().__init__(self._text(note))

    def _text(self, note: str) -> str:
        parts = [f"invalid value ({self.kind}) encountered in {self.primitive}"]
        if self.file is not None:
            parts[0] += f" at {self.file}:{self.line} in {self.function}"
        if self.backward:
            parts.append("in the backward pass")
        parts += [str(i) for i in reversed(self.iterations)]
        parts += [f"lane {n} of a vmap of {size}" for n, size in zip(reversed(self.lanes), reversed(self.sizes), strict=True)]
        if self.index:
            parts.append(f"element {self.index if len(self.index) > 1 else self.index[0]}")
        return ", ".join(parts) + (f". {note}" if note else "")


class _State(threading.local):
    postponed = False


_state = _State()


@contextmanager
def postponed() -> Iterator[bool]:
    """A block whose operations are not checked one by one, as its results will be, with what is known of them then. Yields
    whether it is the outermost block of this kind, which does so."""
    before = _state.postponed
    _state.postponed = True
    try:
        yield not before
    finally:
        _state.postponed = before


@contextmanager
def of_shards() -> Iterator[None]:
    """A block that runs a function of shards: its errors say so, in the words that people search for."""
    try:
        yield
    except InvalidValueError as error:
        error.args = (f"{error}. Invalid value ({error.kind}) encountered in sharded computation.",)
        raise


def checked_kinds() -> tuple[str, ...]:
    """The kinds of invalid values checked now: "nan", "inf", both or none."""
    return ("nan",) * config.debug_nans + ("inf",) * config.debug_infs


def can_be_invalid(aval: ShapedArray) -> bool:
    """Whether values of a type may be NaN or infinite."""
    return aval.size > 0 and aval.dtype.names is None and dtypes.issubdtype(aval.dtype, np.inexact)


def check_value(value: np.ndarray, aval: ShapedArray, operation: str, lanes: Lanes = ()) -> None:
    """Raises InvalidValueError when the result of an operation holds an invalid value, unless that is postponed."""
    if _state.postponed or not can_be_invalid(aval):
        return
    wide = value if value.dtype.kind in "fc" else value.astype(np.float32)
    for kind in checked_kinds():
        bad = np.isnan(wide) if kind == "nan" else np.isinf(wide)
        if bad.any():
            raise InvalidValueError(kind, operation, source.operation_frame(), lanes=lanes, shape=aval.shape,
                                    position=int(bad.argmax()))


def check_parts(x: Any, operation: str, known: Lanes = ()) -> None:
    """Raises InvalidValueError when a result, or a part of a traced one that is known (primal, tangent), is invalid."""
    for value, own in lanes.ends(x, known):
        if not isinstance(value, Tracer) and hasattr(value, "_value"):
            check_value(value._value, aval_of(value), operation, own)
