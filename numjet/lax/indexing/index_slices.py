"""Slices with a start that may be traced: `x[ds(i, 3)]` is x[i:i + 3]."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from numjet.core.trace import aval_of, is_array_like
from numjet.foundation import dtypes, tree
from numjet.foundation.record import Record


class Slice(Record):
    """`size` positions from `start` on, `stride` apart, as an entry of an index. Made by `ds`."""
    start: Any
    size: Any
    stride: int = 1

    @property
    def span(self) -> int:
        """The number of positions from the first to the last, both included."""
        return (self.size - 1) * self.stride + 1 if self.size else 0


tree.register_pytree_node(
    Slice, lambda s: (([], (s.start, s.size, s.stride)) if isinstance(s.start, int) else ([s.start], (None, s.size, s.stride))),
    lambda fixed, starts: Slice(*starts, *fixed[1:]) if starts else Slice(*fixed))


def ds(start: Any, size: int | None = None, stride: int | None = None) -> Slice:
    """An entry of an index of `size` positions from `start` on, which may be traced: `x[ds(i, 3)]` is x[i:i + 3].

    Reads move a slice that leaves the array into it, as `lax.dynamic_slice` does (with a stride: each position by itself);
    updates by `.at` leave it out. A negative start counts from the end.

    Args:
      start: integer, may be traced. With one argument it is the size, of a slice from 0 on; or a Python slice with bounds.
      size: a known integer, at least 0.
      stride: a known integer of at least 1, default 1.

    Raises TypeError where an argument is no integer, or the size is traced; ValueError for a negative size or a stride below 1.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.jit(lambda x, i: x[nj.ds(i, 2)])(jnp.arange(10), 4)
    Array([4, 5], dtype=int32)
    """
    if isinstance(start, slice):
        if size is not None or stride is not None or start.stop is None:
            raise TypeError(f"ds takes a slice with a stop, and nothing beside it, got {start}")
        begin, stride = start.start or 0, start.step or 1
        start, size = begin, max(0, -(-(start.stop - begin) // stride))
    elif size is None:
        start, size = 0, start
    size, stride = _known("size", size), 1 if stride is None else _known("stride", stride)
    if size < 0 or stride < 1:
        raise ValueError(f"ds: expected a size of at least 0 and a stride of at least 1, got size {size} and stride {stride}")
    return Slice(_checked(start), size, stride)


def _known(what: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"ds: the {what} must be a known integer, got {value!r}; only the start may be traced") from None


def _checked(start: Any) -> Any:
    if isinstance(start, int) and not isinstance(start, bool):
        return start
    aval = aval_of(start) if is_array_like(start) else None
    if aval is None or aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"ds: the start must be an integer, got {start!r}")
    return start
