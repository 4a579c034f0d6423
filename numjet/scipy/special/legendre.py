"""Associated Legendre functions of the first kind for all degrees and orders, by their recurrence in the degree.

P[l, m] = (a x P[l-1, m] - b P[l-2, m]), DLMF 14.10.3; normalized as in W. H. Press et al., "Numerical Recipes", 6.7. With
s = sqrt(1 - x^2) and P[l, m] = s^m T[l, m], T a polynomial, the derivative is s^m T' - m x s^(m-2) T. The recurrence carries
s^min(m-2, 0) T and s^m T', so that it is exact at both ends.
"""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.numpy.core.promotion import array_arg


def _degree(name: str, m: Any, n: Any, z: Any) -> tuple[int, Any]:
    """The largest degree and the points. NotImplementedError, TypeError and ValueError as in lpmn."""
    if z.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"{name}: z.dtype={z.dtype.name} is not supported: expected float32 or float64")
    if z.ndim != 1:
        raise ValueError(f"{name}: z must be a 1D array, got shape {z.shape}; give z.ravel() and reshape the results")
    order, degree = operator.index(m), operator.index(n)
    if order != degree:
        raise NotImplementedError(f"{name}: computations for m!=n are not supported, got m={order}, n={degree}; give the "
                                  "larger of both twice and take a part of the results")
    if degree < 0:
        raise ValueError(f"{name}: the largest degree must not be negative, got {degree}")
    return degree, z


def _coefficients(degree: int, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
    """a and b of P[l, m] = a x P[l-1, m] - b P[l-2, m] at [l, m]; 0 for l <= m."""
    rows, columns = np.arange(degree + 1.0)[:, None], np.arange(degree + 1.0)
    inside = rows > columns
    if normalized:
        gap = np.where(inside, rows**2 - columns**2, 1)
        a = np.sqrt((4 * rows**2 - 1) / gap, where=inside, out=np.zeros_like(gap))
        below = np.maximum((rows - 1)**2 - columns**2, 0)
        b = a * np.sqrt(below / np.maximum(4 * (rows - 1)**2 - 1, 1))
    else:
        gap = np.where(inside, rows - columns, 1)
        a, b = (2 * rows - 1) / gap, (rows + columns - 1) / gap
    return np.where(inside, a, 0), np.where(inside, b, 0)


def _diagonal(degree: int, normalized: bool) -> np.ndarray:
    """Factors whose running product is T[m, m]."""
    orders = np.arange(1.0, degree + 1)
    if normalized:
        return np.concatenate([[0.5 / math.sqrt(math.pi)], -np.sqrt((2 * orders + 1) / (2 * orders))])
    return np.concatenate([[1.0], -(2 * orders - 1)])


def _tables(degree: int, z: Any, normalized: bool) -> tuple[Any, Any]:
    """Values and derivatives at [order, degree, point]."""
    dtype = z.dtype
    sine = jnp.sqrt((1 - z) * (1 + z))
    orders = np.arange(degree + 1)
    # s^m T[m, m] / s^min(m, 2): a running product in which the first two powers of s are missing.
    powers = jnp.where((orders > 2)[:, None], sine[None], jnp.ones_like(sine)[None])
    start = jnp.cumprod(_diagonal(degree, normalized).astype(dtype)[:, None] * powers, axis=0)
    lowest = [jnp.ones_like(sine), sine, sine * sine]
    low = jnp.stack([lowest[min(k, 2)] for k in range(degree + 1)])
    a, b = (c.astype(dtype)[:, :, None] for c in _coefficients(degree, normalized))

    along = z[None]

    def step(state: tuple[Any, Any, Any, Any], row: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        before, now, slope_before, slope = state
        a, b, start = row
        value = a * along * now - b * before + start
        rise = a * (along * slope + low * now) - b * slope_before
        return (now, value, slope, rise), (value, rise)

    zero = jnp.zeros_like(start)
    begin = start[None] * np.eye(degree + 1, dtype=dtype)[:, :, None]
    values, slopes = lax.scan(step, (zero, zero, zero, zero), (a, b, begin))[1]
    values, slopes = jnp.swapaxes(values, 0, 1), jnp.swapaxes(slopes, 0, 1)
    # m x s^(m-2) T; s^-1 is missing where m = 1.
    turn = orders.astype(dtype)[:, None, None] * along[None] * values
    if degree:
        turn = jnp.concatenate([turn[:1], (turn[1] / sine[None])[None], turn[2:]])
    below = orders[None, :, None] < orders[:, None, None]
    return jnp.where(below, 0, values * low[:, None]), jnp.where(below, 0, slopes - turn)


def _values(degree: int, z: Any, normalized: bool) -> Any:
    return _tables(degree, z, normalized)[0]


_values_with_rule = custom_jvp(_values, nondiff_argnums=(0, 2))


@_values_with_rule.defjvp
def _values_jvp(degree: int, normalized: bool, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (z,), (rate,) = primals, tangents
    values, slopes = _tables(degree, z, normalized)
    return values, slopes * rate


def lpmn(m: int, n: int, z: Any) -> tuple[Any, Any]:
    """Associated Legendre functions of the first kind with Condon and Shortley's phase, and their derivatives, at points z.

    m, n: the largest order and degree, equal integers (NotImplementedError otherwise). z: (p,) of float32 or float64
    (TypeError, ValueError otherwise). Returns two arrays (m + 1, n + 1, p): [i, j] is of order i and degree j, 0 for i > j.
    NaN for |z| > 1 and orders above 0. lpmn_values and `sph_harm_y` do not overflow for high degrees.

    >>> import numjet.numpy as jnp
    >>> values, derivatives = lpmn(2, 2, jnp.array([0.5]))
    >>> values[:, :, 0].round(3).tolist()[0]
    [1.0, 0.5, -0.125]
    >>> derivatives[0, :, 0].tolist()
    [0.0, 1.0, 1.5]
    """
    degree, points = _degree("lpmn", m, n, array_arg("lpmn", z, 2))
    return _values_with_rule(degree, points, False), _tables(degree, points, False)[1]


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Any:
    """Associated Legendre functions of the first kind at points z, as lpmn's first result; is_normalized: those that are
    orthonormal on the sphere, with cos(polar angle) = z and times exp(i order azimuth). Parameters and errors as of lpmn.

    >>> import numjet.numpy as jnp
    >>> lpmn_values(1, 1, jnp.array([0.5]), is_normalized=True)[0, :, 0].round(4).tolist()
    [0.28209999203681946, 0.2442999929189682]
    """
    degree, points = _degree("lpmn_values", m, n, array_arg("lpmn_values", z, 2))
    return _values_with_rule(degree, points, bool(is_normalized))
