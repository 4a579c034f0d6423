"""Basic samplers: bits, uniform and normal numbers, integers, and coins."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.shape import create
from numjet.numpy.core.promotion import array_arg, broadcast_to
from numjet.random import samplers
from numjet.random.arguments import as_float, fit, float_dtype, inexact_dtype, placed, shape_of, unsigned_dtype
from numjet.random.compiled import compiled, sampler
from numjet.random.key_bits import Shape, Words, random_bits, single, split_words, words

_FLOATS = frozenset(dtypes.FLOATING)
_COMPLEX = frozenset(dtypes.COMPLEX)
_INTS = frozenset(dtypes.INTEGRAL)
_UNSIGNED: dict[int, np.dtype] = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


# -------------------------------------------------------------------------------------------- bits

@compiled
def _bits(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return convert.convert_dtype(random_bits(words(key), 8 * dtype.itemsize, shape), dtype)


@sampler
def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Random bits as unsigned integers; dtype: default uint32 (uint64 with jax_enable_x64). ValueError for other kinds.

    >>> from numjet import random
    >>> bits(random.key(0), (2,)).tolist()
    [4070199207, 4202968722]
    """
    key, target = single("bits", key), shape_of("bits", shape)
    return placed(_bits(key, shape=target, dtype=unsigned_dtype("bits", dtype)), out_sharding)


# -------------------------------------------------------------------------------------------- uniform

