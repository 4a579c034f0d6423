"""Sorting: sort, sort_key_val and top_k.

Floats are ordered as numbers, -0.0 and 0.0 being equal and NaN after all others; complex numbers by real part, then by
imaginary part. (top_k orders floats totally: NaN, inf, ..., 0.0, -0.0, ..., -inf, and NaN with a sign last.)
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import each_operand, largest
from numjet.core.op import Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_size, exceeds
from numjet.lax.axes import as_axis, replace
from numjet.lax.elementwise.compare import total_order_key
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers
from numjet.lax.indexing.gather import GATHERED, gather_in_bounds
from numjet.lax.reduction.argreduce import as_scalar
from numjet.lax.reduction.reduce import accumulator
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.tangent import no_tangent, zeros_like_aval
from numjet.lax.templates import aligned_batch, kind_of

# -------------------------------------------------------------------------------------------- sort: reference implementation

def _abstract(*xs: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if not xs:
        raise TypeError("Sort requires at least one operand")
    if any(x.shape != xs[0].shape for x in xs):
        raise TypeError(f"Arguments to sort must have equal shapes, got: {' '.join(str(x.shape) for x in xs)}")
    if not 1 <= num_keys <= len(xs):
        raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(xs)}")
    if not 0 <= dimension < xs[0].ndim:
        raise np.exceptions.AxisError(f"axis {dimension} is out of bounds for array of dimension {xs[0].ndim}")
    for x in xs[:num_keys]:
        if kind_of(x.dtype) not in "biufc":
            raise TypeError(f"sort does not accept keys of dtype {dtypes.long_name(x.dtype)}: they have no order.")
    return list(xs)


def _eager(*xs: np.ndarray, dimension: int, is_stable: bool, num_keys: int) -> list[np.ndarray]:
    if len(xs) == 1 and xs[0].dtype.kind != "c":
        return [_sorted(xs[0], dimension)]
    parts = [part for x in reversed(xs[:num_keys]) for part in _ordered_parts(x)]
    order = parts[0].argsort(dimension, "stable") if len(parts) == 1 else np.lexsort(parts, axis=dimension)
    if order.ndim == 1:
        return [x[order] for x in xs]
    places: list[Any] = [_along(d, n, order.ndim) for d, n in enumerate(order.shape)]
    places[dimension] = order
    return [x[tuple(places)] for x in xs]


def _along(axis: int, size: int, rank: int) -> np.ndarray:
    """0, 1, 2, ... along one of `rank` axes."""
    return np.arange(size).reshape((-1,) + (1,) * (rank - 1 - axis))


_FEW = 256  # elements for which it is not worth looking how they may be sorted


def _sorted(x: np.ndarray, axis: int) -> np.ndarray:
    """NumPy's fast sort is not stable, which only shows among zeros of either sign and NaNs: other equal elements have equal
    bits."""
    values = x.astype(accumulator(x.dtype), copy=False)
    stable = values.size <= _FEW or (values.dtype.kind == "f" and bool(_of_many_bits(values).any()))
    out = values.copy()
    out.sort(axis, "stable" if stable else None)
    return out.astype(x.dtype, copy=False)


def _of_many_bits(x: np.ndarray) -> np.ndarray:
    """Which floats may equal one of other bits."""
    return np.isnan(x) | ((x == 0) & np.signbit(x))


def _ordered_parts(x: np.ndarray) -> list[np.ndarray]:
    """Real arrays that order x, the last one deciding first, as np.lexsort takes them."""
    return [x.imag, x.real] if x.dtype.kind == "c" else [x.astype(accumulator(x.dtype), copy=False)]


# -------------------------------------------------------------------------------------------- sort: transformations

def take_along(x: Any, indices: Any, axis: int) -> Any:
    """x[..., indices[..., k, ...], ...] along `axis`; the indices are known to be in bounds."""
    shape = aval_of(x).shape
    if 0 in shape:  # computed sizes may be 0, too: then nothing is taken
        return zeros_like_aval(aval_of(x).update(shape=aval_of(indices).shape))
    others = tuple(d for d in range(len(shape)) if d != axis)
    numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
                                     operand_batching_dims=others, start_indices_batching_dims=others)
    wanted = aval_of(indices).shape
    vectors = broadcast_in_dim_p.bind(indices, shape=(*wanted, 1), broadcast_dimensions=tuple(range(len(wanted))))
    return gather_in_bounds(x, vectors, numbers, (1,) * len(shape))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool,
         num_keys: int) -> tuple[list[Any], list[Any]]:
    """Tangents are permuted as their operands are: positions sorted along tell how."""
    shape = aval_of(primals[0]).shape
    dtype = np.dtype(np.uint32 if shape[dimension] < 2**32 else np.uint64)
    positions = iota_p.bind(dtype=dtype, shape=shape, dimension=dimension)
    *outs, order = sort_p.bind(*primals, positions, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    return outs, [t if isinstance(t, Zero) else take_along(t, order, dimension) for t in tangents]


# -------------------------------------------------------------------------------------------- sort: compiled

# The kernel's codes of dtypes are positions in this table (numjet.cpu.kernels.DTYPE_CODES).
KERNEL_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "int4", "uint4", "int2", "uint2")
_KEYS_PER_CALL = 2
_POSITION = np.dtype(np.int32)


def _cpu(b: Any, *xs: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    """Keys are sorted by the kernel, together with positions when there is more to permute."""
    if len(xs) == 1:
        return _sort_kernel(b, xs, dimension, 1)
    order = None
    # Stable passes, the last keys first: each call of the kernel takes a few keys and the order so far.
    for start in reversed(range(0, num_keys, _KEYS_PER_CALL)):
        keys = xs[start:min(start + _KEYS_PER_CALL, num_keys)]
        order = _refined(b, keys, order, dimension)
    return [permuted(b, x, order, dimension) for x in xs]


def _refined(b: Any, keys: Sequence[Any], order: Any, axis: int) -> Any:
    """Positions in the order of the keys; where they are equal, in the given order."""
    if order is None:
        order = positions(b, keys[0].shape, axis)
    else:
        keys = [permuted(b, k, order, axis) for k in keys]
    return _sort_kernel(b, (*keys, order), axis, len(keys))[-1]


def positions(b: Any, shape: Sequence[int], axis: int) -> Any:
    """The array of positions along an axis, as int32."""
    return b.compute(shape, _POSITION, lambda *index: as_scalar(b, index[axis], _POSITION))


def permuted(b: Any, x: Any, order: Any, axis: int) -> Any:
    """out[..., k, ...] = x[..., order[..., k, ...], ...]."""
    def element(*index: Any) -> Any:
        place = b.convert(b.read(order, *index), np.int64)
        return b.read(x, *index[:axis], place, *index[axis + 1:])
    return b.compute(order.shape, x.dtype, element, moves=True, finds=GATHERED, reads=(x, order))


def _sort_kernel(b: Any, xs: Sequence[Any], axis: int, num_keys: int) -> list[Any]:
    shape = xs[0].shape
    if shape[axis] >= 2**31 and len(xs) > 1:
        raise NotImplementedError(f"sort of several operands: expected less than 2**31 elements along axis {axis}, "
                                  f"got shape {shape}; sort keys alone, or in parts")
    sizes = [prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])]
    codes = [_kernel_code(x.dtype) for x in xs]
    return b.kernel(f"nj_sort{len(xs)}", [num_keys, *sizes, *codes, *xs],
                    [ShapedArray(shape, x.dtype) for x in xs], checked=True)


def _kernel_code(dtype: np.dtype) -> int:
    if dtype.name not in KERNEL_DTYPES:
        raise NotImplementedError(f"sort: expected a key of one of the dtypes {', '.join(KERNEL_DTYPES)}, got "
                                  f"{dtypes.long_name(dtype)}; convert it first")
    return KERNEL_DTYPES.index(dtype.name)


# -------------------------------------------------------------------------------------------- sort: XLA

def _hlo(b: Any, *xs: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    def before(*pairs: Any) -> Any:
        less = None
        for x, y in reversed(list(zip(pairs[:2 * num_keys:2], pairs[1:2 * num_keys:2], strict=True))):
            for u, v in ([(x, y)] if x.dtype.kind != "c" else [(b.imag(x), b.imag(y)), (b.real(x), b.real(y))]):
                total = kind_of(u.dtype) == "f"
                u, v = (_one_zero_one_nan(b, p) if total else p for p in (u, v))
                ahead, same = b.compare("lt", u, v, total=total), b.compare("eq", u, v, total=total)
                less = ahead if less is None else b.binary("or", ahead, b.binary("and", same, less))
        return less
    return _sort_op(b, xs, dimension, is_stable, before)


def _one_zero_one_nan(b: Any, x: Any) -> Any:
    """x with 0.0 for -0.0 and the greatest NaN for every NaN, so that the total order is that of numbers. XLA's GPU
    compiler knows this form of a comparison, and takes a radix sort for it."""
    zero = b.constant(0, x.dtype)
    return b.select(b.compare("ne", x, x), b.constant(np.nan, x.dtype), b.select(b.compare("eq", x, zero), zero, x))


def _sort_op(b: Any, xs: Sequence[Any], axis: int, stable: bool, before: Any) -> list[Any]:
    """before(x, y, x', y', ...): a pair of elements of each operand. Integers are widened to bytes: XLA mixes 2-bit ones up."""
    wide = [b.convert(x, f"{kind_of(x.dtype)}1") if dtypes.itemsize_bits(x.dtype) < 8 and kind_of(x.dtype) in "iu" else x
            for x in xs]
    scalars = [ShapedArray((), x.dtype) for x in wide for _ in range(2)]
    outs = b.op("stablehlo.sort", wide, [x.aval for x in wide], attrs={"dimension": axis, "is_stable": stable},
                regions=[b.region(scalars, before, isolated=True)])
    return [b.convert(out, x.dtype) for out, x in zip(outs, xs, strict=True)]


# -------------------------------------------------------------------------------------------- sort: the record

sort_p: Op = Op(
    name="sort", params=("dimension", "is_stable", "num_keys"), multiple=True,
    abstract=_abstract, eager=_eager, jvp=_jvp, transpose=Missing("sort is not linear"),
    batch=aligned_batch(lambda: sort_p, "dimension"),
    cpu=_cpu, hlo=_hlo, traits=EXACT, interval=each_operand,
    samples=Samples(
        shapes=([(5,)], [(2, 6)], [(4, 3)], [(5,), (5,)], [(3, 4), (3, 4)], [(0,)], [(2, 0)], [(6,)] * 3,
                [(50,)], [(40, 3), (40, 3)], [(4, 5)] * 6),
        params=tuple({"dimension": d, "is_stable": True, "num_keys": k} for d, k in (
            (0, 1), (1, 1), (0, 1), (0, 1), (0, 2), (0, 1), (1, 1), (0, 2), (0, 1), (0, 1), (1, 5))),
        dtypes=("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool", "complex64"), ulps=0))


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """The operand sorted along `dimension`, ascending.

    operand: an array, or several of one shape, which are all put in the order of the first num_keys of them (compared
    lexicographically); then a tuple of arrays is returned. is_stable: equal keys keep their order.

    TypeError when shapes differ or there is no operand, ValueError for a dimension or num_keys out of bounds.

    >>> sort(np.array([3, 1, 2], np.int32)).tolist()
    [1, 2, 3]
    >>> [x.tolist() for x in sort((np.array([3, 1], np.int32), np.array([0, 1], np.int32)))]
    [[1, 3], [1, 0]]
    """
    several = isinstance(operand, (tuple, list))
    xs = tuple(operand) if several else (operand,)
    if not xs:
        raise TypeError("Sort requires at least one operand")
    outs = sort_p.bind(*xs, dimension=as_axis(dimension, aval_of(xs[0]).ndim, "sort"), is_stable=bool(is_stable),
                       num_keys=operator.index(num_keys))
    return tuple(outs) if several else outs[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Keys sorted along `dimension`, and values permuted in the same way. Errors as of sort.

    >>> [x.tolist() for x in sort_key_val(np.array([3, 1, 2], np.int32), np.array([0, 1, 2], np.int32))]
    [[1, 2, 3], [1, 2, 0]]
    """
    k, v = sort((keys, values), dimension, is_stable)
    return k, v


