"""Error functions, the normal distribution, entropies, logistic functions."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.custom_jvp import custom_jvp
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax import special, transcendental
from numjet.nn import normalization
from numjet.numpy.promote import promote_args_inexact, promote_shapes
from numjet.scipy.special_gamma import floats

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


# -------------------------------------------------------------------------------------------- error functions

def erf(x: Any) -> Any:
    """The error function.

    >>> float(erf(0.0))
    0.0
    """
    return special.erf(floats("erf", x)[0])


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where it is small.

    >>> float(erfc(0.0))
    1.0
    """
    return special.erfc(floats("erfc", x)[0])


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
    return jnp.log(x / (1 - x))


@_logit.defjvp
def _logit_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _logit(x), jnp.true_divide(t, x * (1 - x))


def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit.

    >>> float(logit(0.5))
    0.0
    """
    return _logit(promote_args_inexact("logit", x)[0])


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, log(x) for lmbda = 0.

    >>> float(boxcox(3.0, 1.0))
    2.0
    """
    x, lmbda = floats("boxcox", x, lmbda)
    return _boxcox(jnp.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), accurate for small x.

    >>> float(boxcox1p(2.0, 1.0))
    2.0
    """
    x, lmbda = floats("boxcox1p", x, lmbda)
    return _boxcox(jnp.log1p(x), lmbda)


def _boxcox(log: Any, lmbda: Any) -> Any:
    zero = lmbda == 0
    return jnp.where(zero, log, jnp.expm1(lmbda * log) / jnp.where(zero, 1, lmbda))


# -------------------------------------------------------------------------------------------- entropies

@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = x == 0
    return jnp.where(zero, 0, x * jnp.log(jnp.where(zero, 1, y)))


@_xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    return _xlogy(x, y), tx * jnp.log(y) + ty * jnp.true_divide(x, y)


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0.

    >>> float(xlogy(0.0, 0.0))
    0.0
    """
    return _xlogy(*promote_shapes("xlogy", *promote_args_inexact("xlogy", x, y)))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = x == 0
    return jnp.where(zero, 0, x * jnp.log1p(jnp.where(zero, 1, y)))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    return _xlog1py(x, y), tx * jnp.log1p(y) + ty * jnp.true_divide(x, 1 + y)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0.

    >>> float(xlog1py(0.0, -1.0))
    0.0
    """
    return _xlog1py(*promote_shapes("xlog1py", *promote_args_inexact("xlog1py", x, y)))


@custom_jvp
def _entr(x: Any) -> Any:
    return jnp.where(x < 0, -np.inf, -_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _entr(x), -t * (jnp.log(x) + 1)


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf for negative x.

    >>> round(float(entr(0.5)), 4)
    0.3466
    """
    return _entr(floats("entr", x)[0])


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for positive p and q, 0 for p = 0 and q >= 0, else infinite.

    >>> float(rel_entr(1.0, 1.0))
    0.0
    """
    p, q = floats("rel_entr", p, q)
    both, none = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(both, p, 1), jnp.where(both, q, 1)
    return jnp.where(both, safe_p * jnp.log(safe_p / safe_q), jnp.where(none, 0, np.inf))


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, with the special values of rel_entr.

    >>> float(kl_div(1.0, 1.0))
    0.0
    """
    p, q = floats("kl_div", p, q)
    return rel_entr(p, q) - p + q


# -------------------------------------------------------------------------------------------- normal distribution

def _ndtr(x: Any) -> Any:
    half = x * math.sqrt(0.5)
    near = abs(half) < math.sqrt(0.5)
    tail = 0.5 * special.erfc(abs(half))
    return jnp.where(near, 0.5 + 0.5 * special.erf(jnp.where(near, half, 0)), jnp.where(x > 0, 1 - tail, tail))


def ndtr(x: Any) -> Any:
    """The normal distribution function: the probability of numbers up to x.

    >>> float(ndtr(0.0))
    0.5
    """
    return _ndtr(floats("ndtr", x)[0])


def _double_factorial(n: int) -> int:
    return math.prod(range(n, 1, -2))


def _log_tail(x: Any, order: int) -> Any:
    """log Phi(x) for x far below 0, by the asymptotic series."""
    square = x * x
    terms = 1.0
    for k in range(1, order + 1):
        terms = terms + (-1) ** k * _double_factorial(2 * k - 1) / square ** k
    return -0.5 * square - jnp.log(-x) - _HALF_LOG_2PI + jnp.log(terms)


@custom_jvp
def _log_ndtr3(x: Any) -> Any:
    return _log_ndtr_of(x, 3)


def _log_ndtr_of(x: Any, order: int) -> Any:
    low, high = (-20.0, 8.0) if aval_of(x).dtype == dtypes.float64 else (-10.0, 5.0)
    inside = jnp.clip(x, low, high)
    middle = jnp.where(inside > 0, jnp.log1p(-_ndtr(-abs(inside))), jnp.log(_ndtr(inside)))
    return jnp.where(x > high, -_ndtr(-x), jnp.where(x > low, middle, _log_tail(jnp.minimum(x, low), order)))


@_log_ndtr3.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = _log_ndtr3(x)
    return out, t * jnp.exp(-0.5 * (x * x) - out - _HALF_LOG_2PI)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate for large negative x, by a series of `series_order` terms there.

    >>> round(float(log_ndtr(-20.0)), 2)
    -203.92
    """
    if not isinstance(series_order, int) or not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: expected an int series_order from 0 to 30, got {series_order!r}")
    x, = floats("log_ndtr", x)
    return _log_ndtr3(x) if series_order == 3 else _log_ndtr_of(x, series_order)


def _ndtri_tail(p: Any) -> Any:
    """The quantile of small p: Newton's method for log(ndtr(x)) = log(p), which is concave, from the left."""
    log_p = jnp.log(p)
    x = -jnp.sqrt(-2 * log_p)
    for _ in range(6):
        log_phi = _log_ndtr_of(x, 5)
        x = x - (log_phi - log_p) * jnp.exp(log_phi + 0.5 * (x * x) + _HALF_LOG_2PI)
    return x


@custom_jvp
def _ndtri(p: Any) -> Any:
    upper = p > 0.5
    rest = jnp.where(upper, 1 - p, p)
    tail = (rest < 0.1) & (rest > 0)
    far = _ndtri_tail(jnp.where(tail, rest, 0.05))
    near = math.sqrt(2) * special.erf_inv(jnp.where(tail, 0.0, 2 * p - 1))
    return jnp.where(tail, jnp.where(upper, -far, far), near)


@_ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> Any:
    (p,), (t,) = primals, tangents
    out = _ndtri(p)
    return out, t * jnp.exp(0.5 * (out * out) + _HALF_LOG_2PI)


def ndtri(p: Any) -> Any:
    """The quantile function of the normal distribution, the inverse of ndtr; infinite at 0 and 1, NaN beyond.

    >>> float(ndtri(0.5))
    0.0
    """
    return _ndtri(floats("ndtri", p)[0])


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
