"""Seeds of keys: integers as two words of 32 bits."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import Array, aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import bitwise, convert
from numjet.random.key_bits import Pair, Words

_INTS = frozenset((*dtypes.INTEGRAL, dtypes.bool_))
_ZERO = np.uint32(0)


def seed_words(name: str, seed: Any) -> Pair:
    """A seed's upper and lower 32 bits. A Python integer has 64 bits, of which the upper 32 count with x64 only."""
    if type(seed) is int or isinstance(seed, (int, np.integer, np.bool_)):
        value = int(seed) + config.random_seed_offset
        if not -2 ** 63 <= value < 2 ** (64 if isinstance(seed, np.unsignedinteger) else 63):
            raise OverflowError(f"Python int too large to convert to C long: expected a seed of 64 bits, got {seed}")
        high = value >> 32 if config.x64 and getattr(seed, "itemsize", 8) == 8 else 0
        return np.uint32(high & 0xFFFFFFFF), np.uint32(value & 0xFFFFFFFF)
    aval = aval_of(seed)
    if aval.shape or dtypes.is_key(aval.dtype):
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {aval.shape} != () and dtype "
                        f"{dtypes.long_name(aval.dtype)}. Use jax.vmap for batching")
    if aval.dtype not in _INTS:
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if isinstance(seed, (Array, np.ndarray)):
        return seed_words(name, np.asarray(seed)[()])
    return _traced_words(seed + config.random_seed_offset if config.random_seed_offset else seed)


def _traced_words(seed: Any) -> Pair:
    if seed.aval.dtype.itemsize < 8:
        return _ZERO, convert.convert_dtype(seed, dtypes.uint32)
    wide = convert.convert_dtype(seed, dtypes.uint64)
    high = bitwise.shift_right_logical(wide, np.uint64(32))
    low = bitwise.bitwise_and(wide, np.uint64(0xFFFFFFFF))
    return convert.convert_dtype(high, dtypes.uint32), convert.convert_dtype(low, dtypes.uint32)


def seed_array(pair: Pair) -> Any:
    """The integer of two words as an array of the default width."""
    if not config.x64:
        return convert.convert_dtype(pair[1], dtypes.int32)
    high, low = (convert.convert_dtype(w, dtypes.uint64) for w in pair)
    return convert.convert_dtype(bitwise.bitwise_or(bitwise.shift_left(high, np.uint64(32)), low), dtypes.int64)


def seeded(seed: Any) -> Words:
    """Threefry's key of an integer array."""
    seed = convert.constant(seed) if isinstance(seed, (int, np.integer, np.ndarray)) else seed
    high, low = _traced_words(seed)
    return Words(dtypes.key_dtype, (convert.convert_dtype(high), low))