# -------------------------------------------------------------------------------------------- top_k

def _top_k_abstract(x: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < x.ndim:
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    if exceeds(0, k):
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if exceeds(k, x.shape[axis]):
        raise ValueError("k argument to top_k must be no larger than size along axis; "
                         f"got k={k} with shape={list(x.shape)} and axis={axis}")
    if not isinstance(x.shape[axis], Dimension) and x.shape[axis] > 2**31 - 1:
        raise ValueError("top_k returns int32 indices, which will overflow for array dimensions larger than the maximum int32 "
                         f"({2**31 - 1}). Got operand.shape={x.shape}")
    if kind_of(x.dtype) == "c":
        raise ValueError("top_k is not compatible with complex inputs.")
    if kind_of(x.dtype) not in "biuf":
        raise TypeError(f"top_k does not accept dtype {dtypes.long_name(x.dtype)}: it has no order.")
    shape = replace(x.shape, axis, k)
    return [x.update(shape=shape), ShapedArray(shape, _POSITION)]


def _top_k_eager(x: np.ndarray, *, k: int, axis: int) -> list[np.ndarray]:
    order = np.argsort(_descending(x), axis, kind="stable")
    best = np.take(order, np.arange(k), axis)
    return [np.take_along_axis(x, best, axis), best.astype(np.int32)]


def _descending(x: np.ndarray) -> np.ndarray:
    """Integers (or bools) in the reverse of the total order of x."""
    return ~(total_order_key(x) if kind_of(x.dtype) == "f" else x.astype(accumulator(x.dtype), copy=False))


def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int) -> tuple[list[Any], list[Any]]:
    values, indices = top_k_p.bind(primals[0], k=k, axis=axis)
    return [values, indices], [take_along(tangents[0], indices, axis), no_tangent(indices)]


