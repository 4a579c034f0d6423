"""Spherical harmonics."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.while_loop import fori_loop
from numjet.core.trace_state import concrete_or_error
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_args_inexact


@jit_when_eager("n_max")
def _normalized_legendre(n: Any, m: Any, cos: Any, sin: Any, n_max: int) -> Any:
    """The associated Legendre functions of degree n and order m >= 0, as in spherical harmonics: from (m, m) up."""
    dtype = cos.dtype

    def diagonal(k: Any, value: Any) -> Any:
        kf = jnp.astype(k, dtype)
        return jnp.where(k <= m, -value * jnp.sqrt((2 * kf + 1) / (2 * kf)) * sin, value)

    def rise(k: Any, pair: tuple[Any, Any]) -> tuple[Any, Any]:
        before, value = pair
        active = (k > m) & (k <= n)
        degree, order = jnp.astype(k, dtype), jnp.astype(m, dtype)
        gap = jnp.where(active, degree * degree - order * order, 1)
        scale = jnp.sqrt((4 * degree * degree - 1) / gap)
        last = jnp.maximum((degree - 1) * (degree - 1) - order * order, 0)
        share = jnp.sqrt(last / jnp.maximum(4 * (degree - 1) * (degree - 1) - 1, 1))
        following = scale * (cos * value - share * before)
        return jnp.where(active, value, before), jnp.where(active, following, value)

    start = fori_loop(1, n_max + 1, diagonal, jnp.full_like(cos, 0.5 / math.sqrt(math.pi)))
    return fori_loop(1, n_max + 1, rise, (jnp.zeros_like(cos), start))[1]


def _largest_degree(n: Any) -> int:
    """The largest degree among concrete n."""
    need = "The `n_max` argument of sph_harm_y must be statically specified where n is traced."
    return int(np.max(concrete_or_error(np.asarray, n, need), initial=0))


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: None = None, n_max: int | None = None) -> Any:
    """The spherical harmonics of degree n and order m at polar angles theta and azimuths phi, complex, with Condon and
    Shortley's phase; 0 for |m| > n and negative n, as in SciPy. Arguments are broadcast.

    n_max: a static bound of n, needed where n is traced; larger n are taken as n_max, as in JAX. Normalized associated
    Legendre functions are computed by their recurrence in n (W. H. Press et al., "Numerical Recipes", 6.7). TypeError for n
    and m that are no integers; NotImplementedError for diff_n: use jvp or grad.

    >>> sph_harm_y(1, 0, 0.0, 0.0).real.round(4).tolist()
    0.4885999858379364
    """
    if diff_n is not None:
        raise NotImplementedError("The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported; use jvp or grad")
    n, m = array_arg("sph_harm_y", n), array_arg("sph_harm_y", m, 1)
    if not all(dtypes.issubdtype(v.dtype, np.integer) for v in (n, m)):
        raise TypeError(f"sph_harm_y: expected integers n and m, got {n.dtype} and {m.dtype}")
    theta, phi = promote_args_inexact("sph_harm_y", theta, phi)
    if theta.dtype in dtypes.COMPLEX:
        raise TypeError("sph_harm_y does not support complex-valued inputs")
    if theta.dtype.itemsize == 2:
        theta, phi = theta.astype(np.float32), phi.astype(np.float32)
    bound = _largest_degree(n) if n_max is None else operator.index(n_max)
    n, m, theta, phi = jnp.broadcast_arrays(n, m, theta, phi)
    n, order = jnp.minimum(n, bound), jnp.abs(m)
    sin = jnp.sin(theta)
    # The polar angle enters through its cosine alone: beyond [0, pi], the root of 1 - cos**2 is not the sine.
    sin = jnp.where(sin < 0, -sin, sin)
    size = _normalized_legendre(n, jnp.minimum(order, n), jnp.cos(theta), sin, max(bound, 0))
    size = jnp.where(order > n, 0, size)
    size = jnp.where((m < 0) & (order % 2 == 1), -size, size)
    angle = jnp.astype(m, phi.dtype) * phi
    return lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))
