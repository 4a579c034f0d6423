"""MLIR text: types, attributes and constants."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.foundation import dtypes

_ELEMENTS: dict[np.dtype, str] = {
    np.dtype(np.bool_): "i1", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64",
    np.dtype(dtypes.bfloat16): "bf16", np.dtype(np.complex64): "complex<f32>", np.dtype(np.complex128): "complex<f64>",
    dtypes.float0: "i1",
}
_FLOAT8 = {"float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
           "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3",
           "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN"}


def element(dtype: np.dtype) -> str:
    """The MLIR name of a dtype. Keys of two words are 64-bit words, others have an axis of 32-bit words (word_count); float0,
    which holds nothing, is a boolean.

    >>> element(np.dtype(np.uint32))
    'ui32'
    """
    found = _ELEMENTS.get(dtype)
    if found is not None:
        return found
    if dtypes.is_extended(dtype):
        return "ui32" if word_count(dtype) else "ui64"
    kind = dtypes.kind(dtype)
    if kind in "iu":
        return f"{'ui' if kind == 'u' else 'i'}{dtypes.itemsize_bits(dtype)}"
    if dtype.name in _FLOAT8:
        return _FLOAT8[dtype.name]
    raise NotImplementedError(f"the XLA backend has no element type for dtype {dtypes.long_name(dtype)}")


def word_count(dtype: np.dtype) -> int:
    """The size of the last axis, of 32-bit words, that keys have in programs; 0 for dtypes with elements of their own.

    Complex numbers would hold keys of four words, but XLA adds up the parts of divided arrays, which changes bits of floats.
    """
    return dtype.itemsize // 4 if dtypes.is_extended(dtype) and dtype.itemsize != 8 else 0


def rank(aval: Any) -> int:
    """The number of dimensions that an array has in programs."""
    return aval.ndim + (word_count(aval.dtype) > 0)


def tensor(aval: ShapedArray) -> str:
    """The MLIR type of an array.

    >>> tensor(ShapedArray((2, 3), np.dtype(np.float32)))
    'tensor<2x3xf32>'
    """
    words = word_count(aval.dtype)
    return f"tensor<{''.join(f'{d}x' for d in (*aval.shape, *[words] * (words > 0)))}{element(aval.dtype)}>"


def attribute(value: Any) -> str:
    """MLIR text of an attribute: str as it stands, bool, int (64 bits), sequences of ints, bools (dense arrays) or pairs."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return f"{int(value)} : i64"
    items = [*value]
    if items and isinstance(items[0], (tuple, list)):
        return matrix(items, len(items[0]))
    if items and all(isinstance(v, (bool, np.bool_)) for v in items):
        return f"array<i1: {', '.join(map(attribute, items))}>"
    return f"array<i64: {', '.join(str(int(v)) for v in items)}>" if items else "array<i64>"


def constant_attribute(value: Any) -> str:
    """MLIR text of an attribute of a composite: as the numbers of Python have 64 bits, and sequences are arrays.

    >>> constant_attribute({"k": 3, "axes": (0, 1), "kind": "max", "dtype": np.dtype(np.float32)})
    '{axes = [0, 1], dtype = f32, k = 3 : i64, kind = "max"}'
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, np.dtype):
        return element(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k} = {constant_attribute(v)}' for k, v in sorted(value.items()))}}}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(constant_attribute(v) for v in value)}]"
    if isinstance(value, (int, float)):
        value = np.int64(value) if isinstance(value, int) else np.float64(value)
    if isinstance(value, np.generic) and dtypes.kind(value.dtype) in "iuf":
        return f"{_number(value)} : {element(value.dtype)}"
    if isinstance(value, np.ndarray) and (plain(value.dtype) or value.dtype == bool):
        aval = ShapedArray(value.shape, value.dtype)
        return f"{_elements(value) if value.dtype == bool else dense(value)} : {tensor(aval)}"
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be an attribute in StableHLO: expected a string, a "
                    "number, a dtype, a NumPy array, or a dictionary or sequence of them")


def _elements(value: np.ndarray) -> str:
    return f"dense<{str(value.tolist()).lower()}>" if value.size else "dense<>"


def attributes(values: Mapping[str, Any]) -> str:
    """A dictionary of attributes, or nothing."""
    return f" {{{', '.join(f'{k} = {attribute(v)}' for k, v in values.items())}}}" if values else ""


_PARTS = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}


def compute_type(kind: str | None) -> list[str]:
    """The attributes by which XLA knows the part of a device on which an operation runs."""
    if kind is None:
        return []
    if kind in _PARTS:
        return [f'_xla_compute_type = "{_PARTS[kind]}"']
    return [f'_xla_stream_annotation = "{kind.removeprefix("gpu_stream:")}"', 'inlineable = "false"']


def attributes_of(words: Sequence[str]) -> str:
    """A dictionary of attributes that are text already, `name = value`, or nothing."""
    return f" {{{', '.join(words)}}}" if words else ""


def matrix(rows: Sequence[Sequence[int]], columns: int) -> str:
    """A dense attribute of i64 pairs, triples, ...: padding, replica groups."""
    if not rows:
        return f"dense<> : tensor<0x{columns}xi64>"
    body = ", ".join(f"[{', '.join(map(str, row))}]" for row in rows)
    return f"dense<[{body}]> : tensor<{len(rows)}x{columns}xi64>"


def quoted(text: str) -> str:
    """A string attribute."""
    escaped = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode()) for c in text)
    return f'"{escaped}"'


def dense(value: np.ndarray) -> str:
    """The text of a constant's elements, exact bit by bit; for dtypes that `plain` accepts."""
    if value.size == 0:
        return "dense<>"
    first = value.reshape(-1)[0]
    flat = value.reshape(-1).view(np.uint8).reshape(value.size, -1)
    if (flat == flat[0]).all():
        return f"dense<{_number(first)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def plain(dtype: np.dtype) -> bool:
    """Whether constants of a dtype are written as they are: others are written as bytes and converted."""
    return dtypes.kind(dtype) in "iufc" and dtypes.itemsize_bits(dtype) >= 8 and dtype.name not in _FLOAT8


def _number(x: Any) -> str:
    if dtypes.kind(x.dtype) == "c":
        return f"({_number(x.real)}, {_number(x.imag)})"
    if dtypes.kind(x.dtype) in "iu":
        return str(int(x))
    if not np.isfinite(np.float64(x)):
        return f"0x{np.asarray(x).view(f'u{x.dtype.itemsize}')[()]:0{2 * x.dtype.itemsize}X}"
    mantissa, _, exponent = repr(float(x)).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + (f"e{exponent}" if exponent else "")
