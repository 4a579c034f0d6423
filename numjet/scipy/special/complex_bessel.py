"""Bessel functions of real order and complex argument, from I and K in the right half plane.

As in D. E. Amos, "Algorithm 644: A portable package for Bessel functions of a complex argument and nonnegative order" (ACM
Trans. Math. Softw. 12, 1986), all others are rotations of those two. K starts at mu = nu - round(nu), by N. M. Temme's series,
by Steed's continued fraction with Temme's sum, or by Hankel's expansion, and goes up to nu by its recurrence, which is stable.
I is proportional to its power series or to Miller's recurrence downwards; the Wronskian with K gives the factor. Where Hankel's
expansion holds at nu itself, I has that. Errors are measured against mpmath in tests/scipy/test_special_bessel_complex.py.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation import dtypes
from numjet.foundation.config import numpy_dtype_promotion
from numjet.numpy.core.promotion import array_arg, promote_args_inexact, promote_shapes
from numjet.scipy.special.bessel_core import Pair, j_at_zero, steed_k, temme_k, y_at_zero
from numjet.scipy.special.fixed_orders import cos_sin_pi, fixed_orders
from numjet.scipy.special.gamma_family import floats, gammaln

_MIXED = numpy_dtype_promotion("standard")   # orders are real and points complex, whatever programs may mix

LARGEST_ORDER = 1e5
_LARGEST_SIZE = 1e6      # of arguments to which Miller's recurrence comes down from above
_HANKEL_START, _HANKEL_TERMS = 25.0, 32
_SERIES_TERMS = 20       # of the power series where |w|^2 <= 4 (nu + 1)


def _complex(real: Any, imaginary: Any) -> Any:
    return lax.complex(*jnp.broadcast_arrays(real, imaginary))


def _times(scale: Any, z: Any) -> Any:
    """scale * z for a real scale, which may be infinite where a part of z is 0."""
    return _complex(*(jnp.where(part == 0, 0, scale * part) for part in (z.real, z.imag)))


def _turn(angle: Any) -> Any:
    """exp(i angle) for a real angle."""
    return _complex(jnp.cos(angle), jnp.sin(angle))


def _turn_pi(v: Any) -> Any:
    """exp(i pi v)."""
    return _complex(*cos_sin_pi(v))


# ------------------------------------------------------------------------------------------- the right half plane

def _hankel_sum(nu: Any, w: Any, sign: int) -> Any:
    """The sum of sign^k a_k(nu) / w^k, DLMF 10.17.1."""
    square, by = 4 * nu * nu, sign / (8 * w)

    def step(k: Any, state: Any) -> Any:
        term, total = state
        k = jnp.astype(k, nu.dtype)
        term = term * ((square - jnp.square(2 * k - 1)) / k) * by
        return term, total + term

    one = jnp.ones_like(w + nu)
    return fori_loop(1, _HANKEL_TERMS, step, (one, one))[1]


def _start_k(mu: Any, w: Any) -> Pair:
    """K[mu] and K[mu + 1], times exp(w), for |mu| <= 1/2."""
    size = jnp.abs(w)
    far = size >= _HANKEL_START
    near = ~far & (size + w.real < 2.4)  # further on terms of the series cancel
    low = jnp.where(near, w, 1)
    series = [jnp.exp(low) * k for k in temme_k(mu, low)]
    fraction = steed_k(mu, jnp.where(near | far, 3, w))
    high = jnp.where(far, w, 30)
    factor = jnp.sqrt(0.5 * math.pi / high)
    hankel = [factor * _hankel_sum(order, high, 1) for order in (mu, mu + 1)]
    k0, k1 = (jnp.where(near, a, jnp.where(far, c, b)) for a, b, c in zip(series, fraction, hankel, strict=True))
    return k0, k1


def _rise_k(mu: Any, steps: Any, w: Any, pair: Pair) -> Pair:
    """K at `steps` higher orders; infinite where it overflows."""
    def body(state: Any) -> Any:
        k, low, high = state
        active = k < steps
        following = low + 2 * (mu + k + 1) / w * high
        following = jnp.where(jnp.isfinite(following), following, jnp.inf)
        return k + 1, jnp.where(active, high, low), jnp.where(active, following, high)

    _, k0, k1 = while_loop(lambda state: jnp.any(state[0] < steps), body, (jnp.zeros((), steps.dtype), *pair))
    return k0, k1


def _series_i(nu: Any, w: Any) -> Pair:
    """I[nu] and I[nu + 1], both divided by (w / 2)^nu / Gamma(nu + 1)."""
    square = 0.25 * w * w

    def step(k: Any, state: Any) -> Any:
        term, next_term, total, next_total = state
        k = jnp.astype(k, nu.dtype)
        term, next_term = term * square / (k * (nu + k)), next_term * square / (k * (nu + 1 + k))
        return term, next_term, total + term, next_total + next_term

    one = jnp.ones_like(w + nu)
    _, _, total, following = fori_loop(1, _SERIES_TERMS, step, (one, one, one, one))
    return total, 0.5 * w / (nu + 1) * following


def _miller_i(nu: Any, w: Any, active: Any) -> Pair:
    """Multiples of I[nu] and I[nu + 1] by Miller's recurrence, from an order where J[n](|w|) is negligible."""
    size = jnp.abs(w)
    needed = jnp.where(active, size - nu + 8 * jnp.cbrt(size) + 20, 20)
    count = jnp.astype(jnp.max(needed, initial=20), np.int32)

    def step(i: Any, state: Any) -> Any:
        above, here = state
        below = above + 2 * (nu + jnp.astype(count - i, nu.dtype)) / w * here
        by = jnp.where(jnp.abs(below.real) + jnp.abs(below.imag) > 1e100, 1e-100, 1)
        return here * by, below * by

    zero = jnp.zeros_like(w + nu)
    above, here = fori_loop(0, count, step, (zero, zero + 1))
    return here, above


