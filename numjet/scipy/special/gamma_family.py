"""Gamma, beta and zeta functions, factorials and binomial coefficients."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import promote_args_inexact, promote_shapes, strong_array
from numjet.scipy.special.complex_gamma import digamma_of_complex, gamma_of_complex
from numjet.scipy.special.factorial_terms import log_beta, log_choices, log_factorial
from numjet.scipy.special.gamma_values import gamma_of_double, stirling_series
from numjet.scipy.special.rare_cases import where_any
from numjet.scipy.special.whole_numbers import is_odd, whole_below_1
from numjet.scipy.special.wide_evaluation import smooth_by_precision, smooth_in_64_bits

_EXACT = 1e9            # counts below are rounded to whole numbers
_ZETA_FAR = 1e4
_ZETA_TERMS = 12        # of zeta's sum in its derivative, and of the corrections behind them
_ZETA_CORRECTIONS = 8


_TAKES_LISTS = frozenset(("expn", "hyp1f1", "hyp2f1", "log_ndtr", "ndtr", "spence"))
_TYPE_ERRORS = frozenset("""
    erfinv gammaln i0 i0e i1 i1e ndtri spence factorial comb betaln gammainc gammaincc zeta
    multigammaln hyp2f1 bessel_jn
""".split())


def numbers(name: str, *args: Any) -> list[Any]:
    """Arguments as floats or complex numbers of one dtype; lists where JAX's function takes them."""
    if name in _TAKES_LISTS:
        args = tuple(jnp.asarray(x) if isinstance(x, (list, tuple)) else x for x in args)
    return promote_args_inexact(name, *args)


def floats(name: str, *args: Any) -> list[Any]:
    """Arguments as real floats of one dtype and shape. For complex ones the class of errors that JAX's function has."""
    found = numbers(name, *args)
    if found[0].dtype in dtypes.COMPLEX:
        raise (TypeError if name in _TYPE_ERRORS else ValueError)(f"{name} does not support complex-valued inputs")
    return promote_shapes(name, *found) if len(found) > 1 else found


