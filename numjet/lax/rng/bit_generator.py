"""rng_bit_generator and rng_uniform: random bits of a chosen generator, as XLA's operations of these names define them.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: Philox4x32-10, Threefry2x32-20.

The state is four uint32 words (or two uint64): a key, and a counter of 64 bits, low words first. Philox makes blocks of
four words from the counters counter, counter + 1, ...; Threefry blocks of two. Results of fewer than 32 bits take the low
bits of one word each, results of 64 bits two words.
"""
from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.core.printing_rules import register_parameter_type
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, KEEPS_APART
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, as_shape, replace, row_major
from numjet.lax.elementwise.bits import bitcast_convert_type
from numjet.lax.reduction.argreduce import as_scalar
from numjet.lax.rng.threefry import UINT32, cipher
from numjet.lax.shape.rearrange import divided, reshape
from numjet.lax.templates import kind_of, leading_batch

_UINT64 = np.dtype(np.uint64)
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # of the paper
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


@register_parameter_type
class RandomAlgorithm(enum.Enum):
    """The generator of rng_bit_generator. RNG_DEFAULT is Philox."""
    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


# ------------------------------------------------------------------------------------------------ the block functions

class _Words:
    """Arithmetic on uint32 values on NumPy arrays, or on scalars of a builder."""

    def __init__(self, b: Any = None):
        self.b = b

    def number(self, n: int) -> Any:
        return np.uint32(n) if self.b is None else self.b.const(n, UINT32)

    def add(self, x: Any, y: Any) -> Any:
        return x + y if self.b is None else self.b.prim("add", x, y)

    def xor(self, x: Any, y: Any) -> Any:
        return x ^ y if self.b is None else self.b.prim("xor", x, y)

    def rotate(self, x: Any, r: int) -> Any:
        if self.b is None:
            return (x << np.uint32(r)) | (x >> np.uint32(32 - r))
        b = self.b
        return b.prim("or", b.prim("shl", x, self.number(r)), b.prim("shrl", x, self.number(32 - r)))

    def product(self, factor: int, x: Any) -> tuple[Any, Any]:
        """The high and the low word of factor * x."""
        if self.b is None:
            wide = x.astype(np.uint64) * np.uint64(factor)
            return (wide >> np.uint64(32)).astype(np.uint32), wide.astype(np.uint32)
        return halves(self.b, self.b.prim("mul", self.b.convert(x, _UINT64), self.b.const(factor, _UINT64)))


def halves(b: Any, wide: Any) -> tuple[Any, Any]:
    """The high and the low word of a uint64 scalar."""
    return b.convert(b.prim("shrl", wide, b.const(32, _UINT64)), UINT32), b.convert(wide, UINT32)


def _philox(on: _Words, key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, ...]:
    """Philox4x32-10; the upper half of its counter is the key."""
    c, k = (*counter, *key), key
    for n in range(_ROUNDS):
        (high0, low0), (high1, low1) = on.product(_MULTIPLIERS[0], c[0]), on.product(_MULTIPLIERS[1], c[2])
        c = (on.xor(on.xor(high1, c[1]), k[0]), low1, on.xor(on.xor(high0, c[3]), k[1]), low0)
        if n + 1 < _ROUNDS:
            k = (on.add(k[0], on.number(_WEYL[0])), on.add(k[1], on.number(_WEYL[1])))
    return c


def _threefry(on: _Words, key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, ...]:
    return cipher(on.add, on.xor, on.rotate, on.number, key, counter)


def _block(algorithm: RandomAlgorithm) -> tuple[Any, int]:
    """The block function, and how many words it makes."""
    return (_threefry, 2) if algorithm == RandomAlgorithm.RNG_THREE_FRY else (_philox, 4)


# ------------------------------------------------------------------------------------------------ layout of words

def _halved(shape: Ints) -> int:
    """The axis along which the two words of Threefry's blocks alternate: the first even one, else the longest."""
    even = [d for d, n in enumerate(shape) if n % 2 == 0]
    return even[0] if even else max(range(len(shape)), key=lambda d: shape[d])


