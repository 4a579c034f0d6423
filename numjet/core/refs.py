"""Mutable references, functionalized while a function is traced (state passing).

A `Ref` has a home: the trace in which it was made. There its value is a value like any other, an array or a tracer, that `read`
returns and `write` replaces. In a program traced further inside, the reference is captured: the first access makes one more
input of the program, later ones replace the value in that trace, and the program returns the last value. Whoever calls the
program passes the value in and writes the result back. So no operation has a side effect, and transformations need no rule.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.stage import StageTrace, Touched
from numjet.core.trace import Trace, Tracer, current_trace
from numjet.foundation import errors
from numjet.foundation.record import Record

serials = itertools.count()  # references are numbered as they are made
KINDS = (None, "no_grad_no_remat")


class AbstractRef(Record):
    """What is known of a reference while tracing: the aval of its value."""

    inner_aval: ShapedArray
    memory_space: Any = None
    kind: str | None = None

    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)
    ndim = property(lambda self: self.inner_aval.ndim)
    size = property(lambda self: self.inner_aval.size)
    weak_type = property(lambda self: self.inner_aval.weak_type)
    sharding = property(lambda self: self.inner_aval.sharding)

    normalize, lo_ty = ShapedArray.normalize, ShapedArray.lo_ty
    lower_val, raise_val = ShapedArray.lower_val, ShapedArray.raise_val

    def str_short(self) -> str:
        return f"Ref{{{self.inner_aval.str_short()}}}"

    def __str__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and (self.inner_aval, self.kind) == (other.inner_aval, other.kind)

    def __hash__(self) -> int:
        return hash((self.inner_aval, self.kind))


class Ref:
    """A mutable reference to an array: `ref[...]` reads, `ref[i] = x` writes. Made by `new_ref`; its methods come with it."""

    __slots__ = ("aval", "ended", "home", "made_at", "serial", "value", "__weakref__")
    __hash__ = object.__hash__

    def __init__(self, aval: ShapedArray, refs: Any, kind: str | None = None, home: Trace | None = None, made_at: Any = None):
        """refs: the value, under JAX's name."""
        self.aval = AbstractRef(aval, None, kind)
        self.value, self.made_at, self.serial = refs, made_at, next(serials)
        self.home = current_trace() if home is None else home
        self.ended: str | None = None  # what ended its life: freeze or free_ref

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    sharding = property(lambda self: self.value.sharding, doc="Where its value is.")

    def __len__(self) -> int:
        return len(self.aval.inner_aval)

    __iter__ = None  # read it first

    def __repr__(self) -> str:
        if self.home is not current_trace() or self.ended is not None:
            return repr(self.aval)
        text = repr(self.value)
        return f"Ref{text.removeprefix('Array')}" if text.startswith("Array(") else f"Ref({text})"


def read(ref: Ref) -> Any:
    """The value of a reference in the current trace."""
    _check_alive(ref)
    trace: Trace | None = current_trace()
    while trace is not ref.home:
        if isinstance(trace, StageTrace) and trace.captures:
            return _captured(ref, trace).value
        trace = _outside(ref, trace)
    return ref.value


def write(ref: Ref, value: Any, what: str = "a set/swap") -> None:
    """Replaces the value of a reference; `value` has its shape and dtype. what: the operation, for messages."""
    _check_alive(ref)
    trace: Trace | None = current_trace()
    inside: list[Trace] = []
    while trace is not ref.home and not (isinstance(trace, StageTrace) and trace.captures):
        assert trace is not None
        inside.append(trace)
        trace = _outside(ref, trace)
    value = _known_outside(ref, value, inside, what)
    if trace is ref.home:
        ref.value = value
        return
    assert isinstance(trace, StageTrace)
    state = _captured(ref, trace)
    state.value, state.written = value, True


def is_local(ref: Ref) -> bool:
    """Whether no program that is being traced lies between the current trace and the reference's home."""
    trace: Trace | None = current_trace()
    while trace is not ref.home:
        if isinstance(trace, StageTrace) and trace.captures:
            return False
        trace = _outside(ref, trace)
    return True


def _check_alive(ref: Ref) -> None:
    if ref.ended is not None:
        raise ValueError(f"This reference of type {ref.aval} was ended by {ref.ended}, so it can't be read or written any "
                         "more. Do so before, or make a new one with new_ref.")


def _outside(ref: Ref, trace: Trace | None) -> Trace | None:
    """The trace around a trace."""
    found = getattr(trace, "outer", None) or getattr(trace, "parent", None)
    if found is None:
        raise errors.UnexpectedTracerError(
            f"A mutable reference of type {ref.aval} was used outside the function that made it: it lives as long as that "
            "function's transformation. Return its value, ref[...], instead of the reference.")
    return found


def _captured(ref: Ref, trace: StageTrace) -> Any:
    """The state of a reference of an outer trace in a program; captures it at the first access."""
    if ref not in trace.refs:
        around: Trace | None = trace
        while around is not ref.home:
            around = _outside(ref, around)
        trace.capture(ref, ref.aval.inner_aval)
    return trace.refs[ref]


def _known_outside(ref: Ref, value: Any, inside: Sequence[Trace], what: str) -> Any:
    """A value without what inner transformations added to it; raises where that would lose something."""
    while isinstance(value, Tracer) and any(value._trace is t for t in inside):
        if not hasattr(value, "primal"):
            raise ValueError(
                f"performing {what} operation with vmapped value on an unbatched array reference of type {ref.aval}. "
                "Move the array reference to be an argument to the vmapped function?")
        if ref.aval.kind != "no_grad_no_remat":
            raise ValueError(
                f"performing {what} operation with a differentiated value on a non-differentiated array reference of type "
                f"{ref.aval}. Move the array reference to be an argument of the differentiated function? Or make it with "
                "new_ref(kind='no_grad_no_remat'), to write the value without its derivative.")
        value = value.primal
    return value


def written(touched: Sequence[Touched]) -> list[Ref]:
    """The references that a program writes, in the order of its results."""
    return [t.ref for t in touched if t.written]


def returned_ref(ref: Ref, fun: str, kind: str, path: str = "") -> ValueError:
    """The error for a function that returns a reference. path: where it is in the result, as `['a']`."""
    at = f" at output tree path result{path}" if path else ""
    made = f"\n\nThe returned mutable array was {ref.made_at}." if ref.made_at is not None else ""
    return ValueError(f"function {fun} traced for {kind} returned a mutable array reference of type {ref.aval}{at}, but "
                      f"mutable array references cannot be returned. Return its value, ref[...].{made}")


def check_distinct(leaves: Sequence[Any], names: Callable[[], Sequence[str]], fun: str, kind: str) -> None:
    """Raises ValueError where one reference is passed twice: it would be read under one name and written under another."""
    seen: dict[Ref, int] = {}
    for i, x in enumerate(leaves):
        if isinstance(x, Ref):
            if x in seen:
                labels = names()
                raise ValueError(
                    "only one reference to a mutable array may be passed as an argument to a function, but when tracing "
                    f"{fun} for {kind} the mutable array reference of type {x.aval} appeared at both {labels[seen[x]]} and "
                    f"{labels[i]}.")
            seen[x] = i
