"""The cost scale: what one element of every scalar function of loop IR takes, in additions.

Lowering weighs computing against storing with it, the estimate of run times turns it into nanoseconds, and loop fusion limits
the code of a loop by it. A function of MATH takes about half as many additions as its expansion has operations: they are
multiply-adds that overlap.
"""
from __future__ import annotations

from numjet.cpu.ir.nodes import ARITHMETIC

COSTS: dict[str, float] = {
    **dict.fromkeys(ARITHMETIC, 1.0), "div": 4.0, "rem": 8.0, "sqrt": 6.0, "mulhi": 4.0,
    "exp": 12.0, "exp2": 12.0, "expm1": 20.0, "log": 20.0, "log1p": 24.0, "log2": 20.0, "pow": 40.0,
    "sin": 20.0, "cos": 20.0, "tan": 30.0, "asin": 14.0, "acos": 16.0, "atan": 14.0, "atan2": 30.0,
    "sinh": 20.0, "cosh": 14.0, "tanh": 20.0, "asinh": 30.0, "acosh": 30.0, "atanh": 28.0, "logistic": 16.0,
    "cbrt": 30.0, "rsqrt": 8.0, "hypot": 14.0, "fmod": 14.0, "nextafter": 10.0,
    "erf": 30.0, "erfc": 36.0, "erf_inv": 40.0, "lgamma": 60.0, "digamma": 60.0}


def scalar_cost(function: str) -> float:
    """The cost of one element in additions; 1 for operations that are no functions, such as loads and conversions.

    >>> scalar_cost("exp"), scalar_cost("load")
    (12.0, 1.0)
    """
    return COSTS.get(function, 1.0)
