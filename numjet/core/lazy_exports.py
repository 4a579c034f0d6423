"""Lazy exports: the parts of programs that users of `numjet.core` name, imported when the first of them is named."""

from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.ir import Atom as Atom
from numjet.core.trace import Trace as Trace, Tracer as Tracer
from numjet.core.trace_state import eval_context as eval_context
from numjet.core.walk import eval_jaxpr as eval_jaxpr
