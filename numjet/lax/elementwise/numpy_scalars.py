"""A ScalarBuilder whose scalars are NumPy arrays: evaluates cpu rules of elementwise records without a compiler.

It is the reference implementation of functions that NumPy and SciPy lack, and checks the rules of all others.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.emit import NamedArithmetic
from numjet.foundation import dtypes
from numjet.lax.elementwise.convert import convert_values
from numjet.lax.elementwise.scipy_functions import erfc_without_loss, gammaln_with_limits, psi_by_reflection, scipy_special

_HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))
_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
            "ge": np.greater_equal}
_MATH: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs, "sign": np.sign,
    "min": np.minimum, "max": np.maximum, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round_even": np.rint, "copysign": np.copysign, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.bitwise_not, "is_finite": np.isfinite, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "log2": np.log2, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "hypot": np.hypot, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "nextafter": np.nextafter, "div": np.divide, "rem": np.fmod, "fmod": np.fmod, "shl": np.left_shift, "shra": np.right_shift,
    "shrl": np.right_shift, **_COMPARE,
    "round_away": lambda x: np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.copysign(1, x), 0),
    "erf": lambda x: scipy_special.erf(x), "erfc": erfc_without_loss, "erf_inv": lambda x: scipy_special.erfinv(x),
    "lgamma": gammaln_with_limits, "digamma": psi_by_reflection}


class NumpyScalars(NamedArithmetic):
    """Halves are computed in float32 and rounded; fma is rounded once, by way of longer floats."""

    def const(self, value: Any, dtype: Any) -> np.ndarray:
        return np.asarray(value).astype(dtype)

    def prim(self, name: str, *args: np.ndarray) -> np.ndarray:
        dtype = args[-1].dtype
        if name == "select":
            return np.where(*args)
        if name == "fma":
            x, y, z = (a.astype(np.longdouble) for a in args)
            return (x * y + z).astype(dtype)
        if dtype in _HALVES:
            args = tuple(a.astype(np.float32) for a in args)
        out = np.asarray(_MATH[name](*args))
        return out if out.dtype == bool else out.astype(dtype)

    def compare(self, op: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(_COMPARE[op](x, y))

    def convert(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        return convert_values(np.asarray(x), np.dtype(dtype))

    def bitcast(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        return np.asarray(x).view(dtype)

    def real(self, x: np.ndarray) -> np.ndarray:
        return np.real(x)

    def imag(self, x: np.ndarray) -> np.ndarray:
        return np.imag(x)

    def complex(self, re: np.ndarray, im: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(np.shape(re), np.shape(im))
        out = np.empty(shape, np.complex64 if re.dtype == np.float32 else np.complex128)
        out.real, out.imag = re, im
        return out

    def select(self, cond: Any, x: Any, y: Any) -> Any:
        return np.where(cond, x, y)
