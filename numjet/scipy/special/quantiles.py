"""Inverses of incomplete gamma and beta functions: Newton's method on the logarithm of the probability.

The gamma variable's logarithm and the beta variable's logit have log-concave densities, so the logarithms of both tails are
concave, and Newton's method converges from every start, after the first step from one side (A. Gil, J. Segura and N. M. Temme,
"Efficient and accurate algorithms for the computation and inversion of the incomplete gamma function ratios", SIAM J. Sci.
Comput. 34, 2012, start it alike).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit import jit
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import while_loop
from numjet.lax.elementwise import special
from numjet.scipy.special.fixed_orders import fixed_orders, wide
from numjet.scipy.special.gamma_family import betaln, floats
from numjet.scipy.special.probability import expit, ndtri
from numjet.scipy.special.wide_evaluation import in_64_bits

_MOST_STEPS = 100
_STRIDE = 50.0
_MANY = 1e12     # of a, from where on Wilson and Hilferty's approximation is right to eps, and densities are not


def _newton(start: Any, step: Callable[[Any], Any]) -> Any:
    """s + step(s), until every step is below rounding, within the bracket that the signs of earlier steps make.

    A step out of it is halved: far from the solution, densities underflow."""
    eps = float(jnp.finfo(start.dtype).eps)

    def body(state: Any) -> Any:
        count, s, low, high, active = state
        change = jnp.where(active, step(s), 0)
        change = jnp.where(jnp.isnan(change), 0, jnp.clip(change, -_STRIDE, _STRIDE))
        low, high = jnp.where(change > 0, s, low), jnp.where(change < 0, s, high)
        following = s + change
        least = 2 * eps * jnp.maximum(1, jnp.abs(s))
        beyond = (jnp.abs(change) > least) & ((following <= low) | (following >= high))
        following = jnp.where(beyond, 0.5 * (low + high), following)
        return count + 1, following, low, high, jnp.abs(following - s) > least

    endless = jnp.full_like(start, jnp.inf)
    state = (0, start, -endless, endless, jnp.isfinite(start))
    return while_loop(lambda s: jnp.any(s[4]) & (s[0] < _MOST_STEPS), body, state)[1]


def _newton_step(lower: Any, tail: Any, density: Any, log: Any) -> Any:
    """The step on the tail's logarithm; the longest one where the tail underflows."""
    ahead = jnp.where(lower, 1, -1)
    return jnp.where(tail > 0, ahead * tail / density * (log - jnp.log(tail)), _STRIDE * ahead)


# ------------------------------------------------------------------------------------------- gamma

def _gamma_solution(a: Any, p: Any, q: Any) -> Any:
    """x with P(a, x) = p and Q(a, x) = q = 1 - p, where the smaller one is exact."""
    fine = (a > 0) & jnp.isfinite(a) & (p > 0) & (q > 0)
    a, p, q = (jnp.where(fine, v, w) for v, w in ((a, 1), (p, 0.5), (q, 0.5)))
    lower = p <= q
    log = jnp.log(jnp.where(lower, p, q))
    normal = jnp.where(lower, ndtri(jnp.where(lower, p, 0.5)), -ndtri(jnp.where(lower, 0.5, q)))
    cube = 1 - 1 / (9 * a) + normal / (3 * jnp.sqrt(a))  # Wilson and Hilferty's approximation
    least = (jnp.log(p) + special.lgamma(a + 1)) / a      # P < x^a / Gamma(a + 1)
    s = jnp.maximum(least, jnp.where(cube > 0.1, jnp.log(a) + 3 * jnp.log(jnp.where(cube > 0.1, cube, 1)), -jnp.inf))

    def step(s: Any) -> Any:
        x = jnp.exp(s)
        density = jnp.exp(a * s - x - special.lgamma(a))
        tail = jnp.where(lower, special.igamma(a, x), special.igammac(a, x))
        return _newton_step(lower, tail, density, log)

    many = a > _MANY
    x = jnp.where(many, a * cube * cube * cube, jnp.exp(_newton(jnp.where(many, jnp.nan, s), step)))
    out = jnp.where(fine, x, jnp.where(p == 0, 0, jnp.inf))
    return out, fine


def _gamma_inverse(upper: bool) -> Callable[..., Any]:
    def value(a: Any, y: Any) -> Any:
        p, q = (1 - y, y) if upper else (y, 1 - y)
        x, fine = _gamma_solution(a, p, q)
        edge = jnp.where((q == 0) | jnp.isinf(a) & (p > 0), jnp.inf, 0.0)
        ends = (a == 0) & ((p == 0) | (q == 0))
        wrong = ~(((a > 0) | ends) & (y >= 0) & (y <= 1))
        return jnp.where(fine, x, jnp.where(wrong, jnp.nan, edge))

    function = custom_jvp(lambda a, y: in_64_bits(value, a, y))
    sign = -1 if upper else 1
    function.defjvps(
        lambda t, out, a, y: t * jnp.where(out > 0, special.random_gamma_grad(a, jnp.where(out > 0, out, 1)), 0),
        lambda t, out, a, y: sign * t * jnp.exp(out + (1 - a) * jnp.log(out) + special.lgamma(a)))
    return jit(function)


_gammaincinv, _gammainccinv = _gamma_inverse(False), _gamma_inverse(True)


def gammaincinv(a: Any, y: Any) -> Any:
    """The x >= 0 with gammainc(a, x) = y, for a > 0 and 0 <= y <= 1, else NaN.

    a and y are broadcast; floats of any dtype. First derivatives to both. ValueError for complex numbers. Error: at most 300
    eps for 0.05 < a < 1000, which is that of gammainc divided by the slope.

    >>> round(float(gammaincinv(2.0, 0.5)), 4)
    1.6783
    """
    a, y = floats("gammaincinv", a, y)
    return _gammaincinv(a, y)


