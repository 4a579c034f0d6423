"""Slices at computed positions, read and written."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import hull, of_operand
from numjet.core.op import Op, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_size, exceeds, may_exceed
from numjet.lax.axes import as_axis, as_shape, in_64_bits, needs_64_bits
from numjet.lax.elementwise.arithmetic import add_p
from numjet.lax.elementwise.compare import lt_p, select_n_p
from numjet.lax.elementwise.convert import cast, size_constant
from numjet.lax.indexing.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_index,
    clip_index,
    wide_indices,
)
from numjet.lax.indexing.gather import gather_p, random_values
from numjet.lax.indexing.scatter import scatter_p
from numjet.lax.indexing.slicing import SAMPLE_DTYPES, index_in_dim
from numjet.lax.rewrites import same_aval
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, squeeze_p
from numjet.lax.tangent import instantiate, linear_in_first, no_tangent, zeros_like_aval
from numjet.lax.templates import broadcast_batch, kind_of, moveaxis

# ------------------------------------------------------------------------------------------------ dynamic_slice

def _check_starts(name: str, operand: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != operand.ndim:
        raise TypeError(f"{name} needs one start index per dimension of the operand, got {len(starts)} for operand "
                        f"shape {operand.shape}.")
    if any(s.ndim for s in starts):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got indices {tuple(map(str, starts))}")
    if any(kind_of(s.dtype) not in "iu" for s in starts) or len({s.dtype for s in starts}) > 1:
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: "
                        f"{', '.join(s.dtype.name for s in starts)}")


def _dynamic_slice_abstract(operand: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    if len(slice_sizes) != operand.ndim:
        raise TypeError("dynamic_slice slice_sizes must have length equal to the number of dimensions of the operand, "
                        f"got slice_sizes {slice_sizes} for operand shape {operand.shape}.")
    if any(exceeds(k, n) for k, n in zip(slice_sizes, operand.shape, strict=True)):
        raise TypeError("dynamic_slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                        f"{slice_sizes} for operand shape {operand.shape}.")
    if any(exceeds(0, k) for k in slice_sizes):
        raise TypeError(f"dynamic_slice slice_sizes must be greater than or equal to zero, got slice_sizes of {slice_sizes}.")
    _check_starts("dynamic_slice", operand, starts)
    return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)


def _clamped(shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """NumPy slices of those sizes, clamped to lie within the shape."""
    clamped = [min(max(int(s), 0), n - k) for s, n, k in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(s, s + k) for s, k in zip(clamped, sizes, strict=True))


def _dynamic_slice_eager(x: np.ndarray, *starts: np.ndarray, slice_sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(x[_clamped(x.shape, starts, slice_sizes)], order="C")


def _dynamic_slice_transpose(ct: Any, operand: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> list[Any]:
    nones = [None] * len(starts)
    if not isinstance(operand, Undefined):
        return [None, *nones]
    return [dynamic_update_slice_p.bind(zeros_like_aval(operand.aval.strip_weak_type()), ct, *starts), *nones]


def _zero_start(starts: Sequence[Any]) -> Any:
    return np.zeros((), aval_of(starts[0]).dtype if starts else np.int32)[()]


def _stack_starts(size: int, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Index vectors (size, len(starts)) of starts of which some are batched."""
    columns = [broadcast_in_dim_p.bind(s, shape=(size, 1), broadcast_dimensions=() if d is None else (0,))
               for s, d in zip(starts, dims, strict=True)]
    return concatenate_p.bind(*columns, dimension=1) if len(columns) > 1 else columns[0]


def _dynamic_slice_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *,
                         slice_sizes: tuple[int, ...]) -> tuple[Any, int]:
    operand, *starts = args
    d, *start_dims = dims
    if all(s is None for s in start_dims):
        assert d is not None
        sizes = (*slice_sizes[:d], size, *slice_sizes[d:])
        return dynamic_slice_p.bind(operand, *starts[:d], _zero_start(starts), *starts[d:], slice_sizes=sizes), d
    shape = aval_of(operand if d is None else moveaxis(operand, d, 0)).shape[d is not None:]
    moving = [i for i, (n, k) in enumerate(zip(shape, slice_sizes, strict=True)) if n != k] or [0]
    indices = _stack_starts(size, [starts[i] for i in moving], [start_dims[i] for i in moving])
    numbers = GatherDimensionNumbers(tuple(range(len(shape))), (), tuple(moving))
    return gather_p.batch(size, (operand, indices), (d, 0), dimension_numbers=numbers, slice_sizes=slice_sizes,
                          mode=GatherScatterMode.CLIP, fill_value=None, indices_are_sorted=d is not None,
                          unique_indices=d is not None)


