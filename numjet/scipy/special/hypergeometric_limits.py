"""The confluent hypergeometric limit function 0F1, by its power series and Bessel functions."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.lax.elementwise import special
from numjet.scipy.special import bessel_core, complex_hypergeometric, modified_bessel, ordinary_bessel
from numjet.scipy.special.fixed_orders import fixed_orders, largest, wide
from numjet.scipy.special.gamma_family import floats, gammasgn
from numjet.scipy.special.whole_numbers import whole_below_1


def _0f1_value(v: Any, z: Any, large: bool) -> Any:
    """The series up to |z| = 1, DLMF 10.16.9 and 10.39.9 beyond."""
    pole = whole_below_1(v)
    overflows = (z == jnp.inf) & jnp.isfinite(v) & ~pole
    limit = jnp.where((v == jnp.inf) & jnp.isfinite(z), 1, jnp.where(overflows, gammasgn(v) * jnp.inf, jnp.nan))
    usable = ~pole & jnp.isfinite(z) & jnp.isfinite(v)
    v, z = jnp.where(usable, v, 1), jnp.where(usable, z, 0)
    near, series = complex_hypergeometric._series_0f1(v, z)
    root = 2 * jnp.sqrt(jnp.where(near, 1, jnp.abs(z)))
    log = special.lgamma(v) - (v - 1) * jnp.log(0.5 * root)
    below, above = ordinary_bessel._j_value(v - 1, root, large), modified_bessel._i_value(v - 1, root, large, True)
    half = jnp.exp(0.5 * (log + jnp.where(z > 0, root, 0)))
    far = gammasgn(v) * half * jnp.where(z > 0, above, below) * half
    return jnp.where(usable, jnp.where(near, series, far), limit)


@functools.cache
def _0f1(large: bool) -> Callable[..., Any]:
    return fixed_orders("hyp0f1", lambda v, z: _0f1_value(v, z, large), lambda out, v, z: _0f1(large)(v + 1, z) / v)


def hyp0f1(v: Any, z: Any) -> Any:
    """The confluent hypergeometric limit function 0F1(; v; z), of real v and real or complex z; NaN for v = 0, -1, ...

    v and z are broadcast; of any dtype. Derivatives of any order to z; NotImplementedError for one to v. Error: that of jv and
    iv, and eps times the exponents. NaN for complex z beyond |v| / 4 where |v - 1| > 1e5.

    >>> round(float(hyp0f1(0.5, 1.0)), 4)
    3.7622
    """
    if complex_hypergeometric.is_complex(z):
        return complex_hypergeometric.hyp0f1(v, z)
    bound = largest(v) + 1
    v, z = floats("hyp0f1", v, z)
    return _0f1(bound > bessel_core.LARGE_ORDER)(*wide(v, z)).astype(z.dtype)
