"""Fast path of x[idx] and x.at[idx].set(y) for ready arrays and known indices: one NumPy call.

Results are those of `indexing/plan.py`. None for the cases that need a plan: indices out of bounds, arrays next to other
indices, traced values, values of another dtype or shape.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.snapshots import frozen_ndarray
from numjet.core.trace import EVAL, Array, current_trace
from numjet.runtime.device import CPU, on_host
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed

_BOOL = np.dtype(np.bool_)
_INDICES = frozenset(map(np.dtype, ("int8", "int16", "int32", "int64")))
_BOUND = frozenset((int, type(None)))
_SETS = frozenset(map(np.dtype, ("bool", "int32", "int64", "float32", "float64")))
_KINDS: dict[str, frozenset[type]] = {
    "b": frozenset((bool,)), "i": frozenset((bool, int)), "f": frozenset((bool, int, float))}
_SAFE_INT = 1 << 24  # exact in every dtype of _SETS but bool
_UPDATES: dict[str, np.ufunc] = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}


def _basic(idx: Any, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """A basic index as a tuple for NumPy: ints in bounds, slices of ints, None, one `...` (added at the end when there is
    none, so that the result is no NumPy scalar). None for any other index."""
    entries = idx if type(idx) is tuple else (idx,)
    axis, gap = 0, False
    for entry in entries:
        kind = type(entry)
        if kind is int:
            if axis >= len(shape) or not -shape[axis] <= entry < shape[axis]:
                return None
        elif kind is slice:
            if axis >= len(shape) or entry.step == 0 or not _known(entry):
                return None
        elif entry is Ellipsis and not gap:
            gap = True
            axis += len(shape) - sum(e is not None and e is not Ellipsis for e in entries)
            if axis < 0:
                return None
            continue
        elif entry is None:
            continue
        else:
            return None
        axis += 1
    return entries if gap else (*entries, Ellipsis)


def _advanced(idx: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """An index that is one array of integers in bounds (of rank > 0), or one mask, as a NumPy array; else None."""
    if type(idx) is Array and on_host(idx):
        where = idx._value
    elif type(idx) is np.ndarray:
        where = np.array(idx) if idx.size < LARGE else frozen_ndarray(idx)  # read twice, and other threads may write it
    else:
        return None
    if not where.ndim or not shape or 0 in shape or not where.size:
        return None
    if where.dtype in _INDICES:
        return where if where.size < LARGE and -shape[0] <= where.min() and where.max() < shape[0] else None
    return where if where.dtype == _BOOL and where.shape == shape[:where.ndim] and where.any() else None


def _several(idx: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[np.ndarray, ...] | None:
    """An index of several Arrays of integers of one shape (of rank > 0), for the first axes, as NumPy arrays; else None, as
    where the parts that they choose may be large."""
    if not 0 < len(idx) <= len(shape) or 0 in shape or (len(idx) < len(shape) and prod(shape) >= LARGE):
        return None
    found: list[np.ndarray] = []
    for entry in idx:
        if type(entry) is not Array or not on_host(entry):
            return None
        where = entry._value
        if not where.ndim or not 0 < where.size < LARGE or where.dtype not in _INDICES:
            return None
        if found and where.shape != found[0].shape:
            return None
        found.append(where)
    return tuple(found)


def _known(s: slice) -> bool:
    return type(s.start) in _BOUND and type(s.stop) in _BOUND and type(s.step) in _BOUND


def read(x: Any, idx: Any) -> Any:
    """x[idx], or None."""
    if type(x) is not Array or current_trace() is not EVAL or not fast_paths_allowed() or not on_host(x):
        return None
    aval = x.aval
    basic = _basic(idx, aval.shape)
    if basic is None and type(idx) is tuple:
        places = _several(idx, aval.shape)
        try:
            return None if places is None else _array(x._value[places], aval)
        except IndexError:   # out of bounds: clipped or refused, as flags say
            return None
    if basic is None:
        where = _advanced(idx, aval.shape)
        return None if where is None else _chosen(x._value, where, aval)
    value = x._value
    part = value[basic]
    if part.shape == value.shape and part.strides == value.strides:
        return x
    return _array(part.copy(), aval) if part.size < LARGE else _native.copied(part, _aval(part.shape, aval), CPU)


def _chosen(value: np.ndarray, where: np.ndarray, aval: ShapedArray) -> Any:
    if where.dtype != _BOOL or where.size < LARGE or not where.flags.c_contiguous:
        return _array(value[where], aval)
    return _native.selected(value, where, lambda count: _aval((count, *value.shape[where.ndim:]), aval), CPU)


def _aval(shape: tuple[int, ...], aval: ShapedArray) -> ShapedArray:
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def _array(part: np.ndarray, aval: ShapedArray) -> Any:
    return _native.from_numpy(part, _aval(part.shape, aval), CPU)


def update(x: Any, idx: Any, values: Any, op: str) -> Any:
    """x with x[idx] replaced by values (op "set") or combined with them ("add", "subtract", "mul"), or None."""
    if type(x) is not Array or current_trace() is not EVAL or not fast_paths_allowed() or not on_host(x):
        return None
    aval = x.aval
    if aval.dtype not in _SETS or (op != "set" and (op not in _UPDATES or aval.dtype.kind == "b")):
        return None
    positions: Any = _basic(idx, aval.shape)
    change: Callable[..., bool] = _change
    if positions is None:
        positions, change = _advanced(idx, aval.shape), _change_each
    if positions is None or (change is _change_each and positions.dtype == _BOOL and positions.size >= LARGE):
        return None
    new = _value(values, aval.dtype)
    if new is None:
        return None
    out = np.array(x._value)
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        return _native.from_numpy(out, aval, CPU) if change(out, positions, new, op) else None
    finally:
        STATE.set(before)


def _change(out: np.ndarray, positions: tuple[Any, ...], new: np.ndarray, op: str) -> bool:
    """Updates `out` at ints and slices; False when the shapes need the general path."""
    part = out[positions]
    if not part.size or new.shape not in ((), part.shape):
        return False
    if op == "set":
        part[...] = new
    else:
        _UPDATES[op](part, new, out=part)
    return True


def _change_each(out: np.ndarray, positions: np.ndarray, new: np.ndarray, op: str) -> bool:
    """Updates `out` at an array of indices, repeated ones repeatedly; False when the shapes need the general path."""
    if new.shape and (positions.dtype == _BOOL or new.shape != positions.shape + out.shape[1:]):
        return False
    if op == "set":
        out[positions] = new
    else:
        _UPDATES[op].at(out, positions, new)
    return True


def _value(values: Any, dtype: np.dtype) -> np.ndarray | None:
    """Numbers and arrays that promotion leaves in `dtype`; None for values that need conversion."""
    kind = type(values)
    if kind is Array:
        return values._value if values.aval.dtype == dtype and on_host(values) else None
    if kind not in _KINDS[dtype.kind] or (kind is int and not -_SAFE_INT <= values <= _SAFE_INT):
        return None
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        return np.asarray(values, dtype)
    finally:
        STATE.set(before)
