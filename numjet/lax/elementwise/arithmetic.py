"""Elementwise arithmetic: sums, products, powers, roots, rounding."""
from __future__ import annotations

import enum
import operator
import reprlib
from collections.abc import Hashable
from math import inf
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Interval, by, counts, plus, times
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import LINEAR, SCALARS, ZERO, Missing, Op, Samples, Undefined
from numjet.core.printing_rules import register_parameter_type
from numjet.core.trace import aval_of
from numjet.core.traits import CHEAP, EXACT, TRANSCENDENTAL
from numjet.foundation import dtypes, lazy_import
from numjet.lax.elementwise.accuracy import check_accuracy
from numjet.lax.elementwise.convert import cast, conj_p, constant, convert_element_type_p, real_p
from numjet.lax.operands import (
    BINARY_SHAPES,
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    UNARY_SHAPES,
    apply,
    at_least_float32,
    binary,
    by_kind,
    real_dtype,
    same_dtype,
    where,
)
from numjet.lax.rewrites import Producer, neutral, twice
from numjet.lax.tangent import sum_transpose
from numjet.lax.templates import (
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    REAL,
    broadcast_shapes,
    call,
    elementwise,
    kind_of,
    promote_scalars,
)

cx = lazy_import.Functions("numjet.lax.elementwise.complex_rules")

# ------------------------------------------------------------------------------------------------ linear

neg_p: Op = elementwise(
    "neg", accepts=NUMBER, eager=same_dtype(np.negative), jvp=LINEAR, transpose=lambda ct, x: neg_p.bind(ct),
    cpu=lambda b, x: b.neg(x), hlo="stablehlo.negate", linear_in=(0,), traits=EXACT | CHEAP, rewrites=twice, function="neg",
    interval=by(lambda x: (-x[1], -x[0])),
    samples=Samples(shapes=UNARY_SHAPES, dtypes=NUMBERS, ulps=0))


def neg(x: Any) -> Any:
    """-x, for integers, floats and complex numbers; unsigned integers wrap. TypeError for bool.

    >>> neg(3.0)
    Array(-3., dtype=float32, weak_type=True)
    """
    return neg_p(x)


add_p: Op = elementwise(
    "add", nargs=2, accepts=NUMBER, eager=np.add, jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t),
    transpose=sum_transpose, cpu=lambda b, x, y: b.add(x, y), hlo="stablehlo.add", linear_in=(0, 1),
    traits=CHEAP, rewrites=neutral(-0.0, 0), interval=by(plus), function="add",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=NUMBERS, ulps=0))


def add(x: Any, y: Any) -> Any:
    """x + y for operands of equal dtype and shape (scalars and axes of size 1 broadcast); integers wrap.

    >>> add(1, 2)
    Array(3, dtype=int32, weak_type=True)
    """
    return binary(add_p, x, y)


def _sub_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (ct if isinstance(x, Undefined) else None), (neg_p.bind(ct) if isinstance(y, Undefined) else None)


sub_p: Op = elementwise(
    "sub", nargs=2, accepts=NUMBER, eager=np.subtract, jvp=(lambda t, out, x, y: t, lambda t, out, x, y: neg_p.bind(t)),
    transpose=_sub_transpose, cpu=lambda b, x, y: b.sub(x, y), hlo="stablehlo.subtract", linear_in=(0, 1),
    traits=CHEAP, rewrites=neutral(0.0, 0, both=False), function="sub",
    interval=by(lambda x, y: (x[0] - y[1], x[1] - y[0])),
    samples=Samples(shapes=BINARY_SHAPES, dtypes=NUMBERS, ulps=0))


def sub(x: Any, y: Any) -> Any:
    """x - y for operands of equal dtype and shape (scalars and axes of size 1 broadcast); integers wrap.

    >>> sub(1, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    return binary(sub_p, x, y)


# ------------------------------------------------------------------------------------------------ products, quotients

def _mul_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (mul_p.bind(ct, y), None) if isinstance(x, Undefined) else (None, mul_p.bind(x, ct))


mul_p: Op = elementwise(
    "mul", nargs=2, accepts=NUMBER, eager=np.multiply,
    jvp=(lambda t, out, x, y: mul_p.bind(t, y), lambda t, out, x, y: mul_p.bind(x, t)),
    transpose=_mul_transpose, cpu=lambda b, x, y: b.mul(x, y), hlo="stablehlo.multiply", linear_in=(0, 1),
    traits=CHEAP, rewrites=neutral(1.0, 1), interval=by(times), function="mul",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=NUMBERS, ulps=1))


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y for operands of equal dtype and shape (scalars and axes of size 1 broadcast); integers wrap.

    out_dtype: the factors are converted to it first, so that the product of narrow numbers may be wide.

    >>> mul(2., 3.)
    Array(6., dtype=float32, weak_type=True)
    """
    if out_dtype is not None:
        dtype = dtypes.dtype(out_dtype, canonicalize=True)
        x, y = (cast(a, dtype) for a in (x, y))
    return binary(mul_p, x, y)


