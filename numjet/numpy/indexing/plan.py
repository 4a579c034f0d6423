"""Index plans: from the index in x[...] to a plan over the axes of x, by NumPy's rules.

Slices, None and `...` are basic; integers, arrays of integers and masks are advanced. The advanced indices are
broadcast together to one block of axes, which takes their place when they are neighbours, else comes first. A mask
counts as the arrays of positions where it is true.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import lax
from numjet.core.snapshots import frozen_ndarray
from numjet.core.trace import Array, Tracer, aval_of, is_array_like
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_size, computed_sizes, is_empty, is_symbolic, largest, smallest
from numjet.foundation.errors import NonConcreteBooleanIndexError
from numjet.lax.axes import is_long
from numjet.lax.indexing.index_slices import Slice

Shape = tuple[int, ...]


class New:
    """None: a new axis of size 1."""

    __slots__ = ()


class Gap:
    """`...` that stands for no axis: it still separates the advanced indices on its sides."""

    __slots__ = ()


class Basic:
    """A slice of axis `axis`: elements start, start + step, ... (`size` of them). They are in bounds, unless it is `dynamic`:
    then the start is an integer as given by the user, or traced, and the step positive."""

    __slots__ = ("axis", "dynamic", "mirrored", "size", "span", "start", "step")

    def __init__(self, axis: int, start: Any, size: int, step: int, dynamic: bool = False, span: int | None = None,
                 mirrored: Basic | None = None):
        """span: the number of positions from the least to the greatest, both included, or some more up to the next step.
        mirrored: the same elements of the reversed axis, which is read with less arithmetic on symbolic sizes."""
        self.axis, self.start, self.size, self.step, self.dynamic = axis, start, size, step, dynamic
        self.mirrored = mirrored
        self.span = span if span is not None else (size - 1) * abs(step) + 1 if size != 0 else 0

    @property
    def low(self) -> Any:
        """The least position."""
        return self.start if self.step > 0 else self.start + (self.size - 1) * self.step


class Advanced:
    """An integer (int) or an array of integers (NumPy or traced) along axis `axis`."""

    __slots__ = ("axis", "index")

    def __init__(self, axis: int, index: Any):
        self.axis, self.index = axis, index

    @property
    def shape(self) -> Shape:
        return () if type(self.index) is int else aval_of(self.index).shape


class Plan:
    """A parsed index.

    shape: of the array, with an axis of size 1 at each of `expanded` (masks of rank 0 index these).
    entries: in order. masked: whether a mask is the only advanced index, so that no index is repeated.
    block: shape of the broadcast advanced indices. layout: the axes of the result in order, as (kind, size, entry);
    kind is "block", "slice" or "new".
    """

    __slots__ = ("block", "entries", "expanded", "layout", "masked", "shape")

    def __init__(self, shape: Shape, expanded: Shape, entries: list[New | Gap | Basic | Advanced], masked: bool = False):
        self.shape, self.expanded, self.entries, self.masked = shape, expanded, entries, masked
        self.block = _broadcast(self.advanced)
        self.layout = _layout(self.entries, self.block)

    @property
    def advanced(self) -> list[Advanced]:
        return [e for e in self.entries if isinstance(e, Advanced)]

    @property
    def basic(self) -> list[Basic]:
        return [e for e in self.entries if isinstance(e, Basic)]

    @property
    def result_shape(self) -> Shape:
        return tuple(size for _, size, _ in self.layout)

    @property
    def scalar(self) -> bool:
        """Whether all advanced indices are single integers, so that no index is repeated."""
        return all(not e.shape for e in self.advanced)

    @property
    def static(self) -> bool:
        """Whether all advanced indices are known single integers, and slices are in bounds."""
        return all(type(e.index) is int for e in self.advanced) and not any(e.dynamic for e in self.basic)


def _broadcast(advanced: Sequence[Advanced]) -> Shape:
    shapes = [e.shape for e in advanced]
    try:
        return lax.broadcast_shapes(*shapes) if any(map(is_symbolic, shapes)) else np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: the index arrays have shapes={shapes}, which do not "
                         "broadcast together") from None


def _layout(entries: Sequence[Any], block: Shape) -> list[tuple[str, int, Any]]:
    positions = [i for i, e in enumerate(entries) if isinstance(e, Advanced)]
    axes = [("block", n, k) for k, n in enumerate(block)]
    apart = bool(positions) and positions[-1] - positions[0] + 1 != len(positions)
    layout: list[tuple[str, int, Any]] = list(axes) if apart else []
    for i, e in enumerate(entries):
        if isinstance(e, New):
            layout.append(("new", 1, e))
        elif isinstance(e, Basic):
            layout.append(("slice", e.size, e))
        elif isinstance(e, Advanced) and not apart and i == positions[0]:
            layout.extend(axes)
    return layout


# ------------------------------------------------------------------------------------------------ parsing

def as_tuple(idx: Any) -> tuple[Any, ...]:
    """The index as a tuple of entries; TypeError for lists and other sequences, which are ambiguous."""
    if isinstance(idx, tuple):
        return idx
    if isinstance(idx, Sequence) and not isinstance(idx, str):
        how = "array" if all(_is_number(i) for i in idx) else "tuple"
        raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; use "
                        f"`arr[{how}(seq)]` instead of `arr[seq]`.")
    return (idx,)


def _is_number(entry: Any) -> bool:
    """Whether an entry of a sequence is one number: a Python number, or an array of shape ()."""
    return isinstance(entry, (bool, int, float, complex)) or getattr(entry, "shape", None) == ()


def as_entry(idx: Any) -> Any:
    """None, Ellipsis, a slice, an int, or an array of booleans or integers; an error for all else."""
    if idx is None or idx is Ellipsis or isinstance(idx, (slice, Slice)):
        return idx
    if type(idx) is int:
        dtypes.check_int_fits(idx, dtypes.python_scalar_dtype(int))
        return idx
    if isinstance(idx, (bool, np.bool_)):
        return np.asarray(idx)
    if isinstance(idx, (int, np.integer)):
        return int(idx)
    if isinstance(idx, str):
        raise TypeError(f"JAX does not support string indexing; got idx={idx!r}. Arrays have no named fields.")
    if isinstance(idx, (list, tuple)):
        idx = _array_of(idx)
    elif not is_array_like(idx):
        return _index_of(idx)
    dtype = idx.dtype if isinstance(idx, (np.ndarray, np.generic)) else aval_of(idx).dtype
    kind = dtypes.kind(dtype) if dtypes.is_array_dtype(dtype) else dtype.kind
    if not (dtypes.issubdtype(dtype, np.integer) or dtype == np.bool_):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {dtype} (kind {kind}).")
    return _ready_values(idx)


def _index_of(idx: Any) -> int:
    try:
        return operator.index(idx)
    except TypeError:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
                         f"arrays are valid indices. Got {idx!r}") from None


def _array_of(items: Sequence[Any]) -> Any:
    """An array of nested lists of integers, some of which may be traced."""
    if not _has_tracer(items):
        array = np.asarray(items)
        return array.astype(np.int32) if array.size == 0 else array
    parts = [_array_of(i) if isinstance(i, (list, tuple)) else i for i in items]
    dtype = dtypes.result_type(*parts)
    return lax.concatenate([lax.expand_dims(lax.convert_element_type(p, dtype), (0,)) for p in parts], 0)


def _has_tracer(items: Sequence[Any]) -> bool:
    return any(_has_tracer(i) if isinstance(i, (list, tuple)) else isinstance(i, Tracer) for i in items)


def _ready_values(idx: Any) -> Any:
    """Ready arrays, and those that the traced function made of known values, as NumPy arrays (integers of rank 0: as int);
    unchanged are traced ones, and arrays of integers on other devices, where their values are used."""
    if isinstance(idx, Tracer):
        given = idx.given()
        if given is None:
            return idx
        idx = given
    if type(idx) is Array and idx._remote is not None and idx.ndim and idx.dtype != np.bool_:
        return idx
    value = frozen_ndarray(idx) if isinstance(idx, np.ndarray) else np.asarray(idx)
    return int(value) if value.ndim == 0 and value.dtype != np.bool_ else value


def is_mask(entry: Any) -> bool:
    """Whether an entry is an array of booleans."""
    return isinstance(entry, (np.ndarray, Tracer)) and entry.dtype == np.bool_


def consumed(entry: Any) -> int:
    """The number of axes that an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if is_mask(entry) else 1


