"""Nonlinear least squares: the methods of Levenberg and Marquardt, Powell's dogleg within bounds, and the public function."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import grad, jacfwd
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import dtypes
from numjet.lax.linalg import triangular_solve
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.linalg.products import exact_product
from numjet.scipy.optimize.implicit import Function, implicit
from numjet.scipy.optimize.projected import residual
from numjet.scipy.optimize.residual_problems import LOSSES, Problem, RegionState, norm, room_along, safe, status_of
from numjet.scipy.optimize.trust_region_reflective import trust_region_reflective


class LeastSquaresResult(NamedTuple):
    """The result of least_squares: a pytree.

    x: the point found. cost: half the sum of squares (of the loss). fun, jac: residuals and Jacobian at x. grad: gradient of
    the cost. optimality: the largest size of its elements, at bounds of the step that they leave. active_mask: -1 at a lower
    bound, 1 at an upper one, else 0. nfev, njev: evaluations. status: 0 when max_nfev was reached, 1, 2, 3 or 4 for gtol, ftol,
    xtol, or both of these. success: whether it is positive.

    >>> result = least_squares(lambda x: x - 2, jnp.zeros(1))
    >>> isinstance(result, LeastSquaresResult), round(float(result.x[0]), 3)
    (True, 2.0)
    """

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    optimality: Any
    active_mask: Any
    nfev: Any
    njev: Any
    status: Any
    success: Any


# -------------------------------------------------------------------------------------------- Levenberg, Marquardt

class State(NamedTuple):
    """After a step: the point, (scaled) residuals and Jacobian, cost, damping and its growth, counters, status (-1: go on)."""

    x: Any
    value: Any
    jacobian: Any
    cost: Any
    damping: Any
    growth: Any
    scale: Any
    evaluations: Any
    jacobians: Any
    steps: Any
    status: Any


def _damped_step(s: State) -> Any:
    """The least squares solution of [J; sqrt(damping) D] p = [-f; 0], by an orthogonal factorization."""
    rows = jnp.concatenate([s.jacobian, jnp.diag(jnp.sqrt(s.damping) * s.scale)])
    q, r = jnp.linalg.qr(rows)
    right = -exact_product(q[:s.value.size].T, s.value)
    return triangular_solve(r, right[:, None], left_side=True, lower=False)[:, 0]


def levenberg_marquardt(fun: Function, x0: Any, problem: Any, x_scale: Any, ftol: float, xtol: float, gtol: float,
                        most: int) -> State:
    """Damped steps; the damping follows H. B. Nielsen, "Damping parameter in Marquardt's method" (1999)."""
    problem = Problem(fun, None, 1.0) if problem is None else problem
    ftol, xtol = (max(t, 2 * float(jnp.finfo(x0.dtype).eps)) for t in (ftol, xtol))
    value, scaled, jacobian = problem.linearized(x0)
    columns = lambda jacobian: jnp.sqrt(jnp.sum(jacobian * jacobian, 0))
    scale = safe(columns(jacobian)) if x_scale is None else 1 / x_scale
    slope = lambda s: jnp.max(abs(exact_product(s.jacobian.T, s.value)), initial=0)
    damping = 1e-3 * jnp.max((columns(jacobian) / scale) ** 2, initial=0)

    def step(s: State) -> State:
        p = _damped_step(s)
        x = s.x + p
        value, scaled, jacobian = problem.linearized(x)
        cost = problem.cost(value)
        image = exact_product(s.jacobian, p)
        promised = 0.5 * jnp.sum(image * image) + s.damping * jnp.sum((s.scale * p) ** 2)
        reduction = s.cost - cost
        gain = jnp.where(jnp.isfinite(cost), reduction / safe(promised), -1)
        equal = (abs(reduction) <= 4 * jnp.finfo(x0.dtype).eps * s.cost) & (promised <= 4 * jnp.finfo(x0.dtype).eps * s.cost)
        better = (gain > 0) | equal
        keep = lambda new, old: jnp.where(better, new, old)
        damping = jnp.where(better, s.damping * jnp.maximum(1 / 3, 1 - (2 * jnp.clip(gain, 0, 1) - 1) ** 3),
                            s.damping * s.growth)
        jacobian = keep(jacobian, s.jacobian)
        scale = jnp.maximum(s.scale, columns(jacobian)) if x_scale is None else s.scale
        new = State(keep(x, s.x), keep(scaled, s.value), jacobian, keep(cost, s.cost), damping,
                    jnp.where(better, 2, 2 * s.growth), scale, s.evaluations + 1, keep(s.jacobians + 1, s.jacobians),
                    s.steps + 1, s.status)
        status = status_of(reduction, s.cost, jnp.where(equal, 1, gain), norm(p), s.x, slope(new), ftol, xtol, gtol)
        return new._replace(status=status)
    start = State(x0, scaled, jacobian, problem.cost(value), damping, jnp.asarray(2, x0.dtype), scale, 1, 1, 0, 0)
    start = start._replace(status=jnp.where(slope(start) <= gtol, 1, -1))
    unfinished = lambda s: (s.status < 0) & (s.evaluations < most) & jnp.isfinite(s.cost) & jnp.isfinite(s.damping)
    s = while_loop(unfinished, step, start)
    return s._replace(status=jnp.maximum(s.status, 0))


# -------------------------------------------------------------------------------------------- dogleg in a box

def _dogleg(s: RegionState, free: Any, lower: Any, upper: Any) -> Any:
    """Powell's path in the free variables, to where it leaves the box of the region and the bounds."""
    reach = s.radius / s.scale
    lower, upper = jnp.maximum(lower - s.x, -reach), jnp.minimum(upper - s.x, reach)
    jacobian = jnp.where(free, s.jacobian, 0)
    gradient = exact_product(jacobian.T, s.value)
    newton = jnp.where(free, jnp.linalg.lstsq(jacobian, -s.value)[0], 0)
    inside = ((newton >= lower) & (newton <= upper)).all()
    image = exact_product(jacobian, gradient)
    best = jnp.sum(gradient * gradient) / safe(jnp.sum(image * image))
    cauchy = -jnp.minimum(best, room_along(jnp.zeros_like(s.x), -gradient, lower, upper)[0]) * gradient
    onward = newton - cauchy
    return jnp.where(inside, newton, cauchy + jnp.clip(room_along(cauchy, onward, lower, upper)[0], 0, 1) * onward)


