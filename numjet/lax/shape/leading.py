"""Operations of padded programs: `leading`, an array of which only the first rows are asked for; `inside`, where a padded
array has elements; `filled`, an array with a value in its padding; `from_end`, its elements in reverse order.

What other rows hold may be anything, so the compiler may leave out their computation (`cpu/passes/limits.py`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import by, hull
from numjet.core.op import Missing, Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import COMPACT, EXACT, KEEPS_APART, MOVES, READS_ONCE
from numjet.lax.axes import without
from numjet.lax.elementwise.arithmetic import sub_p
from numjet.lax.elementwise.compare import lt_p, max_p, select_n_p
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode, clip_index
from numjet.lax.indexing.gather import gather_p
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.templates import broadcast_batch

_WHY = Missing("it is part of padded programs, on whose padding a derivative may be infinite. Differentiate inside of jit: "
               "jit(grad(f), dynamic_shapes=True)")

leading_p = Op(name="leading", params=("times", "plus"), abstract=lambda x, n, *, times, plus: x,
               eager=lambda x, n, *, times, plus: x, jvp=_WHY, transpose=_WHY, batch=_WHY,
               cpu=lambda b, x, n, *, times, plus: b.leading(x, n, times, plus), hlo=lambda b, x, n, *, times, plus: x,
               traits=EXACT | KEEPS_APART,
               samples=Missing("what it may leave out is not determined; tests/cpu/passes/test_limits.py"))
"""x, of whose rows only the first n * times + plus are asked for."""


def _inside_eager(n: np.ndarray, *, shape: tuple[int, ...], axis: int) -> np.ndarray:
    column = [1] * len(shape)
    column[axis] = shape[axis]
    return np.ascontiguousarray(np.broadcast_to(np.arange(shape[axis]).reshape(column) < n, shape))


def _inside_cpu(b: Any, n: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return b.inside(n, shape, axis)


def _inside_hlo(b: Any, n: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return b.compare("lt", b.iota(shape, axis, n.dtype), b.broadcast(n, shape, ()))


def _batched_inside(size: int, n: Any, dim: int | None, shape: Sequence[int], axis: int) -> Any:
    """The bools of all elements of a batch, which is in front."""
    whole = (size, *shape)
    spread = broadcast_in_dim_p.bind(n, shape=whole, broadcast_dimensions=() if dim is None else (0,))
    return lt_p.bind(iota_p.bind(dtype=np.dtype(np.int32), shape=whole, dimension=axis + 1), spread)


def _inside_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, shape: tuple[int, ...], axis: int
                  ) -> tuple[Any, int]:
    return _batched_inside(size, args[0], dims[0], shape, axis), 0


inside_p = Op(
    name="inside", params=("shape", "axis"),
    abstract=lambda n, *, shape, axis: ShapedArray(shape, np.dtype(np.bool_)), eager=_inside_eager, jvp=_WHY, transpose=_WHY,
    batch=_inside_batch, cpu=_inside_cpu, hlo=_inside_hlo, traits=COMPACT | EXACT, samples=Samples(
        shapes=([()],), dtypes=("int32",), low=0, high=4, order=0, ulps=0,
        params=({"shape": (4,), "axis": 0}, {"shape": (3, 2), "axis": 0}, {"shape": (2, 3), "axis": 1})))
"""Where the index along an axis is below a number: the elements of a padded array. It is computed where it is read, from
positions in memory if the axis is the first, so that loops over all elements stay flat."""


def _filled_eager(x: np.ndarray, n: np.ndarray, fill: np.ndarray, *, axis: int) -> np.ndarray:
    return np.where(_inside_eager(n, shape=x.shape, axis=axis), x, fill)


def _filled_cpu(b: Any, x: Any, n: Any, fill: Any, *, axis: int) -> Any:
    return b.elementwise(lambda held, value, other: b.select(held, value, other), b.inside(n, x.shape, axis), x, fill,
                         dtype=x.dtype)


def _filled_hlo(b: Any, x: Any, n: Any, fill: Any, *, axis: int) -> Any:
    return b.select(_inside_hlo(b, n, shape=x.shape, axis=axis), x, b.broadcast(fill, x.shape, ()))


def _filled_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axis: int) -> tuple[Any, int]:
    x, n, fill = args
    x = broadcast_batch(x, dims[0], size)
    shape = aval_of(x).shape
    other = broadcast_in_dim_p.bind(fill, shape=shape, broadcast_dimensions=() if dims[2] is None else (0,))
    return select_n_p.bind(_batched_inside(size, n, dims[1], shape[1:], axis), other, x), 0


filled_p = Op(
    name="filled", params=("axis",), abstract=lambda x, n, fill, *, axis: x, eager=_filled_eager, jvp=_WHY, transpose=_WHY,
    batch=_filled_batch, cpu=_filled_cpu, hlo=_filled_hlo, traits=EXACT | READS_ONCE,
    interval=by(lambda x, n, fill: hull([x, fill])), samples=Samples(
        shapes=([(4,), (), ()], [(3, 2), (), ()], [(2, 3), (), ()]), dtypes=(("float32", "int32", "float32"),), low=0, high=3,
        order=0, ulps=0, params=({"axis": 0}, {"axis": 0}, {"axis": 1})))
"""x with a value behind the first n elements along an axis."""


def _from_end_eager(x: np.ndarray, n: np.ndarray, *, axis: int) -> np.ndarray:
    return np.take(x, np.maximum(int(n) - 1 - np.arange(x.shape[axis]), 0), axis)


def _from_end_cpu(b: Any, x: Any, n: Any, *, axis: int) -> Any:
    def element(*index: Any) -> Any:
        place = clip_index(b, b.convert(b.read(n), np.int64) - 1 - index[axis], x.shape[axis] - 1)
        return b.read(x, *index[:axis], place, *index[axis + 1:])
    return b.compute(x.shape, x.dtype, element, moves=True, reads=(x, n))


def _from_end_hlo(b: Any, x: Any, n: Any, *, axis: int) -> Any:
    """The reversed array, behind which it is repeated, from where its elements begin."""
    twice = b.concatenate([b.op("stablehlo.reverse", [x], x.aval, attrs={"dimensions": (axis,)})] * 2, axis)
    zero = b.constant(0, n.dtype)
    first = b.binary("subtract", b.constant(x.shape[axis], n.dtype), n)
    starts = [first if d == axis else zero for d in range(x.ndim)]
    return b.op("stablehlo.dynamic_slice", [twice, *starts], x.aval, attrs={"slice_sizes": x.shape})


def _from_end_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axis: int) -> tuple[Any, int]:
    x, (n, own) = broadcast_batch(args[0], dims[0], size), (args[1], dims[1])
    shape = aval_of(x).shape
    count = shape[axis + 1]
    last = broadcast_in_dim_p.bind(n, shape=(size, count), broadcast_dimensions=() if own is None else (0,))
    along = iota_p.bind(dtype=np.dtype(np.int32), shape=(size, count), dimension=1)
    places = max_p.bind(sub_p.bind(sub_p.bind(last, np.int32(1)), along), np.int32(0))
    index = broadcast_in_dim_p.bind(places, shape=(size, count, 1), broadcast_dimensions=(0, 1))
    numbers = GatherDimensionNumbers(offset_dims=without(range(len(shape) - 1), (axis,)), collapsed_slice_dims=(axis,),
                                     start_index_map=(axis,))
    sizes = tuple(1 if d == axis else k for d, k in enumerate(shape[1:]))
    found: tuple[Any, int] = gather_p.batch(
        size, (x, index), (0, 0), dimension_numbers=numbers, slice_sizes=sizes, indices_are_sorted=False,
        unique_indices=False, mode=GatherScatterMode.CLIP, fill_value=None)
    return found


from_end_p = Op(
    name="from_end", params=("axis",), abstract=lambda x, n, *, axis: x, eager=_from_end_eager, jvp=_WHY, transpose=_WHY,
    batch=_from_end_batch, cpu=_from_end_cpu, hlo=_from_end_hlo, traits=EXACT | MOVES | READS_ONCE,
    samples=Missing("elements behind the first n are anything; tests/api/test_dynamic_axes.py"))
"""The first n elements along an axis in reverse order, and behind them anything."""
