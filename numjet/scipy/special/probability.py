"""Error functions, the normal distribution, entropies, logistic functions."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.custom.custom_calls import SymbolicZero
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import normal_distribution, special, transcendental
from numjet.nn import normalization
from numjet.numpy.core.promotion import promote_args_inexact, promote_shapes
from numjet.scipy.special import complex_error_functions
from numjet.scipy.special.gamma_family import floats, numbers
from numjet.scipy.special.horner import ATANH_REST, horner

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


# -------------------------------------------------------------------------------------------- error functions

def erf(x: Any) -> Any:
    """The error function, of real or complex numbers.

    >>> float(erf(0.0))
    0.0
    """
    (x,) = numbers("erf", x)
    return complex_error_functions.erf(x) if x.dtype in dtypes.COMPLEX else special.erf(x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where it is small.

    >>> float(erfc(0.0))
    1.0
    """
    (x,) = numbers("erfc", x)
    return complex_error_functions.erfc(x) if x.dtype in dtypes.COMPLEX else special.erfc(x)


def erfinv(x: Any) -> Any:
    """The inverse of erf.

    >>> float(erfinv(0.0))
    0.0
    """
    return special.erf_inv(floats("erfinv", x)[0])


# -------------------------------------------------------------------------------------------- logistic

def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> float(expit(0.0))
    0.5
    """
    return transcendental.logistic(promote_args_inexact("expit", x)[0])


@custom_jvp
def _logit(x: Any) -> Any:
    """log(x / (1 - x)); next to 1/2, where the quotient is next to 1, 2 atanh(2x - 1), whose argument is exact."""
    if x.dtype in dtypes.COMPLEX:
        return jnp.log(x / (1 - x))
    if x.dtype.itemsize == 2:
        return _logit(x.astype(np.float32)).astype(x.dtype)
    t = 2 * x - 1
    near = jnp.abs(t) <= 0.5
    square = t * t
    series = 2 * t * (1 + square * horner(ATANH_REST[x.dtype], square))
    return jnp.where(near, series, jnp.log(x / (1 - x)))


@custom_jvp
def _logit_slope(x: Any) -> Any:
    """1 / (x (1 - x)); its derivative overflows to an infinity, not to NaN."""
    return jnp.true_divide(1, x * (1 - x))


_logit_slope.defjvps(lambda t, out, x: t * ((1 / (1 - x) - 1 / x) * out))
_logit.defjvps(lambda t, out, x: t * _logit_slope(x))


def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit.

    >>> float(logit(0.5))
    0.0
    """
    return _logit(promote_args_inexact("logit", x)[0])


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, log(x) for lmbda = 0; of complex numbers, too.

    >>> float(boxcox(3.0, 1.0))
    2.0
    """
    return _boxcox(*promote_args_inexact("boxcox", x, lmbda))


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), accurate for small x.

    >>> float(boxcox1p(2.0, 1.0))
    2.0
    """
    return _boxcox1p(*promote_args_inexact("boxcox1p", x, lmbda))


def _power_transform(log: Callable[[Any], Any], shift: int) -> Any:
    """(y**lmbda - 1) / lmbda of y = x + shift, whose logarithm is `log` of x."""
    @custom_jvp
    def transform(x: Any, lmbda: Any) -> Any:
        zero = jnp.abs(lmbda) < jnp.finfo(lmbda.dtype).tiny  # products with subnormal numbers have few digits
        return jnp.where(zero, log(x), jnp.expm1(lmbda * log(x)) / jnp.where(zero, 1, lmbda))

    transform.defjvps(lambda t, out, x, lmbda: t * _power_in_domain(x + shift, lmbda - 1),
                      lambda t, out, x, lmbda: t * _power_transform_slope(log(x), lmbda))
    return transform


def _power_in_domain(x: Any, y: Any) -> Any:
    """x**y, NaN for negative x."""
    power = jnp.power(x, y)
    return power if jnp.iscomplexobj(x) else jnp.where(x >= 0, power, jnp.nan)


