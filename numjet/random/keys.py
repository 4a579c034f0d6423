"""Random keys: creation from seeds, splitting, and derivation from other keys and data.

Keys come in two kinds, equally usable everywhere: typed ones (`key`), scalars of a dtype of their own, and raw ones
(`PRNGKey`), uint32[2]. The derivations are those of Claessen and Palka, "Splittable pseudorandom number generators using
cryptographic hashing", 2013, on the threefry-2x32 cipher.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import Array, Tracer, aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import bits, bitwise, convert
from numjet.lax.rng import threefry as rng
from numjet.random.arguments import shape_of
from numjet.random.compiled import compiled
from numjet.random.key_bits import as_key, check_data, check_single, key_of, threefry, words

_IMPL = "threefry2x32"
_OTHER_IMPLS = ("rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32")
_INTS = frozenset((*dtypes.INTEGRAL, dtypes.bool_))
_ZERO = np.uint32(0)


# -------------------------------------------------------------------------------------------- making keys

def _check_impl(impl: Any, dtype: Any = None) -> None:
    """ValueError for unknown generators, NotImplementedError for those that only JAX has."""
    if impl is not None and dtype is not None:
        raise ValueError("Specify only one of impl and dtype")
    if dtype is not None:
        if dtype is not dtypes.prng_key and dtypes.as_dtype(dtype) != dtypes.key_dtype:
            raise TypeError(f"expected a dtype of random keys, got {dtype!r}; see random.key_dtype()")
        return
    impl = config.default_prng_impl if impl is None else impl
    if impl in (_IMPL, dtypes.key_dtype):
        return
    if impl in _OTHER_IMPLS:
        raise NotImplementedError(f"random keys of impl {impl!r}: only {_IMPL!r} is available; leave impl out or set the "
                                  "option jax_default_prng_impl back")
    raise ValueError(f"unrecognized PRNG implementation {impl!r}: expected {_IMPL!r}")


def _seed_words(name: str, seed: Any) -> tuple[Any, Any]:
    """A seed's upper and lower 32 bits. A Python integer has 64 bits, of which the upper 32 count with x64 only."""
    if type(seed) is int or isinstance(seed, (int, np.integer, np.bool_)):
        value = int(seed) + config.random_seed_offset
        if not -2 ** 63 <= value < 2 ** (64 if isinstance(seed, np.unsignedinteger) else 63):
            raise OverflowError(f"Python int too large to convert to C long: expected a seed of 64 bits, got {seed}")
        high = value >> 32 if config.x64 and getattr(seed, "itemsize", 8) == 8 else 0
        return np.uint32(high & 0xFFFFFFFF), np.uint32(value & 0xFFFFFFFF)
    aval = aval_of(seed)
    if aval.shape:
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {aval.shape} != (). "
                        "Use jax.vmap for batching")
    if aval.dtype not in _INTS:
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if isinstance(seed, (Array, np.ndarray)):
        return _seed_words(name, np.asarray(seed)[()])
    return _traced_words(seed + config.random_seed_offset if config.random_seed_offset else seed)


def _traced_words(seed: Any) -> tuple[Any, Any]:
    if seed.aval.dtype.itemsize < 8:
        return _ZERO, convert.convert_dtype(seed, dtypes.uint32)
    wide = convert.convert_dtype(seed, dtypes.uint64)
    high = bitwise.shift_right_logical(wide, np.uint64(32))
    low = bitwise.bitwise_and(wide, np.uint64(0xFFFFFFFF))
    return convert.convert_dtype(high, dtypes.uint32), convert.convert_dtype(low, dtypes.uint32)


def _seeded(pair: tuple[Any, Any], typed: bool) -> Any:
    if isinstance(pair[1], np.uint32):
        data = convert.constant(np.array(pair, np.uint32))
        return bits.bitcast_convert_type(data, dtypes.key_dtype) if typed else data
    return key_of((convert.convert_dtype(pair[0]), pair[1]), typed)


def key(seed: Any, *, impl: str | None = None, dtype: Any = None) -> Any:
    """A typed random key from an integer seed: a scalar array of the dtype of keys.

    seed: any integer of 64 bits, negative ones too, of which the lower 32 count unless jax_enable_x64 is on; may be
    traced. TypeError for floats and arrays, OverflowError for larger integers, NotImplementedError for generators other
    than threefry2x32.

    >>> key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    _check_impl(impl, dtype)
    return _seeded(_seed_words("key", seed), True)


def PRNGKey(seed: Any, *, impl: str | None = None) -> Any:
    """A raw random key from an integer seed, uint32[2]: as `key`, for programs that handle keys as numbers.

    >>> PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    _check_impl(impl)
    return _seeded(_seed_words("PRNGKey", seed), config.enable_custom_prng)


# -------------------------------------------------------------------------------------------- kinds of keys

def key_data(keys: Any) -> Any:
    """The numbers in keys: uint32[..., 2]; raw keys as they are.

    >>> key_data(key(7))
    Array([0, 7], dtype=uint32)
    """
    keys, typed = as_key("key_data", keys)
    return bits.bitcast_convert_type(keys, dtypes.uint32) if typed else keys


def wrap_key_data(key_bits_array: Any, *, impl: str | None = None, dtype: Any = None) -> Any:
    """Typed keys from their numbers, uint32[..., 2]. TypeError for other arrays.

    >>> import numpy as np
    >>> key_data(wrap_key_data(np.array([1, 2], "uint32"))).tolist()
    [1, 2]
    """
    _check_impl(impl, dtype)
    data = key_bits_array if isinstance(key_bits_array, (Array, Tracer)) else convert.constant(key_bits_array)
    check_data(data.aval)
    return bits.bitcast_convert_type(data, dtypes.key_dtype)


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for.

    >>> key_impl(key(0))
    'threefry2x32'
    """
    as_key("key_impl", keys)
    return _IMPL


def key_dtype(impl_spec: Any = None) -> np.dtype:
    """The dtype of typed keys.

    >>> key(0).dtype == key_dtype()
    True
    """
    _check_impl(impl_spec)
    return dtypes.key_dtype


def clone(key: Any) -> Any:
    """The same key, marked as meant for use once more.

    >>> key_data(clone(PRNGKey(3))).tolist()
    [0, 3]
    """
    return as_key("clone", key)[0]


# -------------------------------------------------------------------------------------------- deriving keys

@compiled
def _split(key: Any, *, shape: tuple[int, ...]) -> Any:
    return key_of(threefry(words(key), shape), key.aval.dtype == dtypes.key_dtype)


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
    return _split(key, shape=shape_of("split", target))


@compiled
def _fold_in(key: Any, data: Any) -> Any:
    return key_of(rng.threefry_2x32(words(key), (_ZERO, data)), key.aval.dtype == dtypes.key_dtype)


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
