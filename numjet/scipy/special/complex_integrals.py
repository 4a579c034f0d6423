"""Exponential, sine and cosine integrals and Spence's function of complex numbers.

E1 has its power series next to the cut, where the terms have one sign, the continued fraction of DLMF 6.9.1 elsewhere, and its
asymptotic series far out on the cut; the other integrals are E1 at turned points (DLMF 6.5), and power series about 0. Spence's
function is Debye's series, after the reflections of the dilogarithm (DLMF 25.12.3 and 25.12.4) where that converges slowly.
All in 64 bits, rounded once; errors are measured against mpmath in tests/scipy/test_special_complex_integrals.py.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop
from numjet.scipy.special.dilogarithm import DEBYE, spence_slope
from numjet.scipy.special.horner import horner
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

_BESIDE_CUT = 3.0          # |z| + Re z up to which the power series of E1 loses no more than a digit
_LEVELS = 70               # of the contracted fraction beyond: 4e-16 at 3, less elsewhere
_FAR, _FAR_TERMS = 40.0, 40   # beside the cut the least term of the asymptotic series is exp(-40)
_NEAR = 4.0                # up to which sine and cosine integral have their power series
_SI = tuple((-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(18))
_CI = tuple((-1) ** (k + 1) / ((2 * k + 2) * math.factorial(2 * k + 2)) for k in range(18))
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(12))


def _times_i(z: Any) -> Any:
    return lax.complex(-z.imag, z.real)


def _over_i(z: Any) -> Any:
    return lax.complex(z.imag, -z.real)


# -------------------------------------------------------------------------------------------- exponential integrals

def _e1_series(z: Any, active: Any) -> Any:
    """DLMF 6.6.2; as many terms as the largest argument needs."""
    count = jnp.astype(25 + 2.9 * jnp.max(jnp.where(active, jnp.abs(z), 0), initial=0), np.int32)

    def step(k: Any, state: Any) -> Any:
        term, total = state
        term = term * (-z / k)
        return term, total + term / k
    total = fori_loop(1, count, step, (jnp.ones_like(z), jnp.zeros_like(z)))[1]
    return -np.euler_gamma - jnp.log(z) - total


def _e1_fraction(z: Any) -> Any:
    """exp(z) E1(z) by DLMF 6.9.1, contracted to half of its levels, from the last one on."""
    def step(i: Any, tail: Any) -> Any:
        k = jnp.astype(_LEVELS - i, z.real.dtype)
        return k * k / (z + (2 * k + 1) - tail)
    return 1 / (z + 1 - fori_loop(0, _LEVELS, step, jnp.zeros_like(z)))


def _e1_far(z: Any) -> Any:
    """exp(z) E1(z), DLMF 6.12.1."""
    total = jnp.ones_like(z)
    for k in range(_FAR_TERMS, 0, -1):
        total = 1 - total * (k / z)
    return total / z


@custom_jvp
def _e1(z: Any) -> Any:
    x, y = z.real, jnp.abs(z.imag)
    size = jnp.hypot(x, y)
    usable = jnp.isfinite(size) & (size > 0)
    beside = usable & (size + x < _BESIDE_CUT)
    near, far = beside & (size < _FAR), beside & (size >= _FAR)
    point = lax.complex(x, y)
    fraction = _e1_fraction(jnp.where(usable & ~beside, point, 4))
    scaled = jnp.where(far, _e1_far(jnp.where(far, point, 50)), fraction)
    half = jnp.exp(-0.5 * jnp.where(usable & ~near, point, 1))   # twice: the product may be finite where its square is not
    out = jnp.where(near, _e1_series(jnp.where(near, point, 1), near), half * scaled * half)
    imaginary = jnp.where((y == 0) & usable, jnp.where(x < 0, -math.pi, 0), out.imag)
    unknown = jnp.where((x == -jnp.inf) | jnp.isnan(x) | jnp.isnan(y), jnp.nan, 0)
    on_cut = (x == -jnp.inf) & (y == 0)
    ends = jnp.where(size == 0, jnp.inf, jnp.where(on_cut, -jnp.inf, unknown))
    turned = jnp.where(size == 0, 0, jnp.where(on_cut, -math.pi, unknown))
    real, imaginary = jnp.where(usable, out.real, ends), jnp.where(usable, imaginary, turned)
    return lax.complex(real, jnp.where(jnp.signbit(z.imag), -imaginary, imaginary))


_e1.defjvps(lambda t, out, z: t * (-jnp.exp(-z) / z))


@smooth_in_64_bits
def exp1(z: Any) -> Any:
    """E1(z), with its cut on the negative axis.

    >>> complex(exp1(jnp.array(1j))).real.__round__(4)
    -0.3374
    """
    return _e1(z)


@custom_jvp
def _ei(z: Any) -> Any:
    """-E1(-z), continued from both sides to the real axis: DLMF 6.5.1 and 6.5.2."""
    out = -_e1(-z)
    half_turn = jnp.where(z.imag == 0, 0, jnp.copysign(math.pi, z.imag))
    return lax.complex(out.real, jnp.where(z.imag == 0, z.imag, out.imag + half_turn))


_ei.defjvps(lambda t, out, z: t * (jnp.exp(z) / z))


@smooth_in_64_bits
def expi(z: Any) -> Any:
    """Ei(z), the principal value on the real axis.

    >>> complex(expi(jnp.array(1j))).real.__round__(4)
    0.3374
    """
    return _ei(z)


# -------------------------------------------------------------------------------------------- sine and cosine integral

def _right(z: Any) -> tuple[Any, Any]:
    """Si and Ci where Re z >= 0: DLMF 6.5.5, 6.5.6, 6.6.5 and 6.6.6."""
    near = jnp.abs(z) < _NEAR
    small, large = jnp.where(near & (z != 0), z, 1), jnp.where(near, 8, z)
    square = small * small
    si, ci = small * horner(_SI, square), np.euler_gamma + jnp.log(small) + square * horner(_CI, square)
    one, other = _e1(_times_i(large)), _e1(_over_i(large))
    return (jnp.where(near, jnp.where(z == 0, z, si), 0.5 * math.pi + 0.5 * _times_i(other - one)),
            jnp.where(near, jnp.where(z == 0, -jnp.inf, ci), -0.5 * (one + other)))


@custom_jvp
def _si_ci(z: Any) -> tuple[Any, Any]:
    left, real = z.real < 0, z.imag == 0
    si, ci = _right(lax.complex(jnp.abs(z.real), jnp.where(left, -z.imag, z.imag)))
    si = jnp.where(left, -si, si)
    half_turn = jnp.where(left, jnp.where(z.imag >= 0, math.pi, -math.pi), 0)
    si = lax.complex(jnp.where(z.real == 0, z.real, si.real), jnp.where(real, z.imag, si.imag))
    return si, lax.complex(ci.real, jnp.where(real, 0, ci.imag) + half_turn)


def _sinc(z: Any) -> Any:
    near = jnp.abs(z) < 1
    small, large = jnp.where(near, z, 0), jnp.where(near, 1, z)
    return jnp.where(near, horner(_SINC, small * small), jnp.sin(large) / large)


@_si_ci.defjvp
def _si_ci_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    return _si_ci(z), (t * _sinc(z), t * (jnp.cos(z) / z))


def sici(z: Any) -> tuple[Any, Any]:
    """Si(z) and Ci(z), which has its cut on the negative axis.

    >>> [complex(v).imag.__round__(4) for v in sici(jnp.array(1j))]
    [1.0573, 1.5708]
    """
    return _si(z), _ci(z)


_si = smooth_in_64_bits(lambda z: _si_ci(z)[0])
_ci = smooth_in_64_bits(lambda z: _si_ci(z)[1])


def shichi(z: Any) -> tuple[Any, Any]:
    """Shi(z) = i Si(-i z), and Chi(z), which is Ci(-i z) + pi i / 2 above its cut on the negative axis.

    >>> [complex(v).imag.__round__(4) for v in shichi(jnp.array(1j))]
    [0.9461, 1.5708]
    """
    return _shi(z), _chi(z)


@smooth_in_64_bits
def _shi(z: Any) -> Any:
    return _times_i(_si_ci(_over_i(z))[0])


@smooth_in_64_bits
def _chi(z: Any) -> Any:
    """Of the conjugate below the axis: Ci has its cut there."""
    lower = z.imag < 0
    out = _si_ci(_over_i(lax.complex(z.real, jnp.where(lower, -z.imag, z.imag))))[1]
    imaginary = out.imag + 0.5 * math.pi
    imaginary = jnp.where(lower, -imaginary, imaginary)
    return lax.complex(out.real, jnp.where((z.imag == 0) & (z.real >= 0), lax.stop_gradient(-imaginary) + imaginary, imaginary))


# -------------------------------------------------------------------------------------------- Spence's function

def _debye(u: Any) -> Any:
    """Li2(1 - exp(-u)) for |u| <= 1.1."""
    square = u * u
    return u + DEBYE[1] * square + square * u * horner(DEBYE[2::2], square)


@custom_jvp
def _spence(z: Any) -> Any:
    w = 1 - z
    outer = jnp.abs(w) > 1
    w = jnp.where(outer, 1 / jnp.where(outer, w, 1), w)           # the dilogarithm of w is wanted now
    turned = w.real > 0.5
    rest = jnp.where(turned, 1 - w, 0.25)                          # and now that of rest
    inner = jnp.where(turned, rest, w)
    out = _debye(-jnp.log1p(-inner))
    logs = jnp.log(jnp.where(w == 1, 0.5, jnp.where(turned, w, 0.5))) * jnp.log(jnp.where(rest == 0, 0.5, rest))
    out = jnp.where(turned, math.pi ** 2 / 6 - jnp.where(rest == 0, 0, logs) - out, out)
    high = jnp.log(jnp.where(outer, z - 1, 1))
    out = jnp.where(outer, -math.pi ** 2 / 6 - 0.5 * high * high - out, out)
    bad = ~jnp.isfinite(z)
    return jnp.where(bad, jnp.nan, jnp.where(z == 0, math.pi ** 2 / 6, out))


_spence.defjvps(lambda t, out, z: t * spence_slope(z))


@smooth_in_64_bits
def spence(z: Any) -> Any:
    """Li2(1 - z), with its cut on the negative axis.

    >>> complex(spence(jnp.array(1j))).imag.__round__(4)
    -1.4604
    """
    return _spence(z)
