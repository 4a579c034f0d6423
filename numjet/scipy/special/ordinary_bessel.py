"""Bessel and Hankel functions of real order; complex arguments go to complex_bessel.py."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import array_arg
from numjet.scipy.special import bessel_core, complex_bessel
from numjet.scipy.special.fixed_orders import cos_sin_pi, fixed_orders, largest, wide
from numjet.scipy.special.gamma_family import floats

_SERIES_OF_ONE, _LEAST = 1e-150, 2.0 ** -1000    # below, J is the first term of its series, and inverses overflow


def _signed(v: Any, x: Any, even: Any) -> Any:
    """The value at x from that at |x|: whole orders are even or odd, others NaN for negative x."""
    whole = v == jnp.round(v)
    odd = v - 2 * jnp.round(0.5 * v) != 0
    return jnp.where(x < 0, jnp.where(whole, jnp.where(odd, -even, even), jnp.nan), even)


def _without(factor: Any, value: Any) -> Any:
    """factor * value, 0 for a factor of 0 also where the value has overflowed."""
    return jnp.where(factor == 0, 0, factor * value)


# ------------------------------------------------------------------------------------------- J and Y

def _at_size(v: Any, size: Any, large: bool) -> bessel_core.Pair:
    """J[v] and Y[v] at size >= 0."""
    usable = (size > 0) & jnp.isfinite(size) & jnp.isfinite(v)
    nu = jnp.where(usable, jnp.abs(v), 0)
    safe = jnp.where(usable, size, 1)
    near, tiny = safe < _SERIES_OF_ONE, (safe < _LEAST) & ((nu == 0) | (nu >= 0.25))
    j, y = bessel_core.jy(nu, jnp.where(tiny, _LEAST, safe), large)
    small = jnp.where(near, safe, 1)
    j = jnp.where(near, jnp.exp(nu * (jnp.log(small) - math.log(2)) - special.lgamma(nu + 1)), j)    # DLMF 10.7.3
    ratio = jnp.where(tiny, safe / _LEAST, 1)
    y = jnp.where(nu == 0, y + 2 / math.pi * jnp.log(ratio), y / ratio ** nu)             # DLMF 10.7.2 and 10.7.4
    c, s = cos_sin_pi(nu)
    reflected = _without(c, j) - _without(s, y), _without(s, j) + _without(c, y)
    j, y = (jnp.where(v < 0, turned, straight) for turned, straight in zip(reflected, (j, y), strict=True))
    j = jnp.where(size == 0, bessel_core.j_at_zero(v), jnp.where(jnp.isinf(size), 0, j))
    y = jnp.where(size == 0, bessel_core.y_at_zero(v), jnp.where(jnp.isinf(size), 0, y))
    unknown = jnp.isnan(v + size) | jnp.isinf(v)
    return jnp.where(unknown, jnp.nan, j), jnp.where(unknown, jnp.nan, y)


def _j_value(v: Any, x: Any, large: bool) -> Any:
    return _signed(v, x, _at_size(v, jnp.abs(x), large)[0])


def _y_value(v: Any, x: Any, large: bool) -> Any:
    return jnp.where(x < 0, jnp.nan, _at_size(v, x, large)[1])


def _central(function: Callable[..., Any]) -> Callable[..., Any]:
    """DLMF 10.6.1: the derivative of J and Y."""
    return lambda out, v, x: 0.5 * (function(v - 1, x) - function(v + 1, x))


@functools.cache
def _both(large: bool) -> Callable[..., Any]:
    """J and Y at x >= 0, by one evaluation."""
    def slope(out: Any, v: Any, x: Any) -> Any:
        below, above = _both(large)(v - 1, x), _both(large)(v + 1, x)
        return tuple(0.5 * (b - a) for b, a in zip(below, above, strict=True))
    return fixed_orders("hankel", lambda v, x: _at_size(v, x, large), slope)


@functools.cache
def _j(large: bool) -> Callable[..., Any]:
    return fixed_orders("jv", lambda v, x: _j_value(v, x, large), lambda out, v, x: _central(_j(large))(out, v, x))


@functools.cache
def _y(large: bool) -> Callable[..., Any]:
    return fixed_orders("yv", lambda v, x: _y_value(v, x, large), lambda out, v, x: _central(_y(large))(out, v, x))


def _evaluated(name: str, choose: Callable[[bool], Callable[..., Any]], v: Any, x: Any) -> Any:
    if complex_bessel.takes(name, x):
        return complex_bessel.evaluated(name, v, x)
    bound = largest(v)
    v, x = floats(name, v, x)
    dtype = x.dtype
    return choose(bound > bessel_core.LARGE_ORDER)(*wide(v, x)).astype(dtype)


def integers(name: str, n: Any) -> Any:
    """The orders as an array. TypeError for what is not integer."""
    if not dtypes.issubdtype(array_arg(name, n).dtype, np.integer):
        raise TypeError(f"{name}: expected integers as the order, got {array_arg(name, n).dtype}; "
                        f"{name[0]}v takes real orders")
    return n


def jv(v: Any, z: Any) -> Any:
    """The Bessel function of the first kind, J[v](z), of real order v.

    v and z are broadcast; floats of any dtype, z also complex. NaN for negative floats z, but for whole v; complex ones are
    continued from the upper side of the negative axis. ValueError for complex v. Derivatives of any order to z;
    NotImplementedError for a derivative to v. Error: at most 30 eps for |v| <= 40, relative to the modulus (J^2 + Y^2)^(1/2)
    where z > v; for larger orders 2 eps times max(v, z) more, as the phase has. Algorithms: Temme's series, Miller's and
    Steed's methods, Hankel's, Debye's and Olver's expansions.

    For complex z at most 60 eps for |v| <= 40, |v| eps more for others, relative to the value's size plus the smaller of |H1|
    and |H2|; NaN for |v| > 1e5, for |z| > 1e6 with v^2 > 2 |z|, and at infinity.

    >>> round(float(jv(0.5, 2.0)), 4)
    0.513
    """
    return _evaluated("jv", _j, v, z)


def jn(n: Any, x: Any) -> Any:
    """J[n](x): another name of `jv`, as in SciPy.

    >>> round(float(jn(2, 1.0)), 4)
    0.1149
    """
    return jv(n, x)


def jve(v: Any, z: Any) -> Any:
    """J[v](z) exp(-|Im z|), which for real z is jv(v, z).

    >>> round(float(jve(0.5, 2.0)), 4)
    0.513
    """
    return _evaluated("jve", _j, v, z)


def yv(v: Any, z: Any) -> Any:
    """The Bessel function of the second kind, Y[v](z), of real order; at 0 its limit, -inf for v >= 0; NaN for negative z. Else
    as jv.

    >>> round(float(yv(0.5, 2.0)), 4)
    0.2348
    """
    return _evaluated("yv", _y, v, z)


def yn(n: Any, x: Any) -> Any:
    """Y[n](x) of integer order; TypeError for other orders.

    >>> round(float(yn(2, 1.0)), 4)
    -1.6507
    """
    return _evaluated("yn", _y, integers("yn", n), x)


def yve(v: Any, z: Any) -> Any:
    """Y[v](z) exp(-|Im z|), which for real z is yv(v, z).

    >>> round(float(yve(0.5, 2.0)), 4)
    0.2348
    """
    return _evaluated("yve", _y, v, z)


def j0(x: Any) -> Any:
    """J[0](x); precision and derivatives as of jv.

    >>> round(float(j0(1.0)), 4)
    0.7652
    """
    return _evaluated("j0", _j, 0, x)


def j1(x: Any) -> Any:
    """J[1](x); precision and derivatives as of jv.

    >>> round(float(j1(1.0)), 4)
    0.4401
    """
    return _evaluated("j1", _j, 1, x)


def y0(x: Any) -> Any:
    """Y[0](x); precision and derivatives as of yv.

    >>> round(float(y0(1.0)), 4)
    0.0883
    """
    return _evaluated("y0", _y, 0, x)


def y1(x: Any) -> Any:
    """Y[1](x); precision and derivatives as of yv.

    >>> round(float(y1(1.0)), 4)
    -0.7812
    """
    return _evaluated("y1", _y, 1, x)


# ------------------------------------------------------------------------------------------- Hankel's functions

def hankel1(v: Any, z: Any) -> Any:
    """Hankel's function of the first kind, J[v](z) + i Y[v](z): complex, for real v; NaN at 0.

    Precision and derivatives as of jv.

    >>> complex(hankel1(0.5, 2.0)).real.__round__(4)
    0.513
    """
    return _hankel("hankel1", v, z, 1)


def hankel2(v: Any, z: Any) -> Any:
    """Hankel's function of the second kind, J[v](z) - i Y[v](z); else as hankel1.

    >>> complex(hankel2(0.5, 2.0)).imag.__round__(4)
    -0.2348
    """
    return _hankel("hankel2", v, z, -1)


def hankel1e(v: Any, z: Any) -> Any:
    """hankel1(v, z) exp(-i z).

    >>> complex(hankel1e(0.5, 2.0)).imag.__round__(4)
    -0.5642
    """
    return _hankel("hankel1e", v, z, 1, turned=True)


def hankel2e(v: Any, z: Any) -> Any:
    """hankel2(v, z) exp(i z).

    >>> complex(hankel2e(0.5, 2.0)).imag.__round__(4)
    0.5642
    """
    return _hankel("hankel2e", v, z, -1, turned=True)


def _hankel(name: str, v: Any, z: Any, sign: int, turned: bool = False) -> Any:
    if complex_bessel.takes(name, z):
        return complex_bessel.evaluated(name, v, z)
    bound = largest(v)
    v, x = wide(*floats(name, v, z))
    large, size = bound > bessel_core.LARGE_ORDER, jnp.abs(x)
    j, y = (jnp.where(x == 0, jnp.nan, part) for part in _both(large)(v, size))
    y = sign * y
    # below the cut: H1(-z) = -exp(-i pi v) H2(z), H2(-z) = exp(i pi v) J(z) + 2 cos(pi v) J(z) - i exp(-i pi v) Y(z)
    c, s = cos_sin_pi(jnp.where(jnp.isfinite(v), v, 0))
    if sign > 0:
        below = s * y - c * j, s * j + c * y
    else:
        below = 3 * c * j + s * y, s * j + c * y
    j, y = jnp.where(x < 0, below[0], j), jnp.where(x < 0, below[1], y)
    if turned:
        c, s = jnp.cos(x), sign * jnp.sin(x)
        j, y = j * c + y * s, y * c - j * s
    return lax.complex(j, y)


# ------------------------------------------------------------------------------------------- spherical functions

def _spherical_value(kind: str, n: Any, x: Any, large: bool) -> Any:
    if x.dtype.kind == "c":
        return complex_bessel.spherical_value(kind, n, x)
    size = jnp.abs(x)
    usable = (size > 0) & jnp.isfinite(size)
    safe = jnp.where(usable, size, 1)
    root = jnp.sqrt(0.5 * math.pi / safe)
    if kind in "jy":
        found = bessel_core.jy(n + 0.5, safe, large)
    else:
        i, k = bessel_core.ik(n + 0.5, safe, large)
        half = jnp.exp(0.5 * safe)
        found = i * half * half, k / half / half
    out = root * found["jyik".index(kind) % 2]
    at_zero = {"j": jnp.where(n == 0, 1, 0), "y": -jnp.inf, "i": jnp.where(n == 0, 1, 0), "k": jnp.inf}[kind]
    at_infinity = {"j": 0, "y": 0, "i": jnp.inf, "k": 0}[kind]
    out = jnp.where(size == 0, at_zero, jnp.where(jnp.isinf(size), at_infinity, out))
    odd = n - 2 * jnp.floor(0.5 * n) != (1 if kind == "y" else 0)
    below = jnp.where(odd, -out, out)
    if kind == "k":  # DLMF 10.47.11 and 10.47.16
        below = jnp.where(usable, -below - math.pi * root * found[0], -jnp.inf)
    out = jnp.where(x < 0, below, out)
    return jnp.where((n < 0) | jnp.isnan(x), jnp.nan, out)


def _spherical_slope(kind: str, large: bool, n: Any, x: Any) -> Any:
    """DLMF 10.51.2 and 10.51.5."""
    above, sign = (-1, 1) if kind in "jy" else (1, -1 if kind == "k" else 1)
    f = _spherical(kind, large)
    before = jnp.where(n == 0, 0, n * f(jnp.maximum(n - 1, 0), x))
    return jnp.where(n < 0, jnp.nan, sign * (before + above * (n + 1) * f(n + 1, x)) / (2 * n + 1))


@functools.cache
def _spherical(kind: str, large: bool) -> Callable[..., Any]:
    return fixed_orders(f"spherical_{kind}n", lambda n, x: _spherical_value(kind, n, x, large),
                        lambda out, n, x: _spherical_slope(kind, large, n, x))


def _spherical_public(kind: str, n: Any, z: Any, derivative: bool) -> Any:
    name = f"spherical_{kind}n"
    if not dtypes.issubdtype(array_arg(name, n).dtype, np.integer):
        raise TypeError(f"{name}: expected integers as the order, got {array_arg(name, n).dtype}")
    bound = largest(n)
    n, x = complex_bessel.order_and_point(name, n, z) if complex_bessel.takes(name, z) else floats(name, n, z)
    dtype = x.dtype
    n, x = wide(n, x)
    large = bound > bessel_core.LARGE_ORDER
    out = _spherical_slope(kind, large, n, x) if derivative else _spherical(kind, large)(n, x)
    return out.astype(dtype)


def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the first kind, (pi / 2z)^(1/2) J[n + 1/2](z), or its derivative.

    n: integers >= 0 (NaN below; TypeError for others), which broadcast against z, real or complex. Precision as of
    jv; derivatives of any order to z.

    >>> round(float(spherical_jn(1, 2.0)), 4)
    0.4354
    """
    return _spherical_public("j", n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The spherical Bessel function of the second kind, (pi / 2z)^(1/2) Y[n + 1/2](z), or its derivative; as spherical_jn.

    >>> round(float(spherical_yn(1, 2.0)), 4)
    -0.3506
    """
    return _spherical_public("y", n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the first kind, (pi / 2z)^(1/2) I[n + 1/2](z); as spherical_jn.

    >>> round(float(spherical_in(1, 2.0)), 4)
    0.9744
    """
    return _spherical_public("i", n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """The modified spherical Bessel function of the second kind, (pi / 2z)^(1/2) K[n + 1/2](z); as spherical_jn.

    >>> round(float(spherical_kn(1, 2.0)), 4)
    0.1594
    """
    return _spherical_public("k", n, z, derivative)
