"""Minimization of functions of one variable: golden sections and parabolas."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import grad
from numjet.control.loops.while_loop import while_loop
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.optimize.implicit import Function, implicit
from numjet.scipy.optimize.results import OptimizeResults

_GOLDEN = 0.5 * (3 - math.sqrt(5))
_GROWTH, _MOST_TRIALS = 0.5 * (1 + math.sqrt(5)), 1000
_OPTIONS = {"brent": {"xtol": 1.48e-8, "maxiter": 500}, "golden": {"xtol": 1.48e-8, "maxiter": 5000},
            "bounded": {"xatol": 1e-5, "maxiter": 500}}


class _State(NamedTuple):
    """The interval [a, b], the best three points x, w, v with their values, the last step d and the one before, e."""

    a: Any
    b: Any
    x: Any
    w: Any
    v: Any
    fx: Any
    fw: Any
    fv: Any
    d: Any
    e: Any
    steps: Any


def _parabola(s: _State) -> tuple[Any, Any]:
    """The step from x to the minimum of the parabola through x, w and v, as a quotient p / q with q >= 0."""
    r, q = (s.x - s.w) * (s.fx - s.fv), (s.x - s.v) * (s.fx - s.fw)
    p, q = (s.x - s.v) * q - (s.x - s.w) * r, 2 * (q - r)
    return jnp.where(q > 0, -p, p), abs(q)


def _step(fun: Function, s: _State, tolerated: Callable[[Any], Any], parabolas: bool) -> _State:
    middle, tol = 0.5 * (s.a + s.b), tolerated(s.x)
    p, q = _parabola(s)
    usable = (abs(s.e) > tol) & (abs(p) < abs(0.5 * q * s.e)) & (p > q * (s.a - s.x)) & (p < q * (s.b - s.x)) & parabolas
    toward = jnp.where(s.x >= middle, s.a - s.x, s.b - s.x)
    d = jnp.where(usable, p / jnp.where(q == 0, 1, q), _GOLDEN * toward)
    u = s.x + d
    at_end = usable & ((u - s.a < 2 * tol) | (s.b - u < 2 * tol))
    d = jnp.where(at_end, jnp.where(middle >= s.x, tol, -tol), d)
    u = s.x + jnp.where(abs(d) >= tol, d, jnp.where(d > 0, tol, -tol))
    return _inserted(s, u, fun(u))._replace(d=d, e=jnp.where(usable, s.d, toward), steps=s.steps + 1)


def _inserted(s: _State, u: Any, fu: Any) -> _State:
    """The state with another point."""
    better = fu <= s.fx
    new = jnp.where(better, s.x, u)
    a, b = jnp.where(new < jnp.where(better, u, s.x), new, s.a), jnp.where(new < jnp.where(better, u, s.x), s.b, new)
    second = ~better & ((fu <= s.fw) | (s.w == s.x))
    third = ~better & ~second & ((fu <= s.fv) | (s.v == s.x) | (s.v == s.w))
    choose = lambda if_better, if_second, if_third, old: jnp.where(better, if_better, jnp.where(second, if_second, jnp.where(
        third, if_third, old)))
    return s._replace(a=a, b=b, x=choose(u, s.x, s.x, s.x), w=choose(s.x, u, s.w, s.w), v=choose(s.w, s.w, u, s.v),
                      fx=choose(fu, s.fx, s.fx, s.fx), fw=choose(s.fx, fu, s.fw, s.fw), fv=choose(s.fw, s.fw, fu, s.fv))


def _local_minimum(fun: Function, a: Any, b: Any, x: Any, tolerated: Callable[[Any], Any], maxiter: int,
                   parabolas: bool) -> tuple[Any, Any]:
    """R. P. Brent, "Algorithms for minimization without derivatives" (1973), chapter 5."""
    converged = lambda s: abs(s.x - 0.5 * (s.a + s.b)) <= 2 * tolerated(s.x) - 0.5 * (s.b - s.a)
    fx, zero = fun(x), jnp.zeros_like(x)
    start = _State(a, b, x, x, x, fx, fx, fx, zero, zero, 0)
    s = while_loop(lambda s: ~converged(s) & (s.steps < maxiter),
                   lambda s: _step(fun, s, tolerated, parabolas), start)
    return s.x, (s.steps, s.steps + 1, converged(s))


# -------------------------------------------------------------------------------------------- brackets

def _bracket(fun: Function, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Steps downhill that grow, until the function rises: (end, middle, end, evaluations)."""
    fa, fb = fun(a), fun(b)
    uphill = fa < fb
    a, b, fa, fb = (jnp.where(uphill, *pair) for pair in ((b, a), (a, b), (fb, fa), (fa, fb)))
    c = b + _GROWTH * (b - a)

    def step(s: Any) -> Any:
        _, b, c, _, fb, fc, trials = s
        new = c + _GROWTH * (c - b)
        return b, c, new, fb, fc, fun(new), trials + 1
    descends = lambda s: (s[5] < s[4]) & (s[6] < _MOST_TRIALS) & jnp.isfinite(s[2])
    a, b, c, _, _, _, trials = while_loop(descends, step, (a, b, c, fa, fb, fun(c), 3))
    return jnp.minimum(a, c), b, jnp.maximum(a, c), trials