def _dogbox(problem: Problem, x0: Any, bounds: Any, x_scale: Any, ftol: float, xtol: float, gtol: float,
            most: int) -> RegionState:
    """C. Voglis and I. E. Lagaris, "A rectangular trust region dogleg approach for unconstrained and bound constrained
    nonlinear optimization" (2004)."""
    lower, upper = bounds
    eps = float(jnp.finfo(x0.dtype).eps)
    ftol, xtol = max(ftol, 2 * eps), max(xtol, 2 * eps)
    columns = lambda jacobian: jnp.sqrt(jnp.sum(jacobian * jacobian, 0))
    gradient = lambda s: exact_product(s.jacobian.T, s.value)
    slope = lambda s: jnp.max(abs(residual(s.x, gradient(s), bounds)), initial=0)

    def step(s: RegionState) -> RegionState:
        g = gradient(s)
        free = ~(((s.x <= lower) & (g > 0)) | ((s.x >= upper) & (g < 0)))
        x = jnp.clip(s.x + _dogleg(s, free, lower, upper), lower, upper)
        p = x - s.x
        value, scaled, jacobian = problem.linearized(x)
        cost = problem.cost(value)
        image = exact_product(s.jacobian, p)
        promised = -jnp.sum(g * p) - 0.5 * jnp.sum(image * image)
        reduction = s.cost - cost
        noise = 4 * eps * s.cost
        equal = (abs(reduction) <= noise) & (promised <= noise)
        gain = jnp.where(equal, 1, jnp.where(jnp.isfinite(cost), reduction / safe(promised), -1))
        better, size = gain > 0, jnp.max(abs(p * s.scale), initial=0)
        radius = jnp.where(gain < 0.25, 0.25 * jnp.minimum(size, s.radius), jnp.where(
            (gain > 0.75) & (size > 0.95 * s.radius), 2 * s.radius, s.radius))
        keep = lambda new, old: jnp.where(better, new, old)
        jacobian = keep(jacobian, s.jacobian)
        scale = jnp.maximum(s.scale, columns(jacobian)) if x_scale is None else s.scale
        new = RegionState(keep(x, s.x), keep(scaled, s.value), jacobian, keep(cost, s.cost), radius, scale, s.evaluations + 1,
                   s.jacobians + better, s.status)
        return new._replace(status=status_of(reduction, s.cost, gain, norm(p), s.x, slope(new), ftol, xtol, gtol))
    value, scaled, jacobian = problem.linearized(x0)
    scale = safe(columns(jacobian)) if x_scale is None else 1 / x_scale
    radius = jnp.max(abs(x0 * scale), initial=0)
    start = RegionState(x0, scaled, jacobian, problem.cost(value), jnp.where(radius == 0, 1, radius), scale, 1, 1, 0)
    start = start._replace(status=jnp.where(slope(start) <= gtol, 1, -1))
    s = while_loop(lambda s: (s.status < 0) & (s.evaluations < most) & jnp.isfinite(s.cost), step, start)
    return s._replace(status=jnp.maximum(s.status, 0))


