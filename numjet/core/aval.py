"""Abstract values: the shape, dtype and weak type that are known while tracing."""
from __future__ import annotations

import functools
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet import _native
from numjet.core.sharding import manual_axes
from numjet.core.sharding.memory import Space
from numjet.foundation import dtypes, lazy_import
from numjet.foundation.dimension import as_size, is_symbolic

if TYPE_CHECKING:
    from numjet.core.sharding import explicit
else:
    explicit = lazy_import.Module("numjet.core.sharding.explicit")

_NONE: frozenset[Any] = frozenset()
placements_in_use: list[bool] = []  # not empty once a type has a placement


class AbstractValue:
    """Base of the types of values: `ShapedArray`, and what users derive from it."""

    __slots__ = ()
    placement: Any = None


class ShapedArray(AbstractValue):
    """Shape, dtype and weak type of an array. Interned: equal avals are the same object.

    vma: the axes of a mesh over which values inside of shard_map vary.
    placement: how dimensions are divided along Explicit axes of a mesh, and in which memory space values are
    (core/sharding/explicit.py); None where they are not divided, and in the device's own memory.

    >>> ShapedArray((3,), np.dtype("float32"))
    ShapedArray(float32[3])
    """

    __slots__ = ("shape", "dtype", "weak_type", "ndim", "size", "vma", "placement", "_hash", "__weakref__")
    vma: frozenset[Any]
    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    ndim: int
    size: int

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False, *, sharding: Any = None,
                manual_axis_type: Any = None, memory_space: Any = None, vma: frozenset[Any] = _NONE,
                placement: Any = None) -> ShapedArray:
        if sharding is not None or manual_axis_type is not None or memory_space is not None:
            placement, vma = _placement_of(tuple(shape), sharding, vma, manual_axis_type, memory_space, placement)
        if placement is not None:
            key: tuple[Any, ...] = (shape, dtype, weak_type, vma, placement)
        else:
            key = (shape, dtype, weak_type, vma) if vma else (shape, dtype, weak_type)
        try:
            known = _table.get(key)
        except TypeError:  # sizes without a hash
            known = None
        if known is not None:
            return known
        sizes = tuple(shape)
        sizes = tuple(map(as_size if is_symbolic(sizes) else int, sizes))
        return _intern(cls, sizes, dtypes.as_dtype(dtype), bool(weak_type), frozenset(vma), placement)

    def update(self, shape: tuple[int, ...] | None = None, dtype: Any = None, weak_type: bool | None = None,
               **placement: Any) -> ShapedArray:
        """The aval with some fields changed. Another shape keeps its memory space, and how its trailing dimensions are divided,
        where those are the same."""
        if self.placement is not None and "placement" not in placement and "sharding" not in placement:
            placement["placement"] = self.placement.of_shape(self.shape, self.shape if shape is None else tuple(shape))
        elif "sharding" in placement and placement["sharding"] is None:
            placement["placement"] = None
        if "sharding" in placement and self.memory_space is not Space.Device:
            placement.setdefault("memory_space", self.memory_space)
        return ShapedArray(self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
                           self.weak_type if weak_type is None else weak_type, **{"vma": self.vma, **placement})

    @property
    def sharding(self) -> Any:
        """How the dimensions are divided along Explicit axes: a NamedSharding over an AbstractMesh, that of the mesh in use
        where the type names none."""
        return explicit.type_sharding(self)

    @property
    def memory_space(self) -> Space:
        """The memory space that values are in."""
        return Space.Device if self.placement is None else self.placement.memory

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, weak_type, vma=self.vma, placement=self.placement)

    def strip_weak_type(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, False, vma=self.vma, placement=self.placement)

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of tangents: itself for inexact dtypes, float0 otherwise."""
        if self.dtype.kind in "fcV" and dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return ShapedArray(self.shape, dtypes.float0, False)

    def at_least_vspace(self) -> ShapedArray:
        """The aval of tangents, under the name that it had first."""
        return self.to_tangent_aval()

    def to_ct_aval(self) -> ShapedArray:
        """The aval of cotangents: that of tangents, which are summands where these are reduced, and the other way round."""
        there, aval = self.placement, self.to_tangent_aval()
        return aval if there is None or aval.placement is not there else aval.update(placement=there.dual)

    def normalize(self) -> ShapedArray:
        return self

    def lo_ty(self) -> list[ShapedArray]:
        """The types of the arrays below a value of this type: itself, as its values are arrays."""
        return [self]

    def lower_val(self, x: Any) -> list[Any]:
        return [x]

    def raise_val(self, x: Any) -> Any:
        return x

    def dec_rank(self, size: int, spec: int | None) -> ShapedArray:
        """The type of one element of a batch of `size` whose axis is `spec`; None: not batched.

        >>> ShapedArray((3, 2), np.dtype("float32")).dec_rank(3, 0)
        ShapedArray(float32[2])
        """
        if spec is None:
            return self
        if self.shape[spec] != size:
            raise ValueError(f"mapped_aval: axis {spec} of {self} does not have {size} elements")
        return self.update(shape=tuple(d for k, d in enumerate(self.shape) if k != spec % len(self.shape)))

    def inc_rank(self, size: int, spec: int | None) -> ShapedArray:
        """The type of a batch of `size` elements with the batch at axis `spec`; None: not batched.

        >>> ShapedArray((2,), np.dtype("float32")).inc_rank(3, 1)
        ShapedArray(float32[2,3])
        """
        if spec is None:
            return self
        place = spec % (len(self.shape) + 1)
        return self.update(shape=(*self.shape[:place], size, *self.shape[place:]))

    def leading_axis_spec(self) -> int:
        """The axis along which loops go through values: the first."""
        return 0

    @property
    def manual_axis_type(self) -> manual_axes.ManualAxisType:
        """Over which axes of a mesh values of shards vary, and where they are summands; `vma` are the first of these."""
        there = self.placement
        if there is None:
            return manual_axes.ManualAxisType(self.vma)
        manual = set(there.mesh.manual_axes)
        return manual_axes.ManualAxisType(self.vma, there.unreduced & manual, there.reduced & manual)

    mat = manual_axis_type

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def str_short(self, short_dtypes: bool = True) -> str:
        """The text in jaxprs, `f32[2,3]`, or `float32[2,3]`; weak types are not marked, as in JAX."""
        name = dtypes.short_name(self.dtype) if short_dtypes else dtypes.long_name(self.dtype)
        return f"{name}{self._memory_text()}[{self._sizes_text()}]{self._varying_text()}"

    def _memory_text(self) -> str:
        """`<host>` of values that are not in the device's own memory."""
        space = self.memory_space
        return "" if space is Space.Device else f"<{space.name.lower()}>"

    def _sizes_text(self) -> str:
        """`8@x,3`: the sizes of dimensions, with the axes along which they are divided."""
        return ",".join(map(str, self.shape) if self.placement is None else self.placement.sizes(self.shape))

    def _varying_text(self) -> str:
        """`{V:x}` or `{V:(x,y)}` of values that vary over axes, `{U:x}` of summands, `{R:x}` of what has such cotangents."""
        if not self.vma and self.placement is None:
            return ""
        found = [("V", self.vma), *zip("UR", explicit.sums_of(self), strict=True)]
        texts = [f"{mark}:({names})" if len(axes) > 1 else f"{mark}:{names}" for mark, axes in found
                 if axes and (names := ",".join(sorted(map(str, axes))))]
        return f"{{{', '.join(texts)}}}" if texts else ""

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])  # a size that is not known says so

    def __str__(self) -> str:
        return self.str_short(short_dtypes=False)

    def __repr__(self) -> str:
        return f"ShapedArray({self}{', weak_type=True' if self.weak_type else ''})"

    def __reduce__(self) -> tuple:
        made = ShapedArray, (self.shape, self.dtype, self.weak_type)
        if not self.vma and self.placement is None:
            return made
        return functools.partial(ShapedArray, vma=self.vma, placement=self.placement), made[1]