def _hankel_i(nu: Any, w: Any) -> Any:
    """exp(-Re w) I[nu](w): DLMF 10.40.5, with the part that matters beside the imaginary axis."""
    sign = jnp.where(w.imag < 0, -1.0, 1.0)
    small = jnp.exp(-2 * w.real) * _turn(-w.imag) * _turn_pi(sign * nu) * _complex(0.0 * w.real, sign)
    return (_turn(w.imag) * _hankel_sum(nu, w, -1) + small * _hankel_sum(nu, w, 1)) / jnp.sqrt(2 * math.pi * w)


def _scaled_ik(nu: Any, w: Any) -> Pair:
    """exp(-Re w) I[nu](w) and exp(w) K[nu](w), for nu >= 0, Re w >= 0 and finite w, not 0."""
    size = jnp.abs(w)
    mu = nu - jnp.floor(nu + 0.5)
    k0, k1 = _rise_k(mu, nu - mu, w, _start_k(mu, w))
    far = size >= jnp.maximum(_HANKEL_START, 0.5 * nu * nu)
    near = size * size <= 4 * (nu + 1)
    middle = ~(far | near)
    series = _series_i(nu, jnp.where(near, w, 1))
    usable = middle & (size <= _LARGEST_SIZE)
    miller = _miller_i(nu, jnp.where(usable, w, 3), usable)
    i0, i1 = (jnp.where(near, a, b) for a, b in zip(series, miller, strict=True))
    wronskian = _turn(w.imag) * i0 / (w * (k1 * i0 + k0 * i1))  # DLMF 10.28.2
    tiny = series[0] * jnp.exp(nu * jnp.log(0.5 * w) - gammaln(nu + 1))  # near 0, where K overflows
    wronskian = jnp.where(jnp.isfinite(k1), wronskian, jnp.where(near, tiny, 0))
    i = jnp.where(far, _hankel_i(jnp.where(far, nu, 0), jnp.where(far, w, 30)), wronskian)
    return jnp.where(middle & ~usable, jnp.nan, i), k0


# ------------------------------------------------------------------------------------------- the whole plane

def _hankel_family(v: Any, z: Any) -> dict[str, Any]:
    """The functions of J's kind where Im z >= 0: ju, yu and those with an e are times exp(-+ i z)."""
    nu = jnp.abs(v)
    i, k = _scaled_ik(nu, _complex(z.imag, -z.real))
    quarter = _turn_pi(0.5 * nu)
    up, turn = jnp.exp(z.imag), _turn(z.real)
    down = turn / up
    j = quarter * i                                               # exp(-Im z) J
    h1e = _complex(0.0, -2 / math.pi) * jnp.conj(quarter) * k     # exp(-i z) H1
    out = {"j": _times(up, j), "h1": h1e * down, "h1e": h1e, "ju": j * turn, "h2e": 2 * j * turn - h1e * down * down}
    out["h2"] = 2 * out["j"] - out["h1"]
    out["y"], out["yu"] = (_times(1.0, imaginary * (a - b)) for imaginary, a, b in (
        (1j, out["j"], out["h1"]), (1j, out["ju"], h1e * down * down)))
    return _with_negative_orders(v, out)


