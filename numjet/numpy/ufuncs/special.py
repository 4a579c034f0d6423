"""Composite elementwise functions: logaddexp, hypot, sinc, copysign, frexp, gcd, nan_to_num and others."""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, bits, bitwise, compare, convert, transcendental
from numjet.lax.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, neg_p, sub_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, max_p, min_p, ne_p, select_n_p
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
    strong_array,
    strong_beyond_scalars,
    strong_operand,
    to_array,
)
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import any as any_of
from numjet.numpy.ufuncs.arithmetic import to_array_checked, trunc
from numjet.numpy.ufuncs.logic import isinf, signbit
from numjet.numpy.ufuncs.transcendental import times_real

_BOOL = np.dtype(np.bool_)
_COMPLEX = frozenset(dtypes.COMPLEX)
_FLOATING = frozenset(dtypes.FLOATING)
_INTEGER = frozenset(dtypes.INTEGRAL)
_UNSIGNED = frozenset(dtypes.UNSIGNED)
_LN2 = math.log(2.0)


def _real_operands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    x, y = operands_inexact(name, x, y)
    if x.aval.dtype in _COMPLEX:
        error = ValueError if name == "hypot" else TypeError   # as in JAX
        raise error(f"jnp.{name} is not well defined for complex-valued inputs, got {x.aval.dtype.name}: use jnp.abs")
    return x, y


# -------------------------------------------------------------------------------------------- sums of exponentials

