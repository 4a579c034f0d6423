"""The gamma distribution, and those derived from it.

For half dtypes the random numbers are drawn in halves, as in JAX, and all else is computed in float32 and rounded once at
the end: powers like u ** (1 / a) would multiply the rounding errors of halves by 1 / a.
"""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes, tree
from numjet.lax.elementwise import arithmetic, bits, compare, convert, special, transcendental
from numjet.lax.reduction.reduce import reduce_max, reduce_sum
from numjet.lax.shape import create, rearrange as shapes
from numjet.numpy.core.promotion import broadcast_to
from numjet.random import samplers
from numjet.random.arguments import as_float, draw_floats, float_dtype, placed, shape_of
from numjet.random.compiled import compiled
from numjet.random.key_bits import Shape, Words, single, split_array, split_words, words

_log, _exp = transcendental.log, transcendental.exp


# -------------------------------------------------------------------------------------------- the sampler

def _keep(mask: Any, new: Any, old: Any) -> Any:
    return tree.tree_map(lambda n, o: compare.select(mask, n, o), new, old)


def _wide(x: Any) -> Any:
    """Halves as float32, the computing dtype; other floats as they are."""
    return convert.convert_dtype(x, dtypes.float32) if x.dtype.itemsize < 4 else x


def _positive_cube_root(pair: Words, c: Any, drawn: np.dtype) -> tuple[Any, Any]:
    """Normal numbers x, drawn in the dtype `drawn` until v = 1 + c x is positive; x and v."""
    dtype, target = c.dtype, c.shape

    def draw(state: Any) -> Any:
        last, _, v = state
        rest, here = split_words(last, 2)
        fresh = _wide(samplers.normal(here, target, drawn))
        return _keep(v <= 0, (rest, fresh, 1 + fresh * c), state)

    start = (pair, create.full(target, dtype.type(0)), create.full(target, dtype.type(-1)))
    return samplers.draw_while(lambda s: samplers.anywhere(s[2] <= 0), draw, start, c)[1:]


def _squeeze(pair: Words, d: Any, drawn: np.dtype) -> Any:
    """V of Marsaglia and Tsang: d V has the gamma distribution of shape d + 1/3, for d >= 2/3."""
    dtype, target = d.dtype, d.shape
    c = dtype.type(1 / 3) / arithmetic.sqrt(d)

    def draw(state: Any) -> Any:
        last, refused, _ = state
        rest, for_x, for_u = split_words(last, 3)
        x, v = _positive_cube_root(for_x, c, drawn)
        x2, v, u = x * x, v * v * v, _wide(samplers.unit(for_u, target, drawn))
        again = (u >= 1 - 0.0331 * (x2 * x2)) & (_log(u) >= x2 * 0.5 + d * (1 - v + _log(v)))
        return _keep(refused, (rest, again, v), state)

    start = (pair, create.full(target, np.bool_(True)), create.full(target, dtype.type(1)))
    return samplers.draw_while(lambda s: samplers.anywhere(s[1]), draw, start, d)[2]


def _raw(pair: Words, a: Any, log: bool, drawn: np.dtype) -> Any:
    """Samples (their logarithms with `log`) of shape parameters a[n], of the words of one key, by numbers of dtype `drawn`."""
    dtype = a.dtype
    each = split_array(pair, a.shape)
    large = a >= 1
    d = compare.select(large, a, a + 1) - dtype.type(1 / 3)
    for_v, for_boost = split_words(each, 2)
    v = _squeeze(for_v, d, drawn)
    if not log:
        boost = arithmetic.pow(1 - _wide(samplers.unit(for_boost, a.shape, drawn)), 1 / a)
        return d * v * compare.select(large, create.full_like(boost, 1), boost)
    exponent = -_wide(samplers.exponential(for_boost, a.shape, drawn))
    boost = compare.select(large | (exponent == 0), create.full_like(exponent, 0), exponent * (1 / a))
    return _log(d) + _log(v) + boost


@cache
def _sampler(log: bool, drawn: np.dtype) -> Any:
    """The sampler, differentiable in a by implicit reparameterization: a sample moves such that its quantile stays."""
    @custom_jvp
    def sample(pair: Words, a: Any) -> Any:
        return shapes.reshape(_raw(pair, shapes.reshape(a, (a.size,)), log, drawn), a.shape)

    @sample.defjvp
    def sample_jvp(primals: Any, tangents: Any) -> Any:
        out = sample(*primals)
        return out, tangents[1] * _slope(primals[1], out, log)

    return sample


