"""Snapshots: immutable copies of NumPy arrays, the one way by which they become values of programs.

A NumPy array belongs to its maker, who may write it at any time; a flag `writeable` that is off proves nothing, as another
view of the same memory may have it on. So everything that outlives a call (constants, residuals, waiting operands, results)
is a copy in an Array. Copies are cached weakly and reused while they hold the same bytes: a large array that several
functions close over is copied once, and a change of it is never missed.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.trace import Array, Tracer, aval_of
from numjet.foundation import dtypes
from numjet.foundation.tree import tree_leaves

_copies: dict[int, tuple[weakref.ref[Any], weakref.ref[Any]]] = {}  # by identity of the NumPy array, which is held weakly


def frozen(x: Any) -> Any:
    """An immutable value: the snapshot of a NumPy array, everything else as it is.

    >>> import numpy as np
    >>> mine = np.zeros(2, np.float32)
    >>> taken = frozen(mine)
    >>> mine[:] = 1
    >>> taken
    Array([0., 0.], dtype=float32)
    """
    kind = type(x)
    if kind is Array or kind in _NUMBERS or isinstance(x, Tracer):
        return x
    if isinstance(x, _WRITABLE):
        return _native.rewrap(snapshot(x))  # a new handle: its owner may delete or donate it
    return frozen(x.__jax_array__()) if hasattr(x, "__jax_array__") else x


def frozen_leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree, each as an immutable value."""
    return [frozen(x) for x in tree_leaves(tree)]


_NUMBERS = frozenset((bool, int, float, complex))


_WRITABLE = (np.ndarray, np.void)  # the other scalars of NumPy cannot be written


def is_writable(x: Any) -> bool:
    """Whether a value is of a mutable kind."""
    return isinstance(x, _WRITABLE)


def snapshot(x: Any) -> Any:
    """An Array of the host with the current elements of a NumPy array (or record), in the dtype of its aval."""
    aval = aval_of(x)
    if isinstance(x, np.void):
        return hooks.host_array(np.asarray(x), aval)
    key = id(x)
    known = _copies.get(key)
    old = None if known is None or known[0]() is not x else known[1]()
    if old is not None and (old.aval is not aval or old.is_deleted()):
        old = None
    plain = x.dtype == aval.dtype and x.flags.c_contiguous
    if old is not None and plain and _native.holds(old, x):
        return old
    copy = hooks.host_array(x, aval)
    if old is not None and not plain and _native.holds(old, copy._value):
        return old
    forget = _forgetter(key)
    _copies[key] = weakref.ref(x, forget), weakref.ref(copy, forget)
    return copy


def frozen_ndarray(x: np.ndarray) -> np.ndarray:
    """A read-only NumPy array with the current elements of a NumPy array, of the same dtype."""
    if aval_of(x).dtype == x.dtype:
        return snapshot(x)._value
    copy = np.array(x, dtypes.as_dtype(x.dtype), order="C")
    copy.flags.writeable = False
    return copy


def _forgetter(key: int) -> Callable[[weakref.ref[Any]], None]:
    def forget(gone: weakref.ref[Any], copies: dict[int, Any] = _copies) -> None:   # at exit, globals go before objects do
        known = copies.get(key)
        if known is not None and (known[0] is gone or known[1] is gone):
            copies.pop(key, None)
    return forget