def entries_of(idx: Any, ndim: int) -> list[Any]:
    """The entries of an index to an array of rank ndim; missing slices and `...` (if it stands for any) written out.

    IndexError for too many indices and for two ellipses.
    """
    if isinstance(idx, str):
        as_entry(idx)
    entries = [as_entry(i) for i in as_tuple(idx)]
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    count = sum(map(consumed, entries))
    if count > ndim:
        raise IndexError(f"Too many indices: array is {ndim}-dimensional, but {count} were indexed")
    missing: list[Any] = [slice(None)] * (ndim - count)
    at_index = next((i for i, e in enumerate(entries) if e is Ellipsis), None)
    if at_index is None:
        return entries + missing
    return [*entries[:at_index], *(missing or [Ellipsis]), *entries[at_index + 1:]]


def plan_index(shape: Shape, idx: Any) -> Plan:
    """The plan of x[idx] for x of that shape.

    Raises TypeError, IndexError or ValueError for invalid indices, and NonConcreteBooleanIndexError for a mask whose
    values are not known while tracing.
    """
    found: list[New | Gap | Basic | Advanced] = []
    full: list[int] = []
    expanded: list[int] = []
    masks = advanced = old = 0
    for position, entry in enumerate(entries_of(idx, len(shape))):
        axis = len(full)
        if entry is None or entry is Ellipsis:
            found.append(Gap() if entry is Ellipsis else New())
            continue
        if is_mask(entry):
            mask = entry if may_select(entry) else known_mask(entry)
            masks, advanced = masks + 1, advanced + 1
            found += _mask_entries(mask, shape, old, axis, position)
            if not mask.ndim:
                expanded.append(axis)
            full += shape[old:old + mask.ndim] if mask.ndim else (1,)
            old += mask.ndim
            continue
        if isinstance(entry, slice):
            found.append(_basic(entry, shape[old], axis, position))
        elif isinstance(entry, Slice):
            found.append(_dynamic(entry, shape[old], axis))
        else:
            found.append(Advanced(axis, entry))
            advanced += 1
        full.append(shape[old])
        old += 1
    return Plan(tuple(full), tuple(expanded), found, masks == 1 and advanced == 1)


