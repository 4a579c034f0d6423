"""Snapshots: the one way by which NumPy arrays become values of programs.

A NumPy array belongs to its maker, who may write it at any time; that its flag `writeable` is off proves nothing, as another
view of the same memory may have it on. So whatever outlives the call that brings it (constants, residuals, operands that wait,
results) is a copy in an Array, whose memory nobody writes. Copies are remembered while they live, and used again as long as
they hold the same bytes: a large array that several functions close over is copied once, and a change of it is never missed.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.trace import Array, Tracer, aval_of
from numjet.foundation.tree import tree_leaves

_copies: dict[int, tuple[weakref.ref[Any], weakref.ref[Any]]] = {}  # by identity of the NumPy array, which is held weakly


def entered(x: Any) -> Any:
    """A value as nobody can write it: a NumPy array as an Array, everything else as it is.

    >>> import numpy as np
    >>> mine = np.zeros(2, np.float32)
    >>> taken = entered(mine)
    >>> mine[:] = 1
    >>> taken
    Array([0., 0.], dtype=float32)
    """
    kind = type(x)
    if kind is Array or kind in _NUMBERS or isinstance(x, Tracer):
        return x
    if isinstance(x, _WRITABLE):
        return _native.rewrap(snapshot(x))  # a handle of its own: who gets it may delete or donate it
    return entered(x.__jax_array__()) if hasattr(x, "__jax_array__") else x


def entered_leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree, each as nobody can write it."""
    return [entered(x) for x in tree_leaves(tree)]


_NUMBERS = frozenset((bool, int, float, complex))


_WRITABLE = (np.ndarray, np.void)  # the other scalars of NumPy cannot be written


def is_writable(x: Any) -> bool:
    """Whether somebody may write a value: which is to be asked of its kind only."""
    return isinstance(x, _WRITABLE)


def snapshot(x: Any) -> Any:
    """An Array of the host with the elements that a NumPy array (or record) has now, in the dtype that arrays of it have."""
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


def fixed(x: np.ndarray) -> np.ndarray:
    """The elements of a NumPy array as they are now, in a NumPy array of the same dtype that nobody can write."""
    if aval_of(x).dtype == x.dtype:
        return snapshot(x)._value
    copy = np.array(x, x.dtype.newbyteorder("="), order="C")
    copy.flags.writeable = False
    return copy


def _forgetter(key: int) -> Callable[[weakref.ref[Any]], None]:
    def forget(gone: weakref.ref[Any], copies: dict[int, Any] = _copies) -> None:   # at exit, globals go before objects do
        known = copies.get(key)
        if known is not None and (known[0] is gone or known[1] is gone):
            copies.pop(key, None)
    return forget
