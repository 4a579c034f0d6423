"""Subscripts: x[idx] and its updates, as slices, gathers and scatters."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.snapshots import frozen
from numjet.core.trace import Tracer, aval_of, is_array_like
from numjet.foundation import dtypes, lazy_import, source
from numjet.foundation.dimension import Dimension, computed_sizes, is_empty, is_symbolic, largest, may_exceed, smallest
from numjet.foundation.errors import NonConcreteBooleanIndexError
from numjet.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from numjet.lax.axes import in_64_bits, needs_64_bits
from numjet.lax.elementwise.convert import size_constant
from numjet.lax.shape import rearrange
from numjet.lax.sharding_later import sharding as lax_sharding
from numjet.numpy.fastpath import index as fast_index
from numjet.numpy.indexing import static_reads
from numjet.numpy.indexing.plan import Advanced, Basic, Plan, check_mask, consumed, entries_of, is_mask, plan_index

large = lazy_import.Module("numjet.numpy.indexing.large")

_INT32_MAX = np.iinfo(np.int32).max
_IOTA_FROM = 64  # longer ranges of positions are computed, not stored


# ------------------------------------------------------------------------------------------------ reading

def getitem(x: Any, idx: Any, *, mode: Any = None, fill_value: Any = None, indices_are_sorted: bool = False,
            unique_indices: bool = False, out_sharding: Any = None, wrap_negative_indices: bool = True) -> Any:
    """x[idx] by NumPy's rules, also for traced arrays.

    Args:
      x: array.
      idx: integers, slices, None, `...`, arrays of integers or booleans, or a tuple of these.
      mode: what happens to integers out of bounds: "clip" and (default) "promise_in_bounds" take the nearest element,
        "fill" (or "drop") gives fill_value.
      fill_value: default NaN; least (unsigned: greatest) integer; True.
      indices_are_sorted, unique_indices: promises about arrays of integers.
      out_sharding: how the result is divided along Explicit axes of a mesh.
      wrap_negative_indices: whether negative integers count from the end.

    Raises:
      IndexError: too many indices, masks of a wrong shape, slices with traced bounds. TypeError: what is no index.
      NonConcreteBooleanIndexError: a mask that is only known when the program runs.

    >>> getitem(np.arange(5), slice(None, None, -2)).tolist(), getitem(np.arange(5), np.array([-1, 9])).tolist()
    ([4, 2, 0], [4, 4])
    """
    if out_sharding is not None:
        read = functools.partial(getitem, mode=mode, fill_value=fill_value, indices_are_sorted=indices_are_sorted,
                                 unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
        return rearrange.divided("gather", lambda x: read(x, _undivided(idx)), out_sharding, x)
    if mode is None and wrap_negative_indices:
        found = fast_index.read(x, idx)
        if found is None:
            found = static_reads.read(x, idx)
        if found is not None:
            return found
    if needs_64_bits(aval_of(x).shape):
        return in_64_bits(getitem, x, idx, mode=mode, fill_value=fill_value, indices_are_sorted=indices_are_sorted,
                          unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
    found = large.read(getitem, x, idx, mode=mode, fill_value=fill_value, indices_are_sorted=indices_are_sorted,
                             unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
    if found is not None:
        return found
    if np.ndim(fill_value):
        raise ValueError(f"fill_value argument to indexed get() must be a scalar, got shape {np.shape(fill_value)}")
    plan = plan_index(aval_of(x).shape, idx)
    cut = not plan.advanced and mode == "wrap"  # slices are cut to the array in any mode
    nowhere_else = mode is None or cut or 0 in plan.result_shape
    _check_axes(plan)
    how = GatherScatterMode.PROMISE_IN_BOUNDS if nowhere_else else GatherScatterMode.from_any(mode)
    if plan.expanded:
        x = lax.expand_dims(x, plan.expanded)
    for e in plan.basic:
        if e.dynamic and e.step != 1:
            x, plan = _taken(x, plan, e, mode, fill_value)
    if any(e.mirrored for e in plan.basic):
        x, plan = _mirrored(x, plan)
    fills = how in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT)
    known = not is_symbolic(plan.shape[e.axis] for e in plan.advanced)
    if plan.static and known and (static_reads.in_bounds(plan, wrap_negative_indices) or not (fills or isinstance(x, Tracer))):
        return static_reads.steps_of(plan, wrap_negative_indices).apply(x)
    if plan.scalar and not fills:
        return _read_dynamic(x, plan, wrap_negative_indices, how is GatherScatterMode.CLIP)
    sure = plan.scalar
    return _read_gather(x, plan, how, fill_value, indices_are_sorted or sure, unique_indices or sure,
                        wrap_negative_indices)


def _undivided(idx: Any) -> Any:
    """An index whose arrays the compiler divides."""
    return tuple(map(_undivided, idx)) if isinstance(idx, tuple) else (
        lax_sharding.left_to_compiler(idx) if hasattr(idx, "aval") else idx)


def _taken(x: Any, plan: Plan, strided: Basic, mode: Any, fill_value: Any) -> tuple[Any, Plan]:
    """x with the positions of a dynamic slice taken along its axis, and the plan for the rest."""
    positions = _positions(strided, _low(strided, plan), _index_dtype(plan))
    x = getitem(x, (*[slice(None)] * strided.axis, positions), mode=mode, fill_value=fill_value)
    entries = [Basic(e.axis, 0, e.size, 1) if e is strided else e for e in plan.entries]
    shape = (*plan.shape[:strided.axis], strided.size, *plan.shape[strided.axis + 1:])
    return x, Plan(shape, plan.expanded, entries, plan.masked)


def _mirrored(x: Any, plan: Plan) -> tuple[Any, Plan]:
    """x with the axes reversed along which slices of symbolic bounds go backwards, and the plan that goes forwards."""
    entries = [e.mirrored if isinstance(e, Basic) and e.mirrored else e for e in plan.entries]
    x = lax.rev(x, [e.axis for e in plan.basic if e.mirrored])
    return x, Plan(plan.shape, plan.expanded, entries, plan.masked)


def _low(e: Basic, plan: Plan) -> Any:
    """The least position of a slice; of a dynamic one counted from the end where it is negative."""
    return _wrapped(e.low, plan.shape[e.axis], True, _index_dtype(plan)) if e.dynamic else e.low


def _check_axes(plan: Plan) -> None:
    """IndexError for single integers along axes without elements, in any mode."""
    for e in plan.advanced:
        if e.shape == () and is_empty(plan.shape[e.axis]):
            which = f"index {e.index}" if type(e.index) is int else "index"
            raise IndexError(f"{which} is out of bounds for axis {e.axis} with size 0")


def _read_dynamic(x: Any, plan: Plan, wrap: bool, clip: bool) -> Any:
    """Single integers of which some are traced, or out of bounds, which checkify reports unless they are to be clipped: one
    dynamic slice, then the static rest."""
    starts: list[Any] = [0] * len(plan.shape)
    sizes = list(plan.shape)
    for e in plan.entries:
        if isinstance(e, Basic):
            starts[e.axis], sizes[e.axis] = _low(e, plan), e.span
        elif isinstance(e, Advanced):
            start = (_clipped if clip else _wrapped)(e.index, plan.shape[e.axis], wrap, _index_dtype(plan))
            below = type(start) is int and start < 0  # which lax.dynamic_slice takes of arrays only
            starts[e.axis], sizes[e.axis] = np.asarray(start, _index_dtype(plan)) if below else start, 1
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=False)
    x = _strided(x, [(e.axis, e) for e in plan.basic])
    return _with_new_axes(_squeezed(x, [e.axis for e in plan.advanced]), plan)


def _read_gather(x: Any, plan: Plan, mode: GatherScatterMode, fill_value: Any, is_sorted: bool, unique: bool,
                 wrap: bool) -> Any:
    if 0 in plan.result_shape:
        return lax.full_like(x, 0, shape=plan.result_shape)
    axes = [(kind, e) for kind, _, e in plan.layout if kind != "new"]
    sizes = [1] * len(plan.shape)
    components: list[tuple[int, Any]] = []
    for e in plan.entries:
        if isinstance(e, Advanced):
            components.append((e.axis, _wrapped(e.index, plan.shape[e.axis], wrap, _index_dtype(plan))))
        elif isinstance(e, Basic):
            sizes[e.axis] = e.span
            components += [(e.axis, _low(e, plan))] if e.dynamic or e.low else []
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(i for i, (kind, _) in enumerate(axes) if kind == "slice"),
        collapsed_slice_dims=tuple(sorted(e.axis for e in plan.advanced)),
        start_index_map=tuple(axis for axis, _ in components))
    everywhere = tuple(range(len(plan.block)))
    indices = _stack([(index, everywhere) for _, index in components], plan.block, _index_dtype(plan))
    out = lax.gather(x, indices, numbers, sizes, mode=mode, fill_value=fill_value, indices_are_sorted=is_sorted,
                     unique_indices=unique)
    out = _strided(out, [(i, e) for i, (kind, e) in enumerate(axes) if kind == "slice"])
    return _with_new_axes(out, plan)


def _strided(x: Any, slices: Sequence[tuple[int, Basic]]) -> Any:
    """x, which holds the spans of slices along the axes given, with the steps taken."""
    if any(abs(e.step) != 1 for _, e in slices):
        shape = aval_of(x).shape
        steps = {axis: abs(e.step) for axis, e in slices}
        x = lax.slice(x, [0] * len(shape), shape, [steps.get(d, 1) for d in range(len(shape))])
    return _reversed(x, [axis for axis, e in slices if e.step < 0])


def _reversed(x: Any, axes: Sequence[int]) -> Any:
    return lax.rev(x, tuple(axes)) if axes else x


def _squeezed(x: Any, axes: Sequence[int]) -> Any:
    return lax.squeeze(x, tuple(axes)) if axes else x


def _with_new_axes(x: Any, plan: Plan) -> Any:
    new = tuple(i for i, (kind, _, _) in enumerate(plan.layout) if kind == "new")
    return lax.expand_dims(x, new) if new else x


# ------------------------------------------------------------------------------------------------ index arrays

def _index_dtype(plan: Plan) -> np.dtype:
    wide = any(may_exceed(n, _INT32_MAX) for n in plan.shape)
    return dtypes.canonicalize_dtype(np.int64) if wide else np.dtype(np.int32)


def _wrapped(index: Any, size: int, wrap: bool, dtype: np.dtype) -> Any:
    """An index (int, NumPy array or traced) of that dtype, negative numbers counted from the end."""
    if type(index) is int:
        if isinstance(size, Dimension):
            return size_constant(index + size, dtype) if index < 0 and wrap else index
        limits = np.iinfo(dtype)
        return min(max(index + size if index < 0 and wrap else index, int(limits.min)), int(limits.max))
    if isinstance(index, np.ndarray):
        if isinstance(size, Dimension):
            index = lax.convert_element_type(index, index.dtype)
        else:
            return _wrapped_numpy(index, size, wrap, dtype)
    kind, width = index.dtype.kind, index.dtype.itemsize
    if kind == "u" and width >= dtype.itemsize:
        index = lax.min(index, size_constant(size, index.dtype))  # stays out of bounds in the signed dtype
    elif kind == "i" and width > dtype.itemsize:
        limits = np.iinfo(dtype)  # beyond every size in both directions
        low, high = (np.asarray(limit, index.dtype)[()] for limit in (limits.min, limits.max))
        index = lax.clamp(low, index, high)
    index = index if index.dtype == dtype and not index.weak_type else lax.convert_element_type(index, dtype)
    if kind == "u" or not wrap:
        return index
    negative = lax.lt(index, np.zeros((), dtype)[()])
    return lax.select(negative, lax.add(index, size_constant(size, dtype)), index)


def _clipped(index: Any, size: int, wrap: bool, dtype: np.dtype) -> Any:
    """As _wrapped, moved into bounds."""
    found = _wrapped(index, size, wrap, dtype)
    if type(found) is int:
        return smallest(largest(found, 0), size - 1)
    return lax.clamp(np.zeros((), dtype)[()], found, size_constant(size - 1, dtype))


def _wrapped_numpy(index: np.ndarray, size: int, wrap: bool, dtype: np.dtype) -> np.ndarray:
    limits = np.iinfo(dtype)
    if index.dtype.itemsize >= dtype.itemsize and index.dtype != dtype:
        low = max(int(limits.min), int(np.iinfo(index.dtype).min))
        index = np.clip(index, low, int(limits.max))
    index = index.astype(dtype)
    return np.where(index < 0, index + dtype.type(size), index) if wrap and index.size and index.min() < 0 else index


def _stack(components: Sequence[tuple[Any, tuple[int, ...]]], batch: tuple[int, ...], dtype: np.dtype) -> Any:
    """Index vectors: an array of shape (*batch, len(components)).

    Each component is broadcast (as NumPy does) along the axes of the batch that are named with it.
    """
    if all(isinstance(c, (int, np.ndarray)) for c, _ in components) and not is_symbolic(batch):
        out = np.empty((*batch, len(components)), dtype)
        for k, (c, axes) in enumerate(components):
            shape = [1] * len(batch)
            for n, d in zip(reversed(np.shape(c)), reversed(axes), strict=False):
                shape[d] = n
            out[..., k] = np.reshape(c, shape)
        return out
    columns = []
    for c, axes in components:
        c = size_constant(c, dtype) if isinstance(c, (int, Dimension)) else c
        ndim = aval_of(c).ndim
        columns.append(lax.broadcast_in_dim(c, (*batch, 1), axes[len(axes) - ndim:]))
    return lax.concatenate(columns, len(batch)) if len(columns) > 1 else columns[0]


# ------------------------------------------------------------------------------------------------ writing

_SCATTERS: dict[str, Callable[..., Any]] = {
    "set": lax.scatter, "add": lax.scatter_add, "subtract": lax.scatter_sub, "mul": lax.scatter_mul,
    "min": lax.scatter_min, "max": lax.scatter_max}
_ELEMENTWISE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda x, y: y, "add": lax.add, "subtract": lax.sub, "mul": lax.mul, "min": lax.min, "max": lax.max}


def scatter_update(x: Any, idx: Any, values: Any, op: str, *, indices_are_sorted: bool = False,
                   unique_indices: bool = False, mode: Any = None, wrap_negative_indices: bool = True,
                   out_sharding: Any = None) -> Any:
    """A copy of x in which x[idx] is set to values, or combined with them.

    Args:
      x: array. idx: as for getitem; a mask may be traced when `values` broadcast without knowing how many it selects.
      values: array, broadcast to the shape of x[idx].
      op: "set", "add", "subtract", "mul", "min" or "max"; for repeated indices values are combined repeatedly.
      indices_are_sorted, unique_indices: promises about arrays of integers.
      mode: what happens out of bounds: "drop" (default), "clip" or "promise_in_bounds".
      wrap_negative_indices: whether negative integers count from the end.
      out_sharding: how the result is divided along Explicit axes of a mesh.

    Returns:
      array of the shape and dtype of x; a FutureWarning says when values of a wider dtype are cut to it.

    Raises:
      as getitem; ValueError when values do not broadcast to the shape of x[idx].

    >>> scatter_update(np.zeros(3, np.float32), np.array([1, 1, 7]), 2, "add").tolist()
    [0.0, 4.0, 0.0]
    """
    if out_sharding is not None:
        updated = functools.partial(scatter_update, op=op, mode=mode, indices_are_sorted=indices_are_sorted,
                                  unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
        return rearrange.divided("scatter", lambda x: updated(x, _undivided(idx), _undivided(values)), out_sharding, x)
    if type(values) is int:
        values = _as_integer_of(aval_of(x).dtype, values)
    if mode is None and wrap_negative_indices:
        found = fast_index.update(x, idx, values, op)
        if found is not None:
            return found
    if needs_64_bits(aval_of(x).shape):
        return in_64_bits(scatter_update, x, idx, values, op, mode=mode, indices_are_sorted=indices_are_sorted,
                          unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
    found = large.update(scatter_update, x, idx, values, op, mode=mode, indices_are_sorted=indices_are_sorted,
                               unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices)
    if found is not None:
        return found
    aval = aval_of(x)
    base, values, restore = _common_dtype(x, _as_value(values))
    traced = traced_mask(idx, aval.shape)
    if traced is not None and not (computed_sizes.maker is not None and _per_selected(aval.shape, traced, values)):
        return restore(update_by_mask(base, traced, values, _ELEMENTWISE[op], mode, wrap_negative_indices))
    plan = plan_index(aval.shape, idx)
    _check_axes(plan)
    if 0 in plan.result_shape:
        broadcast_values(values, plan.result_shape)
        return x
    how = GatherScatterMode.from_any(mode)
    base = lax.expand_dims(base, plan.expanded) if plan.expanded else base
    sure = plan.scalar
    out = write(base, plan, values, _SCATTERS[op], how, indices_are_sorted or sure, unique_indices or sure,
                wrap_negative_indices)
    return restore(_squeezed(out, plan.expanded))


def _as_integer_of(dtype: np.dtype, value: int) -> Any:
    """A Python integer as value for an array of `dtype`, see `dtypes.wrap_int`; one of NumPy if the default may be less."""
    value = dtypes.wrap_int(value, dtype)
    return value if dtype.itemsize < 4 or dtype not in dtypes.UNSIGNED else dtype.type(value)


def _as_value(values: Any) -> Any:
    if is_array_like(values):
        return frozen(values)
    if values is None:
        raise ValueError("None is not a valid value for jnp.array: an array cannot hold it")
    if isinstance(values, (list, tuple)):
        if any(isinstance(v, (Tracer, list, tuple)) for v in values):
            parts = [_as_value(v) for v in values]
            dtype = dtypes.result_type(*parts)
            return lax.concatenate([lax.expand_dims(lax.convert_element_type(p, dtype), (0,)) for p in parts], 0)
        values = np.asarray(values)
    aval_of(values)
    return values


def _common_dtype(x: Any, values: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """x and values in the dtype in which they are combined, and the conversion of the result to the type of x."""
    aval, other = aval_of(x), aval_of(values)
    if dtypes.is_key(aval.dtype) or dtypes.is_key(other.dtype):
        if aval.dtype != other.dtype:
            raise TypeError(f"an array of dtype {dtypes.long_name(aval.dtype)} cannot be updated with values of dtype "
                            f"{dtypes.long_name(other.dtype)}: random keys are not numbers")
        return x, values, lambda out: out
    common = dtypes.result_type(ShapedArray((), aval.dtype), values)  # a weak x must not lose digits to values of fewer bits
    if common != aval.dtype:
        warnings.warn(f"scatter inputs have incompatible types: cannot safely cast value from dtype={other.dtype.name} "
                      f"to dtype={aval.dtype.name}. In future releases this will be an error: convert the values, "
                      f"values.astype(x.dtype), or the array.", FutureWarning, stacklevel=source.user_stacklevel())
    as_common = lambda a, t: a if t.dtype == common and _is_array(a) else lax.convert_element_type(a, common)
    return as_common(x, aval), as_common(values, other), lambda out: _restored(out, aval)


def _is_array(x: Any) -> bool:
    """Whether x is an array and not a Python number."""
    return not isinstance(x, (bool, int, float, complex)) or isinstance(x, np.generic)


def _restored(out: Any, aval: Any) -> Any:
    if aval_of(out).dtype != aval.dtype:
        out = lax.convert_element_type(out, aval.dtype)
    if aval_of(out).weak_type != aval.weak_type:
        out = lax.convert_element_type_p.bind(out, new_dtype=aval.dtype, weak_type=aval.weak_type)
    return out


def broadcast_values(values: Any, shape: tuple[int, ...]) -> Any:
    """Values broadcast to the shape of the indexed part; ValueError when they do not fit."""
    have = aval_of(values).shape
    if have == shape:
        return values
    if len(have) > len(shape) or any(m not in (1, n) for m, n in zip(reversed(have), reversed(shape), strict=False)):
        raise ValueError(f"Incompatible shapes for broadcasting: the indexed part has shape {shape}, the values have "
                         f"shape {have}.")
    return lax.broadcast_in_dim(values, shape, tuple(range(len(shape) - len(have), len(shape))))


def write(x: Any, plan: Plan, values: Any, scatter: Callable[..., Any], mode: GatherScatterMode, is_sorted: bool,
          unique: bool, wrap: bool) -> Any:
    """scatter(x, indices, values, numbers, ...) for the indices of a plan."""
    values = broadcast_values(values, plan.result_shape)
    values = _squeezed(values, [i for i, (kind, _, _) in enumerate(plan.layout) if kind == "new"])
    axes = [(kind, size, e) for kind, size, e in plan.layout if kind != "new"]
    values = _reversed(values, [i for i, (kind, _, e) in enumerate(axes) if kind == "slice" and e.step < 0])
    windows = [i for i, (kind, _, e) in enumerate(axes) if kind == "slice" and abs(e.step) == 1]
    batch = [i for i in range(len(axes)) if i not in windows]
    block = tuple(k for k, i in enumerate(batch) if axes[i][0] == "block")
    stepped = {axes[i][2].axis: (k,) for k, i in enumerate(batch) if axes[i][0] == "slice"}
    dtype = _index_dtype(plan)
    components: list[tuple[int, Any, tuple[int, ...]]] = []
    for e in plan.entries:
        if isinstance(e, Advanced):
            components.append((e.axis, _wrapped(e.index, plan.shape[e.axis], wrap, dtype), block))
        elif isinstance(e, Basic) and e.axis in stepped:
            components.append((e.axis, _positions(e, _low(e, plan), dtype), stepped[e.axis]))
        elif isinstance(e, Basic) and (e.dynamic or e.low):
            components.append((e.axis, _low(e, plan), ()))
    inserted = sorted([e.axis for e in plan.advanced] + list(stepped))
    numbers = ScatterDimensionNumbers(tuple(windows), tuple(inserted), tuple(axis for axis, _, _ in components))
    indices = _stack([(c, along) for _, c, along in components], tuple(axes[i][1] for i in batch), dtype)
    return scatter(x, indices, values, numbers, indices_are_sorted=is_sorted, unique_indices=unique, mode=mode)


def _positions(e: Basic, low: Any, dtype: np.dtype) -> Any:
    """The positions of a slice in ascending order, from the least on."""
    step = abs(e.step)
    if isinstance(low, int) and not is_symbolic((e.size,)) and e.size <= _IOTA_FROM:
        return np.arange(low, low + e.span, step).astype(dtype)
    steps = lax.mul(lax.iota(dtype, e.size), np.asarray(step, dtype)[()])
    return lax.add(steps, size_constant(low, dtype) if isinstance(low, (int, Dimension)) else low)


# ------------------------------------------------------------------------------------------------ traced masks

class MaskedPart:
    """A traced mask over `rank` axes, from `axis` on, of x[rest]. rest: a basic index, None where it is all of x.

    first: whether NumPy moves the selected elements to the front of x[idx], while those axes of x[rest] stay where they are.
    """

    __slots__ = ("axis", "first", "mask", "rank", "rest")

    def __init__(self, mask: Any, axis: int, rest: tuple[Any, ...] | None, first: bool):
        self.mask, self.axis, self.rank, self.rest, self.first = mask, axis, mask.ndim, rest, first


def traced_mask(idx: Any, shape: tuple[int, ...]) -> MaskedPart | None:
    """The part of an array when its index is a traced mask beside slices, None and single integers.

    NonConcreteBooleanIndexError when such a mask is beside other arrays, unless sizes may be computed.
    """
    if not any(isinstance(i, Tracer) and i.dtype == np.bool_ for i in (idx if isinstance(idx, tuple) else (idx,))):
        return None
    entries = entries_of(idx, len(shape))
    positions = [i for i, e in enumerate(entries) if is_mask(e) and isinstance(e, Tracer) and e.concrete() is None]
    if not positions:
        return None
    place = positions[0]
    mask, before = entries[place], entries[:place]
    check_mask(mask.shape, shape, sum(map(consumed, before)), place)
    others = [*before, *entries[place + 1:]]
    if all(e is Ellipsis or (isinstance(e, slice) and e == slice(None)) for e in others):
        return MaskedPart(mask, sum(map(consumed, before)), None, False)
    if any(hasattr(e, "dtype") and not _is_single(e) for e in others):
        if computed_sizes.maker is not None:
            return None
        raise NonConcreteBooleanIndexError(mask)
    single = [i for i, e in enumerate(entries) if i == place or _is_single(e)]
    apart = single[-1] - single[0] + 1 != len(single)
    kept = [e for e in before if e is not Ellipsis and not _is_single(e)]
    rest = (*before, *[slice(None)] * mask.ndim, *entries[place + 1:])
    return MaskedPart(mask, len(kept), rest, apart and bool(kept))


def _is_single(entry: Any) -> bool:
    """Whether an entry of an index is one integer, known or traced."""
    return type(entry) is int or (hasattr(entry, "dtype") and not is_mask(entry) and entry.ndim == 0)


def _per_selected(shape: tuple[int, ...], part: MaskedPart, values: Any) -> bool:
    """Whether there may be values per selected element, whose number is not known."""
    return part.rest is not None or _has_axis_of_selected(shape, part.axis, part.rank, values)


def _has_axis_of_selected(shape: tuple[int, ...], axis: int, rank: int, values: Any) -> bool:
    have, after = aval_of(values).shape, len(shape) - axis - rank
    return len(have) > after and have[len(have) - after - 1] != 1


def update_by_mask(x: Any, part: MaskedPart, values: Any, combine: Callable[[Any, Any], Any], mode: Any = None,
                   wrap_negative_indices: bool = True) -> Any:
    """A copy of x in which the elements of a part where its mask is true are combined with values."""
    if aval_of(x).size != 0:
        GatherScatterMode.from_any(mode)  # raises for unknown modes
    if part.rest is None:
        return _masked_update(x, part.mask, part.axis, part.rank, values, combine)
    if part.first and aval_of(values).size != 1:
        raise NonConcreteBooleanIndexError(part.mask)
    old = getitem(x, part.rest, mode="clip", wrap_negative_indices=wrap_negative_indices)
    values = lax.reshape(values, ()) if part.first else values
    new = _masked_update(old, part.mask, part.axis, part.rank, values, combine)
    return scatter_update(x, part.rest, new, "set", mode=mode, wrap_negative_indices=wrap_negative_indices)


def _masked_update(x: Any, mask: Any, axis: int, rank: int, values: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """x where the mask (over `rank` axes from `axis` on) is false, combine(x, values) where it is true."""
    shape, have = aval_of(x).shape, aval_of(values).shape
    after = len(shape) - axis - rank
    if len(have) > after:
        if _has_axis_of_selected(shape, axis, rank, values):
            raise NonConcreteBooleanIndexError(mask)
        ones = (*have[:len(have) - after - 1], *(1,) * rank, *have[len(have) - after:])
        values = lax.reshape(values, ones)
    values = broadcast_values(values, shape)
    mask = lax.broadcast_in_dim(mask, shape, tuple(range(axis, axis + rank)))
    return lax.select(mask, combine(x, values), x)
