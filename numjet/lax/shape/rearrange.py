"""Rearrangement of arrays: broadcast_in_dim, reshape, transpose, squeeze, rev, and functions made of them.

All are linear, move data and compute nothing; pad, concatenate, split and tile are in `join`.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.intervals import of_operand
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import LINEAR, Op, Samples
from numjet.core.printing_rules import PrintingRule
from numjet.core.trace import Array, Tracer, aval_of
from numjet.core.traits import ARRAY_VIEW, BROADCASTS, LANES, READS_ONCE, STRIDED
from numjet.lax.axes import Ints, as_axes, as_shape, shift, without
from numjet.lax.rewrites import Producer, inner_of, no_axes, twice
from numjet.lax.sharding_later import sharding
from numjet.lax.templates import aligned_batch, call, moveaxis

MOVED_DTYPES = ("float32", "bool", "int8", "uint64", "bfloat16", "complex64")


def is_array(x: Any) -> bool:
    """Whether x is an array or tracer already, so that it may be returned as a result."""
    return isinstance(x, (Array, Tracer))


# -------------------------------------------------------------------------------------------- broadcast_in_dim

def _broadcast_abstract(x: ShapedArray, *, shape: Ints, broadcast_dimensions: Ints) -> ShapedArray:
    dims = broadcast_dimensions
    if any(n < 0 for n in shape):
        raise TypeError(f"broadcast_in_dim shape must have every element be nonnegative, got {shape}.")
    if x.ndim > len(shape):
        raise TypeError("broadcast_in_dim target broadcast shape must have equal or higher rank to the operand shape; "
                        f"got operand ndim {x.ndim} and target broadcast ndim {len(shape)}.")
    if len(dims) != x.ndim:
        raise TypeError("broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; "
                        f"got broadcast_dimensions {dims} for operand ndim {x.ndim}.")
    if not set(dims) <= set(range(len(shape))):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, "
                        f"got {dims} for operand ndim {x.ndim} and shape {shape}.")
    if len(set(dims)) < len(dims):
        raise TypeError(f"broadcast_in_dim broadcast_dimensions must not contain duplicates, got {dims}.")
    if any(n not in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)):
        raise TypeError("broadcast_in_dim operand dimension sizes must either be 1, or be equal to their corresponding "
                        f"dimensions in the target broadcast shape; got operand of shape {x.shape}, target broadcast "
                        f"shape {shape}, broadcast_dimensions {dims}")
    if any(a >= b for a, b in pairwise(dims)):
        raise TypeError(f"broadcast_in_dim broadcast_dimensions must be strictly increasing; "
                        f"got broadcast_dimensions {dims}.")
    return x.update(shape=shape)


def _broadcast_eager(x: np.ndarray, *, shape: Ints, broadcast_dimensions: Ints) -> np.ndarray:
    if x.size == prod(shape):
        return x.reshape(shape)
    aligned = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape, strict=True):
        aligned[d] = n
    out = np.empty(shape, x.dtype)  # np.broadcast_to takes longer than the copy of a small array, which comes anyway
    out[...] = x.reshape(aligned)
    return out


_broadcast_eager.moves_nothing = lambda avals, outs: avals[0].size == outs[0].size  # type: ignore[attr-defined]


def _broadcast_transpose(ct: Any, x: Any, *, shape: Ints, broadcast_dimensions: Ints) -> list[Any]:
    kept = tuple(d for d, n in zip(broadcast_dimensions, x.shape, strict=True) if n == shape[d])
    summed = tuple(d for d in range(len(shape)) if d not in kept)
    if summed:
        ct = call("reduce_sum", ct, axes=summed)
    if len(kept) == x.ndim:
        return [ct]
    dims = tuple(i for i, d in enumerate(broadcast_dimensions) if d in kept)
    return [broadcast_in_dim_p.bind(ct, shape=x.shape, broadcast_dimensions=dims)]


def _broadcast_batch(size: int, args: Sequence[Any], dims: Sequence[int], *, shape: Ints,
                     broadcast_dimensions: Ints) -> tuple[Any, int]:
    x, axes = moveaxis(args[0], dims[0], 0), (0, *(d + 1 for d in broadcast_dimensions))
    return broadcast_in_dim_p.bind(x, shape=(size, *shape), broadcast_dimensions=axes), 0


def _broadcast_cpu(b: Any, x: Any, *, shape: Ints, broadcast_dimensions: Ints) -> Any:
    if prod(x.shape) == prod(shape) != 0:
        return b.reshape(x, shape)
    axes = [d if n == shape[d] else None for d, n in zip(broadcast_dimensions, x.shape, strict=True)]
    return b.compute(shape, x.dtype, lambda *i: b.read(x, *[0 if d is None else i[d] for d in axes]), moves=True,
                     reads=(x,), row=x if _repeats_rows(x.shape, shape, broadcast_dimensions) else None)


def _repeats_rows(shape: Ints, out: Ints, dimensions: Ints) -> bool:
    """Whether a broadcast array, in the order in which it lies, is the operand again and again."""
    longer = [(d, n) for d, n in zip(dimensions, shape, strict=True) if n != 1]
    first = min((d for d, _ in longer), default=len(out))
    return prod(out[first:]) == prod(shape) > 1


def _broadcast_hlo(b: Any, x: Any, *, shape: Ints, broadcast_dimensions: Ints) -> Any:
    return b.broadcast(x, shape, broadcast_dimensions)


def _simpler_broadcast(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    if eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape:
        return eqn.invars[0]
    inner = inner_of(eqn, producer)
    if inner is None:
        return None
    outer = eqn.params["broadcast_dimensions"]
    dims = tuple(outer[d] for d in inner.params["broadcast_dimensions"])
    return eqn.replace(invars=inner.invars, params={**eqn.params, "broadcast_dimensions": dims})


broadcast_in_dim_p = Op(
    name="broadcast_in_dim", params=("shape", "broadcast_dimensions"),
    abstract=_broadcast_abstract, eager=_broadcast_eager, jvp=LINEAR, transpose=_broadcast_transpose,
    batch=_broadcast_batch, cpu=_broadcast_cpu, hlo=_broadcast_hlo, linear_in=(0,),
    traits=BROADCASTS | LANES, rewrites=_simpler_broadcast, interval=of_operand,
    printing=PrintingRule(implied={"shape": lambda ins, outs: outs[0].shape, "broadcast_dimensions": ()}),
    samples=Samples(
        shapes=((), (3,), (3,), (1, 3), (2, 3), (0,), (2, 1, 3), (19,), (5, 1, 7)),
        params=tuple({"shape": s, "broadcast_dimensions": d} for s, d in (
            ((2, 3), ()), ((2, 3), (1,)), ((3, 1, 2), (0,)), ((4, 3), (0, 1)), ((2, 3), (0, 1)), ((2, 0), (1,)),
            ((2, 5, 4, 3), (0, 1, 3)), ((3, 19, 2), (1,)), ((5, 2, 1, 7), (0, 2, 3)))),
        dtypes=MOVED_DTYPES, ulps=0))


def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any, *, out_sharding: Any = None) -> Any:
    """An array of `shape` in which axis i of the operand runs along axis broadcast_dimensions[i].

    Each axis of the operand has the size of the axis it runs along, or 1. TypeError otherwise, or for axes given twice. The
    dtype stays.

    >>> broadcast_in_dim(np.arange(3, dtype=np.int32), (2, 3), (1,)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if out_sharding is not None:
        return divided("broadcast_in_dim", lambda x: broadcast_in_dim(x, shape, broadcast_dimensions), out_sharding, operand)
    target, dims = as_shape(shape), tuple(map(operator.index, broadcast_dimensions))
    if isinstance(operand, (np.ndarray, np.generic)) or is_array(operand):
        if operand.shape == target and dims == tuple(range(operand.ndim)):
            return hooks.user_value(operand)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    if order != list(range(len(dims))) and len(dims) == aval_of(operand).ndim:
        operand, dims = transpose(operand, order), tuple(dims[i] for i in order)
    return broadcast_in_dim_p.bind(operand, shape=target, broadcast_dimensions=dims)


def filled(value: Any, shape: Ints) -> Any:
    """An array of `shape` that holds a scalar everywhere, for rules."""
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=())


