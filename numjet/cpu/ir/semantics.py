"""Semantics of the operations of loop IR, as NumPy functions of scalars or arrays, for `verification/interpreter`.

Each takes and returns values of exactly the operands' dtype (comparisons: bool). Machine code is tested against these.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet.foundation import lazy_import

if TYPE_CHECKING:
    import fractions
    import statistics
else:
    fractions = lazy_import.Module("fractions")
    statistics = lazy_import.Module("statistics")

Array = Any


def _unsigned(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def div(x: Array, y: Array) -> Array:
    """Division, for integers towards zero: x / 0 is -1, and the smallest integer by -1 wraps."""
    if x.dtype.kind == "f":
        return np.divide(x, y)
    one, minus = x.dtype.type(1), ~x.dtype.type(0)
    signed = x.dtype.kind == "i"
    special = (y == 0) | (y == minus) if signed else y == 0
    safe = np.where(special, one, y)
    floor = np.floor_divide(x, safe)
    inexact = (np.fmod(x, safe) != 0) & ((x < 0) != (safe < 0))
    quotient = floor + inexact.astype(x.dtype)
    if signed:
        quotient = np.where(y == minus, np.negative(x), quotient)
    return np.where(y == 0, minus, quotient)


def rem(x: Array, y: Array) -> Array:
    """Remainder with the sign of the dividend; x rem 0 is x for integers."""
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    special = (y == 0) | (y == ~x.dtype.type(0)) if x.dtype.kind == "i" else y == 0
    return np.where(y == 0, x, np.fmod(x, np.where(special, x.dtype.type(1), y)))


def minimum(x: Array, y: Array) -> Array:
    """Minimum; y if they are equal, NaN if either is NaN."""
    chosen = np.where(x < y, x, y)
    return np.where(np.isnan(x), x, chosen) if x.dtype.kind == "f" else chosen


def maximum(x: Array, y: Array) -> Array:
    """Maximum; y if they are equal, NaN if either is NaN."""
    chosen = np.where(x > y, x, y)
    return np.where(np.isnan(x), x, chosen) if x.dtype.kind == "f" else chosen


def sign(x: Array) -> Array:
    """Sign: -1, 0 or 1; zeros and NaN are returned unchanged."""
    if x.dtype.kind == "f":
        return np.where((x == 0) | np.isnan(x), x, np.copysign(x.dtype.type(1), x))
    return np.sign(x)


def round_away(x: Array) -> Array:
    """Rounding to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    up = np.abs(x - whole) >= 0.5
    return np.copysign(np.where(up, whole + np.copysign(x.dtype.type(1), x), whole), x)


def _amount(x: Array, y: Array) -> tuple[Array, Array]:
    bits = 8 * x.dtype.itemsize
    amount = y.astype(_unsigned(y.dtype))
    return amount < bits, np.minimum(amount, bits - 1).astype(x.dtype)


def shl(x: Array, y: Array) -> Array:
    """Left shift; 0 for amounts of at least the width. Amounts are unsigned."""
    fits, amount = _amount(x, y)
    return np.where(fits, np.left_shift(x, amount), x.dtype.type(0))


def shrl(x: Array, y: Array) -> Array:
    """Logical right shift; 0 for amounts of at least the width."""
    fits, amount = _amount(x, y)
    wide = _unsigned(x.dtype)
    return np.where(fits, np.right_shift(x.astype(wide), amount.astype(wide)), wide.type(0)).astype(x.dtype)


def shra(x: Array, y: Array) -> Array:
    """Arithmetic right shift."""
    amount = _amount(x, y)[1]
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    return np.right_shift(x.astype(signed), amount.astype(signed)).astype(x.dtype)


def rotl(x: Array, y: Array) -> Array:
    """Rotation to the left, by amounts modulo the width."""
    amount = y.astype(_unsigned(x.dtype)) % (8 * x.dtype.itemsize)
    return shl(x, amount) | shrl(x, 8 * x.dtype.itemsize - amount)


def clz(x: Array) -> Array:
    """Number of leading zero bits."""
    bits = 8 * x.dtype.itemsize
    return np.vectorize(lambda v: bits - int(v).bit_length(), otypes=[x.dtype])(x.astype(_unsigned(x.dtype)))


def popcount(x: Array) -> Array:
    """Number of one bits."""
    return np.bitwise_count(x.astype(_unsigned(x.dtype))).astype(x.dtype)


def mulhi(x: Array, y: Array) -> Array:
    """The upper half of the double-width product."""
    bits = 8 * x.dtype.itemsize
    product = np.vectorize(lambda a, b: ((int(a) * int(b)) >> bits) % 2**bits, otypes=[_unsigned(x.dtype)])(x, y)
    return product.astype(x.dtype)


def fma(x: Array, y: Array, z: Array) -> Array:
    """Fused multiply-add: x * y + z, rounded once."""
    if x.dtype.kind != "f":
        return x * y + z
    kind = x.dtype.type
    return np.vectorize(lambda a, b, c: _fma(float(a), float(b), float(c), kind), otypes=[x.dtype])(x, y, z)


def _fma(x: float, y: float, z: float, kind: type) -> np.floating:
    if not (math.isfinite(x) and math.isfinite(y)):
        return kind(x * y + z)
    if not math.isfinite(z):
        return kind(z)
    exact = fractions.Fraction(x) * fractions.Fraction(y) + fractions.Fraction(z)
    if exact == 0:
        return kind(x * y + z if x == 0 or y == 0 else 0.0)
    return _nearest(exact, kind)


