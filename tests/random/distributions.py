"""Every sampler with the distribution that its numbers should have: SciPy's distribution functions and probabilities."""
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import numjet.numpy as jnp
from numjet import random

Cdf = Callable[[np.ndarray], np.ndarray]

_COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]], np.float32)


def _maxwell_of_two_sides(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, 0.5 * stats.maxwell.sf(-x), 0.5 + 0.5 * stats.maxwell.cdf(x))


# Name: draw(key, shape) and the distribution function. Vectors give one number each, whose distribution is known.
CONTINUOUS: dict[str, tuple[Callable[[Any, Any], Any], Cdf]] = {
    "ball": (lambda k, s: (random.ball(k, 3, 2, s) ** 2).sum(-1) ** 1.5, stats.uniform().cdf),
    "beta": (lambda k, s: random.beta(k, 0.7, 2.5, s), stats.beta(0.7, 2.5).cdf),
    "cauchy": (random.cauchy, stats.cauchy().cdf),
    "chisquare": (lambda k, s: random.chisquare(k, 3.0, s), stats.chi2(3.0).cdf),
    "dirichlet": (lambda k, s: random.dirichlet(k, jnp.array([1.5, 0.5, 2.0]), s)[..., 0], stats.beta(1.5, 2.5).cdf),
    "double_sided_maxwell": (lambda k, s: random.double_sided_maxwell(k, 0.0, 1.0, s), _maxwell_of_two_sides),
    "exponential": (random.exponential, stats.expon().cdf),
    "f": (lambda k, s: random.f(k, 4.0, 7.0, s), stats.f(4.0, 7.0).cdf),
    "gamma": (lambda k, s: random.gamma(k, 0.6, s), stats.gamma(0.6).cdf),
    "gamma of a large shape": (lambda k, s: random.gamma(k, 40.0, s), stats.gamma(40.0).cdf),
    "generalized_normal": (lambda k, s: random.generalized_normal(k, 1.5, s), stats.gennorm(1.5).cdf),
    "gumbel": (random.gumbel, stats.gumbel_r().cdf),
    "gumbel of two numbers": (lambda k, s: random.gumbel(k, s, mode="high"), stats.gumbel_r().cdf),
    "laplace": (random.laplace, stats.laplace().cdf),
    "loggamma": (lambda k, s: jnp.exp(random.loggamma(k, 0.3, s)), stats.gamma(0.3).cdf),
    "logistic": (random.logistic, stats.logistic().cdf),
    "lognormal": (lambda k, s: random.lognormal(k, 0.5, s), stats.lognorm(0.5).cdf),
    "maxwell": (random.maxwell, stats.maxwell().cdf),
    "multivariate_normal": (lambda k, s: random.multivariate_normal(k, jnp.array([1.0, -1.0]), _COVARIANCE, s).sum(-1),
                            stats.norm(0, np.sqrt(4.2)).cdf),
    "normal": (random.normal, stats.norm().cdf),
    "complex normal": (lambda k, s: abs(random.normal(k, s, "complex64")) ** 2, stats.expon().cdf),
    "orthogonal": (lambda k, s: random.orthogonal(k, 3, s)[..., 1, 2], lambda x: (x + 1) / 2),
    "pareto": (lambda k, s: random.pareto(k, 2.5, s), stats.pareto(2.5).cdf),
    "rayleigh": (lambda k, s: random.rayleigh(k, 2.0, s), stats.rayleigh(scale=2.0).cdf),
    "t": (lambda k, s: random.t(k, 4.0, s), stats.t(4.0).cdf),
    "triangular": (lambda k, s: random.triangular(k, -1.0, 0.5, 2.0, s), stats.triang(0.5, -1.0, 3.0).cdf),
    "truncated_normal": (lambda k, s: random.truncated_normal(k, -1.0, 2.0, s), stats.truncnorm(-1.0, 2.0).cdf),
    "uniform": (lambda k, s: random.uniform(k, s, minval=-1.0, maxval=3.0), stats.uniform(-1.0, 4.0).cdf),
    "wald": (lambda k, s: random.wald(k, 1.5, s), stats.invgauss(1.5, scale=1.0).cdf),
    "weibull_min": (lambda k, s: random.weibull_min(k, 2.0, 1.5, s), stats.weibull_min(1.5, scale=2.0).cdf),
}

_WEIGHTS = np.array([0.1, 0.4, 0.2, 0.3])
_LOGITS = np.log(_WEIGHTS).astype(np.float32)


def _weight(k: np.ndarray) -> np.ndarray:
    return np.where((k >= 0) & (k < 4), _WEIGHTS[np.clip(k, 0, 3)], 0.0)


def _even(n: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda k: np.where((k >= 0) & (k < n), 1 / n, 0.0)


# Name: draw(key, shape) and the probability of each count.
DISCRETE: dict[str, tuple[Callable[[Any, Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "bernoulli": (lambda k, s: random.bernoulli(k, 0.3, s), stats.bernoulli(0.3).pmf),
    "bernoulli of two numbers": (lambda k, s: random.bernoulli(k, 0.3, s, "high"), stats.bernoulli(0.3).pmf),
    "binomial of a small mean": (lambda k, s: random.binomial(k, 12.0, 0.3, s), stats.binom(12, 0.3).pmf),
    "binomial of a large mean": (lambda k, s: random.binomial(k, 200.0, 0.6, s), stats.binom(200, 0.6).pmf),
    "bits": (lambda k, s: random.bits(k, s, "uint8"), _even(256)),
    "bits of a word": (lambda k, s: random.bits(k, s, "uint32") >> 24, _even(256)),
    "categorical": (lambda k, s: random.categorical(k, _LOGITS, shape=s), _weight),
    "categorical of two numbers": (lambda k, s: random.categorical(k, _LOGITS, shape=s, mode="high"), _weight),
    "choice": (lambda k, s: random.choice(k, 6, s), _even(6)),
    "choice by weights": (lambda k, s: random.choice(k, 4, s, p=_WEIGHTS.astype(np.float32)), _weight),
    "geometric": (lambda k, s: random.geometric(k, 0.25, s), stats.geom(0.25).pmf),
    "multinomial": (lambda k, s: random.multinomial(k, 20.0, _WEIGHTS.astype(np.float32), shape=(*s, 4))[..., 1],
                    stats.binom(20, 0.4).pmf),
    "poisson of a small mean": (lambda k, s: random.poisson(k, 3.5, s), stats.poisson(3.5).pmf),
    "poisson of a large mean": (lambda k, s: random.poisson(k, 50.0, s), stats.poisson(50.0).pmf),
    "rademacher": (lambda k, s: (random.rademacher(k, s) + 1) // 2, _even(2)),
    "randint": (lambda k, s: random.randint(k, s, 0, 7), _even(7)),
    "randint of bytes": (lambda k, s: random.randint(k, s, 0, 200, "uint8"), _even(200)),
}
# Samplers of arrangements: the place of the first of four elements in many draws.
ARRANGEMENTS: dict[str, Callable[[Any], Any]] = {
    "permutation": lambda k: random.permutation(k, 4),
    "permutation of rows": lambda k: random.permutation(k, jnp.arange(4).reshape(4, 1)).reshape(4),
    "choice without replacement": lambda k: random.choice(k, 4, (4,), replace=False),
    "categorical without replacement": lambda k: random.categorical(k, jnp.zeros(4), shape=(4,), replace=False),
}