def _int_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotient rounded towards zero; x / 0 = -1 (all bits set) and INT_MIN / -1 = INT_MIN, as XLA defines."""
    odd = (y == 0) if x.dtype.kind == "u" else (y == 0) | (y == -1)
    safe = np.where(odd, np.asarray(1, y.dtype), y)
    quotient = (x - np.fmod(x, safe)) // safe
    quotient = np.where(y == 0, ~np.zeros_like(x), quotient)
    return quotient if x.dtype.kind == "u" else np.where(y == -1, np.negative(x), quotient)


def _int_rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Remainder with the sign of x; x % 0 = x."""
    odd = (y == 0) if x.dtype.kind == "u" else (y == 0) | (y == -1)
    remainder = np.fmod(x, np.where(odd, np.asarray(1, y.dtype), y))
    return np.where(y == 0, x, remainder)


def _widened(fn: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """4-bit integers by way of 8 bits, where no quotient overflows."""
    wide = np.dtype(np.uint8 if kind_of(x.dtype) == "u" else np.int8)
    return fn(x.astype(wide), y.astype(wide)).astype(x.dtype)


def _div_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if kind_of(x.dtype) in "fc":
        return np.divide(x, y)
    return _int_div(x, y) if x.dtype.kind in "iu" else _widened(_int_div, x, y)



def _rem_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if kind_of(x.dtype) == "f":
        return np.fmod(x, y)
    return _int_rem(x, y) if x.dtype.kind in "iu" else _widened(_int_rem, x, y)



def _quotients(x: Interval, y: Interval) -> Interval:
    """The interval of integer quotients."""
    if y[0] < 1 or inf in (-x[0], x[1]):
        return -inf, inf
    divisor = int(y[0])
    return min(-(-int(x[0]) // divisor), 0), max(int(x[1]) // divisor, 0)


def _remainders(x: Interval, y: Interval) -> Interval:
    """The interval of integer remainders; those of a division by 0 are the dividends."""
    most = inf if y[0] <= 0 <= y[1] else max(-y[0], y[0], -y[1], y[1]) - 1
    return max(min(x[0], 0), -most), min(max(x[1], 0), most)


def _known_remainder(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """x rem y = x for 0 <= x < y."""
    x, y = eqn.invars
    whole = x.aval.shape == eqn.outvars[0].aval.shape
    return x if whole and counts(x.aval.dtype) and producer.within(x, 0, producer.interval(y)[0] - 1) else None


div_p: Op = elementwise(
    "div", nargs=2, accepts=NUMBER, eager=_div_eager,
    jvp=(lambda t, out, x, y: div_p.bind(t, y), lambda t, out, x, y: neg_p.bind(div_p.bind(mul_p.bind(t, out), y))),
    transpose=lambda ct, x, y: (div_p.bind(ct, y), None),
    cpu=lambda b, x, y: b.div(x, y), hlo=lambda b, x, y: b.divide(x, y), linear_in=(0,),
    rewrites=neutral(1.0, 1, both=False), interval=by(_quotients), function="div",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=NUMBERS, ulps=4))


def div(x: Any, y: Any) -> Any:
    """x / y for operands of equal dtype and shape (scalars and axes of size 1 broadcast).

    Integers: rounded towards zero; x / 0 is -1 (the largest number, when unsigned) and INT_MIN / -1 is INT_MIN.

    >>> div(-7, 2)
    Array(-3, dtype=int32, weak_type=True)
    """
    return binary(div_p, x, y)


def _rem_jvp_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    quotient = div_p.bind(x, y)
    return neg_p.bind(mul_p.bind(t, mul_p.bind(sign_p.bind(quotient), floor_p.bind(abs_p.bind(quotient)))))


rem_p: Op = elementwise(
    "rem", nargs=2, accepts=REAL, eager=_rem_eager, jvp=(lambda t, out, x, y: t, _rem_jvp_y),
    cpu=lambda b, x, y: b.prim("rem" if x.dtype.kind in "iu" else "fmod", x, y), hlo=lambda b, x, y: b.remainder(x, y),
    rewrites=_known_remainder, interval=by(_remainders), function="rem",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=(*FLOATS, *INTS), ulps=0))


def rem(x: Any, y: Any) -> Any:
    """Remainder of the division rounded towards zero, of the sign of x; integers: x rem 0 is x.

    >>> rem(-7, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    return binary(rem_p, x, y)


def _mulhi_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = dtypes.itemsize_bits(x.dtype)
    if bits < 64:
        wide = np.dtype(np.uint64 if kind_of(x.dtype) == "u" else np.int64)
        return ((x.astype(wide) * y.astype(wide)) >> wide.type(bits)).astype(x.dtype)
    # Knuth, TAOCP 2, 4.3.1: schoolbook product of 32-bit digits; the upper digit of signed numbers is signed.
    low, half = x.dtype.type(0xFFFFFFFF), x.dtype.type(32)
    xl, yl, xh, yh = x & low, y & low, x >> half, y >> half
    carry = ((xl.astype(np.uint64) * yl.astype(np.uint64)) >> np.uint64(32)).astype(x.dtype)
    middle = xh * yl + carry
    return xh * yh + (middle >> half) + ((xl * yh + (middle & low)) >> half)


mulhi_p: Op = elementwise(
    "mulhi", nargs=2, accepts=INTEGER, eager=_mulhi_eager, jvp=ZERO, cpu=lambda b, x, y: b.prim("mulhi", x, y),
    hlo=SCALARS, transpose=Missing("integers have no derivative"), traits=EXACT, function="mulhi",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=INTS, order=0, ulps=0, low=-100, high=100))


def mulhi(x: Any, y: Any, /) -> Any:
    """The upper half of the bits of the full product of two integers of equal dtype.

    >>> import numpy as np
    >>> mulhi(np.int32(2**30), np.int32(8))
    Array(2, dtype=int32)
    """
    return binary(mulhi_p, x, y)


# ------------------------------------------------------------------------------------------------ sign, rounding

def _abs_jvp(t: Any, out: Any, x: Any) -> Any:
    if aval_of(x).dtype.kind != "c":
        return where(apply("ge", x, 0), t, neg_p.bind(t))
    length = cast(out, aval_of(x).dtype)
    conjugate = conj_p.bind(x, input_dtype=aval_of(x).dtype)
    direction = div_p.bind(conjugate, where(apply("eq", out, 0.0), 1.0, length))
    return real_p.bind(mul_p.bind(t, direction))


def _abs_eager(x: np.ndarray) -> np.ndarray:
    return np.abs(x).astype(real_dtype(x.dtype), copy=False)



abs_p: Op = elementwise(
    "abs", accepts="ifc", result=real_dtype,
    eager=_abs_eager, jvp=_abs_jvp,
    cpu=by_kind(lambda b, x: b.prim("abs", x), cx.abs), hlo=SCALARS, traits=EXACT | CHEAP, function="abs",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, "int32", "int64", *COMPLEXES), ulps=2))


def abs(x: Any) -> Any:
    """|x|; of a complex number its length, a float. |INT_MIN| wraps to INT_MIN. TypeError for unsigned and bool.

    The derivative at 0 is 1, for complex numbers 0.

    >>> abs(3 + 4j)
    Array(5., dtype=float32, weak_type=True)
    """
    return abs_p(x)


def _sign_eager(x: np.ndarray) -> np.ndarray:
    sign = np.sign(x).astype(x.dtype, copy=False)
    return np.copysign(sign, x) if kind_of(x.dtype) == "f" else sign


sign_p: Op = elementwise(
    "sign", accepts=NUMBER, eager=_sign_eager, jvp=ZERO, cpu=by_kind(lambda b, x: b.prim("sign", x), cx.sign),
    hlo=SCALARS, traits=EXACT | CHEAP, function="sign", samples=Samples(shapes=UNARY_SHAPES, dtypes=NUMBERS, ulps=2, order=0))


def sign(x: Any) -> Any:
    """-1, 0 or 1 in the dtype of x; x / |x| for complex x; NaN and signed zeros stay. Its derivative counts as 0.

    >>> sign(-2.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    return sign_p(x)


floor_p: Op = elementwise(
    "floor", accepts=FLOAT, eager=np.floor, jvp=ZERO, cpu=lambda b, x: b.prim("floor", x), hlo="stablehlo.floor",
    traits=EXACT | CHEAP, function="floor",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, ulps=0, order=0))


def floor(x: Any) -> Any:
    """The largest whole number <= x, for floats.

    >>> floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """
    return floor_p(x)


ceil_p: Op = elementwise(
    "ceil", accepts=FLOAT, eager=np.ceil, jvp=ZERO, cpu=lambda b, x: b.prim("ceil", x), hlo="stablehlo.ceil",
    traits=EXACT | CHEAP, function="ceil",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, ulps=0, order=0))


def ceil(x: Any) -> Any:
    """The smallest whole number >= x, for floats.

    >>> ceil(1.5)
    Array(2., dtype=float32, weak_type=True)
    """
    return ceil_p(x)


@register_parameter_type
class RoundingMethod(enum.IntEnum):
    """Where `round` sends numbers halfway between two whole ones."""
    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round_eager(x: np.ndarray, *, rounding_method: RoundingMethod) -> np.ndarray:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)
    away = np.abs(x - whole) >= np.asarray(0.5, x.dtype)
    return np.where(away, whole + np.copysign(np.asarray(1, x.dtype), x), whole)


