"""Fast paths of products, averages, running sums and argsorts of small ready arrays: a few NumPy calls.

Results are those of the composed operations, bit by bit. None for all other cases: traced values, other dtypes, operands
that do not fit, large arrays, which run compiled.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.trace import EVAL, Array, current_trace
from numjet.runtime.device import CPU, on_host
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed

_FLOATS = frozenset(map(np.dtype, ("float32", "float64")))
_NUMBERS = _FLOATS | frozenset(map(np.dtype, ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")))


def _known(x: Any, dtypes: frozenset[np.dtype] = _FLOATS) -> bool:
    """Whether x is a small ready array of one of these dtypes."""
    if type(x) is not Array or current_trace() is not EVAL or not fast_paths_allowed():
        return False
    return x.aval.dtype in dtypes and 0 < x.aval.size < LARGE and on_host(x)


def _run(fun: Callable[..., np.ndarray], dtype: np.dtype, *args: Any, weak: bool = False) -> Any:
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        out = np.asarray(fun(*args))
    finally:
        STATE.set(before)
    return _native.from_numpy(out, ShapedArray(out.shape, dtype, weak), CPU)


def _pair(a: Any, b: Any) -> bool:
    return _known(a) and type(b) is Array and _known(b) and a.aval.dtype == b.aval.dtype


# -------------------------------------------------------------------------------------------- products

def product(a: Any, b: Any, batches: bool = False) -> Any:
    """The product of an array with a matrix or vector, summed over the last axis of a and the first of b; with `batches`
    also of stacks of matrices; or None."""
    if not _pair(a, b):
        return None
    left, right = a.aval.shape, b.aval.shape
    each = left[:-2] if len(right) > 2 else ()
    if not left or not right or len(right) > 2 and not (batches and len(left) > 2 and each == right[:-2]):
        return None
    if left[-1] != right[len(each)] or prod(left[:-1]) * prod(right[len(each) + 1:]) >= LARGE:
        return None
    return _run(_matrices, a.aval.dtype, a._value, b._value, each, weak=a.aval.weak_type and b.aval.weak_type)


def _matrices(x: np.ndarray, y: np.ndarray, each: tuple[int, ...]) -> np.ndarray:
    """The product of stacks of matrices, by the kernel of all products outside of programs."""
    k, count = x.shape[-1], prod(each)
    left, right = x.reshape(count, -1, k), y.reshape(count, k, -1)
    out = np.empty((count, left.shape[1], right.shape[2]), x.dtype)
    _native.multiply_matrices(left, right, out)
    return out.reshape(x.shape[:-1] + y.shape[len(each) + 1:])


def outer(a: Any, b: Any) -> Any:
    """All products of elements of a and b; or None."""
    if not _pair(a, b) or a.aval.size * b.aval.size >= LARGE:
        return None
    return _run(np.multiply.outer, a.aval.dtype, a._value.reshape(-1), b._value.reshape(-1),
                weak=a.aval.weak_type and b.aval.weak_type)


# -------------------------------------------------------------------------------------------- averages

def mean(a: Any, axis: Any, keepdims: bool) -> Any:
    """The mean along an axis (None: of all elements); or None."""
    axes = _axes(a, axis)
    return None if axes is None else _run(_mean, a.aval.dtype, a._value, axes, keepdims)


def variance(a: Any, axis: Any, ddof: Any, root: bool) -> Any:
    """The variance along an axis (None: of all elements), or its root; or None."""
    axes = _axes(a, axis)
    if axes is None or type(ddof) is not int:
        return None
    return _run(_deviation if root else _variance, a.aval.dtype, a._value, axes, ddof)


def _axes(a: Any, axis: Any) -> tuple[int, ...] | None:
    if not _known(a) or not (axis is None or type(axis) is int):
        return None
    rank = len(a.aval.shape)
    if axis is None:
        return tuple(range(rank))
    return (axis % rank,) if -rank <= axis < rank else None


def _count(x: np.ndarray, axes: tuple[int, ...]) -> int:
    return prod([x.shape[d] for d in axes])


def _mean(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    total: np.ndarray = np.add.reduce(x, axis=axes, dtype=x.dtype, keepdims=keepdims)  # type: ignore[call-overload]
    return total / x.dtype.type(_count(x, axes))


def _variance(x: np.ndarray, axes: tuple[int, ...], ddof: int) -> np.ndarray:
    count = _count(x, axes)
    center = _mean(x, axes, True)
    total = np.add.reduce(np.square(x - center), axis=axes, dtype=x.dtype)
    return total / x.dtype.type(count - ddof if count > ddof else np.nan)


def _deviation(x: np.ndarray, axes: tuple[int, ...], ddof: int) -> np.ndarray:
    return np.sqrt(_variance(x, axes, ddof))


# -------------------------------------------------------------------------------------------- along one axis

def running(ufunc: np.ufunc, a: Any, axis: Any) -> Any:
    """ufunc over the first 1, 2, ... elements along an axis (None: of a vector); or None."""
    if not _known(a):
        return None
    rank = len(a.aval.shape)
    if axis is None and rank == 1:
        axis = 0
    if type(axis) is not int or not -rank <= axis < rank:
        return None
    return _run(ufunc.accumulate, a.aval.dtype, a._value, axis)


def order(a: Any, axis: int, dtype: np.dtype) -> Any:
    """The indices, of that dtype, that sort along an axis, NaN last and stable; or None."""
    if not _known(a, _NUMBERS):
        return None
    return _run(lambda x: x.argsort(axis, "stable").astype(dtype, copy=False), dtype, a._value)
