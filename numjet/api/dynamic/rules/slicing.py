"""Slices and pads: the places of elements move by numbers that the program computes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import (
    between,
    chosen,
    clamped,
    constant,
    minus,
    modulo,
    narrow,
    plus,
    positions,
    quotient,
    steps,
    take,
)
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.core.trace import aval_of
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.lax.axes import replace
from numjet.lax.elementwise.arithmetic import mul_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import eq_p
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.shape.join import pad_p

Avals = Sequence[ShapedArray]


def part(trace: PaddingTrace, x: Any, axis: int, start: Any, size: Any, stride: int = 1) -> Any:
    """x[start : start + size * stride : stride] along an axis, padded. start: a size, or an int32 of the program in bounds."""
    have, count = aval_of(x).shape, trace.shape((size,))[0]
    if isinstance(start, (int, np.integer)):
        limit = start + max(count - 1, 0) * stride + min(count, 1)
        if (start, limit, stride) == (0, have[axis], 1):
            return x
        if limit <= have[axis]:
            return slice_p.bind(x, start_indices=replace((0,) * len(have), axis, start),
                                limit_indices=replace(have, axis, limit), strides=replace((1,) * len(have), axis, stride))
    first = trace.size(start) if isinstance(start, Dimension) else start
    return take(x, plus(mul_p.bind(steps(count), np.int32(stride)), first), axis)


@rule("slice")
def _slice(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, start_indices: Any,
           limit_indices: Any, strides: Any = None) -> Any:
    x = xs[0]
    for axis, n in enumerate(avals[0].shape):
        start, limit, stride = start_indices[axis], limit_indices[axis], 1 if strides is None else strides[axis]
        if is_symbolic((n, start, limit)) or (start, limit, stride) != (0, n, 1):
            x = part(trace, x, axis, start, out.shape[axis], stride)
    return x


@rule("split")
def _split(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, outs: Avals, *, sizes: Any, axis: int) -> list[Any]:
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [part(trace, xs[0], axis, start, size) for start, size in zip(starts, sizes, strict=True)]


@rule("pad")
def _pad(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, padding_config: Any) -> Any:
    x, value = xs
    fixed = tuple((0, 0, 0) if isinstance(n, Dimension) or is_symbolic(c) else c
                  for n, c in zip(avals[0].shape, padding_config, strict=True))
    if any(any(c) for c in fixed):
        x = pad_p.bind(x, value, padding_config=fixed)
    for axis, config in enumerate(padding_config):
        n = avals[0].shape[axis]
        if (isinstance(n, Dimension) or is_symbolic(config)) and any(c != 0 for c in config):
            x = _padded_axis(trace, x, value, axis, n, out.shape[axis], config)
    return x


def _padded_axis(trace: PaddingTrace, x: Any, value: Any, axis: int, n: Any, size: Any, config: Any) -> Any:
    """Element i of the result is element (i - low) / (interior + 1), where that is a whole number in bounds."""
    low, _, interior = config
    count = trace.shape((size,))[0]
    places = minus(steps(count), trace.size(low))
    x = take(x, clamped(quotient(places, interior + 1), trace.size(n - 1)), axis)
    shape = aval_of(x).shape
    places = minus(positions(shape, axis), trace.size(low))
    held = between(places, 0, trace.size((n - 1) * (interior + 1)))
    if interior:
        held = and_p.bind(held, eq_p.bind(modulo(places, interior + 1), np.int32(0)))
    return chosen(held, x, value)


@rule("dynamic_slice")
def _dynamic_slice(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, slice_sizes: Any) -> Any:
    x, *starts = xs
    fixed = [not is_symbolic((n, s)) for n, s in zip(avals[0].shape, slice_sizes, strict=True)]
    for axis, (n, size, start) in enumerate(zip(avals[0].shape, slice_sizes, starts, strict=True)):
        if not fixed[axis] and n != size:
            x = part(trace, x, axis, clamped(narrow(start), trace.size(n - size)), size)
    if not any(fixed):
        return x
    zero = constant(0, aval_of(starts[0]).dtype)
    sizes = [s if f else have for s, f, have in zip(slice_sizes, fixed, aval_of(x).shape, strict=True)]
    return op.bind(x, *[s if f else zero for s, f in zip(starts, fixed, strict=True)], slice_sizes=tuple(sizes))


@rule("dynamic_update_slice")
def _dynamic_update(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray) -> Any:
    """The update is read at the places that it covers, so that its padding covers none."""
    x, update, *starts = xs
    sizes, parts = avals[0].shape, avals[1].shape
    shape = aval_of(x).shape
    covered: Any = None
    for axis, (n, size, start) in enumerate(zip(sizes, parts, starts, strict=True)):
        if n == size:
            continue
        first = clamped(narrow(start), trace.size(n - size))
        update = take(update, clamped(minus(steps(shape[axis]), first), trace.size(size - 1)), axis)
        held = between(minus(positions(shape, axis), first), 0, trace.size(size - 1))
        covered = held if covered is None else and_p.bind(covered, held)
    return update if covered is None else chosen(covered, update, x)
