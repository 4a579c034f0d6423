"""Faddeeva's function and what it gives: scaled complementary error function, Dawson's integral, Fresnel integrals."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special import complex_error_functions
from numjet.scipy.special.faddeeva import (
    DAWSN_NEAR,
    FAR,
    FRESNEL_NEAR,
    LIMIT,
    MIDDLES,
    MULTIPLES,
    STEP,
    TWO_BY_ROOT_PI,
    dawsn_series,
    faddeeva,
    far_slope,
    fresnel_series,
)
from numjet.scipy.special.gamma_family import floats, numbers
from numjet.scipy.special.horner import horner


def _widened(x: Any) -> Any:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


@jit_when_eager()
def wofz(z: Any) -> Any:
    """Faddeeva's function exp(-z^2) erfc(-i z), complex.

    >>> complex(wofz(0.0))
    (1+0j)
    """
    (z,) = promote_args_inexact("wofz", z)
    z = _widened(z)
    return faddeeva(z.astype(np.result_type(z.dtype, np.complex64)))


# -------------------------------------------------------------------------------------------- on the axes

def square_in_parts(x: Any) -> tuple[Any, Any]:
    """x^2 as a sum, whose first part is exact."""
    head = jnp.round(x * 16) / 16
    return head * head, (x - head) * (x + head)


def _exp_square(x: Any) -> Any:
    head, rest = square_in_parts(x)
    return jnp.exp(head) * jnp.exp(rest)


# float32: (1 + 2 x) erfcx(x) for x >= 0 as a polynomial of t = (x - 3) / (x + 3), by interpolation at Chebyshev's points; the
# largest relative error is 7.1e-9, and 5.3 units in the last place with the rounding errors of its evaluation.
_ERFCX_SINGLE = (1.25300806, -0.1356211, -0.0475621561, 0.129644721, -0.119275281, 0.0683131967, -0.0237635597, 0.00250677867,
                 0.00187506025, -0.00073408205, -9.25376913e-05, 8.00745497e-05)


def _erfcx_from_0_single(size: Any) -> Any:
    t = (jnp.minimum(size, 1e30) - 3) / (jnp.minimum(size, 1e30) + 3)
    return jnp.where(size < 2.0 ** -13, 1 - TWO_BY_ROOT_PI * size, 0.5 * horner(_ERFCX_SINGLE, t) / (size + 0.5))


def _erfcx_from_0(size: Any) -> Any:
    far = size > 1e4
    y = jnp.where(far, 1, size)
    total = sum(math.exp(-t * t) / (y * y + t * t) for t in MIDDLES)
    close = jnp.where(y < LIMIT, y, 0)
    pole = 2 * jnp.exp(close * close - 2 * math.pi / STEP * close) / (1 + jnp.exp(-2 * math.pi / STEP * close))
    middle = (2 * STEP / math.pi) * y * total + jnp.where(y < LIMIT, pole, 0)
    divisor = jnp.where(far, size, 1)
    return jnp.where(far, (1 - 0.5 / divisor / divisor) / (math.sqrt(math.pi) * divisor), middle)


@custom_jvp
def _erfcx(x: Any) -> Any:
    out = _erfcx_from_0_single(jnp.abs(x)) if x.dtype == np.float32 else _erfcx_from_0(jnp.abs(x))
    out = jnp.where(x < 0, 2 * _exp_square(jnp.where(x < 0, jnp.maximum(x, -30), 0)) - out, out)
    return jnp.where(x < -30, jnp.inf, jnp.where(jnp.isnan(x), jnp.nan, out))


def _with_far_slope(near: Any, far: Any, x: Any, sign: int, factor: float) -> Any:
    """`near`, or where the terms of it cancel, for large x, factor times the asymptotic series."""
    return jnp.where(far, factor * far_slope(jnp.square(1 / jnp.where(far, x, 1)), sign), near)


def _erfcx_slope(x: Any, out: Any) -> Any:
    far = x > FAR[x.dtype.itemsize]
    near = 2 * jnp.where(far, 0, x) * out - TWO_BY_ROOT_PI
    return _with_far_slope(near, far, x, -1, -0.5 * TWO_BY_ROOT_PI)


def _dawsn_slope(x: Any, out: Any) -> Any:
    far = jnp.abs(x) > FAR[x.dtype.itemsize]
    return _with_far_slope(1 - 2 * jnp.where(far, 0, x) * out, far, x, 1, -0.5)


_erfcx.defjvps(lambda t, out, x: t * _erfcx_slope(x, out))


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), for real or complex numbers.

    >>> round(float(erfcx(10.0)), 4)
    0.0561
    """
    (x,) = promote_args_inexact("erfcx", x)
    if x.dtype in dtypes.COMPLEX:
        return faddeeva(lax.complex(-x.imag, x.real))
    return _erfcx(_widened(x)).astype(x.dtype)


