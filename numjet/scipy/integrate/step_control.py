"""Control of the sizes of steps, from estimates of their errors.

E. Hairer, S. P. Norsett and G. Wanner, "Solving ordinary differential equations I", section II.4.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp

SAFETY, GROWTH, SHRINKAGE = 0.9, 10.0, 0.2
Field = Callable[[Any, Any], Any]


def error_ratio(error: Any, y0: Any, y1: Any, rtol: Any, atol: Any) -> Any:
    """The root mean square of the error, each element in units of what is tolerated."""
    tolerated = atol + rtol * jnp.maximum(abs(y0), abs(y1))
    return jnp.sqrt(jnp.mean(jnp.square(abs(error) / tolerated)))


def next_size(dt: Any, ratio: Any, order: int) -> Any:
    """The step with a ratio of SAFETY; it changes by bounded factors, and does not shrink after a success."""
    shrinkage = jnp.where(ratio < 1, 1.0, SHRINKAGE)
    factor = jnp.where(ratio == 0, GROWTH, SAFETY * jnp.where(ratio == 0, 1, ratio) ** (-1 / order))
    return dt * jnp.clip(factor, shrinkage, GROWTH).astype(dt.dtype)


def first_size(fun: Field, t: Any, y: Any, slope: Any, rtol: Any, atol: Any, order: int) -> Any:
    """A first step for a field fun(y, t), by its size and an estimate of its derivative."""
    scale = atol + rtol * abs(y)
    norm = lambda v: jnp.sqrt(jnp.sum(jnp.square(abs(v) / scale)))
    d0, d1 = norm(y), norm(slope)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1)).astype(t.dtype)
    d2 = norm(fun(y + h0.astype(y.dtype) * slope, t + h0) - slope) / h0
    top = jnp.maximum(d1, d2)
    h1 = jnp.where(top <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.where(top == 0, 1, top)) ** (1 / order))
    return jnp.minimum(100 * h0, h1).astype(t.dtype)
