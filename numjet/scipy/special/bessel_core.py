"""Pairs of Bessel functions of real order nu >= 0 and argument x > 0: J with Y, I with K, at the orders nu and nu + 1.

Orders up to 40 start at mu = nu - round(nu): below 2 by the series of N. M. Temme, "On the numerical evaluation of the ordinary
Bessel function of the second kind" (J. Comput. Phys. 21, 1976), from 2 by Steed's continued fraction with the sums of Neumann
and Miller, and from 25 by Hankel's expansion. Recurrences in the order that are stable lead up to nu. W. H. Press et al.,
"Numerical Recipes", 6.7, put most of this together. Larger orders have expansions that are uniform in x: Debye's (DLMF 10.19.3,
10.19.6, 10.41.3, 10.41.4), and Olver's with Airy's functions (DLMF 10.20) around x = nu. Errors are measured against mpmath in
tests/scipy/test_special_bessel.py.
"""
from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.scipy.special.bessel_tables import OLVER_A, OLVER_B, RECIPROCAL_GAMMA
from numjet.scipy.special.fixed_orders import cos_sin_pi
from numjet.scipy.special.gamma_family import gammasgn
from numjet.scipy.special.horner import horner
from numjet.scipy.special.real_airy import airy_parts

LARGE_ORDER = 40.0     # beyond, the uniform expansions are right to eps
_SERIES_END, _HANKEL_START = 2.0, 25.0
_K_SERIES_END = 1.2    # further on its terms cancel
_MILLER_TERMS = 32     # pairs of orders above mu that are not negligible for x < 25
_FRACTION_TERMS = 100  # of Steed's continued fraction at x = 2
_RATIO_TERMS = 40      # of that of J[nu + 1] / J[nu] for x <= nu <= 40
_DEBYE_TERMS = 12
Pair = tuple[Any, Any]


def j_at_zero(v: Any) -> Any:
    """The limit of J[v] and I[v] at +0, that of x^v / Gamma(v + 1): infinite of either sign for negative orders.

    >>> [float(j_at_zero(v)) for v in (0.0, 0.5, -1.0, -1.5)]
    [1.0, 0.0, 0.0, -inf]
    """
    return jnp.where(v == 0, 1, jnp.where((v > 0) | (v == jnp.round(v)), 0, gammasgn(v + 1) * jnp.inf))


def y_at_zero(v: Any) -> Any:
    """The limit of Y[v] at +0: -inf, for negative orders times cos(pi v), and 0 where that is 0.

    >>> [float(y_at_zero(v)) for v in (0.5, -0.5, -1.0)]
    [-inf, 0.0, inf]
    """
    factor = jnp.where(v < 0, cos_sin_pi(v)[0], 1)
    return jnp.where(factor == 0, 0, -factor * jnp.inf)


def _over_sine(mu: Any) -> Any:
    """pi mu / sin(pi mu), 1 at 0."""
    return 1 / jnp.sinc(mu)


# ------------------------------------------------------------------------------------------- x < 2: Temme's series

def _temme_start(mu: Any, x: Any) -> tuple[Any, Any, Any]:
    """f_0, p_0 and q_0 without their factors 2 / pi, 1 / pi and 1 / pi."""
    square = mu * mu
    even, odd = horner(RECIPROCAL_GAMMA[0::2], square), horner(RECIPROCAL_GAMMA[1::2], square)
    log = jnp.log(2 / x)
    sigma = mu * log
    near = jnp.abs(sigma) < 1e-3
    quotient = jnp.where(near, 1 + sigma * sigma / 6, jnp.sinh(jnp.where(near, 1, sigma)) / jnp.where(near, 1, sigma))
    first = _over_sine(mu) * (quotient * log * even - jnp.cosh(sigma) * odd)
    power = jnp.exp(sigma)
    return first, power / (even + mu * odd), 1 / (power * (even - mu * odd))


