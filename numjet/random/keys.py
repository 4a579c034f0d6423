"""Random keys: creation from seeds, splitting, and derivation from other keys and data.

Keys come in two kinds, equally usable everywhere: typed ones (`key`), scalars of a dtype of their own, and raw ones
(`PRNGKey`), arrays of their words. The derivations of threefry are those of Claessen and Palka, "Splittable pseudorandom
number generators using cryptographic hashing", 2013, on the threefry-2x32 cipher.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.trace import EVAL, Array, Tracer, aval_of, current_trace
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import bits, convert
from numjet.lax.rng.key_marks import CLONE, marked, random_mark_p
from numjet.lax.rng.key_words import unwrap, wrap
from numjet.random import generators
from numjet.random.arguments import shape_of
from numjet.random.compiled import compiled, sampler
from numjet.random.generators import Generator
from numjet.random.key_bits import (
    Pair,
    Shape,
    Words,
    as_key,
    check_data,
    check_single,
    fold_words,
    key_of,
    of_data,
    random_bits,
    split_array,
    to_data,
    words,
)
from numjet.random.seeds import seed_array, seed_words, seeded

# -------------------------------------------------------------------------------------------- threefry

def _on_data(fun: Callable[..., Words]) -> Callable[..., Any]:
    """A function of words as one of key data."""
    return lambda data, argument: to_data(fun(of_data(dtypes.key_dtype, data), argument))


def _bits_of_data(data: Any, width: int, shape: Shape) -> Any:
    return random_bits(of_data(dtypes.key_dtype, data), width, shape)


THREEFRY = generators.register(Generator(
    "threefry2x32", "fry", dtypes.key_shape(dtypes.key_dtype), dtypes.key_dtype, lambda seed: to_data(seeded(seed)),
    _on_data(split_array), _bits_of_data, _on_data(fold_words)))


# -------------------------------------------------------------------------------------------- making keys

def _seeded(generator: Generator, pair: Pair, typed: bool) -> Any:
    if generator is not THREEFRY:
        data = generator.seed(seed_array(pair))
        return wrap(data, generator.dtype) if typed else data
    if isinstance(pair[1], np.uint32):
        data = convert.constant(np.array(pair, np.uint32))
        return bits.bitcast_convert_type(data, dtypes.key_dtype) if typed else data
    return key_of(Words(dtypes.key_dtype, (convert.convert_dtype(pair[0]), pair[1])), typed)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed random key from an integer seed: a scalar array of a dtype of keys.

    seed: any integer of 64 bits, negative ones too, of which the lower 32 count unless jax_enable_x64 is on; may be
    traced. impl: a generator's name ('threefry2x32', 'rbg', 'unsafe_rbg'), a dtype of keys, or what
    `numjet.extend.random.define_prng_impl` returned; default: that of the option jax_default_prng_impl. dtype: as impl.

    TypeError for floats and arrays, OverflowError for larger integers, ValueError for unknown generators.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return _seeded(generators.requested(impl, dtype), seed_words("key", seed), True)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A raw random key from an integer seed, uint32[2] (of rbg uint32[4]): as `key`, for programs that handle keys as numbers.

    >>> PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    return _seeded(generators.requested(impl, None), seed_words("PRNGKey", seed), config.enable_custom_prng)


# -------------------------------------------------------------------------------------------- kinds of keys

def key_data(keys: Any) -> Any:
    """The numbers in keys: uint32[..., 2] for threefry; raw keys as they are.

    >>> key_data(key(7))
    Array([0, 7], dtype=uint32)
    """
    keys, typed = as_key("key_data", keys)
    return unwrap(keys) if typed else keys


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from their numbers, uint32[..., 2] for threefry. TypeError for other arrays.

    >>> import numpy as np
    >>> key_data(wrap_key_data(np.array([1, 2], "uint32"))).tolist()
    [1, 2]
    """
    generator = generators.requested(impl, dtype)
    data = key_bits_array if isinstance(key_bits_array, (Array, Tracer)) else convert.constant(key_bits_array)
    check_data(data.aval, generator)
    return wrap(data, generator.dtype)


def key_impl(keys: Any) -> Any:
    """The generator that keys are for: its name, or what `define_prng_impl` returned; to be given as `impl`.

    >>> key_impl(key(0))
    'threefry2x32'
    """
    keys, typed = as_key("key_impl", keys)
    found = generators.of_dtype(keys.aval.dtype) if typed else generators.default()
    return found.name if generators.is_named(found) else found


def key_dtype(impl_spec: Any = None) -> np.dtype:
    """The dtype of typed keys.

    >>> key(0).dtype == key_dtype()
    True
    """
    return generators.requested(impl_spec, None).dtype


def clone(key: Any) -> Any:
    """The same key, marked as meant for use once more: the option jax_debug_key_reuse lets each be used once.

    >>> key_data(clone(PRNGKey(3))).tolist()
    [0, 3]
    """
    key, typed = as_key("clone", key)
    if not typed:
        return key
    if current_trace() is EVAL:
        return wrap(unwrap(key), key.dtype)
    return random_mark_p.bind(key, kind=CLONE, mask=None) if config.debug_key_reuse else key


# -------------------------------------------------------------------------------------------- deriving keys

@compiled
def _split(key: Any, *, shape: tuple[int, ...]) -> Any:
    return key_of(split_array(words(key), shape), dtypes.is_key(key.aval.dtype))


@sampler
def split(key: Any, num: Any = 2) -> Any:
    """New keys from a key, an array of shape (num,), or of the shape `num`; of the key's kind.

    The old key must not be used again. ValueError for an array of keys (use vmap).

    >>> first, second = split(PRNGKey(0))
    >>> first.tolist()
    [1797259609, 2579123966]
    """
    key, typed = as_key("split", key)
    check_single("split", key.aval, typed)
    target = num if isinstance(num, tuple) else (num,)
    if config.debug_key_reuse and typed:
        key = marked(key, "random_split")
    return _split(key, shape=shape_of("split", target))


@compiled
def _fold_in(key: Any, data: Any) -> Any:
    return key_of(fold_words(words(key), data), dtypes.is_key(key.aval.dtype))


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer of 32 bits, which may be traced; of the key's kind.

    ValueError for an array of keys, TypeError for data that is no scalar, OverflowError for Python integers that uint32
    does not hold.

    >>> fold_in(PRNGKey(0), 7).tolist()
    [2716826189, 292468403]
    """
    key, typed = as_key("fold_in", key)
    check_single("fold_in", key.aval, typed)
    if type(data) is int:
        dtypes.check_int_fits(data, dtypes.uint32)
        return _fold_in(key, np.uint32(data))
    aval = aval_of(data)
    if aval.shape:
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {aval.shape} != (). "
                        "Use jax.vmap for batching.")
    return _fold_in(key, convert.convert_dtype(data, dtypes.uint32))