def gammainccinv(a: Any, y: Any) -> Any:
    """The x >= 0 with gammaincc(a, x) = y; as gammaincinv.

    >>> round(float(gammainccinv(2.0, 0.1)), 4)
    3.8897
    """
    a, y = floats("gammainccinv", a, y)
    return _gammainccinv(a, y)


# ------------------------------------------------------------------------------------------- beta

def _beta_solution(a: Any, b: Any, p: Any, q: Any) -> Any:
    """logit(x) with I_x(a, b) = p, 1 - I_x(a, b) = q."""
    fine = (a > 0) & (b > 0) & jnp.isfinite(a + b) & (p > 0) & (q > 0)
    a, b, p, q = (jnp.where(fine, v, w) for v, w in ((a, 1), (b, 1), (p, 0.5), (q, 0.5)))
    lower = p <= q
    log, scale = jnp.log(jnp.where(lower, p, q)), betaln(a, b)
    normal = jnp.where(lower, ndtri(jnp.where(lower, p, 0.5)), -ndtri(jnp.where(lower, 0.5, q)))
    # moments of the logit, which is nearly normal if a and b are large; its tails are exponential
    spread = jnp.sqrt(1 / a + 1 / b + 0.5 / (a * a) + 0.5 / (b * b))
    center = jnp.log(a / b)
    left, right = (jnp.log(p) + jnp.log(a) + scale) / a, -(jnp.log(q) + jnp.log(b) + scale) / b
    s = jnp.where(lower, jnp.maximum(center + normal * spread, left), jnp.minimum(center + normal * spread, right))

    def step(s: Any) -> Any:
        x, rest = expit(s), expit(-s)
        density = jnp.exp(-a * jnp.logaddexp(-s, 0) - b * jnp.logaddexp(s, 0) - scale)
        # from the side of which the argument is exact, unless the tail would be a difference of nearly equal numbers, which
        # costs eps / tail: more than rounding of the argument, eps times the parameter
        left = jnp.where(lower, (s < 0) | (a * rest > 1) & (a * p < 1), (s < 0) & ((b * x < 1) | (b * q > 1)))
        part = special.betainc(jnp.where(left, a, b), jnp.where(left, b, a), jnp.where(left, x, rest))
        tail = jnp.where(left == lower, part, 1 - part)
        return _newton_step(lower, tail, density, log)

    return _newton(s, step), fine


def _beta_edge(a: Any, b: Any, p: Any, q: Any, low: float, high: float) -> Any:
    """The limits where a parameter is infinite or the probability 0 or 1: `low` for x = 0, `high` for x = 1."""
    several = jnp.where(jnp.isinf(a), jnp.where(jnp.isinf(b), jnp.nan, high), low)
    return jnp.where(q == 0, high, jnp.where(p == 0, low, several))


def _beta_inverse(name: str, upper: bool) -> Callable[..., Any]:
    def value(a: Any, b: Any, y: Any) -> Any:
        p, q = (1 - y, y) if upper else (y, 1 - y)
        logit, fine = _beta_solution(a, b, p, q)
        wrong = ~((a > 0) & (b > 0) & (y >= 0) & (y <= 1))
        return jnp.where(fine, expit(logit), jnp.where(wrong, jnp.nan, _beta_edge(a, b, p, q, 0.0, 1.0)))

    def slope(x: Any, a: Any, b: Any, y: Any) -> Any:
        return (-1 if upper else 1) * jnp.exp(betaln(a, b) - (a - 1) * jnp.log(x) - (b - 1) * jnp.log1p(-x))

    return fixed_orders(name, value, slope)


def _logit_value(a: Any, b: Any, y: Any) -> Any:
    logit, fine = _beta_solution(a, b, y, 1 - y)
    wrong = ~((a > 0) & (b > 0) & (y >= 0) & (y <= 1))
    return jnp.where(fine, logit, jnp.where(wrong, jnp.nan, _beta_edge(a, b, y, 1 - y, -jnp.inf, jnp.inf)))


# logit(betaincinv(a, b, y)), which tells shares near 1 apart
beta_logit = fixed_orders("betaincinv", _logit_value, lambda out, a, b, y: jnp.exp(
    betaln(a, b) + a * jnp.logaddexp(-out, 0) + b * jnp.logaddexp(out, 0)))
_betaincinv, _betainccinv = _beta_inverse("betaincinv", False), _beta_inverse("betainccinv", True)


def betaincinv(a: Any, b: Any, y: Any) -> Any:
    """The x in [0, 1] with betainc(a, b, x) = y, for a, b > 0 and 0 <= y <= 1, else NaN.

    The arguments are broadcast; floats of any dtype. Derivatives of any order to y; NotImplementedError for those to a and b.
    ValueError for complex numbers. Error: at most 500 eps for 0.1 < a, b < 300, which is that of betainc divided by the slope.

    >>> round(float(betaincinv(2.0, 3.0, 0.5)), 4)
    0.3857
    """
    a, b, y = floats("betaincinv", a, b, y)
    return _betaincinv(*wide(a, b, y)).astype(y.dtype)


def betainccinv(a: Any, b: Any, y: Any) -> Any:
    """The x in [0, 1] with betaincc(a, b, x) = y; as betaincinv.

    >>> round(float(betainccinv(2.0, 3.0, 0.1)), 4)
    0.6795
    """
    a, b, y = floats("betainccinv", a, b, y)
    return _betainccinv(*wide(a, b, y)).astype(y.dtype)
