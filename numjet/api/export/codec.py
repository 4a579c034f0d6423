"""Binary serialization of plain values: numbers, text, dtypes, arrays, enums and named tuples of parameters, programs.

A value is a tag, one byte, and its content; sizes and counts are varints. Reading builds values of these kinds and nothing
else: no class, function or module is named by the bytes, save enums and named tuples that operations have registered.
"""
from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.printing_rules import parameter_types
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.foundation.symbolic.parse import parse_size
from numjet.foundation.symbolic.scope import SymbolicScope

_DEEPEST = 200
_SYMBOLIC = 2  # of the flags of a type: its sizes are text
_MOST_BYTES = 1 << 48  # of one array, more than machines address


class Corrupt(ValueError):
    """Bytes that the writer does not write."""


class Writer:
    """A growing sequence of bytes."""

    def __init__(self) -> None:
        self.data = bytearray()

    def count(self, n: int) -> None:
        """A natural number, seven bits a byte, low ones first."""
        while n >= 0x80:
            self.data.append(n & 0x7F | 0x80)
            n >>= 7
        self.data.append(n)

    def raw(self, value: bytes) -> None:
        self.count(len(value))
        self.data += value

    def text(self, value: str) -> None:
        self.raw(value.encode())

    def integer(self, value: int) -> None:
        self.raw(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def aval(self, aval: ShapedArray) -> None:
        self.text(dtypes.short_name(aval.dtype))
        symbolic = is_symbolic(aval.shape)
        self.data.append(aval.weak_type | (_SYMBOLIC if symbolic else 0))
        self.count(aval.ndim)
        for n in aval.shape:
            self.text(str(n)) if symbolic else self.count(n)

    def array(self, value: np.ndarray) -> None:
        """Shape, dtype and elements; dtypes of less than a byte as the next wider one."""
        self.aval(ShapedArray(value.shape, value.dtype))
        self.raw(np.ascontiguousarray(value.astype(_stored(value.dtype))).tobytes() if value.dtype.itemsize else b"")


class Reader:
    """A position in bytes. Corrupt for what a Writer does not write."""

    def __init__(self, data: bytes, scope: SymbolicScope | None = None):
        self.data, self.at, self.depth, self.scope = data, 0, 0, scope

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise Corrupt(f"{n} bytes expected at {self.at}, {len(self.data) - self.at} left")
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def flag(self) -> bool:
        found = self.byte()
        if found > 1:
            raise Corrupt(f"a flag expected at {self.at - 1}, found {found}")
        return bool(found)

    def count(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise Corrupt(f"a count of more than 63 bits at {self.at}")

    def several(self, read: Callable[[], Any]) -> list[Any]:
        """Values behind their number; each takes a byte or more, so the number is bounded before memory is taken."""
        n = self.count()
        if n > len(self.data) - self.at:
            raise Corrupt(f"{n} values expected at {self.at}, {len(self.data) - self.at} bytes left")
        return [read() for _ in range(n)]

    def raw(self) -> bytes:
        return self.take(self.count())

    def text(self) -> str:
        return self.raw().decode()

    def integer(self) -> int:
        return int.from_bytes(self.raw(), "little", signed=True)

    def dtype(self) -> np.dtype:
        return dtypes.from_short_name(self.text())

    def size(self) -> Any:
        """A size as text: a symbolic dimension, or a number beside some."""
        if self.scope is None:
            raise Corrupt(f"a symbolic dimension at {self.at} in a function for fixed shapes")
        return parse_size(self.text(), self.scope)

    def aval(self) -> ShapedArray:
        dtype, flags = self.dtype(), self.byte()
        if flags > 3:
            raise Corrupt(f"flags of a type expected at {self.at - 1}, found {flags}")
        weak = bool(flags & 1)
        if flags & _SYMBOLIC:
            return ShapedArray(tuple(self.several(self.size)), dtype, weak)
        shape = tuple(self.several(self.count))
        size = dtype.itemsize or 1
        for n in shape:
            size *= n or 1
        if size > _MOST_BYTES:
            raise Corrupt(f"an array of shape {shape} at {self.at}")
        return ShapedArray(shape, dtype, weak)

    def array(self) -> np.ndarray:
        aval = self.aval()
        stored = _stored(aval.dtype)
        raw = self.raw()
        if len(raw) != aval.size * stored.itemsize:
            raise Corrupt(f"{aval} has {aval.size * stored.itemsize} bytes, {len(raw)} found")
        if not raw:  # of no elements, or of float0, whose elements have no bytes
            return np.zeros(aval.shape, aval.dtype)
        return np.frombuffer(raw, stored).reshape(aval.shape).astype(aval.dtype)


def _stored(dtype: np.dtype) -> np.dtype:
    """The dtype whose bytes are all values of it, in which elements of another are stored."""
    if dtype != dtypes.float0 and dtypes.itemsize_bits(dtype) < 8:
        return np.dtype(np.float32 if dtypes.issubdtype(dtype, np.inexact) else np.int8)
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


# ------------------------------------------------------------------------------------------------ values

def write_value(w: Writer, value: Any, program: Callable[[Any], bool] = lambda value: False) -> None:
    """A value behind its tag. program: writes programs; whether the value is one. TypeError for values of other kinds."""
    if program(value):
        return
    for tag, kind in _KINDS.items():
        if kind.holds(value):
            w.data.append(tag)
            kind.write(w, value, lambda inner: write_value(w, inner, program))
            return
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def read_value(r: Reader, program: Callable[[int], Any] | None = None) -> Any:
    """The value at the reader's position. program: reads programs, given their tag."""
    r.depth += 1
    if r.depth > _DEEPEST:
        raise Corrupt(f"values nested more than {_DEEPEST} deep")
    tag = r.byte()
    if tag in _KINDS:
        found = _KINDS[tag].read(r, lambda: read_value(r, program))
    elif program is not None:
        found = program(tag)
    else:
        raise Corrupt(f"unknown kind {tag} of a value at {r.at - 1}")
    r.depth -= 1
    return found


class _Kind:
    """One kind of value: which values it holds, and how they are written and read."""

    def __init__(self, holds: Callable[[Any], bool], write: Callable[..., Any], read: Callable[..., Any]):
        self.holds, self.write, self.read = holds, write, read


def _write_items(w: Writer, items: Any, each: Callable[[Any], None]) -> None:
    w.count(len(items))
    for item in items:
        each(item)


def _write_dict(w: Writer, value: dict[Any, Any], each: Callable[[Any], None]) -> None:
    _write_items(w, [part for pair in value.items() for part in pair], each)


def _read_dict(r: Reader, each: Callable[[], Any]) -> dict[Any, Any]:
    parts = r.several(each)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _write_enum(w: Writer, value: enum.Enum, each: Any) -> None:
    w.text(type(value).__name__)
    w.text(value.name)


def _read_enum(r: Reader, each: Any) -> Any:
    return _parameter_type(r, enum.Enum)[r.text()]


def _write_record(w: Writer, value: Any, each: Callable[[Any], None]) -> None:
    w.text(type(value).__name__)
    _write_items(w, tuple(value), each)


def _read_record(r: Reader, each: Callable[[], Any]) -> Any:
    return _parameter_type(r, tuple)(*r.several(each))


def _parameter_type(r: Reader, base: type) -> Any:
    name = r.text()
    found = parameter_types.get(name)
    if found is None or not issubclass(found, base):
        raise Corrupt(f"unknown class {name!r} of a parameter")
    return found


def _is_record(value: Any) -> bool:
    return isinstance(value, tuple) and parameter_types.get(type(value).__name__) is type(value)


def _is_enum(value: Any) -> bool:
    return isinstance(value, enum.Enum) and parameter_types.get(type(value).__name__) is type(value)


def _of(cls: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is cls


def _items_of(make: Callable[[list[Any]], Any]) -> Callable[[Reader, Callable[[], Any]], Any]:
    return lambda r, each: make(r.several(each))


_KINDS = {
    0: _Kind(lambda v: v is None, lambda w, v, each: None, lambda r, each: None),
    1: _Kind(_of(bool), lambda w, v, each: w.data.append(v), lambda r, each: r.flag()),
    2: _Kind(_of(int), lambda w, v, each: w.integer(v), lambda r, each: r.integer()),
    3: _Kind(_of(float), lambda w, v, each: w.data.extend(struct.pack("<d", v)),
             lambda r, each: struct.unpack("<d", r.take(8))[0]),
    4: _Kind(_of(complex), lambda w, v, each: w.data.extend(struct.pack("<2d", v.real, v.imag)),
             lambda r, each: complex(*struct.unpack("<2d", r.take(16)))),
    5: _Kind(_of(str), lambda w, v, each: w.text(v), lambda r, each: r.text()),
    6: _Kind(_of(bytes), lambda w, v, each: w.raw(v), lambda r, each: r.raw()),
    7: _Kind(_of(tuple), _write_items, _items_of(tuple)),
    8: _Kind(_of(list), _write_items, _items_of(list)),
    9: _Kind(_of(dict), _write_dict, _read_dict),
    10: _Kind(_of(frozenset), lambda w, v, each: _write_items(w, sorted(v, key=repr), each), _items_of(frozenset)),
    11: _Kind(lambda v: isinstance(v, np.dtype), lambda w, v, each: w.text(dtypes.short_name(v)), lambda r, each: r.dtype()),
    12: _Kind(lambda v: isinstance(v, np.generic), lambda w, v, each: w.array(np.asarray(v)), lambda r, each: r.array()[()]),
    13: _Kind(_of(np.ndarray), lambda w, v, each: w.array(v), lambda r, each: r.array()),
    14: _Kind(_is_enum, _write_enum, _read_enum),
    15: _Kind(_is_record, _write_record, _read_record),
    16: _Kind(lambda v: isinstance(v, Dimension), lambda w, v, each: w.text(str(v)), lambda r, each: r.size()),
}
FIRST_PROGRAM_TAG = 32
