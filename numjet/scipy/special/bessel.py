"""Bessel functions of the first kind of integer order."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation.config import enable_x64
from numjet.scipy.special.gamma_family import floats

_FAR = 25      # arguments from which on Hankel's expansion holds to 64 bits
_HANKEL = 40   # its terms
_BEYOND = 60   # orders above the argument and the last order, where functions are negligible


def _hankel(order: int, z: Any) -> Any:
    """J_0 or J_1 of large z: DLMF 10.17.3."""
    def step(k: Any, v: Any) -> Any:
        term, real, imaginary = v
        kf = k.astype(z.dtype)
        new = term * ((4 * order * order) - (2 * kf - 1) ** 2) / (8 * kf * z)
        new = jnp.where(jnp.abs(new) < jnp.abs(term), new, 0)
        sign = jnp.where(k % 4 < 2, 1, -1)
        return new, real + jnp.where(k % 2 == 0, sign * new, 0), imaginary + jnp.where(k % 2 == 1, sign * new, 0)
    one = jnp.ones_like(z)
    _, real, imaginary = fori_loop(1, _HANKEL, step, (one, one, jnp.zeros_like(z)))
    sin, cos = jnp.sin(z), jnp.cos(z)
    cosine, sine = (cos + sin, sin - cos) if order == 0 else (sin - cos, -sin - cos)
    return (real * cosine - imaginary * sine) / jnp.sqrt(math.pi * z)


def _large(v: int, z: Any) -> Any:
    """Orders 0 to v by the recurrence upwards, stable where z is larger than the order."""
    def step(pair: Any, n: Any) -> Any:
        return (pair[1], 2 * n / z * pair[1] - pair[0]), pair[0]
    return scan(step, (_hankel(0, z), _hankel(1, z)), jnp.arange(1.0, v + 2, dtype=z.dtype))[1]


def _small(v: int, z: Any, start: int) -> Any:
    """Orders 0 to v by Miller's algorithm: ratios of neighbours from a high order downwards, and their sum (DLMF 10.12.4)."""
    def step(carry: Any, k: Any) -> Any:
        ratio, rest = carry
        below = 2 * k / z - ratio
        ratio = 1 / jnp.where(below == 0, 1e-150, below)  # the order below may vanish
        return (ratio, ratio * (jnp.where(k % 2 == 0, 1, 0) + rest)), ratio
    zero = jnp.zeros_like(z)
    (_, rest), ratios = scan(step, (zero, zero), jnp.arange(1.0, start + 1, dtype=z.dtype), reverse=True)
    return jnp.cumprod(jnp.concatenate([(1 / (1 + 2 * rest))[None], ratios[:v]]), axis=0)


def _values(fixed: tuple[int, int], z: Any) -> Any:
    v, start = fixed
    dtype = z.dtype
    with enable_x64(True):
        z = lax.convert_element_type(z, np.float64)
        size = jnp.abs(z)
        limit = max(v, _FAR)
        far = (size > limit) & jnp.isfinite(size)
        large = _large(v, jnp.where(far, size, 2.0 * limit))
        small = _small(v, jnp.where(size <= limit, size, 1), max(start, limit + _BEYOND))
        z, size, far = z[None], size[None], far[None]  # beside the axis of orders
        value = jnp.where(far, large, jnp.where(jnp.isinf(size), 0, jnp.where(jnp.isnan(size), jnp.nan, small)))
        odd = (jnp.arange(v + 1) % 2 == 1).reshape(-1, *[1] * (jnp.ndim(z) - 1))
        return lax.convert_element_type(jnp.where(odd & (z < 0), -value, value), dtype)


_orders = custom_jvp(_values, nondiff_argnums=(0,))


@_orders.defjvp
def _orders_jvp(fixed: tuple[int, int], primals: Any, tangents: Any) -> Any:
    """DLMF 10.6.1: twice the derivative is the difference of the neighbouring orders."""
    v, start = fixed
    values = _orders((v + 1, start), *primals)
    before = jnp.concatenate([-values[1:2], values[:v]])
    return values[:-1], 0.5 * (before - values[1:]) * tangents[0][None]


@jit_when_eager("v", "n_iter")
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Bessel functions of the first kind of the orders 0, 1, ..., v at real z, with shape (v + 1, *z.shape).

    v: a static integer. n_iter: at least so many steps of Miller's recurrence are taken; what z and v need is taken anyway.
    Derivatives of any order. TypeError for a v that is no integer, ValueError for negative ones and for complex numbers.

    >>> [round(float(x), 4) for x in bessel_jn(1.5, v=2)]
    [0.5118, 0.5579, 0.2321]
    """
    try:
        v = operator.index(v)
    except TypeError:
        raise TypeError(f"bessel_jn: v must be an integer, got {v!r}. Pass the highest order.") from None
    if v < 0:
        raise ValueError(f"bessel_jn: v must not be negative, got {v}. Pass the highest order.")
    return _orders((v, operator.index(n_iter)), *floats("bessel_jn", z))
