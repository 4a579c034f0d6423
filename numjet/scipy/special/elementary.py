"""Elementary functions under SciPy's names: losses, powers, angles in degrees, inverses of Box and Cox's transform."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.scipy.special import complex_error_functions, complex_integrals
from numjet.scipy.special.complex_gamma import reciprocal_gamma
from numjet.scipy.special.elliptic import ellipkm1
from numjet.scipy.special.error_functions import dawsn, square_in_parts
from numjet.scipy.special.exponential_integrals import exp1, expi
from numjet.scipy.special.factorial_terms import log_beta, log_choices
from numjet.scipy.special.fixed_orders import cos_sin_pi, wide
from numjet.scipy.special.gamma_family import comb, digamma, floats, gammasgn, numbers
from numjet.scipy.special.gamma_values import reciprocal_of_double, sine_of_pi_times
from numjet.scipy.special.whole_numbers import is_odd, whole_below_1
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

_EULER = 0.57721566490153286061


# ------------------------------------------------------------------------------------------- NumPy's functions

def cbrt(x: Any) -> Any:
    """The cube root of real numbers.

    >>> float(cbrt(8.0))
    2.0
    """
    return jnp.cbrt(floats("cbrt", x)[0])


def exp2(x: Any) -> Any:
    """2**x.

    >>> float(exp2(3.0))
    8.0
    """
    return jnp.exp2(floats("exp2", x)[0])


def exp10(x: Any) -> Any:
    """10**x.

    >>> round(float(exp10(2.0)), 3)
    100.0
    """
    (x,) = floats("exp10", x)
    return jnp.power(jnp.full_like(x, 10), x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, precise near 0.

    >>> float(expm1(0.0))
    0.0
    """
    return jnp.expm1(x)


def log1p(x: Any) -> Any:
    """log(1 + x), precise near 0.

    >>> float(log1p(0.0))
    0.0
    """
    return jnp.log1p(x)


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0.

    >>> float(sinc(0.0))
    1.0
    """
    return jnp.sinc(x)


def nearest(x: Any) -> Any:
    """The nearest integer, to even ones at ties, as floats: `round` of SciPy.

    >>> float(nearest(2.5))
    2.0
    """
    return jnp.round(floats("round", x)[0])


def softplus(x: Any) -> Any:
    """log(1 + exp(x)).

    >>> round(float(softplus(0.0)), 4)
    0.6931
    """
    return jnp.logaddexp(floats("softplus", x)[0], 0)


# ------------------------------------------------------------------------------------------- losses, powers

def huber(delta: Any, r: Any) -> Any:
    """Huber's loss: r^2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond; inf for negative delta.

    >>> float(huber(1.0, 3.0))
    2.5
    """
    delta, r = floats("huber", delta, r)
    size = jnp.abs(r)
    far = size > delta
    out = jnp.where(far, delta * (jnp.where(far, size, 1) - 0.5 * delta), 0.5 * jnp.square(jnp.where(far, 0, r)))
    return jnp.where(delta < 0, jnp.inf, jnp.where(jnp.isnan(delta), jnp.nan, out))


def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta^2 ((1 + (r / delta)^2)^(1/2) - 1), a smooth loss; 0 for delta = 0, inf for negative delta.

    >>> round(float(pseudo_huber(1.0, 3.0)), 4)
    2.1623
    """
    delta, r = floats("pseudo_huber", delta, r)
    flat = (delta == 0) | (r == 0)
    safe = jnp.where(flat, 1, delta)
    infinite = jnp.isinf(r) & (delta > 0)
    usable = jnp.where((delta == 0) | infinite, 1, r)
    steep = jnp.abs(usable / safe) > 1 / jnp.finfo(r.dtype).eps     # the loss is that of Huber
    inner = usable * (usable / (1 + jnp.sqrt(1 + jnp.square(jnp.where(steep, 1, usable / safe)))))
    out = jnp.where(steep, delta * (jnp.abs(jnp.where(steep, usable, 1)) - delta), inner)
    return jnp.where((delta < 0) | infinite, jnp.inf, jnp.where(delta == 0, 0, jnp.where(r == 0, 0.5 * r * r, out)))


