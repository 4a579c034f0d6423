"""Student's t distribution with df degrees of freedom."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.gamma_family import betaln
from numjet.scipy.stats.arguments import standard
from numjet.scipy.stats.publish import exp_of


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 3.0, 0.5, 2.0)), 3)
    -1.735
    """
    z, df, _, scale = standard("t.logpdf", x, df, loc, scale)
    return -betaln(0.5 * df, 0.5) - 0.5 * (df + 1) * jnp.log1p(jnp.square(z) / df) - 0.5 * jnp.log(df) - jnp.log(scale)


pdf = exp_of(logpdf, 0.176)
