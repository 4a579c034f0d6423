"""Expression builder of the expansions: operations of one float type, polynomials, powers of two.

All expressions are branch-free ARITHMETIC of loop IR. Comparisons with NaN are false, so that
`select(lt(x, bound), bound, x)` clamps and lets NaN pass; it is one instruction on most machines, unlike `min`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numjet.cpu.ir.nodes import BOOL, Expr, Exprs
from numjet.foundation.record import Record

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)

Operand = Expr | float | int


class Poly(Record):
    """A polynomial in `u`, lowest power first, with its approximation error.

    It approximates the formula `of` on [lo, hi]. `weight` turns its error into one relative to the expanded function:
    |weight * (poly - of)| <= 2**-bits there. All are minimax fits by the Remez algorithm, rounded to `dtype`.
    """

    terms: tuple[float, ...]
    of: str
    weight: str
    lo: float
    hi: float
    bits: float
    dtype: str


class Power(NamedTuple):
    """An integer exponent n: a float with floor n, and an integer with n in its low bits."""

    number: Expr
    bits: Expr


class Calc:
    """Builds expressions of the float type `dtype`. Operands may be numbers; they become constants of that type.

    exponents: use `scale`, `exponent` and `significand`, on machines with instructions for them; results are the same
    without.
    """

    __slots__ = ("bias", "dtype", "e", "exponent_bits", "inf", "int", "magic", "mantissa", "nan", "exponents", "sign_bit",
                 "single", "tiny")

    def __init__(self, e: Exprs, dtype: np.dtype, exponents: bool = False):
        self.e, self.dtype, self.exponents = e, dtype, exponents
        self.single = dtype == FLOAT32
        self.int = INT32 if self.single else INT64
        self.mantissa, self.bias = (23, 127) if self.single else (52, 1023)
        self.exponent_bits = 8 if self.single else 11
        self.magic = 1.5 * 2.0**self.mantissa  # adding it rounds to an integer, which is then in the low bits
        self.sign_bit = 1 << (31 if self.single else 63)
        self.tiny = 2.0 ** (1 - self.bias)  # smallest normal number
        self.inf, self.nan = float("inf"), float("nan")

    @property
    def wide(self) -> Calc:
        """The calculator over float64."""
        return Calc(self.e, FLOAT64, self.exponents)

    def operand(self, x: Operand) -> Expr:
        """An expression as it is, a number as a constant."""
        return x if isinstance(x, Expr) else self.e.const(x, self.dtype)

    def op(self, name: str, *args: Operand) -> Expr:
        """An operation on floats of this type with a result of this type."""
        return self.e.make(name, self.dtype, tuple([self.operand(a) for a in args]))

    def add(self, x: Operand, y: Operand) -> Expr:
        return self.op("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Expr:
        return self.op("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Expr:
        return self.op("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Expr:
        return self.op("div", x, y)

    def fma(self, x: Operand, y: Operand, z: Operand) -> Expr:
        """x * y + z, rounded once."""
        return self.op("fma", x, y, z)

    def fms(self, x: Operand, y: Operand, z: Operand) -> Expr:
        """x * y - z, rounded once."""
        return self.op("fma", x, y, self.neg(z))

    def fnma(self, x: Operand, y: Operand, z: Operand) -> Expr:
        """z - x * y, rounded once."""
        return self.op("fma", self.neg(x), y, z)

    def neg(self, x: Operand) -> Expr:
        return self.op("neg", x) if isinstance(x, Expr) else self.operand(-x)

    def abs(self, x: Expr) -> Expr:
        return self.op("abs", x.args[0] if x.op == "neg" else x)

    def sqrt(self, x: Expr) -> Expr:
        return self.op("sqrt", x)

    def trunc(self, x: Expr) -> Expr:
        return self.op("trunc", x)

    def copysign(self, x: Operand, sign: Expr) -> Expr:
        return self.op("copysign", x, sign)

    def test(self, name: str, x: Operand, y: Operand) -> Expr:
        """A comparison of floats: eq, ne, lt, le, gt or ge."""
        return self.e.make(name, BOOL, (self.operand(x), self.operand(y)))

    def both(self, p: Expr, q: Expr) -> Expr:
        return self.e.make("and", BOOL, (p, q))

    def either(self, p: Expr, q: Expr) -> Expr:
        return self.e.make("or", BOOL, (p, q))

    def negate(self, p: Expr) -> Expr:
        return self.e.make("not", BOOL, (p,))

    def select(self, cond: Expr, yes: Operand, no: Operand) -> Expr:
        return self.op("select", cond, yes, no)

    def at_least(self, x: Expr, bound: float) -> Expr:
        """x, but not below `bound`; NaN stays."""
        return self.select(self.test("lt", x, bound), bound, x)

    def at_most(self, x: Expr, bound: float) -> Expr:
        """x, but not above `bound`; NaN stays."""
        return self.select(self.test("gt", x, bound), bound, x)

    def larger(self, x: Expr, y: Expr) -> Expr:
        return self.select(self.test("gt", x, y), x, y)

    def smaller(self, x: Expr, y: Expr) -> Expr:
        return self.select(self.test("lt", x, y), x, y)

    def bits(self, x: Expr) -> Expr:
        return self.e.bitcast(x, self.int)

    def from_bits(self, i: Expr) -> Expr:
        return self.e.bitcast(i, self.dtype)

    def integer(self, value: int) -> Expr:
        """An integer constant of the width of the floats, modulo that width."""
        return self.e.const(np.uint64(value % 2**64).astype(self.int), self.int)

    def iop(self, name: str, i: Expr | int, j: Expr | int) -> Expr:
        """An operation on integers of the width of the floats."""
        left = i if isinstance(i, Expr) else self.integer(i)
        right = j if isinstance(j, Expr) else self.integer(j)
        return self.e.make(name, self.int, (left, right))

    def poly(self, table: Poly, u: Expr) -> Expr:
        """The polynomial at u: Horner's scheme, or for many terms of float64 Estrin's, whose dependence chain is shorter."""
        if len(table.terms) > 8 and not self.single:
            return self.estrin(table.terms, u)
        return self.horner(table.terms, u)

    def careful_poly(self, table: Poly, u: Expr) -> Expr:
        """The polynomial at u where its rounding error matters: the first two terms by Horner's scheme."""
        terms = table.terms
        return self.fma(u, self.fma(u, self.estrin(terms[2:], u), terms[1]), terms[0])

    def horner(self, terms: tuple[float, ...], u: Expr) -> Expr:
        total: Operand = terms[-1]
        for term in terms[-2::-1]:
            total = self.fma(total, u, term)
        return self.operand(total)

    def by_pairs(self, terms: tuple[float, ...], u: Expr) -> Expr:
        """Horner's scheme in u**2, whose coefficients are pairs of terms: half the chain for one product."""
        square = self.mul(u, u)
        pairs = [self.fma(b, u, a) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        total: Operand = terms[-1] if len(terms) % 2 else pairs.pop()
        for pair in reversed(pairs):
            total = self.fma(total, square, pair)
        return self.operand(total)

    def estrin(self, terms: tuple[float, ...], u: Expr) -> Expr:
        """Estrin's scheme (G. Estrin, 1960): neighbouring terms are paired with powers u, u**2, u**4 ..."""
        parts: list[Operand] = list(terms)
        power = u
        while len(parts) > 1:
            pairs = [self.fma(parts[k + 1], power, parts[k]) for k in range(0, len(parts) - 1, 2)]
            parts = [*pairs, *parts[len(parts) & ~1:]]
            if len(parts) > 1:
                power = self.mul(power, power)
        return self.operand(parts[0])

    def pow2(self, shifted: Expr, extra: int | Expr = 0) -> Expr:
        """2**(n + extra) from the bits of n + magic; `extra` may be an Expr of exponent bits. For normal results."""
        bits = extra if isinstance(extra, Expr) else (self.bias + extra) << self.mantissa
        return self.from_bits(self.iop("add", self.iop("shl", shifted, self.mantissa), bits))

    def times_pow2(self, p: Operand, n: Power, extra: int = 0) -> Expr:
        """p * 2**(n + extra) for normal 2**(n + extra)."""
        if self.exponents:
            return self.op("scale", p, self.add(n.number, float(extra)) if extra else n.number)
        power = self.pow2(n.bits, extra)
        return power if p == 1.0 else self.mul(p, power)

    def scaled(self, p: Expr, n: Power, negative: Expr | bool) -> Expr:
        """p * 2**n with overflow and denormal results; `negative` is n's sign (either value is valid around n = 0).

        The power is split into 2**(n + k) * 2**-k with k = +-2**(exponent bits - 2), both within the range of floats.
        """
        if self.exponents:
            return self.op("scale", p, n.number)
        half = (self.bias + 1) // 2
        if isinstance(negative, bool):
            k = half if negative else -half
            return self.mul(self.mul(p, self.pow2(n.bits, k)), 2.0**-k)
        bits = [(self.bias + k) << self.mantissa for k in (half, -half)]
        offset = self.e.make("select", self.int, (negative, self.integer(bits[0]), self.integer(bits[1])))
        back = self.select(negative, 2.0**-half, 2.0**half)
        return self.mul(self.mul(p, self.pow2(n.bits, offset)), back)

    def fading(self, x: Expr, last: float, result: Callable[[Expr], Expr]) -> Expr:
        """result(x), which is 0 for all x below `last`, without an underflow there: on many machines that takes a hundred
        cycles, and masked elements are all there. Where `scale` is an instruction, it leaves out what is not selected."""
        gone = self.test("lt", x, last)
        return self.select(gone, 0.0, result(x if self.exponents else self.select(gone, 0.0, x)))

    def lookup(self, table: str, index: Expr) -> Expr:
        """An element of a table of `ir.tables`, at an index modulo its length."""
        return self.e.lookup(table, index)

    def flip_sign(self, x: Expr, by: Expr) -> Expr:
        """x with its sign changed where the top bit of the integer `by` is set."""
        return self.from_bits(self.iop("xor", self.bits(x), self.iop("and", by, self.sign_bit)))

    def rare(self, cond: Expr, name: str, args: tuple[Expr, ...], usual: Expr) -> Expr:
        """The C library's function `name` where `cond` holds, `usual` elsewhere."""
        symbol = name + "f" if self.single else name
        slow = self.e.make("libm", self.dtype, args, symbol)
        return self.e.make("select_rare", self.dtype, (cond, slow, usual))


def widened(c: Calc, function: Callable[..., Expr], *args: Expr) -> Expr:
    """`function`, a float64 expansion, on float32 operands, with the result rounded to float32."""
    return c.e.convert(function(c.wide, *[c.e.convert(a, FLOAT64) for a in args]), FLOAT32)