@jit_when_eager()
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)), without overflow. Equal infinities share the derivative equally.

    >>> logaddexp(0.0, 0.0)
    Array(0.6931472, dtype=float32, weak_type=True)
    """
    x, y = operands_inexact("logaddexp", x1, x2)
    return strong_beyond_scalars(_complex_logaddexp(x, y)) if x.aval.dtype in _COMPLEX else _sum_of_powers(False, x, y)


def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """log2(2**x1 + 2**x2), without overflow.

    >>> logaddexp2(1.0, 1.0)
    Array(2., dtype=float32, weak_type=True)
    """
    x, y = operands_inexact("logaddexp2", x1, x2)
    if x.aval.dtype not in _COMPLEX:
        return strong_beyond_scalars(_sum_of_powers(True, x, y))
    out = _complex_logaddexp(times_real(x, math.log(2)), times_real(y, math.log(2)))
    return strong_beyond_scalars(times_real(out, 1 / math.log(2)))


def _difference(x: Any, y: Any) -> Any:
    """x - y, 0 of equal infinities."""
    difference = sub_p.bind(x, y)
    same = bitwise.and_p.bind(ne_p.bind(difference, difference), eq_p.bind(x, y))
    return select_n_p.bind(same, difference, literal(0.0, difference.aval.dtype))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _sum_of_powers(binary: bool, x: Any, y: Any) -> Any:
    """max + log1p(exp(-|x - y|)), of base 2 or e."""
    gap = neg_p.bind(abs_p.bind(_difference(x, y)))
    rest = transcendental.log1p_p.bind((transcendental.exp2_p if binary else transcendental.exp_p).bind(gap))
    if binary:
        rest = mul_p.bind(rest, literal(1 / _LN2, rest.aval.dtype))
    return add_p.bind(max_p.bind(x, y), rest)


@_sum_of_powers.defjvp
def _slope_of_sum(binary: bool, primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """The derivatives logistic(x - y) and logistic(y - x), which are smooth where x == y, unlike max."""
    difference = _difference(*primals)
    if binary:
        difference = mul_p.bind(difference, literal(_LN2, difference.aval.dtype))
    shares = [transcendental.logistic_p.bind(d) for d in (difference, neg_p.bind(difference))]
    slope = add_p.bind(*[mul_p.bind(t, share) for t, share in zip(tangents, shares, strict=True)])
    return _sum_of_powers(binary, *primals), slope


def _complex_logaddexp(x: Any, y: Any) -> Any:
    """As for real numbers, with the imaginary part wrapped into [-pi, pi]."""
    larger = max_p.bind(x, y)
    gap = sub_p.bind(min_p.bind(x, y), larger)
    undefined = ne_p.bind(gap, gap)
    rest = transcendental.log1p_p.bind(transcendental.exp_p.bind(gap))
    out = select_n_p.bind(undefined, add_p.bind(larger, rest), add_p.bind(x, y))
    imag = convert.imag_p.bind(out)
    turn = literal(2 * math.pi, imag.aval.dtype)
    wrapped = sub_p.bind(imag, mul_p.bind(turn, arithmetic.round(div_p.bind(imag, turn))))
    return convert.complex_p.bind(convert.real_p.bind(out), wrapped)


# -------------------------------------------------------------------------------------------- lengths and signs

@jit_when_eager()
def hypot(x1: Any, x2: Any, /) -> Any:
    """sqrt(x1**2 + x2**2) without overflow; inf when one is infinite. Its derivatives at (0, 0) are 1/2.

    >>> hypot(3, 4)
    Array(5., dtype=float32, weak_type=True)
    """
    return strong_beyond_scalars(_length(*_real_operands("hypot", x1, x2)))


@custom_jvp
def _length(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    a, b = abs_p.bind(x), abs_p.bind(y)
    infinite = bitwise.or_p.bind(*(eq_p.bind(v, literal(math.inf, dtype)) for v in (a, b)))
    large, small = max_p.bind(a, b), min_p.bind(a, b)
    zero = eq_p.bind(large, literal(0.0, dtype))
    divisor = select_n_p.bind(bitwise.or_p.bind(zero, infinite), large, literal(1.0, dtype))
    ratio = div_p.bind(small, divisor)
    safe = select_n_p.bind(infinite, ratio, literal(0.0, dtype))
    factor = arithmetic.sqrt_p.bind(add_p.bind(literal(1.0, dtype), arithmetic.square_p.bind(safe)))
    return select_n_p.bind(infinite, mul_p.bind(large, factor), literal(math.inf, dtype))


@_length.defjvp
def _slope_of_length(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """The derivatives x / hypot and y / hypot."""
    return _length(*primals), add_p.bind(*map(mul_p.bind, tangents, _direction(*primals)))


@custom_jvp
def _direction(x: Any, y: Any) -> tuple[Any, Any]:
    """x / hypot and y / hypot, of operands divided by the larger one, so that nothing overflows; 1/2 at (0, 0).

    Of an infinite operand the sign counts, and finite ones beside it are zeros: these are the limits.
    """
    dtype = x.aval.dtype
    sizes = [abs_p.bind(v) for v in (x, y)]
    largest = _at_least_tiny(max_p.bind(*sizes))
    parts = [select_n_p.bind(eq_p.bind(size, literal(math.inf, dtype)), div_p.bind(v, largest), arithmetic.sign_p.bind(v))
             for v, size in zip((x, y), sizes, strict=True)]
    total = add_p.bind(*(arithmetic.square_p.bind(part) for part in parts))
    zero = eq_p.bind(total, literal(0.0, dtype))
    root = arithmetic.sqrt_p.bind(select_n_p.bind(zero, total, literal(1.0, dtype)))
    u, v = (select_n_p.bind(zero, div_p.bind(part, root), literal(0.5, dtype)) for part in parts)
    return u, v


@_direction.defjvp
def _turn(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """A unit vector turns by the part of the tangent across it: differences of the quotients' derivatives would cancel.
    At (0, 0) it stays."""
    (u, v), (s, t) = _direction(*primals), tangents
    length = _at_least_tiny(_length(*primals))
    zero = eq_p.bind(max_p.bind(*map(abs_p.bind, primals)), literal(0.0, length.aval.dtype))
    length = select_n_p.bind(zero, length, literal(math.inf, length.aval.dtype))
    across = sub_p.bind(mul_p.bind(u, t), mul_p.bind(v, s))
    du, dv = (div_p.bind(mul_p.bind(w, across), length) for w in (neg_p.bind(v), u))
    return (u, v), (du, dv)


def _at_least_tiny(x: Any) -> Any:
    """x, and the smallest normal number for subnormal ones, whose inverse overflows."""
    return max_p.bind(x, literal(float(dtypes.finfo(x.aval.dtype).tiny), x.aval.dtype))


def copysign(x1: Any, x2: Any, /) -> Any:
    """|x1| with the sign of x2, that of zeros and NaN included. ValueError for complex numbers.

    >>> copysign(1.0, -0.0)
    Array(-1., dtype=float32, weak_type=True)
    """
    x, y = _real_operands("copysign", x1, x2)
    size = abs_p.bind(x)
    out = select_n_p.bind(signbit(y), size, neg_p.bind(size))
    return out if y.aval.weak_type else strong_array(out)  # of y only the sign is read, but its dtype counts


def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 < 0, x2 where x1 == 0, 1 where x1 > 0, NaN where x1 is NaN. ValueError for complex numbers.

    >>> heaviside(0.0, 0.5)
    Array(0.5, dtype=float32, weak_type=True)
    """
    x, y = _real_operands("heaviside", x1, x2)
    dtype = x.aval.dtype
    zero, one = literal(0.0, dtype), literal(1.0, dtype)
    out = select_n_p.bind(ne_p.bind(x, x), y, x)
    out = select_n_p.bind(gt_p.bind(x, zero), out, one)
    return strong_beyond_scalars(select_n_p.bind(lt_p.bind(x, zero), out, zero))


