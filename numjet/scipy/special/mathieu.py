"""Mathieu functions of integer order, and their characteristic values.

Periodic solutions of y'' + (a - 2 q cos 2x) y = 0 are Fourier series, of which the coefficients are eigenvectors of tridiagonal
matrices with the characteristic values as eigenvalues (DLMF 28.4): one matrix for each parity of the order and of the function.
So derivatives to q and x are those of eigenvalues and sums.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.numpy.core.concrete import known
from numjet.scipy.special.fixed_orders import wide
from numjet.scipy.special.gamma_family import floats

_TERMS = 32   # of a Fourier series beyond the order: enough for |q| up to 1000


def _frequencies(m: int, even: bool) -> np.ndarray:
    """The k of the terms cos(k x), or sin(k x), of the function of order m."""
    first = m % 2 if even or m % 2 else 2
    return first + 2 * np.arange(_TERMS + m // 2)


def _matrix(m: int, q: Any, even: bool) -> Any:
    """The tridiagonal matrix of the recurrence of coefficients, symmetric: the first one of even functions is scaled by
    sqrt(2)."""
    k = _frequencies(m, even)
    n = len(k)
    couplings = np.ones(n - 1)
    corner = 0.0
    if even and m % 2 == 0:
        couplings[0] = np.sqrt(2)
    if m % 2:
        corner = 1.0 if even else -1.0
    off = np.diag(couplings, 1) + np.diag(couplings, -1)
    off[0, 0] = corner
    return jnp.asarray(np.diag(k * 1.0 * k), q.dtype) + q[..., None, None] * jnp.asarray(off, q.dtype)


def _by_order(name: str, m: Any, args: list[Any], least: int, one: Any) -> Any:
    """one(order, *args) for every element of m, known integers; NaN for orders below `least`."""
    orders = known(name, m, "the orders of functions")
    if orders.dtype.kind not in "iub":
        raise TypeError(f"{name}: expected integers as orders, got {orders.dtype.name}")
    shape = np.broadcast_shapes(orders.shape, *(a.shape for a in args))
    args = [jnp.broadcast_to(a, shape) for a in args]
    orders = np.broadcast_to(orders, shape)
    out: Any = jnp.full(shape, jnp.nan, args[0].dtype)
    for order in np.unique(orders):
        if order >= least:
            found = one(int(order), *args)
            out = _merged(orders == order, found, out)
    return out


def _merged(chosen: np.ndarray, found: Any, out: Any) -> Any:
    if isinstance(found, tuple):
        parts = out if isinstance(out, tuple) else (out,) * len(found)
        return tuple(jnp.where(chosen, f, o) for f, o in zip(found, parts, strict=True))
    return jnp.where(chosen, found, out)


def _value(m: int, q: Any, even: bool) -> Any:
    place = m // 2 if even or m % 2 else m // 2 - 1
    return jnp.linalg.eigvalsh(_matrix(m, q, even))[..., place]


def _series(m: int, q: Any, x: Any, even: bool) -> tuple[Any, Any]:
    """The function at x degrees and its derivative to the angle in radians; its square has the integral pi over a period."""
    place = m // 2 if even or m % 2 else m // 2 - 1
    k = jnp.asarray(_frequencies(m, even), q.dtype)
    coefficients = jnp.linalg.eigh(_matrix(m, q, even))[1][..., place]
    if even and m % 2 == 0:
        coefficients = coefficients.at[..., 0].divide(np.sqrt(2).astype(q.dtype))
    angle = k * (x * (np.pi / 180))[..., None]
    # the sign of Abramowitz and Stegun: positive at 0 (even functions), positive slope there (odd ones)
    at_zero = jnp.sum(coefficients if even else coefficients * k, -1, keepdims=True)
    coefficients = coefficients * jnp.where(at_zero < 0, -1, 1)
    if even:
        return jnp.sum(coefficients * jnp.cos(angle), -1), -jnp.sum(coefficients * k * jnp.sin(angle), -1)
    return jnp.sum(coefficients * jnp.sin(angle), -1), jnp.sum(coefficients * k * jnp.cos(angle), -1)


def mathieu_a(m: Any, q: Any) -> Any:
    """The characteristic value of the even Mathieu function ce_m. m: known integers >= 0 (NaN below; TypeError for floats).

    q: real, up to 1000 in size.

    >>> round(float(mathieu_a(0, 1.0)), 4)
    -0.4551
    """
    (q,) = floats("mathieu_a", q)
    return _by_order("mathieu_a", m, wide(q), 0, lambda m, q: _value(m, q, True)).astype(q.dtype)


def mathieu_b(m: Any, q: Any) -> Any:
    """The characteristic value of the odd Mathieu function se_m. m: known integers >= 1; others as of mathieu_a.

    >>> round(float(mathieu_b(1, 1.0)), 4)
    -0.1102
    """
    (q,) = floats("mathieu_b", q)
    return _by_order("mathieu_b", m, wide(q), 1, lambda m, q: _value(m, q, False)).astype(q.dtype)


def _function(name: str, m: Any, q: Any, x: Any, least: int, even: bool) -> tuple[Any, Any]:
    q, x = floats(name, q, x)
    found = _by_order(name, m, wide(q, x), least, lambda m, q, x: _series(m, q, x, even))
    value, slope = found if isinstance(found, tuple) else (found, found)
    return value.astype(q.dtype), slope.astype(q.dtype)


def mathieu_cem(m: Any, q: Any, x: Any) -> tuple[Any, Any]:
    """The even Mathieu function ce_m(x, q), and its derivative to x in radians; x in degrees, as SciPy has it.

    m, q: as of mathieu_a. The integral of the square over a turn is pi; positive at 0.

    >>> [round(float(v), 4) for v in mathieu_cem(0, 1.0, 45.0)]
    [0.6544, 0.6095]
    """
    return _function("mathieu_cem", m, q, x, 0, True)


def mathieu_sem(m: Any, q: Any, x: Any) -> tuple[Any, Any]:
    """The odd Mathieu function se_m(x, q), and its derivative to x in radians; x in degrees, as SciPy has it.

    m, q: as of mathieu_b. The integral of the square over a turn is pi; the derivative is positive at 0.

    >>> [round(float(v), 4) for v in mathieu_sem(1, 1.0, 45.0)]
    [0.6223, 0.9194]
    """
    return _function("mathieu_sem", m, q, x, 1, False)