# -------------------------------------------------------------------------------------------- public

def least_squares(fun: Callable[..., Any], x0: Any, *, bounds: Any = (-np.inf, np.inf), method: str | None = None,
                  ftol: float = 1e-8, xtol: float = 1e-8, gtol: float = 1e-8, x_scale: Any = 1.0, loss: str = "linear",
                  f_scale: float = 1.0, max_nfev: int | None = None, args: tuple[Any, ...] = (),
                  kwargs: Mapping[str, Any] | None = None) -> LeastSquaresResult:
    """Nonlinear least squares: minimization of half the sum of loss(fun(x)^2), within bounds.

    Args:
      fun: fun(x, *args, **kwargs), a vector of residuals of a vector. Its Jacobian comes from differentiation.
      x0: first guess, a vector of real numbers, which is moved within the bounds.
      bounds: (lower, upper), each a number or a vector.
      method: 'trf' (trust region, reflective: stays inside of the bounds; Branch, Coleman, Li 1999), 'dogbox' (dogleg in boxes;
        Voglis, Lagaris 2004), or 'lm' (Levenberg-Marquardt, with Nielsen's rule for the damping; no bounds). Default: 'trf' if
        there are bounds, else 'lm'.
      ftol, xtol, gtol: tolerances of the relative change of the cost and of x, and of the gradient's largest element. The first
        two count as no less than twice the dtype's precision.
      x_scale: sizes of the variables, or 'jac' for those that the Jacobian's columns suggest.
      loss: 'linear', 'soft_l1', 'huber', 'cauchy' or 'arctan', of residuals in units of f_scale.
      max_nfev: evaluations of fun, by default 100 times the size of x0.

    Returns:
      LeastSquaresResult. x has the derivatives of the implicit function (gradient = 0, with second derivatives of fun) with
      respect to args, kwargs, bounds and what fun closes over: forward, reverse, of any order. It works under jit and vmap.

    Raises:
      ValueError: an unknown method or loss, bounds that do not fit or with 'lm', x0 of another kind. TypeError: residuals that
        are no vector.

    >>> import numjet.numpy as jnp
    >>> t = jnp.arange(4.0)
    >>> fit = least_squares(lambda p: p[0] * jnp.exp(-p[1] * t) - 2 * jnp.exp(-t / 2), jnp.ones(2))
    >>> fit.x.round(3).tolist()
    [2.0, 0.5]
    """
    (start,) = promote_dtypes_inexact(array_arg("least_squares", x0))
    if start.dtype not in dtypes.FLOATING or start.ndim != 1:
        raise ValueError(f"least_squares: expected x0 as a vector of real numbers, got {start.dtype.name}{list(start.shape)}")
    start = jnp.astype(start, start.dtype)
    limits = _as_bounds(bounds, start)
    method = _method(method, limits)
    if loss not in LOSSES:
        raise ValueError(f"least_squares: loss must be one of {sorted(LOSSES)}, got {loss!r}")
    by_jacobian = isinstance(x_scale, str)
    if by_jacobian and x_scale != "jac":
        raise ValueError(f"least_squares: x_scale must be 'jac' or numbers, got {x_scale!r}")
    scale = None if by_jacobian else jnp.broadcast_to(jnp.asarray(x_scale, start.dtype), start.shape)
    most = 100 * start.size if max_nfev is None else max_nfev

    def residuals(x: Any) -> Any:
        out = jnp.asarray(fun(x, *args, **(kwargs or {})))
        if out.ndim > 1:
            raise TypeError(f"least_squares: fun must return a vector, got shape {out.shape}")
        return jnp.astype(out.reshape(-1), start.dtype)

    def solve(fun: Function, x: Any, given: Any) -> tuple[Any, Any]:
        limits, scale = given
        problem = Problem(fun, LOSSES[loss], f_scale)
        if method == "lm":
            s = levenberg_marquardt(fun, x, problem, scale, ftol, xtol, gtol, most)
            return s.x, (s.evaluations, s.jacobians, s.status)
        box = (jnp.full_like(x, -jnp.inf), jnp.full_like(x, jnp.inf)) if limits is None else limits
        if method == "trf":
            t = trust_region_reflective(problem, x, box, scale, ftol, xtol, gtol, most)
            return t.x, (t.evaluations, t.jacobians, t.status)
        b = _dogbox(problem, jnp.clip(x, *box), box, scale, ftol, xtol, gtol, most)
        return b.x, (b.evaluations, b.jacobians, b.status)

    def cost(fun: Function, x: Any) -> Any:
        return Problem(fun, LOSSES[loss], f_scale).cost(fun(x))

    x, (calls, jacobians, status) = implicit(
        residuals, start, (limits, scale), solve, lambda f, x, given: residual(x, grad(lambda y: cost(f, y))(x), given[0]))
    gradient = grad(lambda y: cost(residuals, y))(x)
    active = jnp.zeros(x.shape, int) if limits is None else _active(x, limits, xtol if method == "trf" else 0.0)
    return LeastSquaresResult(x, cost(residuals, x), residuals(x), jacfwd(residuals)(x), gradient,
                              jnp.max(abs(residual(x, gradient, limits)), initial=0), active, calls, jacobians, status,
                              status > 0)


