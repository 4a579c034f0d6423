"""Ragged products: matrix products whose rows (or sums, or batches) form groups of sizes known at run time.

Each group's part is cut out of lhs by a mask, and one dot_general over (group, contracted axes) gives the result, so
derivatives and batches are those of the operations it is made of.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, without
from numjet.lax.contraction.dot import DotDimensionNumbers, dot_general
from numjet.lax.elementwise.arithmetic import mul_p, sub_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import ge_p, lt_p, select_n_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing.dynamic_slicing import dynamic_slice_in_dim
from numjet.lax.reduction.cumulative import cumsum
from numjet.lax.reduction.reduce import reduce_or_p
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, divided, filled, reshaped
from numjet.lax.templates import kind_of, moveaxis

_INT32 = np.dtype(np.int32)


class RaggedDotDimensionNumbers:
    """Which axes ragged_dot_general contracts and batches (as for dot_general), the axis of lhs that is cut into groups,
    and the axis of rhs that numbers groups (or none)."""

    def __init__(self, dot_dimension_numbers: DotDimensionNumbers, lhs_ragged_dimensions: Sequence[int],
                 rhs_group_dimensions: Sequence[int]):
        (lc, rc), (lb, rb) = dot_dimension_numbers
        ints = lambda dims: tuple(map(operator.index, dims))
        self.dot_dimension_numbers = ((ints(lc), ints(rc)), (ints(lb), ints(rb)))
        self.lhs_ragged_dimensions = ints(lhs_ragged_dimensions)
        self.rhs_group_dimensions = ints(rhs_group_dimensions)

    def _key(self) -> tuple[Any, ...]:
        return self.dot_dimension_numbers, self.lhs_ragged_dimensions, self.rhs_group_dimensions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedDotDimensionNumbers) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (f"RaggedDotDimensionNumbers(dot_dimension_numbers={self.dot_dimension_numbers}, "
                f"lhs_ragged_dimensions={self.lhs_ragged_dimensions}, rhs_group_dimensions={self.rhs_group_dimensions})")


def _checked(x: ShapedArray, y: ShapedArray, sizes: ShapedArray, numbers: RaggedDotDimensionNumbers,
             offset: Any) -> tuple[int, Ints]:
    """The ragged axis, and the axes of lhs that group sizes may have in front: those outside of the ragged one, of its
    kind. Raises unless everything fits."""
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, got "
                        f"{numbers.lhs_ragged_dimensions}.")
    ragged, groups = numbers.lhs_ragged_dimensions[0], numbers.rhs_group_dimensions
    if not 0 <= ragged < x.ndim:
        raise TypeError("ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and less than the number "
                        f"of axes of the lhs, got {ragged} for lhs of shape {x.shape}.")
    if kind_of(sizes.dtype) not in "iu":
        raise TypeError("ragged_dot_general requires that group_sizes.dtype is a subtype of np.integer, got "
                        f"{sizes.dtype.name}.")
    if sizes.ndim < 1:
        raise TypeError("ragged_dot_general expects group_sizes of at least one axis, got a scalar.")
    free = ragged not in (*lc, *lb)
    if free and len(groups) != 1:
        raise TypeError("ragged_dot_general requires exactly one rhs group dimension when lhs ragged dimension is "
                        f"noncontracting, got {groups}.")
    if not free and groups:
        raise TypeError("ragged_dot_general requires zero group dimensions in the rhs when lhs ragged dimension is "
                        f"contracting or batch, got {groups}.")
    if free and not 0 <= groups[0] < y.ndim:
        raise TypeError("ragged_dot_general requires rhs group dimension numbers to be nonnegative and less than the number of "
                        f"axes of the rhs, got {groups[0]} for rhs of shape {y.shape}.")
    if free and groups[0] in (*rc, *rb):
        raise TypeError("ragged_dot_general requires rhs group dimension numbers to be distinct from contracting and batch "
                        f"dimensions, got {groups[0]}, contracting {rc} and batch {rb}.")
    count = sizes.shape[-1]
    if free and (y.shape[groups[0]] != count if offset is None else y.shape[groups[0]] > count):
        raise TypeError(f"ragged_dot_general: expected rhs group dimension size to be {count}, got {y.shape[groups[0]]}: there "
                        f"are {count} group_sizes.")
    same = without(range(x.ndim), (*lc, *lb)) if free else lb if ragged in lb else lc
    outer = (*(lb if ragged not in lb else ()), *same[:same.index(ragged)])
    expected = (*(x.shape[d] for d in outer), count)
    if sizes.ndim > 1 and sizes.shape != expected:
        raise TypeError(f"ragged_dot_general: expected group_sizes to have shape {expected}, got {sizes.shape}; sizes of shape "
                        f"{(count,)} are those of all.")
    return ragged, outer


def _members(x: ShapedArray, sizes: Any, ragged: int, outer: Ints, offset: Any, count: int) -> Any:
    """Which positions of lhs are in group g: bools of shape (groups, *lhs.shape)."""
    sizes = cast(sizes, _INT32)
    last = aval_of(sizes).ndim - 1
    ends = cumsum(sizes, last)
    starts = sub_p.bind(ends, sizes)
    if offset is not None:
        first = reshaped(offset, ())
        starts, ends = (dynamic_slice_in_dim(v, first, count, last) for v in (starts, ends))
    dims = tuple(d + 1 for d in outer) if last else ()
    spread = lambda v: broadcast_in_dim_p.bind(moveaxis(v, last, 0), shape=(count, *x.shape), broadcast_dimensions=(0, *dims))
    row = iota_p.bind(dtype=_INT32, shape=(count, *x.shape), dimension=ragged + 1)
    return and_p.bind(ge_p.bind(row, spread(starts)), lt_p.bind(row, spread(ends)))


def ragged_dot_general(lhs: Any, rhs: Any, group_sizes: Any, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                       precision: Any = None, preferred_element_type: Any = None, group_offset: Any = None,
                       out_sharding: Any = None) -> Any:
    """dot_general in which one axis of lhs is cut into consecutive groups of sizes `group_sizes`.

    The ragged axis of lhs is
    - not contracted: rhs has one more axis that numbers groups; each row of lhs meets the rhs of its group;
    - contracted: the result has a leading axis of groups, each with the sum over its part;
    - a batch axis: as dot_general.
    Positions after the last group give zeros. group_sizes: integers [groups], or with the axes of lhs in front that stand
    outside of the ragged one. group_offset: [1], the first of the groups that rhs holds (or the result, when the ragged axis
    is contracted), None: 0.

    TypeError when shapes, axes or dtypes don't fit. The result's dtype is that of dot_general.
    """
    if out_sharding is not None:
        return divided("ragged_dot_general", lambda x, y, n: ragged_dot_general(
            x, y, n, ragged_dot_dimension_numbers, precision, preferred_element_type, group_offset), out_sharding, lhs, rhs,
            group_sizes)
    numbers = ragged_dot_dimension_numbers
    x, y = aval_of(lhs), aval_of(rhs)
    ragged, outer = _checked(x, y, aval_of(group_sizes), numbers, group_offset)
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    count = y.shape[numbers.rhs_group_dimensions[0]] if numbers.rhs_group_dimensions else aval_of(group_sizes).shape[-1]
    inside = _members(x, group_sizes, ragged, outer, group_offset, count)
    if ragged in lb:
        inside = reduce_or_p.bind(inside, axes=(0,))
        return dot_general(_masked(inside, lhs), rhs, ((lc, rc), (lb, rb)), **options)
    parts = _masked(inside, broadcast_in_dim_p.bind(lhs, shape=(count, *x.shape),
                                                    broadcast_dimensions=tuple(range(1, x.ndim + 1))))
    up = lambda dims: tuple(d + 1 for d in dims)
    if ragged in lc:
        out = dot_general(parts, rhs, ((up(lc), rc), (up(lb), rb)), **options)
        return moveaxis(out, len(lb), 0)
    group = numbers.rhs_group_dimensions[0]
    return dot_general(parts, rhs, (((0, *up(lc)), (group, *rc)), (up(lb), rb)), **options)


def _masked(inside: Any, x: Any) -> Any:
    zeros = filled(np.zeros((), aval_of(x).dtype), aval_of(x).shape)
    return select_n_p.bind(inside, zeros, x)


def ragged_dot(lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None,
               group_offset: Any = None, out_sharding: Any = None) -> Any:
    """lhs[m, k] times the matrices rhs[g, k, n]: consecutive rows, group_sizes[i] of them, meet rhs[i]; [m, n].

    See ragged_dot_general.

    >>> x, w = np.ones((3, 1), np.float32), np.float32([[[2]], [[5]]])
    >>> ragged_dot(x, w, np.int32([1, 2])).tolist()
    [[2.0], [5.0], [5.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset, out_sharding)


# ------------------------------------------------------------------------------------------------ scaled_dot

def scaled_dot(lhs: Any, rhs: Any, *, lhs_scale: Any = None, rhs_scale: Any = None,
               dimension_numbers: DotDimensionNumbers | None = None, preferred_element_type: Any = None) -> Any:
    """dot_general of (lhs * lhs_scale) and (rhs * rhs_scale), where a scale stands for a block of contracted elements.

    A scale has the operand's shape, but for the contracted axis, whose size it divides: at least two elements share a
    factor. None: 1. dimension_numbers: as dot_general's with one contracted axis; default: products of matrices, with one
    batch axis for three axes. preferred_element_type: dtype of the result, bfloat16 when None. Products are formed and added
    in float32 (or the preferred dtype, if that is wider).

    TypeError when a scale's shape doesn't fit.

    >>> scaled_dot(np.float32([[1, 2]]), np.float32([[3], [4]]), lhs_scale=np.float32([[2]])).tolist()
    [[22.0]]
    """
    x, y = aval_of(lhs), aval_of(rhs)
    numbers = _default_numbers(x, y) if dimension_numbers is None else dimension_numbers
    (lc, rc), _ = numbers
    if len(lc) != 1 or len(rc) != 1:
        raise TypeError(f"scaled_dot expects one contracting dimension, got {tuple(lc)} and {tuple(rc)}")
    out = dtypes.canonicalize_dtype(dtypes.bfloat16 if preferred_element_type is None else preferred_element_type)
    wide = dtypes.common_dtype(out, np.dtype(np.float32))
    left = _scaled("LHS", lhs, lhs_scale, operator.index(lc[0]), wide)
    right = _scaled("RHS", rhs, rhs_scale, operator.index(rc[0]), wide)
    product = dot_general(left, right, numbers, preferred_element_type=wide)
    return product if wide == out else cast(product, out)


def _default_numbers(x: ShapedArray, y: ShapedArray) -> DotDimensionNumbers:
    if x.ndim != y.ndim or x.ndim < 2:
        raise TypeError("scaled_dot expects matrices, or equally many batch axes in front of them, got shapes "
                        f"{x.shape} and {y.shape}; give dimension_numbers for others")
    batch = tuple(range(x.ndim - 2))
    return ((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)


def _scaled(side: str, x: Any, scale: Any, axis: int, wide: np.dtype) -> Any:
    """x * scale in the wide dtype, every factor repeated along the contracted axis."""
    convert = lambda v: cast(v, wide)
    if scale is None:
        return convert(x)
    shape, own = aval_of(x).shape, aval_of(scale).shape
    if len(own) != len(shape):
        raise TypeError(f"scaled_dot: {side} of shape {shape} and its scale of shape {own} must have equally many dimensions.")
    for d, (n, m) in enumerate(zip(shape, own, strict=True)):
        if d != axis and n != m:
            raise TypeError(f"scaled_dot: {side} dim {d} of size {n} does not match scale dim size {m}.")
    if not own[axis] or shape[axis] % own[axis]:
        raise TypeError(f"scaled_dot: {side} contracting dim {axis} of size {shape[axis]} must be divisible by its scale's "
                        f"dim size {own[axis]}.")
    times = shape[axis] // own[axis]
    if times < 2 and own[axis] > 1:
        raise TypeError(f"scaled_dot: the ratio of {side} contracting dim {axis} to its scale's dim size ({times}) must be at "
                        "least 2.")
    apart = (*own[:axis + 1], times, *own[axis + 1:])
    dims = tuple(d + (d > axis) for d in range(len(own)))
    factors = broadcast_in_dim_p.bind(convert(scale), shape=apart, broadcast_dimensions=dims)
    return mul_p.bind(convert(x), reshaped(factors, shape))