def _slope(a: Any, out: Any, log: bool) -> Any:
    """The derivative by a of samples, or of their logarithms.

    Of tiny ones by the first term of the distribution function, x**a / Gamma(a + 1): log(x) has (digamma(a + 1) - log(x)) / a.
    """
    value = _exp(out) if log else out
    tiny = value < 2.0**20 * np.finfo(out.dtype).tiny
    x = compare.select(tiny, create.full_like(value, 1), value)
    slope = special.random_gamma_grad(a, x)
    if log:
        return compare.select(tiny, (special.digamma(a + 1) - out) / a, slope / x)
    gone = value == 0
    logarithm = _log(compare.select(gone, create.full_like(value, 1), value))
    return compare.select(tiny, value * (special.digamma(a + 1) - logarithm) / a, slope)


def sample(pair: Words, a: Any, shape: Shape, log: bool, dtype: np.dtype) -> Any:
    """Gamma samples (or their logarithms) of an array of shape parameters, for results of `dtype`; float32 for halves."""
    return _sampler(log, dtype)(pair, broadcast_to(a, shape))


def _parameter(value: Any, dtype: np.dtype) -> Any:
    """A parameter, rounded to the dtype of the result."""
    return _wide(as_float(value, dtype))


# -------------------------------------------------------------------------------------------- gamma

@compiled
def _gamma(key: Any, a: Any, *, shape: Shape, dtype: np.dtype, log: bool) -> Any:
    return as_float(sample(words(key), _parameter(a, dtype), shape, log, dtype), dtype)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Gamma numbers of shape parameter a > 0 and scale 1; shape: default that of a. Differentiable in a.

    Source: Marsaglia, Tsang: A simple method for generating gamma variables, 2000. Derivative: Figurnov, Mohamed, Mnih:
    Implicit reparameterization gradients, 2018. Known shortcoming: tiny samples of small a underflow, see loggamma.

    >>> from numjet import random
    >>> bool((gamma(random.key(0), 2.0, (3,)) > 0).all())
    True
    """
    return draw_floats("gamma", _gamma, key, shape, dtype, out_sharding, a, log=False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Logarithms of gamma numbers, accurate for small a, too. As `gamma`, though not the same numbers for a < 1.

    >>> from numjet import random
    >>> loggamma(random.key(0), 1e-3, (3,)).shape
    (3,)
    """
    return draw_floats("loggamma", _gamma, key, shape, dtype, out_sharding, a, log=True)


# -------------------------------------------------------------------------------------------- derived distributions

