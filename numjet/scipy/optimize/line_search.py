"""Line search: a step that satisfies the strong Wolfe conditions.

Nocedal and Wright, "Numerical optimization", 2nd edition, algorithms 3.5 (bracketing) and 3.6 (zoom), as one loop.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import tree

_DECREASE, _CURVATURE = 1e-4, 0.9
_MARGIN = 0.1       # of a bracket: interpolated steps keep this distance from its ends
_MOST = 2.0 ** 30   # of steps


class Point(NamedTuple):
    """A step along the direction: its size, the value, the gradient, and the slope in the direction."""

    size: Any
    value: Any
    gradient: Any
    slope: Any


class Search(NamedTuple):
    """Result of a search: the point, whether it satisfies the conditions, and how many points were evaluated."""

    point: Point
    found: Any
    evaluations: Any


class _State(NamedTuple):
    low: Point          # satisfies sufficient decrease, with the least value so far
    high: Point         # other end of the bracket
    bracketed: Any
    trial: Any          # the next step to evaluate
    best: Point         # a point that satisfies both conditions
    found: Any
    steps: Any


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return tree.tree_map(lambda x, y: jnp.where(condition, x, y), a, b)


def _cubic_minimum(a: Point, b: Point) -> Any:
    """The minimum of the cubic with the values and slopes of both points; their middle where it has none inside."""
    width = b.size - a.size
    known = jnp.isfinite(b.value - a.value) & jnp.isfinite(b.slope - a.slope)
    left, right = jnp.where(known, a.slope, 0), jnp.where(known, b.slope, 0)
    d1 = left + right - 3 * jnp.where(known, b.value - a.value, 0) / jnp.where(width == 0, 1, width)
    square = d1 * d1 - left * right
    d2 = jnp.sign(width) * jnp.sqrt(jnp.where(square > 0, square, 1))     # a slope at 0 would be infinite
    bottom = right - left + 2 * d2
    part = 1 - (right + d2 - d1) / jnp.where(bottom == 0, 1, bottom)
    valid = (square > 0) & (bottom != 0) & jnp.isfinite(part)
    part = jnp.where(valid, jnp.clip(part, _MARGIN, 1 - _MARGIN), 0.5)
    return a.size + part * width


def search(fun: Callable[[Any], tuple[Any, Any]], x: Any, value: Any, gradient: Any, direction: Any, first: Any,
           maxiter: int) -> Search:
    """Search from x along a direction. fun: value and gradient at a point. first: the first size to try."""
    start = Point(jnp.zeros_like(value), value, gradient, jnp.vdot(gradient, direction))

    def evaluate(size: Any) -> Point:
        value, gradient = fun(x + size * direction)
        return Point(size, value, gradient, jnp.vdot(gradient, direction))

    def unfinished(s: _State) -> Any:
        narrow = s.bracketed & (abs(s.high.size - s.low.size) <= jnp.finfo(value.dtype).eps * abs(s.high.size))
        return ~s.found & (s.steps < maxiter) & ~narrow

    def step(s: _State) -> _State:
        new = evaluate(s.trial)
        # a value that is NaN or infinite counts as an increase
        increased = ~(new.value <= start.value + _DECREASE * new.size * start.slope) | ~(new.value < s.low.value)
        # Hager, Zhang 2005: near a minimum values differ by rounding only, and slopes tell more
        equal = abs(new.value - start.value) <= 4 * jnp.finfo(value.dtype).eps * abs(start.value)
        flat = (~increased | equal) & (abs(new.slope) <= -_CURVATURE * start.slope)
        toward_high = jnp.where(s.bracketed, new.slope * (s.high.size - s.low.size) >= 0, new.slope >= 0)
        turned = ~increased & toward_high
        bracketed = s.bracketed | increased | turned
        high = _choose(increased, new, _choose(turned, s.low, s.high))
        low = _choose(increased, s.low, new)
        trial = jnp.where(bracketed, _cubic_minimum(low, high), jnp.minimum(2 * new.size, _MOST))
        return _State(low, high, bracketed, trial.astype(value.dtype), _choose(flat, new, s.best), flat, s.steps + 1)

    none = jnp.asarray(False)
    s = while_loop(unfinished, step, _State(start, start, none, jnp.asarray(first, value.dtype), start, none, 0))
    # without a point that satisfies both conditions take one that decreases the value
    return Search(_choose(s.found, s.best, s.low), s.found | (s.low.size > 0), s.steps)
