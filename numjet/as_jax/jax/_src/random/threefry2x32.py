"""Threefry on the words of keys, uint32 arrays of shape (2,)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import random


def _key(words: Any) -> Any:
    return random.wrap_key_data(words, impl="threefry2x32")


def threefry_seed(seed: Any) -> Any:
    """The words of the key of an integer."""
    return random.key_data(random.key(seed, impl="threefry2x32"))


def threefry_split(key: Any, shape: int | Sequence[int]) -> Any:
    """The words of new keys: the shape and an axis of 2."""
    return random.key_data(random.split(_key(key), shape))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """The words of the key that a key and an integer make."""
    return random.key_data(random.fold_in(_key(key), data))


def threefry_random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits."""
    return random.bits(_key(key), shape, np.dtype(f"uint{bit_width}"))
