"""Primitive samplers, from the two words of a key; public samplers are made of these.

Every function takes a pair of words and the shape and dtype of the result. Words that are arrays give one number each.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.control.loops.while_loop import while_loop
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, tree
from numjet.lax.elementwise import compare, convert, special, transcendental
from numjet.lax.reduction.reduce import reduce_or
from numjet.lax.shape import create
from numjet.numpy.core.promotion import broadcast_to
from numjet.random.key_bits import Shape, Words, float_bits, random_bits, unit_interval


def anywhere(mask: Any) -> Any:
    """Whether a mask holds for one element at least: the condition of rejection loops."""
    return reduce_or(mask, range(mask.ndim))


def draw_while(again: Callable[[Any], Any], draw: Callable[[Any], Any], start: Any, *given: Any) -> Any:
    """The state of a rejection loop at its end. Inside of shard_map, all of it varies over the axes over which the key, or what
    `draw` reads (given), varies: loops carry values of the same types."""
    leaves, structure = tree.tree_flatten(start)
    for other in (*leaves, *given):
        leaves = [create.varying_like(x, aval_of(other)) for x in leaves]
    return while_loop(again, draw, tree.tree_unflatten(structure, leaves))


def unit(pair: Words, target: Shape, dtype: np.dtype) -> Any:
    """Uniform in [0, 1)."""
    return unit_interval(random_bits(pair, float_bits(dtype), target), dtype)


def between(pair: Words, target: Shape, dtype: np.dtype, low: Any, high: Any) -> Any:
    """Uniform in [low, high), for arrays in `dtype` (or its NumPy scalars) that broadcast to the shape."""
    u = unit(pair, target, dtype)
    if isinstance(low, np.generic):
        return compare.max(low, u * (high - low) + low)
    spread = _rounded_once(u, high - low, low) if dtype == dtypes.float32 else u * (high - low) + low
    return compare.max(broadcast_to(low, target), spread)


def _rounded_once(u: Any, span: Any, low: Any) -> Any:
    """u * span + low of float32 numbers as a fused multiply-add gives it, which is how XLA computes it."""
    u, span, low = (convert.convert_dtype(x, dtypes.float64) for x in (u, span, low))
    return convert.convert_dtype(u * span + low, dtypes.float32)


def normal(pair: Words, target: Shape, dtype: np.dtype) -> Any:
    """Standard normal: the quantile function of uniform numbers in (-1, 1), sqrt(2) erfinv(u)."""
    low, high = np.nextafter(dtype.type(-1), dtype.type(0)), dtype.type(1)
    return special.erf_inv(between(pair, target, dtype, low, high)) * dtype.type(math.sqrt(2))


def exponential(pair: Words, target: Shape, dtype: np.dtype) -> Any:
    """Exponential of rate 1: -log(1 - u)."""
    return -transcendental.log1p(-unit(pair, target, dtype))


def gumbel(pair: Words, target: Shape, dtype: np.dtype, high: bool = False) -> Any:
    """Standard Gumbel: -log(-log(u)). With `high`, two numbers make a u that resolves both tails."""
    tiny = dtype.type(dtypes.finfo(dtype).tiny)
    if not high:
        return -transcendental.log(-transcendental.log(between(pair, target, dtype, tiny, dtype.type(1))))
    first, second = unit(pair, (2, *target), dtype)
    fine = first + second * dtype.type(dtypes.finfo(dtype).eps) + tiny
    u = compare.select(first >= 0.5, first, fine)
    return -transcendental.log(-transcendental.log1p(-u))


def bernoulli(pair: Words, target: Shape, p: Any, high: bool = False) -> Any:
    """True with probability p, an array of floats."""
    dtype = p.dtype
    if not high:
        return unit(pair, target, dtype) < p
    first, second = unit(pair, (2, *target), dtype)
    return second * dtype.type(dtypes.finfo(dtype).eps) < p - first
