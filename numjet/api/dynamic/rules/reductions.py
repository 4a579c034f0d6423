"""Reductions, prefix sums, sorts and products of matrices: padding gets a value that changes nothing."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import chosen, constant, positions
from numjet.api.dynamic.trace import PaddingTrace, here, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.foundation import dtypes
from numjet.foundation.dimension import is_symbolic
from numjet.lax.axes import without
from numjet.lax.elementwise.bitwise import or_p
from numjet.lax.elementwise.compare import eq_p, ne_p
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.reduction.reduce import IDENTITIES, highest, lowest, reduce_max_p, reduce_min_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.templates import kind_of

Avals = Sequence[ShapedArray]


@rule("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")
def _reduction(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, axes: Any) -> Any:
    assert op.reduces is not None
    return op.bind(trace.masked(xs[0], avals[0], IDENTITIES[op.reduces](avals[0].dtype), axes), axes=axes)


@rule("argmax", "argmin")
def _argument(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, axes: Any,
              index_dtype: Any) -> Any:
    """The first of equal elements is found, and elements come before padding."""
    n = avals[0].shape[axes[0]]
    if is_symbolic((n,)):
        trace.expect(n - 1, f"{op.name} of an empty array{here()}")
    if avals[0].dtype.kind != "b" and kind_of(avals[0].dtype) in "fiu":
        return _first_place(trace, op.name, xs[0], avals[0], axes, index_dtype)
    worst = (lowest if op.name == "argmax" else highest)(avals[0].dtype)
    return op.bind(trace.masked(xs[0], avals[0], worst, axes), axes=axes, index_dtype=index_dtype)


def _first_place(trace: PaddingTrace, name: str, x: Any, aval: ShapedArray, axes: Any, index_dtype: Any) -> Any:
    """The first place of the greatest or least element, or of a NaN, by two reductions, which end where the elements do."""
    axis, = axes
    shape = trace.shape(aval.shape)
    largest = name == "argmax"
    known = trace.masked(x, aval, (lowest if largest else highest)(aval.dtype), axes)
    best = (reduce_max_p if largest else reduce_min_p).bind(known, axes=axes)
    spread = broadcast_in_dim_p.bind(best, shape=shape, broadcast_dimensions=without(range(len(shape)), axes))
    held = eq_p.bind(x, spread)
    if kind_of(aval.dtype) == "f":
        held = or_p.bind(held, ne_p.bind(x, x))
    most = constant(dtypes.iinfo(index_dtype).max, np.dtype(index_dtype))
    place = chosen(held, positions(shape, axis) if index_dtype == np.int32 else convert_element_type(
        positions(shape, axis), np.dtype(index_dtype)), most)
    return reduce_min_p.bind(trace.masked(place, aval.update(dtype=np.dtype(index_dtype)), most, axes), axes=axes)


_PREFIX_IDENTITIES: dict[str, Callable[[np.dtype], Any]] = {
    "cumsum": IDENTITIES["add"], "cumprod": IDENTITIES["mul"], "cummax": lowest, "cummin": highest, "cumlogsumexp": lowest}


@rule(*_PREFIX_IDENTITIES)
def _prefix(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, axis: int, reverse: bool) -> Any:
    """From the front, elements come before padding; from the back, padding is the identity."""
    fill = _PREFIX_IDENTITIES[op.name](avals[0].dtype)
    return op.bind(trace.masked(xs[0], avals[0], fill, (axis,)) if reverse else xs[0], axis=axis, reverse=reverse)


@rule("linear_recurrence")
def _recurrence(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, axis: int,
                reverse: bool) -> Any:
    """As prefix sums: terms of zero in the padding leave zero behind the elements."""
    terms = trace.masked(xs[1], avals[1], 0, (axis,)) if reverse else xs[1]
    factors = trace.masked(xs[0], avals[0], 0, (axis,)) if reverse else xs[0]
    return op.bind(factors, terms, axis=axis, reverse=reverse)


def _last(dtype: np.dtype) -> Any:
    """A value that no other comes after in sorted order."""
    if kind_of(dtype) == "f":
        return np.nan if dtypes.finfo(dtype).bits > 8 else highest(dtype)
    return complex(np.nan, np.nan) if kind_of(dtype) == "c" else highest(dtype)


@rule("sort")
def _sort(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, outs: Avals, *, dimension: int, is_stable: bool,
          num_keys: int) -> Any:
    """Keys of padding are the last ones; where elements have them too, those come first, as the sort is stable."""
    keys = [trace.masked(x, a, _last(a.dtype), (dimension,)) for x, a in zip(xs[:num_keys], avals, strict=False)]
    return op.bind(*keys, *xs[num_keys:], dimension=dimension, is_stable=True, num_keys=num_keys)


@rule("top_k")
def _top_k(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, outs: Avals, *, k: int, axis: int) -> list[Any]:
    """There are at least k elements, which come before padding that is equal to them."""
    return op.bind(trace.masked(xs[0], avals[0], lowest(avals[0].dtype), (axis,)), k=k, axis=axis)


@rule("dot_general")
def _product(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dimension_numbers: Any,
             **params: Any) -> Any:
    """Padding along contracted axes is zero on both sides: a NaN times zero would be NaN."""
    contracted, _ = dimension_numbers
    masked = [trace.masked(x, a, 0, axes) for x, a, axes in zip(xs, avals, contracted, strict=True)]
    return op.bind(*masked, dimension_numbers=dimension_numbers, **params)
