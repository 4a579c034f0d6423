"""Functions defined by integrals: Bessel functions, exponential integrals, Spence's function; hypergeometric series."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop
from numjet.lax.elementwise import special
from numjet.scipy.special.gamma_family import _bernoulli_numbers, floats, halves_in_float32

_EULER = 0.57721566490153286061


# -------------------------------------------------------------------------------------------- Bessel functions

def i0e(x: Any) -> Any:
    """exp(-|x|) I0(x).

    >>> float(i0e(0.0))
    1.0
    """
    return special.bessel_i0e(floats("i0e", x)[0])


@custom_jvp
def _i0(x: Any) -> Any:
    return jnp.exp(abs(x)) * special.bessel_i0e(x)


@custom_jvp
def _i1(x: Any) -> Any:
    return jnp.exp(abs(x)) * special.bessel_i1e(x)


def _i1_slope(x: Any, out: Any) -> Any:
    """I0 - I1 / x. The quotient is a power series (DLMF 10.25.2) for small x, where its derivatives cancel."""
    small = abs(x) < 1
    square = jnp.where(small, x, 0) ** 2
    series = jnp.polyval(jnp.array([0.5 / (4 ** k * math.factorial(k) * math.factorial(k + 1)) for k in range(9, -1, -1)],
                                   x.dtype), square)
    return _i0(x) - jnp.where(small, series, out / jnp.where(small, 1, x))


_i0.defjvps(lambda t, out, x: t * _i1(x))
_i1.defjvps(lambda t, out, x: t * _i1_slope(x, out))


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0.

    >>> float(i0(0.0))
    1.0
    """
    x, = floats("i0", x)
    return halves_in_float32(_i0)(x)


def i1e(x: Any) -> Any:
    """exp(-|x|) I1(x).

    >>> float(i1e(0.0))
    0.0
    """
    return special.bessel_i1e(floats("i1e", x)[0])


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1.

    >>> float(i1(0.0))
    0.0
    """
    return halves_in_float32(_i1)(floats("i1", x)[0])


# -------------------------------------------------------------------------------------------- exponential integrals

_SERIES_END, _SERIES_END_SINGLE = 40, 20   # beyond, the smallest term of expi's asymptotic series is below half an ulp
_SERIES_TERMS = 110
_FRACTION_START = 0.6   # of exp1: below, the terms of its series hardly cancel
_FRACTION_TERMS = 200   # exp(-4 sqrt(200 * 0.6)) is below 1e-19


def _entire_part(x: Any) -> Any:
    """The sum of x^k / (k k!), k = 1, 2, ..."""
    def add(k: Any, state: Any) -> Any:
        term, total = state
        kf = jnp.astype(k, x.dtype)
        term = term * x / kf
        return term, total + term / kf
    return fori_loop(1, _SERIES_TERMS, add, (jnp.ones_like(x), jnp.zeros_like(x)))[1]


def _fraction(n: Any, x: Any) -> Any:
    """exp(x) E_n(x) for x >= 0.6 by the continued fraction, evaluated backwards."""
    def step(i: Any, tail: Any) -> Any:
        k = jnp.astype(_FRACTION_TERMS - i, x.dtype)
        return k * (n + k - 1) / (x + n + 2 * k - tail)
    return 1 / (x + n - fori_loop(0, _FRACTION_TERMS, step, jnp.zeros_like(x)))


def _expn_series(n: Any, x: Any) -> Any:
    """E_n(x) for 0 < x < 1 and whole n >= 1: psi's and the logarithm's term, and a power series without it."""
    def add(k: Any, state: Any) -> Any:
        term, total = state
        kf = jnp.astype(k, x.dtype)
        term = jnp.where(kf == 0, jnp.ones_like(x), term * -x / jnp.maximum(kf, 1))
        here = kf == n - 1
        return term, total - jnp.where(here, 0, term / jnp.where(here, 1, kf - n + 1))
    total = fori_loop(0, 40, add, (jnp.ones_like(x), jnp.zeros_like(x)))[1]
    # (-x)^(n-1) / (n-1)! (-log x + psi(n))
    even = n - 2 * jnp.floor(n / 2) == 1
    power = jnp.exp((n - 1) * jnp.log(x) - special.lgamma(n))
    return jnp.where(even, power, -power) * (special.digamma(n) - jnp.log(x)) + total


@custom_jvp
def _exp1(x: Any) -> Any:
    near = x < _FRACTION_START
    small = jnp.where(near & (x > 0), x, 1.0)
    series = -_EULER - jnp.log(small) - _entire_part(-small)
    large = jnp.where(near, 2.0, x)
    far = jnp.exp(-large) * _fraction(1.0, jnp.where(jnp.isinf(large), 2.0, large))
    out = jnp.where(near, series, far)
    return jnp.where(x == 0, jnp.inf, jnp.where(x < 0, jnp.nan, out))


_exp1.defjvps(lambda t, out, x: -t * jnp.exp(-x) / x)


@jit_when_eager()
def exp1(x: Any) -> Any:
    """The integral of exp(-t) / t from x to infinity; infinite at 0, NaN for negative x.

    >>> round(float(exp1(1.0)), 4)
    0.2194
    """
    return _exp1(floats("exp1", x)[0])


@custom_jvp
def _expi(x: Any) -> Any:
    end = _SERIES_END if x.dtype.itemsize == 8 else _SERIES_END_SINGLE
    below = jnp.where(x < 0, -x, 1.0)
    near = jnp.where((x > 0) & (x < end), x, 1.0)
    series = _EULER + jnp.log(near) + _entire_part(near)
    far = jnp.where((x >= end) & (x < jnp.inf), x, end)
    out = jnp.where(x < end, series, jnp.exp(far) / far * _factorial_series(far, end))
    out = jnp.where(x < 0, -_exp1(below), jnp.where(x == 0, -jnp.inf, out))
    return jnp.where(jnp.isnan(x) | (x == jnp.inf), x, out)


def _factorial_series(x: Any, terms: int) -> Any:
    """The sum of k! / x^k up to its smallest term for x >= `terms`."""
    out = jnp.ones_like(x)
    for k in range(terms - 1, 0, -1):
        out = 1 + out * k / x
    return out


_expi.defjvps(lambda t, out, x: t * jnp.exp(x) / x)


@jit_when_eager()
def expi(x: Any) -> Any:
    """The principal value of the integral of exp(t) / t up to x; -inf at 0.

    >>> round(float(expi(1.0)), 4)
    1.8951
    """
    return halves_in_float32(_expi)(floats("expi", x)[0])


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    near = x < 1
    small, large = jnp.where(near & (x > 0), x, 0.5), jnp.where(near | jnp.isinf(x), 2.0, x)
    order = jnp.maximum(n, 1)
    out = jnp.where(near, _expn_series(order, small), jnp.exp(-large) * _fraction(order, large))
    out = jnp.where(n == 0, jnp.exp(-x) / x, out)
    out = jnp.where(x == 0, jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), jnp.inf), out)
    out = jnp.where(x == jnp.inf, 0, out)
    return jnp.where((x < 0) | (n < 0) | jnp.isnan(x), jnp.nan, out)


_expn.defjvps(None, lambda t, out, n, x: -t * _expn(n - 1, x))


@jit_when_eager()
def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t^n from 1 to infinity, for whole n >= 0 and x >= 0, else NaN.

    Not differentiated with respect to n.

    >>> round(float(expn(2, 1.0)), 4)
    0.1485
    """
    return _expn(*floats("expn", n, x))


