"""The Cauchy distribution wrapped around the circle: angles in [0, 2 pi], concentrated by 0 < c < 1."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.stats.arguments import LOG_2PI, float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable


def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5)), 3)
    -1.783
    """
    x, c = float_args("wrapcauchy.logpdf", x, c)
    x = where_valid((c > 0) & (c < 1), x)
    x, set_outside = where_inside((x < 0) | (x > 2 * math.pi), 1.0, x, -math.inf)
    # 1 + c^2 - 2 c cos(x), without cancellation
    spread = jnp.square(1 - c) + 4 * c * jnp.square(jnp.sin(0.5 * x))
    return set_outside(jnp.log((1 - c) * (1 + c)) - LOG_2PI - jnp.log(spread))


pdf = exp_of(logpdf, 0.168)


def _sample(key: Any, c: Any, shape: Any, dtype: Any) -> Any:
    """Inversion, by the half angle: tan(x / 2) = (1 - c) / (1 + c) tan(pi u)."""
    half = math.pi * (random.uniform(key, shape, dtype) - 0.5)
    angle = 2 * jnp.arctan2((1 - c) * jnp.sin(half), (1 + c) * jnp.cos(half))
    return jnp.where(angle < 0, angle + 2 * math.pi, angle)


_variable = Variable(__name__, ("c",), (0.5,), lambda c: (c > 0) & (c < 1))
rvs = _variable.samples(_sample)
