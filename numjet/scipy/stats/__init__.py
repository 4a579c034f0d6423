"""Distributions and statistics under the names of scipy.stats, one module per distribution, as in `jax.scipy.stats`.
Imports `api`, `lax`, `numpy`, `random` and `special`.
Add a distribution as a module with its name, made of `publish`, `arguments` and `tails`; a statistic to `sample_statistics`.
"""

from numjet.numpy.core import taped as _taped
from numjet.scipy.stats import (
    bernoulli as bernoulli, beta as beta, betabinom as betabinom, binom as binom, cauchy as cauchy, chi2 as chi2,
    dirichlet as dirichlet, expon as expon, gamma as gamma, gennorm as gennorm, geom as geom, gumbel_l as gumbel_l,
    gumbel_r as gumbel_r, laplace as laplace, logistic as logistic, multinomial as multinomial,
    multivariate_normal as multivariate_normal, nbinom as nbinom, norm as norm, pareto as pareto, poisson as poisson, t as t,
    truncnorm as truncnorm, uniform as uniform, vonmises as vonmises, wrapcauchy as wrapcauchy,
)
from numjet.scipy.stats.kde import gaussian_kde as gaussian_kde
from numjet.scipy.stats.sample_statistics import mode as mode, rankdata as rankdata, sem as sem

for _distribution in (
        bernoulli, beta, betabinom, binom, cauchy, chi2, dirichlet, expon, gamma, gennorm, geom, gumbel_l, gumbel_r, laplace,
        logistic, multinomial, multivariate_normal, nbinom, norm, pareto, poisson, t, truncnorm, uniform, vonmises, wrapcauchy):
    _taped.library(vars(_distribution), numbers=True)
