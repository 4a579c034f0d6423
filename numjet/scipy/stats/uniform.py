"""The uniform distribution on [loc, loc + scale]."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.stats.publish import LocationScale, exp_of, on_probabilities


def _log_density(z: Any, scale: Any) -> Any:
    return jnp.where((z < 0) | (z > 1), -jnp.inf, jnp.where(jnp.isnan(z), z, -jnp.log(scale)))


_uniform = LocationScale(__name__)
logpdf = _uniform.density(_log_density, -0.693)
pdf = exp_of(logpdf, 0.5)
cdf = _uniform.probability("cdf", lambda z: jnp.where(z < 0, 0.0, jnp.where(z > 1, 1.0, z)), 0.25)
ppf = _uniform.quantile("ppf", on_probabilities(lambda q: q), 2.0)
