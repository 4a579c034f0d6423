"""The geometric distribution: the number of trials, of probability p each, up to the first success."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special.probability import xlog1py
from numjet.scipy.stats.arguments import where_inside, where_valid
from numjet.scipy.stats.publish import exp_of


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc <= 0.

    >>> round(float(logpmf(2, 0.25)), 3)
    -1.674
    """
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    x = where_valid((p > 0) & (p <= 1), k - loc)
    x, set_outside = where_inside(x <= 0, 1.0, x, -math.inf)
    return set_outside(xlog1py(x - 1, -p) + jnp.log(p))


pmf = exp_of(logpmf, 0.188)
