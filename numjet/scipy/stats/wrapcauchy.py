"""The Cauchy distribution wrapped around the circle: angles in [0, 2 pi], concentrated by 0 < c < 1."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.scipy.stats.arguments import LOG_2PI, float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of


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
    return set_outside(jnp.log1p(-jnp.square(c)) - LOG_2PI - jnp.log(spread))


pdf = exp_of(logpdf, 0.168)