def _nearest(exact: fractions.Fraction, kind: type) -> np.floating:
    """The float nearest to a fraction, half to even."""
    info = np.finfo(kind)
    digits, lowest = info.nmant, int(info.minexp)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < fractions.Fraction(2) ** exponent
    unit = fractions.Fraction(2) ** (max(exponent, lowest) - digits)
    count = round(size / unit)
    with np.errstate(over="ignore"):
        value = kind(math.ldexp(count, max(exponent, lowest) - digits)) if exponent <= 1023 else kind(np.inf)
    return -value if exact < 0 else value


def scale(x: Array, n: Array) -> Array:
    """x * 2**floor(n), rounded once, for finite or NaN n."""
    info = np.finfo(x.dtype)
    most = info.maxexp - info.minexp + info.nmant + 2  # beyond, every number overflows or vanishes
    power = np.clip(np.nan_to_num(np.floor(n)), -most, most).astype(np.int32)
    return np.where(np.isnan(n), n, np.ldexp(x, power))


def exponent(x: Array) -> Array:
    """floor(log2 |x|) as a float."""
    found = np.where(x == 0, -np.inf, np.frexp(x)[1] - 1).astype(x.dtype)
    return np.where(np.isfinite(x), found, np.abs(x))


def significand(x: Array) -> Array:
    """x / 2**exponent(x), from 1 to 2; NaN for negative numbers."""
    found = np.where((x == 0) | np.isinf(x), x.dtype.type(1), 2 * np.frexp(x)[0])
    return np.where((x < 0) | np.isnan(x), x.dtype.type(np.nan), found)


def select(cond: Array, yes: Array, no: Array) -> Array:
    """Element-wise choice: `yes` where cond holds, otherwise `no`."""
    return np.where(cond, yes, no)


def convert(x: Array, dtype: np.dtype) -> Array:
    """The nearest value of another dtype. Floats to integers: towards zero, NaN to 0, saturating."""
    if _small(x.dtype):
        return convert(x.astype(np.float32), dtype)
    if dtype.kind in "iu" and x.dtype.kind == "f":
        return _saturate(x, dtype)
    return (x != 0) if dtype.kind == "b" else x.astype(dtype)


def _small(dtype: np.dtype) -> bool:
    return dtype.name in ("float16", "bfloat16")


def _saturate(x: Array, dtype: np.dtype) -> Array:
    info = np.iinfo(dtype)
    low, beyond = float(info.min), float(info.max) + (dtype.itemsize < 8)
    wide = x.astype(np.float64)
    inside = (wide > low - 1) & (wide < beyond) if dtype.itemsize < 8 else (wide >= low) & (wide < beyond)
    safe = np.where(inside, np.trunc(wide), 0.0).astype(dtype)
    return np.where(inside, safe, np.where(np.isnan(wide), 0, np.where(wide > 0, info.max, info.min)).astype(dtype))


def bitcast(x: Array, dtype: np.dtype) -> Array:
    """Reinterpretation of the bits as another dtype of the same size."""
    bits = np.ascontiguousarray(x)
    result = (bits.view(np.uint8) != 0) if dtype.kind == "b" else bits.view(dtype)
    return result.reshape(np.shape(x))


def _by_double(function: Callable[..., float]) -> Callable[..., Array]:
    """A function of Python floats for arrays."""
    many = np.vectorize(function, otypes=[np.float64])
    return lambda *xs: many(*xs)


def erf_inv(x: float) -> float:
    """Inverse error function: the normal quantile, refined by a Newton step."""
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    if abs(x) < 1e-8:
        return x * math.sqrt(math.pi) / 2
    quantile = statistics.NormalDist().inv_cdf
    y = quantile((1 + x) / 2) / math.sqrt(2) if x < 0 else -quantile((1 - x) / 2) / math.sqrt(2)
    return y - (math.erf(y) - x) * math.sqrt(math.pi) / 2 * math.exp(y * y)


def digamma(x: float) -> float:
    """Digamma by recurrence up to 10, then the asymptotic series (DLMF 5.11.2); by reflection for negative arguments."""
    if x != x or x == math.inf:
        return x
    if x == 0:
        return -math.copysign(math.inf, x)
    if x < 0:
        return math.nan if x == math.floor(x) else digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return shift + math.log(x) - 0.5 / x - series


def lgamma(x: float) -> float:
    """log |gamma(x)|; infinity at the poles."""
    if x in (math.inf, -math.inf) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


OPERATIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": div, "rem": rem, "neg": np.negative,
    "abs": np.abs, "sign": sign, "min": minimum, "max": maximum, "fma": fma, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "round_even": np.rint, "round_away": round_away, "copysign": np.copysign,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "shl": shl, "shra": shra,
    "shrl": shrl, "rotl": rotl, "popcount": popcount, "clz": clz, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "is_finite": np.isfinite, "select": select,
    "mulhi": mulhi, "scale": scale, "exponent": exponent, "significand": significand,
}

# Evaluated in float64 and rounded to the operands' dtype.
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "hypot": np.hypot, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)), "erf": _by_double(math.erf),
    "erfc": _by_double(math.erfc), "erf_inv": _by_double(erf_inv), "lgamma": _by_double(lgamma),
    "digamma": _by_double(digamma),
}


def apply(op: str, *args: Array) -> Array:
    """The value of an operation of ARITHMETIC or MATH. Raises NotImplementedError for another name."""
    if op in OPERATIONS:
        return OPERATIONS[op](*args)
    if op in ("nextafter", "fmod"):
        return getattr(np, op)(*args)
    if op not in FUNCTIONS:
        raise NotImplementedError(f"loop IR has no operation '{op}'")
    return np.asarray(FUNCTIONS[op](*(a.astype(np.float64) for a in args))).astype(args[0].dtype)