def _dynamic(entry: Slice, size: int, axis: int) -> Basic:
    if entry.stride == 1 and entry.size > size:
        raise TypeError(f"slice slice_sizes must be less than or equal to operand shape, got a slice of {entry.size} elements "
                        f"along axis {axis} of size {size}.")
    start = entry.start
    inside = isinstance(start, int) and 0 <= start <= size - entry.span
    return Basic(axis, start, entry.size, entry.stride, dynamic=not inside)


def may_select(mask: Any) -> bool:
    """Whether a mask may select as many elements as the program finds, as sizes may be computed."""
    return isinstance(mask, Tracer) and computed_sizes.maker is not None and mask.concrete() is None


def known_mask(mask: Any) -> np.ndarray:
    """The values of a mask; NonConcreteBooleanIndexError when they are not known while tracing."""
    if isinstance(mask, Tracer):
        if mask.concrete() is None:
            raise NonConcreteBooleanIndexError(mask)
        return np.asarray(mask)
    return mask


def positions_where(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """numpy.nonzero, in int32 along axes whose positions fit."""
    found = np.nonzero(mask)
    return tuple(p if is_long((n,)) else p.astype(np.int32) for p, n in zip(found, mask.shape, strict=True))


def _mask_entries(mask: Any, shape: Shape, old: int, axis: int, position: int) -> list[Advanced]:
    check_mask(mask.shape, shape, old, position)
    if not mask.ndim:
        if isinstance(mask, Tracer):
            raise NonConcreteBooleanIndexError(mask)
        return [Advanced(axis, np.zeros(int(mask), np.int32))]
    if isinstance(mask, Tracer):
        return [Advanced(axis + k, found) for k, found in enumerate(computed_sizes.maker.true_positions(mask))]
    return [Advanced(axis + k, positions) for k, positions in enumerate(positions_where(mask))]


def check_mask(mask: Shape, shape: Shape, axis: int, position: int) -> None:
    """IndexError unless a mask has the sizes of the axes that it indexes."""
    expected = shape[axis:axis + len(mask)]
    if mask != expected:
        raise IndexError(f"boolean index did not match shape of indexed array in index {position}: got {mask}, "
                         f"expected {list(expected)}")


def _basic(s: slice, size: int, axis: int, position: int) -> Basic:
    for bound in (s.start, s.stop, s.step):
        if isinstance(bound, Tracer) and bound.concrete() is None:
            raise IndexError(_SLICE_ERROR.format(s=s, position=position))
    try:
        start, stop, step = slice(*map(_bound, (s.start, s.stop, s.step))).indices(size)
    except TypeError:
        if is_symbolic((size, s.start, s.stop, s.step)):
            return _symbolic(s, size, axis)
        raise
    count = len(range(start, stop, step))
    if count == 0:
        return Basic(axis, min(max(start, 0), size), 0, 1)
    return Basic(axis, start, count, step if count > 1 else 1)


def _symbolic(s: slice, size: Any, axis: int) -> Basic:
    """A slice with symbolic bounds, or of an axis of symbolic size, by the rules of slice.indices."""
    step = 1 if s.step is None else _bound(s.step)
    if is_empty(step):
        raise ValueError(f"slice step must be a number other than 0, got {step}")
    least, most = (0, size) if step > 0 else (-1, size - 1)
    clamped = lambda n: largest(n + size, least) if n < 0 else smallest(n, most)
    start = (least if step > 0 else most) if s.start is None else clamped(_bound(s.start))
    stop = (most if step > 0 else least) if s.stop is None else clamped(_bound(s.stop))
    count = largest((stop - start + step - (1 if step > 0 else -1)) // step, 0)
    if count == 0:
        return Basic(axis, smallest(largest(start, 0), size), 0, 1)
    if computed_sizes.maker is not None and step < -1:
        raise NotImplementedError(f"x[::{step}] along an axis of computed size {size}: write x[::-1][::{-step}]")
    if step > 0:
        return Basic(axis, start, count, step, span=largest(stop, start) - start)
    if computed_sizes.maker is not None:
        return Basic(axis, start, count, step)
    first, end = size - 1 - start, size - 1 - stop
    return Basic(axis, start, count, step, mirrored=Basic(axis, first, count, -step, span=largest(end, first) - first))


_SLICE_ERROR = """\
Slice entries must be static integers. Got {s} at position {position}: the size of x[a:b] would depend on traced values.

For a slice of static size at a traced index use lax.dynamic_slice (read) or lax.dynamic_update_slice (write). \
Instead of

    y = x[i:i + 3]

write

    y = lax.dynamic_slice_in_dim(x, i, 3)

Or select with jnp.where, or make the bound a static argument (static_argnums of jit)."""


def _bound(x: Any) -> Any:
    if isinstance(x, Tracer):
        x = np.asarray(x)
    return None if x is None else as_size(x)