def _with_negative_orders(v: Any, out: dict[str, Any]) -> dict[str, Any]:
    """DLMF 10.4.5 to 10.4.7."""
    c, s = cos_sin_pi(jnp.abs(v))
    mix = lambda a, x, b, y: jnp.where(a == 0, 0, a * x) + jnp.where(b == 0, 0, b * y)
    low = {"h1": out["h1"] * _complex(c, s), "h1e": out["h1e"] * _complex(c, s),
           "h2": out["h2"] * _complex(c, -s), "h2e": out["h2e"] * _complex(c, -s)}
    for j, y in (("j", "y"), ("ju", "yu")):
        low |= {j: mix(c, out[j], -s, out[y]), y: mix(s, out[j], c, out[y])}
    return {kind: jnp.where(v < 0, low[kind], out[kind]) for kind in out}


_MIRRORED = {"h1": "h2", "h2": "h1", "h1e": "h2e", "h2e": "h1e"}  # conj(f(conj z)); others are their own mirror images


def _modified_family(v: Any, w: Any, turned: Any) -> dict[str, Any]:
    """I and K with their scaled forms at w, Re w >= 0, or where turned at exp(i pi) w: DLMF 10.34.1 and 10.34.2."""
    i, k = _scaled_ik(jnp.abs(v), w)
    turn = _turn(w.imag)
    down = jnp.conj(turn) * jnp.exp(-w.real)  # exp(-w)
    scaled = i * jnp.conj(turn)               # exp(-w) I
    sine = 2 / math.pi * cos_sin_pi(jnp.abs(v))[1]
    low = jnp.where((v < 0) & (sine != 0), scaled + sine * (k * down * down), scaled)
    back, minus_pi_i = _turn_pi(-jnp.abs(v)), _complex(0.0 * w.real, -math.pi)
    grown = jnp.exp(w.real)
    straight = {"i": _times(grown, low * turn), "iu": low, "k": k * down, "ke": k}
    left = {"i": straight["i"] * _turn_pi(v), "iu": low * _turn_pi(v),
            "k": back * straight["k"] + _times(grown, minus_pi_i * (scaled * turn)),
            "ke": back * (k * down * down) + minus_pi_i * scaled}
    return {kind: jnp.where(turned, left[kind], straight[kind]) for kind in straight}


def all_kinds(modified: bool, v: Any, z: Any) -> dict[str, Any]:
    """The functions of one family at finite complex128 z, not 0."""
    lower = z.imag < 0
    upper = jnp.where(lower, jnp.conj(z), z)
    if modified:
        left = z.real < 0
        found = _modified_family(v, jnp.where(left, -upper, upper), left)
    else:
        found = _hankel_family(v, upper)
    return {kind: jnp.where(lower, jnp.conj(found[_MIRRORED.get(kind, kind)]), found[kind]) for kind in found}


@_MIXED
def _value(kind: str, v: Any, z: Any) -> Any:
    usable = jnp.isfinite(z) & (z != 0) & (jnp.abs(v) <= LARGEST_ORDER)
    out = all_kinds(kind in _MODIFIED, jnp.where(usable, v, 0), jnp.where(usable, z, 1))[kind]
    return jnp.where(usable, out, jnp.where((z == 0) & ~jnp.isnan(v), _at_zero(kind, v), jnp.nan))


def _at_zero(kind: str, v: Any) -> Any:
    """Limits along the positive axis, as of real numbers; NaN for Hankel's functions, whose parts have different ones."""
    if kind in ("j", "ju", "i", "iu"):
        return j_at_zero(v)
    return y_at_zero(v) if kind in ("y", "yu") else jnp.inf if kind in ("k", "ke") else jnp.nan


# How derivatives follow from the neighbouring orders, and the exponent's share: f' = a (f[v - 1] + b f[v + 1]) + c f.
_SLOPES = {"j": (0.5, -1, 0), "y": (0.5, -1, 0), "h1": (0.5, -1, 0), "h2": (0.5, -1, 0), "h1e": (0.5, -1, -1j),
           "h2e": (0.5, -1, 1j), "ju": (0.5, -1, 1j), "yu": (0.5, -1, 1j), "i": (0.5, 1, 0), "iu": (0.5, 1, -1),
           "k": (-0.5, 1, 0), "ke": (-0.5, 1, 1)}
