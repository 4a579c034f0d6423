"""The simplex method of J. A. Nelder and R. Mead (1965), in the form of Lagarias, Reeds, Wright, Wright (1998)."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.vmap import vmap
from numjet.control.branches.cond import cond
from numjet.control.loops.while_loop import while_loop
from numjet.scipy.optimize.projected import project

OPTIONS = {"maxiter": None, "maxfev": None, "xatol": 1e-4, "fatol": 1e-4, "adaptive": False, "initial_simplex": None}
_STEP, _STEP_AT_ZERO = 0.05, 0.00025


class _State(NamedTuple):
    """Vertices in the order of their values."""

    simplex: Any
    values: Any
    evaluations: Any
    steps: Any


def _sorted(simplex: Any, values: Any) -> tuple[Any, Any]:
    order = jnp.argsort(values)
    return simplex[order], values[order]


def _factors(n: int, adaptive: bool) -> tuple[float, float, float, float]:
    """Reflection, expansion, contraction, shrinkage; F. Gao and L. Han (2012) let them depend on the dimension."""
    return (1, 1 + 2 / n, 0.75 - 1 / (2 * n), 1 - 1 / n) if adaptive and n else (1, 2, 0.5, 0.5)


def _first_simplex(x0: Any, given: Any, bounds: Any) -> Any:
    if given is None:
        moved = jnp.where(x0 != 0, (1 + _STEP) * x0, _STEP_AT_ZERO)
        simplex = jnp.concatenate([x0[None], jnp.where(jnp.eye(x0.size, dtype=bool), moved, x0)])
    else:
        simplex = jnp.asarray(given, x0.dtype)
        if simplex.shape != (x0.size + 1, x0.size):
            raise ValueError(f"minimize: initial_simplex must have the shape {(x0.size + 1, x0.size)}, got {simplex.shape}")
    if bounds is None:
        return simplex
    upper = bounds[1]
    return project(jnp.where(simplex > upper, 2 * upper - simplex, simplex), bounds)


def _step(fun: Callable[[Any], Any], s: _State, factors: tuple[float, ...], bounds: Any) -> _State:
    reflection, expansion, contraction, shrinkage = factors
    worst, first, next_worst, last = s.simplex[-1], s.values[0], s.values[-2], s.values[-1]
    centre = jnp.mean(s.simplex[:-1], 0)
    at = lambda t: project(centre + t * (centre - worst), bounds)
    reflected = at(reflection)
    value = fun(reflected)
    best, good, fair = value < first, value < next_worst, value < last
    size = jnp.where(best, reflection * expansion, jnp.where(fair, contraction * reflection, -contraction))
    plain = good & ~best
    second = at(size.astype(worst.dtype))
    of_second = cond(plain, lambda: value, lambda: fun(second))
    use_second = ~plain & jnp.where(best, of_second < value, jnp.where(fair, of_second <= value, of_second < last))
    shrinks = ~good & ~use_second
    vertex, of_vertex = jnp.where(use_second, second, reflected), jnp.where(use_second, of_second, value)

    def shrunk() -> tuple[Any, Any]:
        simplex = project(s.simplex[:1] + shrinkage * (s.simplex - s.simplex[:1]), bounds)
        return simplex, jnp.concatenate([s.values[:1], vmap(fun)(simplex[1:])])

    def replaced() -> tuple[Any, Any]:
        return s.simplex.at[-1].set(vertex), s.values.at[-1].set(of_vertex)
    simplex, values = cond(shrinks, shrunk, replaced)
    calls = 2 - plain.astype(int) + jnp.where(shrinks, worst.size, 0)
    return _State(*_sorted(simplex, values), s.evaluations + calls, s.steps + 1)


def nelder_mead(fun: Callable[[Any], Any], x0: Any, bounds: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Minimization without derivatives: (x, (evaluations, gradients, steps, success, status))."""
    n = x0.size
    most_steps, most_calls = (200 * n if options[k] is None else options[k] for k in ("maxiter", "maxfev"))
    simplex = _first_simplex(project(x0, bounds), options["initial_simplex"], bounds)
    factors = _factors(n, options["adaptive"])

    def converged(s: _State) -> Any:
        spread = jnp.max(abs(s.simplex[1:] - s.simplex[0]), initial=0)
        return (spread <= options["xatol"]) & (jnp.max(abs(s.values[1:] - s.values[0]), initial=0) <= options["fatol"])
    start = _State(*_sorted(simplex, vmap(fun)(simplex)), n + 1, 1)
    unfinished = lambda s: ~converged(s) & (s.steps < most_steps) & (s.evaluations < most_calls)
    s = while_loop(unfinished, lambda s: _step(fun, s, factors, bounds), start)
    status = jnp.where(converged(s), 0, jnp.where(s.evaluations >= most_calls, 1, 2))
    return s.simplex[0], (s.evaluations, 0, s.steps, converged(s), status)
