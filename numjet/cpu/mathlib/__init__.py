"""Mathematical functions as expressions: `expand` writes an operation of MATH in operations of ARITHMETIC.

The code generator inlines and vectorizes the result for any machine. All expansions are branch-free, except that arguments of
sin, cos and tan beyond 1e5 (float64: 2**28) and quotients of fmod beyond 2**23 (2**52) go to the C library through
`select_rare`. NaN, infinities, signed zeros and denormals follow C99 (annex F) and NumPy. One file per family; each table of
coefficients states the function, interval and error of its approximation, and tests check all three.
"""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu.ir.nodes import Expr, Exprs
from numjet.cpu.mathlib import (
    bits,
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse_trig,
    logarithm,
    power,
    remainder,
    trigonometric,
)
from numjet.cpu.mathlib.helpers import FLOAT32, FLOAT64, Calc

FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "log": logarithm.log, "log1p": logarithm.log1p, "log2": logarithm.log2,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan,
    "asin": inverse_trig.asin, "acos": inverse_trig.acos, "atan": inverse_trig.atan, "atan2": inverse_trig.atan2,
    "sinh": hyperbolic.sinh, "cosh": hyperbolic.cosh, "tanh": hyperbolic.tanh, "logistic": hyperbolic.logistic,
    "asinh": hyperbolic.asinh, "acosh": hyperbolic.acosh, "atanh": hyperbolic.atanh,
    "pow": power.pow, "hypot": power.hypot, "cbrt": power.cbrt, "rsqrt": power.rsqrt,
    "erf": error.erf, "erfc": error.erfc, "erf_inv": error.erf_inv,
    "lgamma": gamma.lgamma, "digamma": gamma.digamma, "nextafter": bits.nextafter,
    "fmod": remainder.fmod,
}

# Largest error in units of the last place: (float32, float64). For negative operands of float64 lgamma and digamma,
# where roots are many, a unit is 2**-51 relative to a result of at least 1 in magnitude.
_ULPS = {
    "exp": (1.1, 1.1), "exp2": (1.0, 1.1), "expm1": (2.0, 1.1), "log": (1.0, 0.7), "log1p": (2.0, 0.8),
    "log2": (1.2, 0.7), "sin": (2.0, 2.0), "cos": (2.0, 2.0), "tan": (0.6, 2.9), "asin": (2.0, 2.0),
    "acos": (1.5, 1.5), "atan": (1.7, 2.0), "atan2": (1.8, 2.0), "sinh": (2.0, 2.0), "cosh": (1.6, 1.6),
    "tanh": (2.5, 1.7), "logistic": (1.5, 1.5), "asinh": (0.6, 2.5), "acosh": (0.6, 2.5), "atanh": (0.6, 2.5),
    "pow": (0.6, 0.6), "hypot": (0.6, 0.6), "cbrt": (0.6, 0.6), "rsqrt": (1.6, 1.6), "erf": (1.7, 1.7),
    "erfc": (1.3, 3.0), "erf_inv": (1.8, 2.0), "lgamma": (0.6, 2.9), "digamma": (1.1, 2.7), "nextafter": (0.0, 0.0),
    "fmod": (0.0, 0.0),
}
ACCURACY: dict[tuple[str, str], float] = {
    (op, name): bound for op, pair in _ULPS.items() for name, bound in zip(("float32", "float64"), pair, strict=True)}


def expand(e: Exprs, op: str, *args: Expr, exponents: bool = False) -> Expr | None:
    """An expression of ARITHMETIC operations for the operation `op` of MATH on float32 or float64 operands.

    Its largest error, in units of the last place, is ACCURACY[op, dtype name]. None if there is no expansion of `op`.
    exponents: use `scale`, `exponent` and `significand`, which some machines have (Target.exponents); the results are the
    same bit by bit.
    Raises TypeError for other operand types: narrower floats are to be converted to float32 by the caller.

    Example:
        >>> e = Exprs()
        >>> x = e.var(FLOAT32)
        >>> expand(e, "rsqrt", x)
        div(1.0, sqrt(v1))
    """
    function = FUNCTIONS.get(op)
    if function is None:
        return None
    dtype = args[0].dtype
    if dtype not in (FLOAT32, FLOAT64):
        raise TypeError(f"mathlib.expand: '{op}' takes float32 or float64 operands, got {dtype}; "
                        "convert narrower floats to float32 first")
    return function(Calc(e, dtype, exponents), *args)
