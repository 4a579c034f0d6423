"""Arithmetic: sums, products, quotients, powers, roundings and parts of numbers.

Those that are ufuncs in NumPy (add, multiply, ...) get methods such as `add.reduce` in `ufunc_objects`.
"""
from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from numjet.api.eager_plans import taped
from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.ir import Literal
from numjet.core.stage import staging
from numjet.core.trace import Array, Tracer
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.foundation.dimension import as_integer
from numjet.lax.elementwise import arithmetic, bitwise, compare, convert, transcendental
from numjet.lax.elementwise.arithmetic import (
    abs_p,
    add_p,
    ceil_p,
    div_p,
    floor_p,
    mul_p,
    neg_p,
    rem_p,
    round_p,
    sign_p,
    sub_p,
)
from numjet.lax.shape import create
from numjet.numpy.core.promotion import (
    as_dtype,
    broadcast_to,
    check_out,
    common_shape,
    literal,
    operand,
    operand_inexact,
    operands,
    operands_inexact,
    operands_numeric,
    strong_array,
    strong_beyond_scalars,
)
from numjet.numpy.fastpath import divide as fast_divide
from numjet.numpy.indexing.where import choose_by

_BOOL = np.dtype(np.bool_)
_INTEGER = frozenset(dtypes.INTEGRAL)
_UNSIGNED = frozenset(dtypes.UNSIGNED)
_FLOATING = frozenset(dtypes.FLOATING)
_FLOAT32 = np.dtype(np.float32)
_COMPLEX = frozenset(dtypes.COMPLEX)
_WHOLE = _INTEGER | {_BOOL}


# -------------------------------------------------------------------------------------------- sums and products

def add(x: Any, y: Any, /) -> Any:
    """x + y, elementwise; of bools their `or`.

    >>> add(1.5, 2)
    Array(3.5, dtype=float32, weak_type=True)
    """
    x, y = operands("add", x, y)
    return bitwise.or_p.bind(x, y) if x.aval.dtype == _BOOL else add_p.bind(x, y)


def subtract(x: Any, y: Any, /) -> Any:
    """x - y, elementwise. TypeError for bools.

    >>> subtract(1.5, 2)
    Array(-0.5, dtype=float32, weak_type=True)
    """
    x, y = operands("subtract", x, y)
    return sub_p.bind(x, y)


def multiply(x: Any, y: Any, /) -> Any:
    """x * y, elementwise; of bools their `and`. A number times a bool of the product's shape is that number or 0, even for
    infinities and NaN, as in JAX.

    >>> multiply(1.5, 2)
    Array(3., dtype=float32, weak_type=True)
    >>> import numjet.numpy as jnp
    >>> multiply(jnp.array([jnp.nan, 2.0]), jnp.array([False, True])).tolist()
    [0.0, 2.0]
    """
    first, second = getattr(x, "dtype", None) == _BOOL, getattr(y, "dtype", None) == _BOOL
    a, b = operands("multiply", x, y)
    if a.aval.dtype == _BOOL:
        return bitwise.and_p.bind(a, b)
    if (first or second) and not staging():   # programs are simplified so
        mask, truth, number = (x, a, b) if first else (y, b, a)
        if np.shape(mask) == truth.aval.shape and number.aval.shape in ((), truth.aval.shape):
            return compare.select(mask, broadcast_to(number, truth.aval.shape), create.zeros_like_array(truth))
    return mul_p.bind(a, b)


def negative(x: Any, /) -> Any:
    """-x, elementwise. TypeError for bools.

    >>> negative(1.5)
    Array(-1.5, dtype=float32, weak_type=True)
    """
    return neg_p.bind(operand("negative", x))


def positive(x: Any, /) -> Any:
    """x itself.

    >>> positive(-1)
    Array(-1, dtype=int32, weak_type=True)
    """
    return to_array_checked("positive", x)


