"""Modified Bessel functions of real order; derivatives of all Bessel functions by name."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special import bessel_core, ordinary_bessel
from numjet.scipy.special.fixed_orders import cos_sin_pi, fixed_orders
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.ordinary_bessel import _evaluated, _signed, _without, integers


def _i_value(v: Any, x: Any, large: bool, scaled: bool) -> Any:
    size = jnp.abs(x)
    usable = (size > 0) & jnp.isfinite(size) & jnp.isfinite(v)
    nu, safe = jnp.where(usable, jnp.abs(v), 0), jnp.where(usable, size, 1)
    i, k = bessel_core.ik(nu, safe, large)
    # I[-v] = I[v] + 2 / pi sin(pi v) K[v]
    sine = cos_sin_pi(nu)[1]
    half = jnp.exp(-safe) if scaled else jnp.exp(-0.5 * safe)
    i, k = (i, k * half * half) if scaled else (i / half / half, k * half * half)
    out = jnp.where(v < 0, i + _without(2 / math.pi * sine, k), i)
    out = jnp.where(x == 0, bessel_core.j_at_zero(v), jnp.where(jnp.isinf(size), 0 if scaled else jnp.inf, out))
    return jnp.where(jnp.isnan(v + x) | jnp.isinf(v), jnp.nan, _signed(v, x, out))


def _k_value(v: Any, x: Any, large: bool, scaled: bool) -> Any:
    usable = (x > 0) & jnp.isfinite(x) & jnp.isfinite(v)
    safe = jnp.where(usable, x, 1)
    _, k = bessel_core.ik(jnp.where(usable, jnp.abs(v), 0), safe, large)
    half = jnp.exp(-0.5 * safe)
    out = k if scaled else k * half * half
    out = jnp.where(x == 0, jnp.inf, jnp.where(x == jnp.inf, 0, out))
    return jnp.where((x < 0) | jnp.isnan(v + x) | jnp.isinf(v), jnp.nan, out)


@functools.cache
def _i(large: bool, scaled: bool) -> Callable[..., Any]:
    def slope(out: Any, v: Any, x: Any) -> Any:
        """DLMF 10.29.1."""
        f = _i(large, scaled)
        mean = 0.5 * (f(v - 1, x) + f(v + 1, x))
        return mean - jnp.sign(x) * out if scaled else mean
    return fixed_orders("ive" if scaled else "iv", lambda v, x: _i_value(v, x, large, scaled), slope)


@functools.cache
def _k(large: bool, scaled: bool) -> Callable[..., Any]:
    def slope(out: Any, v: Any, x: Any) -> Any:
        f = _k(large, scaled)
        mean = -0.5 * (f(v - 1, x) + f(v + 1, x))
        return mean + out if scaled else mean
    return fixed_orders("kve" if scaled else "kv", lambda v, x: _k_value(v, x, large, scaled), slope)


_iv, _ive = (lambda large: _i(large, False)), (lambda large: _i(large, True))
_kv, _kve = (lambda large: _k(large, False)), (lambda large: _k(large, True))


def iv(v: Any, z: Any) -> Any:
    """The modified Bessel function of the first kind, I[v](z), of real order v.

    v and z are broadcast; floats of any dtype, z also complex. NaN for negative floats z, but for whole v; complex ones are
    continued from the upper side of the negative axis. ValueError for complex v. Derivatives of any order to z;
    NotImplementedError for a derivative to v. Error: at most 20 eps for |v| <= 40 and the scaled function; eps times z more for
    iv, and 2 eps times v for larger orders, as the exponents have. Algorithms: Temme's series and continued fraction with the
    Wronskian, Hankel's and Debye's expansions. For complex z: as jv.

    >>> round(float(iv(0.5, 2.0)), 4)
    2.0462
    """
    return _evaluated("iv", _iv, v, z)


def ive(v: Any, z: Any) -> Any:
    """I[v](z) exp(-|Re z|); as iv.

    >>> round(float(ive(0.5, 2.0)), 4)
    0.2769
    """
    return _evaluated("ive", _ive, v, z)


def kv(v: Any, z: Any) -> Any:
    """The modified Bessel function of the second kind, K[v](z), of real order; inf at 0, NaN for negative z. Else as iv.

    >>> round(float(kv(0.5, 2.0)), 4)
    0.1199
    """
    return _evaluated("kv", _kv, v, z)


def kve(v: Any, z: Any) -> Any:
    """K[v](z) exp(z); as kv.

    >>> round(float(kve(0.5, 2.0)), 4)
    0.8862
    """
    return _evaluated("kve", _kve, v, z)


def kn(n: Any, x: Any) -> Any:
    """K[n](x) of integer order; TypeError for other orders.

    >>> round(float(kn(2, 1.0)), 4)
    1.6248
    """
    return _evaluated("kn", _kv, integers("kn", n), x)


# ------------------------------------------------------------------------------------------- derivatives by name

def _derivative(name: str, function: Callable[..., Any], v: Any, z: Any, n: int, sign: int, scale: int = 1) -> Any:
    """DLMF 10.6.7 and 10.29.5: the n-th derivative from orders v - n to v + n, of halves in single precision, rounded once."""
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"{name}: expected an order of the derivative n >= 0, got {count}")
    dtype = promote_args_inexact(name, v, z)[0].dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    order, z = _real_order(name, v, np.finfo(wide).dtype), jnp.astype(jnp.asarray(z), wide)
    rank = max(order.ndim, z.ndim)
    order, z = (x.reshape((1,) * (1 + rank - x.ndim) + x.shape) for x in (order, z))
    beside = (count + 1,) + (1,) * rank
    shifts = np.array(range(-count, count + 1, 2), order.dtype).reshape(beside)
    values = function(order + shifts, z)  # one program for all orders
    factors = np.array([math.comb(count, k) * sign ** k for k in range(count + 1)], values.dtype).reshape(beside)
    out = (factors * values).sum(0) * ((0.5 * scale) ** count)
    return out.astype(dtype) if dtype.itemsize == 2 and not jnp.iscomplexobj(out) else out


def _real_order(name: str, v: Any, dtype: np.dtype) -> Any:
    """The order as floats, constant where it is known: programs for small orders are smaller."""
    real, = floats(name, v)
    return real.astype(dtype) if isinstance(v, Tracer) else np.asarray(v, dtype)


def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of jv to z; n: a static integer (ValueError if negative).

    >>> round(float(jvp(0, 1.0)), 4)
    -0.4401
    """
    return _derivative("jvp", ordinary_bessel.jv, v, z, n, -1)


def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of yv to z.

    >>> round(float(yvp(0, 1.0)), 4)
    0.7812
    """
    return _derivative("yvp", ordinary_bessel.yv, v, z, n, -1)


def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of iv to z.

    >>> round(float(ivp(0, 1.0)), 4)
    0.5652
    """
    return _derivative("ivp", iv, v, z, n, 1)


def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of kv to z.

    >>> round(float(kvp(0, 1.0)), 4)
    -0.6019
    """
    return _derivative("kvp", kv, v, z, n, 1, -1)


def h1vp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of hankel1 to z.

    >>> complex(h1vp(0, 1.0)).imag.__round__(4)
    0.7812
    """
    return _derivative("h1vp", ordinary_bessel.hankel1, v, z, n, -1)


def h2vp(v: Any, z: Any, n: int = 1) -> Any:
    """The n-th derivative of hankel2 to z.

    >>> complex(h2vp(0, 1.0)).imag.__round__(4)
    -0.7812
    """
    return _derivative("h2vp", ordinary_bessel.hankel2, v, z, n, -1)