def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """The x with boxcox(x, lmbda) = y.

    >>> float(inv_boxcox(2.0, 1.0))
    3.0
    """
    y, lmbda = floats("inv_boxcox", y, lmbda)
    return jnp.exp(_log_of_box(y, lmbda))


def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """The x with boxcox1p(x, lmbda) = y.

    >>> float(inv_boxcox1p(2.0, 1.0))
    2.0
    """
    y, lmbda = floats("inv_boxcox1p", y, lmbda)
    return jnp.expm1(_log_of_box(y, lmbda))


def _log_of_box(y: Any, lmbda: Any) -> Any:
    zero = lmbda == 0
    return jnp.where(zero, y, jnp.log1p(jnp.where(zero, 0, lmbda * y)) / jnp.where(zero, 1, lmbda))


def powm1(x: Any, y: Any) -> Any:
    """x**y - 1, precise where the power is near 1.

    >>> float(powm1(2.0, 3.0))
    7.0
    """
    x, y = floats("powm1", x, y)
    near = (x > 0) & (jnp.abs(y * jnp.log(jnp.where(x > 0, x, 1))) < 0.5)
    close = jnp.expm1(jnp.where(near, y * jnp.log(jnp.where(near, x, 1)), 0))
    return jnp.where(near, close, jnp.power(jnp.where(near, 2, x), y) - 1)


# ------------------------------------------------------------------------------------------- degrees

def sindg(x: Any) -> Any:
    """The sine of an angle in degrees, exact at multiples of 90.

    >>> float(sindg(30.0))
    0.5
    """
    (x,) = floats("sindg", x)
    return _in_degrees(x)[1]


def cosdg(x: Any) -> Any:
    """The cosine of an angle in degrees.

    >>> float(cosdg(180.0))
    -1.0
    """
    (x,) = floats("cosdg", x)
    return _in_degrees(x)[0]


def _in_degrees(x: Any) -> tuple[Any, Any]:
    """Cosine and sine, from the angle less whole quarter turns."""
    turns = jnp.round(x / 90)
    rest = (x - 90 * turns) * (math.pi / 180)
    third = jnp.abs(x - 90 * turns) == 30
    s = jnp.where(third, 0.5 * jnp.sign(rest), jnp.sin(rest))
    c = jnp.cos(rest)
    quarter = turns - 4 * jnp.floor(turns / 4)
    pick = lambda a, b, d, e: jnp.where(quarter == 0, a, jnp.where(quarter == 1, b, jnp.where(quarter == 2, d, e)))
    return pick(c, -s, -c, s), pick(s, c, -s, -c)


def tandg(x: Any) -> Any:
    """The tangent of an angle in degrees; inf at 90, -90 and so on.

    >>> float(tandg(45.0))
    1.0
    """
    (x,) = floats("tandg", x)
    c, s = _in_degrees(x)
    return jnp.where(c == 0, jnp.inf, jnp.where(jnp.abs(c) == jnp.abs(s), jnp.sign(c) * jnp.sign(s),
                                                s / jnp.where(c == 0, 1, c)))


def cotdg(x: Any) -> Any:
    """The cotangent of an angle in degrees; inf at 0, 180 and so on.

    >>> float(cotdg(45.0))
    1.0
    """
    return _cotdg(floats("cotdg", x)[0])


@smooth_in_64_bits
def _cotdg(x: Any) -> Any:
    s, c = _in_degrees(x)
    return jnp.where(c == 0, jnp.inf, jnp.where(jnp.abs(c) == jnp.abs(s), jnp.sign(c) * jnp.sign(s),
                                                s / jnp.where(c == 0, 1, c)))


def radian(d: Any, m: Any, s: Any) -> Any:
    """The angle of d degrees, m minutes and s seconds in radians.

    >>> round(float(radian(180.0, 0.0, 0.0)), 4)
    3.1416
    """
    d, m, s = floats("radian", d, m, s)
    return (d + m / 60 + s / 3600) * (math.pi / 180)