_MODIFIED = ("i", "iu", "k", "ke")


@functools.cache
def _function(kind: str, name: str) -> Callable[..., Any]:
    a, b, c = _SLOPES[kind]

    @_MIXED
    def slope(out: Any, v: Any, z: Any) -> Any:
        f = _function(kind, name)
        return a * (f(v - 1, z) + b * f(v + 1, z)) + c * out
    return fixed_orders(name, lambda v, z: _value(kind, v, z), slope)


_KINDS = {"jv": "j", "jn": "j", "yv": "y", "yn": "y", "hankel1": "h1", "hankel2": "h2", "hankel1e": "h1e", "hankel2e": "h2e",
          "iv": "i", "kv": "k", "kve": "ke", "kn": "k"}
_NAMES = {*_KINDS, "jve", "yve", "ive", *(f"spherical_{kind}n" for kind in "jyik")}


def takes(name: str, z: Any) -> bool:
    """Whether z is complex and the function of that name takes complex numbers.

    >>> takes("jv", 1j), takes("jv", 1.0), takes("j0", 1j)
    (True, False, False)
    """
    return name in _NAMES and dtypes.issubdtype(array_arg(name, z).dtype, np.complexfloating)


@_MIXED
def evaluated(name: str, v: Any, z: Any) -> Any:
    """The Bessel function of that name, of real order v and complex z. ValueError for complex v.

    >>> complex(evaluated("jv", 0.5, 2j)).imag.__round__(4)
    1.4469
    """
    v, z = order_and_point(name, v, z)
    if name in _KINDS:
        return _function(_KINDS[name], name)(v, z)
    return _of_modulus(name, v, z)


def order_and_point(name: str, v: Any, z: Any) -> tuple[Any, Any]:
    """The arguments as floats and complex numbers of the same precision and shape.

    >>> [str(x.dtype) for x in order_and_point("jv", 1, 1j)]
    ['float32', 'complex64']
    """
    v = floats(name, v)[0]
    dtype = promote_args_inexact(name, v, z)[1].dtype
    v, z = promote_shapes(name, jnp.astype(v, np.finfo(dtype).dtype), jnp.astype(jnp.asarray(z), dtype))
    order, point = jnp.broadcast_arrays(v, z)
    return order, point


@_MIXED
def spherical_value(kind: str, n: Any, z: Any) -> Any:
    """(pi / 2z)^(1/2) times the function of order n + 1/2, for complex128 z: DLMF 10.47.3, 10.47.4, 10.47.7 and 10.47.9.

    >>> from numjet.foundation.config import enable_x64
    >>> with enable_x64(True): complex(spherical_value("j", 0.0, jnp.array(1j))).real.__round__(4)
    1.1752
    """
    upper = _complex(z.real, jnp.abs(z.imag))  # with the sign of the zero for which both factors have the same branch
    at_zero = jnp.where(n == 0, 1, 0) if kind in "ji" else -jnp.inf if kind == "y" else jnp.inf
    safe = jnp.where(z == 0, 1, upper)
    out = math.sqrt(0.5 * math.pi) / jnp.sqrt(safe) * _value(kind, n + 0.5, safe)
    out = jnp.where(z == 0, at_zero, jnp.where(z.imag < 0, jnp.conj(out), out))
    return jnp.where((n < 0) | jnp.isnan(z), jnp.nan, out)


def _of_modulus(name: str, v: Any, z: Any) -> Any:
    """The functions whose factor is no analytic function: jve and yve have exp(-|Im z|), ive has exp(-|Re z|).

    They are products of an analytic function in a half plane with a factor of modulus 1, reflected into the other half."""
    lower = z.imag < 0
    upper = jnp.where(lower, jnp.conj(z), z)
    if name == "ive":
        left = z.real < 0
        w = jnp.where(left, -upper, upper)
        out = _function("iu", name)(v, w) * _turn(w.imag)
        out = jnp.where(left, out * _turn_pi(v), out)
    else:
        out = _function(name[0] + "u", name)(v, upper) * _turn(-upper.real)
    return jnp.where(lower, jnp.conj(out), out)
