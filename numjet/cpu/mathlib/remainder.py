"""The remainder of a division rounded towards zero, exactly."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc


def fmod(c: Calc, x: Expr, y: Expr) -> Expr:
    """x - n * y with n = trunc(x / y), of the sign of x; NaN where y is zero or x infinite.

    A rounded quotient below 2**(bits of the mantissa) has the right integer part, or the next one where it was rounded up
    to it. In both cases the fma is exact, as its result is a multiple of y's unit, and no larger than y. Larger quotients
    are rare and left to the C library.
    """
    a, b = c.abs(x), c.abs(y)
    quotient = c.div(a, b)
    rest = c.fnma(c.trunc(quotient), b, a)
    rest = c.select(c.test("lt", rest, 0.0), c.add(rest, b), rest)
    usual = c.copysign(c.select(c.test("lt", a, b), a, rest), x)
    return c.rare(c.test("gt", quotient, 2.0**c.mantissa), "fmod", (x, y), usual)
