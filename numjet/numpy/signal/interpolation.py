"""Interpolation and phase unwrapping: interp, unwrap."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import arithmetic, bitwise, compare
from numjet.lax.indexing import slicing
from numjet.lax.reduction.sort import sort_key_val
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg, as_dtype, literal, operand, promote_args_inexact
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.cumulative import cumsum
from numjet.numpy.reduction.reductions import sum as total
from numjet.numpy.ufuncs.arithmetic import remainder

_FEW = 64  # up to here intervals are found by comparing with all knots at once


@jit_when_eager("left", "right", "period")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The piecewise linear function through the points (xp, fp), at x.

    xp: increasing, one-dimensional, as fp. left, right: values below and above xp (default: those at its ends; the string
    "extrapolate" continues the line). period: xp and x are taken modulo it. ValueError for other shapes and period 0.

    >>> import numjet.numpy as jnp
    >>> interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
    Array(15., dtype=float32)
    """
    promotion.check_arraylike("interp", x, xp, fp)
    for name, v in (("left", left), ("right", right)):
        if isinstance(v, str) and v != "extrapolate":
            raise ValueError(f"the only valid string value of `{name}` is 'extrapolate', but got: {v!r}")
    xp, fp = array_arg("interp", xp, 1), array_arg("interp", fp, 2)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_args_inexact("interp", x, xp)
    (fp,) = promote_args_inexact("interp", fp)
    if dtypes.issubdtype(xp.dtype, np.complexfloating):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    out = _evaluate(x, xp, fp, left, right)
    return out if x.weak_type and xp.weak_type and fp.weak_type else promotion.strong_array(out)


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Points within one period, sorted, with the neighbours from the periods before and after."""
    if isinstance(period, (int, float)) and period == 0:
        raise ValueError(f"period must be a non-zero value; got {period}")
    span = as_dtype(operand("interp", period), xp.dtype)
    if span.aval.shape:
        raise ValueError(f"period must be a scalar; got shape {span.aval.shape}")
    span = arithmetic.abs_p.bind(span)
    x, xp = remainder(x, span), remainder(xp, span)
    xp, fp = sort_key_val(xp, fp, 0)
    n = xp.shape[0]
    first, last = slicing.slice_in_dim(xp, 0, 1), slicing.slice_in_dim(xp, n - 1, n)
    xp = join.concatenate([arithmetic.sub_p.bind(last, span), xp, arithmetic.add_p.bind(first, span)], 0)
    fp = join.concatenate([slicing.slice_in_dim(fp, n - 1, n), fp, slicing.slice_in_dim(fp, 0, 1)], 0)
    return x, xp, fp


def _interval(x: Any, xp: Any) -> Any:
    """The index of the knot to the right of x, in 1 ... n - 1."""
    n = xp.shape[0]
    if n <= _FEW:
        wide = (*x.shape, n)
        positions = rearrange.broadcast_in_dim(xp, wide, (x.ndim,))
        passed = compare.le_p.bind(positions, rearrange.broadcast_in_dim(x, wide, range(x.ndim)))
        count = total(passed, -1)
    else:
        count = _bisect(xp, x)
    return compare.max(compare.min(count, n - 1), 1)


def _bisect(xp: Any, x: Any) -> Any:
    """Binary search for the number of knots <= x: one step for each bit of their number."""
    n = xp.shape[0]
    count: Any = create.full(x.shape, np.int32(0))
    for bit in reversed(range(n.bit_length())):
        more = arithmetic.add(count, 1 << bit)
        knot = getitem(xp, arithmetic.sub(compare.min(more, n), 1))
        reached = bitwise.bitwise_and(compare.le(more, n), compare.le_p.bind(knot, x))
        count = compare.select(reached, more, count)
    return count


def _evaluate(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = xp.shape[0]
    if n == 1:
        base = promotion.broadcast_to(getitem(fp, 0), x.shape)
    else:
        i = _interval(x, xp)
        before = arithmetic.sub(i, 1)
        f0, f1, x0, x1 = getitem(fp, before), getitem(fp, i), getitem(xp, before), getitem(xp, i)
        width, rise = arithmetic.sub_p.bind(x1, x0), arithmetic.sub_p.bind(f1, f0)
        flat = compare.le_p.bind(arithmetic.abs_p.bind(width), literal(float(dtypes.finfo(xp.dtype).tiny), xp.dtype))
        share = arithmetic.div_p.bind(arithmetic.sub_p.bind(x, x0), choose_by("interp", flat, literal(1.0, xp.dtype), width))
        share, rise = promotion.operands("interp", share, rise)
        above = arithmetic.mul_p.bind(share, rise)
        base = choose_by("interp", flat, f0, arithmetic.add_p.bind(*promotion.operands("interp", f0, above)))
    if not isinstance(left, str):
        value = getitem(fp, 0) if left is None else as_dtype(operand("interp", left), fp.dtype)
        base = choose_by("interp", compare.lt_p.bind(x, getitem(xp, 0)), value, base)
    if not isinstance(right, str):
        value = getitem(fp, n - 1) if right is None else as_dtype(operand("interp", right), fp.dtype)
        base = choose_by("interp", compare.gt_p.bind(x, getitem(xp, n - 1)), value, base)
    return base


@jit_when_eager("discont", "axis", "period")
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """p with multiples of `period` added so that neighbours along `axis` differ by at most half of it.

    discont: only jumps above it are changed (default: half the period).

    >>> import numjet.numpy as jnp
    >>> unwrap(jnp.array([0, 3, 4, 1]), period=4).tolist()
    [0, -1, 0, 1]
    """
    p = array_arg("unwrap", p)
    if dtypes.issubdtype(p.dtype, np.complexfloating):
        raise ValueError("jnp.unwrap: complex input is not supported")
    if p.ndim == 0:
        raise ValueError("jnp.unwrap: expected an array with an axis, got rank 0")
    at = as_axis(axis, p.ndim)
    dtype = dtypes.result_type(p, period)
    p = promotion.strong_array(as_dtype(p, dtype))
    if not p.shape[at]:
        return p
    n = p.shape[at]
    jumps = arithmetic.sub_p.bind(slicing.slice_in_dim(p, 1, n, axis=at), slicing.slice_in_dim(p, 0, n - 1, axis=at))
    whole = as_dtype(operand("unwrap", period), dtype)
    corrected = _small_jumps(jumps, whole)
    change = arithmetic.sub_p.bind(corrected, jumps)
    size = jumps if dtypes.issubdtype(dtype, np.unsignedinteger) else arithmetic.abs_p.bind(jumps)
    small = compare.lt_p.bind(size, _limit(discont, whole))   # which rounding would change, too
    change = choose_by("unwrap", small, literal(0, dtype), change)
    moved = arithmetic.add_p.bind(slicing.slice_in_dim(p, 1, n, axis=at), cumsum(change, at))
    return join.concatenate([slicing.slice_in_dim(p, 0, 1, axis=at), moved], at)


def _limit(discont: Any, period: Any) -> Any:
    """What jumps that stay are smaller than, in the dtype of the period: of integers rounded up."""
    dtype = aval_of(period).dtype
    whole = dtypes.issubdtype(dtype, np.integer)
    if discont is None:
        odd = arithmetic.rem_p.bind(period, literal(2, dtype)) if whole else literal(0, dtype)
        return arithmetic.div_p.bind(arithmetic.add_p.bind(period, odd), literal(2, dtype))
    given = operand("unwrap", discont)
    rounds = whole and dtypes.issubdtype(aval_of(given).dtype, np.floating)
    return as_dtype(arithmetic.ceil(given) if rounds else given, dtype)


def _small_jumps(jumps: Any, period: Any) -> Any:
    """Jumps modulo the period, in [-period / 2, period / 2); of a jump of half a period up the sign stays."""
    dtype = jumps.dtype
    whole = dtypes.issubdtype(dtype, np.integer)
    half = arithmetic.div_p.bind(period, literal(2, dtype))
    low = arithmetic.neg_p.bind(half)
    shifted = remainder(arithmetic.sub(jumps, low), period)
    out = arithmetic.add(shifted, low)
    at_half = compare.eq_p.bind(out, low)
    if whole:
        even = compare.eq(arithmetic.rem_p.bind(period, literal(2, dtype)), 0)
        at_half = at_half & promotion.broadcast_to(even, out.shape)
    up = at_half & compare.gt(jumps, literal(0, dtype))
    return choose_by("unwrap", up, half, out)
