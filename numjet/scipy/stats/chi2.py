"""The chi-square distribution with df degrees of freedom: gamma's with shape df / 2 and scale 2."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numjet import random
from numjet.scipy.stats import gamma
from numjet.scipy.stats.arguments import float_args
from numjet.scipy.stats.entropies import gamma_entropy
from numjet.scipy.stats.publish import example_of, publish
from numjet.scipy.stats.variables import Variable, positive


def _by_gamma(function: Callable[..., Any], value: float) -> Callable[..., Any]:
    """The function of gamma's module, with the arguments of the chi-square distribution."""
    name = function.__name__

    def of_chi2(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
        x, df, loc, scale = float_args(f"chi2.{name}", x, df, loc, scale)
        return function(x, df / 2, loc, 2 * scale)
    return publish(of_chi2, __name__, name, example_of(function), value)


logpdf = _by_gamma(gamma.logpdf, -2.011)
pdf = _by_gamma(gamma.pdf, 0.134)
cdf = _by_gamma(gamma.cdf, 0.465)
logcdf = _by_gamma(gamma.logcdf, -0.766)
sf = _by_gamma(gamma.sf, 0.535)
logsf = _by_gamma(gamma.logsf, -0.625)

ppf = _by_gamma(gamma.ppf, 6.045)
isf = _by_gamma(gamma.isf, 1.651)

_variable = Variable(__name__, ("df",), (3.0,), positive)
rvs = _variable.samples(lambda key, df, shape, dtype: 2 * random.gamma(key, 0.5 * df, shape, dtype))
mean = _variable.moment("mean", lambda df: df, 6.5)
var = _variable.moment("var", lambda df: 2 * df, 24.0)
std = _variable.moment("std", lambda df: 2 * df, 4.899, root=True)
entropy = _variable.moment("entropy", lambda df: math.log(2) + gamma_entropy(0.5 * df), 2.747)
