"""Nonlinear least squares by a trust region in the interior of bounds, with steps that are reflected where they meet one.

M. A. Branch, T. F. Coleman and Y. Li, "A subspace, interior, and conjugate gradient method for large-scale bound-constrained
minimization problems" (SIAM J. Sci. Comput. 21, 1999). Variables are scaled by the roots of their distances from the bounds
that a step would meet, which turns these bounds away and makes the optimality conditions smooth.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.scipy.linalg.products import exact_product
from numjet.scipy.optimize.residual_problems import Problem, RegionState, norm, room_along, safe, status_of

_INSIDE = 1e-10         # share of its size by which a start at a bound is moved
_SECULAR_STEPS = 12     # of Newton's method for the length of a step, which converges from one side


class _Model(NamedTuple):
    """The cost along a step p in scaled variables: g p + |J p|^2 / 2 + p diag(c) p / 2."""

    jacobian: Any
    gradient: Any
    curvature: Any

    def __call__(self, p: Any) -> Any:
        return jnp.sum(self.gradient * p) + 0.5 * self.square(p, p)

    def square(self, p: Any, q: Any) -> Any:
        return jnp.sum(exact_product(self.jacobian, p) * exact_product(self.jacobian, q)) + jnp.sum(self.curvature * p * q)


def _distances(x: Any, gradient: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """The distance to the bound that a step against the gradient would meet, 1 without, and its derivative by x."""
    above = (gradient < 0) & jnp.isfinite(upper)
    below = (gradient > 0) & jnp.isfinite(lower)
    distance = jnp.where(above, upper - x, jnp.where(below, x - lower, 1))
    return distance, jnp.where(above, -1.0, jnp.where(below, 1.0, 0.0)).astype(x.dtype)


def _inside(x: Any, lower: Any, upper: Any, share: float) -> Any:
    """The nearest point that is not on a bound."""
    step = lambda bound, towards: jnp.where(
        share > 0, bound + jnp.sign(towards - bound) * share * jnp.maximum(1, abs(bound)), jnp.nextafter(bound, towards))
    x = jnp.where(x <= lower, step(lower, upper), jnp.where(x >= upper, step(upper, lower), x))
    return jnp.where((x < lower) | (x > upper), 0.5 * (lower + upper), x)


def _to_radius(p: Any, direction: Any, radius: Any) -> Any:
    """The positive t with |p + t direction| = radius, for |p| <= radius."""
    a, b = jnp.sum(direction * direction), jnp.sum(p * direction)
    c = jnp.minimum(jnp.sum(p * p) - radius ** 2, 0)
    root = jnp.sqrt(b * b - a * c)
    return jnp.where(b > 0, -c / safe(b + root), (root - b) / safe(a))


def _within_radius(jacobian: Any, value: Any, radius: Any) -> Any:
    """The minimum of |J p + f| for |p| <= radius, by singular values (J. J. More, "The Levenberg-Marquardt algorithm").

    Newton's method for the damping that gives a step of that length."""
    u, s, vt = jnp.linalg.svd(jacobian, full_matrices=False)
    right = s * exact_product(u.T, value)
    full = jnp.min(s, initial=jnp.inf) > jnp.finfo(s.dtype).eps * max(jacobian.shape) * jnp.max(s, initial=0)
    size = lambda damping: norm(right / safe(s * s + damping))
    fits = full & (size(0.0) <= radius)

    def step(_: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        low, high, damping = state
        damping = jnp.where((damping >= low) & (damping <= high), damping, jnp.maximum(1e-3 * high, jnp.sqrt(low * high)))
        bottom = safe(s * s + damping)
        length = size(damping)
        slope = -jnp.sum(right * right / bottom ** 3) / safe(length)
        excess = length - radius
        high = jnp.where(excess < 0, damping, high)
        low = jnp.maximum(low, damping - excess / safe(slope))
        return low, high, damping - length / radius * excess / safe(slope)
    high = norm(right) / radius
    low = jnp.where(full, (size(0.0) - radius) * safe(size(0.0)) / safe(jnp.sum(right * right / safe(s ** 6))), 0)
    start = jnp.maximum(low, 1e-3 * high)
    damping = jnp.where(fits, 0, fori_loop(0, _SECULAR_STEPS, step, (jnp.maximum(low, 0), high, start))[2])
    p = -exact_product(vt.T, right / safe(s * s + damping))
    return jnp.where(fits, 1, jnp.minimum(1, radius / safe(norm(p)))) * p


def _lowest(model: _Model, start: Any, direction: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The minimum of the model on a segment: the point, and its value."""
    a = 0.5 * model.square(direction, direction)
    b = jnp.sum(model.gradient * direction) + model.square(start, direction)
    t = jnp.clip(-b / (2 * safe(a)), low, high)
    t = jnp.where(a > 0, t, jnp.where(b < 0, high, low))
    p = start + t * direction
    return p, model(p)


def _step(s: RegionState, lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """The best of the step of the trust region, its reflection at the first bound, and that along the scaled gradient, all in
    scaled variables: the step, its promise, and the scale."""
    gradient = exact_product(s.jacobian.T, s.value)
    distance, slope = _distances(s.x, gradient, lower, upper)
    distance = jnp.where(slope == 0, distance, distance * s.scale)
    d = jnp.sqrt(distance) / s.scale
    model = _Model(s.jacobian * d, gradient * d, gradient * slope / s.scale)
    rows = jnp.concatenate([model.jacobian, jnp.diag(jnp.sqrt(jnp.maximum(model.curvature, 0)))])
    full = _within_radius(rows, jnp.concatenate([s.value, jnp.zeros_like(s.x)]), s.radius)
    theta = jnp.maximum(0.995, 1 - jnp.max(abs(gradient * distance), initial=0))
    room, hits = room_along(s.x, d * full, lower, upper)
    inside = room > 1
    p = jnp.minimum(room, 1) * full

    mirrored = jnp.where(hits, -full, full)
    to_bound = room_along(s.x + d * p, d * mirrored, lower, upper)[0]
    to_radius = _to_radius(p, mirrored, s.radius)
    reach = jnp.minimum(to_bound, to_radius)
    low = jnp.where(reach > 0, (1 - theta) * room / safe(reach), 0)
    high = jnp.where(reach > 0, jnp.where(to_bound <= to_radius, theta * to_bound, to_radius), -1)
    reflected, value = _lowest(model, p, mirrored, low, high)
    reflected_value = jnp.where(low <= high, value, jnp.inf)

    short = theta * p
    along = -model.gradient
    to_bound = room_along(s.x, d * along, lower, upper)[0]
    to_radius = s.radius / safe(norm(along))
    steepest, steepest_value = _lowest(model, jnp.zeros_like(p), along, 0, jnp.minimum(theta * to_bound, to_radius))

    values = jnp.stack([model(short), reflected_value, steepest_value])
    chosen = jnp.stack([short, reflected, steepest])[jnp.argmin(jnp.where(jnp.isnan(values), jnp.inf, values))]
    p = jnp.where(inside, full, chosen)
    return p, -model(p), d


def trust_region_reflective(problem: Problem, x0: Any, bounds: Any, x_scale: Any, ftol: float, xtol: float, gtol: float,
                            most: int) -> RegionState:
    """Minimization within bounds, from a start that is moved inside."""
    lower, upper = bounds
    eps = float(jnp.finfo(x0.dtype).eps)
    ftol, xtol = max(ftol, 2 * eps), max(xtol, 2 * eps)
    columns = lambda jacobian: jnp.sqrt(jnp.sum(jacobian * jacobian, 0))

    def slope(s: RegionState) -> Any:
        gradient = exact_product(s.jacobian.T, s.value)
        return jnp.max(abs(gradient * _distances(s.x, gradient, lower, upper)[0]), initial=0)

    def step(s: RegionState) -> RegionState:
        p, promised, d = _step(s, lower, upper)
        x = _inside(s.x + d * p, lower, upper, 0.0)
        value, scaled, jacobian = problem.linearized(x)
        cost = problem.cost(value)
        reduction, size, noise = s.cost - cost, norm(p), 4 * eps * s.cost
        equal = (abs(reduction) <= noise) & (promised <= noise)
        gain = jnp.where(equal, 1, jnp.where(jnp.isfinite(cost) & (promised > 0), reduction / safe(promised), -1))
        better = gain > 0
        radius = jnp.where(gain < 0.25, 0.25 * jnp.minimum(size, s.radius),
                           jnp.where((gain > 0.75) & (size > 0.95 * s.radius), 2 * s.radius, s.radius))
        keep = lambda new, old: jnp.where(better, new, old)
        jacobian = keep(jacobian, s.jacobian)
        scale = jnp.maximum(s.scale, columns(jacobian)) if x_scale is None else s.scale
        new = RegionState(keep(x, s.x), keep(scaled, s.value), jacobian, keep(cost, s.cost), radius, scale, s.evaluations + 1,
                     s.jacobians + better, s.status)
        return new._replace(status=status_of(reduction, s.cost, gain, norm(d * p), s.x, slope(new), ftol, xtol, gtol))

    x = _inside(x0, lower, upper, _INSIDE)
    value, scaled, jacobian = problem.linearized(x)
    scale = safe(columns(jacobian)) if x_scale is None else 1 / x_scale
    distance = _distances(x, exact_product(jacobian.T, scaled), lower, upper)[0]
    radius = norm(x * scale / jnp.sqrt(distance))
    radius = jnp.where(jnp.isfinite(radius) & (radius > 0), radius, 1)
    start = RegionState(x, scaled, jacobian, problem.cost(value), radius, scale, 1, 1, 0)
    start = start._replace(status=jnp.where(slope(start) <= gtol, 1, -1))
    s = while_loop(lambda s: (s.status < 0) & (s.evaluations < most) & jnp.isfinite(s.cost), step, start)
    return s._replace(status=jnp.maximum(s.status, 0))
