"""Elementwise exponentials, logarithms, circular and hyperbolic functions."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.core.op import SCALARS, Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import TRANSCENDENTAL
from numjet.foundation import dtypes, lazy_import
from numjet.lax.elementwise.accuracy import check_accuracy
from numjet.lax.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, neg_p, rsqrt_p, square_p, sub_p
from numjet.lax.elementwise.compare import clamp_p, gt_p, max_p, min_p, select_n_p
from numjet.lax.operands import BINARY_SHAPES, COMPLEXES, FLOATS, UNARY_SHAPES, binary, by_kind, where
from numjet.lax.templates import INEXACT, call, elementwise

cx = lazy_import.Functions("numjet.lax.elementwise.complex_rules")


def _function(name: str, eager: Any, jvp: Any, complex_rule: Any, low: float = -2, high: float = 2,
              ulps: float = 8) -> Op:
    """A record of a function that the scalar builder knows under the same name."""
    return elementwise(name, accepts=INEXACT, eager=eager, jvp=jvp, hlo=SCALARS, function=name, traits=TRANSCENDENTAL,
                       cpu=by_kind(lambda b, x: b.math(name, x), complex_rule),
                       samples=Samples(shapes=UNARY_SHAPES, dtypes=(*FLOATS, *COMPLEXES), low=low, high=high,
                                       ulps=ulps))


# ------------------------------------------------------------------------------------------------ exponentials

exp_p: Op = _function("exp", np.exp, lambda t, out, x: mul_p.bind(t, out), cx.exp, -5, 5)


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e**x, for floats and complex numbers.

    >>> exp(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_accuracy("exp", accuracy)
    return exp_p(x)


exp2_p: Op = _function("exp2", np.exp2, lambda t, out, x: mul_p.bind(t, mul_p(out, math.log(2))), cx.exp2,
                       -5, 5)


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2**x, for floats and complex numbers.

    >>> exp2(3.0)
    Array(8., dtype=float32, weak_type=True)
    """
    check_accuracy("exp2", accuracy)
    return exp2_p(x)


log_p: Op = _function("log", np.log, lambda t, out, x: div_p.bind(t, x), cx.log, 0.1, 5)


def log(x: Any, *, accuracy: Any = None) -> Any:
    """Natural logarithm; NaN for negative floats, imaginary part in [-pi, pi] for complex numbers.

    >>> log(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("log", accuracy)
    return log_p(x)


def _expm1_eager(x: np.ndarray) -> np.ndarray:
    """NumPy's multiplies the infinite e^x by sin 0, which is 0."""
    if x.dtype.kind != "c":
        return np.expm1(x)
    usual = np.expm1(x)
    out = np.empty_like(usual, x.dtype)
    out.real, out.imag = usual.real, np.where(x.imag == 0, x.imag, usual.imag)
    return out


expm1_p: Op = _function("expm1", _expm1_eager, lambda t, out, x: mul_p.bind(t, exp_p(x)), cx.expm1)


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """e**x - 1, accurate near 0.

    >>> expm1(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("expm1", accuracy)
    return expm1_p(x)


def _log1p_eager(x: np.ndarray) -> np.ndarray:
    """NumPy's for complex numbers loses the modulus near 0; the parts are computed in the next longer float here."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    wide = np.longdouble if x.dtype.itemsize == 16 else np.float64
    re: Any = x.real.astype(wide)
    im: Any = x.imag.astype(wide)
    near = np.log1p(re * (re + 2) + im * im) / 2
    out = np.empty_like(x, x.dtype)
    out.real = np.where(np.maximum(np.abs(re), np.abs(im)) < 0.5, near, np.log(np.hypot(re + 1, im)))
    out.imag = np.arctan2(im, re + 1)
    return out


