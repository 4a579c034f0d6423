"""Parts of programs, and questions about the current trace."""
from numjet.as_jax.jax.core import (
    Atom as Atom, InconclusiveDimensionOperation as InconclusiveDimensionOperation, JaxprTypeError as JaxprTypeError,
    ShapedArray as ShapedArray, Trace as Trace, Tracer as Tracer, ensure_compile_time_eval as ensure_compile_time_eval,
    eval_jaxpr as eval_jaxpr,
)
from numjet.core.ir import (
    ClosedJaxpr as ClosedJaxpr, DropVar as DropVar, Jaxpr as Jaxpr, JaxprEqn as JaxprEqn, JaxprEqnContext as JaxprEqnContext,
    Literal as Literal, Var as Var,
)
from numjet.core.trace import EVAL, aval_of as get_aval, current_trace  # noqa: F401
from numjet.core.trace_state import (
    concrete_or_error as concrete_or_error, is_concrete as is_concrete, to_concrete_value as to_concrete_value,
)


def trace_state_clean() -> bool:
    """Whether no function is being traced: operations are evaluated."""
    return current_trace() is EVAL


class _TraceContext:
    """The current trace of this thread, to be read."""

    trace = property(lambda self: current_trace())


trace_ctx = _TraceContext()