def diric(x: Any, n: int) -> Any:
    """Dirichlet's function sin(n x / 2) / (n sin(x / 2)), for a static integer n > 0 (else NaN).

    >>> round(float(diric(1.0, 3)), 4)
    0.6935
    """
    (x,) = floats("diric", x)
    if n != int(n) or n <= 0:
        return jnp.full_like(x, jnp.nan)
    below = jnp.sin(0.5 * x)
    pole = jnp.abs(below) < 1e-7 if x.dtype.itemsize == 8 else jnp.abs(below) < 1e-4
    turns = jnp.round(x / (2 * math.pi))
    sign = cos_sin_pi(turns * (n - 1))[0]
    return jnp.where(pole, sign, jnp.sin(0.5 * n * x) / (n * jnp.where(pole, 1, below)))


# ------------------------------------------------------------------------------------------- gamma and integrals

@custom_jvp
def _rgamma(x: Any) -> Any:
    pole = whole_below_1(x)
    out = jnp.where(pole, 0, reciprocal_of_double(jnp.where(pole | ~jnp.isfinite(x), 1, x)))
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.where(jnp.isinf(x), 0, out))


@_rgamma.defjvp
def _rgamma_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = _rgamma(x)
    pole = whole_below_1(x)
    at_pole = cos_sin_pi(jnp.where(pole, x, 0))[0] * jnp.exp(special.lgamma(jnp.where(pole, 1 - x, 1)))
    return out, t * jnp.where(pole, at_pole, -special.digamma(jnp.where(pole, 1, x)) * out)


_rgamma_of_narrow = smooth_in_64_bits(_rgamma)


def rgamma(x: Any) -> Any:
    """1 / Gamma(x) of real or complex numbers, 0 at 0, -1, -2, ...

    >>> float(rgamma(-1.0))
    0.0
    """
    (x,) = numbers("rgamma", x)
    if x.dtype in dtypes.COMPLEX:
        return reciprocal_gamma(x)
    return _rgamma(x) if x.dtype == np.float64 else _rgamma_of_narrow(x)


