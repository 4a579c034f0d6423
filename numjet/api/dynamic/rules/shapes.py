"""Reshapes, reversals and tiles: elements are read from where they are in the padded array."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from numjet.api.dynamic.arrays import modulo, plus, positions, quotient, steps, take, times
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.core.trace import aval_of
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.lax.shape.leading import from_end_p
from numjet.lax.shape.rearrange import reshape_p, transpose_p

Avals = Sequence[ShapedArray]


@rule("rev")
def _reversed(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dimensions: Any) -> Any:
    x = xs[0]
    for axis in dimensions:
        n = avals[0].shape[axis]
        if is_symbolic((n,)):
            x = from_end_p.bind(x, trace.size(n), axis=axis)
        else:
            x = op.bind(x, dimensions=(axis,))
    return x


@rule("tile")
def _tiled(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, reps: Any) -> Any:
    x = xs[0]
    for axis, n in enumerate(avals[0].shape):
        if isinstance(n, Dimension) or isinstance(reps[axis], Dimension):
            x = take(x, modulo(steps(trace.shape(out.shape)[axis]), trace.size(n)), axis)
    rest = tuple(1 if isinstance(n, Dimension) or isinstance(r, Dimension) else r
                 for n, r in zip(avals[0].shape, reps, strict=True))
    return op.bind(x, reps=rest) if any(r != 1 for r in rest) else x


@rule("reshape")
def _reshaped(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, new_sizes: Any,
              dimensions: Any = None) -> Any:
    x, old = xs[0], avals[0].shape
    if dimensions is not None:
        x, old = transpose_p.bind(x, permutation=dimensions), tuple(old[d] for d in dimensions)
    padded = trace.shape(out.shape)
    if _keeps_places(old, out.shape) and prod(padded) == prod(aval_of(x).shape):
        return reshape_p.bind(x, new_sizes=padded, dimensions=None)
    if max(prod(padded), prod(aval_of(x).shape)) > 2 ** 31 - 1:
        raise NotImplementedError(f"reshape of computed sizes from {old} to {out.shape}: the bounds allow more than 2**31 "
                                  "elements; bound the sizes, jnp.minimum(n, 1000)")
    source = _sources(trace, old, out.shape, aval_of(x).shape)
    flat = take(reshape_p.bind(x, new_sizes=(prod(aval_of(x).shape),), dimensions=None), source, 0)
    return reshape_p.bind(flat, new_sizes=padded, dimensions=None)


def _keeps_places(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether elements have the same positions in both padded arrays: but for axes of size 1, the sizes from the last axis on
    are the same known ones up to one symbolic axis in front of them, or all are the same."""
    a, b = ([n for n in shape if not _is_one(n)] for shape in (old, new))
    if a == b:
        return True
    return not any(isinstance(n, Dimension) for n in (*a[1:], *b[1:]))


def _is_one(n: Any) -> bool:
    return not isinstance(n, Dimension) and n == 1


def _sources(trace: PaddingTrace, old: Sequence[Any], new: Sequence[Any], have: Sequence[int]) -> Any:
    """For each position of the padded result that of its element in the padded operand: by its row-major index."""
    shape = trace.shape(new)
    index: Any = None
    for axis, n in enumerate(new):
        along = positions(shape, axis)
        index = along if index is None else plus(times(index, trace.size(n)), along)
    index = reshape_p.bind(index, new_sizes=(prod(shape),), dimensions=None) if shape else steps(1)
    source: Any = None
    stride = 1
    for n, padded in zip(reversed(old), reversed(have), strict=True):
        part = times(modulo(index, trace.size(n)), stride)
        source = part if source is None else plus(source, part)
        index = quotient(index, trace.size(n))
        stride *= padded
    return steps(prod(shape)) if source is None else source