@compiled
def _unit(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return samplers.unit(words(key), shape, dtype)


@compiled
def _uniform(key: Any, low: Any, high: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    low, high = as_float(low, dtype), as_float(high, dtype)
    return samplers.between(words(key), shape, dtype, low, high)


@sampler
def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *,
            out_sharding: Any = None) -> Any:
    """Uniform floats in [minval, maxval), which broadcast to `shape`. ValueError for dtypes that are no float.

    >>> from numjet import random
    >>> uniform(random.key(0), (3,)).tolist()
    [0.9476670026779175, 0.9785798788070679, 0.33229148387908936]
    """
    found = float_dtype("uniform", dtype)
    key, target = single("uniform", key), shape_of("uniform", shape)
    if type(minval) is float and type(maxval) is float and minval == 0.0 and maxval == 1.0:
        return placed(_unit(key, shape=target, dtype=found), out_sharding)
    fit("uniform", target, minval, maxval)
    return placed(_uniform(key, minval, maxval, shape=target, dtype=found), out_sharding)


# -------------------------------------------------------------------------------------------- normal

def _complex_normal(pair: Words, shape: Shape, dtype: np.dtype) -> Any:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    real, imag = (samplers.normal(p, shape, part) for p in split_words(pair, 2))
    return convert.complex(real, imag) / dtype.type(math.sqrt(2))


def real_or_complex_normal(pair: Words, shape: Shape, dtype: np.dtype) -> Any:
    """Standard normal numbers of a float or complex dtype, from the words of a key."""
    return (_complex_normal if dtype in _COMPLEX else samplers.normal)(pair, shape, dtype)


@compiled
def _normal(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    return real_or_complex_normal(words(key), shape, dtype)


@sampler
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal numbers: mean 0, variance 1 (for complex dtypes, half of it in each part).

    ValueError for dtypes that are neither float nor complex.

    >>> from numjet import random
    >>> normal(random.key(0)).shape
    ()
    """
    found = inexact_dtype("normal", dtype)
    return placed(_normal(single("normal", key), shape=shape_of("normal", shape), dtype=found), out_sharding)


# -------------------------------------------------------------------------------------------- integers

def _span(low: Any, high: Any, past: Any, unsigned: np.dtype) -> Any:
    """The number of integers in [low, high), 1 when there are none; `past`: high stands for one more than its dtype holds."""
    gap = convert.convert_dtype(high - low, unsigned)
    gap = compare.select(high <= low, create.full_like(gap, 1), gap)
    return compare.select(past & (high > low), gap + 1, gap)


def _integers(pair: Words, shape: Shape, low: Any, high: Any, past: Any) -> Any:
    """Integers in [low, high): two random words modulo the span, the upper one weighted as it counts."""
    dtype = low.dtype
    size, unsigned = 8 * dtype.itemsize, _UNSIGNED[dtype.itemsize]
    upper, lower = (random_bits(p, size, shape) for p in split_words(pair, 2))
    span = _span(low, high, past, unsigned)
    half = arithmetic.rem(convert.constant(1 << (size // 2), unsigned), span)
    weight = broadcast_to(arithmetic.rem(half * half, span), shape)
    span = broadcast_to(span, shape)
    offset = arithmetic.rem(arithmetic.rem(upper, span) * weight + arithmetic.rem(lower, span), span)
    return broadcast_to(low, shape) + convert.convert_dtype(offset, dtype)


def _clipped(x: Any, low: int, high: int) -> Any:
    """x limited to [low, high], as far as its dtype reaches there."""
    limits = dtypes.iinfo(x.dtype)
    return compare.clamp(x.dtype.type(max(low, int(limits.min))), x, x.dtype.type(min(high, int(limits.max))))


@compiled
def _randint(key: Any, low: Any, high: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    limits = dtypes.iinfo(dtype)
    first, last = int(limits.min), int(limits.max)
    if dtype.itemsize < 4:
        wide = dtypes.int32
        low, high = convert.convert_dtype(_clipped(low, first, last), wide), convert.convert_dtype(
            _clipped(high, first, last + 1), wide)
        past = np.bool_(False)
    else:
        past = high > last if int(dtypes.iinfo(high.dtype).max) > last else np.bool_(False)
        low, high = (convert.convert_dtype(_clipped(x, first, last), dtype) for x in (low, high))
    low, high = (broadcast_to(x, (1,) * (len(shape) - x.ndim) + x.shape) for x in (low, high))
    return convert.convert_dtype(_integers(words(key), shape, low, high, past), dtype)


def _as_integers(name: str, x: Any) -> Any:
    """A bound as an array of integers; floats are rounded towards zero."""
    x = array_arg(name, x)
    return x if x.aval.dtype in _INTS else convert.convert_element_type(x, int)


@sampler
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform integers in [minval, maxval), which broadcast to `shape`.

    dtype: an integer dtype, default int32 (int64 with jax_enable_x64). Bounds beyond its range count as its limits, so
    maxval may be one more than the largest integer; where maxval <= minval the result is minval. TypeError for other
    dtypes, OverflowError for Python integers that the default integer does not hold.

    >>> from numjet import random
    >>> randint(random.key(0), (4,), 0, 10).tolist()
    [9, 0, 2, 3]
    """
    found = dtypes.check_user_dtype(int if dtype is None else dtype, "randint")
    if found not in _INTS:
        raise TypeError(f"randint only accepts integer dtypes, got {found.name}")
    key = single("randint", key)
    low, high = _as_integers("randint", minval), _as_integers("randint", maxval)
    target = fit("randint", shape_of("randint", shape), low, high)
    return placed(_randint(key, low, high, shape=target, dtype=found), out_sharding)


# -------------------------------------------------------------------------------------------- coins

@compiled
def _bernoulli(key: Any, p: Any, *, shape: Shape, high: bool) -> Any:
    return samplers.bernoulli(words(key), shape, broadcast_to(p, shape), high)


def precise(mode: str | None) -> bool:
    """Whether a `mode` argument asks for two random numbers per sample; 'highest' is 'high', None is what the flag says.
    ValueError for unknown ones."""
    if mode is None:
        return config.jax_high_dynamic_range_gumbel
    if mode not in ("highest", "high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'highest', 'high' or 'low'")
    return mode != "low"


@sampler
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Any:
    """True with probability p (floats); shape: default that of p, which must broadcast to it.

    mode: 'high' takes two random numbers per sample and resolves small p better. TypeError for p that is no float.

    >>> from numjet import random
    >>> bernoulli(random.key(0), 0.95, (4,)).tolist()
    [True, False, True, True]
    """
    key = single("bernoulli", key)
    aval = aval_of(p)
    if aval.dtype not in _FLOATS:
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {aval.dtype.name}.")
    return placed(_bernoulli(key, as_float(p, aval.dtype), shape=fit("bernoulli", shape, p), high=precise(mode)), out_sharding)


@compiled
def _rademacher(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    coin = samplers.bernoulli(words(key), shape, convert.constant(0.5, dtypes.python_scalar_dtype(float)))
    one, minus = (create.full_like(coin, np.asarray(n).astype(dtype)[()], dtype) for n in (1, -1))
    return compare.select(coin, one, minus)


@sampler
def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """-1 or 1 with equal probability; dtype: default the integer one.

    >>> from numjet import random
    >>> rademacher(random.key(0), (3,)).tolist()
    [-1, -1, 1]
    """
    found = dtypes.check_user_dtype(int if dtype is None else dtype, "rademacher")
    return placed(_rademacher(single("rademacher", key), shape=shape_of("rademacher", shape), dtype=found), out_sharding)