def _given_bracket(bracket: Sequence[Any] | None) -> list[Any]:
    ends = [0.0, 1.0] if bracket is None else list(bracket)
    if len(ends) not in (2, 3):
        raise ValueError(f"minimize_scalar: bracket must be two or three points, got {len(ends)}")
    return _scalars(ends)


def _check_bracket(fun: Function, points: Sequence[Any]) -> None:
    """ValueError where it is known that the middle of three points is not the lowest."""
    if len(points) == 3 and not any(isinstance(x, Tracer) for x in points):
        low, middle, high = map(fun, points)
        if not isinstance(middle, Tracer) and not (middle < low and middle < high):
            raise ValueError("minimize_scalar: fun must be lower at the middle of the bracket than at its ends, got "
                             f"{[float(v) for v in (low, middle, high)]}")


def _scalars(xs: Sequence[Any]) -> list[Any]:
    found = promote_dtypes_inexact(*(array_arg("minimize_scalar", x) for x in xs))
    if found[0].dtype not in dtypes.FLOATING or any(x.shape for x in found):
        raise ValueError(f"minimize_scalar: expected real scalars, got {[f'{x.dtype.name}{list(x.shape)}' for x in found]}")
    return [jnp.astype(x, x.dtype) for x in found]


# -------------------------------------------------------------------------------------------- public

def minimize_scalar(fun: Callable[..., Any], bracket: Sequence[Any] | None = None, bounds: Sequence[Any] | None = None,
                    args: Any = (), method: str | None = None, tol: Any = None,
                    options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Minimization of fun(x, *args), a function of a real scalar.

    Args:
      bracket: two points from which steps go downhill until the function rises, or three, the middle one the lowest. Default
        (0, 1). For 'brent' and 'golden'.
      bounds: the ends of the interval, for 'bounded'.
      args: other arguments of fun, pytrees.
      method: 'brent' (parabolas and golden sections; Brent 1973, chapter 5), 'bounded' (the same between bounds), 'golden'.
        Default: 'bounded' if bounds are given, else 'brent'.
      tol: the same as the option 'xtol' (relative; no less than the root of the dtype's precision) or 'xatol' (absolute).
      options: 'maxiter', and 'xtol' or, for 'bounded', 'xatol'.

    Returns:
      OptimizeResults with x, fun, success, status (0, or 1 when maxiter was reached), nfev and nit; other fields are None. x
      has the derivatives of the implicit function with respect to args, bounds and what fun closes over: forward, reverse, and
      of any order. It works under jit and vmap.

    Raises:
      ValueError: an unknown method or option, bounds with another method, arguments that are no real scalars.

    >>> import numjet as nj
    >>> best = lambda c: minimize_scalar(lambda x: (x - c) ** 2 + c).x
    >>> round(float(best(3.0)), 3), round(float(nj.grad(best)(3.0)), 3)
    (3.0, 1.0)
    """
    method = (method or ("brent" if bounds is None else "bounded")).lower()
    if method not in _OPTIONS:
        raise ValueError(f"minimize_scalar: method {method!r} not recognized; expected one of {sorted(_OPTIONS)}")
    if (bounds is None) == (method == "bounded"):
        raise ValueError("minimize_scalar: bounds go with method 'bounded', which needs them")
    chosen = {**_OPTIONS[method], **(options or {})}
    if unknown := chosen.keys() - _OPTIONS[method].keys():
        raise ValueError(f"minimize_scalar: unknown options {sorted(unknown)}; {method!r} takes {sorted(_OPTIONS[method])}")
    if tol is not None:
        chosen["xatol" if method == "bounded" else "xtol"] = tol
    given = _given_bracket(bracket) if bounds is None else _scalars(bounds)
    args = args if isinstance(args, tuple) else (args,)

    def value(x: Any) -> Any:
        out = jnp.asarray(fun(x, *args))
        if out.shape:
            raise TypeError(f"minimize_scalar: fun must return a scalar, got shape {out.shape}")
        return jnp.astype(out, given[0].dtype)
    _check_bracket(value, given)
    x, (steps, calls, success) = implicit(value, given[0], given, _solver(method, chosen), _residual(method))
    return OptimizeResults(x, success, jnp.where(success, 0, 1), value(x), None, None, calls, None, steps)


def _solver(method: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    def solve(fun: Function, _: Any, given: Any) -> tuple[Any, Any]:
        root = float(jnp.finfo(given[0].dtype).eps) ** 0.5
        if method == "bounded":
            a, b = given
            tolerated = lambda x: root * abs(x) + options["xatol"] / 3
            return _local_minimum(fun, a, b, a + _GOLDEN * (b - a), tolerated, options["maxiter"], True)
        found = _bracket(fun, *given) if len(given) == 2 else (jnp.minimum(given[0], given[2]), given[1],
                                                               jnp.maximum(given[0], given[2]), 0)
        a, x, b, trials = found
        tolerated = lambda x: jnp.maximum(options["xtol"], root) * abs(x) + root * root
        x, (steps, calls, success) = _local_minimum(fun, a, b, x, tolerated, options["maxiter"], method == "brent")
        return x, (steps, calls + trials, success & jnp.isfinite(x))
    return solve


def _residual(method: str) -> Callable[..., Any]:
    """What is zero at the minimum: the slope, or the step along it that bounds leave."""
    def residual(fun: Function, x: Any, given: Any) -> Any:
        slope = grad(fun)(x)
        if method != "bounded":
            return slope
        return x - jnp.clip(x - slope, *given)
    return residual