def _temme_y(mu: Any, x: Any) -> Pair:
    """Y[mu] and Y[mu + 1] for 0 < x < 2."""
    f, p, q = _temme_start(mu, x)
    f, p, q = 2 / math.pi * f, p / math.pi, q / math.pi
    half = 0.5 * math.pi * mu
    r = math.pi * half * jnp.square(jnp.sinc(0.5 * mu))
    shift = -0.25 * x * x

    def step(k: Any, state: Any) -> Any:
        f, p, q, c, total, second = state
        k = jnp.astype(k, x.dtype)
        f = (k * f + p + q) / (k * k - mu * mu)
        c, p, q = c * shift / k, p / (k - mu), q / (k + mu)
        return f, p, q, c, total + c * (f + r * q), second + c * p - k * c * (f + r * q)

    state = fori_loop(1, 14, step, (f, p, q, jnp.ones_like(x), f + r * q, p))
    return -state[4], -state[5] * 2 / x


def temme_k(mu: Any, x: Any) -> Pair:
    """K[mu] and K[mu + 1] for x, real or complex, with |x| + Re x < 2.4."""
    f, p, q = _temme_start(mu, x)
    p, q = 0.5 * p, 0.5 * q
    shift = 0.25 * x * x

    def step(k: Any, state: Any) -> Any:
        f, p, q, c, total, second = state
        k = jnp.astype(k, x.dtype)
        f = (k * f + p + q) / (k * k - mu * mu)
        c, p, q = c * shift / k, p / (k - mu), q / (k + mu)
        return f, p, q, c, total + c * f, second + c * (p - k * f)

    state = fori_loop(1, 14, step, (f, p, q, jnp.ones_like(x), f, p))
    return state[4], state[5] * 2 / x


def _series_j(mu: Any, x: Any) -> Pair:
    """J[mu] and J[mu + 1] for 0 < x < 2, by their power series."""
    shift = -0.25 * x * x

    def step(k: Any, state: Any) -> Any:
        term, total, second = state
        k = jnp.astype(k, x.dtype)
        term = term * shift / (k * (k + mu))
        return term, total + term, second + term / (k + 1 + mu)

    one = jnp.ones_like(x)
    _, total, second = fori_loop(1, 14, step, (one, one, 1 / (1 + mu)))
    scale = jnp.exp(mu * jnp.log(0.5 * x)) * horner(RECIPROCAL_GAMMA, mu)
    return scale * total, 0.5 * x * scale * second


# ------------------------------------------------------------------------------------------- 2 <= x < 25

def _miller_j(mu: Any, x: Any) -> Pair:
    """J[mu] and J[mu + 1] for 2 <= x < 25: Miller's recurrence downwards, scaled by Neumann's series, DLMF 10.23.15."""
    def step(i: Any, state: Any) -> Any:
        above, here, weight, total = state  # J[mu + 2k + 1], J[mu + 2k], Gamma(mu + k) / k!
        k = jnp.astype(_MILLER_TERMS - i, x.dtype)
        total = total + (mu + 2 * k) * weight * here
        odd = 2 * (mu + 2 * k) / x * here - above
        even = 2 * (mu + 2 * k - 1) / x * odd - here
        tiny = 1e-10 if x.dtype.itemsize == 4 else 1e-100
        by = jnp.where(jnp.abs(even) > 1 / tiny, tiny, 1)
        following = jnp.where(k > 1, weight * k / (mu + k - 1 + jnp.astype(k == 1, x.dtype)), weight)
        return odd * by, even * by, following, total * by

    zero = jnp.zeros_like(x)
    above, here, weight, total = fori_loop(0, _MILLER_TERMS, step, (zero, zero + 1, zero + 1, zero))
    total = total + weight * here  # weight is Gamma(1 + mu), in the scale of the weights
    scale = jnp.exp(mu * jnp.log(0.5 * x)) * weight * horner(RECIPROCAL_GAMMA, mu) / total
    return scale * here, scale * above


