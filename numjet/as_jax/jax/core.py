"""`jax.core`: the parts of programs that libraries name."""

from typing import Any as Value

from numjet.api.diagnostics import ensure_compile_time_eval as ensure_compile_time_eval
from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.ir import Atom as Atom
from numjet.core.trace import Trace as Trace, Tracer as Tracer
from numjet.core.trace_state import eval_context as eval_context
from numjet.core.walk import eval_jaxpr as eval_jaxpr
from numjet.foundation.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation, JaxprTypeError as JaxprTypeError,
)

ParamDict = dict[str, Value]
max_dim, min_dim = max, min  # sizes are numbers
