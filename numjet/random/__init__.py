"""Random numbers from explicit keys, under JAX's names: the same key gives the same numbers, everywhere.

Keys, bits, `uniform`, `randint` and `permutation` are those of JAX, bit for bit; the others up to rounding.

>>> from numjet import random
>>> key = random.key(0)
>>> key, here = random.split(key)
>>> random.uniform(here).shape
()
"""

# keys.py
from numjet.random.keys import PRNGKey as PRNGKey
from numjet.random.keys import clone as clone
from numjet.random.keys import fold_in as fold_in
from numjet.random.keys import key as key
from numjet.random.keys import key_data as key_data
from numjet.random.keys import key_dtype as key_dtype
from numjet.random.keys import key_impl as key_impl
from numjet.random.keys import split as split
from numjet.random.keys import wrap_key_data as wrap_key_data

# basic.py
from numjet.random.basic import bernoulli as bernoulli
from numjet.random.basic import bits as bits
from numjet.random.basic import normal as normal
from numjet.random.basic import rademacher as rademacher
from numjet.random.basic import randint as randint
from numjet.random.basic import uniform as uniform

# shuffle.py
from numjet.random.shuffle import categorical as categorical
from numjet.random.shuffle import choice as choice
from numjet.random.shuffle import permutation as permutation

# continuous.py
from numjet.random.continuous import cauchy as cauchy
from numjet.random.continuous import double_sided_maxwell as double_sided_maxwell
from numjet.random.continuous import exponential as exponential
from numjet.random.continuous import gumbel as gumbel
from numjet.random.continuous import laplace as laplace
from numjet.random.continuous import logistic as logistic
from numjet.random.continuous import lognormal as lognormal
from numjet.random.continuous import maxwell as maxwell
from numjet.random.continuous import pareto as pareto
from numjet.random.continuous import rayleigh as rayleigh
from numjet.random.continuous import triangular as triangular
from numjet.random.continuous import truncated_normal as truncated_normal
from numjet.random.continuous import wald as wald
from numjet.random.continuous import weibull_min as weibull_min

# gammas.py
from numjet.random.gammas import ball as ball
from numjet.random.gammas import beta as beta
from numjet.random.gammas import chisquare as chisquare
from numjet.random.gammas import dirichlet as dirichlet
from numjet.random.gammas import f as f
from numjet.random.gammas import gamma as gamma
from numjet.random.gammas import generalized_normal as generalized_normal
from numjet.random.gammas import loggamma as loggamma
from numjet.random.gammas import t as t

# counts.py
from numjet.random.counts import binomial as binomial
from numjet.random.counts import geometric as geometric
from numjet.random.counts import multinomial as multinomial
from numjet.random.counts import poisson as poisson

# multivariate.py
from numjet.random.multivariate import multivariate_normal as multivariate_normal
from numjet.random.multivariate import orthogonal as orthogonal
