"""DLPack: which dtypes go to other libraries, and arrays from their capsules, bfloat16 included, which NumPy does not read."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes, lazy_import

ctypes = lazy_import.Module("ctypes")

_NAMES = frozenset({"bool", "bfloat16", "complex64", "complex128", "float16", "float32", "float64",
                    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})
_CODE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}  # bytes before the dtype's code in the structures of DLPack 1.0
_UINT, _BFLOAT = 1, 4


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype have a DLPack capsule.

    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    return dtypes.as_dtype(dtype).name in _NAMES


def read(x: Any) -> np.ndarray:
    """The values of an object with __dlpack__, as NumPy array.

    >>> read(np.arange(2, dtype="int8")).tolist()
    [0, 1]
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError("The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods, got one of type "
                        f"{type(x).__name__}")
    try:
        return np.from_dlpack(x)
    except (RuntimeError, BufferError):
        lent = _AsIntegers(x)
        if not lent.changed:
            raise
        return np.from_dlpack(lent).view(dtypes.bfloat16)


class _AsIntegers:
    """The producer of a capsule of bfloat16 numbers, which are uint16 there now."""

    def __init__(self, x: Any):
        self._device = x.__dlpack_device__()
        try:
            self._capsule = x.__dlpack__(max_version=(1, 0))
        except TypeError:  # producers from before DLPack 1.0
            self._capsule = x.__dlpack__()
        self.changed = _relabel(self._capsule)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def _relabel(capsule: Any) -> bool:
    """Writes the code of unsigned integers into a capsule of bfloat16 numbers; False for other dtypes."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = api.PyCapsule_GetName(capsule)
    if name not in _CODE_AT:
        return False
    code = ctypes.cast(api.PyCapsule_GetPointer(capsule, name) + _CODE_AT[name], ctypes.POINTER(ctypes.c_uint8))
    if code[0] != _BFLOAT:
        return False
    code[0] = _UINT
    return True
