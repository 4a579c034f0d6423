"""Newton's methods for minimization: a line search with truncated conjugate gradients, and trust regions.

J. Nocedal and S. J. Wright, "Numerical optimization", 2nd edition: algorithms 7.1 (line search Newton-CG), 4.1 (trust region),
7.2 (CG-Steihaug) and section 4.3 (nearly exact solutions). Hessians come as products with vectors, by differentiation.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import grad, hessian, jvp, value_and_grad
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.lax.contraction.precision import Precision
from numjet.scipy.optimize.line_search import search

OPTIONS = {"xtol": 1e-5, "maxiter": None}
TRUST_OPTIONS = {"initial_trust_radius": 1.0, "max_trust_radius": 1000.0, "eta": 0.15, "gtol": 1e-4, "maxiter": None}
Function = Callable[[Any], Any]


def _dot(a: Any, b: Any) -> Any:
    return jnp.vdot(a, b, precision=Precision.HIGHEST)


def _norm(x: Any) -> Any:
    return jnp.sqrt(_dot(x, x))


def _safe(x: Any) -> Any:
    return jnp.where(x == 0, 1, x)


# -------------------------------------------------------------------------------------------- line search

class _Inner(NamedTuple):
    """Conjugate gradients: the direction so far, the residual, the next direction, and whether they end."""

    x: Any
    residual: Any
    direction: Any
    steps: Any
    done: Any


def _newton_direction(product: Function, gradient: Any) -> Any:
    """An inexact solution of H p = -g, up to the first direction of negative curvature."""
    norm = _norm(gradient)
    tolerated = jnp.minimum(0.5, jnp.sqrt(norm)) * norm

    def step(s: _Inner) -> _Inner:
        image = product(s.direction)
        curvature, square = _dot(s.direction, image), _dot(s.residual, s.residual)
        negative = curvature <= jnp.finfo(gradient.dtype).eps * _dot(s.direction, s.direction)
        size = square / jnp.where(negative, 1, curvature)
        residual = s.residual + size * image
        x = jnp.where(negative, jnp.where(s.steps == 0, -gradient, s.x), s.x + size * s.direction)
        direction = _dot(residual, residual) / _safe(square) * s.direction - residual
        return _Inner(x, residual, direction, s.steps + 1, negative | (_norm(residual) <= tolerated))
    start = _Inner(jnp.zeros_like(gradient), gradient, -gradient, 0, norm == 0)
    return while_loop(lambda s: ~s.done & (s.steps < 20 * gradient.size), step, start).x


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    change: Any      # of x, the mean of its sizes
    evaluations: Any
    steps: Any
    stuck: Any


def newton_cg(fun: Function, x0: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Minimization by Newton's method: (x, (evaluations, gradients, steps, success, status))."""
    both = value_and_grad(fun)
    most = 200 * x0.size if options["maxiter"] is None else options["maxiter"]

    def step(s: _State) -> _State:
        product = lambda v: jvp(grad(fun), (s.x,), (v,))[1]
        direction = _newton_direction(product, s.gradient)
        point, found, calls = search(both, s.x, s.value, s.gradient, direction, 1.0, 20)
        move = point.size * direction
        return _State(s.x + move, point.value, point.gradient, jnp.mean(abs(move)), s.evaluations + calls, s.steps + 1, ~found)
    value, gradient = both(x0)
    flat = lambda s: ~(s.gradient != 0).any()
    converged = lambda s: (s.change <= options["xtol"]) | flat(s)
    start = _State(x0, value, gradient, jnp.asarray(jnp.inf, x0.dtype), 1, 0, jnp.asarray(False))
    s = while_loop(lambda s: ~converged(s) & ~s.stuck & (s.steps < most) & jnp.isfinite(s.value), step, start)
    success = converged(s) & (~s.stuck | flat(s)) & jnp.isfinite(s.value)
    return s.x, (s.evaluations, s.evaluations, s.steps, success, _status(success, s.steps, most))


def _status(success: Any, steps: Any, most: Any) -> Any:
    return jnp.where(success, 0, jnp.where(steps >= most, 1, 2))


# -------------------------------------------------------------------------------------------- trust regions

def to_boundary(p: Any, d: Any, radius: Any) -> Any:
    """The t >= 0 with |p + t d| = radius."""
    a, b, c = _dot(d, d), _dot(p, d), _dot(p, p) - radius * radius
    root = jnp.sqrt(jnp.maximum(b * b - a * c, 0))
    return jnp.where(b > 0, -c / _safe(b + root), (root - b) / _safe(a))


def _steihaug(fun: Function, x: Any, gradient: Any, radius: Any) -> tuple[Any, Any]:
    """Conjugate gradients, up to the region's boundary: the step, and the model's value there."""
    product = lambda v: jvp(grad(fun), (x,), (v,))[1]
    norm = _norm(gradient)
    tolerated = jnp.minimum(0.5, jnp.sqrt(norm)) * norm

    def step(s: _Inner) -> _Inner:
        image = product(s.direction)
        curvature, square = _dot(s.direction, image), _dot(s.residual, s.residual)
        size = square / jnp.where(curvature > 0, curvature, 1)
        leaves = (curvature <= 0) | (_norm(s.x + size * s.direction) >= radius)
        size = jnp.where(leaves, to_boundary(s.x, s.direction, radius), size)
        residual = s.residual + size * image
        direction = _dot(residual, residual) / _safe(square) * s.direction - residual
        return _Inner(s.x + size * s.direction, residual, direction, s.steps + 1, leaves | (_norm(residual) < tolerated))
    start = _Inner(jnp.zeros_like(gradient), gradient, -gradient, 0, norm == 0)
    s = while_loop(lambda s: ~s.done & (s.steps < 2 * gradient.size), step, start)
    return s.x, 0.5 * _dot(s.x, gradient + s.residual)  # the residual is g + H p


