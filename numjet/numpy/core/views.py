"""Bit casts of arrays: the methods view and byteswap."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import bits, compare, convert
from numjet.lax.shape import join, rearrange
from numjet.numpy.core.promotion import array_arg, literal
from numjet.numpy.indexing.subscript import getitem

_BOOL, _BYTE = np.dtype(np.bool_), np.dtype(np.uint8)


def view(a: Any, dtype: Any = None, type: None = None) -> Any:
    """The bits of a as another dtype (None: its own). The last axis grows or shrinks with the size of the elements.

    To bool: bytes that are not 0. ValueError where the last axis does not divide; NotImplementedError for `type`.

    >>> import numjet.numpy as jnp
    >>> view(jnp.array([1.0]), "int32").tolist()
    [1065353216]
    """
    if type is not None:
        raise NotImplementedError(f"`type` argument of array.view() is not supported, got {type!r}")
    a = array_arg("view", a)
    if dtype is None:
        return a
    wanted = dtypes.check_user_dtype(dtype, "view")
    if wanted == a.dtype:
        return convert.convert_dtype(a, wanted)
    if wanted == _BOOL:
        return compare.ne(_recast(_plain(a), _BYTE), literal(0, _BYTE))
    if wanted in dtypes.COMPLEX:
        parts = _recast(_plain(a), dtypes.to_floating_dtype(wanted))
        if parts.ndim == 0 or parts.shape[-1] % 2:
            raise _uneven(a, wanted)
        return convert.complex(getitem(parts, (Ellipsis, slice(0, None, 2))), getitem(parts, (Ellipsis, slice(1, None, 2))))
    return _recast(_plain(a), wanted)


def _plain(a: Any) -> Any:
    """Complex numbers as pairs of floats along the last axis, bools as bytes."""
    if a.dtype == _BOOL:
        return convert.convert_dtype(a, _BYTE)
    if a.dtype not in dtypes.COMPLEX:
        return a
    if a.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged: got complex numbers")
    pair = [rearrange.expand_dims(p, (a.ndim,)) for p in (convert.real(a), convert.imag(a))]
    return rearrange.reshape(join.concatenate(pair, a.ndim), (*a.shape[:-1], 2 * a.shape[-1]))


def _uneven(a: Any, wanted: np.dtype) -> ValueError:
    return ValueError(f"When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
                      f"axis of the array: got {a.aval} and {dtypes.long_name(wanted)}")


def _recast(a: Any, wanted: np.dtype) -> Any:
    old, new = dtypes.itemsize_bits(a.dtype), dtypes.itemsize_bits(wanted)
    if old == new:
        return bits.bitcast_convert_type(a, wanted)
    if a.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged: got "
                         f"{a.aval} and {dtypes.long_name(wanted)}")
    lead, n = a.shape[:-1], a.shape[-1]
    if old > new:
        return rearrange.reshape(bits.bitcast_convert_type(a, wanted), (*lead, n * old // new))
    if n * old % new:
        raise _uneven(a, wanted)
    return bits.bitcast_convert_type(rearrange.reshape(a, (*lead, n * old // new, new // old)), wanted)


def byteswap(a: Any) -> Any:
    """The elements with their bytes in the opposite order.

    >>> import numjet.numpy as jnp
    >>> byteswap(jnp.array([1, 256], dtype="int16")).tolist()
    [256, 1]
    """
    a = array_arg("byteswap", a)
    if a.dtype.itemsize == 1:
        return a
    if a.dtype in dtypes.COMPLEX:
        return convert.complex(byteswap(convert.real(a)), byteswap(convert.imag(a)))
    rows = _recast(rearrange.reshape(a, (*a.shape, 1)), _BYTE)
    return rearrange.reshape(_recast(rearrange.rev(rows, (rows.ndim - 1,)), a.dtype), a.shape)
