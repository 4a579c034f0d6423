"""Linear recurrences y[k] = a[k] y[k-1] + b[k], of which the derivatives of cumulative functions consist.

The family is closed under differentiation: tangents and cotangents are linear recurrences again.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Op, PerArg, Samples, Undefined
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import insert
from numjet.lax.elementwise.arithmetic import add_p, mul_p
from numjet.lax.elementwise.bitwise import not_p
from numjet.lax.operands import converted, scalar, where
from numjet.lax.reduction.parallel_prefix import prefix_hlo
from numjet.lax.reduction.reduce import accumulator
from numjet.lax.shape.join import choose, pad_p
from numjet.lax.shape.rearrange import filled
from numjet.lax.templates import aligned_batch, kind_of


def before(x: Any, axis: int, reverse: bool, fill: complex) -> Any:
    """out[k] = x[k-1] (reverse: x[k+1]), the element that a recurrence visits before, and `fill` for the first."""
    shifted = (-1, 1, 0) if reverse else (1, -1, 0)
    config = insert(((0, 0, 0),) * (aval_of(x).ndim - 1), axis, shifted)
    return pad_p.bind(x, scalar(fill, aval_of(x).dtype), padding_config=config)


def is_end(x: Any, axis: int, reverse: bool, last: bool) -> Any:
    """Where the element is the first (the last) that a recurrence visits; of any size, which may be 0."""
    nowhere = filled(scalar(False, np.dtype(bool)), aval_of(x).shape)
    return before(nowhere, axis, reverse != last, True)


def product_where(condition: Any, x: Any, y: Any) -> Any:
    """x * y where the condition holds, else 0; without derivatives elsewhere, whatever x and y are there."""
    return mul_p.bind(where(condition, x, 0), where(condition, y, 0))


def _abstract(a: ShapedArray, b: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        raise TypeError(f"linear_recurrence requires operands of one shape and dtype, got {a} and {b}.")
    if kind_of(a.dtype) not in "fc":
        raise TypeError(f"linear_recurrence requires floats or complex numbers, got {dtypes.long_name(a.dtype)}.")
    if not 0 <= axis < a.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of shape {a.shape}")
    return a


def _eager(a: np.ndarray, b: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
    factors, out = (np.moveaxis(x.astype(accumulator(x.dtype)), axis, 0) for x in (a, b))
    steps = range(out.shape[0])
    with np.errstate(all="ignore"):
        for k, previous in zip(*((steps[-2::-1], steps[:0:-1]) if reverse else (steps[1:], steps)), strict=False):
            out[k] += factors[k] * out[previous]
        return np.moveaxis(out, 0, axis).astype(a.dtype)


def _factor_jvp(t: Any, out: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """The recurrence of t[k] y[k-1], whose first term is 0.

    So the second factor is of no effect. It is left out, as the tangent 0 times an infinity would be NaN.
    """
    first = is_end(a, axis, reverse, False)
    terms = product_where(not_p.bind(first), t, before(out, axis, reverse, 0))
    return linear_recurrence_p.bind(where(before(first, axis, reverse, False), 0, a), terms, axis=axis, reverse=reverse)


def _transpose(ct: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> list[Any]:
    if isinstance(a, Undefined):
        raise NotImplementedError("Transpose rule of 'linear_recurrence': it is linear in its second operand only")
    return [None, linear_recurrence_p.bind(before(a, axis, not reverse, 0), ct, axis=axis, reverse=not reverse)]


def _cpu(b: Any, factors: Any, terms: Any, *, axis: int, reverse: bool) -> Any:
    dtype, wide = terms.dtype, accumulator(terms.dtype)

    def step(previous: Any, index: Sequence[Any]) -> Any:
        factor, term = (b.convert(b.read(x, *index), wide) for x in (factors, terms))
        return b.add(b.mul(factor, previous), term)

    def first(index: Sequence[Any]) -> Any:
        return b.convert(b.read(terms, *index), wide)
    return converted(b, serial_scan(b, terms.shape, wide, axis, reverse, first, step), dtype)


def serial_scan(b: Any, shape: Sequence[int], dtype: Any, axis: int, reverse: bool, first: Any, step: Any) -> Any:
    """Lowering of scans that b.prefix does not know: element after element, each from the one before.

    first(index) -> scalar; step(scalar before, index) -> scalar.
    """
    n = shape[axis]
    out = b.empty(shape, dtype)

    def body(*index: Any) -> None:
        k, others = index[axis], (*index[:axis], *index[axis + 1:])
        at, previous = (insert(others, axis, i) for i in ((n - 1 - k, n - k) if reverse else (k, k - 1)))
        b.store(out, at, choose(b, k < 1, lambda: first(at), lambda: step(b.read(out, *previous), at)))
    b.loop(shape, body, ordered=True)
    return out


def _compose(first: Sequence[Any], then: Sequence[Any]) -> list[Any]:
    """The map y -> a y + b that does one step after the other."""
    (a, b), (c, d) = first, then
    return [mul_p.bind(a, c), add_p.bind(mul_p.bind(c, b), d)]


linear_recurrence_p: Op = Op(
    name="linear_recurrence", params=("axis", "reverse"),
    abstract=_abstract, eager=_eager,
    jvp=PerArg(
        _factor_jvp,
        lambda t, out, a, b, axis, reverse: linear_recurrence_p.bind(a, t, axis=axis, reverse=reverse)),
    transpose=_transpose, batch=aligned_batch(lambda: linear_recurrence_p, "axis"), cpu=_cpu,
    hlo=prefix_hlo(_compose, result=1), linear_in=(1,),
    samples=Samples(
        shapes=[[s, s] for s in ((4,), (7,), (2, 5, 3), (2, 5), (0, 3), (1,), (3, 20), (20, 3))],
        params=tuple({"axis": a, "reverse": r} for a, r in (
            (0, False), (0, True), (1, False), (1, True), (0, False), (0, True), (1, True), (0, False))),
        dtypes=("float32", "float64", "float16", "bfloat16", "complex64"), ulps=32))