def _exact(fun: Function, x: Any, gradient: Any, radius: Any) -> tuple[Any, Any]:
    """The minimum of the model in the region: J. J. More and D. C. Sorensen (1983), with the Hessian's eigenvectors."""
    values, vectors = jnp.linalg.eigh(hessian(fun)(x))
    g = jnp.matmul(vectors.T, gradient, precision=Precision.HIGHEST)
    eps = jnp.finfo(x.dtype).eps
    scale = jnp.maximum(jnp.max(abs(values)), jnp.finfo(x.dtype).tiny)
    lowest = values[0]
    flat = values - lowest <= 8 * eps * scale

    def steps(shift: Any, leave_out: Any) -> Any:
        return jnp.where(leave_out, 0, -g / jnp.where(leave_out, 1, _safe(values + shift)))

    def refine(_: Any, bracket: Any) -> Any:
        low, high = bracket
        middle = 0.5 * (low + high)
        outside = _norm(steps(middle, jnp.zeros_like(flat))) > radius
        return jnp.where(outside, middle, low), jnp.where(outside, high, middle)
    inner = steps(0.0, jnp.zeros_like(flat))
    convex = (lowest > 8 * eps * scale) & (_norm(inner) <= radius)
    least = jnp.maximum(-lowest, 0)
    _, shift = fori_loop(0, 100, refine, (least, least + _norm(g) / radius + scale * eps))
    short = steps(least, flat)  # the hard case: no shift makes the step long enough
    hard = (jnp.max(jnp.where(flat, abs(g), 0)) <= 8 * eps * _norm(g)) & (_norm(short) < radius) & (lowest < 0)
    along = short + to_boundary(short, jnp.where(jnp.arange(g.size) == 0, 1, 0).astype(g.dtype), radius) * (
        jnp.arange(g.size) == 0)
    p = jnp.where(convex, inner, jnp.where(hard, along, steps(shift, jnp.zeros_like(flat))))
    return jnp.matmul(vectors, p, precision=Precision.HIGHEST), _dot(g, p) + 0.5 * _dot(p * values, p)


def _dogleg(fun: Function, x: Any, gradient: Any, radius: Any) -> tuple[Any, Any]:
    """Powell's path (Nocedal and Wright, section 4.1): along the gradient to the model's minimum, then towards Newton's point.
    Where the Hessian is not positive definite, along the gradient alone."""
    matrix = hessian(fun)(x)
    product = lambda v: jnp.matmul(matrix, v, precision=Precision.HIGHEST)
    factor = jnp.linalg.cholesky(matrix)
    definite = jnp.isfinite(factor).all()
    newton = -jnp.linalg.solve(jnp.where(definite, matrix, jnp.eye(x.size, dtype=x.dtype)), gradient)
    norm, curvature = _norm(gradient), _dot(gradient, product(gradient))
    descent = -gradient * jnp.where(curvature > 0, _dot(gradient, gradient) / jnp.where(curvature > 0, curvature, 1), jnp.inf)
    outside = ~(_norm(descent) < radius)
    edge = -gradient * (radius / _safe(norm))
    inner = jnp.where(outside, 0, descent)
    onward = jnp.where(definite, newton - inner, 0)
    share = jnp.where(_norm(newton) <= radius, 1, jnp.minimum(1, to_boundary(inner, onward, radius)))
    p = jnp.where(outside & ~(definite & (_norm(newton) <= radius)), edge, jnp.where(definite, inner + share * onward, inner))
    return p, _dot(gradient, p) + 0.5 * _dot(p, product(p))


class _Region(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    radius: Any
    steps: Any


SUBPROBLEMS = {"trust-ncg": _steihaug, "trust-exact": _exact, "dogleg": _dogleg}


def trust_region(fun: Function, x0: Any, options: Mapping[str, Any], method: str) -> tuple[Any, Any]:
    """Minimization of quadratic models in a region: (x, (evaluations, gradients, steps, success, status))."""
    both, solve = value_and_grad(fun), SUBPROBLEMS[method]
    most = 200 * x0.size if options["maxiter"] is None else options["maxiter"]
    least = float(jnp.finfo(x0.dtype).tiny)

    def step(s: _Region) -> _Region:
        p, predicted = solve(fun, s.x, s.gradient, s.radius)
        value, gradient = both(s.x + p)
        noise = 4 * jnp.finfo(x0.dtype).eps * abs(s.value)  # differences of values below it are rounding
        equal = (abs(value - s.value) <= noise) & (abs(predicted) <= noise)
        gain = jnp.where(equal, 1, jnp.where(jnp.isfinite(value), (s.value - value) / _safe(-predicted), -1))
        at_edge = _norm(p) >= 0.99 * s.radius
        radius = jnp.where(gain < 0.25, 0.25 * s.radius, jnp.where((gain > 0.75) & at_edge, jnp.minimum(
            2 * s.radius, options["max_trust_radius"]), s.radius))
        keep = lambda new, old: jnp.where(gain > options["eta"], new, old)
        return _Region(keep(s.x + p, s.x), keep(value, s.value), keep(gradient, s.gradient), radius, s.steps + 1)
    value, gradient = both(x0)
    converged = lambda s: _norm(s.gradient) < options["gtol"]
    start = _Region(x0, value, gradient, jnp.asarray(options["initial_trust_radius"], x0.dtype), 0)
    s = while_loop(lambda s: ~converged(s) & (s.steps < most) & (s.radius > least) & jnp.isfinite(s.value), step, start)
    return s.x, (s.steps + 1, s.steps + 1, s.steps, converged(s), _status(converged(s), s.steps, most))