def divided(name: str, fun: Callable[..., Any], out_sharding: Any, *args: Any) -> Any:
    """fun(*args) under the sharding that a user gave as out_sharding of the function `name`."""
    return sharding.with_out_sharding(name, fun, out_sharding, *args)


def check_unsharded(name: str, out_sharding: Any) -> None:
    """NotImplementedError for an out_sharding."""
    if out_sharding is not None:
        raise NotImplementedError(f"{name}: out_sharding={out_sharding!r} is not supported: leave it None and call "
                                  f"reshard(result, "
                                  "out_sharding)")


def broadcast(operand: Any, sizes: Any, *, out_sharding: Any = None) -> Any:
    """The operand repeated along new leading axes of `sizes`. TypeError for negative sizes.

    >>> broadcast(np.float32(1), (2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    lead, shape = as_shape(sizes), aval_of(operand).shape
    dims = range(len(lead), len(lead) + len(shape))
    return broadcast_in_dim(operand, (*lead, *shape), dims, out_sharding=out_sharding)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """x with axes of size 1 in front until it has `rank` axes; x itself when it has as many already.

    >>> broadcast_to_rank(np.zeros((2, 3), np.float32), 4).shape
    (1, 1, 2, 3)
    """
    ndim = aval_of(x).ndim
    return x if ndim >= rank else expand_dims(x, range(rank - ndim))


def broadcast_shapes(*shapes: Any) -> Ints:
    """The shape that arrays of `shapes` broadcast to by NumPy's rules. ValueError when they don't.

    >>> broadcast_shapes((2, 1), (3,), ())
    (2, 3)
    """
    given = [as_shape(s) for s in shapes]
    rank = max(map(len, given), default=0)
    padded = [(1,) * (rank - len(s)) + s for s in given]
    sizes = [{n for n in column if n != 1} or {1} for column in zip(*padded, strict=True)]
    if any(len(s) > 1 for s in sizes):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={given}")
    return tuple(s.pop() for s in sizes)


def expand_dims(array: Any, dimensions: Any) -> Any:
    """The array with axes of size 1 inserted, which lie at `dimensions` of the result (negative: from its end).

    ValueError when a dimension is out of bounds or repeated.

    >>> expand_dims(np.zeros((2, 3), np.float32), (0, -1)).shape
    (1, 2, 3, 1)
    """
    given = tuple(dimensions)
    shape = aval_of(array).shape
    ndim = len(shape) + len(given)
    new = as_axes(given, ndim, "expand_dims")
    if len(set(new)) != len(new):
        raise ValueError(f"repeated axis in lax.expand_dims: {given}")
    kept = [d for d in range(ndim) if d not in new]
    sizes = [1] * ndim
    for d, n in zip(kept, shape, strict=True):
        sizes[d] = n
    return broadcast_in_dim(array, sizes, kept)


# -------------------------------------------------------------------------------------------- reshape

def _reshape_abstract(x: ShapedArray, *, new_sizes: Ints, dimensions: Ints | None = None) -> ShapedArray:
    if any(n < 0 for n in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if prod(new_sizes) != x.size:
        raise TypeError(f"reshape total size must be unchanged, got new_sizes {new_sizes} "
                        f"(total size {prod(new_sizes)}) for shape {x.shape} (total size {x.size}).")
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError("reshape dimensions must be a permutation of operand dimensions, "
                        f"got dimensions {dimensions} for shape {x.shape}.")
    return x.update(shape=new_sizes)


def _reshape_eager(x: np.ndarray, *, new_sizes: Ints, dimensions: Ints | None = None) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def _reshape_transpose(ct: Any, x: Any, *, new_sizes: Ints, dimensions: Ints | None = None) -> list[Any]:
    if dimensions is None:
        return [reshaped(ct, x.shape)]
    permuted = reshaped(ct, tuple(x.shape[d] for d in dimensions))
    return [transpose_p.bind(permuted, permutation=inverse(dimensions))]


def _reshape_batch(size: int, args: Sequence[Any], dims: Sequence[int], *, new_sizes: Ints,
                   dimensions: Ints | None = None) -> tuple[Any, int]:
    x = moveaxis(args[0], dims[0], 0)
    order = None if dimensions is None else (0, *(d + 1 for d in dimensions))
    return reshape_p.bind(x, new_sizes=(size, *new_sizes), dimensions=order), 0


def _reshape_cpu(b: Any, x: Any, *, new_sizes: Ints, dimensions: Ints | None = None) -> Any:
    return b.reshape(x if dimensions is None else _transpose_cpu(b, x, permutation=dimensions), new_sizes)


def _reshape_hlo(b: Any, x: Any, *, new_sizes: Ints, dimensions: Ints | None = None) -> Any:
    return b.reshape(x if dimensions is None else b.transpose(x, dimensions), new_sizes)


def _simpler_reshape(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    if eqn.params.get("dimensions") is not None:
        return None
    if eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape:
        return eqn.invars[0]
    inner = inner_of(eqn, producer)
    if inner is None or inner.params.get("dimensions") is not None:
        return None
    if inner.invars[0].aval is eqn.outvars[0].aval:
        return inner.invars[0]
    return eqn.replace(invars=inner.invars)


reshape_p = Op(
    name="reshape", params=("new_sizes", "dimensions"),
    abstract=_reshape_abstract, eager=_reshape_eager, jvp=LINEAR, transpose=_reshape_transpose,
    batch=_reshape_batch, cpu=_reshape_cpu, hlo=_reshape_hlo, linear_in=(0,),
    traits=ARRAY_VIEW | READS_ONCE | LANES, rewrites=_simpler_reshape, interval=of_operand,
    samples=Samples(
        shapes=((6,), (2, 3, 4), (), (2, 3), (0, 3), (2, 3, 4), (6, 35)),
        params=tuple({"new_sizes": s, "dimensions": d} for s, d in (
            ((2, 3), None), ((4, 6), None), ((1, 1), None), ((2, 3), (1, 0)), ((5, 0), None), ((6, 4), (2, 0, 1)),
            ((15, 14), (1, 0)))),
        dtypes=MOVED_DTYPES, ulps=0))


def reshape(operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None) -> Any:
    """The elements of the operand, in row-major order, in an array of shape `new_sizes`.

    dimensions: an order of the axes in which to read them, a permutation; None: as they are.
    TypeError when the number of elements differs, or a size is negative (numjet.numpy.reshape infers -1).

    >>> reshape(np.arange(6, dtype=np.int32), (3, 2)).tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    if out_sharding is not None:
        return divided("reshape", lambda x: reshape(x, new_sizes, dimensions), out_sharding, operand)
    sizes = as_shape((new_sizes,) if isinstance(new_sizes, (int, np.integer)) else new_sizes)
    order = None if dimensions is None else tuple(map(operator.index, dimensions))
    if order == tuple(range(aval_of(operand).ndim)):
        order = None
    if order is None and is_array(operand) and operand.shape == sizes:
        return operand
    return reshape_p.bind(operand, new_sizes=sizes, dimensions=order)