def halves_in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with halves computed in float32 and rounded once: intermediate results of theirs overflow soon."""
    @functools.wraps(function)
    def wide(x: Any, *args: Any) -> Any:
        return jnp.astype(function(jnp.astype(x, np.float32), *args), x.dtype) if x.dtype.itemsize == 2 else function(x, *args)
    return wide


# -------------------------------------------------------------------------------------------- gamma

def gammaln(x: Any) -> Any:
    """log |Gamma(x)|.

    >>> float(gammaln(1.0))
    0.0
    """
    return special.lgamma(floats("gammaln", x)[0])


def gammasgn(x: Any) -> Any:
    """The sign of Gamma(x): 1, or -1; that of x at 0; NaN at the poles -1, -2, ... and at -inf.

    >>> float(gammasgn(-0.5))
    -1.0
    """
    x, = floats("gammasgn", x)
    whole = jnp.floor(x)
    sign = jnp.where((x < 0) & is_odd(whole), -1.0, 1.0)
    sign = jnp.where(x == 0, jnp.where(1 / x < 0, -1.0, 1.0), sign)
    sign = jnp.where(((x < 0) & (x == whole)) | jnp.isnan(x), jnp.nan, sign)
    return jnp.astype(sign, x.dtype)


def gamma(x: Any) -> Any:
    """Gamma(x) of real or complex numbers; NaN at the poles -1, -2, ..., at 0 infinite if real, NaN if complex.

    >>> round(float(gamma(5.0)), 3)
    24.0
    """
    (x,) = promote_args_inexact("gamma", x)
    if x.dtype in dtypes.COMPLEX:
        return gamma_of_complex(x)
    return _real_gamma(x)


def _real_gamma(x: Any) -> Any:
    return gamma_of_double(x) if x.dtype == np.float64 else strong_array(_gamma_of_narrow(x))


@smooth_in_64_bits
def _gamma_of_narrow(x: Any) -> Any:
    return gammasgn(x) * jnp.exp(special.lgamma(x))


def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function P(a, x).

    >>> float(gammainc(1.0, 0.0))
    0.0
    """
    return special.igamma(*floats("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    >>> float(gammaincc(1.0, 0.0))
    1.0
    """
    return special.igammac(*floats("gammaincc", a, x))


def digamma(x: Any) -> Any:
    """The derivative of gammaln, and of loggamma for complex numbers; NaN at the poles.

    >>> round(float(digamma(1.0)), 4)
    -0.5772
    """
    (x,) = numbers("digamma", x)
    return digamma_of_complex(x) if x.dtype in dtypes.COMPLEX else special.digamma(x)


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma.

    >>> round(float(polygamma(1, 1.0)), 4)
    1.6449
    """
    n, x = floats("polygamma", n, x)
    return special.polygamma(n, x)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension d (a static integer).

    >>> float(multigammaln(1.0, 1))
    0.0
    """
    d = int(d)
    a, = floats("multigammaln", a)
    out = d * (d - 1) / 4 * math.log(math.pi) + special.lgamma(a)
    for i in range(1, d):
        out = out + special.lgamma(a - i / 2)
    return out


def factorial(n: Any, exact: bool = False) -> Any:
    """n!, as a float; 0 for negative n. NotImplementedError for exact=True.

    >>> round(float(factorial(5)), 3)
    120.0
    """
    if exact:
        raise NotImplementedError("factorial with exact=True: arrays hold no integers of arbitrary size; use math.factorial")
    return _factorial(floats("factorial", n)[0])


@smooth_by_precision
def _factorial(n: Any, precise: bool) -> Any:
    safe = jnp.where((n < 0) | (n == jnp.inf), 0, n)
    found = _real_gamma(safe + 1) if precise else jnp.exp(log_factorial(safe, precise))
    return jnp.where(n < 0, 0, jnp.where(n == jnp.inf, jnp.inf, found))


@jit_when_eager()
def poch(z: Any, m: Any) -> Any:
    """The rising factorial Gamma(z + m) / Gamma(z).

    >>> round(float(poch(2.0, 3.0)), 3)
    24.0
    """
    return strong_array(_poch(*floats("poch", z, m)))


def _poch_limit(z: Any, m: Any) -> Any:
    """The limit of Gamma(z + m) / Gamma(z) as z or m goes to infinity: that of z^m or of m! / Gamma(z); NaN if none."""
    pole = _is_pole(z)
    in_m = jnp.where(pole, 0, jnp.where(m > 0, gammasgn(z) * jnp.inf, jnp.nan))
    in_z = jnp.where(m > 0, jnp.inf, 0)
    return jnp.where(jnp.isnan(z + m) | (z == -jnp.inf), jnp.nan, jnp.where(z == jnp.inf, in_z, in_m))


# So much of the distance to a pole is a step over which log(Gamma) is its slope in the middle, to 1 / 24 of the cube.
_SMALL_STEP = 3e-6


@smooth_by_precision
def _poch(z: Any, m: Any, precise: bool) -> Any:
    infinite = (jnp.isinf(z) | jnp.isinf(m)) & (m != 0)
    limit = _poch_limit(z, m)
    z, m = jnp.where(infinite | jnp.isinf(z), 1, z), jnp.where(infinite, 1, m)
    return jnp.where(infinite, limit, _finite_poch(z, m, precise))


def _finite_poch(z: Any, m: Any, precise: bool) -> Any:
    """Where Gamma(z) is infinite, 0, or if Gamma(z + m) is, too, (-1)**m Gamma(1 - z) / Gamma(1 - z - m), by DLMF 5.5.3.

    The latter also for |z| < 1/2 and m = -1, -2, ..., where z + m is near a pole, or is one by rounding."""
    ends = _is_pole(z + m)
    falls = (jnp.abs(z) < 0.5) & (z != 0) & (m < 0) & _is_pole(m)
    reflected, zero = falls | _is_pole(z) & ends, _is_pole(z) & ~ends
    out = _poch_off_poles(jnp.where(reflected, 1 - z - m, jnp.where(zero, 1, z)), jnp.where(zero, 1, m), precise)
    below, end = jnp.where(zero, z, 0), jnp.where(zero, z + m, 1)
    out = jnp.where(reflected & (m < 0) & (1 - z - m == -m), 0, out)     # 1 / Gamma of a huge number
    sines = where_any(falls, _quotient_of_sines, jnp.where(falls, z, 0.25), jnp.where(falls, m, 0))
    out = jnp.where(falls, out * jnp.where(falls, sines, 1), out)
    return jnp.where(zero, where_any(zero, _poch_at_zeros, below, end), jnp.where(reflected & is_odd(m), -out, out))


def _quotient_of_sines(z: Any, m: Any) -> Any:
    """sin(pi z) / sin(pi (z + m)) but for its sign, which is 1 for whole m, with its derivatives."""
    rest = math.pi * (m - lax.stop_gradient(m))
    return 1 / (jnp.cos(rest) + jnp.sin(rest) / jnp.tan(math.pi * z))


def _poch_at_zeros(z: Any, end: Any) -> Any:
    """Gamma(end) / Gamma(z) = Gamma(end) Gamma(1 - z) sin(pi z) / pi for z = 0, -1, ...: 0, with its derivatives."""
    whole = lax.stop_gradient(z)
    sign = jnp.where(is_odd(whole), -1, 1)
    size = jnp.exp(special.lgamma(end) + special.lgamma(1 - z))
    return jnp.where(size < jnp.inf, sign * gammasgn(end) * size * jnp.sin(math.pi * (z - whole)) / math.pi, 0)


def _poch_off_poles(z: Any, m: Any, precise: bool) -> Any:
    """Near 0 by z / (z + m) Gamma(z + 1 + m) / Gamma(z + 1): Gamma overflows at subnormal z, and its derivatives cancel."""
    near = (jnp.abs(z) < 0.5) & ~_is_pole(z + m)
    quotient = _quotient_of_gammas(jnp.where(near, z + 1, z), m, precise)
    little, end = 2 * jnp.abs(m) < jnp.abs(z), jnp.where(near, z + m, 1)
    # z / end, twice: for derivatives where m is 0
    ratio = jnp.where(little, 1 - jnp.where(little, m, 0) / end, z / jnp.where(little, 1, end))
    # no factor of an infinite quotient: its derivative, if it is 0 or negative, times that is no number
    infinite = jnp.where(near & (ratio < 0), -quotient, quotient)
    return jnp.where(near & (jnp.abs(quotient) < jnp.inf), ratio * quotient, infinite)


def _quotient_of_gammas(z: Any, m: Any, precise: bool) -> Any:
    sign = gammasgn(z + m) * gammasgn(z)
    out = sign * jnp.exp(special.lgamma(z + m) - special.lgamma(z))
    if precise:
        rises, falls = (z > 0) & (m > 0), (z + m > 0) & (m < 0)
        low, steps = jnp.where(rises, z, jnp.where(falls, z + m, 1)), jnp.where(rises | falls, jnp.abs(m), 1)
        rising = gamma_of_double(steps) * jnp.exp(-log_beta(low, steps))
        out = jnp.where(rises, rising, jnp.where(falls, 1 / rising, out))
    distance = jnp.where(z > 0, z, jnp.abs(z - jnp.round(z)))
    near = (jnp.abs(m) <= _SMALL_STEP * distance) & (distance > 0)
    step, start = jnp.where(near, m, 0), jnp.where(near, z, 1)
    near_1 = where_any(near, lambda step, start: jnp.exp(step * special.digamma(start + step / 2)), step, start)
    return jnp.where(near, near_1, jnp.where(m == 0, 1, out))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of choices of k from N things, as a float; with repetition, each any number of times.

    >>> round(float(comb(5, 2)), 3)
    10.0
    """
    N, k = floats("comb", N, k)
    return (_comb_with_repetition if repetition else _comb)(N, k)


@smooth_by_precision
def _comb(N: Any, k: Any, precise: bool) -> Any:
    valid = (k <= N) & (N >= 0) & (k >= 0)
    safe_n, safe_k = jnp.where(valid, N, 1), jnp.where(valid, k, 0)
    return jnp.where(valid, _choices(safe_k, safe_n - safe_k, precise), 0)


@smooth_by_precision
def _comb_with_repetition(N: Any, k: Any, precise: bool) -> Any:
    """The choices of k from N - 1 + k things; one of nothing, also from less than one thing."""
    valid, none = (N >= 1) & (k >= 0), (k == 0) & (N >= 0)
    found = _choices(jnp.where(valid, k, 0), jnp.where(valid & (N < jnp.inf), N, 1) - 1, precise)
    infinite = jnp.where(none, 1, jnp.where((N == jnp.inf) & (k > 0) & (k < jnp.inf), jnp.inf, found))
    return jnp.where(valid & ~(none & (N == jnp.inf)), infinite, jnp.where(none, 1, 0))


def _choices(k: Any, rest: Any, precise: bool) -> Any:
    """(k + rest)! / (k! rest!), rounded where it is a small whole number."""
    found = jnp.exp(log_choices(k, rest, precise))
    whole = (rest == jnp.floor(rest)) & (k == jnp.floor(k)) & (found < _EXACT)
    return found + lax.stop_gradient(jnp.where(whole, jnp.round(found) - found, 0))


# -------------------------------------------------------------------------------------------- beta

def _stirling_rest(x: Any) -> Any:
    """lgamma(x) less (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 10."""
    return stirling_series(1 / x)


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|, without the cancellation of large arguments.

    >>> float(betaln(1.0, 1.0))
    0.0
    """
    return _betaln(*floats("betaln", a, b))


def _whole_at_pole(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Where a or b is 0, -1, ...: whether the beta function is infinite there, whether it is finite, as two poles cancel, and
    the other argument, which is a small natural number then."""
    pole, other = _is_pole(a) | _is_pole(b), jnp.where(_is_pole(a), b, a)
    finite = pole & (other > 0) & (other == jnp.floor(other)) & (a + b <= 0)
    return pole & ~finite & ~jnp.isnan(other), finite, other


def _is_pole(x: Any) -> Any:
    return whole_below_1(x) & (x != -jnp.inf)


@smooth_in_64_bits
def _betaln(a: Any, b: Any) -> Any:
    infinite, finite, other = _whole_at_pole(a, b)
    a, b = jnp.where(finite, 1 - a - b, a), jnp.where(finite, other, b)  # B(a, b) = (-1)**b B(1 - a - b, b), DLMF 5.5.3
    a, b = jnp.where(infinite, 1, a), jnp.where(infinite, 1, b)
    return jnp.where(infinite, jnp.inf, _betaln_off_poles(a, b))


def _betaln_off_poles(a: Any, b: Any) -> Any:
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    far = (large > 10) & (small + large > 10)
    safe, less = jnp.where(far, large, 10.0), jnp.where(far, small, 0)
    # lgamma(large) - lgamma(small + large) by Stirling's series
    difference = _stirling_rest(safe) - _stirling_rest(safe + less)
    gap = difference - (safe - 0.5 + less) * jnp.log1p(less / safe) - less * (jnp.log(safe) - 1)
    plain = special.lgamma(large) - special.lgamma(small + large)
    out = special.lgamma(small) + jnp.where(far, gap, plain)
    return jnp.where((large == jnp.inf) & (small > 0), -jnp.inf, out)


@jit_when_eager()
def beta(a: Any, b: Any) -> Any:
    """Gamma(a) Gamma(b) / Gamma(a + b).

    >>> round(float(beta(2.0, 3.0)), 4)
    0.0833
    """
    return strong_array(_beta(*floats("beta", a, b)))


# B(a, b) = 1 / a + 1 / b + O(1) for a this small and b below the other limit; exp of its logarithm would lose three digits.
_FIRST_TERM, _LARGEST_OF_FIRST_TERM = 1e-20, 1e100


@smooth_in_64_bits
def _beta(a: Any, b: Any) -> Any:
    infinite, finite, other = _whole_at_pole(a, b)
    at_pole = jnp.where(finite & is_odd(other), -1, 1)
    vanishes = ~(infinite | finite) & _is_pole(a + b)
    sign = jnp.where(infinite | finite | vanishes, at_pole, gammasgn(a) * gammasgn(b) * gammasgn(a + b))
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    near_pole = (small > 0) & (small < _FIRST_TERM) & (large < _LARGEST_OF_FIRST_TERM)
    small, large = jnp.where(near_pole, small, 1), jnp.where(near_pole, large, 1)
    out = jnp.where(near_pole, 1 / small + 1 / large, sign * jnp.exp(betaln(*(jnp.where(vanishes, 1, x) for x in (a, b)))))
    p, q = jnp.where(vanishes, a, 0.5), jnp.where(vanishes, b, -0.5)
    at_zero = gammasgn(p) * jnp.exp(special.lgamma(p)) * _poch_at_zeros(p + q, q)
    return jnp.where(vanishes, at_zero, out)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b).

    >>> float(betainc(1.0, 1.0, 0.5))
    0.5
    """
    return special.betainc(*floats("betainc", a, b, x))


# -------------------------------------------------------------------------------------------- zeta

def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of (q + n)**-x; q: default 1, which is Riemann's. Derivatives in both arguments.

    >>> round(float(zeta(2.0)), 4)
    1.6449
    """
    x, q = floats("zeta", x, 1.0 if q is None else q)
    return _zeta(x, q)


@custom_jvp
def _zeta(x: Any, q: Any) -> Any:
    return special.zeta(x, q)


def _zeta_slope(x: Any, q: Any) -> Any:
    """The derivative of zeta in x: the derivative of Euler and Maclaurin's sum, DLMF 25.11.5."""
    far = x > _ZETA_FAR  # the first term is the sum
    first = -jnp.log(q) * q ** -jnp.where(far, x, 2)
    x = jnp.where(far, 2, jnp.where(x >= 1, x, jnp.nan))
    base = jnp.expand_dims(q, -1) + jnp.arange(_ZETA_TERMS, dtype=q.dtype)
    head = -jnp.sum(jnp.log(base) * base ** -jnp.expand_dims(x, -1), axis=-1)
    a = q + _ZETA_TERMS
    log, power = jnp.log(a), a ** -x
    total = head - a * power * (log + 1 / (x - 1)) / (x - 1) - 0.5 * log * power
    rising, factor, inverse = 1 / x, x * power / a, 1 / a  # rising: the logarithmic derivative of the factor but for -log
    for k, number in enumerate(_bernoulli_numbers(2 * _ZETA_CORRECTIONS + 1)[2::2], 1):
        total = total + float(number / math.factorial(2 * k)) * factor * (rising - log)
        pair = (x + (2 * k - 1)) * (x + 2 * k)
        rising = rising + 1 / (x + (2 * k - 1)) + 1 / (x + 2 * k)
        factor = factor * pair * inverse * inverse
    return jnp.where(far, first, total)


_zeta.defjvps(lambda t, out, x, q: t * _zeta_slope(x, q), lambda t, out, x, q: t * (-x * _zeta(x + 1, q)))


def _bernoulli_numbers(count: int) -> list[Fraction]:
    """B_0, ..., with B_1 = -1/2, by their recurrence."""
    found = [Fraction(1)]
    for m in range(1, count):
        total = sum((math.comb(m + 1, k) * found[k] for k in range(m)), Fraction(0))
        found.append(-total / (m + 1))
    return found


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers B_0 to B_n, for a static n >= 0.

    >>> bernoulli(2).shape
    (3,)
    """
    count = int(n)
    if count < 0:
        raise ValueError(f"n must be a non-negative integer, got {n}")
    with np.errstate(over="ignore"):
        return jnp.array(np.array([_as_float(b) for b in _bernoulli_numbers(count + 1)]), dtype=float)


def _as_float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