# float32: Chebyshev interpolants of D(x) / x in x^2 up to 1, of x D(x) in x - 5/2 up to 4, of 2 x D(x) in 1 / x^2 beyond; the
# largest relative error is 1.4e-8, and 2.5 units in the last place with the rounding errors of their evaluation.
_DAWSN_NEAR = (1.0, -0.66666615, 0.266658515, -0.0761409029, 0.0167865157, -0.00285760267, 0.000299166539)
_DAWSN_MIDDLE = (0.557709277, -0.0654628873, 0.0482384115, -0.0149326911, -0.0134909982, 0.0209465008, -0.0120672612,
                 0.00166718382, 0.00242233532, -0.00180628162, 0.000346059765, 0.00024034208, -0.000150447144, 5.49390563e-07,
                 1.79857961e-05, -1.72613534e-06, -8.00990222e-07)
_DAWSN_FAR = (1.0, 0.499991179, 0.752200067, 1.67447579, 14.9261703, -136.471573, 1507.56152)


def _dawsn_single(x: Any) -> Any:
    size = jnp.abs(x)
    small, middle, inverse = jnp.minimum(size, 1), jnp.clip(size, 1, 4), 1 / jnp.maximum(size, 4)
    out = jnp.where(size < 4, horner(_DAWSN_MIDDLE, middle - 2.5) / middle,
                    horner(_DAWSN_FAR, inverse * inverse) * (0.5 * inverse))
    near = jnp.copysign(small, x) * horner(_DAWSN_NEAR, small * small)
    return jnp.where(size < 1, near, jnp.copysign(out, x))


@custom_jvp
def _dawsn(x: Any) -> Any:
    if x.dtype == np.float32:
        return _dawsn_single(x)
    size = jnp.abs(x)
    far = size > 1e8
    y = jnp.where(far | jnp.isnan(x), 1, size)
    place = y / STEP
    share = place - jnp.floor(place)
    by_multiples = (share >= 0.25) & (share <= 0.75)
    sum_of = lambda nodes: (2 * STEP / math.pi) * y * sum(math.exp(-t * t) / (y * y - t * t) for t in nodes)
    angle = math.pi * jnp.where(share > 0.5, share - 1, share)
    decay = jnp.exp(-y * y)
    first = decay * jnp.tan(jnp.where(by_multiples, 0.1, angle)) + jnp.where(by_multiples, 0, sum_of(MIDDLES))
    safe = jnp.where(by_multiples, y, 1)
    second = -decay / jnp.tan(jnp.where(by_multiples, angle, 1)) + STEP / (math.pi * safe) + sum_of(MULTIPLES)
    out = 0.5 * math.sqrt(math.pi) * jnp.where(by_multiples, second, first)
    out = jnp.where(far, 0.5 / jnp.where(far, size, 1), out)
    near = size < DAWSN_NEAR
    out = jnp.where(near, dawsn_series(jnp.where(near, x, 0)), jnp.where(x < 0, -out, out))
    return jnp.where(jnp.isnan(x), jnp.nan, out)


_dawsn.defjvps(lambda t, out, x: t * _dawsn_slope(x, out))


def dawsn(x: Any) -> Any:
    """Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x, for real or complex x.

    >>> round(float(dawsn(1.0)), 4)
    0.5381
    """
    x, = numbers("dawsn", x)
    if x.dtype in dtypes.COMPLEX:
        return complex_error_functions.dawsn(x)
    return _dawsn(_widened(x)).astype(x.dtype)


# -------------------------------------------------------------------------------------------- Fresnel integrals

def _phase(x: Any) -> tuple[Any, Any]:
    """cos and sin of pi x^2 / 2: x^2 modulo 4 is that of its whole part, known exactly, and a rest of size |x|."""
    x = jnp.where(jnp.isfinite(x), x, 0)
    whole = jnp.round(x)
    odd = whole - 2 * jnp.floor(whole / 2)
    rest = x - whole
    cross = 2 * whole * rest
    turns = odd + (cross - 4 * jnp.round(cross / 4)) + rest * rest
    return jnp.cos(0.5 * math.pi * turns), jnp.sin(0.5 * math.pi * turns)


# float32: Chebyshev interpolants of C(x) / x and S(x) / x^3 in x^4 up to the end of the series, and of x f(x) and x^3 g(x) in
# 1 / x^2 beyond, with the auxiliary functions of DLMF 7.2(iv). The largest relative errors are 7e-10, 7e-9, 4.4e-8 and 4.6e-7,
# and f is at most 0.2, g at most 0.025 there.
_FRESNEL_COSINE = (1, -0.246740107, 0.0281854901, -0.00160486999, 5.40662038e-05, -1.19748879e-06, 1.83643907e-08,
                   -1.7351477e-10)
_FRESNEL_SINE = (0.523598774, -0.0922805683, 0.00724474256, -0.000312078597, 8.42738791e-06, -1.52623902e-07, 1.66497517e-09)
_AUXILIARY_F = (0.3183099, -5.78254575e-06, -0.0963447279, -0.0114835913, 0.506851502, -1.28671914, 1.60910856, -0.931869937,
                0.122148959)
_AUXILIARY_G = (0.10132123, -1.93626786e-05, -0.152577022, -0.0415882428, 1.61793807, -5.44142483, 9.58741921, -9.22318382,
                3.82205896)


