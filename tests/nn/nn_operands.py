"""The functions of numjet.nn on operands of every kind: each one's definition in NumPy, and what is refused or decided."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from scipy import special

from numjet import nn
from tests.operands import COMPLEX, EMPTY, HALVES, INTEGERS, KINDS, SPECIAL, Case, Elsewhere, itself

ELSEWHERE = {"get_scaled_dot_general_config": Elsewhere("nn/test_nn.py", "it takes a name and returns an object")}

_RNG = np.random.default_rng(0)


# -------------------------------------------------------------------------------------------- definitions

def _wide(x: Any) -> np.ndarray:
    """Floats of 64 bits, or complex numbers of 128."""
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _sigmoid(x: Any) -> np.ndarray:
    return special.expit(x) if np.isrealobj(x) else 1 / (1 + np.exp(-x))


def _softplus(x: Any) -> np.ndarray:
    return np.logaddexp(x, 0) if np.isrealobj(x) else np.log(1 + np.exp(x))


def _elu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def _celu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x) / alpha))


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def _clip(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.minimum(np.maximum(x, low), high)


def _squareplus(x: np.ndarray, b: float = 4) -> np.ndarray:
    return np.where(np.isneginf(x.real), 0, (x + np.sqrt(x * x + b)) / 2)


def _glu(x: np.ndarray, axis: int = -1) -> np.ndarray:
    first, second = np.split(x, 2, axis)
    return first * _sigmoid(second)


def _one_hot(x: np.ndarray, axis: int = -1, dtype: Any = float) -> np.ndarray:
    return np.moveaxis(np.asarray(x)[..., None] == np.arange(3), -1, axis).astype(dtype)


def _along(function: Any, x: np.ndarray, axis: Any, **options: Any) -> np.ndarray:
    """A reduction; an AxisError for axes of rank 0, which NumPy takes."""
    if axis is not None:
        np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    return function(x, axis=axis, **options)


def _logsumexp(a: Any, axis: Any = None, b: Any = None, return_sign: bool = False, **options: Any) -> Any:
    terms = np.exp(_wide(a)) if b is None else np.where(b == 0, 0, b * np.exp(_wide(a)))
    total = _along(np.sum, terms, axis, **options)
    return (np.log(abs(total)), np.sign(total)) if return_sign else np.log(total)


def _logmeanexp(a: Any, axis: Any = None, **options: Any) -> Any:
    return np.log(_along(np.mean, np.exp(_wide(a)), axis, **options))


def _softmax(x: Any, axis: Any = -1, where: Any = True) -> np.ndarray:
    weights = np.exp(_wide(x))
    return np.where(where, weights / _along(np.sum, weights, axis, keepdims=True, where=where), 0)


def _log_softmax(x: Any, axis: Any = -1, where: Any = True) -> np.ndarray:
    x = np.where(where, _wide(x), -np.inf)
    shifted = x - _along(np.max, x, axis, keepdims=True, initial=-np.inf)
    return np.where(where, shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True, where=where)), -np.inf)


def _standardize(x: Any, axis: Any = -1, where: Any = True, mean: Any = None, variance: Any = None, epsilon: float = 1e-5,
                 algorithm: str = "") -> np.ndarray:
    x = _wide(x)
    mean = _along(np.mean, x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None:
        variance = _along(np.mean, abs(x - mean) ** 2, axis, keepdims=True, where=where)
    return (x - mean) / np.sqrt(variance + epsilon)


def _attention(query: Any, key: Any, value: Any, bias: Any = 0, mask: Any = True, scale: Any = None, is_causal: bool = False,
               local_window_size: Any = None) -> Any:
    shape = query.shape
    query, key, value = (_wide(x).reshape(-1 if x.size else len(x), *x.shape[-3:]) for x in (query, key, value))
    repeats = query.shape[2] // max(key.shape[2], 1)
    scores = np.einsum("bqhd,bkhd->bhqk", query, np.repeat(key, repeats, 2)) * (scale or 1 / np.sqrt(query.shape[-1])) + bias
    row, column = np.ogrid[:scores.shape[-2], :scores.shape[-1]]
    seen = mask & (row >= column if is_causal else True)
    if local_window_size:
        seen = seen & (row <= column + local_window_size[0]) & (row >= column - local_window_size[1])
    weights = _softmax(np.where(seen, scores, -1e30))
    return np.einsum("bhqk,bkhd->bqhd", weights, np.repeat(value, repeats, 2)).reshape(shape)


# -------------------------------------------------------------------------------------------- elementwise functions

# The definitions of elementwise functions, on arrays of 64 bits.
ELEMENTWISE: dict[str, Any] = {
    "celu": _celu, "elu": _elu, "gelu": _gelu, "gelu, exact": lambda x: x * special.ndtr(x),
    "selu": lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772), "glu": _glu,
    "hard_sigmoid": lambda x: _clip(x + 3, 0, 6) / 6, "hard_silu": lambda x: x * _clip(x + 3, 0, 6) / 6,
    "leaky_relu": lambda x, negative_slope=0.01: np.where(x >= 0, x, negative_slope * x),
    "log1mexp": lambda x: np.log(-np.expm1(-x)), "log_sigmoid": lambda x: -_softplus(-x),
    "mish": lambda x: x * np.tanh(_softplus(x)), "relu6": lambda x: _clip(x, 0, 6), "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x), "soft_sign": lambda x: x / (abs(x) + 1), "softplus": _softplus,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: _clip(x + 1, 0, 2) / 2, "squareplus": _squareplus, "tanh": np.tanh}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "celu": [{}, {"alpha": 0.5}], "elu": [{}, {"alpha": 2}], "glu": [{}, {"axis": 0}],
    "leaky_relu": [{}, {"negative_slope": -2.5}], "squareplus": [{}, {"b": 0.5}]}
# Calls that are errors here and in JAX.
REFUSED = {"sparse_sigmoid": dict.fromkeys(COMPLEX, "complex numbers have no order"),
           "gelu, exact": dict.fromkeys(COMPLEX, "the distribution function is one of real numbers"),
           "glu": dict.fromkeys(("rank 0", "size 1", "size 1 of rank 3", "empty of rank 3"), "no two halves")}


def _elementwise(name: str, definition: Any) -> Case:
    ours = getattr(nn, name.split(",")[0])
    if name == "gelu, exact":
        ours = lambda x: nn.gelu(x, approximate=False)
    return Case(ours, lambda x, **options: definition(_wide(x), **options), options=OPTIONS.get(name, ({},)),
                refused=REFUSED.get(name, {}))


CASES: dict[str, Case] = {name: _elementwise(name, definition) for name, definition in ELEMENTWISE.items()} | {
    "relu": Case(nn.relu, lambda x: np.maximum(x, 0)), "identity": Case(nn.identity, np.asarray),
    "hard_tanh": Case(nn.hard_tanh, lambda x: np.where(x > 1, 1, np.where(x < -1, -1, x)), dtypes="Booleans become integers",
                      decided={"uint8": "-1 is 255 there"})}
CASES |= {"swish": CASES["silu"], "hard_swish": CASES["hard_silu"]}


# -------------------------------------------------------------------------------------------- rows

def _positive(x: Any) -> Any:
    """A mask: where the real part is positive."""
    return x.real > 0


def _weights(x: Any) -> Any:
    """Weights of both signs, some of them 0."""
    return (x.real < 1) * np.float32(1.5) - (x.real > 2)


def _masked(function: Any) -> Any:
    return lambda x, mask, **options: function(x, where=mask, **options)


def _weighted(function: Any) -> Any:
    return lambda x, b, **options: function(x, b=b, **options)


_NO_AXIS = {"rank 0": "there is no axis"}
_BY_SQUARES = dict.fromkeys(COMPLEX, "by squares, not by absolute values")
_OF_INFINITY = dict.fromkeys(SPECIAL, "an infinity makes its whole row NaN, as inf - inf")
_RANKS = {kind: KINDS[kind] for kind in (
    "float64 transposed", "int32 of rank 4", "complex128 transposed", "special values reversed", "rank 0", "empty of rank 3")}
CASES |= {
    "logsumexp": Case(nn.logsumexp, _logsumexp),
    "logsumexp, axes": Case(nn.logsumexp, _logsumexp, kinds=_RANKS, options=[
        {"axis": 0}, {"axis": (0, -2)}, {"axis": -1, "keepdims": True}, {"return_sign": True}]),
    "logsumexp, masked": Case(_masked(nn.logsumexp), _masked(_logsumexp), (itself, _positive), [{"axis": -1}],
                              refused=_NO_AXIS),
    "logsumexp, weighted": Case(_weighted(nn.logsumexp), _weighted(_logsumexp), (itself, _weights)),
    "logsumexp, signs": Case(_weighted(nn.logsumexp), _weighted(_logsumexp), (itself, _weights),
                             [{"return_sign": True, "axis": 0}], refused=_NO_AXIS),
    "logmeanexp": Case(nn.logmeanexp, _logmeanexp),
    "logmeanexp, axes": Case(nn.logmeanexp, _logmeanexp, kinds=_RANKS, options=[
        {"axis": 0}, {"axis": (0, -1), "keepdims": True}]),
    "logmeanexp, masked": Case(_masked(nn.logmeanexp), _masked(_logmeanexp), (itself, _positive), kinds=_RANKS),
    "softmax": Case(nn.softmax, _softmax, refused=_NO_AXIS, decided=_OF_INFINITY),
    "softmax, axes": Case(nn.softmax, _softmax, options=[{"axis": 0}, {"axis": (0, -2)}, {"axis": None}], kinds=_RANKS,
                          refused=_NO_AXIS, decided={"special values reversed": _OF_INFINITY["special values"]}),
    "softmax, masked": Case(_masked(nn.softmax), _masked(_softmax), (itself, _positive), refused=_NO_AXIS,
                            decided=_OF_INFINITY),
    "log_softmax": Case(nn.log_softmax, _log_softmax, refused=_NO_AXIS),
    "log_softmax, axes": Case(nn.log_softmax, _log_softmax, options=[{"axis": 0}, {"axis": (0, -2)}], kinds=_RANKS,
                              refused=_NO_AXIS),
    "log_softmax, masked": Case(_masked(nn.log_softmax), _masked(_log_softmax), (itself, _positive), refused=_NO_AXIS),
    "standardize": Case(nn.standardize, _standardize, refused=_NO_AXIS, decided=_BY_SQUARES),
    "standardize, axes": Case(nn.standardize, _standardize, kinds=_RANKS, refused=_NO_AXIS, decided={
        "complex128 transposed": "by squares, not by absolute values"}, options=[
        {"axis": 0}, {"axis": (0, -2)}, {"mean": 1.0, "variance": 4.0, "epsilon": 0.5}]),
    "standardize, stable": Case(lambda x, **options: nn.standardize(x, algorithm="stable", **options), _standardize,
                                options=[{"variance": 4.0}, {}, {"mean": 1.0}], kinds=_RANKS, refused=_NO_AXIS),
    "standardize, masked": Case(_masked(nn.standardize), _masked(_standardize), (itself, _positive), refused=_NO_AXIS,
                                decided=_BY_SQUARES)}


# -------------------------------------------------------------------------------------------- indices

CASES["one_hot"] = Case(lambda x, **options: nn.one_hot(x, 3, **options), _one_hot, not_smooth="ones and zeros", options=[
    {}, {"axis": 0}, {"axis": -2, "dtype": np.int8}], kinds={kind: KINDS[kind] for kind in (
        *INTEGERS, *HALVES, *EMPTY, "rank 0", "size 1 of rank 3", "complex64", "special values", "float64 transposed")})


# -------------------------------------------------------------------------------------------- attention

def _vectors(*shape: int) -> np.ndarray:
    return _RNG.normal(0, 1, shape)


# (batch, length, heads, size), without the batch, empty along each axis, of size 1, and with NaN and infinities.
VECTORS: dict[str, np.ndarray] = {
    "float32": _vectors(2, 3, 2, 4).astype(np.float32), "float64 transposed": _vectors(4, 2, 3, 2).T,
    "float16": _vectors(1, 3, 2, 4).astype(np.float16), "bfloat16": _vectors(1, 3, 2, 4).astype(ml_dtypes.bfloat16),
    "rank 3": _vectors(3, 2, 4).astype(np.float32), "rank 3 reversed": _vectors(3, 2, 4).astype(np.float32)[::-1, :, ::-1],
    "size 1": _vectors(1, 1, 1, 1).astype(np.float32), "no batch": np.zeros((0, 3, 2, 4), np.float32),
    "no length": np.zeros((2, 0, 2, 4), np.float32), "NaN": np.where(_vectors(2, 3, 2, 4) > 1.5, np.nan, 1).astype(np.float32)}


CASES["dot_product_attention"] = Case(
    nn.dot_product_attention, _attention, (itself, lambda x: x[..., ::-1], lambda x: x / 2), kinds=VECTORS, options=[
        {}, {"scale": 0.3}, {"is_causal": True}, {"local_window_size": (1, 0)}])
CASES["dot_product_attention, biased"] = Case(
    lambda q, k, v, mask, bias: nn.dot_product_attention(q, k[..., :1, :], v[..., :1, :], bias, mask),
    lambda q, k, v, mask, bias: _attention(q, k[..., :1, :], v[..., :1, :], bias, mask[:q.shape[-3]]),
    (itself, lambda x: x[..., ::-1], lambda x: x / 2, lambda x: np.arange(x.shape[-3]) < 2,
     lambda x: np.float32([[[[0.5]], [[-0.5]]]])),
    kinds={kind: VECTORS[kind] for kind in ("float32", "float64 transposed", "rank 3", "bfloat16", "no batch")})


# -------------------------------------------------------------------------------------------- scaled products

def _quantized(x: Any) -> np.ndarray:
    """Blocks of one row each: the next power of two of the largest absolute value over 448, and floats of 8 bits."""
    x = np.asarray(x, np.float32)
    top = abs(x).max(-1, keepdims=True, initial=0) / 448
    scale = np.exp2(np.ceil(np.log2(np.where(top > 0, top, 1))))
    return (x / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale


def _scaled_matmul(a: Any, b: Any, s: Any, t: Any) -> np.ndarray:
    a, b, s, t = (np.asarray(x, np.float32) for x in (a, b, s, t))
    return np.einsum("bmk,bnk->bmn", a * np.repeat(s, a.shape[-1] // s.shape[-1], -1), b * t)


ROWS: dict[str, np.ndarray] = {
    "float32": _vectors(2, 3, 4).astype(np.float32), "float64 transposed": _vectors(4, 3, 2).T,
    "float16": _vectors(2, 3, 4).astype(np.float16),
    "bfloat16 reversed": _vectors(2, 3, 4).astype(ml_dtypes.bfloat16)[:, ::-1, ::-1],
    "int8": _RNG.integers(-9, 9, (2, 3, 4)).astype(np.int8), "size 1": np.full((1, 1, 2), 0.5, np.float32),
    "empty": np.zeros((0, 3, 4), np.float32), "no rows": np.zeros((2, 0, 4), np.float32)}
_NUMBERS = (((2,), (2,)), ((0,), (0,)))
CASES["scaled_matmul"] = Case(
    nn.scaled_matmul, _scaled_matmul, (itself, lambda x: x[:, ::-1], lambda x: abs(x[:, :, :2]) + 1, lambda x: x[..., :1]),
    kinds=ROWS, dtypes="float32", not_batched="three axes", not_smooth="in float32", tolerance=1e6)
CASES["scaled_dot_general"] = Case(
    lambda a, b: nn.scaled_dot_general(a, b, _NUMBERS, configs=[nn.get_scaled_dot_general_config("mxfp8")] * 3),
    lambda a, b: np.einsum("bmk,bnk->bmn", _quantized(a), _quantized(b)), (itself, lambda x: x[:, ::-1]),
    kinds=ROWS, dtypes="float32", not_batched="three axes", not_smooth="steps", tolerance=1e6)
