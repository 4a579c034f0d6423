"""Counter-based random bits: keys as words of 32 bits, split keys, and random words.

A key of threefry is two words; the cipher keyed with them turns counters into random words. All random numbers are
`threefry(pair, counters)`, where the counters are the numbers' positions 0, 1, 2, ... as 64-bit integers (high word,
low word), so that each number depends on its position alone. The other generators (`generators`) are called here, too, so
that samplers know of none.

With the flag jax_threefry_partitionable off, the words are those of older programs: a sequence of `count` words is made of
the counters 0, 1, ..., count - 1, whose first half is paired with the second; both words of each block become words of the
sequence. Numbers then depend on the size of the array, too.
"""
from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.api.vmap import vmap
from numjet.core.aval import ShapedArray
from numjet.core.trace import Array, Tracer, aval_of
from numjet.foundation import dtypes, source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.lax.elementwise import bits, bitwise, convert
from numjet.lax.indexing import slicing
from numjet.lax.rng import threefry as rng
from numjet.lax.rng.key_marks import marked
from numjet.lax.shape import create, join, rearrange
from numjet.random import generators

Pair = tuple[Any, Any]
Shape = tuple[int, ...]

_UINT32 = dtypes.uint32
_UNSIGNED: dict[int, np.dtype] = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}
_ZERO = np.uint32(0)


class Words:
    """The words of a key, or of each key of an array: uint32 arrays of equal shape; dtype: that of such keys."""

    __slots__ = ("dtype", "parts")

    def __init__(self, dtype: np.dtype, parts: tuple[Any, ...]):
        self.dtype, self.parts = dtype, parts

    @property
    def shape(self) -> Shape:
        return aval_of(self.parts[0]).shape

    def map(self, fun: Callable[[Any], Any]) -> Words:
        return Words(self.dtype, tuple(map(fun, self.parts)))


tree.register_pytree_node(Words, lambda w: (w.parts, w.dtype), lambda dtype, parts: Words(dtype, tuple(parts)))


# -------------------------------------------------------------------------------------------- keys and words

def check_data(aval: ShapedArray, generator: generators.Generator) -> None:
    """TypeError unless an array holds key data: uint32[..., *key_shape]."""
    expected = generator.key_shape
    if aval.dtype != _UINT32:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; got "
                        f"dtype={dtypes.long_name(aval.dtype)}")
    if aval.shape[-len(expected):] != expected:
        raise TypeError(f"JAX encountered invalid PRNG key data: expected key_data.shape to end with {expected}; got "
                        f"shape={aval.shape} for impl={generator.name}")


def as_key(name: str, key: Any) -> tuple[Any, bool]:
    """A key as an array of keys or of their words, and whether it is of the first kind. TypeError for others."""
    if not isinstance(key, (Array, Tracer)):
        if not isinstance(key, np.ndarray) or key.dtype != _UINT32:
            raise TypeError(f"{name}: unexpected PRNG key type {type(key)}: expected an array made by random.key or "
                            f"random.PRNGKey, got {key!r:.100}")
        key = convert.constant(key)
    typed = dtypes.is_key(key.aval.dtype)
    if not typed:
        check_data(key.aval, generators.default())
        _check_legacy()
    return key, typed


def _check_legacy() -> None:
    """What the option jax_legacy_prng_key says about keys that are arrays of words."""
    if config.legacy_prng_key == "allow":
        return
    text = ("Legacy uint32 key array passed as key to jax.random function. Make keys by random.key instead of PRNGKey, or set "
            "the option jax_legacy_prng_key to 'allow'.")
    if config.legacy_prng_key == "error":
        raise ValueError(text)
    warnings.warn(text, UserWarning, stacklevel=source.user_stacklevel())


def check_single(name: str, aval: ShapedArray, typed: bool) -> None:
    """ValueError for an array of keys."""
    if len(aval.shape) != (0 if typed else len(generators.default().key_shape)):
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape {aval.shape} != (). "
                         "Use jax.vmap for batching.")


def single(name: str, key: Any) -> Any:
    """A single key for the sampler `name`, of either kind, else an error."""
    key, typed = as_key(name, key)
    check_single(name, key.aval, typed)
    return marked(key, "random_bits" if name == "bits" else "jit") if config.debug_key_reuse and typed else key


def words(key: Any) -> Words:
    """The words of keys, each of their shape."""
    if dtypes.is_key(key.aval.dtype):
        return _taken_apart(key.aval.dtype, bits.bitcast_convert_type(key, _UINT32))
    return of_data(generators.default().dtype, key)


def of_data(dtype: np.dtype, data: Any) -> Words:
    """The words in key data, uint32[..., *key_shape]."""
    shape, rank = aval_of(data).shape, len(dtypes.key_shape(dtype))
    if rank != 1:
        data = rearrange.reshape(data, (*shape[:-rank], math.prod(shape[-rank:])))
    return _taken_apart(dtype, data)


def _taken_apart(dtype: np.dtype, data: Any) -> Words:
    *_, count = shape = data.aval.shape
    return Words(dtype, tuple(slicing.index_in_dim(data, n, len(shape) - 1, keepdims=False) for n in range(count)))


def _side_by_side(pair: Words) -> Any:
    """Words in one trailing axis."""
    last = len(pair.shape)
    return join.concatenate([rearrange.expand_dims(w, (last,)) for w in pair.parts], last)


def to_data(pair: Words) -> Any:
    """Words as key data, uint32[..., *key_shape]."""
    data, own = _side_by_side(pair), dtypes.key_shape(pair.dtype)
    return data if len(own) == 1 else rearrange.reshape(data, (*pair.shape, *own))