def _round_cpu(b: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:
    return b.prim("round_even" if rounding_method == RoundingMethod.TO_NEAREST_EVEN else "round_away", x)


def _halves(rng: Any, shape: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    shape = shape[0] if isinstance(shape, list) else shape
    return [(rng.integers(-9, 9, shape) / 2).astype(dtype)]


round_p: Op = elementwise(
    "round", accepts=FLOAT, eager=_round_eager, jvp=ZERO, params=("rounding_method",), cpu=_round_cpu,
    hlo=SCALARS, traits=EXACT,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, params=tuple({"rounding_method": m} for m in RoundingMethod),
                    ulps=0, order=0, make=_halves))


def round(x: Any, rounding_method: RoundingMethod | int = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number; halves go away from zero, or to the even neighbour. ValueError for other methods.

    >>> round(2.5), round(2.5, RoundingMethod.TO_NEAREST_EVEN)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    if not isinstance(rounding_method, Hashable) or rounding_method not in set(RoundingMethod):
        raise ValueError(f"lax.round: rounding_method: {reprlib.repr(rounding_method)} is not a valid RoundingMethod; pass "
                         "RoundingMethod.AWAY_FROM_ZERO or RoundingMethod.TO_NEAREST_EVEN")
    return round_p(x, rounding_method=RoundingMethod(rounding_method))


# ------------------------------------------------------------------------------------------------ powers, roots

square_p: Op = elementwise(
    "square", accepts=NUMBER, eager=same_dtype(np.square), jvp=lambda t, out, x: mul_p(t, mul_p(x, 2)),
    cpu=lambda b, x: b.mul(x, x), hlo=SCALARS, traits=CHEAP,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=NUMBERS, ulps=1))


def square(x: Any) -> Any:
    """x * x.

    >>> square(3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    return square_p(x)


def _power_by_squaring(one: Any, x: Any, n: int, times: Any) -> Any:
    """x**n for n >= 0 with about log2(n) products (Knuth, TAOCP 2, 4.6.3)."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else times(result, x)
        n >>= 1
        x = times(x, x) if n else x
    return one if result is None else result


def _integer_pow_eager(x: np.ndarray, *, y: int) -> np.ndarray:
    wide = x.astype(at_least_float32(x.dtype), copy=False)
    one = np.ones_like(wide)
    power = _power_by_squaring(one, wide, -y if y < 0 else y, np.multiply)
    return (one / power if y < 0 else power).astype(x.dtype, copy=False)


def _integer_pow_cpu(b: Any, x: Any, *, y: int) -> Any:
    one = b.const(1, x.dtype)
    power = _power_by_squaring(one, x, -y if y < 0 else y, b.mul)
    return power if y >= 0 else b.div(one, power)


def _integer_pow_hlo(b: Any, x: Any, *, y: int) -> Any:
    return b.convert(_integer_pow_cpu(b.scalars(x.shape), b.convert(x, at_least_float32(x.dtype)), y=y), x.dtype)


def _integer_pow_jvp(t: Any, out: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return mul_p(t, 0)
    return t if y == 1 else mul_p.bind(t, mul_p(integer_pow_p.bind(x, y=y - 1), y))


def _check_integer_pow(x: ShapedArray, *, y: int) -> None:
    if y < 0 and kind_of(x.dtype) in INTEGER:
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({x}, {y})")


integer_pow_p: Op = elementwise(
    "integer_pow", accepts=NUMBER, check=_check_integer_pow, eager=_integer_pow_eager, jvp=_integer_pow_jvp,
    params=("y",), cpu=_integer_pow_cpu, hlo=_integer_pow_hlo,
    rewrites=lambda eqn, producer: eqn.invars[0] if eqn.params["y"] == 1 else None, cost=3.0,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, *COMPLEXES), low=0.5, high=2,
                    params=tuple({"y": y} for y in (-3, -1, 0, 1, 2, 3, 7)), ulps=8))