def _cpu_starts(b: Any, shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """Clamped starts as indices; 0 where only one start is in bounds."""
    return [0 if n == k else clip_index(b, as_index(b, b.read(s)), n - k)
            for n, k, s in zip(shape, sizes, starts, strict=True)]


def _dynamic_slice_cpu(b: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    def element(*index: Any) -> Any:
        start = _cpu_starts(b, x.shape, starts, slice_sizes)
        return b.read(x, *(i + s for i, s in zip(index, start, strict=True)))

    return b.compute(slice_sizes, x.dtype, element, moves=True, reads=(x, *starts))


def _dynamic_slice_hlo(b: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    wide = [wide_indices(b, s) for s in starts]
    return b.op("stablehlo.dynamic_slice", [x, *wide], x.aval.update(shape=slice_sizes), attrs={"slice_sizes": slice_sizes})


def _starts_sample(rng: np.random.Generator, rank: int) -> list[np.ndarray]:
    return [np.asarray(rng.integers(-3, 7), np.int32) for _ in range(rank)]


_DYNAMIC_SHAPES = ((), (5,), (3, 4), (4, 0, 3), (2, 3, 4, 5), (0,))
_DYNAMIC_SIZES = ((), (2,), (1, 4), (2, 0, 1), (2, 1, 3, 0), (0,))

dynamic_slice_p: Op = Op(
    name="dynamic_slice", params=("slice_sizes",), abstract=_dynamic_slice_abstract, eager=_dynamic_slice_eager,
    jvp=linear_in_first(lambda: dynamic_slice_p), transpose=_dynamic_slice_transpose, batch=_dynamic_slice_batch,
    cpu=_dynamic_slice_cpu, hlo=_dynamic_slice_hlo, linear_in=(0,), traits=EXACT | LANES, rewrites=same_aval,
    interval=of_operand,
    samples=Samples(shapes=_DYNAMIC_SHAPES, params=[{"slice_sizes": s} for s in _DYNAMIC_SIZES], dtypes=SAMPLE_DTYPES,
                    ulps=0, wrt=(0,), make=lambda rng, shape, dtype, params: [
                        random_values(rng, shape, dtype), *_starts_sample(rng, len(shape))]))


# ------------------------------------------------------------------------------------------------ dynamic_update_slice

def _update_abstract(operand: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
    if operand.ndim != update.ndim:
        raise TypeError("dynamic_update_slice update must have the same rank as operand, got update shape "
                        f"{update.shape} for operand shape {operand.shape}.")
    if any(exceeds(k, n) for k, n in zip(update.shape, operand.shape, strict=True)):
        raise TypeError("dynamic_update_slice update shape must be smaller than operand shape, got update shape "
                        f"{update.shape} for operand shape {operand.shape}.")
    if operand.dtype != update.dtype:
        raise TypeError("lax.dynamic_update_slice requires arguments to have the same dtypes, got "
                        f"{operand.dtype.name}, {update.dtype.name}. (Tip: update.astype(x.dtype) converts.)")
    _check_starts("dynamic_update_slice", operand, starts)
    return operand.strip_weak_type()


def _update_eager(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    out = np.array(x, order="C")
    out[_clamped(x.shape, starts, update.shape)] = update
    return out


def _update_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    out = dynamic_update_slice_p.bind(*primals)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return out, no_tangent(out)
    return out, dynamic_update_slice_p.bind(instantiate(tangents[0]), instantiate(tangents[1]), *primals[2:])


def _update_transpose(ct: Any, operand: Any, update: Any, *starts: Any) -> list[Any]:
    of_operand = of_update = None
    if isinstance(operand, Undefined):
        blank = update.aval if isinstance(update, Undefined) else aval_of(update)
        of_operand = dynamic_update_slice_p.bind(ct, zeros_like_aval(blank.strip_weak_type()), *starts)
    if isinstance(update, Undefined):
        of_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=update.shape)
    return [of_operand, of_update, *[None] * len(starts)]


def _update_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, int]:
    operand, update, *starts = args
    if all(d is None for d in dims[2:]):
        operand, update = (broadcast_batch(x, d, size) for x, d in zip(args[:2], dims[:2], strict=True))
        return dynamic_update_slice_p.bind(operand, update, _zero_start(starts), *starts), 0
    rank = len(starts)
    indices = _stack_starts(size, starts, dims[2:])
    numbers = ScatterDimensionNumbers(tuple(range(rank)), (), tuple(range(rank)))
    return scatter_p.batch(size, (operand, indices, update), (dims[0], 0, dims[1]), dimension_numbers=numbers,
                           mode=GatherScatterMode.CLIP, indices_are_sorted=True, unique_indices=True, update_jaxpr=None,
                           update_consts=())


def _update_cpu(b: Any, x: Any, update: Any, *starts: Any) -> Any:
    out = b.own(x)

    def body(*index: Any) -> None:
        start = _cpu_starts(b, x.shape, starts, update.shape)
        b.store(out, [i + s for i, s in zip(index, start, strict=True)], b.read(update, *index))

    b.loop(update.shape, body)
    return out


def _update_hlo(b: Any, x: Any, update: Any, *starts: Any) -> Any:
    return b.op("stablehlo.dynamic_update_slice", [x, update, *[wide_indices(b, s) for s in starts]], x.aval)


def _update_sample(rng: np.random.Generator, shapes: Any, dtype: Any, params: dict[str, Any]) -> list[np.ndarray]:
    shape, sizes = shapes
    return [random_values(rng, shape, dtype), random_values(rng, sizes, dtype), *_starts_sample(rng, len(shape))]


dynamic_update_slice_p = Op(
    name="dynamic_update_slice", abstract=_update_abstract, eager=_update_eager, jvp=_update_jvp,
    transpose=_update_transpose, batch=_update_batch, cpu=_update_cpu, hlo=_update_hlo, linear_in=(0, 1),
    traits=EXACT | LANES, in_place=lambda eqn: (0,), interval=lambda eqn, known: hull([*map(known.interval, eqn.invars[:2])]),
    samples=Samples(shapes=[list(pair) for pair in zip(_DYNAMIC_SHAPES, _DYNAMIC_SIZES, strict=True)],
                    dtypes=SAMPLE_DTYPES, ulps=0, wrt=(0, 1), make=_update_sample))


# ------------------------------------------------------------------------------------------------ public

def wrap_index(index: Any, size: int) -> Any:
    """An index (int, or integer array) in which negative numbers count from the end of an axis of that size."""
    if type(index) is int:
        return index + size if index < 0 else index
    aval = aval_of(index)
    if kind_of(aval.dtype) != "i":
        return index
    wide = dtypes.canonicalize_dtype(np.int64) if may_exceed(size, dtypes.iinfo(aval.dtype).max) else aval.dtype
    if wide != aval.dtype or aval.weak_type:
        index = cast(index, wide)
    zero, length = np.zeros((), wide)[()], size_constant(size, wide)
    return select_n_p.bind(lt_p.bind(index, zero), index, add_p.bind(index, length))


def _split_starts(start_indices: Any, ndim: int, shape: tuple[int, ...]) -> list[Any]:
    """One scalar per axis, from a sequence or an array of rank 1."""
    if isinstance(start_indices, (tuple, list)):
        starts = list(start_indices)
    else:
        aval = aval_of(start_indices)
        if aval.ndim != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {aval.shape}")
        if isinstance(start_indices, np.ndarray):
            starts = list(start_indices)
        else:
            starts = [index_in_dim(start_indices, i, 0, keepdims=False) for i in range(aval.shape[0])]
    if len(starts) != ndim:
        raise ValueError(f"Length of slice indices must match number of operand dimensions ({len(starts)} vs {shape})")
    return starts


def _canonical_starts(name: str, operand: Any, start_indices: Any, allow_negative: bool | Sequence[bool]) -> list[Any]:
    """Scalars of one integer dtype, negative ones wrapped where that is allowed."""
    shape = aval_of(operand).shape
    starts = _split_starts(start_indices, len(shape), shape)
    allow = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else list(allow_negative)
    if len(allow) != len(shape):
        raise ValueError(f"allow_negative_indices must be a bool or one bool per axis, got {len(allow)} for shape "
                         f"{shape}")
    _check_same_dtype(name, starts)
    starts = [int(s) if isinstance(s, (int, np.integer)) and type(s) is not bool else s for s in starts]
    for s, n, ok in zip(starts, shape, allow, strict=True):
        if type(s) is int and s < 0 and not ok:
            raise ValueError(f"Index {s} is out of bounds for dimension {n} if allow_negative_indices=False")
    starts = [wrap_index(s, n) if ok else s for s, n, ok in zip(starts, shape, allow, strict=True)]
    return _one_dtype(name, starts)


def _check_same_dtype(name: str, starts: Sequence[Any]) -> None:
    """TypeError for NumPy's scalars of several dtypes, which, unlike Python's, have been given one on purpose."""
    given = {s.dtype for s in starts if isinstance(s, np.integer)}
    if len(given) > 1:
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: "
                        f"{', '.join(aval_of(s).dtype.name for s in starts)}")


def _one_dtype(name: str, starts: list[Any]) -> list[Any]:
    """Python ints take the dtype of the other indices where they fit, else the default integer dtype."""
    others = {aval_of(s).dtype for s in starts if type(s) is not int}
    default = dtypes.canonicalize_dtype(np.dtype(np.int64))
    dtype = others.pop() if len(others) == 1 else default
    if kind_of(dtype) not in "iu":
        return starts
    limits = dtypes.iinfo(dtype)
    if any(type(s) is int and not limits.min <= s <= limits.max for s in starts):
        wide = lambda s: cast(s, default)
        limits, dtype, starts = dtypes.iinfo(default), default, [s if type(s) is int else wide(s) for s in starts]
    clamp = lambda s: min(max(s, int(limits.min)), int(limits.max))
    return [np.asarray(clamp(s), dtype)[()] if type(s) is int else s for s in starts]


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int], *,
                  allow_negative_indices: bool | Sequence[bool] = True) -> Any:
    """A slice of static size at a computed position. The start is clamped so that the slice lies within the operand.

    Args:
      operand: array.
      start_indices: one integer scalar per axis (or an array of them).
      slice_sizes: static size per axis.
      allow_negative_indices: whether negative starts count from the end; one bool, or one per axis.

    Raises:
      TypeError: indices are no integer scalars of one dtype, or sizes exceed the operand. ValueError: wrong number.

    >>> import numpy as np
    >>> dynamic_slice(np.arange(5), (4,), (3,)).tolist()
    [2, 3, 4]
    """
    if needs_64_bits(aval_of(operand).shape):
        return in_64_bits(dynamic_slice, operand, start_indices, slice_sizes, allow_negative_indices=allow_negative_indices)
    starts = _canonical_starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=as_shape(slice_sizes))


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any, *,
                         allow_negative_indices: bool | Sequence[bool] = True) -> Any:
    """`operand` with a slice at a computed position replaced by `update`. The start is clamped as in dynamic_slice.

    Raises:
      TypeError: dtypes or ranks differ, or the update is larger than the operand. ValueError: wrong number of indices.

    >>> import numpy as np
    >>> dynamic_update_slice(np.zeros(4, np.float32), np.ones(2, np.float32), (1,)).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    if needs_64_bits(aval_of(operand).shape):
        return in_64_bits(dynamic_update_slice, operand, update, start_indices, allow_negative_indices=allow_negative_indices)
    starts = _canonical_starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True) -> Any:
    """dynamic_slice along one axis, whole in the others.

    >>> import numpy as np
    >>> dynamic_slice_in_dim(np.arange(5), 1, 2).tolist()
    [1, 2]
    """
    shape = aval_of(operand).shape
    axis = as_axis(axis, len(shape))
    starts: list[Any] = [0] * len(shape)
    sizes = list(shape)
    starts[axis], sizes[axis] = start_index, as_size(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=_only(axis, len(shape), allow_negative_indices))


def _only(axis: int, ndim: int, allow: bool) -> list[bool]:
    return [allow if d == axis else False for d in range(ndim)]


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True) -> Any:
    """The element (or slice) at a computed index along one axis; the index is clamped.

    >>> import numpy as np
    >>> dynamic_index_in_dim(np.arange(5), np.int32(3), keepdims=False).item()
    3
    """
    result = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    if keepdims:
        return result
    return squeeze_p.bind(result, dimensions=(as_axis(axis, aval_of(operand).ndim),))


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int, *,
                                allow_negative_indices: bool = True) -> Any:
    """dynamic_update_slice at a position along one axis, at the start of the others.

    >>> import numpy as np
    >>> dynamic_update_slice_in_dim(np.zeros(3, np.float32), np.ones(1, np.float32), 2, axis=0).tolist()
    [0.0, 0.0, 1.0]
    """
    ndim = aval_of(operand).ndim
    axis = as_axis(axis, ndim)
    starts: list[Any] = [0] * ndim
    starts[axis] = start_index
    allow = _only(axis, ndim, allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allow)


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int, *,
                                allow_negative_indices: bool = True) -> Any:
    """`operand` with the slice at a computed index along one axis replaced; `update` may lack that axis.

    >>> import numpy as np
    >>> dynamic_update_index_in_dim(np.zeros((2, 2), np.float32), np.ones(2, np.float32), 1, axis=0).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    ndim = aval_of(operand).ndim
    axis = as_axis(axis, ndim)
    shape = aval_of(update).shape
    if len(shape) == ndim - 1:
        kept = tuple(d for d in range(ndim) if d != axis)
        update = broadcast_in_dim_p.bind(update, shape=(*shape[:axis], 1, *shape[axis:]), broadcast_dimensions=kept)
    elif len(shape) != ndim:
        raise TypeError(f"dynamic_update_index_in_dim: update must have rank {ndim} or {ndim - 1}, got shape {shape} "
                        f"for operand shape {aval_of(operand).shape}")
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)