def _blocks(algorithm: RandomAlgorithm, shape: Ints, dtype: np.dtype) -> int:
    """How many blocks are made."""
    if prod(shape) == 0:
        return 0
    if _block(algorithm)[1] == 4:
        return -(-prod(shape) * (2 if dtype.itemsize == 8 else 1) // 4)
    if dtype.itemsize == 8 or not shape:
        return prod(shape)
    d = _halved(shape)
    return prod(shape) // shape[d] * -(-shape[d] // 2)


def _word_of(algorithm: RandomAlgorithm, shape: Ints, index: Sequence[Any], dtype: np.dtype) -> Any:
    """The number of the word (of the first of two, for 64 bits) that an element takes."""
    if dtype.itemsize == 8 or not shape or _block(algorithm)[1] == 4:
        flat = row_major(shape, index)
        return flat * 2 if dtype.itemsize == 8 else flat
    d = _halved(shape)
    return row_major(replace(shape, d, -(-shape[d] // 2)), replace(index, d, index[d] // 2)) * 2 + index[d] % 2


# ------------------------------------------------------------------------------------------------ rng_bit_generator

def _abstract(key: ShapedArray, *, shape: Ints, dtype: np.dtype, algorithm: RandomAlgorithm) -> list[ShapedArray]:
    if key.dtype != UINT32 or key.ndim < 1 or key.shape[-1] != 4:
        raise TypeError(f"rng_bit_generator: expected a key of 4 uint32 (or 2 uint64) words, got {key.str_short()}")
    if kind_of(dtype) != "u" or dtype.itemsize not in (1, 2, 4, 8) or not dtypes.is_numpys(dtype):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype.name}; expected uint8, uint16, uint32 or uint64")
    return [key, ShapedArray((*key.shape[:-1], *shape), dtype)]


def _eager(key: np.ndarray, *, shape: Ints, dtype: np.dtype, algorithm: RandomAlgorithm) -> list[np.ndarray]:
    function, width = _block(algorithm)
    count, words = _blocks(algorithm, shape, dtype), _Words()
    lead = key.shape[:-1]
    start = key[..., 2].astype(np.uint64) | key[..., 3].astype(np.uint64) << np.uint64(32)
    counters = start[..., None] + np.arange(count, dtype=np.uint64)
    split = lambda c: (c.astype(np.uint32), (c >> np.uint64(32)).astype(np.uint32))
    own = tuple(np.broadcast_to(key[..., k, None], counters.shape) for k in range(2))
    bits = np.stack(function(words, own, split(counters)), -1).reshape(*lead, count * width)
    word = np.broadcast_to(_word_of(algorithm, shape, list(np.indices(shape)), dtype), shape).astype(np.int64)
    out = np.take(bits, word, -1) if word.size else np.zeros((*lead, *shape), np.uint32)
    if dtype.itemsize == 8:
        high = np.take(bits, word + 1, -1) if word.size else out
        out = out.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    after = split(start + np.uint64(count))
    return [np.stack([key[..., 0], key[..., 1], *after], -1), out.astype(dtype)]


def _cpu(b: Any, key: Any, *, shape: Ints, dtype: np.dtype, algorithm: RandomAlgorithm) -> list[Any]:
    function, width = _block(algorithm)
    count, lead = _blocks(algorithm, shape, dtype), key.shape[:-1]
    batch = prod(lead)
    keys = b.materialize(b.reshape(key, (batch, 4)))
    bits = b.empty((batch, count * width), UINT32)

    def counter(e: Any, n: Any) -> tuple[Any, Any]:
        low, high = (b.convert(b.read(keys, e, k), _UINT64) for k in (2, 3))
        start = b.prim("or", low, b.prim("shl", high, b.const(32, _UINT64)))
        upper, lower = halves(b, b.prim("add", start, as_scalar(b, n, _UINT64)))
        return lower, upper

    def block(e: Any, n: Any) -> None:
        made = function(_Words(b), (b.read(keys, e, 0), b.read(keys, e, 1)), counter(e, n))
        for k, value in enumerate(made):
            b.store(bits, (e, n * width + k), value)
    b.loop((batch, count), block)

    def element(e: Any, *index: Any) -> Any:
        word = _word_of(algorithm, shape, index, dtype)
        if dtype.itemsize < 8:
            return b.convert(b.read(bits, e, word), dtype)
        low, high = (b.convert(b.read(bits, e, word + k), _UINT64) for k in (0, 1))
        return b.prim("or", low, b.prim("shl", high, b.const(32, _UINT64)))

    def state(e: Any, k: Any) -> Any:
        lower, upper = counter(e, count)
        advanced = b.select(b.compare("eq", as_scalar(b, k, np.int64), b.const(2, np.int64)), lower, upper)
        return b.select(b.compare("lt", as_scalar(b, k, np.int64), b.const(2, np.int64)), b.read(keys, e, k), advanced)
    out = b.compute((batch, *shape), dtype, element, reads=(bits,))
    after = b.compute((batch, 4), UINT32, state, reads=(keys,))
    return [b.reshape(after, (*lead, 4)), b.reshape(out, (*lead, *shape))]


def _hlo(b: Any, key: Any, *, shape: Ints, dtype: np.dtype, algorithm: RandomAlgorithm) -> list[Any]:
    """One operation for every key of a batch. A key is two 64-bit words there."""
    lead, name = key.shape[:-1], algorithm.name.removeprefix("RNG_")
    keys = b.bitcast(b.reshape(key, (prod(lead), 2, 2)), _UINT64, (prod(lead), 2))
    after, bits = [], []
    for k in range(prod(lead)):
        own = b.reshape(b.slice(keys, (k, 0), (k + 1, 2)), (2,))
        found = b.op("stablehlo.rng_bit_generator", [own], [own.aval, ShapedArray(shape, dtype)],
                     attrs={"rng_algorithm": f"#stablehlo<rng_algorithm {name}>"})
        after.append(b.reshape(b.bitcast(found[0], UINT32, (2, 2)), (1, 4)))
        bits.append(b.reshape(found[1], (1, *shape)))
    if not after:
        return [key, b.full((*lead, *shape), 0, dtype)]
    return [b.reshape(b.concatenate(after, 0), key.shape), b.reshape(b.concatenate(bits, 0), (*lead, *shape))]


def _keys(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    key = rng.integers(0, 2 ** 32, (*shapes, 4), dtype=np.uint32)
    key[..., 2] |= np.uint32(0xFFFFFFFC)  # so that the counter's low word overflows
    return [key]


_SHAPES = ((), (5,), (3, 4), (4, 3), (5, 3), (0,), (300,))
rng_bit_generator_p: Op = Op(
    name="rng_bit_generator", params=("shape", "dtype", "algorithm"), multiple=True, abstract=_abstract, eager=_eager,
    jvp=ZERO, transpose=Missing("random bits are not linear"), batch=leading_batch(lambda: rng_bit_generator_p), cpu=_cpu,
    hlo=_hlo, traits=EXACT,
    samples=Samples(shapes=((),), dtypes=("uint32",), make=_keys, params=tuple(
        {"shape": s, "dtype": np.dtype(d), "algorithm": a} for s in _SHAPES for d in ("uint8", "uint32", "uint64")
        for a in (RandomAlgorithm.RNG_THREE_FRY, RandomAlgorithm.RNG_PHILOX))))


def rng_bit_generator(key: Any, shape: Any, dtype: Any = np.uint32,
                      algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT, *, out_sharding: Any = None
                      ) -> tuple[Any, Any]:
    """(the next key, random bits) of a generator without a state of its own. numjet.random is easier to use.

    key: 4 words of uint32 or 2 of uint64. dtype: uint8, uint16, uint32 or uint64. algorithm: see RandomAlgorithm; the bits
    are those of XLA on a CPU. Under vmap over keys each key gives its own bits.

    TypeError for another key or dtype, ValueError for an algorithm that does not exist.

    >>> key, bits = rng_bit_generator(np.uint32([1, 2, 3, 4]), (2,))
    >>> key.tolist(), [hex(b) for b in bits.tolist()]
    ([1, 2, 4, 4], ['0x1e8fe864', '0x4d5e0bd7'])
    """
    if out_sharding is not None:
        after, bits = rng_bit_generator(key, shape, dtype, algorithm)
        return after, divided("rng_bit_generator", lambda x: x, out_sharding, bits)
    aval = aval_of(key)
    if aval.shape not in ((4,), (2,)) or aval.dtype != (UINT32 if aval.shape == (4,) else _UINT64):
        raise TypeError(f"rng_bit_generator: expected a key of shape (4,) and dtype uint32, or (2,) and uint64, got "
                        f"{aval.str_short()}")
    words = key if aval.shape == (4,) else reshape(bitcast_convert_type(key, UINT32), (4,))
    after, bits = rng_bit_generator_p.bind(words, shape=as_shape(shape), dtype=dtypes.canonicalize_dtype(dtype),
                                           algorithm=RandomAlgorithm(algorithm))
    if aval.dtype == _UINT64:
        after = bitcast_convert_type(reshape(after, (2, 2)), _UINT64)
    return after, bits


# ------------------------------------------------------------------------------------------------ rng_uniform

@functools.cache
def _generator() -> np.random.Generator:
    """The generator whose state all calls share; numpy.random is imported when the first one is made."""
    return np.random.default_rng()


def _uniform_abstract(a: ShapedArray, b: ShapedArray, *, shape: Ints) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {a.dtype.name} and {b.dtype.name}.")
    if a.shape or b.shape:
        raise ValueError(f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}.")
    if kind_of(a.dtype) not in "iuf":
        raise TypeError(f"rng_uniform: expected bounds that are integers or floats, got dtype {a.dtype.name}")
    return a.update(shape=shape, weak_type=a.weak_type and b.weak_type)


def _uniform_eager(a: np.ndarray, b: np.ndarray, *, shape: Ints) -> np.ndarray:
    if kind_of(a.dtype) == "f":
        low, high = float(a), float(b)
        drawn = (low + (high - low) * _generator().random(shape)).astype(a.dtype)
        below = np.nextafter(b, a).astype(a.dtype) if dtypes.is_numpys(a.dtype) else a  # rounding must not reach b
        return np.where(drawn == b, below, drawn)
    if not int(a) < int(b):
        return np.full(shape, a)
    wide = np.int64 if kind_of(a.dtype) == "i" else np.uint64
    return _generator().integers(int(a), int(b), shape, dtype=wide).astype(a.dtype)


def _uniform_hlo(b: Any, low: Any, high: Any, *, shape: Ints) -> Any:
    return b.op("stablehlo.rng", [low, high, b.constant(np.asarray(shape, np.int64))], low.aval.update(shape=shape),
                attrs={"rng_distribution": "#stablehlo<rng_distribution UNIFORM>"})


rng_uniform_p = Op(
    name="rng_uniform", params=("shape",), abstract=_uniform_abstract, eager=_uniform_eager,
    jvp=Missing("its results are different in every call"), transpose=Missing("random numbers are not linear"),
    batch=Missing("bounds of rng_uniform are scalars; numjet.random.uniform takes arrays"),
    cpu=lambda b, low, high, *, shape: b.callback(
        lambda x, y: [np.asarray(_uniform_eager(x, y, shape=shape), x.dtype)], [low, high],
        [_uniform_abstract(low.aval, high.aval, shape=shape)])[0],
    hlo=_uniform_hlo, traits=KEEPS_APART, samples=Missing("random"))


def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """Random numbers, uniform in [a, b), different in every call. numjet.random gives reproducible ones.

    a, b: scalars of one dtype, integers or floats. ValueError for different dtypes and operands that are no scalars.

    >>> x = rng_uniform(0, 3, (100,))
    >>> bool((x >= 0).all() and (x < 3).all())
    True
    """
    return rng_uniform_p.bind(a, b, shape=tuple(map(operator.index, shape)))
