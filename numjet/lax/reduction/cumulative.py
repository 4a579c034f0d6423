"""Cumulative reductions: cumsum, cumprod, cummax, cummin, cumlogsumexp.

All are inclusive and keep the shape. cumsum is linear. The derivatives of cumprod and cumlogsumexp are linear
recurrences; those of cummax and cummin, in which ties share, come from an associative scan (Blelloch, "Prefix sums and
their applications", 1990) of pairs (value, tangent).
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, largest, of_operand, times
from numjet.core.ir import JaxprEqn
from numjet.core.op import LINEAR, Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES, NONE, SCANS_OPERAND, Traits
from numjet.foundation import dtypes
from numjet.lax.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, neg_p, round as round_arrays, sub_p
from numjet.lax.elementwise.bitwise import and_p, not_p, or_p
from numjet.lax.elementwise.compare import eq_p, ge_p, max_p
from numjet.lax.elementwise.convert import complex_p, imag_p, real_p
from numjet.lax.elementwise.transcendental import exp_p, log1p_p
from numjet.lax.operands import scalar, where
from numjet.lax.reduction.parallel_prefix import associative_scan, flip, prefix_hlo
from numjet.lax.reduction.recurrence import before, is_end, linear_recurrence_p, product_where, serial_scan
from numjet.lax.reduction.reduce import accumulator, complex_better
from numjet.lax.shape.rearrange import filled
from numjet.lax.tangent import add_any_p
from numjet.lax.templates import aligned_batch, call, kind_of

Values = Sequence[Any]


# -------------------------------------------------------------------------------------------- shared

def _abstract(name: str, accepts: str) -> Callable[..., ShapedArray]:
    def abstract(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if kind_of(x.dtype) not in accepts:
            wanted = "number" if "i" in accepts else "inexact"
            raise TypeError(f"{name} does not accept dtype {dtypes.long_name(x.dtype)}. "
                            f"Accepted dtypes are subtypes of {wanted}.")
        if axis < 0:
            raise ValueError(f"{name}: expected an axis that is not negative, got {axis} for an array of shape "
                             f"{x.shape}; numjet.numpy functions count negative axes from the end")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        return x
    return abstract


def _eager(run: Callable[[np.ndarray, int], np.ndarray]) -> Callable[..., np.ndarray]:
    def eager(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        values = x.astype(accumulator(x.dtype), copy=False)
        out = np.flip(run(np.flip(values, axis), axis), axis) if reverse else run(values, axis)
        return out.astype(x.dtype, copy=False)
    return eager


def _sums(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of sums of 1 to n terms."""
    return times(known.interval(eqn.invars[0]), (1, largest(eqn.invars[0].aval.shape[eqn.params["axis"]])))


_INTERVALS = {"cumsum": _sums, "cummax": of_operand, "cummin": of_operand}


def _record(name: str, accepts: str, run: Callable[..., Any], jvp: Any, cpu: Any, hlo: Any, low: float = -2.0,
            dtype_names: Sequence[str] = (), transpose: Any = None, traits: Traits = LANES) -> Op:
    op = Op(name=name, params=("axis", "reverse"), abstract=_abstract(name, accepts), eager=_eager(run), jvp=jvp,
            interval=_INTERVALS.get(name),
            transpose=transpose or Missing(f"{name} is not linear"), batch=aligned_batch(lambda: op, "axis"), cpu=cpu, hlo=hlo,
            linear_in=(0,) if transpose else None, traits=SCANS_OPERAND | traits,
            samples=Samples(
                shapes=((4,), (7,), (2, 5, 3), (2, 5), (0, 3), (3, 0), (1, 2), (3, 20), (20, 3)),
                params=tuple({"axis": a, "reverse": r} for a, r in (
                    (0, False), (0, True), (1, False), (1, True), (0, False), (0, True), (0, False), (1, True),
                    (0, False))),
                dtypes=dtype_names, low=low, ulps=16))
    return op