def nextafter(x: Any, y: Any, /) -> Any:
    """The float next to x in the direction of y.

    >>> nextafter(0.0, 1.0) > 0
    Array(True, dtype=bool)
    """
    x, y = _real_operands("nextafter", x, y)
    return compare.nextafter_p.bind(x, y)


def spacing(x: Any, /) -> Any:
    """The distance from x to the next float away from zero, with the sign of x; NaN for infinities.

    >>> spacing(1.0)
    Array(1.1920929e-07, dtype=float32)
    """
    x = strong_operand(operand_inexact("spacing", x))
    if x.aval.dtype in _COMPLEX:
        raise ValueError(f"jnp.spacing does not support complex numbers, got dtype {x.aval.dtype.name}")
    dtype = x.aval.dtype
    away = select_n_p.bind(signbit(x), literal(math.inf, dtype), literal(-math.inf, dtype))
    return bits.stop_gradient(sub_p.bind(compare.nextafter_p.bind(x, away), x))


# -------------------------------------------------------------------------------------------- series

_SINC_TERMS = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))


@jit_when_eager()
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), 1 at 0; near 0 by its Taylor series, so that derivatives of all orders are accurate there.

    >>> sinc(0.5)
    Array(0.63661975, dtype=float32, weak_type=True)
    """
    x = operand_inexact("sinc", x)
    dtype = x.aval.dtype
    t = mul_p.bind(literal(math.pi, dtype), x)
    small = lt_p.bind(abs_p.bind(t), literal(0.5, dtypes.to_floating_dtype(dtype)))
    divisor = select_n_p.bind(small, t, literal(1.0, dtype))
    plain = div_p.bind(transcendental.sin_p.bind(divisor), divisor)
    square = arithmetic.square_p.bind(select_n_p.bind(small, literal(0.0, dtype), t))
    series: Any = literal(_SINC_TERMS[-1], dtype)
    for c in reversed(_SINC_TERMS[:-1]):
        series = add_p.bind(mul_p.bind(series, square), literal(c, dtype))
    return strong_beyond_scalars(select_n_p.bind(small, plain, series))


# -------------------------------------------------------------------------------------------- parts of floats

def _layout(dtype: np.dtype) -> tuple[int, int, np.dtype]:
    """Bits of the mantissa, bias of the exponent, and the integers of the width of a float dtype."""
    info = dtypes.finfo(dtype)
    return int(info.nmant), 1 - int(info.minexp), np.dtype(f"int{8 * dtype.itemsize}")


def _wide(x: Any) -> Any:
    """float16 and bfloat16 as float32."""
    return as_dtype(x, dtypes.float32, x.aval.weak_type) if x.aval.dtype.itemsize < 4 else x


def _power_of_two(n: Any, dtype: np.dtype) -> Any:
    """2 ** n for integers n in the range of normal exponents, exactly: by writing the exponent's bits."""
    mantissa, bias, integer = _layout(dtype)
    field = add_p.bind(as_dtype(n, integer), literal(bias, integer))
    shifted = bitwise.shift_left_p.bind(field, literal(mantissa, integer))
    return bits.bitcast_convert_type(to_array(shifted), dtype)