def reshaped(x: Any, sizes: Ints) -> Any:
    """reshape for rules: always an operation, without checks of the user's arguments."""
    return reshape_p.bind(x, new_sizes=sizes, dimensions=None)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The operand with axes start_dimension, ..., stop_dimension - 1 made one (None: all after the start).

    Negative numbers count from the end. ValueError when the range is empty the wrong way round.

    >>> collapse(np.zeros((2, 3, 4), np.float32), 1).shape
    (2, 12)
    """
    shape = aval_of(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]")
    return reshape(operand, (*shape[:start], prod(shape[start:stop]), *shape[stop:]))


# -------------------------------------------------------------------------------------------- transpose

def inverse(permutation: Sequence[int]) -> Ints:
    """The permutation that undoes `permutation`."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _transpose_abstract(x: ShapedArray, *, permutation: Ints) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, "
                        f"got permutation {permutation} for operand shape {x.shape}.")
    return x.update(shape=tuple(x.shape[d] for d in permutation))


def _transpose_batch(size: int, args: Sequence[Any], dims: Sequence[int], *, permutation: Ints) -> tuple[Any, int]:
    return transpose_p.bind(args[0], permutation=(dims[0], *shift(permutation, dims[0]))), 0


def _transpose_cpu(b: Any, x: Any, *, permutation: Ints) -> Any:
    shape = tuple(x.shape[d] for d in permutation)
    if [d for d in permutation if x.shape[d] != 1] == [d for d in range(x.ndim) if x.shape[d] != 1]:
        return b.reshape(x, shape)  # only axes of size 1 change places
    return b.transpose(x, permutation)


