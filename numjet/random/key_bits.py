"""Counter-based random bits: keys as pairs of 32-bit words, split pairs, and random words.

A key is two words; the threefry cipher keyed with them turns counters into random words. All random numbers are
`threefry(words, counters)`, where the counters are the numbers' positions 0, 1, 2, ... as 64-bit integers (high word,
low word), so that each number depends on its position alone.

With the flag jax_threefry_partitionable off, the words are those of older programs: a sequence of `count` words is made of
the counters 0, 1, ..., count - 1, whose first half is paired with the second; both words of each block become words of the
sequence. Numbers then depend on the size of the array, too.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.trace import Array, Tracer, aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import bits, bitwise, convert
from numjet.lax.indexing import slicing
from numjet.lax.rng import threefry as rng
from numjet.lax.shape import create, join, rearrange

Words = tuple[Any, Any]
Shape = tuple[int, ...]

_UINT32 = dtypes.uint32
_UNSIGNED: dict[int, np.dtype] = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}
_ZERO = np.uint32(0)


# -------------------------------------------------------------------------------------------- keys and words

def check_data(aval: ShapedArray) -> None:
    """TypeError unless an array holds key data: uint32[..., 2]."""
    if aval.dtype != _UINT32:
        raise TypeError(f"JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; got dtype={aval.dtype.name}")
    if aval.shape[-1:] != (2,):
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.shape to end with (2,); got "
                        f"shape={aval.shape} for impl=threefry2x32")


def as_key(name: str, key: Any) -> tuple[Any, bool]:
    """A key as an array of `key_dtype` or uint32[..., 2], and whether it is of the first kind. TypeError for others."""
    if not isinstance(key, (Array, Tracer)):
        if not isinstance(key, np.ndarray) or key.dtype != _UINT32:
            raise TypeError(f"{name}: unexpected PRNG key type {type(key)}: expected an array made by random.key or "
                            f"random.PRNGKey, got {key!r:.100}")
        key = convert.constant(key)
    typed = key.aval.dtype == dtypes.key_dtype
    if not typed:
        check_data(key.aval)
    return key, typed


def check_single(name: str, aval: ShapedArray, typed: bool) -> None:
    """ValueError for an array of keys."""
    if len(aval.shape) != (0 if typed else 1):
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape {aval.shape} != (). "
                         "Use jax.vmap for batching.")


def single(name: str, key: Any) -> Any:
    """A single key for the sampler `name`, of either kind, else an error."""
    key, typed = as_key(name, key)
    check_single(name, key.aval, typed)
    return key


def words(key: Any) -> Words:
    """The two words of a key, uint32 of its shape."""
    data = bits.bitcast_convert_type(key, _UINT32) if key.aval.dtype == dtypes.key_dtype else key
    last = len(data.aval.shape) - 1
    first, second = (slicing.index_in_dim(data, n, last, keepdims=False) for n in range(2))
    return first, second


def data_of(pair: Words) -> Any:
    """Two words of equal shape as key data, uint32[..., 2]."""
    last = len(aval_of(pair[0]).shape)
    return join.concatenate([rearrange.expand_dims(w, (last,)) for w in pair], last)


def key_of(pair: Words, typed: bool) -> Any:
    """Two words as a key, typed or as data."""
    data = data_of(pair)
    return bits.bitcast_convert_type(data, dtypes.key_dtype) if typed else data


# -------------------------------------------------------------------------------------------- counters

def _counters(target: Shape) -> tuple[Any, Any]:
    """High and low words of 0, 1, 2, ... in the given shape."""
    size = math.prod(target)
    if size > 2 ** 32:
        raise NotImplementedError(f"random bits of shape {target}: expected at most 2**32 numbers, got {size}; split the "
                                  "key and draw parts")
    low = create.iota(_UINT32, size)
    return _ZERO, low if target == (size,) else rearrange.reshape(low, target)


def threefry(pair: Words, target: Shape) -> Words:
    """Two new words for each position of an array of the given shape; the key's words are scalars."""
    if math.prod(target) == 0:
        empty = create.full(target, _ZERO)
        return empty, empty
    if not config.threefry_partitionable:
        made = rearrange.reshape(_sequence(pair, 2 * math.prod(target)), (*target, 2))
        first, second = (slicing.index_in_dim(made, n, len(target), keepdims=False) for n in range(2))
        return first, second
    if target == ():
        return rng.threefry_2x32(pair, (_ZERO, _ZERO))
    return rng.threefry_2x32(pair, _counters(target))


