"""Bits and bytes: packbits, unpackbits."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from numjet.lax.elementwise import bitwise, convert
from numjet.lax.indexing import slicing
from numjet.lax.shape import join, rearrange
from numjet.numpy.indexing.where import truth
from numjet.numpy.reduction.reductions import sum as total
from numjet.numpy.shaping.manipulation import flattened, moveaxis

_BYTE = np.dtype(np.uint8)


def _shifts(bitorder: str, like: tuple[int, ...]) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    positions = np.arange(8, dtype=_BYTE)
    return rearrange.broadcast_in_dim(positions if bitorder == "little" else positions[::-1].copy(), like, [len(like) - 1])


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Elements (0 or not) as bits of bytes along `axis` (None: of the flattened array), filled up with zeros.

    bitorder: which end of a byte the first element is, "big" or "little". TypeError for floats.

    >>> import numjet.numpy as jnp
    >>> packbits(jnp.array([1, 0, 1])).tolist()
    [160]
    """
    a, dim = flattened("packbits", a, axis)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = convert.convert_element_type(moveaxis(truth(a), dim, -1), _BYTE)
    short = -bits.shape[-1] % 8
    bits = join.pad(bits, np.uint8(0), [(0, short if d == bits.ndim - 1 else 0, 0) for d in range(bits.ndim)])
    bits = rearrange.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = total(bitwise.shift_left(bits, _shifts(bitorder, bits.shape)), -1, _BYTE)
    return moveaxis(packed, -1, dim)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """The bits of bytes (uint8) along `axis` (None: of the flattened array), as uint8.

    count: how many bits to give (more than there are: zeros follow; negative: so many fewer). bitorder as of packbits.

    >>> import numjet.numpy as jnp
    >>> unpackbits(jnp.array([160], "uint8"), count=3).tolist()
    [1, 0, 1]
    """
    a, dim = flattened("unpackbits", a, axis)
    if a.dtype != _BYTE:
        raise TypeError("Expected an input array of unsigned byte data type")
    moved = moveaxis(a, dim, -1)
    wide = rearrange.broadcast_in_dim(moved, (*moved.shape, 8), range(moved.ndim))
    bits = bitwise.bitwise_and(bitwise.shift_right_logical(wide, _shifts(bitorder, wide.shape)), np.uint8(1))
    bits = rearrange.reshape(bits, (*moved.shape[:-1], moved.shape[-1] * 8))
    size = bits.shape[-1]
    if count is not None:
        wanted = operator.index(count)
        wanted = max(size + wanted, 0) if wanted < 0 else wanted
        if wanted > size:
            bits = join.pad(bits, np.uint8(0), [(0, wanted - size if d == bits.ndim - 1 else 0, 0) for d in range(bits.ndim)])
        else:
            bits = slicing.slice_in_dim(bits, 0, wanted, axis=-1)
    return moveaxis(bits, -1, dim)
