"""Scalar builder on tensors, an implementation of core.emit.ScalarBuilder, so that one rule serves both backends."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.emit import HloBuilder, NamedArithmetic
from numjet.foundation import dtypes

Value = Any  # a tensor of the builder

_SAME = {
    "add": "add", "sub": "subtract", "mul": "multiply", "neg": "negate", "abs": "abs",
    "min": "minimum", "max": "maximum", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "round_even": "round_nearest_even", "round_away": "round_nearest_afz", "and": "and", "or": "or", "xor": "xor", "not": "not",
    "shl": "shift_left", "shrl": "shift_right_logical", "shra": "shift_right_arithmetic", "popcount": "popcnt",
    "clz": "count_leading_zeros", "exp": "exponential", "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one",
    "sin": "sine", "cos": "cosine", "tan": "tan", "tanh": "tanh", "atan2": "atan2", "pow": "power", "cbrt": "cbrt",
    "rsqrt": "rsqrt", "logistic": "logistic",
    **{name: f"chlo.{name}" for name in ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc",
                                         "erf_inv", "lgamma", "digamma")},
    "nextafter": "chlo.next_after",
}
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


class Scalars(NamedArithmetic):
    """Arithmetic of scalar rules, elementwise on tensors of one shape; constants take that shape."""

    def __init__(self, b: HloBuilder, shape: Sequence[int]):
        self.b, self.shape = b, tuple(shape)

    def const(self, value: Any, dtype: Any) -> Value:
        return self.b.full(self.shape, value, np.dtype(dtype))

    def prim(self, name: str, *args: Value) -> Value:
        b = self.b
        if name in _COMPARE:
            return b.compare(name, *args)
        if name in _SAME:
            return b.unary(_SAME[name], args[0]) if len(args) == 1 else b.binary(_SAME[name], *args)
        return getattr(self, f"_{name}")(*args)

    def _div(self, x: Value, y: Value) -> Value:
        return self.b.divide(x, y)

    def _rem(self, x: Value, y: Value) -> Value:
        return self.b.remainder(x, y)

    def _rotl(self, x: Value, y: Value) -> Value:
        width = 8 * x.dtype.itemsize
        y = self.b.remainder(y, self.const(width, x.dtype))
        right = self.b.binary("subtract", self.const(width, x.dtype), y)
        return self.b.binary("or", self.b.binary("shift_left", x, y), self.b.binary("shift_right_logical", x, right))

    def select(self, cond: Value, on_true: Value, on_false: Value) -> Value:
        return self.b.select(cond, on_true, on_false)

    def convert(self, x: Value, dtype: Any) -> Value:
        return self.b.convert(x, dtype)

    def bitcast(self, x: Value, dtype: Any) -> Value:
        return self.b.bitcast(x, dtype)

    def real(self, x: Value) -> Value:
        return self.b.real(x) if dtypes.kind(x.dtype) == "c" else x

    def imag(self, x: Value) -> Value:
        return self.b.imag(x) if dtypes.kind(x.dtype) == "c" else self.const(0, x.dtype)

    def complex(self, re: Value, im: Value) -> Value:
        return self.b.complex(re, im)

    # -- operations that StableHLO lacks
    def _select(self, cond: Value, x: Value, y: Value) -> Value:
        return self.b.select(cond, x, y)

    def _is_finite(self, x: Value) -> Value:
        if dtypes.kind(x.dtype) == "c":
            return self.prim("and", self._is_finite(self.real(x)), self._is_finite(self.imag(x)))
        return self.b.op("stablehlo.is_finite", [x], ShapedArray(x.shape, np.dtype(np.bool_)))

    def _fma(self, x: Value, y: Value, z: Value) -> Value:
        """Multiply-add with two roundings: StableHLO has no fused one."""
        return self.add(self.mul(x, y), z)

    def _trunc(self, x: Value) -> Value:
        negative = self.compare("lt", x, self.const(0, x.dtype))
        return self.select(negative, self.prim("ceil", x), self.prim("floor", x))

    def _copysign(self, x: Value, y: Value) -> Value:
        """The bits of |x| with the sign bit of y."""
        word = np.dtype(f"u{x.dtype.itemsize}")
        sign = self.const(1 << (8 * x.dtype.itemsize - 1), word)
        bits = self.prim("or", self.bitcast(self.prim("abs", x), word), self.prim("and", self.bitcast(y, word), sign))
        return self.bitcast(bits, x.dtype)

    def _exp2(self, x: Value) -> Value:
        return self.prim("pow", self.const(2, x.dtype), x)

    def _log2(self, x: Value) -> Value:
        return self.div(self.prim("log", x), self.const(np.log(2.0), x.dtype))

    def _hypot(self, x: Value, y: Value) -> Value:
        """Scaled by the larger operand, so that squares neither overflow nor vanish; inf where one operand is."""
        x, y = self.prim("abs", x), self.prim("abs", y)
        big, small = self.prim("max", x, y), self.prim("min", x, y)
        zero, infinity = self.const(0, x.dtype), self.const(np.inf, x.dtype)
        ratio = self.select(self.compare("eq", big, zero), zero, self.div(small, big))
        length = self.mul(big, self.prim("sqrt", self.add(self.const(1, x.dtype), self.mul(ratio, ratio))))
        infinite = self.prim("or", self.compare("eq", x, infinity), self.compare("eq", y, infinity))
        return self.select(infinite, infinity, length)

    def _mulhi(self, x: Value, y: Value) -> Value:
        """The upper half of the product of integers; of 64 bits by 32-bit digits (Knuth, TAOCP 2, 4.3.1)."""
        dtype, bits = x.dtype, dtypes.itemsize_bits(x.dtype)
        signed = dtypes.kind(dtype) == "i"
        if bits < 64:
            wide = np.dtype(np.int64 if signed else np.uint64)
            product = self.mul(self.convert(x, wide), self.convert(y, wide))
            return self.convert(self.prim("shra" if signed else "shrl", product, self.const(bits, wide)), dtype)
        low, half = self.const(0xFFFFFFFF, dtype), self.const(32, dtype)
        upper = lambda v: self.prim("shra" if signed else "shrl", v, half)
        xl, yl, xh, yh = self.prim("and", x, low), self.prim("and", y, low), upper(x), upper(y)
        middle = self.add(self.mul(xh, yl), self.prim("shrl", self.mul(xl, yl), half))
        last = self.add(self.mul(xl, yh), self.prim("and", middle, low))
        return self.add(self.add(self.mul(xh, yh), upper(middle)), upper(last))

    def _sign(self, x: Value) -> Value:
        if dtypes.kind(x.dtype) == "u":
            return self.prim("min", x, self.const(1, x.dtype))
        return self.b.unary("sign", x)


def elementwise(rule: Callable[..., Value], b: HloBuilder, args: Sequence[Value], params: dict[str, Any]) -> Value:
    """A scalar rule of an elementwise record, on tensors of one shape."""
    return rule(Scalars(b, args[0].shape), *args, **params)
