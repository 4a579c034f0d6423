"""Arrays to test functions with: shapes, dtypes and special values."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numjet.foundation import dtypes

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((), (1,), (0,), (5,), (2, 3), (0, 3), (1, 4, 1), (2, 3, 4))
_KINDS: dict[str, tuple[np.dtype, ...]] = {
    "bool": (dtypes.bool_,), "integer": (dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint32, dtypes.uint64),
    "floating": (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64),
    "complex": (dtypes.complex64, dtypes.complex128)}


def _dtypes(wanted: Any) -> list[np.dtype]:
    """The dtypes that a kind stands for, as arrays have them; or those of a sequence."""
    if isinstance(wanted, str) and wanted in ("all", *_KINDS):
        found = [d for kind in (_KINDS if wanted == "all" else (wanted,)) for d in _KINDS[kind]]
        return [d for d in found if dtypes.canonicalize_dtype(d) == d]
    listed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return [dtypes.as_dtype(d) for d in listed]


def special_values(dtype: Any) -> np.ndarray:
    """Values at which functions often go wrong: zeros, ones, limits of the dtype; for floats infinities, NaN and numbers
    below the smallest normal one; for complex numbers these in each part.

    >>> special_values("int8").tolist()
    [0, 1, -1, 2, 127, -128]
    """
    found = dtypes.as_dtype(dtype)
    kind = dtypes.kind(found)
    if kind == "c":
        part = special_values(f"float{4 * found.itemsize}")
        one = np.ones_like(part)
        return np.concatenate([_complex(part, 0 * one), _complex(0 * one, part), _complex(part, one), _complex(one, part)]
                              ).astype(found)
    if kind == "f":
        info = dtypes.finfo(found)
        numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float(info.eps), float(info.tiny), -float(info.tiny), float(info.max),
                   -float(info.max), float(info.smallest_subnormal), np.inf, -np.inf, np.nan]
        return np.array(numbers, np.float64).astype(found)
    if kind == "b":
        return np.array([False, True])
    limits = dtypes.iinfo(found)
    signed = [0, 1, -1, 2, int(limits.max), int(limits.min)] if int(limits.min) else [0, 1, 2, int(limits.max)]
    return np.array(signed, found)


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """Numbers of given parts, which multiplying by 1j would spoil where they are infinite."""
    out = np.empty(real.shape, np.complex128)
    out.real, out.imag = real, imag
    return out


def _random(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    kind = dtypes.kind(dtype)
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -100, 100, shape).astype(dtype)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if kind == "c" else x).astype(dtype)


def arrays(dtype: Any = "floating", shapes: Sequence[Shape] = SHAPES, *, special: bool = True, seed: int = 0
           ) -> Iterator[np.ndarray]:
    """Arrays to test a function with: of every dtype and shape one of random numbers, and of every dtype one of special values.

    Args:
      dtype: a dtype, a list of them, or "bool", "integer", "floating", "complex", "all" (64-bit ones with jax_enable_x64 only).
      shapes: of the random arrays; the default has scalars, empty arrays and axes of size 1.
      special: False: no arrays of special values.
      seed: of the random numbers, normal ones or integers below 100.

    >>> [label(x) for x in arrays("float32", [(), (2, 3)])]
    ['float32[]', 'float32[2,3]', 'float32[15]']
    """
    rng = np.random.default_rng(seed)
    for found in _dtypes(dtype):
        for shape in shapes:
            yield _random(rng, tuple(shape), found)
        if special:
            yield special_values(found)


def label(x: Any) -> str:
    """A short name of an array, dtype and shape: for `ids` of pytest.mark.parametrize."""
    return f"{dtypes.long_name(x.dtype)}[{','.join(map(str, x.shape))}]"