_SELECTED = KERNEL_DTYPES[:KERNEL_DTYPES.index("complex64")]


def _top_k_cpu(b: Any, x: Any, *, k: int, axis: int) -> list[Any]:
    """A kernel selects and orders the k greatest."""
    if x.shape[axis] >= 2**31:
        raise NotImplementedError(f"top_k: expected less than 2**31 elements along axis {axis}, got shape {x.shape}; "
                                  "take the top_k of parts, and of what these give")
    if x.dtype.name not in _SELECTED:
        raise NotImplementedError(f"top_k: expected one of the dtypes {', '.join(_SELECTED)}, got "
                                  f"{dtypes.long_name(x.dtype)}; convert it first")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    sizes = [prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1:])]
    return b.kernel("nj_top_k", [_kernel_code(x.dtype), k, *sizes, x],
                    [ShapedArray(shape, x.dtype), ShapedArray(shape, _POSITION)], checked=True)


def _top_k_hlo(b: Any, x: Any, *, k: int, axis: int) -> list[Any]:
    total = kind_of(x.dtype) == "f"
    outs = _sort_op(b, [x, b.iota(x.shape, axis, _POSITION)], axis, True, lambda u, v, *_: b.compare("gt", u, v, total=total))
    return [b.slice(v, (0,) * x.ndim, (*x.shape[:axis], k, *x.shape[axis + 1:])) for v in outs]


