"""Typed random keys and their words: an array of keys is an array of uint32 with trailing axes."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import bits
from numjet.lax.shape import rearrange


def wrap(data: Any, dtype: np.dtype) -> Any:
    """Key data, uint32[..., *key_shape], as typed keys."""
    own = dtypes.key_shape(dtype)
    lead = data.aval.shape[:len(data.aval.shape) - len(own)]
    flat = data if len(own) == 1 else rearrange.reshape(data, (*lead, math.prod(own)))
    return bits.bitcast_convert_type(flat, dtype)


def unwrap(keys: Any) -> Any:
    """Typed keys as key data."""
    data, own = bits.bitcast_convert_type(keys, dtypes.uint32), dtypes.key_shape(keys.aval.dtype)
    return data if len(own) == 1 else rearrange.reshape(data, (*keys.aval.shape, *own))
