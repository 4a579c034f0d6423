"""Indexing by large arrays outside of jit: reads and updates as one compiled program, as if the user had jitted them.

Operation by operation, every step of normalizing the indices would go through memory once.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numjet.api.jit import jit
from numjet.core.trace import EVAL, Array, aval_of, current_trace
from numjet.foundation import dtypes
from numjet.foundation.memo import memoized
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.settings import fast_paths_allowed

_BOUND = frozenset((int, type(None)))
_NUMBERS = frozenset((bool, int, float, complex))
_ARRAY, _SLICE = "array", "slice"


class Parts(NamedTuple):
    """A split index: its static part, hashable, and the arrays."""

    known: tuple[Any, ...]
    arrays: list[Any]


def _parts(idx: Any, masks: bool) -> Parts | None:
    """The parts of an index with a large array of integers (or, with `masks`, a large mask); None for every other index."""
    known: list[Any] = []
    arrays: list[Any] = []
    for entry in idx if type(idx) is tuple else (idx,):
        kind = type(entry)
        if kind is Array or kind is np.ndarray:
            if entry.dtype.kind not in "iu" and not (masks and entry.dtype == np.bool_ and entry.size >= LARGE):
                return None
            known.append(_ARRAY)
            arrays.append(entry)
        elif kind is slice and {type(entry.start), type(entry.stop), type(entry.step)} <= _BOUND:
            known.append((_SLICE, entry.start, entry.stop, entry.step))
        elif kind is int or entry is None or entry is Ellipsis:
            known.append(entry)
        else:
            return None
    return Parts((type(idx) is tuple, *known), arrays) if any(a.size >= LARGE for a in arrays) else None


def _index(known: tuple[Any, ...], arrays: list[Any]) -> Any:
    """The index of parts, the inverse of `_parts`."""
    left = iter(arrays)
    entries = tuple(next(left) if e is _ARRAY or e == _ARRAY else slice(*e[1:]) if type(e) is tuple else e for e in known[1:])
    return entries if known[0] else entries[0]


@memoized("reads by large indices", 1024)
def _reader(getitem: Callable[..., Any], known: tuple[Any, ...], options: tuple[tuple[str, Any], ...]) -> Any:
    return jit(lambda x, arrays: getitem(x, _index(known, arrays), **dict(options)))


@memoized("updates by large indices", 1024)
def _writer(update: Callable[..., Any], known: tuple[Any, ...], op: str, options: tuple[tuple[str, Any], ...]) -> Any:
    return jit(lambda x, arrays, values: update(x, _index(known, arrays), values, op, **dict(options)))


def _here(x: Any) -> bool:
    return type(x) is Array and current_trace() is EVAL and fast_paths_allowed()


def read(getitem: Callable[..., Any], x: Any, idx: Any, **options: Any) -> Any:
    """getitem(x, idx, **options) as one program, or None."""
    if not _here(x) or options.get("fill_value") is not None:
        return None
    parts = _parts(idx, False)
    return None if parts is None else _reader(getitem, parts.known, tuple(options.items()))(x, parts.arrays)


def update(scatter: Callable[..., Any], x: Any, idx: Any, values: Any, op: str, **options: Any) -> Any:
    """scatter(x, idx, values, op, **options) as one program, or None. A mask may only stand for one value."""
    if not _here(x):
        return None
    single = type(values) in _NUMBERS or getattr(values, "shape", None) == ()
    if not single and type(values) is not Array and type(values) is not np.ndarray:
        return None
    parts = _parts(idx, single)
    if parts is None or dtypes.result_type(x, values) != aval_of(x).dtype:
        return None
    return _writer(scatter, parts.known, op, tuple(options.items()))(x, parts.arrays, values)
