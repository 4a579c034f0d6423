"""Student's t distribution with df degrees of freedom."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.gamma_family import betaln
from numjet.scipy.stats.arguments import LOG_2PI, log1p_square, standard, where_valid
from numjet.scipy.stats.publish import exp_of


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 3.0, 0.5, 2.0)), 3)
    -1.735
    """
    z, df, _, scale = standard("t.logpdf", x, df, loc, scale)
    df = where_valid(df > 0, df)
    normal = jnp.isinf(df)
    df = jnp.where(normal, 1.0, df)
    out = -betaln(0.5 * df, 0.5) - 0.5 * (df + 1) * log1p_square(z / jnp.sqrt(df)) - 0.5 * jnp.log(df)
    return jnp.where(normal, -0.5 * (jnp.square(z) + LOG_2PI), out) - jnp.log(scale)


pdf = exp_of(logpdf, 0.176)
