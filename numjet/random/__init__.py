"""Random numbers from explicit keys, under JAX's names: the same key gives the same numbers, everywhere.
Keys, bits, `uniform`, `randint` and `permutation` are those of JAX, bit for bit; the others up to rounding.
Imports `api`, `lax` and `numpy`. Add a distribution to the file of its kind, made of `samplers`, and its name here.

>>> from numjet import random
>>> key = random.key(0)
>>> key, here = random.split(key)
>>> random.uniform(here).shape
()
"""

from numjet.random import block_generators as _block_generators, key_attributes as _key_attributes  # noqa: F401
from numjet.random.basic import (
    bernoulli as bernoulli, bits as bits, normal as normal, rademacher as rademacher, randint as randint, uniform as uniform,
)
from numjet.random.continuous import (
    cauchy as cauchy, double_sided_maxwell as double_sided_maxwell, exponential as exponential, gumbel as gumbel,
    laplace as laplace, logistic as logistic, lognormal as lognormal, maxwell as maxwell, pareto as pareto,
    rayleigh as rayleigh, triangular as triangular, truncated_normal as truncated_normal, wald as wald,
    weibull_min as weibull_min,
)
from numjet.random.counts import binomial as binomial, geometric as geometric, multinomial as multinomial, poisson as poisson
from numjet.random.gammas import (
    ball as ball, beta as beta, chisquare as chisquare, dirichlet as dirichlet, f as f, gamma as gamma,
    generalized_normal as generalized_normal, loggamma as loggamma, t as t,
)
from numjet.random.keys import (
    PRNGKey as PRNGKey, clone as clone, fold_in as fold_in, key as key, key_data as key_data, key_dtype as key_dtype,
    key_impl as key_impl, split as split, wrap_key_data as wrap_key_data,
)
from numjet.random.multivariate import multivariate_normal as multivariate_normal, orthogonal as orthogonal
from numjet.random.shuffle import categorical as categorical, choice as choice, permutation as permutation