def _scaled(x: Any, n: Any) -> Any:
    """x * 2 ** n for any integers n: in three steps, as 2 ** n need not be a float. A constant factor to derivatives."""
    _, bias, integer = _layout(x.aval.dtype)
    limit = 3 * (bias - 1)
    n = max_p.bind(min_p.bind(as_dtype(n, integer), literal(limit, integer)), literal(-limit, integer))
    third = div_p.bind(n, literal(3, integer))
    rest = sub_p.bind(n, add_p.bind(third, third))
    factor = _power_of_two(third, x.aval.dtype)
    x, factor = operands("ldexp", x, factor)
    x, last = operands("ldexp", mul_p.bind(mul_p.bind(x, factor), factor), _power_of_two(rest, x.aval.dtype))
    return mul_p.bind(x, last)


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2 ** x2 for integers x2. ValueError for complex x1 and x2 that are not integers.

    >>> ldexp(1.5, 3)
    Array(12., dtype=float32)
    """
    x, n = operand_inexact("ldexp", x1), operand("ldexp", x2)
    if x.aval.dtype in _COMPLEX or n.aval.dtype in _COMPLEX:
        raise ValueError("jnp.ldexp does not support complex numbers")
    n = as_dtype(n, dtypes.int32) if n.aval.dtype == np.bool_ else n
    if n.aval.dtype not in _INTEGER:
        raise ValueError(f"ldexp not supported for input types {x.aval.dtype.name}, {n.aval.dtype.name}: x2 must hold integers")
    if x.aval.shape and n.aval.shape and x.aval.shape != n.aval.shape:
        x, n = _together(x, n)
    return as_dtype(_scaled(_wide(x), n), x.aval.dtype, x.aval.weak_type)


def _together(x: Any, n: Any) -> tuple[Any, Any]:
    """Operands of unlike dtypes broadcast to one shape."""
    target = common_shape("ldexp", (x.aval.shape, n.aval.shape))
    return broadcast_to(x, target), broadcast_to(n, target)


def frexp(x: Any, /) -> tuple[Any, Any]:
    """(m, e) with x = m * 2 ** e, 0.5 <= |m| < 1 and e of int32; zeros, infinities and NaN are their own m, with e = 0.

    TypeError for complex numbers.

    >>> frexp(6.0)
    (Array(0.75, dtype=float32), Array(3, dtype=int32))
    """
    x = operand_inexact("frexp", x)
    if x.aval.dtype in _COMPLEX:
        raise TypeError(f"jnp.frexp does not support complex numbers, got dtype {x.aval.dtype.name}")
    wide = _wide(x)
    dtype = wide.aval.dtype
    mantissa, bias, integer = _layout(dtype)
    tiny = lt_p.bind(abs_p.bind(wide), literal(float(dtypes.finfo(dtype).tiny), dtype))
    normal = select_n_p.bind(tiny, wide, mul_p.bind(wide, literal(2.0 ** mantissa, dtype)))
    pattern = bits.bitcast_convert_type(to_array_checked("frexp", normal), integer)
    field = bitwise.and_p.bind(bitwise.shift_right_logical_p.bind(pattern, literal(mantissa, integer)),
                               literal(2 * bias + 1, integer))
    exponent = sub_p.bind(field, select_n_p.bind(tiny, literal(bias - 1, integer), literal(bias - 1 + mantissa, integer)))
    special_ = bitwise.or_p.bind(eq_p.bind(wide, literal(0.0, dtype)),
                                 compare.eq_p.bind(field, literal(2 * bias + 1, integer)))
    exponent = select_n_p.bind(special_, exponent, literal(0, integer))
    fraction = _scaled(wide, neg_p.bind(exponent))
    return as_dtype(fraction, x.aval.dtype, x.aval.weak_type), convert.convert_dtype(exponent, dtypes.int32)


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """(fractional part, whole part), both with the sign of x. TypeError for complex numbers.

    >>> modf(-2.5)
    (Array(-0.5, dtype=float32, weak_type=True), Array(-2., dtype=float32, weak_type=True))
    """
    check_out("modf", out)
    x = operand_inexact("modf", x)
    if x.aval.dtype in _COMPLEX:
        raise TypeError(f"jnp.modf does not support complex numbers, got dtype {x.aval.dtype.name}")
    whole = trunc(x)
    rest = select_n_p.bind(isinf(x), sub_p.bind(x, whole), literal(0.0, x.aval.dtype))
    return rest, whole


# -------------------------------------------------------------------------------------------- divisors

@jit_when_eager()
def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor, >= 0, of integers, by Euclid's algorithm. ValueError for others.

    >>> gcd(12, 18)
    Array(6, dtype=int32, weak_type=True)
    """
    x, y = _sizes("gcd", x1, x2)

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        zero = literal(0, b.aval.dtype)
        going = ne_p.bind(b, zero)
        divisor = select_n_p.bind(going, literal(1, b.aval.dtype), b)
        return select_n_p.bind(going, a, b), select_n_p.bind(going, b, arithmetic.rem_p.bind(a, divisor))

    return while_loop(lambda pair: any_of(pair[1]), step, (x, y))[0]


