"""Rows of operands for the elementwise functions and the reductions of numjet.lax, with definitions in NumPy and SciPy."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from numjet import lax
from tests.operands import COMPLEX, HALVES, INTEGERS, KINDS, SPECIAL, Case, extended, itself, reversed_last

_WHOLE = INTEGERS[:3]
_FLOATS = tuple(kind for kind, x in KINDS.items() if kind not in (*INTEGERS, *COMPLEX))
_ONLY_FLOATS = dict.fromkeys(INTEGERS, "floats and complex numbers only")
_ONLY_REAL = {**_ONLY_FLOATS, **dict.fromkeys(COMPLEX, "real floats only")}
_ONLY_BITS = {**dict.fromkeys((*_FLOATS, *COMPLEX), "integers and bools only")}
_NO_BOOLS = {"bool": "no numbers"}
_NO_ORDER = dict.fromkeys(COMPLEX, "complex numbers have no order")
JUMPS = {"not_smooth": "jumps"}


def _unary(ours: Callable[..., Any], theirs: Callable[..., Any], **fields: Any) -> Case:
    return Case(ours, theirs, **fields)


def _binary(ours: Callable[..., Any], theirs: Callable[..., Any], **fields: Any) -> Case:
    return Case(ours, theirs, (itself, reversed_last), **fields)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


_TRANSCENDENTAL = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "logistic": _logistic,
    "rsqrt": lambda x: 1 / np.sqrt(x)}
_SPECIAL_FUNCTIONS = {
    "cbrt": np.cbrt, "erf": special.erf, "erfc": special.erfc, "erf_inv": special.erfinv, "lgamma": special.gammaln,
    "digamma": special.psi, "bessel_i0e": special.i0e, "bessel_i1e": special.i1e}
_POLES = {"lgamma": dict.fromkeys(SPECIAL, "infinite at -inf; SciPy: -inf"),
          "digamma": dict.fromkeys(SPECIAL, "NaN at the pole 0, which has two sides; SciPy: infinite")}
_COMPARED = {"eq": np.equal, "ne": np.not_equal}
_ORDERED = {"ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less}
ELEMENTWISE = {
    **{name: _unary(getattr(lax, name), theirs, refused=_ONLY_FLOATS) for name, theirs in _TRANSCENDENTAL.items()},
    **{name: _unary(getattr(lax, name), theirs, refused=_ONLY_REAL, decided=_POLES.get(name, {}))
       for name, theirs in _SPECIAL_FUNCTIONS.items()},
    "neg": _unary(lax.neg, np.negative, refused=_NO_BOOLS), "sign": _unary(lax.sign, np.sign, refused=_NO_BOOLS, **JUMPS),
    "abs": _unary(lax.abs, np.abs, refused={**_NO_BOOLS, "uint8": "signed numbers only"}),
    "square": _unary(lax.square, np.square, refused=_NO_BOOLS),
    "reciprocal": _unary(lax.reciprocal, lambda x: 1 / x, refused=_ONLY_FLOATS),
    "floor": _unary(lax.floor, np.floor, refused=_ONLY_REAL, **JUMPS),
    "ceil": _unary(lax.ceil, np.ceil, refused=_ONLY_REAL, **JUMPS),
    "round": _unary(lax.round, lambda x: np.where(np.isfinite(x), np.trunc(x + np.copysign(0.5, x)), x).astype(x.dtype),
                    refused=_ONLY_REAL, **JUMPS),
    "is_finite": _unary(lax.is_finite, np.isfinite, refused=_ONLY_REAL, **JUMPS),
    "integer_pow": Case(lax.integer_pow, lambda x, y: x ** x.dtype.type(y), options=tuple({"y": y} for y in (0, 1, 2, 3)),
                        refused=_NO_BOOLS),
    "real": _unary(lax.real, np.real, refused=dict.fromkeys((*_FLOATS, *INTEGERS), "complex numbers only")),
    "imag": _unary(lax.imag, np.imag, refused=dict.fromkeys((*_FLOATS, *INTEGERS), "complex numbers only")),
    "conj": _unary(lax.conj, np.conj, refused=dict.fromkeys(INTEGERS, "floats and complex numbers only"),
                   decided=dict.fromkeys(_FLOATS, "complex, as in JAX")),
    "bitwise_not": _unary(lax.bitwise_not, np.invert, refused=_ONLY_BITS),
    "population_count": _unary(lax.population_count, lambda x: np.bitwise_count(x).astype(x.dtype),
                               kinds={"uint8": KINDS["uint8"]}),
    **{name: _binary(getattr(lax, name), getattr(np, theirs), refused=_NO_BOOLS) for name, theirs in
       (("add", "add"), ("sub", "subtract"), ("mul", "multiply"))},
    "div": _binary(lax.div, np.true_divide,
                   refused=_NO_BOOLS, decided=dict.fromkeys(_WHOLE, "integers, rounded to 0; by 0 they are -1")),
    "rem": _binary(lax.rem, np.fmod, refused={**_NO_BOOLS, **_NO_ORDER},
                   decided=dict.fromkeys(_WHOLE, "the dividend is what is left of a division by 0; NumPy: 0")),
    "max": _binary(lax.max, np.maximum), "min": _binary(lax.min, np.minimum),
    "pow": _binary(lax.pow, np.power, refused=_ONLY_FLOATS),
    "atan2": _binary(lax.atan2, extended(np.arctan2, lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))),
                     refused=_ONLY_FLOATS),
    "nextafter": _binary(lax.nextafter, np.nextafter, refused=_ONLY_REAL, **JUMPS,
                         decided=dict.fromkeys(HALVES, "the next half; they are compared in single precision")),
    "bitwise_and": _binary(lax.bitwise_and, np.bitwise_and, refused=_ONLY_BITS),
    "bitwise_or": _binary(lax.bitwise_or, np.bitwise_or, refused=_ONLY_BITS),
    "bitwise_xor": _binary(lax.bitwise_xor, np.bitwise_xor, refused=_ONLY_BITS),
    **{name: _binary(getattr(lax, name), theirs, **JUMPS) for name, theirs in _COMPARED.items()},
    **{name: _binary(getattr(lax, name), theirs, refused=_NO_ORDER, **JUMPS) for name, theirs in _ORDERED.items()},
    "clamp": Case(lambda x: lax.clamp(x.dtype.type(0), x, x.dtype.type(1)),
                  lambda x: np.minimum(np.maximum(x, 0), 1).astype(x.dtype)),
    "select": Case(lambda x: lax.select(np.arange(x.size).reshape(x.shape) % 2 == 0, x, reversed_last(x)),
                   lambda x: np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, x, reversed_last(x)))}


def _all_axes(x: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim))


def _reduced(name: str, theirs: Any, **fields: Any) -> Case:
    return Case(lambda x, axes: getattr(lax, name)(x, axes if axes is not None else _all_axes(x)),
                lambda x, axes: theirs(x, axis=axes if axes is not None else _all_axes(x)).astype(x.dtype),
                options=tuple({"axes": axes} for axes in (None, (0,), (0, 1), ())), **fields)


_NO_AXIS = {"rank 0": "there is no axis"}


def _prefix(name: str, theirs: Any, **fields: Any) -> Case:
    def reference(x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
        turned = np.flip(x, axis) if reverse else x
        out = theirs(turned, axis=axis).astype(x.dtype)
        return np.flip(out, axis) if reverse else out
    return Case(getattr(lax, name), reference, options=tuple({"axis": axis, "reverse": reverse} for axis, reverse in (
        (0, False), (0, True), (1, False))), **{"refused": {**_NO_AXIS, **_NO_BOOLS}, **fields})


def _of_complex_sums(x: np.ndarray, axis: int) -> np.ndarray:
    """Logarithms of prefix sums of exp; the first elements are themselves, on whichever branch."""
    return np.concatenate([np.take(x, [0], axis), np.log(np.take(np.cumsum(np.exp(x), axis), range(1, x.shape[axis]), axis))],
                          axis)


def _place(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Case:
    return Case(lambda x, axis: ours(x, axis, np.int32), lambda x, axis: theirs(x, axis=axis).astype(np.int32),
                options=({"axis": 0}, {"axis": 1}), refused={**_NO_ORDER, **_NO_AXIS})


REDUCTIONS = {
    "reduce_sum": _reduced("reduce_sum", np.sum, refused=_NO_BOOLS),
    "reduce_prod": _reduced("reduce_prod", np.prod, refused=_NO_BOOLS),
    "reduce_max": _reduced("reduce_max", extended(np.max, functools.partial(np.max, initial=-np.inf))),
    "reduce_min": _reduced("reduce_min", extended(np.min, functools.partial(np.min, initial=np.inf))),
    "reduce_and": _reduced("reduce_and", np.bitwise_and.reduce, refused=_ONLY_BITS),
    "reduce_or": _reduced("reduce_or", np.bitwise_or.reduce, refused=_ONLY_BITS),
    "reduce_xor": _reduced("reduce_xor", np.bitwise_xor.reduce, refused=_ONLY_BITS),
    "argmax": _place(lax.argmax, np.argmax), "argmin": _place(lax.argmin, np.argmin),
    "cumsum": _prefix("cumsum", np.cumsum), "cumprod": _prefix("cumprod", np.cumprod),
    "cummax": _prefix("cummax", np.maximum.accumulate), "cummin": _prefix("cummin", np.minimum.accumulate),
    "cumlogsumexp": _prefix("cumlogsumexp", extended(np.logaddexp.accumulate, _of_complex_sums),
                            refused={**_NO_AXIS, **_ONLY_FLOATS}),
    "sort": Case(lambda x, dimension: lax.sort(x, dimension=dimension), lambda x, dimension: np.sort(x, axis=dimension),
                 options=({"dimension": 0}, {"dimension": -1}))}
CASES: dict[str, Case] = {**ELEMENTWISE, **REDUCTIONS}
