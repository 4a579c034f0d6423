"""Affine index arithmetic with value ranges, and scalars that take part in it.

An `Index` is const + sum(coefficient * term), where a term is an int64 expression (a loop variable, a loaded value, a
quotient) with known bounds. Division and remainder by a constant split such sums exactly where the bounds allow, so
reshapes, slices and transposes of transposes cost nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.cpu.ir.nodes import BOOL, INT64, Expr, Exprs
from numjet.cpu.lowering.scalar_folding import fold
from numjet.foundation.decisions import negative

Bounds = tuple[int, int]
_WIDE: Bounds = (-(1 << 62), 1 << 62)
# By comparison of the least and the greatest difference with 0: numbers that are negative where it holds, and where it fails.
_DECIDED: dict[str, tuple[Callable[[int, int], tuple[int, ...]], Callable[[int, int], tuple[int, ...]]]] = {
    "lt": (lambda lo, hi: (hi,), lambda lo, hi: (-lo - 1,)), "le": (lambda lo, hi: (hi - 1,), lambda lo, hi: (-lo,)),
    "gt": (lambda lo, hi: (-lo,), lambda lo, hi: (hi - 1,)), "ge": (lambda lo, hi: (-lo - 1,), lambda lo, hi: (hi,)),
    "eq": (lambda lo, hi: (hi - 1, -lo - 1), lambda lo, hi: (min(-lo, hi),)),
    "ne": (lambda lo, hi: (min(-lo, hi),), lambda lo, hi: (hi - 1, -lo - 1)),
}


class Index:
    """An integer known as a sum; supports + - * // % and comparisons with indices, scalars and ints."""

    __slots__ = ("maker", "terms", "const", "_expr")
    dtype = INT64

    def __init__(self, maker: IndexTerms, terms: dict[Expr, int], const: int):
        self.maker, self.terms, self.const = maker, terms, const
        self._expr: Expr | None = None

    # -- arithmetic
    def __add__(self, other: Any) -> Index:
        if isinstance(other, int):
            return Index(self.maker, self.terms, self.const + other) if other else self
        other = self.maker.index(other)
        terms = dict(self.terms)
        for t, c in other.terms.items():
            total = terms.get(t, 0) + c
            if total:
                terms[t] = total
            else:
                terms.pop(t, None)
        return Index(self.maker, terms, self.const + other.const)

    __radd__ = __add__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Any) -> Index:
        return self + (-other if isinstance(other, int) else self.maker.index(other) * -1)

    def __rsub__(self, other: Any) -> Index:
        return self * -1 + other

    def __mul__(self, other: Any) -> Index:
        if not isinstance(other, int):
            other = self.maker.index(other)
            if not other.terms:
                other = other.const
            elif not self.terms:
                return other * self.const
            else:
                return self.maker.opaque(self.maker.table.prim("mul", self.expr, other.expr), _product(self.bounds,
                        other.bounds))
        if other == 1:
            return self
        if other == 0:
            return Index(self.maker, {}, 0)
        return Index(self.maker, {t: c * other for t, c in self.terms.items()}, self.const * other)

    __rmul__ = __mul__

    def divmod(self, n: int) -> tuple[Index, Index]:
        """Quotient (towards minus infinity) and remainder by a positive constant."""
        if n == 1:
            return self, Index(self.maker, {}, 0)
        whole = Index(self.maker, {t: c // n for t, c in self.terms.items() if c % n == 0}, self.const // n)
        rest = Index(self.maker, {t: c for t, c in self.terms.items() if c % n}, self.const % n)
        lo, hi = rest.bounds
        if 0 <= lo and hi < n:
            negative(-lo - 1, hi - n)
            return whole, rest
        if lo >= 0:
            negative(-lo - 1)
            quotient = self.maker.opaque(self.maker.table.prim("div", rest.expr, self.maker.table.index(n)), (lo // n, hi // n))
            return whole + quotient, self.maker.remainder(rest, n)
        return whole + self.maker.floor_div(rest, n), self.maker.floor_mod(rest, n)

    def __floordiv__(self, n: int) -> Index:
        return self.divmod(n)[0]

    def __mod__(self, n: int) -> Index:
        return self.divmod(n)[1]

    # -- comparisons give bool scalars
    def __lt__(self, other: Any) -> Any:
        return self.maker.compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.maker.compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.maker.compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.maker.compare("ge", self, other)

    @property
    def bounds(self) -> Bounds:
        lo = hi = self.const
        for t, c in self.terms.items():
            a, b = self.maker.bounds.get(t, _WIDE)
            lo, hi = (lo + c * a, hi + c * b) if c > 0 else (lo + c * b, hi + c * a)
        return lo, hi

    @property
    def expr(self) -> Expr:
        """The sum written out, in a canonical order, so that equal indices are the same expression."""
        if self._expr is None:
            self._expr = self.maker.write(self)
        return self._expr

    def __repr__(self) -> str:
        return " + ".join([f"{c}*{t}" for t, c in self.terms.items()] + [str(self.const)])


def _product(a: Bounds, b: Bounds) -> Bounds:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


class Scalar:
    """One real element: an expression, and the maker of indices through which int64 scalars support index arithmetic."""

    __slots__ = ("dtype", "expr", "maker")

    def __init__(self, maker: IndexTerms, expr: Expr):
        self.maker, self.expr, self.dtype = maker, expr, expr.dtype

    def __add__(self, other: Any) -> Index:
        return self.maker.index(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Index:
        return self.maker.index(self) - other

    def __rsub__(self, other: Any) -> Index:
        return self.maker.index(self) * -1 + other

    def __mul__(self, other: Any) -> Index:
        return self.maker.index(self) * other

    __rmul__ = __mul__

    def __floordiv__(self, n: int) -> Index:
        return self.maker.index(self) // n

    def __mod__(self, n: int) -> Index:
        return self.maker.index(self) % n

    def __lt__(self, other: Any) -> Scalar:
        return self.maker.compare("lt", self, other)

    def __le__(self, other: Any) -> Scalar:
        return self.maker.compare("le", self, other)

    def __gt__(self, other: Any) -> Scalar:
        return self.maker.compare("gt", self, other)

    def __ge__(self, other: Any) -> Scalar:
        return self.maker.compare("ge", self, other)

    def __repr__(self) -> str:
        return f"{self.expr}:{self.dtype}"


class IndexTerms:
    """Makes indices, compares them, and remembers the bounds of their terms."""

    def __init__(self, table: Exprs):
        self.table = table
        self.bounds: dict[Expr, Bounds] = {}
        self.equal: dict[Expr, Index] = {}   # of integers that are sums of terms

    def index(self, x: Any) -> Index:
        """An Index of an int, an int64 expression or an int64 scalar handle."""
        if type(x) is Index:
            return x
        if isinstance(x, int):
            return Index(self, {}, x)
        expr = x if isinstance(x, Expr) else x.expr
        if expr.op == "const":
            return Index(self, {}, int(expr.attr))
        return Index(self, {expr: 1}, 0)

    def compare(self, op: str, x: Any, y: Any) -> Scalar:
        """The comparison of two indices as a bool scalar: a constant where the bounds decide it."""
        left, right = self.index(x), self.index(y)
        value = self.decided(op, left, right)
        if value is not None:
            return Scalar(self, self.table.const(value, BOOL))
        return Scalar(self, fold(self.table, op, [left.expr, right.expr]))

    def decided(self, op: str, x: Index, y: Index) -> bool | None:
        """The value of a comparison that the bounds decide, else None."""
        lo, hi = (x - y).bounds
        holds, fails = _DECIDED[op]
        for value, shown in ((True, holds(lo, hi)), (False, fails(lo, hi))):
            if max(shown) < 0:
                negative(*shown)
                return value
        return None

    def bound(self, x: Expr, bounds: Bounds) -> None:
        """Says what an integer is within, as an index."""
        self.bounds[self._as_index(x)] = bounds

    def same_bounds(self, var: Expr, x: Scalar) -> None:
        """Says that a variable is within what a scalar is."""
        if x.dtype == INT64:
            self.bounds[var] = self.index(x).bounds
        elif (found := self.bounds.get(self._as_index(x.expr))) is not None:
            self.bound(var, found)

    def _as_index(self, x: Expr) -> Expr:
        return x if x.dtype == INT64 else self.table.convert(x, INT64)

    def opaque(self, expr: Expr, bounds: Bounds) -> Index:
        if expr.op == "const":
            return Index(self, {}, int(expr.attr))
        self.bounds[expr] = bounds
        return Index(self, {expr: 1}, 0)

    def variable(self, var: Expr, bounds: Bounds) -> Index:
        self.bounds[var] = bounds
        return Index(self, {var: 1}, 0)

    def remainder(self, x: Index, n: int) -> Index:
        """x % n for x >= 0."""
        return self.opaque(self.table.prim("rem", x.expr, self.table.index(n)), (0, n - 1))

    def floor_mod(self, x: Index, n: int) -> Index:
        """x mod n, for x of any sign."""
        rem = self.table.prim("rem", x.expr, self.table.index(n))
        negative = self.table.prim("lt", rem, self.table.index(0))
        fixed = self.table.prim("select", negative, self.table.prim("add", rem, self.table.index(n)), rem)
        return self.opaque(fixed, (0, n - 1))

    def floor_div(self, x: Index, n: int) -> Index:
        """floor(x / n), for x of any sign."""
        exact = self.table.prim("sub", x.expr, self.floor_mod(x, n).expr)
        lo, hi = x.bounds
        return self.opaque(self.table.prim("div", exact, self.table.index(n)), (lo // n, hi // n))

    def write(self, x: Index) -> Expr:
        total: Expr | None = None
        make = self.table.prim
        for t, c in sorted(x.terms.items(), key=lambda item: item[0].id):
            term = t if c == 1 else make("mul", t, self.table.index(c))
            total = term if total is None else make("add", total, term)
        if total is None:
            return self.table.index(x.const)
        return make("add", total, self.table.index(x.const)) if x.const else total