def integer_pow(x: Any, y: int) -> Any:
    """x**y for a Python integer y, by repeated multiplication. TypeError for integers x and y < 0.

    >>> integer_pow(2.0, -2)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow_p(x, y=operator.index(y))


def reciprocal(x: Any) -> Any:
    """1 / x, for floats and complex numbers.

    >>> reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow_p(x, y=-1)


def _pow_abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    if kind_of(x.dtype) not in INEXACT:
        raise TypeError(f"pow does not accept dtype {dtypes.long_name(x.dtype)} at position 0. Accepted dtypes at position "
                        "0 are floating and complex. (Tip: integer_pow takes integers to constant powers.)")
    if y.dtype != x.dtype and kind_of(y.dtype) not in INTEGER:
        raise TypeError(f"lax.pow requires its second operand to have the dtype of the first or an integer dtype, "
                        f"got {x.dtype.name} and {y.dtype.name}.")
    return ShapedArray(broadcast_shapes("pow", [x.shape, y.shape]), x.dtype, x.weak_type and y.weak_type)


def _pow_prepare(op: Any, args: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """As for other operations of two operands, but an integer exponent stays one."""
    if type(args[1]) in (bool, int) or kind_of(aval_of(args[0]).dtype) not in INEXACT:
        return args, params
    return promote_scalars(op, args, params)


def _pow_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integer exponents are rounded to the dtype of x."""
    if x.dtype.kind == "c":
        return _complex_pow_eager(x.astype(np.complex128), y.astype(np.complex128)).astype(x.dtype)
    out = np.power(x, y.astype(x.dtype, copy=False))
    if y.size == 1 and y.item() == 0.5:  # NumPy takes the square root, of which -inf and -0 are NaN and -0
        return np.where(np.isinf(x), np.abs(x), out + np.zeros((), x.dtype))
    return out


def _complex_pow_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """e^(y log x) by the steps of the compiled rule: NumPy's own function answers otherwise at infinity."""
    log, p, q = np.log(x), y.real, y.imag
    u, v = log.real, np.arctan2(x.imag, x.real)
    is_real = (q == 0) & (v == 0)
    angle = np.where(is_real, 0.0, q * u + p * v)
    size = np.where(is_real, p * u, p * u - q * v)
    huge = size > 700.0
    half = np.exp(np.where(huge, size * 0.5, size))
    other = np.where(huge, half, 1.0)
    factors = np.cos(angle), np.sin(angle)
    re, im = (np.where(half == 0, np.copysign(0.0, f), f * half * other) for f in factors)
    im = np.where(is_real & (size == size), 0.0, im)
    one, vanishes = y == 0, (x == 0) & (p > 0)
    out = np.empty_like(re, np.complex128)
    out.real, out.imag = np.where(one, 1.0, np.where(vanishes, 0.0, re)), np.where(one | vanishes, 0.0, im)
    return out


def _float_exponent(x: Any, y: Any) -> Any:
    if aval_of(y).dtype == aval_of(x).dtype:
        return y
    return convert_element_type_p.bind(y, new_dtype=aval_of(x).dtype, weak_type=aval_of(y).weak_type)


def _pow_jvp_x(t: Any, out: Any, x: Any, y: Any) -> Any:
    whole = kind_of(aval_of(y).dtype) in "iu"
    y = _float_exponent(x, y)
    exponent = sub_p(y, 1.0)
    if whole:  # so that 0 * x**-1 is 0 at x = 0, too; the derivative by a float exponent would see another exponent
        exponent = where(apply("eq", y, 0.0), 1.0, exponent)
    return mul_p.bind(t, _strong(mul_p.bind(y, pow_p.bind(x, exponent))))


def _pow_jvp_y(t: Any, out: Any, x: Any, y: Any) -> Any:
    base = where(apply("eq", x, 0.0), 1.0, x)
    return mul_p.bind(t, _strong(mul_p.bind(call("log", base), out)))


def _strong(x: Any) -> Any:
    """Without a weak type: derivatives of powers of Python numbers have the type of arrays, as in JAX."""
    aval = aval_of(x)
    return cast(x, aval.dtype) if aval.weak_type else x


def _pow_cpu(b: Any, x: Any, y: Any) -> Any:
    y = y if y.dtype == x.dtype else b.convert(y, x.dtype)
    return cx.pow(b, x, y) if x.dtype.kind == "c" else b.math("pow", x, y)


pow_p: Op = elementwise(
    "pow", nargs=2, accepts=INEXACT, abstract=_pow_abstract, prepare=_pow_prepare, eager=_pow_eager,
    jvp=(_pow_jvp_x, _pow_jvp_y), cpu=_pow_cpu, hlo=SCALARS,
    traits=TRANSCENDENTAL, function="pow",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=(*FLOATS, *COMPLEXES, ("float32", "int32")),
                                           low=0.5, high=3, ulps=16))


