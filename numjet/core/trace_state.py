"""Questions about the current trace, and blocks that change it, for those who write transformations and libraries."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.named_axes import Axes, named_axes
from numjet.core.stage import StageTrace
from numjet.core.trace import EVAL, Trace, Tracer, aval_of, current_trace, is_array_like
from numjet.foundation import dtypes, errors


class TraceTag:
    """An identity that a user's trace and its tracers share."""

    __slots__ = ("__weakref__",)


class OpaqueTraceState:
    """The trace of a moment and the named axes in scope, to be compared by ==; it does not keep the trace alive."""

    __slots__ = ("_axes", "_trace")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, axes: Axes):
        self._trace, self._axes = weakref.ref(trace), axes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return False
        mine = self._trace()
        return mine is not None and mine is other._trace() and self._axes == other._axes


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """The state of tracing now: equal to a later one while the same function is being traced. convention is a hint.

    >>> get_opaque_trace_state() == get_opaque_trace_state()
    True
    """
    return OpaqueTraceState(current_trace(), named_axes())


def find_top_trace(_: Any = ()) -> Trace:
    """The current trace, whatever the arguments."""
    return current_trace()


def trace_state_clean() -> bool:
    """Whether nothing is being traced."""
    return current_trace() is EVAL


class set_current_trace:
    """A block in which a trace handles all operations; None: operations are evaluated.

    check_leaks is a hint: the flag jax_check_tracer_leaks finds leaks of numjet's transformations.
    """

    __slots__ = ("_scope", "_trace")

    def __init__(self, trace: Trace | None, check_leaks: bool = False):
        if trace is not None and not isinstance(trace, Trace):
            raise TypeError(f"set_current_trace takes a core.Trace or None, got {trace!r} of type {type(trace).__name__}")
        self._trace = EVAL if trace is None else trace

    def __enter__(self) -> None:
        self._scope = _native.Scope(_native.thread, "trace", self._trace)
        self._scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._scope.__exit__(*error)


class take_current_trace(set_current_trace):
    """A block that gets the current trace, in which operations are evaluated: `with take_current_trace() as trace:`."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        super().__init__(None)

    def __enter__(self) -> Trace:  # type: ignore[override]
        self._taken = current_trace()
        super().__enter__()
        return self._taken

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        del self._taken


def eval_context() -> set_current_trace:
    """A block in which operations are evaluated, also while a function is traced."""
    return set_current_trace(None)


def _enclosing(test: Callable[[Trace], bool]) -> bool:
    """Whether a trace that the current one runs in passes a test."""
    trace: Any = current_trace()
    while trace is not None:
        if test(trace):
            return True
        trace = getattr(trace, "parent", getattr(trace, "parent_trace", None))
    return False


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being staged for jit, scan and the like."""
    return _enclosing(lambda trace: isinstance(trace, StageTrace))


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether the current function is vectorized, as far as the current trace knows."""
    return _enclosing(lambda trace: type(trace).__name__ == "BatchTrace")


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the axes that collectives can use."""
    return [name for name, _ in named_axes()]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether there are named axes."""
    return bool(named_axes())


# ------------------------------------------------------------------------------------------------ values and types

def to_concrete_value(x: Any) -> Any:
    """The value that a tracer has now, if operations are evaluated; else None. What is no tracer is its own value."""
    return x.to_concrete_value() if isinstance(x, Tracer) else x


def is_concrete(x: Any) -> bool:
    """Whether operations on x are evaluated now: not in a program that is being written.

    >>> is_concrete(3.5)
    True
    """
    return to_concrete_value(x) is not None


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """force(val) of a value that is known now; ConcretizationTypeError, with `context`, for a traced one.

    >>> concrete_or_error(int, 3.5)
    3
    """
    if isinstance(val, Tracer):
        known = val.concrete()
        if known is None:
            raise errors.ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array or a number."""
    if not is_array_like(x):
        return False
    try:
        aval_of(x)
    except (TypeError, ValueError):
        return False
    return True


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one element of a batch whose axis of that size is `axis`; None: not batched.

    >>> mapped_aval(3, 0, ShapedArray((3, 2), np.dtype("float32")))
    ShapedArray(float32[2])
    """
    return aval.dec_rank(size, axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None) -> ShapedArray:
    """The type of a batch of `size` elements with the batch at `axis`; None: not batched.

    >>> unmapped_aval(3, 1, ShapedArray((2,), np.dtype("float32")))
    ShapedArray(float32[2,3])
    """
    if explicit_mesh_axis is not None:
        raise NotImplementedError(f"unmapped_aval(explicit_mesh_axis={explicit_mesh_axis!r}): programs run on one device")
    return aval.inc_rank(size, axis)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> np.dtype:
    """The dtype of tangents: the same for inexact ones, else float0."""
    dtype = np.dtype(primal_dtype)
    return dtype if dtypes.issubdtype(dtype, np.inexact) else dtypes.float0
