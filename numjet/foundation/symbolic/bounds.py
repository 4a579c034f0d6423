"""Bounds of symbolic dimensions: interval arithmetic, improved by adding multiples of known inequalities.

For an expression e and an inequality g >= 0, e >= e - k*g for every k > 0. Where a k makes a term vanish, the right side may
have a better bound: a few such steps prove what programs ask about shapes. max and min are decided by cases, before the steps.
The bounds are right always, but not always the best.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from numjet.foundation.symbolic.dims import (
    Factor,
    Monomial,
    Operation,
    Size,
    SymbolicDim,
    Terms,
    operations_of,
    polynomial,
    substituted,
    terms_of,
)

Interval = tuple[float, float]
_STEPS = 4  # inequalities that are added to one expression
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
            self.known[x] = _Search(self, [*self.facts, *implied([x])]).best(x, _STEPS, _CASES)
        return self.known[x]

    def upper(self, x: Size) -> float:
        """A number that the size is never above; inf where none is found."""
        return -self.lower(-x)

    # -- intervals
    def interval(self, x: Size) -> Interval:
        """The sum of the intervals of the terms."""
        low = high = 0.0
        for monomial, coefficient in terms_of(x).items():
            a, b = _times((coefficient, coefficient), self._monomial(monomial))
            low, high = low + a, high + b
        return _whole(low), _whole(high)

    def without_bound(self, x: SymbolicDim) -> Monomial | None:
        """The first term that has no lower bound."""
        return next((m for m, c in x.terms if -inf in _times((c, c), self._monomial(m))), None)

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
        if d < 0:  # floordiv(a, -b) = floordiv(-a, b), mod(a, -b) = -mod(-a, b)
            low, high = _divided(op.name, (-b, -a), (-d, -c))
            return (-high, -low) if op.name == "mod" else (low, high)
        if c <= 0:  # the divisor may be negative: nothing is concluded
            return -inf, inf
        return _divided(op.name, (a, b), (c, d))


class _Search:
    """The search for a lower bound with the same facts. Different orders of steps lead to the same expressions, which are
    bounded once."""

    def __init__(self, bounds: Bounds, facts: Sequence[SymbolicDim]):
        self.bounds = bounds
        self.facts = facts
        self.found: dict[tuple[SymbolicDim, int, int], float] = {}

    def best(self, x: Size, steps: int, cases: int) -> float:
        """The best lower bound by so many steps and cases."""
        if not isinstance(x, SymbolicDim):
            return x
        key = (x, steps, cases)
        if key not in self.found:
            self.found[key] = self._best(x, steps, cases)
        return self.found[key]

    def _best(self, x: SymbolicDim, steps: int, cases: int) -> float:
        best = self.bounds.interval(x)[0]
        if steps:
            for reduced, scale in _reductions(x, self.facts, self.bounds.without_bound(x)):
                found = self.best(reduced, steps - 1, 0)
                best = max(best, found if found == -inf else -(-found // scale))
        if cases:
            for operation in operations_of(x).values():
                if operation.name in ("max", "min"):
                    best = max(best, min(self.best(substituted(x, {operation.text: arg}), steps, cases - 1)
                                         for arg in operation.args))
                    break
        return best


def _divided(name: str, dividend: Interval, divisor: Interval) -> Interval:
    """floordiv or mod by a divisor that is positive."""
    (a, b), (c, d) = dividend, divisor
    if name == "mod":
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


def _reductions(x: SymbolicDim, facts: Sequence[SymbolicDim], only: Monomial | None) -> Iterable[tuple[Size, int]]:
    """Pairs (y, s) with s*x >= y, where y is s*x without one of its terms, by adding a multiple of a fact.

    only: the term that is to vanish, as all must that have no bound: their order is of no matter. None: any."""
    terms = terms_of(x)
    for fact in facts:
        for monomial, coefficient in fact.terms:
            if only is not None and monomial != only:
                continue
            ours = terms.get(monomial, 0) if monomial else 0
            if ours * coefficient > 0:
                scale = abs(coefficient)
                yield _combined(terms, scale, fact, -abs(ours), x.scope), scale


def _combined(terms: Terms, scale: int, fact: SymbolicDim, times: int, scope: Any) -> Size:
    """scale * terms + times * fact, rewritten as a whole: equalities would make a fact that says them 0."""
    total = {monomial: scale * coefficient for monomial, coefficient in terms.items()}
    for monomial, coefficient in fact.terms:
        total[monomial] = total.get(monomial, 0) + times * coefficient
    return polynomial(total, scope)