def _sequence(pair: Words, count: int) -> Any:
    """`count` words, of counters whose first half is paired with the second; a missing last one is 0."""
    half = -(-count // 2)
    lower = create.iota(_UINT32, half)
    upper = create.iota(_UINT32, count - half) + np.uint32(half)
    if count % 2:
        upper = join.concatenate([upper, create.full((1,), _ZERO)], 0)
    return slicing.slice_in_dim(join.concatenate(list(rng.threefry_2x32(pair, (lower, upper))), 0), 0, count)


def _sequences(pair: Words, count: int) -> list[Any]:
    """`_sequence` of an even number of words for each element of arrays of words."""
    made = [rng.threefry_2x32(pair, (np.uint32(n), np.uint32(n + count // 2))) for n in range(count // 2)]
    return [first for first, _ in made] + [second for _, second in made]


def split_words(pair: Words, num: int) -> list[Words]:
    """`num` new pairs of words from one; or from arrays of words, for each of their elements."""
    target = aval_of(pair[0]).shape
    if target != () and not config.threefry_partitionable:
        each = _sequences(pair, 2 * num)
        return list(zip(each[::2], each[1::2], strict=True))
    if target == ():
        first, second = threefry(pair, (num,))
    else:
        wide = (num, *target)
        spread = [rearrange.broadcast_in_dim(w, wide, range(1, len(wide))) for w in pair]
        first, second = rng.threefry_2x32((spread[0], spread[1]), (_ZERO, create.broadcasted_iota(_UINT32, wide, 0)))
    return [(slicing.index_in_dim(first, n, 0, keepdims=False), slicing.index_in_dim(second, n, 0, keepdims=False))
            for n in range(num)]


# -------------------------------------------------------------------------------------------- bits

def random_bits(pair: Words, width: int, target: Shape) -> Any:
    """Uniformly distributed unsigned integers of 8, 16, 32 or 64 bits; from arrays of words one for each pair of them."""
    if not config.threefry_partitionable:
        return _bits_of_sequence(pair, width, target)
    if aval_of(pair[0]).shape:
        return _joined(rng.threefry_2x32(pair, (_ZERO, _ZERO)), width)
    return _joined(threefry(pair, target), width)


def _bits_of_sequence(pair: Words, width: int, target: Shape) -> Any:
    """Random bits cut from a sequence of words; numbers of 64 bits have their upper words in its first half."""
    if aval_of(pair[0]).shape:
        if width == 64:
            return _wide(*_sequences(pair, 2))
        return convert.convert_dtype(rng.threefry_2x32(pair, (_ZERO, _ZERO))[0], _UNSIGNED[width])
    size = math.prod(target)
    if size == 0:
        return create.full(target, _UNSIGNED[width].type(0))
    made = _sequence(pair, -(-size * width // 32))
    if width == 64:
        made = _wide(slicing.slice_in_dim(made, 0, size), slicing.slice_in_dim(made, size, 2 * size))
    elif width < 32:
        count, parts = aval_of(made).shape[0], 32 // width
        spread = rearrange.broadcast_in_dim(made, (count, parts), (0,))
        shifts = create.broadcasted_iota(_UINT32, (count, parts), 1) * np.uint32(width)
        cut = convert.convert_dtype(bitwise.shift_right_logical(spread, shifts), _UNSIGNED[width])
        made = slicing.slice_in_dim(rearrange.reshape(cut, (count * parts,)), 0, size)
    return rearrange.reshape(made, target)


def _wide(high: Any, low: Any) -> Any:
    """uint64 numbers of two words."""
    high, low = (convert.convert_dtype(w, dtypes.uint64) for w in (high, low))
    return bitwise.bitwise_or(bitwise.shift_left(high, np.uint64(32)), low)


def _joined(pair: Words, width: int) -> Any:
    if width == 64:
        return _wide(*pair)
    mixed = bitwise.bitwise_xor(*pair)
    return mixed if width == 32 else convert.convert_dtype(mixed, _UNSIGNED[width])


def unit_interval(number: Any, dtype: np.dtype) -> Any:
    """Random integers as floats in [0, 1): the upper bits become the fraction of a number in [1, 2), less 1.

    The integers have `float_bits(dtype)` bits.
    """
    size, fraction = 8 * dtype.itemsize, int(dtypes.finfo(dtype).nmant)
    width = float_bits(dtype)
    one = int(np.asarray(1, dtype).view(_UNSIGNED[size]))
    kind = _UNSIGNED[size]
    number = convert.convert_dtype(number, kind) if width != size else number
    filled = bitwise.bitwise_or(bitwise.shift_right_logical(number, kind.type(width - fraction)), kind.type(one))
    return bits.bitcast_convert_type(filled, dtype) - dtype.type(1)


def float_bits(dtype: np.dtype) -> int:
    """The number of random bits for a float: 8 for bfloat16, its size for others."""
    return 8 if int(dtypes.finfo(dtype).nmant) < 8 else 8 * dtype.itemsize