def _steed_y(mu: Any, x: Any, j: Any, j_next: Any) -> Pair:
    """Y[mu] and Y[mu + 1] for 2 <= x, from J and the continued fraction of H' / H."""
    shape = x + mu
    mu, x = jnp.broadcast_arrays(mu, x)

    def step(i: Any, tail: Any) -> Any:
        k = jnp.astype(_FRACTION_TERMS - i, x.dtype)
        above = (k - 0.5) * (k - 0.5) - mu * mu
        return lax.complex(above, jnp.zeros_like(above)) / (lax.complex(2 * x, jnp.zeros_like(x) + 2 * k) + tail)

    zero = jnp.zeros_like(shape)
    tail = fori_loop(0, _FRACTION_TERMS, step, lax.complex(zero, zero))
    p, q = -0.5 / x - tail.imag / x, 1 + tail.real / x
    slope = mu / x * j - j_next
    y = (p * j - slope) / q
    return y, mu / x * y - (q * j + p * y)


# ------------------------------------------------------------------------------------------- x >= 25: Hankel's expansion

def _hankel_sums(order: Any, x: Any) -> Pair:
    """P and Q of DLMF 10.17.3."""
    square, by = 4 * order * order, 1 / (8 * x)

    def step(k: Any, state: Any) -> Any:
        term, even, odd = state
        k = jnp.astype(k, x.dtype)
        odd_term = term * (square - jnp.square(4 * k + 1)) / (2 * k + 1) * by
        even_term = -odd_term * (square - jnp.square(4 * k + 3)) / (2 * k + 2) * by
        return even_term, even + even_term, odd + odd_term

    one = jnp.ones_like(x + order)
    _, even, odd = fori_loop(0, 12, step, (one, one, jnp.zeros_like(one)))
    return even, odd