def to_array_checked(name: str, x: Any) -> Any:
    """An operand of the function `name` that is a result as it is."""
    x = operand(name, x)
    if isinstance(x, Tracer):
        return x.as_array()
    return x if type(x) is Array else to_array_of_literal(x)


def to_array_of_literal(x: Any) -> Any:
    """An Array with the value, dtype and weak type of a literal."""
    return convert.constant(x.val, x.aval.dtype, x.aval.weak_type)


# -------------------------------------------------------------------------------------------- quotients

def true_divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2, elementwise; integers become floats.

    >>> true_divide(1, 2)
    Array(0.5, dtype=float32, weak_type=True)
    """
    x, y = operands_inexact("true_divide", x1, x2)
    return div_p.bind(x, y)


def divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2, as `true_divide`.

    >>> divide(3, 2)
    Array(1.5, dtype=float32, weak_type=True)
    """
    return true_divide(x1, x2)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded towards minus infinity. TypeError for complex numbers.

    Integer division by 0 raises nothing: it gives -1 (or -2), as XLA defines.

    >>> floor_divide(-7, 2)
    Array(-4, dtype=int32, weak_type=True)
    """
    x, y = operands_numeric("floor_divide", x1, x2)
    found = fast_divide.floor_divide(x, y)
    if found is not None:
        return found
    dtype = x.aval.dtype
    if dtype in _UNSIGNED:
        return div_p.bind(x, y)
    if dtype in _COMPLEX:
        raise TypeError("floor_divide does not support complex-valued inputs: they have no order")
    if dtype in _FLOATING:
        return _float_divmod(x, y)[0]
    quotient, rest = div_p.bind(x, y), rem_p.bind(x, y)
    return compare.select_n_p.bind(_other_sign(rest, x, y), quotient, arithmetic.sub(quotient, 1))


def _sign_of_constant(y: Any) -> int:
    """1 or -1 for a constant divisor of that sign, else 0."""
    if type(y) is not Literal or not (y.val > 0 or y.val < 0):
        return 0
    return 1 if y.val > 0 else -1


def _other_sign(rest: Any, x: Any, y: Any) -> Any:
    """Whether a remainder that is not 0, of the sign of x, differs in sign from the divisor y."""
    zero = literal(0, rest.aval.dtype)
    known = _sign_of_constant(y)
    if known:
        return (compare.lt_p if known > 0 else compare.gt_p).bind(rest, zero)
    return bitwise.and_p.bind(compare.ne_p.bind(rest, zero), compare.ne_p.bind(sign_p.bind(y), sign_p.bind(x)))


def _to_move(rest: Any, y: Any) -> Any:
    """Whether a remainder that is not 0 differs in sign from the divisor y. By comparisons with 0, which need no common dtype:
    the operands of users' traces may have units, and `rest` that of their quotient."""
    zero = literal(0, rest.aval.dtype)
    known = _sign_of_constant(y)
    if known:
        return (compare.lt_p if known > 0 else compare.gt_p).bind(rest, zero)
    moved = compare.ne_p.bind(compare.lt_p.bind(rest, zero), compare.lt_p.bind(y, literal(0, y.aval.dtype)))
    return bitwise.and_p.bind(moved, compare.ne_p.bind(rest, zero))


