"""Positions of extremes: argmax and argmin. NaN counts as the extreme; of equal elements the first is found."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import largest
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES, READS_ONCE, SCANS_OPERAND
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, check_positions, without
from numjet.lax.operands import converted
from numjet.lax.reduction.reduce import IDENTITIES, accumulator, batch, on_bools
from numjet.lax.templates import kind_of


def _abstract(name: str) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axes: Ints, index_dtype: np.dtype) -> ShapedArray:
        axis, = axes
        if kind_of(index_dtype) not in "iu":
            raise TypeError(f"index_dtype must be an integer type, but got {dtypes.long_name(index_dtype)}")
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if kind_of(x.dtype) not in "biuf":
            raise TypeError(f"{name} does not accept dtype {dtypes.long_name(x.dtype)}. "
                            "Accepted dtypes are subtypes of integer, floating, bool.")
        if x.shape[axis] == 0:
            raise ValueError("argmin and argmax require non-empty reduced dimension. "
                             f"operand.shape={x.shape} axis={axis}")
        check_positions(name, (x.shape[axis],), np.dtype(index_dtype))
        return ShapedArray(without(x.shape, axes), index_dtype)
    return abstract


def _eager(find: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def eager(x: np.ndarray, *, axes: Ints, index_dtype: np.dtype) -> np.ndarray:
        return np.asarray(find(x.astype(accumulator(x.dtype), copy=False), axis=axes[0])).astype(index_dtype)
    return eager


# A fold keeps lanes of outputs busy where there are many of them near each other, and few elements for each; elsewhere two
# vectorized passes over rows are faster.
_FOLDED_OUTPUTS = 16
_FOLDED_ELEMENTS = 1024
_FOLDED_STRIDE = 4096


def _cpu(kind: str) -> Callable[..., Any]:
    def cpu(b: Any, x: Any, *, axes: Ints, index_dtype: np.dtype) -> Any:
        axis, = axes
        position = np.dtype(np.int32 if x.shape[axis] < 2**31 else np.int64)
        find = _folded if _many_columns(x.shape, axis) else _in_two_passes
        return converted(b, find(b, x, axis, kind, position), index_dtype)
    return cpu


def _many_columns(shape: Sequence[Any], axis: int) -> bool:
    """Whether positions are found for many neighbouring columns at once."""
    if not all(isinstance(n, int) for n in shape):
        return False
    stride = math.prod(shape[axis + 1:])
    outputs = math.prod(shape[:axis]) * stride
    return 1 < stride <= _FOLDED_STRIDE and outputs >= _FOLDED_OUTPUTS and shape[axis] <= _FOLDED_ELEMENTS


def _folded(b: Any, x: Any, axis: int, kind: str, position: np.dtype) -> Any:
    """Fold of pairs (extreme so far, its position) along the axis, in lanes of outputs."""
    rest = without(range(x.ndim), (axis,))

    def step(kept: Sequence[Any], reduced: Sequence[Any], best: Any, where: Any) -> list[Any]:
        at = dict(zip((*rest, axis), (*kept, *reduced), strict=True))
        value = b.read(x, *[at[d] for d in range(x.ndim)])
        stays = b.compare("ge" if kind == "max" else "le", best, value)
        if kind_of(x.dtype) == "f":
            stays = b.prim("or", stays, b.compare("ne", best, best))
        return [b.select(stays, best, value), b.select(stays, where, as_scalar(b, reduced[0], position))]
    starts = [b.const(IDENTITIES[kind](x.dtype), x.dtype), b.const(0, position)]
    return b.fold([x.shape[d] for d in rest], [x.shape[axis]], starts, step)[1]


def _in_two_passes(b: Any, x: Any, axis: int, kind: str, position: np.dtype) -> Any:
    """Two reductions, which vectorize: the extreme, then the least position where it is attained."""
    size = x.shape[axis]
    best = b.materialize(b.reduce(on_bools(kind, x.dtype), x, (axis,)))   # else a short one is computed for each candidate

    def candidate(*index: Any) -> Any:
        value = b.read(x, *index)
        attains = b.compare("eq", value, b.read(best, *without(index, (axis,))))
        if kind_of(x.dtype) == "f":
            attains = b.prim("or", attains, b.compare("ne", value, value))
        return b.select(attains, as_scalar(b, index[axis], position), b.const(size, position))
    return b.reduce("min", b.compute(x.shape, position, candidate, reads=(x, best)), (axis,))


def _hlo(kind: str) -> Callable[..., Any]:
    """As `_in_two_passes`."""
    def hlo(b: Any, x: Any, *, axes: Ints, index_dtype: np.dtype) -> Any:
        axis, size, wide = axes[0], x.shape[axes[0]], accumulator(x.dtype)
        position = np.dtype(np.int32 if size < 2**31 else np.int64)
        values = b.convert(x, wide)
        best = b.reduce(kind, values, axes, IDENTITIES[kind](x.dtype))
        attains = b.compare("eq", values, b.broadcast(best, x.shape, without(range(x.ndim), axes)))
        if kind_of(x.dtype) == "f":
            attains = b.binary("or", attains, b.compare("ne", values, values))
        found = b.select(attains, b.iota(x.shape, axis, position), b.full(x.shape, size - 1, position))
        return b.convert(b.reduce("min", found, axes, size - 1), index_dtype)
    return hlo


def as_scalar(b: Any, index: Any, dtype: Any) -> Any:
    """An index (a Python int or an index scalar) as a value of `dtype`."""
    return b.const(index, dtype) if isinstance(index, int) else b.convert(index, dtype)


def _record(name: str, find: Callable[..., Any], kind: str) -> Op:
    op = Op(name=name, params=("axes", "index_dtype"), abstract=_abstract(name), eager=_eager(find), jvp=ZERO,
            transpose=Missing(f"{name} is not linear"), batch=batch(lambda: op), cpu=_cpu(kind),
            hlo=_hlo(kind), samples=Samples(
                shapes=((4,), (2, 3, 4), (2, 3), (2, 0), (5, 1), (5, 35), (5, 35)),
                params=tuple({"axes": (a,), "index_dtype": np.dtype(d)} for a, d in (
                    (0, "int32"), (1, "int32"), (1, "uint8"), (0, "int32"), (1, "int64"), (0, "int32"), (1, "int32"))),
                dtypes=("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool"), ulps=0),
            traits=EXACT | READS_ONCE | SCANS_OPERAND | LANES,
            interval=lambda eqn, known: (0, largest(eqn.invars[0].aval.shape[eqn.params["axes"][0]]) - 1))
    return op


argmax_p = _record("argmax", np.argmax, "max")
argmin_p = _record("argmin", np.argmin, "min")


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the greatest element along `axis`, which the result lacks; the first of equal ones, or of NaNs.

    Real dtypes. ValueError for an axis out of bounds (or negative) or of size 0, TypeError for other dtypes.

    >>> argmax(np.array([1, 3, 3], np.int32), 0, np.int32).tolist()
    1
    """
    return _bind(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The position of the least element along `axis`, which the result lacks; the first of equal ones, or of NaNs.

    Real dtypes. ValueError for an axis out of bounds (or negative) or of size 0, TypeError for other dtypes.

    >>> argmin(np.array([2, 1, 1], np.int32), 0, np.int32).tolist()
    1
    """
    return _bind(argmin_p, operand, axis, index_dtype)


def _bind(op: Op, operand: Any, axis: int, index_dtype: Any) -> Any:
    aval_of(operand)  # raises where the operand is no array
    return op.bind(operand, axes=(operator.index(axis),), index_dtype=dtypes.canonicalize_dtype(index_dtype))
