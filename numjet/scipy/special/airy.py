"""Airy's functions of real and of complex numbers, plain and scaled, with their derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit import jit
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special import complex_airy, real_airy
from numjet.scipy.special.gamma_family import numbers
from numjet.scipy.special.wide_evaluation import in_64_bits


def _of(complex_values: Callable[..., Any], real_values: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: (complex_values if jnp.iscomplexobj(x) else real_values)(x)


@custom_jvp
def _airy(x: Any) -> tuple[Any, Any, Any, Any]:
    return in_64_bits(_of(complex_airy.values, real_airy.values), x)


@_airy.defjvp
def _airy_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    ai, ai_slope, bi, bi_slope = out = _compiled_airy(x)
    return out, (t * ai_slope, t * x * ai, t * bi_slope, t * x * bi)


@custom_jvp
def _airye(x: Any) -> tuple[Any, Any, Any, Any]:
    return in_64_bits(_of(complex_airy.scaled_values, real_airy.scaled_values), x)


@_airye.defjvp
def _airye_jvp(primals: Any, tangents: Any) -> Any:
    """Of complex numbers, the scale of Bi is a function of the real part of zeta."""
    (x,), (t,) = primals, tangents
    ai, ai_slope, bi, bi_slope = out = _compiled_airye(x)
    if jnp.iscomplexobj(x):
        root = jnp.sqrt(x)
        change = root * t
        shrunk = jnp.where((x * root).real < 0, change.real, -change.real)
        change_bi, change_slope = shrunk * bi, shrunk * bi_slope
    else:
        above = x > 0
        root = jnp.where(above, jnp.sqrt(jnp.where(above, x, 1)), 0)
        change_bi, change_slope = -t * root * bi, -t * root * bi_slope
    return out, (t * (ai_slope + root * ai), t * (x * ai + root * ai_slope),
                 t * bi_slope + change_bi, t * x * bi + change_slope)


_compiled_airy, _compiled_airye = jit(_airy), jit(_airye)


def _all_of(name: str, function: Any, z: Any) -> tuple[Any, Any, Any, Any]:
    (x,) = numbers(name, z)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    ai, ai_slope, bi, bi_slope = (v.astype(x.dtype) for v in function(wide))
    return ai, ai_slope, bi, bi_slope


def airy(z: Any) -> tuple[Any, Any, Any, Any]:
    """Airy's functions and their derivatives: Ai, Ai', Bi, Bi' of real or complex z.

    Of any dtype and shape, computed in 64 bits; derivatives of any order. For float64 at most 60 eps off for |z| < 10, relative
    to the modulus (Ai^2 + Bi^2)^(1/2) where the functions oscillate; beyond, 4 eps times |z|^(3/2) more, as the phase and the
    exponent have. Of complex numbers, 30 eps and 4 eps times |z|^(3/2).

    >>> [round(float(v), 4) for v in airy(1.0)]
    [0.1353, -0.1591, 1.2074, 0.9324]
    """
    return _all_of("airy", _compiled_airy, z)


def airye(z: Any) -> tuple[Any, Any, Any, Any]:
    """Airy's functions scaled: Ai and Ai' times exp(zeta), Bi and Bi' times exp(-|Re zeta|), zeta = 2/3 z^(3/2).

    For negative real z the first two are NaN, as the scale is not real, and the last two are those of `airy`.

    >>> [round(float(v), 4) for v in airye(1.0)]
    [0.2635, -0.31, 0.6199, 0.4787]
    """
    return _all_of("airye", _compiled_airye, z)
