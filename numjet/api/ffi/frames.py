"""Call frames: arrays and attributes in the form in which handlers of XLA's FFI take them."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, addressof, c_int32, c_int64, c_void_p, cast
from typing import Any

import numpy as np

from numjet.api.ffi import c_api, host_api

_ARRAY, _DICTIONARY, _SCALAR, _STRING = 1, 2, 3, 4
_BUFFER = 1


class Memory:
    """What must stay alive as long as a frame that points to it."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, made: Any) -> int:
        """The address of a ctypes value, kept."""
        self.kept.append(made)
        return addressof(made)

    def pointers(self, addresses: Sequence[int]) -> Any:
        table = (c_void_p * max(len(addresses), 1))(*addresses)
        return cast(self.keep(table), POINTER(c_void_p))

    def numbers(self, values: Sequence[int]) -> Any:
        table = (c_int32 * max(len(values), 1))(*values)
        return cast(self.keep(table), POINTER(c_int32))

    def span(self, text: str) -> int:
        raw = text.encode()
        return self.keep(c_api.ByteSpan(self.keep(ctypes.create_string_buffer(raw)), len(raw)))

    # -- attributes
    def attributes(self, values: dict[str, Any]) -> c_api.Attributes:
        """Named values, sorted by name. TypeError for values of other kinds."""
        names = sorted(values)
        found = [self._attribute(name, values[name]) for name in names]
        return c_api.sized(c_api.Attributes(0, None, len(names), self.numbers([kind for kind, _ in found]),
                                            self.pointers([self.span(name) for name in names]),
                                            self.pointers([address for _, address in found])))

    def _attribute(self, name: str, value: Any) -> tuple[int, int]:
        if isinstance(value, str):
            return _STRING, self.span(value)
        if isinstance(value, dict):
            return _DICTIONARY, self.keep(self.attributes(value))
        if not isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)):
            raise TypeError(f"ffi_call: attribute {name} must be a number, text, a NumPy array of rank 1 or a dictionary of "
                            f"such, got {value!r} of type {type(value).__name__}")
        array = np.ascontiguousarray(value)
        self.kept.append(array)
        dtype, data = c_api.number_of(array.dtype), array.ctypes.data
        if not isinstance(value, np.ndarray):
            return _SCALAR, self.keep(c_api.Scalar(dtype, data))
        if value.ndim != 1:
            raise ValueError(f"ffi_call: attribute {name} must be a number or of rank 1, got an array of shape {value.shape}: "
                             "flatten it, or pass it as an operand")
        return _ARRAY, self.keep(c_api.Array(dtype, array.size, data))

    # -- buffers
    def buffers(self, types: Sequence[tuple[np.dtype, Sequence[int]]], addresses: Sequence[int]) -> c_api.Buffers:
        """Arrays of these dtypes and shapes, whose elements are at the addresses."""
        made = [self._buffer(*type_, at) for type_, at in zip(types, addresses, strict=True)]
        return c_api.sized(c_api.Buffers(0, None, len(made), self.numbers([_BUFFER] * len(made)), self.pointers(made)))

    def _buffer(self, dtype: np.dtype, shape: Sequence[int], address: int) -> int:
        sizes = (c_int64 * max(len(shape), 1))(*shape)
        dims = cast(self.keep(sizes), POINTER(c_int64))
        return self.keep(c_api.sized(c_api.Buffer(0, None, c_api.number_of(dtype), address, len(shape), dims)))

    def frame(self, stage: int, context: int, args: c_api.Buffers, rets: c_api.Buffers, attrs: c_api.Attributes) -> int:
        """The address of the frame of a call."""
        size = c_api.CallFrame.future.offset  # the future is behind what version 0.3 counts
        return self.keep(c_api.CallFrame(size, None, host_api.API, context, stage, args, rets, attrs, None))