def _simpler_transpose(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    order = tuple(eqn.params["permutation"])
    if order == tuple(range(len(order))):
        return eqn.invars[0]
    inner = inner_of(eqn, producer)
    if inner is None:
        return None
    whole = tuple(inner.params["permutation"][k] for k in order)
    if whole == tuple(range(len(whole))):
        return inner.invars[0]
    return eqn.replace(invars=inner.invars, params={"permutation": whole})


transpose_p: Op = Op(
    name="transpose", params=("permutation",),
    abstract=_transpose_abstract, eager=lambda x, *, permutation: x.transpose(permutation), jvp=LINEAR,
    transpose=lambda ct, x, *, permutation: [transpose_p.bind(ct, permutation=inverse(permutation))],
    batch=_transpose_batch, cpu=_transpose_cpu,
    hlo=lambda b, x, *, permutation: b.transpose(x, permutation), linear_in=(0,),
    traits=STRIDED | ARRAY_VIEW | READS_ONCE | LANES, rewrites=_simpler_transpose,
    interval=of_operand,
    samples=Samples(
        shapes=((), (3,), (2, 3), (2, 3, 4), (1, 3, 1), (2, 0, 3), (2, 3, 4, 5), (9, 33)),
        params=tuple({"permutation": p} for p in (
            (), (0,), (1, 0), (2, 0, 1), (1, 2, 0), (2, 1, 0), (3, 1, 0, 2), (1, 0))),
        dtypes=MOVED_DTYPES, ulps=0))


def transpose(operand: Any, permutation: Any) -> Any:
    """The operand with its axes in the order of `permutation`. TypeError when that is none of its axes.

    >>> transpose(np.zeros((2, 3, 4), np.float32), (2, 0, 1)).shape
    (4, 2, 3)
    """
    order = tuple(map(operator.index, permutation))
    if is_array(operand) and order == tuple(range(operand.ndim)):
        return operand
    return transpose_p.bind(operand, permutation=order)


# -------------------------------------------------------------------------------------------- squeeze

def _squeeze_abstract(x: ShapedArray, *, dimensions: Ints) -> ShapedArray:
    dims = as_axes(dimensions, x.ndim, "squeeze")
    if len(set(dims)) != len(dims):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if any(x.shape[d] != 1 for d in dims):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, "
                         f"got shape={x.shape} and dimensions={dimensions}")
    return x.update(shape=without(x.shape, dims))


