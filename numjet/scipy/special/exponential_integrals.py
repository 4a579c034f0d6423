"""Exponential integrals: E1 and Ei by polynomials, E of whole orders by a series and a continued fraction."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.scipy.special import chebyshev_tables as tables, complex_integrals
from numjet.scipy.special.gamma_family import floats, halves_in_float32, numbers
from numjet.scipy.special.horner import horner
from numjet.scipy.special.whole_numbers import is_odd

_NEAR_ROOT = 0.1     # distance to Ei's root below which its logarithm is a series
_NO_QUOTIENT = 0.1   # below, log(x / root) is a difference of logarithms: the quotient of a subnormal number is not exact
_ATANH_TERMS = {4: 4, 8: 9}
_FRACTION_TERMS = 200   # exp(-4 sqrt(200 * 0.6)) is below 1e-19


def _table(name: str, x: Any) -> tuple[float, ...]:
    found: tuple[float, ...] = getattr(tables, f"{name}_{'DOUBLE' if x.dtype.itemsize == 8 else 'SINGLE'}")
    return found


@custom_jvp
def _exp_quotient(x: Any) -> Any:
    """exp(x) / x, infinite where it overflows, not before."""
    half = jnp.exp(0.5 * x)
    return jnp.where(x == jnp.inf, jnp.inf, half / x * half)


_exp_quotient.defjvps(lambda t, out, x: t * (out * (1 - 1 / x)))


@custom_jvp
def _exp1(x: Any) -> Any:
    """A polynomial less the logarithm below 1, exp(-x) / x times a polynomial of (x - 4) / (x + 2) above."""
    near = x < 1
    small, large = jnp.where(near & (x > 0), x, 0.5), jnp.where(near | jnp.isinf(x), 1.0, x)
    below = horner(_table("E1_NEAR", x), 2 * small - 1) - jnp.log(small)
    above = jnp.exp(-large) / large * horner(_table("E1_FAR", x), 1 - 6 / (large + 2))
    out = jnp.where(near, below, jnp.where(jnp.isinf(x), 0, above))
    return jnp.where(x == 0, jnp.inf, jnp.where((x < 0) | jnp.isnan(x), jnp.nan, out))


_exp1.defjvps(lambda t, out, x: t * _exp_quotient(-x))


@jit_when_eager()
def exp1(x: Any) -> Any:
    """The integral of exp(-t) / t from x to infinity; infinite at 0, NaN for negative real x, where complex x have a cut.

    >>> round(float(exp1(1.0)), 4)
    0.2194
    """
    (x,) = numbers("exp1", x)
    return complex_integrals.exp1(x) if x.dtype in dtypes.COMPLEX else halves_in_float32(_exp1)(x)


def _expi_near(x: Any) -> Any:
    """Ei(x) = log(x / root) + (x - root) R(x) for 0 < x < 8, with a factor x - root near the root, where Ei is 0."""
    root = float(x.dtype.type(tables.EI_ROOT))
    distance = (x - root) - (tables.EI_ROOT - root + tables.EI_ROOT_REST)
    rest = horner(_table("EI_NEAR", x), x)
    close = abs(distance) < _NEAR_ROOT
    quotient = jnp.where(close, distance, 0) / (x + tables.EI_ROOT)
    atanh = horner([2 / (2 * k + 1) for k in range(_ATANH_TERMS[x.dtype.itemsize])], jnp.square(quotient))
    by_factor = distance * (atanh / (x + tables.EI_ROOT) + rest)
    small = x < _NO_QUOTIENT
    logarithm = jnp.log(jnp.where(small, x, x / tables.EI_ROOT)) - jnp.where(small, math.log(tables.EI_ROOT), 0)
    return jnp.where(close, by_factor, logarithm + distance * rest)


def _expi_far(x: Any) -> Any:
    """exp(x) / x times a polynomial of 1 / x for x >= 8; x - 7 is exact, and overflows with the result."""
    factor = jnp.exp(x - 7) / x
    if x.dtype.itemsize == 4:
        return factor * horner(tables.EI_FAR_SINGLE, 1 - 16 / x)
    middle = horner(tables.EI_MIDDLE_DOUBLE, (320 / jnp.minimum(x, 20) - 28) / 12)
    return factor * jnp.where(x < 20, middle, horner(tables.EI_FAR_DOUBLE, 1 - 40 / jnp.maximum(x, 20)))


@custom_jvp
def _expi(x: Any) -> Any:
    positive, near = x > 0, x < 8
    above = _expi_far(jnp.where(near | (x == jnp.inf) | jnp.isnan(x), 8.0, x))
    out = jnp.where(near, _expi_near(jnp.where(positive & near, x, 1.0)), above)
    out = jnp.where(positive, out, jnp.where(x == 0, -jnp.inf, -_exp1(jnp.where(x < 0, -x, 1.0))))
    return jnp.where(jnp.isnan(x) | (x == jnp.inf), x, out)


_expi.defjvps(lambda t, out, x: t * _exp_quotient(x))


@jit_when_eager()
def expi(x: Any) -> Any:
    """The principal value of the integral of exp(t) / t up to x, real or complex; -inf at 0.

    >>> round(float(expi(1.0)), 4)
    1.8951
    """
    (x,) = numbers("expi", x)
    return complex_integrals.expi(x) if x.dtype in dtypes.COMPLEX else halves_in_float32(_expi)(x)


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
    power = jnp.exp((n - 1) * jnp.log(x) - special.lgamma(n))
    return jnp.where(is_odd(n), power, -power) * (special.digamma(n) - jnp.log(x)) + total


def _expn_below(n: Any, x: Any) -> Any:
    """E_n(x) for n <= 0, where derivatives lead: DLMF 8.19.12 upwards, whose terms are positive, from exp(-x) / x for whole n;
    for others, where x >= 1, from an order between 0 and 1."""
    rest = n - jnp.floor(n)
    start, whole = jnp.exp(-x) / x, rest == 0
    between = jnp.exp(-x) * _fraction(jnp.where(whole, 1, rest), jnp.where(whole, 1, x))

    def step(state: Any) -> Any:
        m, value = state
        return m + 1, jnp.where(m - rest <= -n, start + (m - rest) * value / x, value)
    first = (jnp.ones((), x.dtype), jnp.where(whole, start, between))
    return while_loop(lambda state: jnp.any(state[0] - rest <= -n), step, first)[1]


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    near = x < 1
    small, large = jnp.where(near & (x > 0), x, 0.5), jnp.where(near | jnp.isinf(x), 2.0, x)
    far = jnp.exp(-large) * _fraction(jnp.where(n > 0, n, 1), large)
    out = jnp.where(near, _expn_series(jnp.maximum(n, 1), small), far)
    out = jnp.where(n <= 0, _expn_below(jnp.where(n <= 0, n, 0), x), out)
    out = jnp.where(x == 0, jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), jnp.inf), out)
    out = jnp.where(x == jnp.inf, 0, out)
    return jnp.where((x < 0) | jnp.isnan(x), jnp.nan, out)


_expn.defjvps(None, lambda t, out, n, x: -t * _expn(n - 1, x))


@jit_when_eager()
def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t^n from 1 to infinity, for whole n >= 0 and x >= 0, or any n >= 0 and x >= 1; else NaN.

    Not differentiated with respect to n.

    >>> round(float(expn(2, 1.0)), 4)
    0.1485
    """
    n, x = floats("expn", n, x)
    known = (n >= 0) & ((n == jnp.round(n)) | (x == 0) | (x >= 1))
    return jnp.where(known, _expn(jnp.where(known, n, 0), x), jnp.nan)  # derivatives lead below 0, by one step each
