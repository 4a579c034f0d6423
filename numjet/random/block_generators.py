"""Keys of two threefry keys, whose bits come from rng_bit_generator: the generators rbg and unsafe_rbg.

rbg splits its two halves as threefry does. unsafe_rbg takes new keys from its own bits, too, which is cheaper, and nothing is
known about how independent they are: every tenth row of four words is a key.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import bitwise
from numjet.lax.indexing import slicing
from numjet.lax.rng.bit_generator import RandomAlgorithm, rng_bit_generator_p
from numjet.lax.shape import join, rearrange
from numjet.random import generators
from numjet.random.key_bits import Shape, Words, fold_words, of_data, split_array, to_data
from numjet.random.seeds import seeded

_KEY_SHAPE = (4,)
_STRIDE = 10  # rows of bits for each key


def _halves(words: Any) -> list[Words]:
    return [of_data(dtypes.key_dtype, slicing.slice_in_dim(words, 2 * k, 2 * k + 2)) for k in range(2)]


def _joined(halves: list[Words]) -> Any:
    data = [to_data(half) for half in halves]
    return join.concatenate(data, len(data[0].aval.shape) - 1)


def _seed(seed: Any) -> Any:
    return _joined([seeded(seed)] * 2)


def _split(words: Any, shape: Shape) -> Any:
    return _joined([split_array(half, shape) for half in _halves(words)])


def _fold_in(words: Any, data: Any) -> Any:
    return _joined([fold_words(half, data) for half in _halves(words)])


def _random_bits(words: Any, width: int, shape: Shape) -> Any:
    _, bits = rng_bit_generator_p.bind(words, shape=tuple(shape), dtype=np.dtype(f"uint{width}"),
                                       algorithm=RandomAlgorithm.RNG_DEFAULT)
    return bits


def _unsafe_split(words: Any, shape: Shape) -> Any:
    count = math.prod(shape)
    rows = _random_bits(words, 32, (_STRIDE * count, 4))
    return rearrange.reshape(slicing.slice_in_dim(rows, 0, _STRIDE * count, _STRIDE), (*shape, 4))


def _unsafe_fold_in(words: Any, data: Any) -> Any:
    rows = _random_bits(_seed(data), 32, (_STRIDE, 4))
    return bitwise.bitwise_xor(words, slicing.index_in_dim(rows, _STRIDE - 1, 0, keepdims=False))


RBG = generators.register(generators.Generator(
    "rbg", "rbg", _KEY_SHAPE, dtypes.new_key_dtype("rbg", _KEY_SHAPE), _seed, _split, _random_bits, _fold_in))
UNSAFE_RBG = generators.register(generators.Generator(
    "unsafe_rbg", "urbg", _KEY_SHAPE, dtypes.new_key_dtype("urbg", _KEY_SHAPE), _seed, _unsafe_split, _random_bits,
    _unsafe_fold_in))