def psi(x: Any) -> Any:
    """The digamma function, under SciPy's other name.

    >>> round(float(psi(1.0)), 4)
    -0.5772
    """
    return digamma(*numbers("psi", x))


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The number of ordered choices of k from N things, as a float. NotImplementedError for exact=True.

    >>> round(float(perm(5, 2)), 3)
    20.0
    """
    if exact:
        raise NotImplementedError("perm with exact=True: arrays hold no integers of arbitrary size; use math.perm")
    N, k = floats("perm", N, k)
    valid = (k <= N) & (N >= 0) & (k >= 0)
    n, taken = jnp.where(valid, N, 1), jnp.where(valid, k, 0)
    return jnp.where(valid, jnp.exp(special.lgamma(n + 1) - special.lgamma(n - taken + 1)), 0)


def binom(n: Any, k: Any) -> Any:
    """The binomial coefficient Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)) of real n and k; NaN for n = -1, -2, ...

    >>> round(float(binom(5.0, 2.0)), 3)
    10.0
    """
    return _binom(*floats("binom", n, k))


@smooth_in_64_bits
def _binom(n: Any, k: Any) -> Any:
    rest = n - k
    pole = (n < 0) & (n == jnp.round(n))
    whole = k == jnp.round(k)
    out_of_reach = (n == jnp.round(n)) | ~whole         # else n - k is whole by rounding only
    zero = ((k < 0) & whole) | ((rest < 0) & (rest == jnp.round(rest)) & out_of_reach)
    n_safe, k_safe = jnp.where(pole | zero, 1, n), jnp.where(pole | zero, 0, k)
    sign = gammasgn(n_safe + 1) * gammasgn(k_safe + 1) * gammasgn(n_safe - k_safe + 1)
    left = n_safe - k_safe
    plain = sign * jnp.exp(special.lgamma(n_safe + 1) - special.lgamma(k_safe + 1) - special.lgamma(left + 1))
    usual, beyond = (k_safe >= 0) & (left >= 0), (n_safe > -1) & (left < 0)
    choices = jnp.exp(log_choices(jnp.where(usual, k_safe, 0), jnp.where(usual, left, 0)))
    excess = jnp.where(beyond, -left, 0.5)     # by the reflection formula of the factorial of a negative number
    of_whole = jnp.where(k_safe % 2 == 0, -1, 1) * sine_of_pi_times(jnp.where(beyond, n_safe, 0.5))
    sine = jnp.where(whole, of_whole, sine_of_pi_times(excess))     # no digit of a small n is lost in k - n
    reflected = sine / math.pi * jnp.exp(log_beta(jnp.where(beyond, n_safe + 1, 1), excess))
    size = jnp.where(usual, choices, jnp.where(beyond, reflected, plain))
    return jnp.where(pole, jnp.nan, jnp.where(zero, 0, size))


def factorial2(n: Any, exact: bool = False) -> Any:
    """n!! = n (n - 2) (n - 4) ..., as a float; 0 for negative n. NotImplementedError for exact=True.

    >>> round(float(factorial2(7)), 2)
    105.0
    """
    if exact:
        raise NotImplementedError("factorial2 with exact=True: arrays hold no integers of arbitrary size")
    (n,) = floats("factorial2", n)
    safe = jnp.maximum(n, 0)
    log = 0.5 * safe * math.log(2) + special.lgamma(0.5 * safe + 1) + jnp.where(is_odd(safe), 0.5 * math.log(2 / math.pi), 0)
    return jnp.where(n < 0, 0, jnp.exp(log))


def stirling2(N: Any, K: Any, *, exact: bool = False) -> Any:
    """The number of partitions of N things into K sets, as a float, for whole N, K >= 0: by the alternating sum.

    NotImplementedError for exact=True. Digits cancel: with 64 bits some 10 are right for N <= 20.

    >>> round(float(stirling2(4, 2)), 2)
    7.0
    """
    if exact:
        raise NotImplementedError("stirling2 with exact=True: arrays hold no integers of arbitrary size")
    N, K = floats("stirling2", N, K)
    most = int(np.max(np.asarray(K), initial=0))
    total = jnp.zeros_like(N)
    for j in range(most + 1):
        sign = 1 - 2 * ((K - j) - 2 * jnp.floor(0.5 * (K - j)))
        power = jnp.where((j == 0) & (N == 0), 1, jnp.power(jnp.full_like(N, j), N))
        total = total + jnp.where(j <= K, sign * comb(K, j) * power, 0)
    return jnp.where((K < 0) | (N < 0) | (K > N), 0, jnp.round(total * jnp.exp(-special.lgamma(jnp.maximum(K, 0) + 1))))


@custom_jvp
def _erfi(x: Any) -> Any:
    size = jnp.minimum(jnp.abs(x), 40.0)
    head, rest = square_in_parts(size)
    root = jnp.exp(0.5 * head)  # twice, as exp(x^2) may overflow where the product does not
    out = 2 / math.sqrt(math.pi) * dawsn(size) * jnp.exp(rest) * root * root
    return jnp.where(x < 0, -out, jnp.where(x == 0, x, out)) + 0 * x


_erfi.defjvps(lambda t, out, x: t * (2 / math.sqrt(math.pi)) * jnp.exp(x * x))


def erfi(z: Any) -> Any:
    """The imaginary error function -i erf(i z), of real or complex z.

    >>> round(float(erfi(1.0)), 4)
    1.6504
    """
    (x,) = numbers("erfi", z)
    if x.dtype in dtypes.COMPLEX:
        return complex_error_functions.erfi(x)
    return jnp.where(jnp.isinf(x), x, _erfi(*wide(jnp.where(jnp.isinf(x), 0, x))).astype(x.dtype))


_SERIES_END, _SERIES_TERMS = 6.0, 18


@custom_jvp
def _shichi(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size < _SERIES_END
    small, large = jnp.where(near & (size > 0), size, 1), jnp.where(near, 10, size)
    square = small * small
    shi, chi = jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(_SERIES_TERMS, -1, -1):
        shi = shi * square + 1 / ((2 * k + 1) * math.factorial(2 * k + 1))
        chi = chi * square + 1 / ((2 * k + 2) * math.factorial(2 * k + 2))
    up, down = expi(large), exp1(large)
    shi = jnp.where(near, jnp.where(size == 0, 0, shi * small), 0.5 * (up + down))
    chi = jnp.where(near, jnp.where(size == 0, -jnp.inf, _EULER + jnp.log(small) + chi * square), 0.5 * (up - down))
    nan = jnp.isnan(x)
    return jnp.where(nan, jnp.nan, jnp.where(x < 0, -shi, shi)), jnp.where(nan, jnp.nan, chi)


@_shichi.defjvp
def _shichi_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    zero = x == 0
    return _shichi(x), (t * jnp.where(zero, 1, jnp.sinh(x) / jnp.where(zero, 1, x)), t * jnp.cosh(x) / x)


@jit_when_eager()
def shichi(x: Any) -> tuple[Any, Any]:
    """The hyperbolic sine and cosine integrals Shi(x) and Chi(|x|) of real x, or Chi(x) of complex x.

    >>> [round(float(v), 4) for v in shichi(1.0)]
    [1.0573, 0.8379]
    """
    (x,) = numbers("shichi", x)
    if x.dtype in dtypes.COMPLEX:
        return complex_integrals.shichi(x)
    shi, chi = _shichi(*wide(x))
    return shi.astype(x.dtype), chi.astype(x.dtype)


def agm(a: Any, b: Any) -> Any:
    """The arithmetic-geometric mean of a and b; NaN where their signs differ, and of 0 and an infinity.

    >>> round(float(agm(1.0, 2.0)), 4)
    1.4568
    """
    a, b = floats("agm", a, b)
    zero, infinite = (a == 0) | (b == 0), jnp.isinf(a) | jnp.isinf(b)
    wrong = ((a < 0) & (b > 0)) | ((a > 0) & (b < 0)) | (zero & infinite) | jnp.isnan(a) | jnp.isnan(b)
    known = zero | infinite | wrong
    x, y = jnp.where(known, 1, a), jnp.where(known, 1, b)
    half = 0.5 * x + 0.5 * y                                        # the sum of large numbers would be infinite
    far = (x / half) * (y / half) < jnp.finfo(x.dtype).tiny
    logarithm = math.log(4) + jnp.log(jnp.abs(half)) - 0.5 * (jnp.log(jnp.abs(x)) + jnp.log(jnp.abs(y)))
    quarter = jnp.where(far, logarithm, ellipkm1(jnp.where(far, 1, (x / half) * (y / half))))   # DLMF 19.9.1
    out = half * (0.5 * math.pi / quarter)
    return jnp.where(wrong, jnp.nan, jnp.where(zero, 0, jnp.where(infinite, a + b, out)))


# ------------------------------------------------------------------------------------------- zeta

_EXPLICIT = 12
# B_2k / (2k)!
_BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
              -3617 / 10670622842880000, 43867 / 5109094217170944000]


def _zetac_above(s: Any) -> Any:
    """zeta(s) - 1 for s >= 0 by Euler and Maclaurin's formula, which continues to the left of 1."""
    n = float(_EXPLICIT)
    total = sum(jnp.exp(-s * math.log(k)) for k in range(2, _EXPLICIT))
    power = jnp.exp(-s * math.log(n))
    factor, tail = s / n, jnp.zeros_like(s)
    for k, b in enumerate(_BERNOULLI):
        tail = tail + b * factor
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (n * n)
    return total + power * (n / (s - 1) + 0.5 + tail)