def _fresnel_single(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size < FRESNEL_NEAR
    small, large = jnp.minimum(size, FRESNEL_NEAR), jnp.maximum(size, FRESNEL_NEAR)
    square, inverse = small * small, 1 / large
    fourth, place = square * square, inverse * inverse
    f, g = horner(_AUXILIARY_F, place) * inverse, horner(_AUXILIARY_G, place) * (place * inverse)
    cosine, sine = _phase(large)
    s = jnp.where(near, horner(_FRESNEL_SINE, fourth) * (square * small), 0.5 - (f * cosine + g * sine))
    c = jnp.where(near, horner(_FRESNEL_COSINE, fourth) * small, 0.5 + (f * sine - g * cosine))
    return jnp.copysign(s, x), jnp.copysign(c, x)


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    if x.dtype == np.float32:
        return _fresnel_single(x)
    size = jnp.abs(x)
    near = size < FRESNEL_NEAR
    sine, cosine = fresnel_series(jnp.where(near, size, 0))
    large = jnp.where(near | ~jnp.isfinite(x), 2, size)
    diagonal = 0.5 * math.sqrt(math.pi) * large
    w = faddeeva(lax.complex(diagonal, diagonal))
    turn = lax.complex(*_phase(large))
    rest = turn * w * lax.complex(jnp.full_like(large, 0.5), jnp.full_like(large, 0.5))
    s = jnp.where(near, sine, jnp.where(jnp.isinf(x), 0.5, 0.5 - rest.imag))
    c = jnp.where(near, cosine, jnp.where(jnp.isinf(x), 0.5, 0.5 - rest.real))
    signed = lambda v: jnp.where(jnp.isnan(x), jnp.nan, jnp.where(x < 0, -v, jnp.where(x == 0, x, v)))
    return signed(s), signed(c)


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _fresnel(x), (t * _sin_phase(x), t * _cos_phase(x))


@custom_jvp
def _cos_phase(x: Any) -> Any:
    return _phase(x)[0]


@custom_jvp
def _sin_phase(x: Any) -> Any:
    return _phase(x)[1]


_cos_phase.defjvps(lambda t, out, x: -t * math.pi * x * _sin_phase(x))
_sin_phase.defjvps(lambda t, out, x: t * math.pi * x * _cos_phase(x))


def fresnel(x: Any) -> tuple[Any, Any]:
    """The Fresnel integrals S and C: of sin(pi t^2 / 2) and cos(pi t^2 / 2) from 0 to x, real or complex.

    >>> [round(float(v), 4) for v in fresnel(1.0)]
    [0.4383, 0.7799]
    """
    x, = numbers("fresnel", x)
    if x.dtype in dtypes.COMPLEX:
        return complex_error_functions.fresnel(x)
    s, c = _fresnel(_widened(x))
    return s.astype(x.dtype), c.astype(x.dtype)


# -------------------------------------------------------------------------------------------- Voigt's profile

def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Voigt's profile: the convolution of a normal density (standard deviation sigma) with Cauchy's (half width gamma).

    Real x, sigma >= 0 and gamma >= 0; with one of them 0 the other density, with both 0 inf at 0 and 0 elsewhere. The real part
    of Faddeeva's function, with its derivatives.

    >>> round(float(voigt_profile(0.0, 1.0, 1.0)), 4)
    0.2087
    """
    x, sigma, gamma = floats("voigt_profile", x, sigma, gamma)
    dtype = x.dtype
    x, sigma, gamma = map(_widened, (x, sigma, gamma))
    sharp = jnp.maximum(jnp.abs(x), jnp.abs(gamma)) * jnp.finfo(x.dtype).eps ** (1 / 3) > jnp.abs(sigma)   # nearly Cauchy's
    sharp = (sigma == 0) | sharp
    wide = jnp.where(sharp, 1, sigma)
    by = wide * math.sqrt(2)
    z = lax.complex(jnp.where(sharp, 0, x) / by, jnp.where(sharp, 1, gamma) / by)
    mixed = faddeeva(z).real / (wide * math.sqrt(2 * math.pi))
    square = x * x + gamma * gamma
    cauchy = jnp.where(square == 0, jnp.inf, gamma / (math.pi * jnp.where(square == 0, 1, square)))
    beyond = (jnp.isinf(x) | jnp.isinf(gamma)) & ~jnp.isnan(x + sigma + gamma)
    return jnp.where(beyond, 0, jnp.where(sharp, cauchy * _broadened(x, sigma, gamma, sharp & ~beyond), mixed)).astype(dtype)


def _broadened(x: Any, sigma: Any, gamma: Any, active: Any) -> Any:
    """Voigt's profile by Cauchy's density to the order sigma^2: it solves the heat equation in half of sigma^2 and x."""
    size = jnp.maximum(jnp.abs(x), jnp.abs(gamma))
    usable = active & (size > 0)
    u, v, width = (jnp.where(usable, w, other) / jnp.where(usable, size, 1) for w, other in ((x, 1), (gamma, 0), (sigma, 0)))
    square = u * u + v * v
    return 1 + jnp.square(width) * (3 * u * u - v * v) / jnp.square(square)
