"""LLVM's names of the types and constants of loop IR.

bool is i1 as a value and i8 in memory. float16 and bfloat16 are their bits (i16): only conversions look inside.
Numbers of less than 8 bits and floats of 8 are theirs (i8), which are stored and copied.
"""
from __future__ import annotations

import functools
import struct

import numpy as np

from numjet.cpu.ir.types import kind, narrow


@functools.cache
def scalar_type(dtype: np.dtype) -> str:
    """The type of a value, such as i32 or double."""
    if narrow(dtype):
        return "i8"
    of_kind = kind(dtype)
    if of_kind == "b":
        return "i1"
    if of_kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return f"i{8 * dtype.itemsize}"


@functools.cache
def memory_type(dtype: np.dtype) -> str:
    """The type of an element in memory."""
    return "i8" if dtype == np.bool_ else scalar_type(dtype)


@functools.cache
def wide(name: str, lanes: int) -> str:
    """The vector type of `lanes` elements; the scalar itself for one."""
    return name if lanes == 1 else f"<{lanes} x {name}>"


@functools.cache
def value_type(dtype: np.dtype, lanes: int) -> str:
    """The type of a value with `lanes` lanes."""
    return wide(scalar_type(dtype), lanes)


@functools.cache
def suffix(name: str, lanes: int) -> str:
    """How intrinsics spell a type: v16f32, i64."""
    short = {"float": "f32", "double": "f64"}.get(name, name)
    return short if lanes == 1 else f"v{lanes}{short}"


def float_literal(value: float) -> str:
    """A float or double constant, by its bits as a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def literal(value: np.generic) -> str:
    """The text of a constant."""
    if narrow(value.dtype):  # as it is stored
        return str(int(np.asarray(value).view(np.int8)))
    of_kind = kind(value.dtype)
    if of_kind == "b":
        return "true" if value else "false"
    if of_kind == "f":
        return float_literal(float(value)) if value == value else _nan_literal(value)
    if of_kind == "h":
        return str(int(value.view(np.int16)))
    return str(int(value))


def _nan_literal(value: np.generic) -> str:
    """A NaN with its payload; LLVM spells a float's bits as those of the double of the same value."""
    if value.dtype.itemsize == 8:
        return f"0x{int(value.view(np.uint64)):016X}"
    bits = int(value.view(np.uint32))
    return f"0x{(bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29:016X}"


def splat_literal(name: str, text: str, lanes: int) -> str:
    """A constant in all lanes."""
    return text if lanes == 1 else f"splat ({name} {text})"


def phi(ty: str, *incoming: tuple[str, str]) -> str:
    """The instruction that chooses a value by the block that control comes from; incoming: (value, label)."""
    return f"phi {ty} {', '.join(f'[ {value}, %{label} ]' for value, label in incoming)}"