def _squeeze_batch(size: int, args: Sequence[Any], dims: Sequence[int], *, dimensions: Ints) -> tuple[Any, int]:
    x, dim = args[0], dims[0]
    gone = shift(as_axes(dimensions, aval_of(x).ndim - 1), dim)
    return squeeze_p.bind(x, dimensions=gone), dim - sum(d < dim for d in gone)


def _squeeze_cpu(b: Any, x: Any, *, dimensions: Ints) -> Any:
    return b.reshape(x, without(x.shape, as_axes(dimensions, x.ndim)))


squeeze_p = Op(
    name="squeeze", params=("dimensions",),
    abstract=_squeeze_abstract, eager=lambda x, *, dimensions: x.reshape(without(x.shape, as_axes(dimensions, x.ndim))),
    jvp=LINEAR, transpose=lambda ct, x, *, dimensions: [reshaped(ct, x.shape)],
    batch=_squeeze_batch, cpu=_squeeze_cpu,
    hlo=lambda b, x, *, dimensions: b.reshape(x, without(x.shape, dimensions)), linear_in=(0,),
    traits=STRIDED | ARRAY_VIEW | READS_ONCE | LANES, rewrites=no_axes("dimensions"),
    interval=of_operand,
    samples=Samples(
        shapes=((1,), (1, 3), (2, 1, 3, 1), (1, 0), (2, 3)),
        params=tuple({"dimensions": d} for d in ((0,), (0,), (1, 3), (0,), ())),
        dtypes=MOVED_DTYPES, ulps=0))