def key_of(pair: Words, typed: bool) -> Any:
    """Words as keys, typed or as data."""
    return bits.bitcast_convert_type(_side_by_side(pair), pair.dtype) if typed else to_data(pair)


# -------------------------------------------------------------------------------------------- counters

def _counters(target: Shape) -> tuple[Any, Any]:
    """High and low words of 0, 1, 2, ... in the given shape."""
    size = math.prod(target)
    if not isinstance(size, Dimension) and size > 2 ** 32:
        return _wide_counters(target)
    low = create.iota(_UINT32, size)
    return _ZERO, low if target == (size,) else rearrange.reshape(low, target)


def _wide_counters(target: Shape) -> tuple[Any, Any]:
    """High and low words of more positions than 32 bits count."""
    flat = create.iota_p.bind(dtype=dtypes.uint64, shape=(math.prod(target),), dimension=0)
    high = bitwise.shift_right_logical_p.bind(flat, convert.constant(np.uint64(32), dtypes.uint64))
    halves = (rearrange.reshape(convert.convert_dtype(w, _UINT32), target) for w in (high, flat))
    return next(halves), next(halves)


def _threefry(pair: Pair, target: Shape) -> Pair:
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


def _sequence(pair: Pair, count: int) -> Any:
    """`count` words, of counters whose first half is paired with the second; a missing last one is 0."""
    half = -(-count // 2)
    missing = 2 * half - count
    lower = create.iota(_UINT32, half)
    upper = create.iota(_UINT32, count - half) + convert.size_constant(half, _UINT32)
    if is_symbolic((missing,)) or missing:
        upper = join.concatenate([upper, create.full((missing,), _ZERO)], 0)
    return slicing.slice_in_dim(join.concatenate(list(rng.threefry_2x32(pair, (lower, upper))), 0), 0, count)


def _sequences(pair: Pair, count: int) -> list[Any]:
    """`_sequence` of an even number of words for each element of arrays of words."""
    made = [rng.threefry_2x32(pair, (np.uint32(n), np.uint32(n + count // 2))) for n in range(count // 2)]
    return [first for first, _ in made] + [second for _, second in made]


def _split_pair(pair: Pair, num: int) -> list[Pair]:
    """`num` new pairs of words from one; or from arrays of words, for each of their elements."""
    target = aval_of(pair[0]).shape
    if target != () and not config.threefry_partitionable:
        each = _sequences(pair, 2 * num)
        return list(zip(each[::2], each[1::2], strict=True))
    if target == ():
        first, second = _threefry(pair, (num,))
    else:
        wide = (num, *target)
        spread = [rearrange.broadcast_in_dim(w, wide, range(1, len(wide))) for w in pair]
        first, second = rng.threefry_2x32((spread[0], spread[1]), (_ZERO, create.broadcasted_iota(_UINT32, wide, 0)))
    return [(slicing.index_in_dim(first, n, 0, keepdims=False), slicing.index_in_dim(second, n, 0, keepdims=False))
            for n in range(num)]


# -------------------------------------------------------------------------------------------- any generator

def _pair(key: Words) -> Pair | None:
    """The two words of threefry's keys; None for other generators."""
    return (key.parts[0], key.parts[1]) if key.dtype == dtypes.key_dtype else None


def _each(fun: Callable[[Any], Any], key: Words) -> Any:
    """fun(data) of each key of an array of any shape, which leads in the result."""
    data, shape = to_data(key), key.shape
    if shape == ():
        return fun(data)
    made = vmap(fun)(rearrange.reshape(data, (math.prod(shape), *data.shape[len(shape):])))
    return rearrange.reshape(made, (*shape, *made.shape[1:]))


def split_array(key: Words, target: Shape) -> Words:
    """New keys from one, in an array of the given shape."""
    pair = _pair(key)
    if pair is not None:
        return Words(key.dtype, _threefry(pair, target))
    return of_data(key.dtype, generators.of_dtype(key.dtype).split(to_data(key), target))


def split_words(key: Words, num: int) -> list[Words]:
    """`num` new keys from one; or from arrays of them, for each of their elements."""
    pair = _pair(key)
    if pair is not None:
        return [Words(key.dtype, made) for made in _split_pair(pair, num)]
    axis, generator = len(key.shape), generators.of_dtype(key.dtype)
    made = of_data(key.dtype, _each(lambda data: generator.split(data, (num,)), key))
    return [made.map(functools.partial(slicing.index_in_dim, index=n, axis=axis, keepdims=False)) for n in range(num)]


def fold_words(key: Words, data: Any) -> Words:
    """A new key from a key and a uint32 scalar."""
    pair = _pair(key)
    if pair is not None:
        return Words(key.dtype, rng.threefry_2x32(pair, (_ZERO, data)))
    return of_data(key.dtype, generators.of_dtype(key.dtype).fold_in(to_data(key), data))


def random_bits(key: Words, width: int, target: Shape) -> Any:
    """Uniformly distributed unsigned integers of 8, 16, 32 or 64 bits; from arrays of keys one for each of them."""
    pair = _pair(key)
    if pair is not None:
        return _threefry_bits(pair, width, target)
    generator, own = generators.of_dtype(key.dtype), () if key.shape else target
    return _each(lambda data: generator.random_bits(data, width, own), key)


# -------------------------------------------------------------------------------------------- bits

def _threefry_bits(pair: Pair, width: int, target: Shape) -> Any:
    if not config.threefry_partitionable:
        return _bits_of_sequence(pair, width, target)
    if aval_of(pair[0]).shape:
        return _joined(rng.threefry_2x32(pair, (_ZERO, _ZERO)), width)
    return _joined(_threefry(pair, target), width)


def _bits_of_sequence(pair: Pair, width: int, target: Shape) -> Any:
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


def _joined(pair: Pair, width: int) -> Any:
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
