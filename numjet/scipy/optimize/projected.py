"""Limited-memory quasi-Newton steps within bounds.

D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints" (SIAM J. Control Optim. 20, 1982),
with the limited-memory matrix of J. Nocedal, "Updating quasi-Newton matrices with limited storage" (1980) for the variables
that are free; a backtracking search along the projected direction.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import value_and_grad
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import while_loop
from numjet.lax.contraction.precision import Precision

OPTIONS = {"maxcor": 10, "ftol": 2.2204460492503131e-9, "gtol": 1e-5, "maxiter": 15000, "maxls": 20}
_DECREASE, _SHRINKAGE = 1e-4, 0.1


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    steps_taken: Any   # rows: the last changes of x, zeros where there were none yet
    changes: Any       # rows: the changes of the gradient
    reduction: Any     # of the value, relative
    evaluations: Any
    steps: Any
    stuck: Any


def project(x: Any, bounds: Any) -> Any:
    """The nearest point within the bounds, a pair of arrays, or None."""
    return x if bounds is None else jnp.clip(x, *bounds)


def residual(x: Any, gradient: Any, bounds: Any) -> Any:
    """The step against the gradient that the bounds leave, reversed: zero at a minimum, the gradient without bounds."""
    return gradient if bounds is None else x - jnp.clip(x - gradient, *bounds)


def _dot(a: Any, b: Any) -> Any:
    return jnp.vdot(a, b, precision=Precision.HIGHEST)


def _direction(s: _State, free: Any) -> Any:
    """Minus the limited-memory inverse Hessian of the free variables, times the gradient: the two-loop recursion."""
    moves, changes = jnp.where(free, s.steps_taken, 0), jnp.where(free, s.changes, 0)
    curvatures = jnp.sum(moves * changes, 1)
    squares = jnp.sum(changes * changes, 1)
    usable = curvatures > jnp.finfo(s.x.dtype).eps * squares
    inverse = jnp.where(usable, 1 / jnp.where(usable, curvatures, 1), 0)

    def down(q: Any, row: Any) -> tuple[Any, Any]:
        move, change, inverse = row
        a = inverse * _dot(move, q)
        return q - a * change, a

    def up(q: Any, row: Any) -> tuple[Any, None]:
        move, change, inverse, a = row
        return q + (a - inverse * _dot(change, q)) * move, None
    gradient = jnp.where(free, s.gradient, 0)
    q, weights = scan(down, gradient, (moves, changes, inverse), reverse=True)
    newest = jnp.max(jnp.where(usable, jnp.arange(usable.size), -1))
    norm = jnp.sqrt(_dot(gradient, gradient))
    scale = jnp.where(newest >= 0, curvatures[newest] / jnp.where(squares[newest] == 0, 1, squares[newest]),
                      1 / jnp.maximum(norm, 1))
    q, _ = scan(up, scale * q, (moves, changes, inverse, weights))
    descends = _dot(q, gradient) > 0
    return -jnp.where(free, jnp.where(descends, q, gradient), s.gradient)


def _search(both: Callable[[Any], Any], s: _State, direction: Any, bounds: Any, maxls: int) -> Any:
    """Backtracking, to a sufficient decrease: (x, value, gradient, evaluations, found)."""
    def unfinished(state: Any) -> Any:
        *_, trials, found = state
        return ~found & (trials < maxls)

    def step(state: Any) -> Any:
        size, *_, trials, _ = state
        x = project(s.x + size * direction, bounds)
        value, gradient = both(x)
        slope = _dot(s.gradient, x - s.x)
        found = value <= s.value + _DECREASE * slope
        curved = value - s.value - slope
        minimum = size * jnp.where(curved > 0, -slope / (2 * jnp.where(curved > 0, curved, 1)), 0.5)
        smaller = jnp.where(jnp.isfinite(minimum), jnp.clip(minimum, _SHRINKAGE * size, 0.5 * size), _SHRINKAGE * size)
        return smaller, x, value, gradient, trials + 1, found
    one = jnp.ones((), s.x.dtype)
    out = while_loop(unfinished, step, (one, s.x, s.value, s.gradient, 0, jnp.asarray(False)))
    return out[1:]


def _active(s: _State, bounds: Any) -> Any:
    """The variables at (or beside) a bound that the gradient pushes against."""
    if bounds is None:
        return jnp.zeros(s.x.shape, bool)
    lower, upper = bounds
    near = jnp.minimum(jnp.max(abs(residual(s.x, s.gradient, bounds)), initial=0), jnp.finfo(s.x.dtype).eps ** 0.5)
    return ((s.x <= lower + near) & (s.gradient > 0)) | ((s.x >= upper - near) & (s.gradient < 0))


def lbfgsb(fun: Callable[[Any], Any], x0: Any, bounds: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Minimization within bounds: (x, (evaluations, gradients, steps, success, status))."""
    both = value_and_grad(fun)
    x0 = project(x0, bounds)
    slopes = lambda s: jnp.max(abs(residual(s.x, s.gradient, bounds)), initial=0)
    converged = lambda s: (slopes(s) <= options["gtol"]) | (s.reduction <= options["ftol"])

    def step(s: _State) -> _State:
        direction = _direction(s, ~_active(s, bounds))
        x, value, gradient, trials, found = _search(both, s, direction, bounds, options["maxls"])
        keep = lambda new, old: jnp.where(found, new, old)
        pushed = lambda rows, row: jnp.concatenate([rows[1:], row[None]])
        reduction = (s.value - value) / jnp.maximum(jnp.maximum(abs(s.value), abs(value)), 1)
        return _State(keep(x, s.x), keep(value, s.value), keep(gradient, s.gradient),
                      keep(pushed(s.steps_taken, x - s.x), jnp.zeros_like(s.steps_taken)),
                      keep(pushed(s.changes, gradient - s.gradient), jnp.zeros_like(s.changes)),
                      keep(reduction, jnp.inf), s.evaluations + trials, s.steps + 1, ~found & ~s.steps_taken.any())
    value, gradient = both(x0)
    rows = jnp.zeros((options["maxcor"], x0.size), x0.dtype)
    start = _State(x0, value, gradient, rows, rows, jnp.asarray(jnp.inf, x0.dtype), 1, 0, jnp.asarray(False))
    unfinished = lambda s: ~converged(s) & ~s.stuck & (s.steps < options["maxiter"]) & jnp.isfinite(s.value)
    s = while_loop(unfinished, step, start)
    success = converged(s) & jnp.isfinite(s.value)
    status = jnp.where(success, 0, jnp.where(s.steps >= options["maxiter"], 1, 2))
    return s.x, (s.evaluations, s.evaluations, s.steps, success, status)
