"""The geometric distribution: the number of trials, of probability p each, up to the first success."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.probability import xlog1py, xlogy
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable, counts


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc <= 0.

    >>> round(float(logpmf(2, 0.25)), 3)
    -1.674
    """
    k, p, loc = float_args("geom.logpmf", k, p, loc)
    x = where_valid((p > 0) & (p <= 1), k - loc)
    x, set_outside = where_inside(x <= 0, 1.0, x, -math.inf)
    return set_outside(xlog1py(x - 1, -p) + jnp.log(p))


pmf = exp_of(logpmf, 0.188)

_variable = Variable(__name__, ("p",), (0.25,), lambda p: (p > 0) & (p <= 1), scaled=False)
rvs = _variable.samples(counts(lambda key, p, shape: random.geometric(key, p, shape)))
mean = _variable.moment("mean", lambda p: 1 / p, 4.5)
var = _variable.moment("var", lambda p: (1 - p) / (p * p), 12.0)
std = _variable.moment("std", lambda p: (1 - p) / (p * p), 3.464, root=True)
entropy = _variable.moment("entropy", lambda p: -(xlogy(p, p) + xlog1py(1 - p, -p)) / p, 2.249)
