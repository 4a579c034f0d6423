"""The largest error of a float32 function on many operands, by machine code: a search of all floats spends its time here."""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu import mathlib
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Expr, Exprs, For, Function, Store
from numjet.cpu.native_code import jit
from tests.cpu.loops import F32, F64, prepared

_EXPONENT = 0x7FF0000000000000   # the exponent bits of a float64


def largest_gap(op: str, size: int, own: bool) -> Callable[..., float]:
    """A function of `size` float32 operands: the largest distance of `op` from a float64 reference, in units of the last place
    of float32. The reference is a second argument, or, if `own`, the compiled float64 function. NaN where one is NaN alone."""
    e = Exprs()
    exponents = jit.host().exponents
    x, reference, worst = Buffer("x", F32, size, "input"), Buffer("r", F64, size, "input"), Buffer("worst", F64, 1, "output")
    i = e.var(INT64, "i")
    operand = e.load(x, i)
    got = mathlib.expand(e, op, operand, exponents=exponents)
    expected = mathlib.expand(e, op, e.convert(operand, F64), exponents=exponents) if own else e.load(reference, i)
    assert got is not None and expected is not None
    term = _distance(e, e.convert(got, F64), expected)
    most, last = e.var(F64, "most"), e.var(F64, "last")
    carry = Carry(most, e.const(0.0, F64), e.prim("max", most, term), last, "max", term)
    loop = For(i, e.index(0), e.index(size), [], [carry], "vector")
    run = prepared(Function(f"gap_of_{op}", [x] if own else [x, reference], [worst], e, [loop, Store(worst, e.index(0), last)]))
    return lambda *args: float(run(args).outputs[0][0])


def _distance(e: Exprs, got: Expr, expected: Expr) -> Expr:
    """Units between the two; 0 where they are equal or both NaN."""
    bits = e.prim("and", e.bitcast(expected, INT64), e.const(_EXPONENT, INT64))
    unit = e.prim("mul", e.bitcast(bits, F64), e.const(2.0**-23, F64))
    unit = e.prim("max", unit, e.const(2.0**-149, F64))
    gap = e.prim("div", e.prim("abs", e.prim("sub", got, expected)), unit)
    nothing = e.prim("and", e.prim("ne", got, got), e.prim("ne", expected, expected))
    return e.prim("select", e.prim("or", nothing, e.prim("eq", got, expected)), e.const(0.0, F64), gap)