log1p_p: Op = _function("log1p", _log1p_eager, lambda t, out, x: div_p.bind(t, add_p(x, 1.0)), cx.log1p, -0.5, 2)


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """log(1 + x), accurate near 0.

    >>> log1p(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("log1p", accuracy)
    return log1p_p(x)


def _logistic_eager(x: np.ndarray) -> np.ndarray:
    one = np.asarray(1, x.dtype)
    if x.dtype.kind == "c":
        left = x.real < 0
        w = np.exp(np.where(left, x, -x))  # does not overflow
        return (np.where(left, w, one) / (one + w)).astype(x.dtype, copy=False)
    return (one / (one + np.exp(-x))).astype(x.dtype, copy=False)


logistic_p: Op = _function("logistic", _logistic_eager,
                           lambda t, out, x: mul_p.bind(t, mul_p.bind(out, logistic_p.bind(neg_p.bind(x)))),
                           cx.logistic, -5, 5)


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """1 / (1 + e**-x), the sigmoid function.

    >>> logistic(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    check_accuracy("logistic", accuracy)
    return logistic_p(x)


# ------------------------------------------------------------------------------------------------ circular functions

sin_p: Op = _function("sin", np.sin, lambda t, out, x: mul_p.bind(t, cos_p.bind(x)), cx.sin, -10, 10)


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """Sine of an angle in radians.

    >>> sin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("sin", accuracy)
    return sin_p(x)


cos_p: Op = _function("cos", np.cos, lambda t, out, x: neg_p.bind(mul_p.bind(t, sin_p.bind(x))), cx.cos, -10, 10)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """Cosine of an angle in radians.

    >>> cos(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_accuracy("cos", accuracy)
    return cos_p(x)


tan_p: Op = _function("tan", np.tan, lambda t, out, x: mul_p.bind(t, add_p(square_p.bind(out), 1.0)), cx.tan, -1.5, 1.5)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """Tangent of an angle in radians.

    >>> tan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("tan", accuracy)
    return tan_p(x)


def _one_minus_square(x: Any) -> Any:
    """1 - x² without cancellation near 1, where the product corrects it; the derivative -2x has no cancellation near 0."""
    plain = sub_p(1.0, square_p.bind(x))
    fixed = call("stop_gradient", x)
    product = mul_p.bind(sub_p(1.0, fixed), add_p(1.0, fixed))
    correction = sub_p.bind(product, call("stop_gradient", plain))
    return add_p.bind(plain, where(call("eq", correction, correction), correction, 0.0))  # none at infinity


asin_p: Op = _function("asin", np.arcsin, lambda t, out, x: mul_p.bind(t, rsqrt_p.bind(_one_minus_square(x))), cx.asin,
                       -0.9, 0.9)


def asin(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN for floats outside of [-1, 1].

    >>> asin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return asin_p(x)


acos_p: Op = _function("acos", np.arccos,
                       lambda t, out, x: neg_p.bind(mul_p.bind(t, rsqrt_p.bind(_one_minus_square(x)))), cx.acos, -0.9, 0.9)


def acos(x: Any) -> Any:
    """The angle in [0, pi] whose cosine is x; NaN for floats outside of [-1, 1].

    >>> acos(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return acos_p(x)


def _atan_jvp(t: Any, out: Any, x: Any) -> Any:
    """t / (x² + 1), of finite numbers, as infinities would make its derivative inf * 0; the square may overflow."""
    if aval_of(x).dtype.kind != "c":
        most = float(dtypes.finfo(aval_of(x).dtype).max) / 4
        x = clamp_p(-most, x, most)
    return div_p.bind(t, add_p(square_p.bind(x), 1.0))


atan_p: Op = _function("atan", np.arctan, _atan_jvp, cx.atan)


def atan(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] whose tangent is x.

    >>> atan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return atan_p(x)


def _atan2_eager(x: Any, y: Any) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    return (-1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))).astype(x.dtype)


def _over_square_length(t: Any, x: Any, y: Any, z: Any) -> Any:
    """t z / (x² + y²): of floats that are divided by the largest before, as their squares overflow or vanish.

    Infinite ones count as the largest finite number, as inf / inf would be NaN, except in the last division.
    """
    if aval_of(x).dtype.kind != "c":
        largest, most = max_p.bind(abs_p.bind(x), abs_p.bind(y)), float(dtypes.finfo(aval_of(x).dtype).max)
        x, y, z = (div_p.bind(clamp_p(-most, v, most), min_p(largest, most)) for v in (x, y, z))
        z = div_p.bind(z, largest)
    return mul_p.bind(t, div_p.bind(z, add_p.bind(square_p.bind(x), square_p.bind(y))))


atan2_p: Op = elementwise(
    "atan2", nargs=2, accepts=INEXACT, eager=_atan2_eager,
    jvp=(lambda t, out, x, y: _over_square_length(t, x, y, y),
         lambda t, out, x, y: neg_p.bind(_over_square_length(t, x, y, x))),
    cpu=by_kind(lambda b, x, y: b.math("atan2", x, y), cx.atan2), hlo=SCALARS, traits=TRANSCENDENTAL, function="atan2",
    samples=Samples(shapes=BINARY_SHAPES, dtypes=(*FLOATS, "complex64"), low=0.3, ulps=16))


def atan2(x: Any, y: Any) -> Any:
    """The angle in [-pi, pi] of the point whose ordinate is x and whose abscissa is y: atan(x / y) in all quadrants.

    >>> atan2(0., 1.)
    Array(0., dtype=float32, weak_type=True)
    """
    return binary(atan2_p, x, y)


# ------------------------------------------------------------------------------------------------ hyperbolic functions

sinh_p: Op = _function("sinh", np.sinh, lambda t, out, x: mul_p.bind(t, cosh_p.bind(x)), cx.sinh)


def sinh(x: Any) -> Any:
    """Hyperbolic sine.

    >>> sinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return sinh_p(x)


cosh_p: Op = _function("cosh", np.cosh, lambda t, out, x: mul_p.bind(t, sinh_p.bind(x)), cx.cosh)


def cosh(x: Any) -> Any:
    """Hyperbolic cosine.

    >>> cosh(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return cosh_p(x)


def _tanh_jvp(t: Any, out: Any, x: Any) -> Any:
    return mul_p.bind(add_p.bind(t, mul_p.bind(t, out)), sub_p(1.0, out))


tanh_p: Op = _function("tanh", np.tanh, _tanh_jvp, cx.tanh, -3, 3)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """Hyperbolic tangent.

    >>> tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    check_accuracy("tanh", accuracy)
    return tanh_p(x)


def _asinh_jvp(t: Any, out: Any, x: Any) -> Any:
    """t / sqrt(x² + 1); 1 / |x| for floats whose square hides the 1, before squares overflow."""
    if aval_of(x).dtype.kind == "c":
        return mul_p.bind(t, rsqrt_p.bind(add_p(square_p.bind(x), 1.0)))
    size = abs_p.bind(x)
    far = gt_p(size, 4 / math.sqrt(float(dtypes.finfo(aval_of(x).dtype).eps)))
    near = rsqrt_p.bind(add_p(square_p.bind(where(far, 0.0, x)), 1.0))
    return mul_p.bind(t, select_n_p.bind(far, near, div_p(1.0, max_p(size, 1.0))))


asinh_p: Op = _function("asinh", np.arcsinh, _asinh_jvp, cx.asinh)


def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine.

    >>> asinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return asinh_p(x)


def _acosh_jvp(t: Any, out: Any, x: Any) -> Any:
    # Two roots: that of the product would put the branch cut of complex numbers elsewhere.
    return mul_p.bind(t, mul_p.bind(rsqrt_p.bind(sub_p(x, 1.0)), rsqrt_p.bind(add_p(x, 1.0))))


acosh_p: Op = _function("acosh", np.arccosh, _acosh_jvp, cx.acosh, 1.2, 5)


def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine, >= 0; NaN for floats below 1.

    >>> acosh(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return acosh_p(x)


atanh_p: Op = _function("atanh", np.arctanh, lambda t, out, x: div_p.bind(t, _one_minus_square(x)), cx.atanh,
                        -0.9, 0.9)


def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN for floats beyond.

    >>> atanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return atanh_p(x)
