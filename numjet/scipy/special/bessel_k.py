"""K of orders 0 and 1 by polynomials: of x squared up to 1, with the logarithms of DLMF 10.31.1; of (x - 3) / (x + 1) above."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special import chebyshev_tables as tables
from numjet.scipy.special.fixed_orders import fixed_orders, wide
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.horner import horner


def _near(order: int, x: Any) -> Any:
    """For 0 < x < 1. The terms of the sums are positive, but for the last of K0, which is smaller than the first."""
    square, log = jnp.square(x), jnp.log(0.5 * x)
    if order:
        return 1 / x + x * (log * horner(tables.I1_NEAR, square) + horner(tables.K1_NEAR, square))
    return horner(tables.K0_NEAR, square) - log * horner(tables.I0_NEAR, square)


def _far(order: int, x: Any) -> Any:
    """exp(x) K(x) for x >= 1."""
    return horner((tables.K0_FAR, tables.K1_FAR)[order], 1 - 4 / (x + 1)) / jnp.sqrt(x)


def _value(order: int, scaled: bool, x: Any) -> Any:
    near, usable = x < 1, (x > 0) & jnp.isfinite(x)
    below, above = jnp.where(near & usable, x, 0.5), jnp.where(near | ~usable, 1.0, x)
    small, large = _near(order, below), _far(order, above)
    out = jnp.where(near, small * jnp.exp(below), large) if scaled else jnp.where(near, small, large * jnp.exp(-above))
    out = jnp.where(x == 0, jnp.inf, jnp.where(x == jnp.inf, 0, out))
    return jnp.where((x < 0) | jnp.isnan(x), jnp.nan, out)


def _function(name: str, order: int, scaled: bool) -> Callable[..., Any]:
    """DLMF 10.29.3 and 10.29.2 for the derivatives."""
    def slope(out: Any, x: Any) -> Any:
        other = _FUNCTIONS[1 - order, scaled](x)
        return -other - (out / x if order else 0) + (out if scaled else 0)
    return fixed_orders(name, lambda x: _value(order, scaled, x), slope)


_NAMES = {(0, False): "k0", (1, False): "k1", (0, True): "k0e", (1, True): "k1e"}
_FUNCTIONS = {key: _function(name, *key) for key, name in _NAMES.items()}


def _evaluated(order: int, scaled: bool, x: Any) -> Any:
    x, = floats(_NAMES[order, scaled], x)
    return _FUNCTIONS[order, scaled](*wide(x)).astype(x.dtype)


def k0(x: Any) -> Any:
    """K[0](x), the modified Bessel function of the second kind; inf at 0, NaN for negative x. Derivatives of any order.

    >>> round(float(k0(1.0)), 4)
    0.421
    """
    return _evaluated(0, False, x)


def k1(x: Any) -> Any:
    """K[1](x); as k0.

    >>> round(float(k1(1.0)), 4)
    0.6019
    """
    return _evaluated(1, False, x)


def k0e(x: Any) -> Any:
    """K[0](x) exp(x); as k0.

    >>> round(float(k0e(1.0)), 4)
    1.1445
    """
    return _evaluated(0, True, x)


def k1e(x: Any) -> Any:
    """K[1](x) exp(x); as k0.

    >>> round(float(k1e(1.0)), 4)
    1.6362
    """
    return _evaluated(1, True, x)
