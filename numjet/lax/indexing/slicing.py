"""Slices at static positions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import of_operand
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import LINEAR, Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import LANES, READS_ONCE, STRIDED
from numjet.foundation.dimension import as_size, exceeds
from numjet.lax.axes import as_axis, as_shape, cut_axis, insert, replace
from numjet.lax.indexing.gather import random_values
from numjet.lax.operands import scalar
from numjet.lax.rewrites import Producer, same_aval
from numjet.lax.shape.join import dilated, pad_p
from numjet.lax.shape.rearrange import squeeze_p

SAMPLE_DTYPES = ("float32", "int32", "uint8", "bool", "complex64", "bfloat16", "float64", "int64")

slice_type = slice  # the public function below hides the builtin

# ------------------------------------------------------------------------------------------------ slice

def _slice_abstract(operand: ShapedArray, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                    strides: tuple[int, ...] | None) -> ShapedArray:
    steps = (1,) * operand.ndim if strides is None else strides
    for name, dims in (("start_indices", start_indices), ("limit_indices", limit_indices), ("strides", steps)):
        if len(dims) != operand.ndim:
            raise TypeError(f"slice {name} must have length equal to the number of dimensions of the operand, got "
                            f"{name} {dims} for operand shape {operand.shape}.")
    if any(exceeds(lo, hi) for lo, hi in zip(start_indices, limit_indices, strict=True)):
        raise TypeError("slice limit_indices must be greater than or equal to start_indices, got start_indices "
                        f"{start_indices} and limit_indices {limit_indices}.")
    if any(exceeds(0, lo) for lo in start_indices):
        raise TypeError(f"slice start_indices must be greater than or equal to zero, got {start_indices}.")
    if any(exceeds(hi, n) for hi, n in zip(limit_indices, operand.shape, strict=True)):
        raise TypeError("slice limit_indices must be less than or equal to operand shape, got limit_indices "
                        f"{limit_indices} for operand shape {operand.shape}.")
    if any(step <= 0 for step in steps):
        raise TypeError(f"slice strides must be positive in every dimension, got {strides}.")
    shape = tuple((hi - lo + step - 1) // step for lo, hi, step in zip(start_indices, limit_indices, steps, strict=True))
    return ShapedArray(shape, operand.dtype, operand.weak_type)


def _slice_eager(x: np.ndarray, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                 strides: tuple[int, ...] | None) -> np.ndarray:
    steps = (1,) * x.ndim if strides is None else strides
    return np.array(x[tuple(map(slice_type, start_indices, limit_indices, steps))], order="C")


def _slice_transpose(ct: Any, operand: Any, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                     strides: tuple[int, ...] | None) -> list[Any]:
    steps = (1,) * operand.ndim if strides is None else strides
    config = []
    for n, count, lo, step in zip(operand.shape, aval_of(ct).shape, start_indices, steps, strict=True):
        end = lo + dilated(count, step - 1)
        config.append((lo, n - end, step - 1))
    return [pad_p.bind(ct, scalar(0, aval_of(ct).dtype), padding_config=tuple(config))]


def _slice_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, start_indices: tuple[int, ...],
                 limit_indices: tuple[int, ...], strides: tuple[int, ...] | None) -> tuple[Any, int]:
    d = dims[0]
    assert d is not None
    return slice_p.bind(args[0], start_indices=insert(start_indices, d, 0), limit_indices=insert(limit_indices, d, size),
                        strides=None if strides is None else insert(strides, d, 1)), d


def _slice_cpu(b: Any, x: Any, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
               strides: tuple[int, ...] | None) -> Any:
    steps = (1,) * x.ndim if strides is None else strides
    shape = _slice_abstract(x.aval, start_indices=start_indices, limit_indices=limit_indices, strides=strides).shape
    source = lambda index: [i * step + lo for i, lo, step in zip(index, start_indices, steps, strict=True)]
    joined = b.pieces(x)
    if joined is not None:
        parts, axis = joined
        joined = None
        if shape[axis] == x.shape[axis]:  # the same part of each
            joined = [_slice_cpu(b, p, start_indices=start_indices, strides=steps,
                                 limit_indices=replace(limit_indices, axis, p.shape[axis])) for p in parts], axis
    return b.compute(shape, x.dtype, lambda *index: b.read(x, *source(index)), moves=True, reads=(x,),
                     pieces=joined)


def _slice_hlo(b: Any, x: Any, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
               strides: tuple[int, ...] | None) -> Any:
    return b.slice(x, start_indices, limit_indices, strides)


def _slice_part(eqn: JaxprEqn, result: int) -> tuple[int, int] | None:
    axis, strides = cut_axis(eqn, result), eqn.params["strides"]
    dense = strides is None or set(strides) == {1}
    return (axis, eqn.params["start_indices"][axis]) if dense and axis is not None else None


def _whole_slice(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    strides = eqn.params["strides"]
    return same_aval(eqn, producer) if strides is None or all(s == 1 for s in strides) else None


def _wholly_taken(x: ShapedArray, sharding: Any, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                  **_: Any) -> Any:
    """A part is divided along the dimensions that it takes wholly: along others devices would have unlike shares of it."""
    spec = getattr(sharding, "spec", None)  # of a NamedSharding
    if spec is None or spec.unreduced:
        return None
    taken = [stop - start == n for n, start, stop in zip(x.shape, start_indices, limit_indices, strict=True)]
    kept = [p if whole else None for p, whole in zip(sharding.entries(x.ndim), taken, strict=True)]
    return sharding.update(spec=spec.update(partitions=tuple(kept)))


slice_p = Op(
    name="slice", params=("start_indices", "limit_indices", "strides"), abstract=_slice_abstract, eager=_slice_eager,
    jvp=LINEAR, transpose=_slice_transpose, batch=_slice_batch, cpu=_slice_cpu, hlo=_slice_hlo,
    linear_in=(0,), traits=STRIDED | READS_ONCE | LANES, rewrites=_whole_slice, interval=of_operand,
    alone=_wholly_taken, part=_slice_part, samples=Samples(
        shapes=((), (5,), (5,), (3, 4), (4, 0, 3), (2, 3, 4, 5), (6,)), dtypes=SAMPLE_DTYPES, ulps=0,
        make=lambda rng, shapes, dtype, params: [random_values(rng, shapes, dtype)],
        params=[{"start_indices": lo, "limit_indices": hi, "strides": st} for lo, hi, st in (
            ((), (), None), ((1,), (4,), None), ((0,), (5,), (2,)), ((1, 0), (3, 3), (1, 2)),
            ((1, 0, 0), (4, 0, 3), None), ((0, 1, 1, 0), (2, 3, 4, 5), (1, 1, 2, 3)), ((2,), (2,), (3,)))]))


def slice_along(x: Any, axis: int, start: int, stop: int, step: int | None = 1) -> Any:
    """x[start:stop:step] along one axis, for rules: all bounds are within it."""
    shape = aval_of(x).shape
    return slice_p.bind(x, start_indices=replace((0,) * len(shape), axis, start), limit_indices=replace(shape, axis, stop),
                        strides=None if step is None else replace((1,) * len(shape), axis, step))


# ------------------------------------------------------------------------------------------------ public

def slice(operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None) -> Any:
    """operand[start:limit:stride] per axis; all bounds are static and within the operand.

    Raises:
      TypeError: bounds are no integers, out of the operand, or not one per axis.

    >>> import numpy as np
    >>> slice(np.arange(10), (2,), (9,), (3,)).tolist()
    [2, 5, 8]
    """
    return slice_p.bind(operand, start_indices=as_shape(start_indices, "slice start_indices"),
                        limit_indices=as_shape(limit_indices, "slice limit_indices"),
                        strides=None if strides is None else as_shape(strides, "slice strides"))


def _bound(index: int | None, default: int, size: int) -> int:
    found = default if index is None else as_size(index)
    return found + size if found < 0 else found


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """operand[start_index:limit_index:stride] along one axis; negative bounds count from the end, None is open.

    >>> import numpy as np
    >>> slice_in_dim(np.arange(10), -4, None).tolist()
    [6, 7, 8, 9]
    """
    shape = aval_of(operand).shape
    axis = as_axis(axis, len(shape))
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = _bound(start_index, 0, shape[axis]), _bound(limit_index, shape[axis], shape[axis])
    strides[axis] = as_size(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The element (or slice) at a static index along one axis; IndexError when it is out of bounds.

    >>> import numpy as np
    >>> index_in_dim(np.arange(4), -1, keepdims=False).item()
    3
    """
    shape = aval_of(operand).shape
    axis, index = as_axis(axis, len(shape)), as_size(index)
    size = shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index += size if index < 0 else 0
    result = slice_in_dim(operand, index, index + 1, 1, axis)
    return result if keepdims else squeeze_p.bind(result, dimensions=(axis,))
