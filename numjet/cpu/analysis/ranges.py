"""Interval analysis of integers, from the bounds of loops: it shows where narrower arithmetic and early loads are safe."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numjet.cpu.ir.nodes import Expr, For
from numjet.cpu.ir.traversal import lazy_postorder, static_trips
from numjet.cpu.ir.types import kind

Interval = tuple[int, int]
_FAR = 1 << 40


class Ranges:
    """Intervals of expressions, each computed once. `bind` gives those of variables."""

    def __init__(self) -> None:
        self._known: dict[int, Interval] = {}

    def bind(self, var: Expr, low: int, high: int) -> None:
        """`var` is at least `low` and at most `high` wherever it is used."""
        self._known[var.id] = (low, max(low, high))

    def of(self, expr: Expr) -> Interval:
        """The smallest interval known to hold the value; at most that of the dtype."""
        known = self._known
        for e in lazy_postorder(expr, known, _operands):
            low, high = limits(e.dtype)
            found = _interval(e, [known[a.id] for a in _operands(e)])
            known[e.id] = found if found is not None and low <= found[0] and found[1] <= high else (low, high)
        return known[expr.id]

    def within(self, expr: Expr, low: int, high: int) -> bool:
        """Whether the value is surely in low ... high."""
        found = self.of(expr)
        return low <= found[0] and found[1] <= high


def most_trips(loop: For) -> int | None:
    """The number of a loop's iterations, or the most that there can be where its bounds follow from sizes; None where it is not
    known, as of loops that end at a number that the program computes."""
    trips = static_trips(loop)
    if trips is None and loop.start.op == "const" and _follows_from_sizes(loop.stop):
        high = Ranges().of(loop.stop)[1]
        trips = max(0, high - int(loop.start.attr)) if high < _FAR else None
    return trips


def _follows_from_sizes(x: Expr) -> bool:
    """Whether a number is computed from constants and numbers with a bound of their own, min(n, 100)."""
    if x.op == "const" or (x.op == "min" and any(a.op == "const" for a in x.args)):
        return True
    return x.op in ("add", "sub", "mul", "div", "min", "max") and all(map(_follows_from_sizes, x.args))


Rule = Callable[..., Interval | None]


def limits(dtype: np.dtype) -> Interval:
    """The interval of an integer dtype; of others, one that tells nothing."""
    if kind(dtype) in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return (0, 1) if kind(dtype) == "b" else (-2**63, 2**64)


def _operands(expr: Expr) -> tuple[Expr, ...]:
    return expr.args if kind(expr.dtype) in "iu" and expr.op in _RULES else ()


def _interval(expr: Expr, args: list[Interval]) -> Interval | None:
    if expr.op == "const" and kind(expr.dtype) in "iub":
        return int(expr.attr), int(expr.attr)
    return _RULES[expr.op](expr, *args) if args else None


def _corners(operation: Callable[[int, int], int]) -> Rule:
    """The rule of an operation that is monotone in each operand."""
    def rule(expr: Expr, x: Interval, y: Interval) -> Interval:
        values = [operation(a, b) for a in x for b in y]
        return min(values), max(values)
    return rule


def _divide(expr: Expr, x: Interval, y: Interval) -> Interval | None:
    """Of quotients rounded towards zero."""
    if y[0] <= 0:
        return None
    values = [a // b if a >= 0 else -(-a // b) for a in x for b in y]
    return min(values), max(values)


def _remainder(expr: Expr, x: Interval, y: Interval) -> Interval | None:
    return (0, min(x[1], y[1] - 1)) if x[0] >= 0 and y[0] > 0 else None


def _and(expr: Expr, x: Interval, y: Interval) -> Interval | None:
    bounds = [high for low, high in (x, y) if low >= 0]
    return (0, min(bounds)) if bounds else None


def _convert(expr: Expr, x: Interval) -> Interval | None:
    return x if kind(expr.args[0].dtype) in "iub" else None


def _bitcast(expr: Expr, x: Interval) -> Interval | None:
    return x if x[0] >= 0 and kind(expr.args[0].dtype) in "iu" else None


def _select(expr: Expr, c: Interval, x: Interval, y: Interval) -> Interval:
    return min(x[0], y[0]), max(x[1], y[1])


_RULES: dict[str, Rule] = {
    "add": _corners(lambda a, b: a + b), "sub": _corners(lambda a, b: a - b), "mul": _corners(lambda a, b: a * b),
    "min": _corners(min), "max": _corners(max), "neg": lambda expr, x: (-x[1], -x[0]), "div": _divide,
    "rem": _remainder, "and": _and, "convert": _convert, "bitcast": _bitcast, "select": _select,
}