def pow(x: Any, y: Any) -> Any:
    """x**y for float or complex x and y of the same dtype or an integer dtype; a Python number x may be of a higher kind.

    The derivative with respect to x is 0 where y is 0.

    >>> pow(2.0, 3)
    Array(8., dtype=float32, weak_type=True)
    """
    if type(x) in (float, complex) and not isinstance(y, (bool, int, float, complex)) and kind_of(aval_of(y).dtype) in "iu":
        x = constant(x, weak_type=True)
    return binary(pow_p, x, y)


sqrt_p: Op = elementwise(
    "sqrt", accepts=INEXACT, eager=np.sqrt, jvp=lambda t, out, x: div_p.bind(t, mul_p(out, 2.0)),
    cpu=by_kind(lambda b, x: b.prim("sqrt", x), cx.sqrt), hlo=SCALARS, traits=TRANSCENDENTAL, function="sqrt",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, *COMPLEXES), low=0.1, high=4, ulps=4))


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """Square root; NaN for negative floats, the root with real part >= 0 for complex numbers.

    >>> sqrt(9.0)
    Array(3., dtype=float32, weak_type=True)
    """
    check_accuracy("sqrt", accuracy)
    return sqrt_p(x)


rsqrt_p: Op = elementwise(
    "rsqrt", accepts=INEXACT, eager=lambda x: np.divide(np.asarray(1, x.dtype), np.sqrt(x)),
    jvp=lambda t, out, x: mul_p.bind(t, mul_p(div_p.bind(out, x), -0.5)),
    cpu=by_kind(lambda b, x: b.math("rsqrt", x), lambda b, x: b.div(b.const(1, x.dtype), cx.sqrt(b, x))),
    hlo=SCALARS,
    traits=TRANSCENDENTAL, function="rsqrt",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, *COMPLEXES), low=0.1, high=4, ulps=8))


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """1 / sqrt(x), for floats and complex numbers.

    >>> rsqrt(4.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    check_accuracy("rsqrt", accuracy)
    return rsqrt_p(x)


cbrt_p: Op = elementwise(
    "cbrt", accepts=FLOAT, eager=np.cbrt, jvp=lambda t, out, x: mul_p.bind(t, mul_p(integer_pow_p.bind(out, y=-2), 1 / 3)),
    cpu=lambda b, x: b.math("cbrt", x), hlo="stablehlo.cbrt", traits=TRANSCENDENTAL, function="cbrt",
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, low=0.1, high=4, ulps=4))


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """Cube root of floats; negative numbers have a negative root.

    >>> cbrt(-8.0)
    Array(-2., dtype=float32, weak_type=True)
    """
    check_accuracy("cbrt", accuracy)
    return cbrt_p(x)