def zetac(x: Any) -> Any:
    """Riemann's zeta function less 1, of real x: inf at 1, precise for large x. Derivatives of any order.

    Euler and Maclaurin's formula for x >= -1, and the reflection of others. Error: at most 40 eps for x > -10.

    >>> round(float(zetac(2.0)), 4)
    0.6449
    """
    return _zetac(floats("zetac", x)[0])


@smooth_in_64_bits
def _zetac(x: Any) -> Any:
    below, pole = x < -1, (x == 1) | (x == -jnp.inf) | (x > 1e4)     # from -1 on the reflection's derivatives cancel
    safe = jnp.where(below | pole | jnp.isnan(x), 2, x)
    left = jnp.where(below & ~pole, x, -2)
    mirrored = 1 - left
    product = cos_sin_pi(0.5 * left)[1] * (1 + _zetac_above(mirrored))
    size = jnp.exp(left * math.log(2 * math.pi) + special.lgamma(mirrored)) / math.pi
    reflected = jnp.where((product == 0) & jnp.isinf(size), 0, size * product) - 1
    out = jnp.where(below, reflected, _zetac_above(safe))
    out = jnp.where(x == 1, jnp.inf, jnp.where(x > 1e4, 0, out))
    return jnp.where(jnp.isnan(x) | (x == -jnp.inf), jnp.nan, out)