def _placement_of(shape: tuple[int, ...], sharding: Any, vma: frozenset[Any], manual_axis_type: Any, memory_space: Any,
                  found: Any) -> Any:
    """What the parameters of JAX's types say: (placement, vma). TypeError for what is no memory space."""
    vma = vma if manual_axis_type is None else manual_axes.varying_axes(manual_axis_type)
    found = found if sharding is None else explicit.placement_of(sharding, shape)
    if memory_space is not None:
        if not isinstance(memory_space, Space):
            raise TypeError(f"ShapedArray: memory_space must be a jax.memory.Space, got {memory_space!r}")
        found = explicit.in_memory(found, len(shape), memory_space)
    return found, vma


_table: dict[tuple, ShapedArray] = {}
_LEAST_SWEPT = 8192
_sweep_at = [_LEAST_SWEPT]


def _intern(cls: type[ShapedArray], shape: tuple[int, ...], dtype: np.dtype, weak: bool, vma: frozenset[Any],
            placement: Any) -> ShapedArray:
    exact: tuple[Any, ...] = (shape, dtype, weak, vma) if vma else (shape, dtype, weak)
    if placement is not None:
        exact = (shape, dtype, weak, vma, placement)
    aval = _table.get(exact)
    if aval is None:
        aval = object.__new__(cls)
        aval.shape, aval.dtype, aval.weak_type, aval.vma, aval.placement = shape, dtype, weak, vma, placement
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
