"""Continuous distributions by inversion, from uniform, normal or exponential numbers."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, bits, compare, special, transcendental
from numjet.lax.reduction.reduce import reduce_sum
from numjet.numpy.core.promotion import broadcast_to
from numjet.random import samplers
from numjet.random.arguments import as_float, draw_floats, fit, inexact_dtype, placed, shape_of
from numjet.random.basic import precise, real_or_complex_normal
from numjet.random.compiled import compiled, sampler
from numjet.random.key_bits import Shape, single, split_words, words

_ONE = np.float32(1.0)


# -------------------------------------------------------------------------------------------- without parameters

@compiled
def _exponential(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return samplers.exponential(words(key), shape, dtype)


@sampler
def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Exponential numbers of rate 1: -log(1 - u) of uniform u.

    >>> from numjet import random
    >>> bool((exponential(random.key(0), (3,)) > 0).all())
    True
    """
    return draw_floats("exponential", _exponential, key, shape, dtype, out_sharding)


@compiled
def _gumbel(key: Any, *, shape: Shape, dtype: np.dtype, high: bool) -> Any:
    return samplers.gumbel(words(key), shape, dtype, high)


@sampler
def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *, out_sharding: Any = None) -> Any:
    """Standard Gumbel numbers: -log(-log(u)) of uniform u.

    mode: 'low' (default), or 'high', with two random numbers per sample, whose tails reach further.

    >>> from numjet import random
    >>> gumbel(random.key(0), (3,), mode="high").shape
    (3,)
    """
    return draw_floats("gumbel", _gumbel, key, shape, dtype, out_sharding, high=precise(mode))


