"""Gather: reads windows of an array at computed positions."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, counts, hull
from numjet.core.ir import JaxprEqn
from numjet.core.op import Op, Samples, Undefined, Zero
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import EXACT, LANES
from numjet.foundation import dtypes, lazy_import
from numjet.foundation.dimension import Dimension, as_size
from numjet.lax.axes import as_axes
from numjet.lax.elementwise.arithmetic import add_p, rem_p
from numjet.lax.elementwise.compare import lt_p, select_n_p
from numjet.lax.elementwise.convert import size_constant
from numjet.lax.indexing.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Ints,
    Windows,
    as_scatter,
    fills,
    shifted,
    wide_indices,
    windows_attribute,
)
from numjet.lax.scalar_programs import update_program
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.tangent import no_tangent, zeros_like_aval
from numjet.lax.templates import call, in_front, kind_of

if TYPE_CHECKING:
    from numjet.lax.indexing import counted_rows
else:
    counted_rows = lazy_import.Module("numjet.lax.indexing.counted_rows")

GATHERED = 8.0   # operations that it takes to find an element by an index: to load, to check and to follow it

# ------------------------------------------------------------------------------------------------ checks of shapes

def check_ascending(op: str, name: str, dims: Sequence[int], rank: int) -> None:
    """TypeError unless the axes are ascending, distinct and below `rank`."""
    check_sorted(op, name, dims)
    check_range(op, name, dims, rank)


def check_sorted(op: str, name: str, dims: Sequence[int]) -> None:
    """TypeError unless the axes are ascending and distinct."""
    if list(dims) != sorted(dims):
        raise TypeError(f"{name} in {op} op must be sorted; got {tuple(dims)}")
    _check_distinct(op, name, dims)


def _check_distinct(op: str, name: str, dims: Sequence[int]) -> None:
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {tuple(dims)}.")


def check_range(op: str, name: str, dims: Sequence[int], rank: int) -> None:
    """TypeError unless the axes are within 0 ... rank - 1."""
    for d in dims:
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {d}.")


def check_indices(op: str, indices: ShapedArray) -> None:
    """The errors of indices: their dtype and rank."""
    if kind_of(indices.dtype) not in "iu":
        raise ValueError(f"{op}: indices must have an integer type, got {indices.dtype.name}")
    if indices.ndim < 1:
        raise TypeError(f"{op.capitalize()} op needs indices of rank 1 or more, whose last axis holds the index "
                        f"vectors; got rank {indices.ndim}.")


def check_index_map(op: str, indices: ShapedArray, index_map: Sequence[int], name: str, rank: int) -> None:
    """The errors of the map from components of index vectors to operand axes."""
    if len(index_map) != indices.shape[-1]:
        raise TypeError(f"{op.capitalize()} op has {len(index_map)} elements in {name} and the bound of dimension "
                        f"index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. These two numbers "
                        "must be equal.")
    for i, d in enumerate(index_map):
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {name}{' mapping' if op == 'scatter' else ''}; domain is [0, {rank}), got: {i}->{d}.")
    _check_distinct(op, name, index_map)


def check_batching(op: str, operand: ShapedArray, indices: ShapedArray, collapsed: Sequence[int], collapsed_name: str,
                   index_map: Sequence[int], map_name: str, operand_dims: Sequence[int],
                   indices_dims: Sequence[int], indices_name: str) -> None:
    """The errors of batching dimensions, the same for gather and scatter."""
    check_ascending(op, "operand_batching_dims", operand_dims, operand.ndim)
    for name, dims in ((collapsed_name, collapsed), (map_name, index_map)):
        if set(dims) & set(operand_dims):
            raise TypeError(f"{name} and operand_batching_dims in {op} op must be disjoint; got: {tuple(dims)} and "
                            f"{tuple(operand_dims)}.")
    _check_distinct(op, indices_name, indices_dims)
    check_range(op, indices_name, indices_dims, indices.ndim)
    if indices.ndim - 1 in indices_dims:
        raise TypeError(f"{op.capitalize()} op cannot have the index vector dimension as a batching dimension; got "
                        f"{indices_name}={tuple(indices_dims)} for indices of rank {indices.ndim}.")
    if len(operand_dims) != len(indices_dims):
        raise TypeError(f"{op.capitalize()} op requires equal numbers of operand_batching_dims and {indices_name}; got "
                        f"{tuple(operand_dims)} and {tuple(indices_dims)}.")
    for o, i in zip(operand_dims, indices_dims, strict=True):
        if operand.shape[o] != indices.shape[i]:
            raise TypeError(f"{op.capitalize()} op requires operand batching dimensions and indices batching dimensions to "
                            f"have the same shape; axis {o} of the operand has size {operand.shape[o]}, axis {i} of the "
                            f"indices has {indices.shape[i]}.")


def _check_gather(operand: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers,
                  sizes: Sequence[int]) -> None:
    offset, collapsed, index_map, operand_batch, index_batch = numbers
    check_indices("gather", indices)
    check_sorted("gather", "offset_dims", offset)
    rank = indices.ndim - 1 + len(offset)
    for i, d in enumerate(offset):
        if not 0 <= d < rank:
            raise TypeError(f"Offset dimension {i} in gather op is out of bounds; got {d} for a result of rank {rank}.")
    check_index_map("gather", indices, index_map, "start_index_map", operand.ndim)
    check_ascending("gather", "collapsed_slice_dims", collapsed, operand.ndim)
    check_batching("gather", operand, indices, collapsed, "collapsed_slice_dims", index_map, "start_index_map",
                   operand_batch, index_batch, "start_indices_batching_dims")
    _check_slice_sizes(operand, numbers, sizes, 0 in indices.shape[:-1])


def _check_slice_sizes(operand: ShapedArray, numbers: GatherDimensionNumbers, sizes: Sequence[int], empty: bool) -> None:
    """empty: there is no slice, so slices of size 1 may be taken of axes of size 0."""
    offset, collapsed, _, operand_batch, _ = numbers
    if len(sizes) != operand.ndim:
        raise TypeError("Gather op must have one slice size for every input dimension; got: "
                        f"len(slice_sizes)={len(sizes)}, input_shape.rank={operand.ndim}")
    if operand.ndim != len(offset) + len(collapsed) + len(operand_batch):
        raise TypeError("All components of the offset index in a gather op must either be a offset dimension or "
                        f"explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, offset_dims={offset}, "
                        f"collapsed_slice_dims={collapsed}, operand_batching_dims={operand_batch}.")
    for i, (size, bound) in enumerate(zip(sizes, operand.shape, strict=True)):
        if isinstance(bound, Dimension) and size == 1:
            fits = bound.may_hold(1)
        else:
            fits = 0 <= size <= (max(bound, 1) if empty else bound)
        if not fits:
            raise TypeError(f"Slice size at index {i} in gather op is out of range, must be within [0, {bound} + 1), "
                            f"got {size}.")
    for at, d in enumerate(collapsed):
        if sizes[d] != 1:
            raise TypeError(f"Gather op can only collapse slice dims with bound 1, but bound is {sizes[d]} for index {d} at "
                            f"position {at}.")
    for at, d in enumerate(operand_batch):
        if sizes[d] > 1:
            raise TypeError(f"Gather op can only have operand batching dims with bound 0/1, but bound is {sizes[d]} for index "
                            f"{d} at position {at}.")


# ------------------------------------------------------------------------------------------------ the record

def _gather_abstract(operand: ShapedArray, indices: ShapedArray, *, dimension_numbers: GatherDimensionNumbers,
                     slice_sizes: tuple[int, ...], **_: Any) -> ShapedArray:
    _check_gather(operand, indices, dimension_numbers, slice_sizes)
    windows = Windows(operand.shape, indices.shape, slice_sizes, dimension_numbers)
    return ShapedArray(windows.shape, operand.dtype, operand.weak_type)


def fill_of(dtype: np.dtype, mode: GatherScatterMode, fill_value: Any) -> Any:
    """The value of elements out of bounds, as a NumPy scalar of the dtype."""
    if mode is GatherScatterMode.ONE_HOT:
        return np.zeros((), dtype)[()]
    if dtypes.is_key(dtype):
        return np.full((), fill_value, dtype)[()]
    with np.errstate(all="ignore"):
        return np.asarray(fill_value).astype(dtype)[()]


@functools.lru_cache(1024)
def _windows(operand: Ints, indices: Ints, sizes: Ints, numbers: GatherDimensionNumbers) -> Windows:
    return Windows(operand, indices, sizes, numbers)


def _gather_eager(operand: np.ndarray, indices: np.ndarray, *, dimension_numbers: GatherDimensionNumbers,
                  slice_sizes: tuple[int, ...], mode: GatherScatterMode, fill_value: Any, **_: Any) -> np.ndarray:
    windows = _windows(operand.shape, indices.shape, slice_sizes, dimension_numbers)
    rows = windows.rows(indices)
    if rows.valid.size == 0 or 0 in operand.shape:
        return np.zeros(windows.shape, operand.dtype)
    found = rows.view(operand)[tuple(rows.positions)]
    if fills(mode) and not rows.valid.all():
        found[~rows.valid] = fill_of(operand.dtype, mode, fill_value)
    return np.array(rows.to_windows(found), order="C")


def _gather_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, fill_value: Any, mode: GatherScatterMode,
                **params: Any) -> tuple[Any, Any]:
    operand, indices = primals
    out = gather_p.bind(operand, indices, fill_value=fill_value, mode=mode, **params)
    if type(tangents[0]) is Zero:
        return out, no_tangent(out)
    zero = 0 if mode is GatherScatterMode.FILL_OR_DROP else fill_value
    return out, gather_p.bind(tangents[0], indices, fill_value=zero, mode=mode, **params)


def _gather_transpose(ct: Any, operand: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
                      mode: GatherScatterMode, indices_are_sorted: bool, unique_indices: bool,
                      **_: Any) -> list[Any]:
    if not isinstance(operand, Undefined):
        return [None, None]
    zeros = zeros_like_aval(operand.aval.strip_weak_type())
    total = call("scatter-add", zeros, indices, ct, dimension_numbers=as_scatter(dimension_numbers), mode=mode,
                 indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                 update_jaxpr=update_program("add", aval_of(ct).dtype), update_consts=())
    return [total, None]


def _gather_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *,
                  dimension_numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...],
                  **params: Any) -> tuple[Any, int]:
    operand, indices = in_front(args, dims)
    of_operand, of_indices = (d is not None for d in dims)
    if of_operand:
        slice_sizes = (min(size, 1) if of_indices else size, *slice_sizes)
    else:  # one array for all elements, whose promises are each about its own indices: two elements may read the same window
        params |= {"unique_indices": False, "indices_are_sorted": False}
    numbers = shifted(dimension_numbers, operand=of_operand, indices=of_indices)
    return gather_p.bind(operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **params), 0


def _gather_cpu(b: Any, operand: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
                slice_sizes: tuple[int, ...], mode: GatherScatterMode, fill_value: Any, **_: Any) -> Any:
    windows = Windows(operand.shape, indices.shape, slice_sizes, dimension_numbers)

    def element(*index: Any) -> Any:
        starts = windows.starts(b, indices, index)
        found = b.read(operand, *windows.position(windows.clipped(b, starts), index))
        if not fills(mode):
            return found
        # Reading at the clipped position and selecting needs no branch, so the loop vectorizes.
        fill = b.const(fill_of(operand.dtype, mode, fill_value), operand.dtype)
        return b.select(windows.inside(b, starts), found, fill)

    return b.compute(windows.shape, operand.dtype, element, moves=True, finds=GATHERED, reads=(operand, indices))


def _gather_hlo(b: Any, operand: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
                slice_sizes: tuple[int, ...], mode: GatherScatterMode, fill_value: Any, indices_are_sorted: bool,
                **_: Any) -> Any:
    windows = Windows(operand.shape, indices.shape, slice_sizes, dimension_numbers)
    aval = operand.aval.update(shape=windows.shape)
    if 0 in aval.shape or 0 in operand.shape:
        return b.constant(np.zeros(aval.shape, aval.dtype))
    indices = wide_indices(b, indices)
    numbers = windows_attribute(dimension_numbers, indices.ndim, gather=True)
    found = b.op("stablehlo.gather", [operand, indices], aval, attrs={  # clips
        "dimension_numbers": numbers, "slice_sizes": slice_sizes, "indices_are_sorted": indices_are_sorted})
    if not fills(mode):
        return found
    fill = b.constant(np.asarray(fill_of(operand.dtype, mode, fill_value)))
    return b.select(windows.inside_hlo(b, indices), found, b.broadcast(fill, aval.shape))


_CASES: list[tuple[tuple[int, ...], tuple[int, ...], GatherDimensionNumbers, tuple[int, ...]]] = [
    ((5,), (3, 1), GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((4, 3), (2, 1), GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
    ((4, 3), (2, 2, 1), GatherDimensionNumbers((0,), (1,), (1,)), (2, 1)),
    ((4, 5, 3), (2, 2), GatherDimensionNumbers((1, 2), (0,), (0, 2)), (1, 5, 2)),
    ((4, 5), (2,), GatherDimensionNumbers((0, 1), (), (1, 0)), (2, 3)),
    ((3, 4, 2), (2, 3, 1), GatherDimensionNumbers((2,), (1,), (1,), (0,), (1,)), (1, 1, 2)),
    ((3, 2), (4, 0), GatherDimensionNumbers((1, 2), (), ()), (3, 2)),
    ((0, 3), (2, 1), GatherDimensionNumbers((1, 2), (), (1,)), (0, 2)),
    ((4, 3), (0, 1), GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
]


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Values of any dtype for samples."""
    dtype = dtypes.as_dtype(dtype)
    if dtypes.is_key(dtype):
        return rng.integers(0, 2**32, (*shape, dtype.itemsize // 4), np.uint32).view(dtype)[..., 0]
    values = rng.uniform(-3, 3, shape)
    if kind_of(dtype) == "b":
        return values > 0
    if kind_of(dtype) == "c":
        values = values + 1j * rng.uniform(-3, 3, shape)
    return np.asarray(np.abs(values) if kind_of(dtype) == "u" else values).astype(dtype)


def _gather_samples() -> Samples:
    modes = [(GatherScatterMode.CLIP, None), (GatherScatterMode.FILL_OR_DROP, 1),
             (GatherScatterMode.PROMISE_IN_BOUNDS, None)]
    params = [{"dimension_numbers": numbers, "slice_sizes": sizes, "mode": mode, "fill_value": fill,
                   "indices_are_sorted": False, "unique_indices": False}
              for i, (_, _, numbers, sizes) in enumerate(_CASES) for mode, fill in (modes[i % 3], modes[(i + 1) % 3])]

    def make(rng: np.random.Generator, shapes: Any, dtype: Any, params: dict[str, Any]) -> list[np.ndarray]:
        operand, indices = shapes
        starts = rng.integers(-2, 6, indices).astype(np.int32)
        if params["mode"] is GatherScatterMode.PROMISE_IN_BOUNDS:  # kept: else the transpose is of another function
            numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
            starts = np.clip(starts, 0, [operand[d] - sizes[d] for d in numbers.start_index_map])
        return [random_values(rng, operand, dtype), starts.astype(np.int32)]

    return Samples(shapes=[[operand, indices] for operand, indices, _, _ in _CASES for _ in range(2)], params=params,
                   dtypes=("float32", "int32", "uint8", "bool", "complex64", "bfloat16", "float64", "int64"), make=make,
                   ulps=0, wrt=(0,))


def _gathered(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the operand, and of what stands in for elements out of bounds."""
    inside, mode = known.interval(eqn.invars[0]), eqn.params["mode"]
    if not fills(mode) or not counts(eqn.outvars[0].aval.dtype):
        return inside
    fill = int(fill_of(eqn.outvars[0].aval.dtype, mode, eqn.params["fill_value"]))
    return hull([inside, (fill, fill)])


def with_paired_rows(eqn: JaxprEqn, producer: Facts) -> JaxprEqn | None:
    """A gather or a scatter that names each row once as one with batch axes, see `counted_rows`; else None."""
    return counted_rows.pair_counted_rows(eqn, producer)


gather_p = Op(name="gather", params=("dimension_numbers", "slice_sizes", "indices_are_sorted", "unique_indices", "mode",
                                     "fill_value"),
              abstract=_gather_abstract, eager=_gather_eager, jvp=_gather_jvp, transpose=_gather_transpose,
              batch=_gather_batch, cpu=_gather_cpu, hlo=_gather_hlo, traits=EXACT | LANES, samples=_gather_samples(),
              linear_in=(0,), interval=_gathered, rewrites=with_paired_rows)


# ------------------------------------------------------------------------------------------------ public

def default_fill(dtype: np.dtype) -> Any:
    """The value of a gather out of bounds when no fill value is given: NaN, the least signed or greatest unsigned
    integer, True, or the key of all ones.

    >>> default_fill(np.dtype("uint8"))
    255
    """
    kind = kind_of(dtype)
    if kind in "iu":
        limits = dtypes.iinfo(dtype)
        return int(limits.min if kind == "i" else limits.max)
    return {"f": np.nan, "c": np.nan, "b": True}.get(kind, 2**32 - 1)


def _static_fill(fill_value: Any) -> Any:
    if isinstance(fill_value, Tracer):
        raise TypeError(f"gather: fill_value must be a number known while tracing, got {fill_value}. Fill with a "
                        "constant, or gather with mode='clip' and select with jnp.where.")
    if np.ndim(fill_value):
        raise TypeError(f"gather: fill_value must be a scalar, got shape {np.shape(fill_value)}")
    value = np.asarray(fill_value).item()
    return np.nan if value != value else value  # the one NaN object, so that equal calls have equal parameters


def gather(operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Sequence[int], *,
           unique_indices: bool = False, indices_are_sorted: bool = False,
           mode: str | GatherScatterMode | None = None, fill_value: Any = None) -> Any:
    """Collects windows of `operand`; the general form of indexing with arrays.

    Args:
      operand: array.
      start_indices: integer array; its last axis holds the index vectors, one per window.
      dimension_numbers: which axes correspond, a GatherDimensionNumbers.
      slice_sizes: size of the windows, per axis of the operand.
      unique_indices, indices_are_sorted: promises about the indices, for faster code.
      mode: what happens out of bounds: "clip" moves windows inside, "fill" gives `fill_value`, "promise_in_bounds"
        (default) says that it does not happen.
      fill_value: a number; default NaN for floats, the least or (unsigned) greatest integer, True for booleans.

    Returns:
      array of the operand's dtype, of rank start_indices.ndim - 1 + len(dimension_numbers.offset_dims).

    Raises:
      TypeError: shapes and dimension numbers do not fit together. ValueError: indices are no integers.

    >>> import numpy as np
    >>> numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> gather(np.float32([1, 2, 3]), np.int32([[2], [0]]), numbers, slice_sizes=(1,)).tolist()
    [3.0, 1.0]
    """
    how = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if how is GatherScatterMode.FILL_OR_DROP:
        fill = default_fill(aval_of(operand).dtype) if fill_value is None else _static_fill(fill_value)
    else:
        fill = None
    numbers = GatherDimensionNumbers(*(tuple(map(int, dims)) for dims in dimension_numbers))
    return gather_p.bind(operand, start_indices, dimension_numbers=numbers, slice_sizes=tuple(map(as_size, slice_sizes)),
                         indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices), mode=how,
                         fill_value=fill)


def gather_in_bounds(x: Any, indices: Any, numbers: GatherDimensionNumbers, sizes: Sequence[int], *,
                     unique: bool = False) -> Any:
    """A gather for rules, whose index vectors are known to be in bounds."""
    return gather_p.bind(x, indices, dimension_numbers=numbers, slice_sizes=tuple(sizes), fill_value=None,
                         indices_are_sorted=False, unique_indices=unique, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Elements (or slices) of `src` at positions `idxs`, one integer array per axis of `axes`; they wrap around.

    Raises AxisError for an axis that is not there.

    >>> import numpy as np
    >>> index_take(np.float32([1, 2, 3]), (np.int32([-1, 4]),), (0,)).tolist()
    [3.0, 2.0]
    """
    shape = aval_of(src).shape
    axes, columns = as_axes(axes, len(shape), "index_take"), []
    for index, axis in zip(idxs, axes, strict=True):
        aval = aval_of(index)
        size = size_constant(shape[axis], aval.dtype)
        rest = rem_p.bind(index, size)
        wrapped = select_n_p.bind(lt_p.bind(rest, np.zeros((), aval.dtype)[()]), rest, add_p.bind(rest, size))
        columns.append(broadcast_in_dim_p.bind(wrapped, shape=(*aval.shape, 1), broadcast_dimensions=tuple(range(aval.ndim))))
    rank = aval_of(columns[0]).ndim - 1
    indices = concatenate_p.bind(*columns, dimension=rank) if len(columns) > 1 else columns[0]
    kept = len(shape) - len(axes)
    numbers = GatherDimensionNumbers(tuple(range(rank, rank + kept)), tuple(sorted(axes)), tuple(axes))
    return gather_in_bounds(src, indices, numbers, [1 if d in axes else n for d, n in enumerate(shape)])