@custom_jvp
def _power_transform_slope(log: Any, lmbda: Any) -> Any:
    """The derivative by lmbda, log² (1 + (s - 1) e^s) / s² for s = lmbda log; near s = 0 by its Taylor series."""
    s, near, divisor = _split_exponent(log, lmbda)
    far = jnp.where(near, 1, s)
    decay = jnp.where(far == -jnp.inf, 0, (jnp.where(far == -jnp.inf, 0, far) - 1) * jnp.exp(far))
    series = jnp.square(jnp.where(near, log, 0)) * horner(_POWER_SLOPE, jnp.where(near, s, 0))
    return jnp.where(near, series, (1 + decay) / divisor / divisor)


def _power_transform_curvature(log: Any, lmbda: Any) -> Any:
    """The second derivative by lmbda, log³ ((s² - 2s + 2) e^s - 2) / s³."""
    s, near, divisor = _split_exponent(log, lmbda)
    ended, base = s == -jnp.inf, jnp.where(near, log, 0)
    far = jnp.where(near | ended, 1, s)
    growth = jnp.where(ended, 0, ((far - 1) * (far - 1) + 1) * jnp.exp(far))
    series = base * jnp.square(base) * horner(_POWER_CURVATURE, jnp.where(near, s, 0))
    return jnp.where(near, series, (growth - 2) / divisor / divisor / divisor)


def _split_exponent(log: Any, lmbda: Any) -> tuple[Any, Any, Any]:
    """lmbda log; whether it is small; lmbda, 1 where it is."""
    s = lmbda * jnp.where((lmbda == 0) & ~jnp.isfinite(log), 0, log)
    near = jnp.abs(s) < 1
    return s, near, jnp.where(near, 1, lmbda)


def _change_by_log(log: Any, lmbda: Any) -> Any:
    """log e^s, 0 where the power is."""
    power = jnp.exp(_split_exponent(log, lmbda)[0])
    return jnp.where(power == 0, 0, log) * power


_power_transform_slope.defjvps(lambda t, out, log, lmbda: t * _change_by_log(log, lmbda),
                               lambda t, out, log, lmbda: t * _power_transform_curvature(log, lmbda))
_POWER_SLOPE = [(k + 1) / math.factorial(k + 2) for k in range(19)]
_POWER_CURVATURE = [(k + 1) * (k + 2) / math.factorial(k + 3) for k in range(19)]
_boxcox, _boxcox1p = _power_transform(jnp.log, 0), _power_transform(jnp.log1p, 1)


# -------------------------------------------------------------------------------------------- entropies

