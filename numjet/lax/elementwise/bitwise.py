"""Operations on the bits of integers and on truth values."""
from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from numjet.core.intervals import Facts, Interval, by, limits
from numjet.core.ir import JaxprEqn
from numjet.core.op import SCALARS, ZERO, Missing, Op, Samples
from numjet.core.traits import CHEAP, EXACT
from numjet.foundation import dtypes
from numjet.lax.operands import BINARY_SHAPES, UNARY_SHAPES, UNSIGNED_OF, binary, same_dtype
from numjet.lax.rewrites import bitwise, twice
from numjet.lax.templates import INTEGER, elementwise

_INTS = ("int32", "uint8", "int64", "uint32", "int8", "uint64")
_NO_TRANSPOSE = Missing("integers have no derivative")
_LOGICAL = "biu"


def _common_bits(x: Interval, y: Interval) -> Interval:
    """The interval of x & y."""
    ends = [high for low, high in (x, y) if low >= 0]
    if x[0] == x[1] and y[0] == y[1]:
        return int(x[0]) & int(y[0]), int(x[0]) & int(y[0])
    return (0, min(ends)) if ends else (-inf, inf)


def _joined_bits(x: Interval, y: Interval) -> Interval:
    """The interval of x | y."""
    return (max(x[0], y[0]), _differing_bits(x, y)[1]) if min(x[0], y[0]) >= 0 else (-inf, inf)


def _differing_bits(x: Interval, y: Interval) -> Interval:
    """The interval of x ^ y."""
    return (0, (1 << int(max(x[1], y[1])).bit_length()) - 1) if min(x[0], y[0]) >= 0 else (-inf, inf)


_INTERVALS = {"and": _common_bits, "or": _joined_bits, "xor": _differing_bits}


def _logical(name: str, fn: Any) -> Op:
    return elementwise(name, nargs=2, accepts=_LOGICAL, eager=same_dtype(fn), jvp=ZERO, transpose=_NO_TRANSPOSE,
                       cpu=lambda b, x, y: b.prim(name, x, y), hlo=f"stablehlo.{name}", traits=EXACT | CHEAP, function=name,
                       rewrites=bitwise(ones=name == "and"), interval=by(_INTERVALS[name]),
                       samples=Samples(shapes=BINARY_SHAPES, dtypes=("bool", *_INTS), low=-100, high=100, order=0,
                                       ulps=0))


and_p = _logical("and", np.bitwise_and)
or_p = _logical("or", np.bitwise_or)
xor_p = _logical("xor", np.bitwise_xor)


def bitwise_and(x: Any, y: Any) -> Any:
    """x & y, for bool and integers of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> bitwise_and(6, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    return binary(and_p, x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """x | y, for bool and integers of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> bitwise_or(6, 3)
    Array(7, dtype=int32, weak_type=True)
    """
    return binary(or_p, x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """x ^ y, for bool and integers of equal dtype and shape (scalars and axes of size 1 broadcast).

    >>> bitwise_xor(6, 3)
    Array(5, dtype=int32, weak_type=True)
    """
    return binary(xor_p, x, y)


def _complement(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of ~x: as far from the end of the dtype as x is from the start."""
    least, most = limits(eqn.outvars[0].aval.dtype)
    low, high = known.interval(eqn.invars[0])
    return least + most - high, least + most - low


not_p = elementwise(
    "not", accepts=_LOGICAL, eager=same_dtype(np.bitwise_not), jvp=ZERO, transpose=_NO_TRANSPOSE,
    cpu=lambda b, x: b.prim("not", x), hlo="stablehlo.not", traits=EXACT | CHEAP, rewrites=twice, function="not",
    interval=_complement,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=("bool", *_INTS), low=-100, high=100, order=0, ulps=0))


def bitwise_not(x: Any) -> Any:
    """~x, for bool (logical not) and integers.

    >>> bitwise_not(0)
    Array(-1, dtype=int32, weak_type=True)
    """
    return not_p(x)


# ------------------------------------------------------------------------------------------------ shifts

def _unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(UNSIGNED_OF[x.dtype.itemsize])


def _shift(x: np.ndarray, y: np.ndarray, fn: Any, beyond: Any) -> np.ndarray:
    """fn(x, y) where 0 <= y < width of x, `beyond` elsewhere; negative distances count as large."""
    wide_x, wide_y = _wide(x), _wide(y)
    width = dtypes.itemsize_bits(x.dtype)
    inside = _unsigned(wide_y) < width
    distance = np.where(inside, wide_y, np.zeros_like(wide_y))
    return np.where(inside, fn(wide_x, distance), beyond(wide_x)).astype(x.dtype)