top_k_p: Op = Op(
    name="top_k", params=("k", "axis"), multiple=True,
    abstract=_top_k_abstract, eager=_top_k_eager, jvp=_top_k_jvp, transpose=Missing("top_k is not linear"),
    batch=aligned_batch(lambda: top_k_p, "axis"), cpu=_top_k_cpu, hlo=_top_k_hlo, traits=EXACT,
    interval=lambda eqn, known: [known.interval(eqn.invars[0]), (0, largest(eqn.invars[0].aval.shape[eqn.params["axis"]]) - 1)],
    samples=Samples(
        shapes=((5,), (2, 6), (4, 3), (3,), (5,), (2, 0), (60,)),
        params=tuple({"k": k, "axis": a} for k, a in ((2, 0), (3, 1), (2, 0), (3, 0), (0, 0), (0, 1), (20, 0))),
        dtypes=("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool"), ulps=0))


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k greatest elements along `axis`, in descending order, and their positions (int32).

    Equal elements come in the order of their positions; NaN is the greatest. ValueError when k is negative or larger
    than the axis, for an axis out of bounds and for complex dtypes.

    >>> [x.tolist() for x in top_k(np.array([3, 1, 3, 2], np.int32), 3)]
    [[3, 3, 2], [0, 2, 3]]
    """
    return list(top_k_p.bind(operand, k=as_size(k), axis=as_axis(axis, aval_of(operand).ndim, "top_k")))
