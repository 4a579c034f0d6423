"""erf, erfc and the inverse of erf."""
from __future__ import annotations

from ..loop_ir import Expr
from .helpers import Calc, Poly

ERF_SMALL_32 = Poly((0.12837917, -0.37612626, 0.11283579, -0.026853347, 0.005187162, -0.0007997853, 7.806907e-05),
                    "erf(sqrt(u)) / sqrt(u) - 1", "sqrt(u) / erf(sqrt(u))", 0.0, 1.0, 29.3, "float32")
ERFC_ROOT_32 = Poly((1.0003557, -0.14285904, -0.065678746, -0.006903192, 0.0101659, -0.0014697828, -4.6872992e-05,
                     1.6202872e-05), "erfc(u)**(mpf(1)/8)", "8 * erfc(u)**(mpf(7)/8) / erf(u)", 0.995, 3.95, 27.9,
                    "float32")


def erf(c: Calc, x: Expr) -> Expr:
    if not c.single:
        raise NotImplementedError
    a = c.abs(x)
    z = c.mul(a, a)
    small = c.fma(a, c.poly(ERF_SMALL_32, z), a)
    root = c.poly(ERFC_ROOT_32, c.at_most(a, 3.95))
    square = c.mul(root, root)
    fourth = c.mul(square, square)
    return c.copysign(c.select(c.test("lt", a, 1.0), small, c.fnma(fourth, fourth, 1.0)), x)