def squeeze(array: Any, dimensions: Any) -> Any:
    """The array without the axes `dimensions`, which must have size 1. ValueError otherwise.

    >>> squeeze(np.zeros((1, 3, 1), np.float32), (0, -1)).shape
    (3,)
    """
    given = tuple(map(operator.index, dimensions))
    if not given and is_array(array):
        return array
    aval = aval_of(array)
    dims = as_axes(given, aval.ndim, "squeeze")
    return squeeze_p.bind(array, dimensions=dims)


# -------------------------------------------------------------------------------------------- rev

def _rev_abstract(x: ShapedArray, *, dimensions: Ints) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(d < 0 for d in dimensions):
        raise TypeError(f"rev dimensions must have every element be nonnegative, got {dimensions}.")
    if any(d >= x.ndim for d in dimensions):
        raise TypeError("rev dimensions must all be less than operand ndim, "
                        f"got dimensions {dimensions} for operand ndim {x.ndim}.")
    return x


def _rev_cpu(b: Any, x: Any, *, dimensions: Ints) -> Any:
    def element(*index: Any) -> Any:
        return b.read(x, *[x.shape[d] - 1 - i if d in dimensions else i for d, i in enumerate(index)])
    return b.compute(x.shape, x.dtype, element, moves=True, reads=(x,))


rev_p: Op = Op(
    name="rev", params=("dimensions",),
    abstract=_rev_abstract, eager=lambda x, *, dimensions: np.flip(x, dimensions), jvp=LINEAR,
    transpose=lambda ct, x, *, dimensions: [rev_p.bind(ct, dimensions=dimensions)],
    batch=aligned_batch(lambda: rev_p, "dimensions"), cpu=_rev_cpu,
    hlo=lambda b, x, *, dimensions: b.op("stablehlo.reverse", [x], x.aval, attrs={"dimensions": dimensions}), linear_in=(0,),
    traits=STRIDED | READS_ONCE | LANES, rewrites=twice, interval=of_operand,
    samples=Samples(
        shapes=((4,), (2, 3, 4), (2, 3), (0, 2), (), (3, 37)),
        params=tuple({"dimensions": d} for d in ((0,), (0, 2), (1,), (0,), (), (1,))),
        dtypes=MOVED_DTYPES, ulps=0))


def rev(operand: Any, dimensions: Any) -> Any:
    """The operand with the order of its elements reversed along `dimensions` (not negative). TypeError otherwise.

    >>> rev(np.arange(3, dtype=np.int32), (0,)).tolist()
    [2, 1, 0]
    """
    return rev_p.bind(operand, dimensions=tuple(map(operator.index, dimensions)))
