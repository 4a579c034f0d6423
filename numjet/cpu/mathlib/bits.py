"""nextafter, by integer arithmetic on the bits of floats."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc


def nextafter(c: Calc, x: Expr, y: Expr) -> Expr:
    """The neighbour of x towards y. The bits of a positive float are a count, so the neighbours differ by one."""
    i = c.bits(x)
    away = c.e.prim("eq", c.test("lt", x, y), c.test("gt", x, 0.0))
    step = c.e.make("select", c.int, (away, c.integer(1), c.integer(-1)))
    neighbour = c.from_bits(c.iop("add", i, step))
    from_zero = c.copysign(c.from_bits(c.integer(1)), y)
    result = c.select(c.test("eq", x, 0.0), from_zero, neighbour)
    same = c.select(c.test("eq", x, y), y, result)
    return c.select(c.either(c.test("ne", x, x), c.test("ne", y, y)), c.nan, same)
