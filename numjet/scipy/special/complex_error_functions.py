"""The error functions of complex numbers: Faddeeva's function times exp(-z^2), and power series about 0.

As in S. G. Johnson's package for Faddeeva's function (2012), which SciPy has. Errors are relative to the modulus of the result;
parts that are 0 on an axis are exactly 0. All in 64 bits, rounded once.
"""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.faddeeva import (
    DAWSN_NEAR,
    FRESNEL_NEAR,
    TWO_BY_ROOT_PI,
    dawsn_series,
    faddeeva,
    fresnel_series,
)
from numjet.scipy.special.horner import horner
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

_NEAR = 1.0   # where the series of erf holds
_ERF_SERIES = tuple((-1) ** n * 2 / math.sqrt(math.pi) / (math.factorial(n) * (2 * n + 1)) for n in range(20))


@custom_jvp
def _gauss(z: Any) -> Any:
    """exp(-z^2), also where a part is infinite and the other 0."""
    x, y = z.real, z.imag
    product = jnp.where((x == 0) | (y == 0), 0, x * y)
    return jnp.exp(lax.complex((y - x) * (y + x), -2 * product))


_gauss.defjvps(lambda t, out, z: t * (-2 * z * out))


def _times_i(z: Any) -> Any:
    return lax.complex(-z.imag, z.real)


def _on_axes(z: Any, out: Any) -> Any:
    """The value of an odd function that is real of real numbers, without rounding errors in what is 0."""
    return lax.complex(jnp.where(z.real == 0, z.real, out.real), jnp.where(z.imag == 0, z.imag, out.imag))


def _by_halves(left: Any, z: Any, function: Any) -> Any:
    """An odd function from its values at z or -z."""
    out = function(jnp.where(left, -z, z))
    return jnp.where(left, -out, out)


def _erfc_right(z: Any) -> Any:
    """erfc(z) for Re z >= 0."""
    return _gauss(z) * faddeeva(_times_i(z))


@custom_jvp
def _erf(z: Any) -> Any:
    near = jnp.abs(z) < _NEAR
    small = jnp.where(near, z, 0)
    far = _by_halves(z.real < 0, jnp.where(near, 1, z), lambda w: 1 - _erfc_right(w))
    return _on_axes(z, jnp.where(near, small * horner(_ERF_SERIES, small * small), far))


_erf.defjvps(lambda t, out, z: t * (TWO_BY_ROOT_PI * _gauss(z)))


@smooth_in_64_bits
def erf(z: Any) -> Any:
    """The error function.

    >>> complex(erf(jnp.array(1j))).imag.__round__(4)
    1.6504
    """
    return _erf(z)


@custom_jvp
def _erfc(z: Any) -> Any:
    left = z.real < 0
    right = _erfc_right(jnp.where(left, -z, z))
    return jnp.where(left, 2 - right, right)


_erfc.defjvps(lambda t, out, z: t * (-TWO_BY_ROOT_PI * _gauss(z)))


@smooth_in_64_bits
def erfc(z: Any) -> Any:
    """1 - erf(z).

    >>> complex(erfc(jnp.array(1j))).imag.__round__(4)
    -1.6504
    """
    return _erfc(z)


@smooth_in_64_bits
def erfi(z: Any) -> Any:
    """-i erf(i z).

    >>> complex(erfi(jnp.array(1 + 0j))).real.__round__(4)
    1.6504
    """
    out = _erf(_times_i(z))
    return lax.complex(out.imag, -out.real)


@custom_jvp
def _dawsn(z: Any) -> Any:
    """DLMF 7.5.1."""
    near = jnp.abs(z) < DAWSN_NEAR
    far = _by_halves(z.imag < 0, jnp.where(near, 1, z),
                     lambda w: (0.5 * math.sqrt(math.pi)) * _times_i(_gauss(w) - faddeeva(w)))
    return _on_axes(z, jnp.where(near, dawsn_series(jnp.where(near, z, 0)), far))


_dawsn.defjvps(lambda t, out, z: t * (1 - 2 * z * out))


@smooth_in_64_bits
def dawsn(z: Any) -> Any:
    """Dawson's integral.

    >>> complex(dawsn(jnp.array(1 + 0j))).real.__round__(4)
    0.5381
    """
    return _dawsn(z)


@smooth_in_64_bits
def ndtr(z: Any) -> Any:
    """The normal distribution function.

    >>> complex(ndtr(jnp.array(0j)))
    (0.5+0j)
    """
    return 0.5 * _erfc(-math.sqrt(0.5) * z)


@custom_jvp
def _log_ndtr(z: Any) -> Any:
    w = -math.sqrt(0.5) * z
    right = w.real >= 0
    high = jnp.where(right, w, 0)
    tail = jnp.log(0.5 * faddeeva(_times_i(high))) - high * high
    out = jnp.where(right, tail, jnp.log1p(-0.5 * _erfc_right(jnp.where(right, 0, -w))))
    turns = jnp.round(out.imag / (2 * math.pi))
    return lax.complex(out.real, out.imag - 2 * math.pi * turns)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    w = -math.sqrt(0.5) * z
    right = w.real >= 0
    by_erfcx = 1 / faddeeva(_times_i(jnp.where(right, w, 0)))
    ratio = jnp.where(right, by_erfcx, _gauss(jnp.where(right, 0, w)) / _erfc(jnp.where(right, 0, w)))
    return _log_ndtr(z), t * (math.sqrt(0.5) * TWO_BY_ROOT_PI * ratio)


@smooth_in_64_bits
def log_ndtr(z: Any) -> Any:
    """The principal logarithm of ndtr.

    >>> complex(log_ndtr(jnp.array(0j))).real.__round__(4)
    -0.6931
    """
    return _log_ndtr(z)


def fresnel(z: Any) -> tuple[Any, Any]:
    """The Fresnel integrals S and C: DLMF 7.5.8 and 7.5.9, C +- i S = (1 +- i) / 2 erf(sqrt(pi) / 2 (1 -+ i) z).

    >>> [complex(v).real.__round__(4) for v in fresnel(jnp.array(1 + 0j))]
    [0.4383, 0.7799]
    """
    return _fresnel_s(z), _fresnel_c(z)


@custom_jvp
def _fresnel(z: Any) -> tuple[Any, Any]:
    near = jnp.abs(z) < FRESNEL_NEAR
    s, c = fresnel_series(jnp.where(near, z, 0))
    far = 0.5 * math.sqrt(math.pi) * jnp.where(near, 2, z)
    above, below = (0.5 * (1 + i) * _erf((1 - i) * far) for i in (1j, -1j))
    sine, cosine = -0.5j * (above - below), 0.5 * (above + below)
    return _on_axes(z, jnp.where(near, s, sine)), _on_axes(z, jnp.where(near, c, cosine))


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    phase = 0.5 * math.pi * z * z
    return _fresnel(z), (t * jnp.sin(phase), t * jnp.cos(phase))


_fresnel_s = smooth_in_64_bits(lambda z: _fresnel(z)[0])
_fresnel_c = smooth_in_64_bits(lambda z: _fresnel(z)[1])