@compiled
def _laplace(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    u = samplers.between(words(key), shape, dtype, dtype.type(-1 + dtypes.finfo(dtype).epsneg), dtype.type(1))
    return arithmetic.sign(u) * transcendental.log1p(-abs(u))


@sampler
def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Laplace numbers of scale 1.

    >>> from numjet import random
    >>> laplace(random.key(0), (3,)).shape
    (3,)
    """
    return draw_floats("laplace", _laplace, key, shape, dtype, out_sharding)


@compiled
def _logistic(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    u = samplers.between(words(key), shape, dtype, dtype.type(dtypes.finfo(dtype).tiny), dtype.type(1))
    return transcendental.log(u) - transcendental.log1p(-u)


@sampler
def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard logistic numbers: log(u / (1 - u)) of uniform u.

    >>> from numjet import random
    >>> logistic(random.key(0), (3,)).shape
    (3,)
    """
    return draw_floats("logistic", _logistic, key, shape, dtype, out_sharding)


@compiled
def _cauchy(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    u = samplers.between(words(key), shape, dtype, dtype.type(dtypes.finfo(dtype).eps), dtype.type(1))
    return transcendental.tan((u - dtype.type(0.5)) * dtype.type(math.pi))


@sampler
def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard Cauchy numbers: tan(pi (u - 1/2)) of uniform u.

    >>> from numjet import random
    >>> cauchy(random.key(0), (3,)).shape
    (3,)
    """
    return draw_floats("cauchy", _cauchy, key, shape, dtype, out_sharding)


@compiled
def _maxwell(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return _length_in_space(words(key), shape, dtype)


def _length_in_space(pair: Any, shape: Shape, dtype: np.dtype) -> Any:
    point = samplers.normal(pair, (*shape, 3), dtype)
    return arithmetic.sqrt(reduce_sum(point * point, (len(shape),)))


@sampler
def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Maxwell numbers of scale 1: the length of a vector of three standard normal numbers.

    >>> from numjet import random
    >>> bool((maxwell(random.key(0), (3,)) > 0).all())
    True
    """
    return draw_floats("maxwell", _maxwell, key, shape, dtype, out_sharding)


@compiled
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    first, second = split_words(words(key), 2)
    size = _length_in_space(first, shape, dtype)
    coin = samplers.unit(second, shape, dtypes.python_scalar_dtype(float)) < 0.5
    side = compare.select(coin, size, -size)
    return side * as_float(scale, dtype) + as_float(loc, dtype)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Maxwell numbers with random signs, times `scale`, plus `loc`; their broadcast shape is appended to `shape`.

    >>> from numjet import random
    >>> double_sided_maxwell(random.key(0), 0.0, 2.0, (3,)).shape
    (3,)
    """
    full = (*shape_of("double_sided_maxwell", shape), *fit("double_sided_maxwell", None, loc, scale))
    return draw_floats("double_sided_maxwell", _double_sided_maxwell, key, full, dtype, None, loc, scale)


# -------------------------------------------------------------------------------------------- with parameters

@compiled
def _truncated_normal(key: Any, lower: Any, upper: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    lower, upper = as_float(lower, dtype), as_float(upper, dtype)
    root = dtype.type(math.sqrt(2))
    low, high = special.erf(lower / root), special.erf(upper / root)
    found = special.erf_inv(samplers.between(words(key), shape, dtype, low, high)) * root
    inside = [compare.nextafter(bits.stop_gradient(x), dtype.type(end)) for x, end in ((lower, math.inf), (upper, -math.inf))]
    return compare.min(broadcast_to(inside[1], shape), compare.max(broadcast_to(inside[0], shape), found))


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *,
                     out_sharding: Any = None) -> Any:
    """Standard normal numbers that lie between lower and upper, which broadcast to `shape` (the default).

    >>> from numjet import random
    >>> x = truncated_normal(random.key(0), -1.0, 2.0, (100,))
    >>> bool(((x > -1) & (x < 2)).all())
    True
    """
    return draw_floats("truncated_normal", _truncated_normal, key, shape, dtype, out_sharding, lower, upper)


@compiled
def _lognormal(key: Any, sigma: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return transcendental.exp(real_or_complex_normal(words(key), shape, dtype) * as_float(sigma, dtype))


def lognormal(key: Any, sigma: Any = _ONE, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """exp(sigma z) of standard normal z; shape: default that of sigma.

    >>> from numjet import random
    >>> bool((lognormal(random.key(0), 2.0, (3,)) > 0).all())
    True
    """
    found = inexact_dtype("lognormal", dtype)
    target = fit("lognormal", shape, sigma)
    return placed(_lognormal(single("lognormal", key), sigma, shape=target, dtype=found), out_sharding)


@compiled
def _pareto(key: Any, b: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return transcendental.exp(samplers.exponential(words(key), shape, dtype) / as_float(b, dtype))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Pareto numbers (x >= 1, density b / x^(b + 1)); shape: default that of b.

    >>> from numjet import random
    >>> bool((pareto(random.key(0), 2.0, (3,)) >= 1).all())
    True
    """
    return draw_floats("pareto", _pareto, key, shape, dtype, out_sharding, b)


@compiled
def _rayleigh(key: Any, scale: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    logs = transcendental.log(samplers.unit(words(key), shape, dtype))
    return arithmetic.sqrt(logs * dtype.type(-2)) * as_float(scale, dtype)


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Rayleigh numbers: scale sqrt(-2 log(u)); shape: default that of scale.

    >>> from numjet import random
    >>> bool((rayleigh(random.key(0), 2.0, (3,)) > 0).all())
    True
    """
    return draw_floats("rayleigh", _rayleigh, key, shape, dtype, out_sharding, scale)


@compiled
def _weibull_min(key: Any, scale: Any, concentration: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    power = broadcast_to(1 / as_float(concentration, dtype), shape)
    return arithmetic.pow(samplers.exponential(words(key), shape, dtype), power) * as_float(scale, dtype)


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Weibull numbers: scale e^(1 / concentration) of exponential e; the parameters broadcast to `shape`.

    >>> from numjet import random
    >>> bool((weibull_min(random.key(0), 1.0, 2.0, (3,)) > 0).all())
    True
    """
    target = shape_of("weibull_min", shape)
    return draw_floats("weibull_min", _weibull_min, key, target, dtype, None, scale, concentration)


@compiled
def _triangular(key: Any, left: Any, mode: Any, right: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    left, mode, right = (broadcast_to(as_float(x, dtype), shape) for x in (left, mode, right))
    u, width = samplers.unit(words(key), shape, dtype), right - left
    rising = left + arithmetic.sqrt(u * width * (mode - left))
    falling = right - arithmetic.sqrt((1 - u) * width * (right - mode))
    return compare.select(u < (mode - left) / width, rising, falling)


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *,
               out_sharding: Any = None) -> Any:
    """Numbers in [left, right] with a triangular density, whose maximum is at `mode`.

    >>> from numjet import random
    >>> x = triangular(random.key(0), 0.0, 1.0, 3.0, (100,))
    >>> bool(((x >= 0) & (x <= 3)).all())
    True
    """
    return draw_floats("triangular", _triangular, key, shape, dtype, out_sharding, left, mode, right)


@compiled
def _wald(key: Any, mean: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    first, second = split_words(words(key), 2)
    mean = broadcast_to(as_float(mean, dtype), shape)
    y = arithmetic.square(samplers.normal(first, shape, dtype))
    square = arithmetic.square(mean)
    x = mean + square * y / 2 - mean / 2 * arithmetic.sqrt(4 * mean * y + square * arithmetic.square(y))
    return compare.select(samplers.unit(second, shape, dtype) <= mean / (mean + x), x, square / x)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Inverse Gaussian numbers of scale 1; shape: default that of mean.

    Source: Michael, Schucany, Haas: Generating random variates using transformations with multiple roots, 1976.

    >>> from numjet import random
    >>> bool((wald(random.key(0), 2.0, (3,)) > 0).all())
    True
    """
    return draw_floats("wald", _wald, key, shape, dtype, out_sharding, mean)
