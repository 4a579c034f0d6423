"""Mathematical functions as expressions: `expand` writes each operation of MATH in operations of ARITHMETIC."""
from __future__ import annotations

from ..loop_ir import Expr, Exprs
from . import bits, error, exponential, gamma, hyperbolic, inverse_trig, logarithm, power, trigonometric
from .helpers import FLOAT32, FLOAT64, Calc

FUNCTIONS = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "log": logarithm.log, "log1p": logarithm.log1p, "log2": logarithm.log2,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan,
    "asin": inverse_trig.asin, "acos": inverse_trig.acos, "atan": inverse_trig.atan, "atan2": inverse_trig.atan2,
    "tanh": hyperbolic.tanh, "logistic": hyperbolic.logistic, "sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh,
    "asinh": hyperbolic.asinh, "acosh": hyperbolic.acosh, "atanh": hyperbolic.atanh,
    "pow": power.pow, "hypot": power.hypot, "rsqrt": power.rsqrt, "cbrt": power.cbrt,
    "nextafter": bits.nextafter,
    "erf": error.erf, "erfc": error.erfc, "lgamma": gamma.lgamma, "digamma": gamma.digamma,
}


def expand(e: Exprs, op: str, *args: Expr) -> Expr | None:
    function = FUNCTIONS.get(op)
    if function is None:
        return None
    dtype = args[0].dtype
    if dtype != FLOAT32 and dtype != FLOAT64:
        raise TypeError(f"mathlib.expand({op!r}): expected float32 or float64 operands, got {dtype}; "
                        "convert narrower floats to float32 first")
    return function(Calc(e, dtype), *args)