def _scanned(name: str, combine: Callable[[Values, Values], Values]) -> Callable[..., tuple[Any, Any]]:
    """A jvp rule by scanning pairs (value, tangent)."""
    def jvp(primals: Values, tangents: Values, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        out = call(name, primals[0], axis=axis, reverse=reverse)
        if not aval_of(out).size:
            return out, Zero(aval_of(out))
        pair = associative_scan(combine, [flip(v, axis, reverse) for v in (primals[0], tangents[0])], axis)
        return out, flip(pair[1], axis, reverse)
    return jvp


def _prefix_cpu(kind: str, combine_complex: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def cpu(b: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        if x.dtype.kind == "c" and combine_complex is not None:
            return _serial_prefix(b, x, axis, reverse, lambda u, v: combine_complex(b, u, v))
        return b.prefix(kind, x, axis, reverse)
    return cpu


def _prefix_hlo(name: str) -> Callable[..., Any]:
    return prefix_hlo(lambda left, right: [call(name, *left, *right)])


def _serial_prefix(b: Any, x: Any, axis: int, reverse: bool, combine: Callable[[Any, Any], Any]) -> Any:
    return serial_scan(b, x.shape, x.dtype, axis, reverse, lambda index: b.read(x, *index),
                       lambda previous, index: combine(previous, b.read(x, *index)))


# -------------------------------------------------------------------------------------------- sum, product

def _cumsum_transpose(ct: Any, x: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [cumsum_p.bind(ct, axis=axis, reverse=not reverse)]


def _cumprod_jvp(primals: Values, tangents: Values, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    """y'[k] = x[k] y'[k-1] + y[k-1] x'[k]: no division, so zeros are no special case, in derivatives of any order.

    What is constant at an end is no factor there, as its tangent 0 would be NaN beside an infinity: the first element has
    no product before it, and the last term is not passed on, so it stays out of the recurrence.
    """
    x, t = primals[0], tangents[0]
    out = cumprod_p.bind(x, axis=axis, reverse=reverse)
    previous = before(out, axis, reverse, 1)
    first, last = (is_end(x, axis, reverse, end) for end in (False, True))
    passed_on = where(first, t, product_where(not_p.bind(or_p.bind(first, last)), previous, t))
    final = product_where(and_p.bind(last, not_p.bind(first)), previous, t)
    return out, add_p.bind(linear_recurrence_p.bind(x, passed_on, axis=axis, reverse=reverse), final)


_NUMBERS = ("float32", "float64", "float16", "bfloat16", "int8", "uint32", "complex64")
_ORDERED = ("float32", "float64", "float16", "bfloat16", "int8", "uint32")

cumsum_p = _record("cumsum", "iufc", lambda x, axis: x.cumsum(axis, x.dtype), LINEAR, _prefix_cpu("add"),
                   _prefix_hlo("add"), dtype_names=_NUMBERS, transpose=_cumsum_transpose)
cumprod_p = _record("cumprod", "iufc", lambda x, axis: x.cumprod(axis, x.dtype),
                    _cumprod_jvp, _prefix_cpu("mul"), _prefix_hlo("mul"), dtype_names=_NUMBERS)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """out[k] = operand[0] + ... + operand[k] along `axis`; reverse: from the end. Numbers of any dtype, kept.

    ValueError for an axis out of bounds (or negative), TypeError for bool.

    >>> cumsum(np.array([1, 2, 3], np.int32)).tolist(), cumsum(np.array([1, 2, 3], np.int32), reverse=True).tolist()
    ([1, 3, 6], [6, 5, 3])
    """
    return cumsum_p.bind(operand, axis=_axis(axis), reverse=bool(reverse))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """out[k] = operand[0] * ... * operand[k] along `axis`; reverse: from the end. Numbers of any dtype, kept.

    ValueError for an axis out of bounds (or negative), TypeError for bool. Derivatives are right at zeros.

    >>> cumprod(np.array([1, 2, 3], np.int32)).tolist()
    [1, 2, 6]
    """
    return cumprod_p.bind(operand, axis=_axis(axis), reverse=bool(reverse))


def _axis(axis: int) -> int:
    return axis if isinstance(axis, int) else operator.index(np.asarray(axis)[()])


# -------------------------------------------------------------------------------------------- maximum, minimum

def _extreme_pairs(op_name: str) -> Callable[[Values, Values], list[Any]]:
    """Of two values that tie, each gets half the derivative."""
    def combine(left: Values, right: Values) -> list[Any]:
        (a, da), (b, db) = left, right
        best = call(op_name, a, b)
        wins_a, wins_b = eq_p.bind(a, best), eq_p.bind(b, best)
        terms = [mul_p.bind(da, _share(wins_a, wins_b, aval_of(a).dtype)),
                 mul_p.bind(db, _share(wins_b, wins_a, aval_of(a).dtype))]
        return [best, add_any_p.bind(*terms)]
    return combine


def _share(wins: Any, ties: Any, dtype: np.dtype) -> Any:
    one, half = scalar(1, dtype), scalar(0.5, dtype)
    return where(wins, where(ties, half, _full(one, wins)), 0)


def _full(value: Any, like: Any) -> Any:
    return filled(value, aval_of(like).shape)


cummax_p = _record("cummax", "iufc", lambda x, axis: np.maximum.accumulate(x, axis),
                   _scanned("cummax", _extreme_pairs("max")),
                   _prefix_cpu("max", lambda b, u, v: complex_better(b, u, v, "gt")), _prefix_hlo("max"),
                   dtype_names=_ORDERED, traits=EXACT | LANES)
cummin_p = _record("cummin", "iufc", lambda x, axis: np.minimum.accumulate(x, axis),
                   _scanned("cummin", _extreme_pairs("min")),
                   _prefix_cpu("min", lambda b, u, v: complex_better(b, u, v, "lt")), _prefix_hlo("min"),
                   dtype_names=_ORDERED, traits=EXACT | LANES)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """out[k] = the greatest of operand[0], ..., operand[k] along `axis`; reverse: from the end. NaN stays once met.

    ValueError for an axis out of bounds (or negative), TypeError for bool.

    >>> cummax(np.array([1, 3, 2], np.int32)).tolist()
    [1, 3, 3]
    """
    return cummax_p.bind(operand, axis=_axis(axis), reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """out[k] = the least of operand[0], ..., operand[k] along `axis`; reverse: from the end. NaN stays once met.

    ValueError for an axis out of bounds (or negative), TypeError for bool.

    >>> cummin(np.array([2, 3, 1], np.int32)).tolist()
    [2, 2, 1]
    """
    return cummin_p.bind(operand, axis=_axis(axis), reverse=bool(reverse))


# -------------------------------------------------------------------------------------------- log of sums of exp

_TURN = 2 * math.pi


def _cumlogsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis)
    out = np.moveaxis(x.copy(), axis, 0)
    for k in range(1, out.shape[0]):
        out[k] = _logaddexp_complex(out[k - 1], out[k])
    return np.moveaxis(out, 0, axis)


def _logaddexp_complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    larger, smaller = np.where(x.real >= y.real, x, y), np.where(x.real >= y.real, y, x)
    delta = smaller - larger
    term = np.where(np.isneginf(smaller.real), 0, np.exp(delta))
    out = np.asarray(larger + np.log1p(term))
    out.imag -= _TURN * np.round(out.imag / _TURN)
    return out.astype(x.dtype)


def _logaddexp_pair(b: Any, x: Any, y: Any) -> Any:
    """log(e**x + e**y) of complex scalars, from real functions; the imaginary part is from -pi to pi."""
    first = b.compare("ge", b.real(x), b.real(y))
    big_re, big_im = (b.select(first, part(x), part(y)) for part in (b.real, b.imag))
    low_re, low_im = (b.select(first, part(y), part(x)) for part in (b.real, b.imag))
    zero, one, two = (b.const(v, big_re.dtype) for v in (0, 1, 2))
    gone = b.compare("eq", low_re, b.const(-np.inf, low_re.dtype))
    scale, angle = b.math("exp", b.sub(low_re, big_re)), b.sub(low_im, big_im)
    re = b.select(gone, zero, b.mul(scale, b.math("cos", angle)))
    im = b.select(gone, zero, b.mul(scale, b.math("sin", angle)))
    norm = b.math("log1p", b.add(b.mul(re, b.add(re, two)), b.mul(im, im)))
    turn, phase = b.const(_TURN, im.dtype), b.add(big_im, b.math("atan2", im, b.add(re, one)))
    wrapped = b.sub(phase, b.mul(turn, b.prim("round_even", b.div(phase, turn))))
    return b.complex(b.add(big_re, b.mul(norm, b.const(0.5, norm.dtype))), wrapped)


def _logaddexp(left: Values, right: Values) -> list[Any]:
    """log(e**x + e**y) of arrays; of equal infinities that infinity."""
    (x,), (y,) = left, right
    if aval_of(x).dtype.kind == "c":
        first = ge_p.bind(real_p.bind(x), real_p.bind(y))
        larger, smaller = where(first, x, y), where(first, y, x)
        gone = eq_p(real_p.bind(smaller), -np.inf)
        out = add_p.bind(larger, log1p_p.bind(where(gone, 0, exp_p.bind(sub_p.bind(smaller, larger)))))
        phase = imag_p.bind(out)
        turns = round_arrays(div_p(phase, _TURN))
        return [complex_p.bind(real_p.bind(out), sub_p.bind(phase, mul_p(turns, _TURN)))]
    larger, gap = max_p.bind(x, y), neg_p.bind(abs_p.bind(sub_p.bind(x, y)))
    total = add_p.bind(larger, log1p_p.bind(exp_p.bind(gap)))
    return [where(eq_p.bind(x, y), add_p(x, np.log(2.0).item()), total)]


def _cumlogsumexp_jvp(primals: Values, tangents: Values, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    """The tangent follows y'[k] = exp(y[k-1] - y[k]) y'[k-1] + exp(x[k] - y[k]) x'[k], a linear recurrence.

    Its weights are at most 1, and y is differentiated through this rule again, so every order is right. y[0] is x[0], also
    where that is -inf.
    """
    x, t = primals[0], tangents[0]
    out = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    previous = before(out, axis, reverse, -np.inf)
    decay, share = _weight(previous, x, out), _weight(x, previous, out)
    part = real_p.bind(x) if aval_of(x).dtype.kind == "c" else x
    share = where(and_p.bind(is_end(x, axis, reverse, False), _is(part, -np.inf)), 1, share)
    return out, linear_recurrence_p.bind(decay, mul_p.bind(share, t), axis=axis, reverse=reverse)


def _weight(a: Any, other: Any, total: Any) -> Any:
    """exp(a - total), the share of a in what it and `other` add up to.

    It is 0 where a is -inf, total then being -inf, too, perhaps. In a real total of inf infinite operands have equal shares.
    """
    dtype = aval_of(a).dtype
    part = real_p.bind(a) if dtype.kind == "c" else a
    nothing = _is(part, -np.inf)
    if dtype.kind == "c":
        return where(nothing, 0, exp_p.bind(where(nothing, 0, sub_p.bind(a, total))))
    endless = _is(total, np.inf)
    limited = or_p.bind(nothing, endless)
    all_of_it = where(_is(a, np.inf), 1, _full(scalar(0, dtype), a))
    limit = where(_is(other, np.inf), mul_p(all_of_it, 0.5), all_of_it)
    inside = exp_p.bind(sub_p.bind(where(limited, 0, a), where(limited, 0, total)))
    return where(endless, limit, where(nothing, 0, inside))


def _is(x: Any, value: float) -> Any:
    return eq_p.bind(x, _full(scalar(value, aval_of(x).dtype), x))


cumlogsumexp_p = _record("cumlogsumexp", "fc", _cumlogsumexp, _cumlogsumexp_jvp,
                         _prefix_cpu("logaddexp", _logaddexp_pair), prefix_hlo(_logaddexp),
                         dtype_names=("float32", "float64", "float16", "bfloat16", "complex64"), traits=NONE)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """out[k] = log(exp(operand[0]) + ... + exp(operand[k])) along `axis`, without overflow; reverse: from the end.

    Floats and complex numbers. ValueError for an axis out of bounds (or negative), TypeError for other dtypes.

    >>> cumlogsumexp(np.array([0, 0], np.float32)).tolist()
    [0.0, 0.6931471824645996]
    """
    return cumlogsumexp_p.bind(operand, axis=_axis(axis), reverse=bool(reverse))