def _wide(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        return x
    return x.astype(np.uint8 if x.dtype in dtypes.UNSIGNED else np.int8)


def _logical_right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (_unsigned(x) >> _unsigned(y)).view(x.dtype)


def _arithmetic_right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The highest bit moves in, that of unsigned numbers, too."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    return (x.view(signed) >> y.view(signed)).view(x.dtype)


def _copies_of_highest_bit(x: np.ndarray) -> np.ndarray:
    return np.where(x.view(f"i{x.dtype.itemsize}") < 0, ~np.zeros_like(x), np.zeros_like(x))


def _shifted(x: Interval, y: Interval) -> Interval:
    """The interval of x >> y; nothing is left of x where y is out of range."""
    if x[0] < 0:
        return -inf, inf
    known = 0 <= y[0] == y[1] < 64
    return (0, int(x[1]) >> int(y[0])) if known else (0, x[1])


def _shift_op(name: str, prim: str, fn: Any, beyond: Any) -> Op:
    return elementwise(name, nargs=2, accepts=INTEGER, eager=lambda x, y: _shift(x, y, fn, beyond), jvp=ZERO,
                       transpose=_NO_TRANSPOSE, cpu=lambda b, x, y: b.prim(prim, x, y), hlo=SCALARS, function=prim,
                       traits=EXACT, interval=None if prim == "shl" else by(_shifted), samples=Samples(
                           shapes=BINARY_SHAPES, dtypes=_INTS, low=-3, high=40, order=0, ulps=0))


shift_left_p = _shift_op("shift_left", "shl", np.left_shift, np.zeros_like)
shift_right_logical_p = _shift_op("shift_right_logical", "shrl", _logical_right, np.zeros_like)
shift_right_arithmetic_p = _shift_op("shift_right_arithmetic", "shra", _arithmetic_right, _copies_of_highest_bit)


def shift_left(x: Any, y: Any) -> Any:
    """x << y for integers of equal dtype; 0 when y is negative or at least the width of x.

    >>> shift_left(1, 4)
    Array(16, dtype=int32, weak_type=True)
    """
    return binary(shift_left_p, x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """x >> y, zeros moving in; 0 when y is negative or at least the width of x.

    >>> shift_right_logical(-1, 28)
    Array(15, dtype=int32, weak_type=True)
    """
    return binary(shift_right_logical_p, x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """x >> y, copies of the highest bit moving in, whatever the dtype; nothing else is left when y is out of range.

    >>> shift_right_arithmetic(-16, 2)
    Array(-4, dtype=int32, weak_type=True)
    """
    return binary(shift_right_arithmetic_p, x, y)


# ------------------------------------------------------------------------------------------------ counts

def _bits_of(x: np.ndarray) -> np.ndarray:
    """The bits as an unsigned integer, without those that 2- and 4-bit integers do not have."""
    mask = (1 << dtypes.itemsize_bits(x.dtype)) - 1
    bits = _unsigned(_wide(x))
    return bits & bits.dtype.type(mask)


def _leading_zeros(x: np.ndarray) -> np.ndarray:
    """Width minus the number of bits set once all bits below the highest are set (Warren, Hacker's Delight, 5-3)."""
    bits, width = _bits_of(x), dtypes.itemsize_bits(x.dtype)
    for distance in (1, 2, 4, 8, 16, 32):
        if distance < width:
            bits = bits | (bits >> bits.dtype.type(distance))
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(x.dtype)


population_count_p = elementwise(
    "population_count", accepts=INTEGER, eager=lambda x: np.bitwise_count(_bits_of(x)).astype(x.dtype), jvp=ZERO,
    transpose=_NO_TRANSPOSE, cpu=lambda b, x: b.prim("popcount", x), hlo="stablehlo.popcnt", traits=EXACT, function="popcount",
    interval=by(lambda x: (0, 64)),
    samples=Samples(shapes=UNARY_SHAPES, dtypes=_INTS, low=-100, high=100, order=0, ulps=0))


def population_count(x: Any) -> Any:
    """The number of bits set, in the dtype of x.

    >>> population_count(7)
    Array(3, dtype=int32, weak_type=True)
    """
    return population_count_p(x)


clz_p = elementwise(
    "clz", accepts=INTEGER, eager=_leading_zeros, jvp=ZERO, transpose=_NO_TRANSPOSE,
    cpu=lambda b, x: b.prim("clz", x), hlo="stablehlo.count_leading_zeros", traits=EXACT, function="clz",
    interval=by(lambda x: (0, 64)),
    samples=Samples(shapes=UNARY_SHAPES, dtypes=_INTS, low=-100, high=100, order=0, ulps=0))


def clz(x: Any) -> Any:
    """The number of zero bits above the highest bit set, in the dtype of x; the width of x for 0.

    >>> clz(1)
    Array(31, dtype=int32, weak_type=True)
    """
    return clz_p(x)
