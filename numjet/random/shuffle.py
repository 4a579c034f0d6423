"""Permutations, and samples from a population."""
from __future__ import annotations

import math
from typing import Any

from numjet.foundation import dtypes
from numjet.lax import axes
from numjet.lax.elementwise import compare, convert, transcendental
from numjet.lax.indexing import slicing
from numjet.lax.indexing.gather import index_take
from numjet.lax.reduction.argreduce import argmax
from numjet.lax.reduction.cumulative import cumsum
from numjet.lax.reduction.sort import sort_key_val, top_k
from numjet.lax.rng.key_marks import silence
from numjet.lax.shape import create, rearrange as shapes
from numjet.numpy.core.promotion import array_arg
from numjet.random import samplers
from numjet.random.arguments import placed, shape_of
from numjet.random.basic import precise, randint
from numjet.random.compiled import compiled
from numjet.random.key_bits import Shape, random_bits, single, split_words, words

_INTS = frozenset(dtypes.INTEGRAL)
_WORD_MAX = 2 ** 32 - 1


# -------------------------------------------------------------------------------------------- permutation

@compiled
def _shuffle(key: Any, x: Any, *, axis: int) -> Any:
    """x sorted along an axis by random words, in as many rounds as make equal words in all of them improbable."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(_WORD_MAX))
    rest = words(key)
    for _ in range(rounds):
        rest, here = split_words(rest, 2)
        _, x = sort_key_val(random_bits(here, 32, x.shape), x, axis)
    return x


def _take(x: Any, indices: Any, axis: int) -> Any:
    """The slices of x at indices that lie in range, which replace the axis."""
    flat = shapes.reshape(indices, (indices.size,))
    found = index_take(shapes.transpose(x, _to_front(x.ndim, axis)), [flat], [0])
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
    target = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])
    return shapes.reshape(shapes.transpose(found, order), target)


def _to_front(ndim: int, axis: int) -> list[int]:
    return [axis, *(d for d in range(ndim) if d != axis)]


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Any:
    """0, 1, ..., x - 1 in random order for an integer x; for an array its slices along `axis` in random order.

    independent: each line along the axis has an order of its own. TypeError for x of rank 0 that is no integer,
    ValueError for an axis out of bounds.

    >>> from numjet import random
    >>> permutation(random.key(7), 5).tolist()
    [4, 2, 3, 0, 1]
    """
    key = single("permutation", key)
    x = array_arg("permutation", x)
    if x.ndim == 0:
        if x.dtype not in _INTS:
            raise TypeError("x must be an integer or at least 1-dimensional")
        axes.as_axis(axis, 1)
        return placed(_shuffle(key, create.iota(dtypes.python_scalar_dtype(int), max(int(x), 0)), axis=0), out_sharding)
    axis = axes.as_axis(axis, x.ndim)
    if independent or x.ndim == 1:
        return placed(_shuffle(key, x, axis=axis), out_sharding)
    order = _shuffle(key, create.iota(dtypes.python_scalar_dtype(int), x.shape[axis]), axis=0)
    return placed(_take(x, order, axis), out_sharding)


# -------------------------------------------------------------------------------------------- choice

def _first_not_below(table: Any, values: Any) -> Any:
    """For each value the first position of an ascending table whose entry is not smaller, by bisection."""
    low = create.full(values.shape, 0, dtypes.int32)
    high = create.full(values.shape, table.size, dtypes.int32)
    for _ in range(table.size.bit_length()):
        middle = low + (high - low) // 2
        entry = index_take(table, [shapes.reshape(middle, (middle.size,))], [0])
        below = shapes.reshape(entry, values.shape) < values
        open_ = low < high
        low = compare.select(below & open_, middle + 1, low)
        high = compare.select(~below & open_, middle, high)
    return low


@compiled
def _weighted(key: Any, p: Any, *, shape: Shape) -> Any:
    total = cumsum(p)
    u = 1 - samplers.unit(words(key), shape, p.dtype)
    found = _first_not_below(total, u * slicing.index_in_dim(total, -1, keepdims=False))
    return convert.convert_dtype(found, dtypes.python_scalar_dtype(int))


@compiled
def _weighted_subset(key: Any, p: Any, *, count: int, high: bool) -> Any:
    """The indices of the largest perturbed log weights (Gumbel top-k; Kool, van Hoof, Welling, ICML 2019)."""
    score = samplers.gumbel(words(key), p.shape, p.dtype, high) + transcendental.log(p)
    return convert.convert_dtype(top_k(score, count)[1], dtypes.python_scalar_dtype(int))


def _check_choice(size: int, count: int, replace: bool, p: Any) -> None:
    if size < 1 and count > 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and count > size:
        raise ValueError(f"Cannot take a larger sample (size {count}) than population (size {size}) when 'replace=False'")
    if p is not None and p.shape != (size,):
        raise ValueError("p must be None or a 1D vector with the same size as a.shape[axis]. "
                         f"p has shape {p.shape} and a.shape[axis] is {size}.")


def _chosen(key: Any, size: int, count: int, replace: bool, p: Any, mode: str | None) -> Any:
    """The numbers of the chosen members."""
    if not count:  # of a population that may be empty, too
        return create.full((0,), 0, dtypes.python_scalar_dtype(int))
    if p is None and replace:
        return randint(key, (count,), 0, size)
    if p is None:
        mixed = permutation(key, create.iota(dtypes.python_scalar_dtype(int), size))
        return slicing.slice_in_dim(mixed, 0, count)
    return _weighted(key, p, shape=(count,)) if replace else _weighted_subset(key, p, count=count, high=precise(mode))


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0,
           mode: str | None = None) -> Any:
    """A random sample of the numbers 0 .. a - 1, or of the slices of an array `a` along `axis`.

    shape: of the sample; it replaces the axis. replace: whether members can come more than once. p: their probabilities,
    default equal. mode: 'high' or 'low', the precision of weighted samples without replacement. ValueError for samples
    larger than the population and for p of another shape.

    >>> from numjet import random
    >>> choice(random.key(7), 5, (3,)).tolist()
    [4, 2, 0]
    """
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"shape argument of choice must be a sequence of integers, got {shape!r}")
    key, target = single("choice", key), shape_of("choice", shape)
    a = array_arg("choice", a)
    size = int(a) if a.ndim == 0 else a.shape[axes.as_axis(axis, a.ndim)]
    count = math.prod(target)
    if p is not None:
        p = array_arg("choice", p, 1)
        p = p if p.dtype in dtypes.FLOATING else convert.convert_dtype(p, dtypes.to_inexact_dtype(p.dtype))
    _check_choice(size, count, replace, p)
    with silence():  # the key is marked
        found = shapes.reshape(_chosen(key, size, count, replace, p, mode), target)
    return found if a.ndim == 0 else _take(a, found, axes.as_axis(axis, a.ndim))


# -------------------------------------------------------------------------------------------- categorical

@compiled
def _categorical(key: Any, logits: Any, *, axis: int, shape: Shape, high: bool) -> Any:
    """Gumbel-max sampling: the index of the largest of logits with Gumbel noise. axis: negative."""
    size, position = logits.shape[axis], len(shape) + axis + 1
    full = (*shape[:position], size, *shape[position:])
    noise = samplers.gumbel(words(key), full, logits.dtype, high)
    return argmax(noise + _leading(logits, len(full)), position, dtypes.python_scalar_dtype(int))


def _leading(x: Any, ndim: int) -> Any:
    return shapes.reshape(x, (1,) * (ndim - x.ndim) + x.shape) if x.ndim < ndim else x


@compiled
def _categorical_subset(key: Any, logits: Any, *, axis: int, shape: Shape, high: bool) -> Any:
    batch = logits.shape[:axis] + logits.shape[axis + 1:]
    lead = shape[:len(shape) - len(batch)]
    score = logits + samplers.gumbel(words(key), logits.shape, logits.dtype, high)
    found = top_k(score, math.prod(lead), axis=axis)[1]
    return shapes.reshape(shapes.transpose(found, _to_front(logits.ndim, axis)), shape)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: str | None = None, *,
                out_sharding: Any = None) -> Any:
    """Classes drawn with probabilities softmax(logits) along `axis`.

    logits: floats. shape: of the result; it ends with (or broadcasts) the shape of logits without the axis, the default.
    replace=False: samples along the leading axes differ. mode: 'high' or 'low' precision of the noise. ValueError for
    shapes that do not fit, and for more samples without replacement than classes.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> categorical(random.key(0), jnp.array([-jnp.inf, 0.0, -jnp.inf])).tolist()
    1
    """
    key = single("categorical", key)
    logits = array_arg("categorical", logits)
    if logits.dtype not in dtypes.FLOATING:
        logits = convert.convert_dtype(logits, dtypes.to_inexact_dtype(logits.dtype))
    position = axes.as_axis(axis, logits.ndim)
    batch = logits.shape[:position] + logits.shape[position + 1:]
    target = batch if shape is None else shape_of("categorical", shape)
    if shapes.broadcast_shapes(target, batch) != target:
        raise ValueError(f"categorical: expected shape to end with {batch}, the shape of logits without its axis, or to be "
                         f"what that broadcasts to; got shape={target}")
    high = precise(mode)
    if replace:
        return placed(_categorical(key, logits, axis=position - logits.ndim, shape=target, high=high), out_sharding)
    _check_subset(target, batch, logits.shape[position])
    return placed(_categorical_subset(key, logits, axis=position, shape=target, high=high), out_sharding)


def _check_subset(target: Shape, batch: Shape, size: int) -> None:
    lead = target[:len(target) - len(batch)]
    if target[len(lead):] != batch:
        raise ValueError(f"categorical: without replacement, shape must end with {batch}, got {target}")
    if math.prod(lead) > size:
        raise ValueError(f"Number of samples without replacement ({math.prod(lead)}) cannot exceed number of categories "
                         f"({size}).")

