"""Grouped-query attention: softmax(query key^T) value."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.lax.contraction.dot import dot_general
from numjet.lax.elementwise import convert
from numjet.lax.shape import create, rearrange as shapes
from numjet.nn.normalization import logsumexp, softmax
from numjet.numpy.core.promotion import array_arg, broadcast_to

_MASKED = -0.7 * float(np.finfo(np.float32).max)    # far below all scores, yet a row of them has a softmax
_IMPLEMENTATIONS = (None, "xla", "cudnn")


# -------------------------------------------------------------------------------------------- arguments

def _four(x: Any) -> Any:
    """An operand with an axis for the batch."""
    return x if x.ndim >= 4 else shapes.expand_dims(x, tuple(range(4 - x.ndim)))


def _expect(name: str, x: Any, shape: list[Any], dtype: Any) -> None:
    """Checks a rank, a shape (-1: any size) and a dtype. ValueError."""
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if any(n not in (-1, m) for n, m in zip(shape, x.shape, strict=True)):
        raise ValueError(f"{name} shape should be {shape}: but got {x.shape}")
    if x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {np.dtype(dtype).name}, but got {x.dtype.name}")


def _check(query: Any, key: Any, value: Any) -> None:
    """Shapes (B, T, N, H), (B, S, K, H), (B, S, K, H), N a multiple of K; one dtype."""
    _expect("key", key, [-1] * 4, key.dtype)
    batch, _, groups, size = key.shape
    _expect("value", value, list(key.shape), key.dtype)
    _expect("query", query, [batch, -1, -1, size], key.dtype)
    if query.shape[2] % groups:
        raise ValueError("The number of query heads must be a multiple of key/value heads, but got "
                         f"{query.shape[2]} vs {groups}")


def _score_shape(name: str, x: Any, full: tuple[int, ...]) -> Any:
    """A bias or mask broadcast to (B, N, T, S), as NumPy broadcasts."""
    x = array_arg("dot_product_attention", x)
    if x.ndim < 4:
        x = shapes.expand_dims(x, tuple(range(4 - x.ndim)))
    if x.ndim != 4 or any(n not in (1, m) for n, m in zip(x.shape, full, strict=True)):
        raise ValueError(f"{name} should have a shape that broadcasts to {full} (batch, heads, query length, key length), got "
                         f"{x.shape}")
    return broadcast_to(x, full)


# -------------------------------------------------------------------------------------------- masks

def _window(size: Any) -> tuple[int, int]:
    left, right = (size, size) if isinstance(size, int) else size
    return left, right


def _within(name: str, lengths: Any, full: tuple[int, ...], axis: int) -> Any:
    """Length mask: whether the position along an axis of the scores is below the length of its batch element."""
    lengths = array_arg("dot_product_attention", lengths)
    _expect(name, lengths, [full[0]], lengths.dtype if dtypes.issubdtype(lengths.dtype, np.integer) else dtypes.int32)
    lengths = shapes.reshape(lengths if lengths.dtype.itemsize >= 4 else convert.convert_dtype(lengths, dtypes.int32),
                             (full[0], 1, 1, 1))
    return create.broadcasted_iota(lengths.dtype, full, axis) < broadcast_to(lengths, full)


def _all_masks(full: tuple[int, ...], mask: Any, is_causal: bool, query_lengths: Any, key_lengths: Any, window: Any) -> Any:
    """The conjunction of all masks, bool (B, N, T, S); None: no mask."""
    found = []
    if mask is not None:
        if _dtype_of(mask) != np.bool_:
            raise ValueError(f"mask dtype should be bool, but got {_dtype_of(mask).name}")
        found.append(_score_shape("mask", mask, full))
    row, column = (create.broadcasted_iota(dtypes.int32, full, axis) for axis in (2, 3))
    if is_causal:
        found.append(row >= column)
    if window is not None:
        left, right = _window(window)
        found.append((row <= column + left) & (row >= column - right))
    if query_lengths is not None:
        found.append(_within("query_seq_lengths", query_lengths, full, 2))
    if key_lengths is not None:
        found.append(_within("key_value_seq_lengths", key_lengths, full, 3))
    if not found:
        return None
    out = found[0]
    for other in found[1:]:
        out = out & other
    return out


def _dtype_of(x: Any) -> np.dtype:
    return array_arg("dot_product_attention", x).dtype


# -------------------------------------------------------------------------------------------- attention

def _scores(query: Any, key: Any) -> Any:
    """(B, N, T, S), in float32 at least."""
    batch, length, heads, size = query.shape
    groups = key.shape[2]
    wide = dtypes.float32 if query.dtype.itemsize < 4 else query.dtype
    grouped = shapes.reshape(query, (batch, length, groups, heads // groups, size))
    found = dot_general(grouped, key, (((4,), (3,)), ((0, 2), (0, 2))), preferred_element_type=wide)
    return shapes.reshape(shapes.transpose(found, (0, 1, 3, 2, 4)), (batch, heads, length, key.shape[1]))


def _weighted(weights: Any, value: Any) -> Any:
    """(B, N, T, S) and (B, S, K, H) to (B, T, N, H)."""
    batch, heads, length, span = weights.shape
    groups, size = value.shape[2:]
    grouped = shapes.reshape(convert.convert_dtype(weights, value.dtype), (batch, groups, heads // groups, length, span))
    found = dot_general(grouped, value, (((4,), (1,)), ((0, 1), (0, 2))))
    return shapes.reshape(shapes.transpose(found, (0, 3, 1, 2, 4)), (batch, length, heads, size))


def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, scale: Any = None,
                          is_causal: bool = False, query_seq_lengths: Any = None, key_value_seq_lengths: Any = None,
                          local_window_size: Any = None, implementation: str | None = None,
                          return_residual: bool = False) -> Any:
    """Scaled dot-product attention: softmax(scale query key^T + bias) value.

    query: (B, T, N, H); key, value: (B, S, K, H), N a multiple of K: groups of N / K query heads share a key head. Without
    B, too. bias, mask: broadcast to (B, N, T, S); scores where the bool mask is False do not count. scale: default
    1 / sqrt(H). is_causal: position t sees s <= t. local_window_size: an int or (left, right): the distance it sees.
    query_seq_lengths, key_value_seq_lengths: int[B]; positions from there on do not count; their results are 0.
    implementation: None or 'xla' ('cudnn': NotImplementedError). return_residual: gives (result, logsumexp of the
    scores (B, T, N)), too. ValueError for shapes and dtypes that do not fit.

    >>> import numjet.numpy as jnp
    >>> x = jnp.ones((1, 2, 1, 4))
    >>> dot_product_attention(x, x, x).shape
    (1, 2, 1, 4)
    """
    if implementation not in _IMPLEMENTATIONS:
        raise ValueError(f"Unsupported implementation option: {implementation}")
    if implementation == "cudnn":
        raise NotImplementedError("dot_product_attention: implementation='cudnn'; use None")
    query, key, value = (array_arg("dot_product_attention", x, i) for i, x in enumerate((query, key, value)))
    shape = query.shape
    query, key, value = map(_four, (query, key, value))
    _check(query, key, value)
    out = _attend(query, key, value, bias, mask, scale, is_causal, query_seq_lengths, key_value_seq_lengths, local_window_size)
    if len(shape) != 4:
        out = out[0].reshape(shape), out[1].reshape(shape[:-1])
    return out if return_residual else out[0]


def _scale(depth: Any) -> Any:
    """1 / sqrt of the size of the vectors: a number, or traced for a symbolic one."""
    if depth == 0:
        return 1.0  # all products of empty vectors are 0
    return 1 / math.sqrt(depth) if isinstance(depth, int) else jnp.reciprocal(jnp.sqrt(depth))


def _attend(query: Any, key: Any, value: Any, bias: Any, mask: Any, scale: Any, is_causal: bool, query_lengths: Any,
            key_lengths: Any, window: Any) -> tuple[Any, Any]:
    scores = _scores(query, key) * (_scale(query.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + _score_shape("bias", bias, scores.shape)
    counted = _all_masks(scores.shape, mask, is_causal, query_lengths, key_lengths, window)
    if counted is not None:
        scores = jnp.where(counted, scores, _MASKED)
    out = _weighted(softmax(scores), value)
    if query_lengths is not None:
        out = jnp.where(_within("query_seq_lengths", query_lengths, out.shape, 1), out, 0)
    residual = convert.convert_dtype(logsumexp(scores, axis=-1), query.dtype)
    return out, shapes.transpose(residual, (0, 2, 1))
