"""The method of Broyden, Fletcher, Goldfarb and Shanno: Nocedal and Wright, algorithm 6.1."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import value_and_grad
from numjet.control.loops.while_loop import while_loop
from numjet.lax.contraction.precision import Precision
from numjet.scipy.optimize.line_search import search
from numjet.scipy.optimize.results import OptimizeResults

SUCCESS, LIMIT, NO_STEP = 0, 1, 3


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    evaluations: Any
    steps: Any
    stuck: Any


def size(gradient: Any, norm: Any) -> Any:
    """The norm of a gradient, 0 for an empty one."""
    return jnp.linalg.norm(gradient, norm) if gradient.size else jnp.zeros((), gradient.dtype)


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=Precision.HIGHEST)


def _updated(inverse: Any, step: Any, change: Any) -> Any:
    """The inverse Hessian after a step that changed the gradient by `change`; unchanged where curvature is not positive."""
    curvature = jnp.vdot(step, change)
    usable = curvature > 0
    scaled = step / jnp.where(usable, curvature, 1)
    image = _product(inverse, change)
    new = (inverse - jnp.outer(scaled, image) - jnp.outer(image, scaled)
           + jnp.outer(scaled, step) * (1 + jnp.vdot(change, image) / jnp.where(usable, curvature, 1)))
    return jnp.where(usable, new, inverse)


def bfgs(fun: Callable[[Any], Any], x0: Any, maxiter: Any, norm: Any, gtol: Any, line_search_maxiter: int) -> OptimizeResults:
    """Minimization of a function of a vector of floats."""
    both = value_and_grad(fun)
    value, gradient = both(x0)

    def converged(s: _State) -> Any:
        return size(s.gradient, norm) < gtol

    def unfinished(s: _State) -> Any:
        return ~converged(s) & (s.steps < maxiter) & ~s.stuck & jnp.isfinite(s.value)

    def step(s: _State) -> _State:
        direction = -_product(s.inverse, s.gradient)
        # without curvature known the first step has length 1 at most
        first = jnp.where(s.steps == 0, jnp.minimum(1, 1 / jnp.maximum(size(direction, 2), jnp.finfo(x0.dtype).tiny)), 1)
        point, found, evaluations = search(both, s.x, s.value, s.gradient, direction, first, line_search_maxiter)
        move = point.size * direction
        inverse = _updated(s.inverse, move, point.gradient - s.gradient)
        return _State(s.x + move, point.value, point.gradient, inverse, s.evaluations + evaluations, s.steps + 1, ~found)

    start = _State(x0, value, gradient, jnp.eye(x0.size, dtype=x0.dtype), 1, 0, jnp.asarray(False))
    s = while_loop(unfinished, step, start)
    success = converged(s)
    status = jnp.where(success, SUCCESS, jnp.where(s.steps >= maxiter, LIMIT, NO_STEP))
    return OptimizeResults(s.x, success, status, s.value, s.gradient, s.inverse, s.evaluations, s.evaluations, s.steps)