@compiled
def _beta(key: Any, a: Any, b: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    pairs = zip(split_words(words(key), 2), (a, b), strict=True)
    logs = [sample(pair, _parameter(x, dtype), shape, True, dtype) for pair, x in pairs]
    top = compare.max(*logs)
    first, second = (_exp(x - top) for x in logs)
    return as_float(first / (first + second), dtype)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Beta numbers in [0, 1] of parameters a, b > 0, which broadcast to `shape` (the default). Differentiable in both.

    >>> from numjet import random
    >>> x = beta(random.key(0), 2.0, 3.0, (100,))
    >>> bool(((x >= 0) & (x <= 1)).all())
    True
    """
    return draw_floats("beta", _beta, key, shape, dtype, out_sharding, a, b)


@compiled
def _dirichlet(key: Any, alpha: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    alpha = _parameter(alpha, dtype)
    logs = sample(words(key), alpha, (*shape, alpha.shape[-1]), True, dtype)
    last = logs.ndim - 1
    weights = _exp(logs - bits.stop_gradient(shapes.expand_dims(reduce_max(logs, (last,)), (last,))))
    return as_float(weights / shapes.expand_dims(reduce_sum(weights, (last,)), (last,)), dtype)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Dirichlet vectors, which sum to 1, of parameters alpha[..., n]; shape: of the batch, default that of alpha.

    ValueError for alpha of rank 0.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> dirichlet(random.key(0), jnp.ones(3), (2,)).shape
    (2, 3)
    """
    found = float_dtype("dirichlet", dtype)
    if not np.ndim(alpha):
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    batch = np.shape(alpha)[:-1]
    target = batch if shape is None else shape_of("dirichlet", shape)
    if shapes.broadcast_shapes(target, batch) != target:
        raise ValueError(f"dirichlet: expected alpha of a batch shape that broadcasts to shape={target}, got {batch}")
    return placed(_dirichlet(single("dirichlet", key), alpha, shape=target, dtype=found), out_sharding)


@compiled
def _t(key: Any, df: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    first, second = split_words(words(key), 2)
    half = _parameter(df, dtype) / 2
    spread = arithmetic.sqrt(half / sample(second, half, shape, False, dtype))
    return as_float(_wide(samplers.normal(first, shape, dtype)) * spread, dtype)


def t(key: Any, df: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's t of df degrees of freedom; shape: default that of df.

    >>> from numjet import random
    >>> t(random.key(0), 3.0, (2,)).shape
    (2,)
    """
    return draw_floats("t", _t, key, shape, dtype, out_sharding, df)


def _chi2(pair: Words, df: Any, shape: Shape, dtype: np.dtype) -> Any:
    return _exp(sample(pair, df / 2, shape, True, dtype)) * 2


@compiled
def _chisquare(key: Any, df: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return as_float(_chi2(words(key), _parameter(df, dtype), shape, dtype), dtype)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Chi-square numbers of df degrees of freedom; shape: default that of df.

    >>> from numjet import random
    >>> bool((chisquare(random.key(0), 3.0, (2,)) > 0).all())
    True
    """
    return draw_floats("chisquare", _chisquare, key, shape, dtype, out_sharding, df)


@compiled
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    below, above = split_words(words(key), 2)
    num, den = _parameter(dfnum, dtype), _parameter(dfden, dtype)
    return as_float((_chi2(above, num, shape, dtype) / num) / (_chi2(below, den, shape, dtype) / den), dtype)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Fisher's F of dfnum and dfden degrees of freedom, which broadcast to `shape` (the default).

    >>> from numjet import random
    >>> bool((f(random.key(0), 2.0, 3.0, (2,)) > 0).all())
    True
    """
    return draw_floats("f", _f, key, shape, dtype, out_sharding, dfnum, dfden)


def _signed_power(pair: Words, p: Any, shape: Shape, dtype: np.dtype) -> Any:
    """Numbers of density proportional to exp(-|x|^p), with the signs of `rademacher`."""
    first, second = split_words(pair, 2)
    inverse = broadcast_to(1 / p, shape)
    size = arithmetic.pow(sample(first, inverse, shape, False, dtype), inverse)
    return compare.select(samplers.unit(second, shape, dtypes.python_scalar_dtype(float)) < 0.5, size, -size)


@compiled
def _generalized_normal(key: Any, p: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return as_float(_signed_power(words(key), _parameter(p, dtype), shape, dtype), dtype)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of density proportional to exp(-|x|^p).

    >>> from numjet import random
    >>> generalized_normal(random.key(0), 2.0, (2,)).shape
    (2,)
    """
    return draw_floats("generalized_normal", _generalized_normal, key, shape, dtype, out_sharding, p)


@compiled
def _ball(key: Any, p: Any, *, d: int, shape: Shape, dtype: np.dtype) -> Any:
    first, second = split_words(words(key), 2)
    p = _parameter(p, dtype)
    point = _signed_power(first, p, (*shape, d), dtype)
    power = reduce_sum(arithmetic.pow(abs(point), broadcast_to(p, point.shape)), (len(shape),))
    length = arithmetic.pow(power + _wide(samplers.exponential(second, shape, dtype)), broadcast_to(1 / p, shape))
    return as_float(point / shapes.expand_dims(length, (len(shape),)), dtype)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Points uniform in the unit ball of the p-norm in d dimensions: (*shape, d).

    Source: Barthe, Guédon, Mendelson, Naor: A probabilistic approach to the geometry of the l_p^n-ball, 2005.

    >>> from numjet import random
    >>> x = ball(random.key(0), 3, 2, (100,))
    >>> bool(((x * x).sum(-1) <= 1).all())
    True
    """
    found = float_dtype("ball", dtype)
    points = _ball(single("ball", key), p, d=shape_of("ball", (d,))[0], shape=shape_of("ball", shape), dtype=found)
    return placed(points, out_sharding)
