"""Abstract values: the shape, dtype and weak type that are known while tracing."""
from __future__ import annotations

import functools
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_size, is_symbolic

_NONE: frozenset[Any] = frozenset()


class AbstractValue:
    """Base of the types of values: `ShapedArray`, and what users derive from it."""

    __slots__ = ()


class ShapedArray(AbstractValue):
    """Shape, dtype and weak type of an array. Interned: equal avals are the same object.

    vma: the axes of a mesh over which values inside of shard_map vary.

    >>> ShapedArray((3,), np.dtype("float32"))
    ShapedArray(float32[3])
    """

    __slots__ = ("shape", "dtype", "weak_type", "ndim", "size", "vma", "_hash", "__weakref__")
    vma: frozenset[Any]
    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    ndim: int
    size: int

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False, *, sharding: Any = None,
                manual_axis_type: Any = None, memory_space: Any = None, vma: frozenset[Any] = _NONE) -> ShapedArray:
        if sharding is not None or manual_axis_type is not None or memory_space is not None:
            _check_placement(sharding, manual_axis_type, memory_space)
        key = (shape, dtype, weak_type, vma) if vma else (shape, dtype, weak_type)
        try:
            return _table[key]
        except (KeyError, TypeError):
            sizes = tuple(shape)
            sizes = tuple(map(as_size if is_symbolic(sizes) else int, sizes))
            return _intern(cls, sizes, np.dtype(dtype), bool(weak_type), frozenset(vma))

    def update(self, shape: tuple[int, ...] | None = None, dtype: Any = None, weak_type: bool | None = None,
               **placement: Any) -> ShapedArray:
        """The aval with some fields changed."""
        return ShapedArray(self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
                           self.weak_type if weak_type is None else weak_type, **{"vma": self.vma, **placement})

    sharding = property(lambda self: None, doc="None: arrays are on one device.")

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, weak_type, vma=self.vma)

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, False, vma=self.vma)

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of tangents: itself for inexact dtypes, float0 otherwise."""
        if self.dtype.kind in "fcV" and dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return ShapedArray(self.shape, dtypes.float0, False)

    to_ct_aval = to_tangent_aval

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def str_short(self) -> str:
        """The text in jaxprs, `f32[2,3]`; weak types are not marked, as in JAX."""
        return f"{dtypes.short_name(self.dtype)}[{','.join(map(str, self.shape))}]{self._varying_text()}"

    def _varying_text(self) -> str:
        """`{V:(x,y)}` of values that vary over axes."""
        return f"{{V:({','.join(sorted(map(str, self.vma)))})}}" if self.vma else ""

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __str__(self) -> str:
        return f"{dtypes.long_name(self.dtype)}[{','.join(map(str, self.shape))}]{self._varying_text()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self}{', weak_type=True' if self.weak_type else ''})"

    def __reduce__(self) -> tuple:
        made = ShapedArray, (self.shape, self.dtype, self.weak_type)
        return made if not self.vma else (functools.partial(ShapedArray, vma=self.vma), made[1])


def _check_placement(sharding: Any, manual_axis_type: Any, memory_space: Any) -> None:
    """Raises for types of arrays that are not on one device."""
    if sharding is not None or manual_axis_type is not None or "device" not in str(memory_space or "device").lower():
        raise NotImplementedError("ShapedArray describes an array on one device: leave out sharding, manual_axis_type and "
                                  f"memory_space, got {sharding}, {manual_axis_type}, {memory_space}")


_table: dict[tuple, ShapedArray] = {}
_LEAST_SWEPT = 8192
_sweep_at = [_LEAST_SWEPT]


def _intern(cls: type[ShapedArray], shape: tuple[int, ...], dtype: np.dtype, weak: bool, vma: frozenset[Any]) -> ShapedArray:
    exact = (shape, dtype, weak, vma) if vma else (shape, dtype, weak)
    aval = _table.get(exact)
    if aval is None:
        aval = object.__new__(cls)
        aval.shape, aval.dtype, aval.weak_type, aval.vma = shape, dtype, weak, vma
        aval.ndim, aval.size = len(shape), prod(shape)
        aval = _table.setdefault(exact, aval)
        if len(_table) >= _sweep_at[0]:
            sweep()
    return aval


def sweep() -> None:
    """Drops unreferenced avals. The next sweep is due when the table has doubled, which makes the amortized cost per aval
    constant; a weak dictionary would make each look-up slower."""
    _native.drop_unshared(_table)
    _sweep_at[0] = max(_LEAST_SWEPT, 2 * len(_table))
