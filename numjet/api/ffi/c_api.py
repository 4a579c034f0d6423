"""The structures of XLA's FFI C API (version 0.3) that a handler is given and returns, as ctypes."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np

from numjet.foundation import dtypes

EXECUTE = 3
STAGES = {"instantiate": 0, "prepare": 1, "initialize": 2, "execute": EXECUTE}
_HEAD: list[Any] = [("struct_size", c_size_t), ("extension_start", c_void_p)]

DATA_TYPES = {dtypes.as_dtype(name): number for name, number in {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9, "float16": 10,
    "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16, "complex128": 18, "float8_e5m2": 19, "float8_e4m3fn": 20,
    "float8_e4m3b11fnuz": 23, "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25, "float8_e4m3": 28, "float8_e3m4": 29,
    "float8_e8m0fnu": 33}.items()}


class ByteSpan(Structure):
    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]


class Buffer(Structure):
    _fields_ = [*_HEAD, ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class Scalar(Structure):
    _fields_ = [("dtype", c_int32), ("value", c_void_p)]


class Array(Structure):
    _fields_ = [("dtype", c_int32), ("size", c_size_t), ("data", c_void_p)]


class Buffers(Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""
    _fields_ = [*_HEAD, ("size", c_int64), ("types", POINTER(c_int32)), ("items", POINTER(c_void_p))]


class Attributes(Structure):
    _fields_ = [*_HEAD, ("size", c_int64), ("types", POINTER(c_int32)), ("names", POINTER(c_void_p)),
                ("items", POINTER(c_void_p))]


class CallFrame(Structure):
    _fields_ = [*_HEAD, ("api", c_void_p), ("ctx", c_void_p), ("stage", c_int32), ("args", Buffers), ("rets", Buffers),
                ("attrs", Attributes), ("future", c_void_p)]


class Error(Structure):
    """What an error's address points to; `host_api.cpp` makes it."""
    _fields_ = [("code", c_int32), ("message", c_char_p)]


def sized(made: Any) -> Any:
    """A structure that says its own size."""
    made.struct_size = ctypes.sizeof(made)
    return made


def number_of(dtype: np.dtype) -> int:
    """The number of a dtype in the C API. ValueError for those that it does not have, or that have no bytes of their own."""
    if dtype not in DATA_TYPES:
        raise ValueError(f"ffi_call: arrays of {dtypes.long_name(dtype)} cannot be passed to C; convert them")
    return DATA_TYPES[dtype]
