"""The multinomial distribution: the counts of several outcomes in n trials."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import random
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg
from numjet.scipy.special.gamma_family import gammaln
from numjet.scipy.special.probability import xlogy
from numjet.scipy.stats.arguments import float_args
from numjet.scipy.stats.variables import key_of, shape_of


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of the counts x; -inf for counts that are negative or whose sum is not n.

    x: integers and p: probabilities of shape (..., k); n: integers of shape (...). Batch shapes broadcast. ValueError for
    x and n that are no integers.

    >>> import numjet.numpy as jnp
    >>> round(float(logpmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75]))), 3)
    -0.863
    """
    counts, trials = array_arg("multinomial.logpmf", x), array_arg("multinomial.logpmf", n, 1)
    if any(v.dtype not in dtypes.INTEGRAL and v.dtype != np.bool_ for v in (counts, trials)):
        raise ValueError(f"x and n must be of integer type; got x.dtype={counts.dtype}, n.dtype={trials.dtype}. "
                         "Convert whole numbers with x.astype(int).")
    outside = (jnp.sum(counts, axis=-1) != trials) | jnp.any(counts < 0, axis=-1)
    p, = float_args("multinomial.logpmf", p)
    safe, size = jnp.where(jnp.expand_dims(outside, -1), 0, counts).astype(p.dtype), trials.astype(p.dtype)
    out = gammaln(size + 1) + jnp.sum(xlogy(safe, p) - gammaln(safe + 1), axis=-1)
    return jnp.where(outside, -jnp.inf, out)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x; arguments as of logpmf.

    >>> import numjet.numpy as jnp
    >>> round(float(pmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75]))), 3)
    0.422
    """
    return jnp.exp(logpmf(x, n, p))


def rvs(n: Any, p: Any, size: Any = None, random_state: Any = None) -> Any:
    """Independent counts of n trials, integers of shape (*size, ..., k) for p of shape (..., k) and n of shape (...).

    size: static; None for one sample. random_state: a key, as of numjet.random.key; TypeError for others.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> rvs(10, jnp.array([0.25, 0.75]), (5,), random.key(0)).sum(axis=1)
    Array([10, 10, 10, 10, 10], dtype=int32)
    """
    key = key_of("multinomial.rvs", random_state)
    p, = float_args("multinomial.rvs", p)
    trials = array_arg("multinomial.rvs", n, 1)
    batch = jnp.broadcast_shapes(p.shape[:-1], trials.shape)
    shape = (*(() if size is None else shape_of(size)), *batch, p.shape[-1])
    found = random.multinomial(key, trials.astype(p.dtype), p, shape=shape, dtype=p.dtype)
    return found.astype(int)
