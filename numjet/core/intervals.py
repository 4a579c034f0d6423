"""Interval analysis of integers: the least and the greatest value that the elements of a variable can have.

The `interval` slots of records give the interval of a result from those of the operands. Simplification asks for it: an index
that is known to be in bounds is neither checked nor counted from the end, and a comparison that the intervals decide is a
constant. Bounds of computed sizes come from it, too. Floats have intervals where operations do not round, for the integers made
of them; they tell nothing of NaN. Each variable is looked at once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from numjet.core.ir import Atom, JaxprEqn, Literal, Var
from numjet.core.traits import EXACT
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, computed_sizes

Interval = tuple[float, float]   # of Python integers, or infinite
MOST_ELEMENTS = 1 << 16          # of constants that are searched for their ends
_UNBOUNDED: Interval = (-inf, inf)


class Facts:
    """What is known of one program's variables: facts(x) is the equation that makes x, facts.interval(x) its interval, found
    when it is asked for.

    producer: the equation that makes a variable, or None. constant: the value of a variable that has one, or None.
    """

    def __init__(self, producer: Callable[[Var], JaxprEqn | None], constant: Callable[[Var], Any] = lambda v: None):
        self.producer, self.constant = producer, constant
        self._known: dict[Var, Interval] = {}

    def bind(self, var: Var, interval: Interval) -> None:
        """Says what a variable is within, beside the limits of its dtype."""
        self._known[var] = intersection(interval, limits(var.aval.dtype)) or limits(var.aval.dtype)

    def __call__(self, atom: Atom) -> JaxprEqn | None:
        """The equation that makes an operand; None for literals, inputs and constants."""
        return None if isinstance(atom, Literal) else self.producer(atom)

    def interval(self, atom: Atom) -> Interval:
        """The interval of an operand; (-inf, inf) of what is neither an integer nor a float."""
        if isinstance(atom, Literal):
            return of_literal(atom)
        if not _ordered(atom.aval.dtype):
            return _UNBOUNDED
        if atom not in self._known:
            self._find(atom)
        return self._known[atom]

    def within(self, atom: Atom, low: float, high: float) -> bool:
        """Whether all elements are surely in low ... high."""
        least, most = self.interval(atom)
        return low <= least and most <= high

    def number(self, eqn: JaxprEqn) -> int | None:
        """The one value that the result of an equation can have; None where there may be others."""
        if eqn.effects or eqn.primitive.interval is None or not counts(eqn.outvars[0].aval.dtype):
            return None
        low, high = self.of_equation(eqn)[0]
        return int(low) if low == high else None

    def of_equation(self, eqn: JaxprEqn) -> list[Interval]:
        """The intervals of an equation's results, from those of its operands."""
        found = eqn.primitive.interval(eqn, self)
        made = found if eqn.primitive.multiple else [found]
        return [_bounded(interval, v.aval.dtype) for interval, v in zip(made, eqn.outvars, strict=True)]

    def _find(self, atom: Var) -> None:
        known, todo = self._known, [atom]
        while todo:
            top = todo[-1]
            if top in known:
                todo.pop()
                continue
            eqn = self(top)
            if eqn is None or eqn.primitive.interval is None or not (counts(top.aval.dtype) or EXACT <= eqn.primitive.traits):
                known[top] = self._given(top)
                continue
            missing = [a for a in eqn.invars if isinstance(a, Var) and _ordered(a.aval.dtype) and a not in known]
            if missing:
                todo += missing
            else:
                known.update(zip(eqn.outvars, self.of_equation(eqn), strict=True))

    def _given(self, var: Var) -> Interval:
        """The interval of a constant, or that of the dtype."""
        value = self.constant(var)
        size = 0 if value is None or isinstance(var.aval.size, Dimension) or not counts(var.aval.dtype) else var.aval.size
        if not 0 < size <= MOST_ELEMENTS:
            return limits(var.aval.dtype)
        array = np.asarray(value)
        return int(array.min()), int(array.max())


def counts(dtype: Any) -> bool:
    """Whether values are integers or bools, of a dtype of NumPy's."""
    return dtype.kind in "biu"


def _ordered(dtype: Any) -> bool:
    return dtype.kind in "biuf"


def of_literal(atom: Literal) -> Interval:
    """The interval of a number."""
    if not _ordered(atom.aval.dtype) or atom.val != atom.val:
        return _UNBOUNDED
    number = int(atom.val) if counts(atom.aval.dtype) else float(atom.val)
    return number, number


def limits(dtype: Any) -> Interval:
    """The interval of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    if not counts(dtype):
        return _UNBOUNDED
    info = dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _bounded(interval: Interval, dtype: Any) -> Interval:
    """An interval of exact results as one of a dtype, in which they may wrap."""
    least, most = limits(dtype)
    return interval if least <= interval[0] <= interval[1] <= most else (least, most)


def intersection(x: Interval, y: Interval) -> Interval | None:
    """What is in both; None if nothing is."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else None


def hull(intervals: Sequence[Interval]) -> Interval:
    """The least interval around some."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def times(x: Interval, y: Interval) -> Interval:
    """The interval of products."""
    found = [0 if 0 in (a, b) else a * b for a in x for b in y]
    return min(found), max(found)


def plus(x: Interval, y: Interval) -> Interval:
    """The interval of sums."""
    return x[0] + y[0], x[1] + y[1]


def largest(n: Any) -> float:
    """The most that a size can be."""
    if not isinstance(n, Dimension):
        return n
    return inf if computed_sizes.maker is None else computed_sizes.maker.bound(n)


# ------------------------------------------------------------------------------------------------ rules of records

Rule = Callable[[JaxprEqn, Facts], Any]


def of_operand(eqn: JaxprEqn, known: Facts) -> Interval:
    """The rule of operations that only move the elements of their first operand."""
    return known.interval(eqn.invars[0])


def of_operands(eqn: JaxprEqn, known: Facts) -> Interval:
    """The rule of operations whose elements are those of their operands."""
    return hull(list(map(known.interval, eqn.invars)))


def each_operand(eqn: JaxprEqn, known: Facts) -> list[Interval]:
    """The rule of operations each of whose results has the elements of the operand of the same number."""
    return list(map(known.interval, eqn.invars))


def by(function: Callable[..., Interval]) -> Rule:
    """The rule of an operation of which a function of the operands' intervals gives that of the result."""
    return lambda eqn, known: function(*map(known.interval, eqn.invars))