# -------------------------------------------------------------------------------------------- Spence's function

# Debye's series of the dilogarithm: Li2(1 - exp(-u)) = sum of B_k u^(k + 1) / (k + 1)!
_DEBYE = [float(b / math.factorial(k + 1)) for k, b in enumerate(_bernoulli_numbers(19))]


def _dilogarithm(u: Any) -> Any:
    """Li2(1 - exp(-u)) for |u| <= log 2."""
    square = u * u
    out = jnp.zeros_like(u)
    for k in range(18, 0, -2):
        out = out * square + _DEBYE[k]
    return u + _DEBYE[1] * square + out * square * u


@custom_jvp
def _spence(x: Any) -> Any:
    below, above = x < 0.5, x > 2
    low, mid = jnp.where(below & (x > 0), x, 0.25), jnp.where(below | above, 1.0, x)
    high = jnp.where(above, x, 4.0)
    first = math.pi ** 2 / 6 - jnp.log(low) * jnp.log1p(-low) - _dilogarithm(-jnp.log1p(-low))
    third = -math.pi ** 2 / 6 - 0.5 * jnp.square(jnp.log(high - 1)) - _dilogarithm(jnp.log1p(-1 / high))
    out = jnp.where(below, first, jnp.where(above, third, _dilogarithm(-jnp.log(mid))))
    return jnp.where(x == 0, math.pi ** 2 / 6, jnp.where(x < 0, jnp.nan, out))


@_spence.defjvp
def _spence_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    one = x == 1
    return _spence(x), t * jnp.where(one, -1, jnp.log(x) / jnp.where(one, 1, 1 - x))


def spence(x: Any) -> Any:
    """The integral of log(t) / (1 - t) from 1 to x, which is Li2(1 - x); NaN for negative x.

    >>> round(float(spence(0.0)), 4)
    1.6449
    """
    return _spence(floats("spence", x)[0])
