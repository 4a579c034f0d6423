"""Functions that solve w exp(w) = z: Lambert's W and Wright's omega."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special import complex_omega
from numjet.scipy.special.gamma_family import floats

_STEPS = 12  # of Halley's method, of which the number of digits triples
_NEAR = 0.3  # of the branch point -1/e, where the series in the root begins


def _guess(z: Any, k: Any) -> Any:
    """R. M. Corless et al., "On the Lambert W function" (1996): (4.22) near the branch point, (4.20) elsewhere."""
    root = jnp.sqrt(2 * (math.e * z + 1))
    sign = jnp.where(k == 0, 1, -1)
    root = sign * root
    beside = -1 + root * (1 + root * (-1 / 3 + root * (11 / 72)))
    tau = 2j * math.pi * k
    large = jnp.log(jnp.where(z == 0, 1, z)) + tau
    large = large - jnp.log(jnp.where(large == 0, 1, large))
    small = z * (1 + 4 / 3 * z) / (1 + z * (7 / 3 + 5 / 6 * z))  # Pade's approximation around 0
    near = abs(z + 1 / math.e) < _NEAR
    lower = (k == -1) & ((z.imag >= 0) | (k != -1))
    upper = (k == 1) & (z.imag < 0)
    use_root = near & ((k == 0) | lower | upper)
    inside = (k == 0) & (z.real > -1) & (z.real < 1.5) & (abs(z.imag) < 1) & (-2.5 * abs(z.imag) - 0.2 < z.real)
    return jnp.where(use_root, beside, jnp.where(inside, small, large))


@custom_jvp
def _lambertw(z: Any, k: Any) -> Any:
    fine = jnp.isfinite(z) & (z != 0)
    safe = jnp.where(fine, z, 1)

    def step(_: Any, w: Any) -> Any:
        # Halley's method for w - z exp(-w), which does not overflow for large w
        rest = w - safe * jnp.exp(-w)
        slope = w + 1
        change = rest / jnp.where(slope == 0, 1, slope - (w + 2) * rest / jnp.where(slope == 0, 1, 2 * slope))
        new = w - change
        return jnp.where((slope == 0) | ~jnp.isfinite(new), w, new)
    w = fori_loop(0, _STEPS, step, _guess(safe, k))
    angle = jnp.atan2(z.imag, z.real) + 2 * math.pi * k
    infinite = lax.complex(jnp.full_like(angle, jnp.inf), angle)
    at_zero = jnp.where(k == 0, 0, -jnp.inf).astype(z.dtype)
    return jnp.where(fine, w, jnp.where(z == 0, at_zero, jnp.where(jnp.isnan(z), jnp.nan, infinite)))


@_lambertw.defjvp
def _lambertw_jvp(primals: Any, tangents: Any) -> Any:
    z, k = primals
    w = _lambertw(z, k)
    return w, tangents[0] * jnp.exp(-w) / (1 + w)


@jit_when_eager()
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Lambert's W: the branch k of the solutions w of w exp(w) = z, complex.

    k: integers, which broadcast against z. tol: no matter, as a fixed number of Halley's steps (Corless et al. 1996) reaches
    the dtype's precision. k = 0 has its cut on z < -1/e, the others on z < 0. Derivatives of any order. TypeError for k that
    are no integers.

    >>> round(float(lambertw(1.0).real), 4)
    0.5671
    """
    del tol
    (z,) = promote_args_inexact("lambertw", z)
    branch = jnp.asarray(k)
    if not jnp.issubdtype(branch.dtype, jnp.integer):
        raise TypeError(f"lambertw: k must be integers, got {branch.dtype}")
    wide = z.astype(np.promote_types(np.float32 if z.dtype.itemsize == 2 else z.dtype, np.complex64))
    wide, branch = jnp.broadcast_arrays(wide, branch)
    return _lambertw(wide, branch)


@custom_jvp
def _omega(x: Any) -> Any:
    """P. W. Lawrence, R. M. Corless and D. J. Jeffrey, "Algorithm 917: complex double-precision evaluation of the Wright omega
    function" (2012): the steps of Fritsch, Shafer and Crowley, from a guess."""
    large, small = x > 1, x < -2
    inner = jnp.where(large | small, 0, x)
    middle = jnp.exp(2 / 3 * (inner - 1))  # value and slope at 1 are right
    w = jnp.where(large, x - jnp.log(jnp.where(large, x, 1)), jnp.where(small, jnp.exp(jnp.minimum(x, -2)), middle))
    done = ~jnp.isfinite(x) | (x < -50) | (x > 1e20)
    w = jnp.where(done, 1, w)
    safe = jnp.where(done, 1, x)
    for _ in range(4):
        rest = safe - w - jnp.log(w)
        by = 1 + w
        second = 2 * by * (by + 2 / 3 * rest)
        w = w * (1 + rest / by * (second - rest) / (second - 2 * rest))
    w = jnp.where(safe < -2, jnp.exp(safe) * jnp.exp(-w), w)  # without the rounding of the difference
    return jnp.where(done, jnp.where(x < 0, jnp.exp(x), x), w)


_omega.defjvps(lambda t, out, x: t * jnp.where(jnp.isinf(out), 1, out / (1 + jnp.where(jnp.isinf(out), 0, out))))


def wrightomega(z: Any) -> Any:
    """Wright's omega: the w with w + log(w) = z, positive for real z.

    >>> float(wrightomega(1.0))
    1.0
    """
    (z,) = promote_args_inexact("wrightomega", z)
    if z.dtype in dtypes.COMPLEX:
        return complex_omega.wrightomega(z)
    return _omega(z.astype(np.float32) if z.dtype.itemsize == 2 else z).astype(z.dtype)


# -------------------------------------------------------------------------------------------- exponentials

_TERMS = 20


def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, 1 at 0, with derivatives of any order. ValueError for complex numbers.

    >>> round(float(exprel(1.0)), 4)
    1.7183
    """
    (x,) = floats("exprel", x)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    near = abs(wide) < 1
    small, large = jnp.where(near, wide, 0), jnp.where(near, 1, wide)
    series = jnp.ones_like(wide)
    for n in range(_TERMS, 1, -1):
        series = 1 + series * small / n
    infinite = jnp.isinf(large)
    quotient = jnp.where(infinite, jnp.where(large > 0, jnp.inf, 0), jnp.expm1(jnp.where(infinite, 1, large)) / large)
    return jnp.where(near, series, quotient).astype(x.dtype)


def log_expit(x: Any) -> Any:
    """The logarithm of the logistic function, precise for all x.

    >>> float(log_expit(-1000.0))
    -1000.0
    """
    (x,) = floats("log_expit", x)
    return -jnp.logaddexp(-x, 0).astype(x.dtype)


def cosm1(x: Any) -> Any:
    """cos(x) - 1, precise near 0.

    >>> float(cosm1(0.0))
    0.0
    """
    (x,) = floats("cosm1", x)
    return 0 - 2 * lax.square(jnp.sin(0.5 * x))
