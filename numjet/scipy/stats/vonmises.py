"""The von Mises distribution of angles, with concentration kappa around 0."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.integrals import i0e
from numjet.scipy.stats.arguments import LOG_2PI, float_args
from numjet.scipy.stats.publish import exp_of


def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density; NaN for negative kappa.

    >>> round(float(logpdf(1.0, 2.0)), 3)
    -1.581
    """
    x, kappa = float_args("vonmises.logpdf", x, kappa)
    cosine_less_1 = -2 * jnp.square(jnp.sin(0.5 * x))
    out = kappa * cosine_less_1 - LOG_2PI - jnp.log(i0e(kappa))
    return jnp.where(kappa >= 0, out, jnp.nan)


pdf = exp_of(logpdf, 0.206)