@jit_when_eager()
def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple, >= 0, of integers; 0 with 0. ValueError for others.

    >>> lcm(4, 6)
    Array(12, dtype=int32, weak_type=True)
    """
    x, y = _sizes("lcm", x1, x2)
    divisor = gcd(x, y)
    zero, one = literal(0, divisor.dtype), literal(1, divisor.dtype)
    safe = select_n_p.bind(eq_p.bind(divisor, zero), divisor, one)
    return mul_p.bind(x, div_p.bind(y, safe))


def _sizes(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """|x| and |y| of integers, of one shape."""
    x, y = operands(name, x, y)
    if x.aval.dtype not in _INTEGER:
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers, got dtype {x.aval.dtype.name}.")
    if x.aval.dtype not in _UNSIGNED:
        x, y = abs_p.bind(x), abs_p.bind(y)
    weak = x.aval.weak_type and y.aval.weak_type and not (x.shape or y.shape)
    x, y = (convert.convert_dtype(to_array_checked(name, v), x.aval.dtype, weak) for v in (x, y))  # carries of one loop
    if x.shape == y.shape:
        return x, y
    target = common_shape(name, (x.shape, y.shape))
    return broadcast_to(x, target), broadcast_to(y, target)


# -------------------------------------------------------------------------------------------- NaN

def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """x with NaN replaced by `nan`, inf by `posinf` (default: the largest float), -inf by `neginf` (the lowest).

    One after the other: a `nan` of -inf is replaced by `neginf`. Integers stay; of complex numbers both parts are treated.

    >>> nan_to_num(float("nan"))
    Array(0., dtype=float32)
    """
    del copy
    x = operand("nan_to_num", x)
    dtype = x.aval.dtype
    if dtype in _COMPLEX:
        parts = (nan_to_num(p, True, nan, posinf, neginf) for p in (convert.real_p.bind(x), convert.imag_p.bind(x)))
        return convert.complex_p.bind(*parts)
    if dtype not in _FLOATING:
        return to_array_checked("nan_to_num", x)
    limits = dtypes.finfo(dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    out = _replaced(x, ne_p.bind(x, x), nan)
    out = _replaced(out, eq_p.bind(out, literal(math.inf, dtype)), high)
    return _replaced(out, eq_p.bind(out, literal(-math.inf, dtype)), low)


def _replaced(x: Any, where: Any, value: Any) -> Any:
    return choose_by("nan_to_num", where, as_dtype(operand("nan_to_num", value), x.aval.dtype), x)