def _in_float32(x: Any) -> Any:
    """An array or a constant in float32."""
    if type(x) is Literal:
        return literal(float(np.asarray(x.val, x.aval.dtype)), _FLOAT32)
    return convert.convert_dtype(x, _FLOAT32, x.aval.weak_type)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder with the sign of y, by the exact remainder, so that the quotient is an integer. Halves are divided
    in float32 and rounded once, as NumPy does: a quotient less 1 would be rounded twice."""
    if x.aval.dtype.itemsize < 4:
        wide, weak = [_in_float32(v) for v in (x, y)], x.aval.weak_type and y.aval.weak_type
        quotient, rest = (convert.convert_dtype(v, x.aval.dtype, weak) for v in _float_divmod(*wide))
        return quotient, rest
    zero, one = literal(0.0, x.aval.dtype), literal(1.0, x.aval.dtype)
    remainder_ = rem_p.bind(x, y)
    dividend = sub_p.bind(x, remainder_)
    if not _sign_of_constant(y):
        dividend = choose_by("floor_divide", compare.eq_p.bind(y, zero), x, dividend)
    quotient = div_p.bind(dividend, y)
    other_sign = _other_sign(remainder_, remainder_, y)
    quotient = compare.select_n_p.bind(other_sign, quotient, sub_p.bind(quotient, one))
    remainder_ = compare.select_n_p.bind(other_sign, remainder_, add_p.bind(remainder_, y))
    return arithmetic.round(quotient), remainder_


def remainder(x1: Any, x2: Any, /) -> Any:
    """The remainder of `floor_divide`, with the sign of x2. Integers: x remainder 0 is 0. TypeError for complex numbers.

    >>> remainder(-7, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    x, y = operands_numeric("remainder", x1, x2)
    found = fast_divide.remainder(x, y)
    if found is not None:
        return found
    dtype = x.aval.dtype
    if dtype in _INTEGER and not _sign_of_constant(y):
        y = _instead_of_zero(y, literal(0, dtype))
    rest = rem_p.bind(x, y)
    if dtype in _UNSIGNED:
        return rest
    return compare.select_n_p.bind(_to_move(rest, y), rest, add_p.bind(rest, y))


def _instead_of_zero(y: Any, zero: Any) -> Any:
    """y with 1 where it is 0: everything has the integer remainder 0 by 1."""
    return compare.select_n_p.bind(compare.eq_p.bind(y, zero), y, literal(1, y.aval.dtype))


def mod(x1: Any, x2: Any, /) -> Any:
    """As `remainder`.

    >>> mod(-7, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    return remainder(x1, x2)


def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of the division rounded towards zero, with the sign of x1. Integers: x fmod 0 is 0.

    >>> fmod(-7, 3)
    Array(-1, dtype=int32, weak_type=True)
    """
    x, y = operands_numeric("fmod", x1, x2)
    if x.aval.dtype in _INTEGER and not _sign_of_constant(y):
        y = _instead_of_zero(y, literal(0, y.aval.dtype))
    return rem_p.bind(x, y)


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """(floor_divide(x1, x2), remainder(x1, x2)).

    >>> divmod(-7, 3)
    (Array(-3, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    x, y = operands("divmod", x1, x2)
    if x.aval.dtype in _FLOATING:
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


# -------------------------------------------------------------------------------------------- powers

def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2, elementwise.

    An integer x2 that is known, of rank 0, means repeated multiplication, exact in its derivatives at 0; the result has the
    dtype of x1 then. TypeError when it is negative and x1 holds integers. Integer arrays to the power of integer arrays wrap;
    negative exponents there give meaningless numbers.

    >>> power(2.0, 3)
    Array(8., dtype=float32, weak_type=True)
    """
    exponent = _known_integer(x2)
    if exponent is not None:
        return _integer_power(operand("power", x1), exponent)
    return _general_power(x1, x2)


def _power_of_arrays(x1: Any, x2: Any) -> Any:
    """Powers whose exponents' values decide nothing."""
    x, y = operand("power", x1), operand("power", x2)
    if x.aval.dtype in _WHOLE and y.aval.dtype in _WHOLE:
        if y.aval.dtype == _BOOL and type(x2) is not bool:
            x = strong_array(x)  # an array of Booleans has no weak type to share
        x, y = operands_numeric("power", x, y)
        if x.aval.dtype in _WHOLE:  # int32 and uint64 have floats in common
            return _whole_power(x, y)
    elif y.aval.dtype in _INTEGER:
        if not y.aval.weak_type:
            x = strong_array(x)  # a float to the power of an array of integers is an array of floats
        if y.aval.weak_type or config.numpy_dtype_promotion != "strict":  # stays one: x = 0 has derivatives for 0, too
            shape = common_shape("power", (x.aval.shape, y.aval.shape))
            x, y = (broadcast_to(v, shape) if v.aval.shape and v.aval.shape != shape else v for v in (x, y))
            return arithmetic.pow_p.bind(x, y)
    x, y = operands_inexact("power", x, y)
    return arithmetic.pow_p.bind(x, y)


_general_power = taped(_power_of_arrays, ("x1", "x2"), numbers=True)


def _known_integer(x: Any) -> int | None:
    """An integer of rank 0 whose value is no matter of tracing, as Python's; None for everything else."""
    if type(x) is int:
        return x
    known = isinstance(x, (Array, np.ndarray, np.integer)) and not x.shape and x.dtype in _INTEGER
    return int(x) if known else None


def _integer_power(x: Any, n: int) -> Any:
    if x.aval.dtype == _BOOL:
        x = as_dtype(x, dtypes.int32)
    return arithmetic.integer_pow_p.bind(x, y=n)


def _whole_power(x: Any, y: Any) -> Any:
    """Repeated squaring, for the exponent's lowest 6 bits; more would leave the range of every dtype, except for base 0."""
    weak = x.aval.weak_type and y.aval.weak_type
    zero, one = literal(0, x.aval.dtype, weak), literal(1, x.aval.dtype, weak)
    vanishes = bitwise.and_p.bind(compare.eq_p.bind(x, zero), compare.ne_p.bind(y, zero))
    out = choose_by("power", vanishes, zero, one)
    for bit in range(6):
        odd = compare.ne_p.bind(bitwise.and_p.bind(y, one), zero)
        out = choose_by("power", odd, mul_p.bind(out, x), out)
        if bit < 5:
            x, y = mul_p.bind(x, x), bitwise.shift_right_logical_p.bind(y, one)
    return out


def pow(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2, as `power`.

    >>> pow(2.0, 0.5)
    Array(1.4142135, dtype=float32, weak_type=True)
    """
    return power(x1, x2)


def float_power(x: Any, y: Any, /) -> Any:
    """x ** y computed in floats.

    >>> float_power(2, -1)
    Array(0.5, dtype=float32, weak_type=True)
    """
    x, y = operands_inexact("float_power", x, y)
    return arithmetic.pow_p.bind(x, y)


def square(x: Any, /) -> Any:
    """x * x.

    >>> square(3)
    Array(9, dtype=int32, weak_type=True)
    """
    x = operand("square", x)
    if x.aval.dtype == _BOOL:
        x = as_dtype(x, dtypes.int32)
    return arithmetic.square_p.bind(x)


def reciprocal(x: Any, /) -> Any:
    """1 / x; integers become floats.

    >>> reciprocal(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return arithmetic.integer_pow_p.bind(operand_inexact("reciprocal", x), y=-1)


def sqrt(x: Any, /) -> Any:
    """Square root; NaN for negative floats; of complex numbers the root with real part >= 0.

    >>> sqrt(9)
    Array(3., dtype=float32, weak_type=True)
    """
    return arithmetic.sqrt_p.bind(operand_inexact("sqrt", x))


def cbrt(x: Any, /) -> Any:
    """Cube root, real for negative numbers. TypeError for complex numbers.

    >>> cbrt(-8)
    Array(-2., dtype=float32, weak_type=True)
    """
    return arithmetic.cbrt_p.bind(operand_inexact("cbrt", x))


# -------------------------------------------------------------------------------------------- size and sign

def absolute(x: Any, /) -> Any:
    """|x|, elementwise; of complex numbers their length, a float. Its derivative at 0 is 0.

    >>> absolute(-2)
    Array(2, dtype=int32, weak_type=True)
    """
    x = operand("absolute", x)
    if x.aval.dtype in _UNSIGNED or x.aval.dtype == _BOOL:
        return to_array_checked("absolute", x)
    return abs_p.bind(x)


def abs(x: Any, /) -> Any:
    """|x|, as `absolute`.

    >>> abs(3 + 4j)
    Array(5., dtype=float32, weak_type=True)
    """
    return absolute(x)


def fabs(x: Any, /) -> Any:
    """|x| as a float. TypeError for complex numbers.

    >>> fabs(-2)
    Array(2., dtype=float32, weak_type=True)
    """
    x = operand_inexact("fabs", x)
    if x.aval.dtype in _COMPLEX:
        raise TypeError(f"fabs does not support complex numbers, got dtype {x.aval.dtype.name}: use abs")
    return abs_p.bind(x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1 as x is negative, zero or positive; x / |x| of complex numbers; NaN stays. TypeError for bools.

    >>> sign(-2.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    return sign_p.bind(operand("sign", x))


# -------------------------------------------------------------------------------------------- rounding

def floor(x: Any, /) -> Any:
    """The largest whole number <= x, in the dtype of x. TypeError for complex numbers.

    >>> floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """
    x = operand("floor", x)
    return to_array_checked("floor", x) if x.aval.dtype in _WHOLE else floor_p.bind(x)


def ceil(x: Any, /) -> Any:
    """The smallest whole number >= x, in the dtype of x. TypeError for complex numbers.

    >>> ceil(1.5)
    Array(2., dtype=float32, weak_type=True)
    """
    x = operand("ceil", x)
    return to_array_checked("ceil", x) if x.aval.dtype in _WHOLE else ceil_p.bind(x)


def trunc(x: Any) -> Any:
    """x rounded towards zero, in the dtype of x. TypeError for complex numbers.

    >>> trunc(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    x = operand("trunc", x)
    if x.aval.dtype in _WHOLE:
        return to_array_checked("trunc", x)
    return compare.select_n_p.bind(compare.lt(x, literal(0.0, x.aval.dtype)), floor_p.bind(x), ceil_p.bind(x))


def fix(x: Any, out: None = None) -> Any:
    """x rounded towards zero, as `trunc`.

    >>> fix(1.5)
    Array(1., dtype=float32, weak_type=True)
    """
    check_out("fix", out)
    return trunc(x)


def rint(x: Any, /) -> Any:
    """The nearest whole number, halves to even; integers become floats of the default dtype.

    >>> rint(2.5)
    Array(2., dtype=float32, weak_type=True)
    """
    x = operand("rint", x)
    x = as_dtype(x, dtypes.canonicalize_dtype(np.float64)) if x.aval.dtype in _WHOLE else x
    return _by_parts(_half_even, x)


def _half_even(x: Any) -> Any:
    return round_p.bind(x, rounding_method=arithmetic.RoundingMethod.TO_NEAREST_EVEN)


def _by_parts(fn: Any, x: Any) -> Any:
    """fn of a float, or of the real and imaginary parts."""
    if x.aval.dtype not in _COMPLEX:
        return fn(x)
    return convert.complex_p.bind(fn(convert.real_p.bind(x)), fn(convert.imag_p.bind(x)))


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """a rounded to `decimals` decimals, halves to even, in the dtype of a.

    ValueError for bools.

    >>> round(2.345, 2)
    Array(2.34, dtype=float32, weak_type=True)
    """
    check_out("round", out)
    decimals = as_integer(decimals, "jnp.round: decimals")
    x = operand("round", a)
    dtype = x.aval.dtype
    if dtype == _BOOL:
        raise ValueError("round: expected numbers, got dtype bool; convert it first, as by x.astype(int)")
    if dtype in _INTEGER and decimals >= 0:
        return to_array_checked("round", x)
    return _by_parts(_half_even, x) if decimals == 0 else _rounded(a, decimals)


@jit_when_eager("decimals")
def _rounded(a: Any, decimals: int) -> Any:
    x = operand("round", a)
    if x.aval.dtype in _INTEGER:
        return _round_whole(x, 10 ** -decimals)
    return _by_parts(lambda part: _round_to(part, decimals), x)


def _round_whole(x: Any, step: int) -> Any:
    """Integers rounded to multiples of `step`, halves to even ones; what is beyond the dtype wraps around."""
    dtype = x.aval.dtype
    if step > int(dtypes.iinfo(dtype).max):
        return create.full_like(to_array_checked("round", x), 0)
    quotient = floor_divide(x, literal(step, dtype))
    above = x - quotient * literal(step, dtype)
    below = literal(step, dtype) - above
    up = (above > below) | ((above == below) & (quotient % literal(2, dtype) == literal(1, dtype)))
    return (quotient + as_dtype(up, dtype)) * literal(step, dtype)


def _round_to(x: Any, decimals: int) -> Any:
    wide = as_dtype(x, np.dtype(np.float32), x.aval.weak_type) if x.aval.dtype.itemsize < 4 else x
    largest = float(dtypes.finfo(wide.aval.dtype).max)
    if decimals > math.log10(largest):  # more decimals than any number has
        return to_array_checked("round", x)
    factor = literal(math.inf if -decimals > math.log10(largest) else 10.0 ** builtins.abs(decimals), wide.aval.dtype)
    if decimals < 0:
        rounded = _half_even(div_p.bind(wide, factor))
        out = mul_p.bind(rounded, literal(min(factor.val, largest), wide.aval.dtype))
    else:
        scaled = mul_p.bind(wide, factor)
        finite = compare.is_finite_p.bind(scaled)
        out = compare.select_n_p.bind(finite, wide, div_p.bind(_half_even(scaled), factor))
    return as_dtype(strong_array(out) if x.aval.shape else out, x.aval.dtype, x.aval.weak_type)


def around(a: Any, decimals: int = 0, out: None = None) -> Any:
    """a rounded to `decimals` decimals, as `round`.

    >>> around(2.5)
    Array(2., dtype=float32, weak_type=True)
    """
    return round(a, decimals, out)


# -------------------------------------------------------------------------------------------- complex numbers

def conjugate(x: Any, /) -> Any:
    """The complex conjugate; real numbers stay.

    >>> conjugate(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    x = operand("conjugate", x)
    if x.aval.dtype not in _COMPLEX:
        return to_array_checked("conjugate", x)
    return convert.conj_p.bind(x, input_dtype=x.aval.dtype)


def conj(x: Any, /) -> Any:
    """The complex conjugate, as `conjugate`.

    >>> conj(2j)
    Array(0.-2.j, dtype=complex64, weak_type=True)
    """
    return conjugate(x)


def real(val: Any, /) -> Any:
    """The real part; real numbers stay.

    >>> real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """
    val = operand("real", val)
    return convert.real_p.bind(val) if val.aval.dtype in _COMPLEX else to_array_checked("real", val)


def imag(val: Any, /) -> Any:
    """The imaginary part; 0 for real numbers.

    >>> imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """
    val = operand("imag", val)
    return convert.imag_p.bind(val) if val.aval.dtype in _COMPLEX else create.full_like(val, 0)


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers in radians (degrees with `deg`); 0 or pi for real numbers.

    Integers, and real scalars of any dtype, have angles of the default float dtype.

    >>> angle(1j, deg=True)
    Array(90., dtype=float32, weak_type=True)
    """
    z = operand("angle", z)
    if z.aval.dtype not in _COMPLEX and not (z.aval.dtype in _FLOATING and z.aval.shape):
        z = strong_array(as_dtype(z, dtypes.canonicalize_dtype(np.float64)))
    if z.aval.dtype in _COMPLEX:
        re, im = convert.real_p.bind(z), convert.imag_p.bind(z)
    else:
        re, im = z, literal(0.0, z.aval.dtype)
    found = transcendental.atan2_p.bind(im, re)
    return strong_beyond_scalars(mul_p.bind(found, literal(180.0 / np.pi, found.aval.dtype))) if deg else found
