"""Bounds of symbolic dimensions: interval arithmetic, improved by adding multiples of known inequalities.

For an expression e and an inequality g >= 0, e >= e - k*g for every k > 0. Where a k makes a term vanish, the right side may
have a better bound: a few such steps prove what programs ask about shapes. max and min are decided by cases. The bounds are
right always, but not always the best.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from numjet.foundation.symbolic.dims import Factor, Monomial, Operation, Size, SymbolicDim, operations_of, substituted, terms_of

Interval = tuple[float, float]
_STEPS = 3  # inequalities that are added to one expression
_CASES = 3  # max and min that are decided by cases


class Bounds:
    """What is known of the variables of a scope: intervals, and expressions that are at least 0."""

    def __init__(self, variables: dict[str, Interval], facts: Sequence[SymbolicDim]):
        self.variables = variables
        self.facts = [*facts, *implied(facts)]
        self.known: dict[SymbolicDim, float] = {}

    def lower(self, x: Size) -> float:
        """A number that the size is never below; -inf where none is found."""
        if not isinstance(x, SymbolicDim):
            return x
        if x not in self.known:
            self.known[x] = self.interval(x)[0]  # for the expression itself, when its operations ask for it
            self.known[x] = self._best(x, [*self.facts, *implied([x])], _STEPS, _CASES)
        return self.known[x]

    def upper(self, x: Size) -> float:
        """A number that the size is never above; inf where none is found."""
        return -self.lower(-x)

    def _best(self, x: Size, facts: Sequence[SymbolicDim], steps: int, cases: int) -> float:
        if not isinstance(x, SymbolicDim):
            return x
        best = self.interval(x)[0]
        if steps:
            for reduced, scale in _reductions(x, facts):
                found = self._best(reduced, facts, steps - 1, cases)
                best = max(best, found if found == -inf else -(-found // scale))
        if cases:
            for operation in operations_of(x).values():
                if operation.name in ("max", "min"):
                    best = max(best, min(self._best(substituted(x, {operation.text: arg}), facts, steps, cases - 1)
                                         for arg in operation.args))
                    break
        return best

    # -- intervals
    def interval(self, x: Size) -> Interval:
        """The sum of the intervals of the terms."""
        low = high = 0.0
        for monomial, coefficient in terms_of(x).items():
            a, b = _times((coefficient, coefficient), self._monomial(monomial))
            low, high = low + a, high + b
        return _whole(low), _whole(high)

    def _monomial(self, monomial: Monomial) -> Interval:
        found: Interval = (1, 1)
        for factor, exponent in monomial:
            for _ in range(exponent):
                found = _times(found, self._factor(factor))
        return found

    def _factor(self, factor: Factor) -> Interval:
        if isinstance(factor, str):
            return self.variables.get(factor, (1, inf))
        return self._operation(factor)

    def _operation(self, op: Operation) -> Interval:
        (a, b), (c, d) = ((self.lower(x), self.upper(x)) for x in op.args)
        if op.name == "max":
            return max(a, c), max(b, d)
        if op.name == "min":
            return min(a, c), min(b, d)
        if c <= 0:  # the divisor may be negative: nothing is concluded
            return -inf, inf
        if op.name == "mod":
            return 0, min(d - 1, b if a >= 0 else inf)
        return _floor(a, c if a < 0 else d), _floor(b, c if b >= 0 else d)


def _floor(a: float, b: float) -> float:
    if abs(a) == inf:
        return a
    return (0 if a >= 0 else -1) if b == inf else a // b


def _whole(x: float) -> float:
    return x if abs(x) == inf else int(x)


def _times(x: Interval, y: Interval) -> Interval:
    products = [0 if 0 in (a, b) else a * b for a in x for b in y]
    return min(products), max(products)


def implied(sizes: Iterable[Size]) -> list[SymbolicDim]:
    """Expressions that are at least 0 by the meaning of the operations in the sizes."""
    found: dict[str, Operation] = {}
    for x in sizes:
        found.update(operations_of(x))
    scope = next((x.scope for x in sizes if isinstance(x, SymbolicDim)), None)
    return [] if scope is None else [fact for op in found.values() for fact in scope.facts_of(op)]


def _reductions(x: SymbolicDim, facts: Sequence[SymbolicDim]) -> Iterable[tuple[Size, int]]:
    """Pairs (y, s) with s*x >= y, where y is s*x without one of its terms, by adding a multiple of a fact."""
    terms = terms_of(x)
    for fact in facts:
        for monomial, coefficient in fact.terms:
            ours = terms.get(monomial, 0) if monomial else 0
            if ours * coefficient > 0:
                scale = abs(coefficient)
                yield scale * x - abs(ours) * fact, scale
