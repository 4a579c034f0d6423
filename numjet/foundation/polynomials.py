"""Interpolation: the polynomial in some sizes that has given values at given points."""
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod

from numjet.foundation.record import Record

DEGREE = 2
Interval = tuple[int, int]


class Size(Record):
    """A variable: number k of the sizes."""

    k: int

    def at(self, sizes: Sequence[int]) -> int:
        """The value for sizes."""
        return sizes[self.k]

    def bounds(self, low: Sequence[int], high: Sequence[int]) -> Interval:
        """An interval of its values for sizes within others."""
        return low[self.k], high[self.k]


class Polynomial(Record):
    """A sum of coefficients, none of them 0, times products of variables."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """The number that it is everywhere; None if it is none."""
        if not self.terms:
            return 0
        (monomial, coefficient), *more = self.terms
        return coefficient if not more and not monomial else None

    def at(self, sizes: Sequence[int]) -> int:
        """The value for sizes."""
        return sum(c * prod(v.at(sizes) for v in monomial) for monomial, c in self.terms)

    def bounds(self, low: Sequence[int], high: Sequence[int]) -> Interval:
        """An interval of its values for sizes within others."""
        least, most = self._by_terms(low, high)
        whole = [m[0] for m, c in self.terms if len(m) == 1 and isinstance(m[0], Quotient) and c % m[0].divisor == 0]
        if whole:
            factor, divisor, rest = self._with_remainder(max(whole, key=lambda q: q.depth))
            found, remainder = rest.bounds(low, high), factor * (divisor - 1)
            least, most = max(least, found[0] + min(0, remainder)), min(most, found[1] + max(0, remainder))
        return least, most

    def _with_remainder(self, q: Quotient) -> tuple[int, int, Polynomial]:
        """The same with (dividend - remainder) / divisor in the place of a quotient: the factor of the remainder, the divisor
        and all else. So a size less 8 times its quotient by 8 is known to be a remainder."""
        rest = dict(self.terms)
        times = rest.pop((q,)) // q.divisor
        for m, c in q.dividend.terms:
            rest[m] = rest.get(m, 0) + times * c
        return -times, q.divisor, Polynomial(tuple((m, c) for m, c in rest.items() if c))

    def _by_terms(self, low: Sequence[int], high: Sequence[int]) -> Interval:
        least = most = 0
        for monomial, c in self.terms:
            found = (c, c)
            for v in monomial:
                corners = [a * b for a in found for b in v.bounds(low, high)]
                found = min(corners), max(corners)
            least, most = least + found[0], most + found[1]
        return least, most


class Quotient(Record):
    """A variable: a polynomial divided by a number and rounded down."""

    dividend: Polynomial
    divisor: int

    @property
    def depth(self) -> int:
        """How many quotients are one inside the other."""
        return 1 + max((v.depth for m, _ in self.dividend.terms for v in m if isinstance(v, Quotient)), default=0)

    def at(self, sizes: Sequence[int]) -> int:
        """The value for sizes."""
        return self.dividend.at(sizes) // self.divisor

    def bounds(self, low: Sequence[int], high: Sequence[int]) -> Interval:
        """An interval of its values for sizes within others."""
        least, most = self.dividend.bounds(low, high)
        return least // self.divisor, most // self.divisor


Monomial = tuple[Size | Quotient, ...]


class Interpolation:
    """Finds polynomials with whole coefficients from their values at points: of degree 2 in the sizes, or linear in these and a
    size that follows from them, or a quotient. There are more points than coefficients, and all must agree: of other functions
    with values at sizes far apart, such as remainders and logarithms, none agrees with a polynomial with whole coefficients."""

    def __init__(self, points: Sequence[Sequence[int]], names: int):
        """names: how many sizes are independent."""
        self.points = [tuple(p) for p in points]
        self.sizes = [Size(k) for k in range(names)]
        self._quotients: set[Quotient] = set()
        self._bases = [_Basis(_monomials(self.sizes), self.points)]
        self._known: dict[tuple[int, ...], Polynomial | None] = {}
        for k in range(names, len(self.points[0])):
            self._add(Size(k))

    def add_quotient(self, dividends: Sequence[int], divisors: set[int]) -> None:
        """Makes a quotient known that occurs: of values at the points."""
        found, (divisor, *more) = self(dividends), divisors
        if found is None or more or found.constant is not None:
            return
        made = Quotient(found, divisor)
        if made not in self._quotients:
            self._quotients.add(made)
            self._add(made)
            self._known.clear()

    def _add(self, variable: Size | Quotient) -> None:
        """Makes polynomials known that are linear in a variable, too, and in those that it is a quotient of."""
        divided: list[Monomial] = [(v,) for m, _ in variable.dividend.terms for v in m if isinstance(v, Quotient)
                   ] if isinstance(variable, Quotient) else []
        first: list[Monomial] = [*_monomials(self.sizes, 1), (variable,)]
        products: list[Monomial] = [(variable, s) for s in self.sizes]
        for more in [divided] if divided else [[], products]:
            if len(first) + len(more) < len(self.points):   # else nothing is left that has to agree
                self._bases.append(_Basis([*first, *more], self.points))

    def __call__(self, values: Sequence[int]) -> Polynomial | None:
        """The polynomial with these values at the points; None if there is none."""
        key = tuple(values)
        if key not in self._known:
            if len(set(key)) == 1:
                self._known[key] = Polynomial((((), key[0]),) if key[0] else ())
            else:
                self._known[key] = next((p for b in self._bases if (p := b.fit(key)) is not None), None)
        return self._known[key]


def _monomials(sizes: Sequence[Size], degree: int = DEGREE) -> list[Monomial]:
    return [m for d in range(degree + 1) for m in combinations_with_replacement(sizes, d)]


class _Basis:
    """Monomials, and what makes their coefficients from values at some of the points."""

    def __init__(self, monomials: Sequence[Monomial], points: list[tuple[int, ...]]):
        self.monomials, self.points = monomials, points
        self._solved: tuple[list[int], list[list[Fraction]]] | None = None

    def fit(self, values: tuple[int, ...]) -> Polynomial | None:
        """The polynomial of these monomials with the values at the points."""
        if self._solved is None:
            self._solved = _inverse([[prod(v.at(p) for v in m) for m in self.monomials] for p in self.points])
        chosen, inverse = self._solved
        coefficients = [sum((a * values[k] for a, k in zip(row, chosen, strict=True)), Fraction(0)) for row in inverse]
        if not coefficients or any(c.denominator != 1 for c in coefficients):
            return None
        found = Polynomial(tuple((m, int(c)) for m, c in zip(self.monomials, coefficients, strict=True) if c))
        return found if all(found.at(p) == v for p, v in zip(self.points, values, strict=True)) else None


def _inverse(matrix: Sequence[Sequence[int]]) -> tuple[list[int], list[list[Fraction]]]:
    """The first rows of a matrix that are independent, by their numbers, and the inverse of the matrix of these; no rows where
    there are too few. By elimination: each row is kept with what it is made of."""
    n = len(matrix[0])
    chosen: list[int] = []
    kept: list[tuple[int, list[Fraction]]] = []   # the column of the pivot, and the row with its combination behind it
    for k, given in enumerate(matrix):
        if len(chosen) == n:
            break
        row = [*map(Fraction, given), *(Fraction(i == len(chosen)) for i in range(n))]
        for pivot, other in kept:
            row = [x - row[pivot] * y for x, y in zip(row, other, strict=True)]
        pivot = next((c for c in range(n) if row[c]), n)
        if pivot < n:
            row = [x / row[pivot] for x in row]
            kept = [(c, [x - other[pivot] * y for x, y in zip(other, row, strict=True)]) for c, other in kept]
            kept.append((pivot, row))
            chosen.append(k)
    if len(chosen) < n:
        return [], []
    return chosen, [row[n:] for _, row in sorted(kept, key=lambda one: one[0])]