def _product_with_log(log: Callable[[Any], Any], shift: int) -> Any:
    """x log(y), 0 where x is 0 and y a number; for log1p, `shift` is 1.

    Where x is 0, the product is 0 for all y, and so is its derivative by y. A constant x adds no 0 * log(0).
    """
    @custom_jvp
    def product(x: Any, y: Any) -> Any:
        zero = (x == 0) & (y == y)
        return jnp.where(zero, 0, x * log(jnp.where(zero, 1, y)))

    @functools.partial(product.defjvp, symbolic_zeros=True)
    def product_jvp(primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        out = product(x, y)
        total = jnp.zeros_like(out)
        if not isinstance(tx, SymbolicZero):
            total = total + tx * log(y)
        if not isinstance(ty, SymbolicZero):
            divisor = y + shift
            # a tangent of 0, as of a density that underflows, stays 0 where the quotient alone overflows
            total = total + jnp.true_divide(ty * x, jnp.where((x == 0) & (divisor == 0), 1, divisor))
        return out, total

    return product


_xlogy = _product_with_log(jnp.log, 0)
_xlog1py = _product_with_log(jnp.log1p, 1)


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0 and y a number.

    >>> float(xlogy(0.0, 0.0))
    0.0
    """
    return _xlogy(*promote_shapes("xlogy", *promote_args_inexact("xlogy", x, y)))


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0 and y a number.

    >>> float(xlog1py(0.0, -1.0))
    0.0
    """
    return _xlog1py(*promote_shapes("xlog1py", *promote_args_inexact("xlog1py", x, y)))


@custom_jvp
def _entr(x: Any) -> Any:
    return jnp.where(x < 0, -np.inf, -_xlogy(x, x))


_entr.defjvps(lambda t, out, x: -t * jnp.where(x < 0, 0, jnp.log(jnp.where(x < 0, 1, x)) + 1))


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf for negative x.

    >>> round(float(entr(0.5)), 4)
    0.3466
    """
    return _entr(floats("entr", x)[0])


# -------------------------------------------------------------------------------------------- normal distribution

def _strong(name: str, x: Any) -> Any:
    """An argument as floats or complex numbers whose type is not weak, as JAX has it in the functions of the normal
    distribution."""
    (x,) = numbers(name, x)
    return x.astype(x.dtype)


def ndtr(x: Any) -> Any:
    """The normal distribution function: the probability of numbers up to x.

    >>> float(ndtr(0.0))
    0.5
    """
    x = _strong("ndtr", x)
    return complex_error_functions.ndtr(x) if x.dtype in dtypes.COMPLEX else normal_distribution.ndtr(x)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate in both tails. `series_order` is the number of terms that JAX takes of a series for large negative
    x; here no series is needed, and results for all orders from 0 to 30 are the same.

    >>> round(float(log_ndtr(-20.0)), 2)
    -203.92
    """
    if not isinstance(series_order, int) or not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: expected an int series_order from 0 to 30, got {series_order!r}")
    x = _strong("log_ndtr", x)
    return complex_error_functions.log_ndtr(x) if x.dtype in dtypes.COMPLEX else normal_distribution.log_ndtr(x)


# M. J. Wichura: Algorithm AS 241: The percentage points of the normal distribution (Applied Statistics 37, 1988): quotients
# of polynomials, of which PPND7 is right to about 1e-7, PPND16 to about 1e-16. For the centre, where |p - 1/2| <= 0.425, in
# 0.425**2 - (p - 1/2)**2; for the tails, where sqrt(-log p) <= 5, in that less 1.6; for the far tails, in that less 5.
_PPND7 = (
    ((3.3871327179e0, 5.0434271938e1, 1.5929113202e2, 5.9109374720e1), (1.0, 1.7895169469e1, 7.8757757664e1, 6.7187563600e1)),
    ((1.4234372777e0, 2.7568153900e0, 1.3067284816e0, 1.7023821103e-1), (1.0, 7.3700164250e-1, 1.2021132975e-1)),
    ((6.6579051150e0, 3.0812263860e0, 4.2868294337e-1, 1.7337203997e-2), (1.0, 2.4197894225e-1, 1.2258202635e-2)))
_PPND16 = (
    ((3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
      4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
     (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
      3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3)),
    ((1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
      1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
     (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
      1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9)),
    ((6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
     (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
      1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15)))


def _quotient(polynomials: tuple[tuple[float, ...], tuple[float, ...]], r: Any) -> Any:
    above, below = (horner(c, r) for c in polynomials)
    return above / below


@custom_jvp
def _ndtri(p: Any) -> Any:
    centre, tail, far = _PPND16 if p.dtype == np.float64 else _PPND7
    q = p - 0.5
    rest = jnp.where(q > 0, 1 - p, p)
    r = jnp.sqrt(-jnp.log(rest))
    outside = jnp.where(r <= 5, _quotient(tail, r - 1.6), _quotient(far, r - 5))
    outside = jnp.where(rest == 0, math.inf, outside)
    return jnp.where(jnp.abs(q) <= 0.425, q * _quotient(centre, 0.180625 - q * q), jnp.copysign(outside, q))


_ndtri.defjvps(lambda t, out, p: t * jnp.exp(0.5 * (out * out) + _HALF_LOG_2PI))


def ndtri(p: Any) -> Any:
    """The quantile function of the normal distribution, the inverse of ndtr; infinite at 0 and 1, NaN beyond.

    >>> float(ndtri(0.5))
    0.0
    """
    (p,) = floats("ndtri", p)
    return _ndtri(_strong("ndtri", p))


# -------------------------------------------------------------------------------------------- softmax

def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """nn.softmax over all axes, or the given ones.

    >>> import numjet.numpy as jnp
    >>> softmax(jnp.zeros(2)).tolist()
    [0.5, 0.5]
    """
    return normalization.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """nn.log_softmax over all axes, or the given ones.

    >>> import numjet.numpy as jnp
    >>> log_softmax(jnp.zeros(1)).tolist()
    [0.0]
    """
    return normalization.log_softmax(x, axis=axis)
