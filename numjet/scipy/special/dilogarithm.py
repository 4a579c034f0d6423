"""Series of Spence's function, the dilogarithm of 1 - x, for real and for complex numbers."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.gamma_family import _bernoulli_numbers
from numjet.scipy.special.horner import horner

_NEAR_ONE, _SLOPE_TERMS = 0.125, 18

# Debye's series of the dilogarithm: Li2(1 - exp(-u)) = sum of B_k u^(k + 1) / (k + 1)!
DEBYE = [float(b / math.factorial(k + 1)) for k, b in enumerate(_bernoulli_numbers(29))]


def spence_slope(x: Any) -> Any:
    """The derivative log(x) / (1 - x); a power series near 1, where the derivatives of the quotient cancel.

    >>> float(spence_slope(jnp.array(1.0)))
    -1.0
    """
    near, endless = abs(x - 1) < _NEAR_ONE, x == jnp.inf
    quotient = jnp.log(jnp.where(near | endless, 2, x)) / (1 - jnp.where(near | endless, 2, x))
    series = horner([(-1) ** (k + 1) / (k + 1) for k in range(_SLOPE_TERMS)], jnp.where(near, x - 1, 0))
    return jnp.where(near, series, jnp.where(endless, 0, quotient))