def _hankel(mu: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    scale = jnp.sqrt(2 / math.pi / x)
    turn = math.pi * (0.5 * mu + 0.25)
    cosine, sine = jnp.cos(x), jnp.sin(x)
    c = cosine * jnp.cos(turn) + sine * jnp.sin(turn)
    s = sine * jnp.cos(turn) - cosine * jnp.sin(turn)
    p, q = _hankel_sums(mu, x)
    p1, q1 = _hankel_sums(mu + 1, x)
    return scale * (p * c - q * s), scale * (p1 * s + q1 * c), scale * (p * s + q * c), scale * (q1 * s - p1 * c)


# ------------------------------------------------------------------------------------------- recurrences in the order

def _rise(mu: Any, x: Any, steps: Any, sign: int, *pairs: Pair) -> list[Pair]:
    """Each pair at the orders (mu, mu + 1), moved up by `steps`: f[k + 1] = sign * f[k - 1] + 2 k / x f[k]."""
    def body(state: Any) -> Any:
        k, found = state
        active = k < steps
        new = []
        for low, high in found:
            following = sign * low + 2 * (mu + k + 1) / x * high
            following = jnp.where(jnp.isinf(high), high, following)
            new.append((jnp.where(active, high, low), jnp.where(active, following, high)))
        return k + 1, new

    zero = jnp.zeros((), x.dtype)
    return while_loop(lambda state: jnp.any(state[0] < steps), body, (zero, list(pairs)))[1]


def _ratio_j(nu: Any, x: Any) -> Any:
    """J[nu + 1] / J[nu] for x <= nu, by the continued fraction of the recurrence."""
    return fori_loop(0, _RATIO_TERMS, lambda i, tail: 1 / (2 * (nu + (_RATIO_TERMS - i)) / x - tail), jnp.zeros_like(x))


def _orders(nu: Any) -> tuple[Any, Any]:
    steps = jnp.floor(nu + 0.5)
    return nu - steps, steps


def _small_order_jy(nu: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    mu, steps = _orders(nu)
    near, far = x < _SERIES_END, x >= _HANKEL_START
    low = jnp.where(near, x, 1)
    mid = jnp.where(near | far, 3, x)
    j_low, y_low = _series_j(mu, low), _temme_y(mu, low)
    j_mid = _miller_j(mu, mid)
    y_mid = _steed_y(mu, mid, *j_mid)
    j0, j1, y0, y1 = _hankel(mu, jnp.where(far, x, 30))
    pick = lambda a, b, c: jnp.where(near, a, jnp.where(far, c, b))
    j = pick(j_low[0], j_mid[0], j0), pick(j_low[1], j_mid[1], j1)
    y = pick(y_low[0], y_mid[0], y0), pick(y_low[1], y_mid[1], y1)
    (j0, j1), (y0, y1) = _rise(mu, x, steps, -1, j, y)
    # J falls where the order exceeds x: there from the Wronskian, DLMF 10.5.2
    beyond = nu > x
    ratio = _ratio_j(jnp.where(beyond, nu, 1), jnp.where(beyond, x, 1))
    fallen = 2 / math.pi / x / jnp.where(jnp.isinf(y1), jnp.inf, ratio * y0 - y1)
    return jnp.where(beyond, fallen, j0), jnp.where(beyond, ratio * fallen, j1), y0, y1


# ------------------------------------------------------------------------------------------- large orders

@functools.cache
def debye_polynomials(count: int) -> list[list[float]]:
    """DLMF 10.41.9: U_k(p) / p^k as polynomials of p^2, for k < count."""
    out, u = [], {0: Fraction(1)}
    for k in range(count):
        out.append([float(u.get(k + 2 * i, 0)) for i in range(k + 1)])
        new: dict[int, Fraction] = {}
        for e, c in u.items():
            for power, by in ((e + 1, Fraction(e, 2) + Fraction(1, 8 * (e + 1))),
                              (e + 3, -Fraction(e, 2) - Fraction(5, 8 * (e + 3)))):
                new[power] = new.get(power, Fraction(0)) + by * c
        u = {e: c for e, c in new.items() if c}
    return out


def _gap(u: Any) -> Any:
    """(artanh(s) - s) / s^3 as a function of u = s^2 < 1, which goes on to negative u."""
    inner = jnp.abs(u) < 0.3
    near, far = jnp.where(inner, u, 0), jnp.where(inner, 0.5, u)
    series = horner([1 / (2 * k + 3) for k in range(28)], near)
    size = jnp.abs(far)
    s = jnp.sqrt(size)
    direct = jnp.where(far > 0, jnp.arctanh(jnp.where(far > 0, s, 0.5)) - s, s - jnp.arctan(s)) / (size * s)
    return jnp.where(inner, series, direct)


def _olver(nu: Any, u: Any) -> Pair:
    """DLMF 10.20.4 and 10.20.5, for |zeta| <= 1."""
    gap = 1.5 * _gap(u)
    cube = jnp.cbrt(gap)
    zeta = u * cube * cube
    third = jnp.cbrt(nu)
    ai, ai_slope, bi, bi_slope, power = airy_parts(third * third * zeta)
    inverse = 1 / (nu * nu)
    along, across = jnp.zeros_like(zeta), jnp.zeros_like(zeta)
    for a, b in zip(OLVER_A[::-1], OLVER_B[::-1], strict=True):
        along, across = along * inverse + horner(a, zeta), across * inverse + horner(b, zeta)
    factor = math.sqrt(2) * jnp.sqrt(jnp.cbrt(gap)) / third
    along, across = factor * along, factor * across / (third * third * third * third)
    half = jnp.exp(0.5 * power)  # in two parts: their product with the rest may be finite where exp(power) is not
    return (along * ai + across * ai_slope) / half / half, -(along * bi + across * bi_slope) * half * half


def _debye_j(nu: Any, z: Any, u: Any) -> Pair:
    """DLMF 10.19.3 and 10.19.6: x below or above nu, not beside it."""
    below = u > 0
    s = jnp.sqrt(jnp.abs(u))
    squared = 1 / u
    polynomials = debye_polynomials(_DEBYE_TERMS)
    by = 1 / (nu * s)
    # the terms of even and of odd k; beyond nu their signs alternate
    sign = jnp.where(below, 1, -1)
    even, odd = jnp.zeros_like(u), jnp.zeros_like(u)
    for k in range(_DEBYE_TERMS - 2, -1, -2):
        even = even * sign * by * by + horner(polynomials[k], squared)
        odd = odd * sign * by * by + horner(polynomials[k + 1], squared)
    odd = odd * by
    grown = jnp.exp(jnp.where(below, 0.5 * nu * (jnp.log((1 + s) / jnp.where(below, z, 1)) - s), 0))
    j_low = (even + odd) / jnp.sqrt(2 * math.pi * nu * s) / grown / grown
    y_low = -grown * (even - odd) / jnp.sqrt(0.5 * math.pi * nu * s) * grown
    phase = nu * (s - jnp.arctan(s)) - 0.25 * math.pi
    scale = jnp.sqrt(2 / math.pi / (nu * s))
    c, t = jnp.cos(phase), jnp.sin(phase)
    return jnp.where(below, j_low, scale * (even * c + odd * t)), jnp.where(below, y_low, scale * (even * t - odd * c))


def _large_order_jy(nu: Any, x: Any) -> Pair:
    z = x / nu
    u = (nu - x) / nu * (1 + z)
    beside = (u < 0.7) & (u > -2.7)
    olver = _olver(nu, jnp.where(beside, u, 0))
    debye = _debye_j(nu, jnp.where(beside, 0.5, z), jnp.where(beside, 0.75, u))
    return jnp.where(beside, olver[0], debye[0]), jnp.where(beside, olver[1], debye[1])


def jy(nu: Any, x: Any, large: bool) -> Pair:
    """J[nu] and Y[nu] for nu >= 0 and finite x > 0; large: whether orders may exceed LARGE_ORDER."""
    if not large:
        j, _, y, _ = _small_order_jy(nu, x)
        return j, y
    far = nu > LARGE_ORDER
    j, _, y, _ = _small_order_jy(jnp.where(far, 0, nu), x)
    j_far, y_far = _large_order_jy(jnp.where(far, nu, 100), jnp.where(far, x, 50))
    return jnp.where(far, j_far, j), jnp.where(far, y_far, y)


# ------------------------------------------------------------------------------------------- modified functions

def steed_k(mu: Any, x: Any) -> Pair:
    """K[mu] and K[mu + 1] times exp(x) for x >= 1.2, or complex x with |x| + Re x >= 2.4: Temme's sum over Steed's fraction."""
    first = 0.25 - mu * mu
    b = 2 * (1 + x)
    d = 1 / b
    zero = jnp.zeros_like(x + mu)
    eps = jnp.finfo(x.dtype).eps

    def body(state: Any) -> Any:
        i, active, a, b, c, d, step, h, before, now, q, total = state
        a = a - 2 * (i - 1)
        c = jnp.where(active, -a * c / i, c)
        new = (before - b * now) / a
        q_new = q + c * new
        b = b + 2
        d_new = 1 / (b + a * d)
        step_new = (b * d_new - 1) * step
        keep = lambda fresh, old: jnp.where(active, fresh, old)
        total_new = total + q_new * step_new
        going = active & (jnp.abs(q_new * step_new) > 0.1 * eps * jnp.abs(total_new))
        return (i + 1, going, a, b, c, keep(d_new, d), keep(step_new, step), keep(h + step_new, h), keep(now, before),
                keep(new, now), keep(q_new, q), keep(total_new, total))

    start = (jnp.full((), 2, mu.dtype), zero == 0, -first + zero, b + zero, first + zero, d + zero, d + zero, d + zero, zero,
             zero + 1, first + zero, 1 + first * d)
    state = while_loop(lambda s: jnp.any(s[1]) & (s[0] < 200), body, start)
    h, total = first * state[7], state[11]
    value = jnp.sqrt(0.5 * math.pi / x) / total
    return value, value * (mu + x + 0.5 - h) / x


def _ratio_i(nu: Any, x: Any) -> Any:
    """I[nu + 1] / I[nu] by the continued fraction of the recurrence, of which some (37 x)^(1/2) terms matter."""
    count = jnp.astype(jnp.ceil(jnp.sqrt(37 * jnp.max(x, initial=1))), jnp.int32) + 12
    return fori_loop(0, count, lambda i, tail: 1 / (2 * (nu + jnp.astype(count - i, x.dtype)) / x + tail), jnp.zeros_like(x))


def _hankel_i(nu: Any, x: Any) -> Any:
    """exp(-x) I[nu](x), DLMF 10.40.1."""
    square, by = 4 * nu * nu, -1 / (8 * x)

    def step(k: Any, state: Any) -> Any:
        term, total = state
        k = jnp.astype(k, x.dtype)
        term = term * (square - jnp.square(2 * k - 1)) / k * by
        return term, total + term

    one = jnp.ones_like(x)
    return fori_loop(1, 28, step, (one, one))[1] / jnp.sqrt(2 * math.pi * x)


def _small_order_ik(nu: Any, x: Any) -> Pair:
    mu, steps = _orders(nu)
    near = x < _K_SERIES_END
    low, high = jnp.where(near, x, 1), jnp.where(near, 3, x)
    grown = jnp.exp(low)
    a, b = temme_k(mu, low), steed_k(mu, high)
    k = jnp.where(near, a[0] * grown, b[0]), jnp.where(near, a[1] * grown, b[1])
    ((k0, k1),) = _rise(mu, x, steps, 1, k)
    far = x > jnp.maximum(30.0, nu * nu)
    inner = jnp.where(far, 1, x)
    by_ratio = 1 / (x * (_ratio_i(nu, inner) * k0 + k1))
    return jnp.where(far, _hankel_i(jnp.where(far, nu, 0), jnp.where(far, x, 30)), by_ratio), k0


def _large_order_ik(nu: Any, x: Any) -> Pair:
    """DLMF 10.41.3 and 10.41.4, times exp(-x) and exp(x)."""
    z = x / nu
    root = jnp.hypot(jnp.ones_like(z), z)
    p = 1 / root
    square, by = p * p, p / nu
    even, odd = jnp.zeros_like(x), jnp.zeros_like(x)
    polynomials = debye_polynomials(_DEBYE_TERMS)
    for k in range(_DEBYE_TERMS - 2, -1, -2):
        even = even * by * by + horner(polynomials[k], square)
        odd = odd * by * by + horner(polynomials[k + 1], square)
    odd = odd * by
    # eta - z = 1 / (root + z) - arsinh(1 / z)
    half = jnp.exp(0.5 * nu * (1 / (root + z) - jnp.arcsinh(1 / z)))
    scale = jnp.sqrt(nu * root)
    return (half * (even + odd) / (math.sqrt(2 * math.pi) * scale) * half,
            (even - odd) * math.sqrt(0.5 * math.pi) / scale / half / half)


def ik(nu: Any, x: Any, large: bool) -> Pair:
    """exp(-x) I[nu] and exp(x) K[nu] for nu >= 0 and finite x > 0; large: as of jy."""
    if not large:
        return _small_order_ik(nu, x)
    far = nu > LARGE_ORDER
    i, k = _small_order_ik(jnp.where(far, 0, nu), x)
    i_far, k_far = _large_order_ik(jnp.where(far, nu, 100), jnp.where(far, x, 50))
    return jnp.where(far, i_far, i), jnp.where(far, k_far, k)