def _method(method: str | None, limits: Any) -> str:
    chosen = method or ("lm" if limits is None else "trf")
    if chosen not in ("lm", "dogbox", "trf"):
        raise ValueError(f"least_squares: method must be 'trf', 'dogbox' or 'lm', got {method!r}")
    if chosen == "lm" and limits is not None:
        raise ValueError("least_squares: method 'lm' takes no bounds; use 'trf' or 'dogbox'")
    return chosen


def _active(x: Any, limits: Any, tolerance: float) -> Any:
    """Which variables are at bounds: -1 below, 1 above. A method that stays inside comes near, to a relative tolerance."""
    near = lambda bound: jnp.isfinite(bound) & (abs(x - bound) <= tolerance * jnp.maximum(1, abs(bound)))
    first = x - limits[0] <= limits[1] - x
    return (near(limits[1]) & ~first).astype(int) - (near(limits[0]) & first)


def _as_bounds(bounds: Any, x0: Any) -> Any:
    """(lower, upper), as vectors; None without bounds."""
    given = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    if len(given) != 2:
        raise ValueError(f"least_squares: bounds must be a pair, got {len(given)} values")
    if all(isinstance(b, (float, int)) and abs(b) == np.inf for b in given):
        return None
    return tuple(jnp.broadcast_to(jnp.asarray(b, x0.dtype), x0.shape) for b in given)
