"""Block-scaled matrix products: operands in 8 or 4 bits, with a scale for every block of the contracted axis.

Formats: Open Compute Project, "Microscaling formats (MX)", 2023 (mxfp8: blocks of 32, scales powers of two), and NVFP4
(blocks of 16, scales in 8 bits, one scale for all).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.custom.custom_vjp import custom_vjp
from numjet.foundation import dtypes
from numjet.foundation.record import Record
from numjet.lax.contraction.dot import dot_general
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg

_RESULTS = (dtypes.float32, dtypes.float16, dtypes.bfloat16)


class BlockScaleConfig(Record):
    """How an operand is quantized: `block_size` elements share a scale. Made by get_scaled_dot_general_config."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool = False


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """The quantization of an operand of scaled_dot_general.

    mode: 'mxfp8' (float8_e4m3fn in blocks of 32, scales float8_e8m0fnu) or 'nvfp4' (float4_e2m1fn in blocks of 16, scales
    float8_e4m3fn times global_scale, float32[1], default 1). ValueError for others.

    >>> get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        if global_scale is not None:
            raise ValueError("get_scaled_dot_general_config: mode 'mxfp8' has no global_scale; leave it out")
        return BlockScaleConfig(mode, 32, jnp.float8_e4m3fn, jnp.float8_e8m0fnu, None)
    if mode == "nvfp4":
        scale = jnp.ones(1, dtypes.float32) if global_scale is None else jnp.asarray(global_scale, dtypes.float32)
        return BlockScaleConfig(mode, 16, jnp.float4_e2m1fn, jnp.float8_e4m3fn, scale)
    raise ValueError(f"Unsupported mode: {mode}; expected 'mxfp8' or 'nvfp4'")


# -------------------------------------------------------------------------------------------- products

def _unscaled(x: Any, scales: Any) -> Any:
    """x times the scale of its block, in float32."""
    wide, factors = jnp.astype(x, dtypes.float32), jnp.astype(scales, dtypes.float32)
    blocks = jnp.reshape(wide, (*factors.shape, x.shape[-1] // factors.shape[-1]))
    return jnp.reshape(blocks * jnp.expand_dims(factors, -1), x.shape)


def _check_scaled(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any) -> None:
    if any(x.ndim != 3 for x in (lhs, rhs, lhs_scales, rhs_scales)):
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays, got shapes "
                         f"{lhs.shape}, {rhs.shape}, {lhs_scales.shape}, {rhs_scales.shape}")
    if (lhs.shape[0], lhs.shape[2]) != (rhs.shape[0], rhs.shape[2]):
        raise ValueError("scaled_matmul requires inputs a and b to have matching batch (B) and contract (K) dimensions, but "
                         f"got shapes {lhs.shape} and {rhs.shape}")
    for name, x, scales in (("lhs", lhs, lhs_scales), ("rhs", rhs, rhs_scales)):
        if scales.shape[:2] != x.shape[:2] or not scales.shape[2] or x.shape[2] % scales.shape[2]:
            raise ValueError(f"scaled_matmul requires {name}_scales of shape (*{x.shape[:2]}, k) where k divides {x.shape[2]}, "
                             f"got {scales.shape}")


def scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32) -> Any:
    """Block-scaled product: einsum('bmk,bnk->bmn') of operands whose blocks are multiplied by their scales.

    lhs: (B, M, K); rhs: (B, N, K); lhs_scales: (B, M, k) and rhs_scales: (B, N, l), where k and l divide K: each scale
    belongs to a block of K / k or K / l elements. Sums are in float32, the result in preferred_element_type. ValueError for
    other shapes.

    >>> import numjet.numpy as jnp
    >>> a, b, half = jnp.ones((1, 1, 4)), jnp.ones((1, 2, 4)), jnp.full((1, 1, 2), 0.5)
    >>> scaled_matmul(a, b, half, jnp.ones((1, 2, 1))).tolist()
    [[[2.0, 2.0]]]
    """
    lhs, rhs, lhs_scales, rhs_scales = (
        array_arg("scaled_matmul", x, i) for i, x in enumerate((lhs, rhs, lhs_scales, rhs_scales)))
    _check_scaled(lhs, rhs, lhs_scales, rhs_scales)
    out = dot_general(_unscaled(lhs, lhs_scales), _unscaled(rhs, rhs_scales), (((2,), (2,)), ((0,), (0,))),
                      precision=Precision.HIGHEST)
    return jnp.astype(out, preferred_element_type)


# -------------------------------------------------------------------------------------------- quantization

def _largest(dtype: Any) -> float:
    return float(jnp.finfo(dtype).max)


def _rounded(x: Any, dtype: Any) -> Any:
    """float32 x as the dtype rounds it, to even; x within its range. Below the smallest normal number steps are equal."""
    info = jnp.finfo(dtype)
    exponent = jnp.maximum(jnp.frexp(x)[1] - 1, info.minexp) - info.nmant
    step = jnp.ldexp(jnp.ones_like(x), exponent)
    return jnp.rint(x / step) * step


def _scales(top: Any, config: BlockScaleConfig) -> Any:
    """The scales of blocks whose largest absolute value is top, in float32: values of config.scale_type."""
    needed = top / _largest(config.data_type)
    if config.global_scale is None:
        # the next power of two, so that no element overflows; e8m0 holds 2^-127 .. 2^127
        fraction, power = jnp.frexp(needed)
        return jnp.ldexp(jnp.ones_like(needed), jnp.clip(jnp.where(fraction == 0.5, power - 1, power), -126, 127))
    held = jnp.clip(needed / config.global_scale, 0, _largest(config.scale_type))
    return _rounded(held, config.scale_type) * config.global_scale


def _quantized(x: Any, config: BlockScaleConfig) -> Any:
    """x[..., K] as config rounds it, in float32; K is filled up with zeros to whole blocks."""
    x = jnp.astype(x, dtypes.float32)
    count = x.shape[-1]
    whole = math.ceil(count / config.block_size) * config.block_size
    filled = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, whole - count)])
    blocks = jnp.reshape(filled, (*x.shape[:-1], whole // config.block_size, config.block_size))
    scales = _scales(jnp.max(abs(blocks), axis=-1, keepdims=True), config)
    limit = _largest(config.data_type)
    ratio = jnp.where(scales == 0, 0, blocks / jnp.where(scales == 0, 1, scales))
    return jnp.reshape(_rounded(jnp.clip(ratio, -limit, limit), config.data_type) * scales, filled.shape)[..., :count]


def _product(a: Any, b: Any, a_config: BlockScaleConfig, b_config: BlockScaleConfig) -> Any:
    """(B, M, K), (B, N, K) to (B, M, N), of quantized operands."""
    a, b = _quantized(a, a_config), _quantized(b, b_config)
    return dot_general(a, b, (((2,), (2,)), ((0,), (0,))), precision=Precision.HIGHEST)


def _quantized_product(configs: Sequence[BlockScaleConfig]) -> Any:
    """The product of quantized operands. Its derivatives take quantization as the identity and are such products, too."""
    @custom_vjp
    def product(a: Any, b: Any) -> Any:
        return _product(a, b, configs[0], configs[1])

    def backward(saved: Any, ct: Any) -> Any:
        a, b = saved
        across = lambda x: jnp.swapaxes(x, 1, 2)
        of_a = _product(ct, across(b), configs[2], configs[1])
        of_b = _product(across(ct), across(a), configs[2], configs[0])
        return jnp.astype(of_a, a.dtype), jnp.astype(of_b, b.dtype)
    product.defvjp(lambda a, b: (product(a, b), (a, b)), backward)
    return product


def _order(ndim: int, contracted: Sequence[int], batch: Sequence[int]) -> tuple[list[int], list[int]]:
    """Axes as batch, free, contracted; and the free ones."""
    free = [d for d in range(ndim) if d not in contracted and d not in batch]
    return [*batch, *free, *contracted], free


def _in_three(x: Any, contracted: Sequence[int], batch: Sequence[int]) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """x as (B, M, K), and the sizes that make up B and M."""
    order, free = _order(x.ndim, contracted, batch)
    outer, inner = tuple(x.shape[d] for d in batch), tuple(x.shape[d] for d in free)
    summed = math.prod(x.shape[d] for d in contracted)
    return jnp.reshape(jnp.transpose(x, order), (math.prod(outer), math.prod(inner), summed)), outer, inner


def scaled_dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any = np.float32,
                       configs: Sequence[BlockScaleConfig] | None = None, implementation: str | None = None) -> Any:
    """lax.dot_general of operands that are quantized in blocks of the contracted axis, as configs say.

    configs: those of lhs, of rhs and of the gradient, each made by get_scaled_dot_general_config; None: dot_general. The
    derivatives treat quantization as the identity; their products are quantized, too. preferred_element_type: float32,
    bfloat16 or float16. implementation: None or 'cudnn', a hint. ValueError for others.

    >>> import numjet.numpy as jnp
    >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
    >>> scaled_dot_general(jnp.ones((1, 2, 64)), jnp.ones((1, 3, 64)), (((2,), (2,)), ((0,), (0,))), configs=configs).tolist()
    [[[64.0, 64.0, 64.0], [64.0, 64.0, 64.0]]]
    """
    if implementation not in (None, "cudnn"):
        raise ValueError(f"scaled_dot_general: expected implementation None or 'cudnn', got {implementation!r}")
    result = np.dtype(preferred_element_type)
    if result not in _RESULTS:
        raise ValueError(f"scaled_dot_general: expected preferred_element_type float32, float16 or bfloat16, got {result.name}")
    lhs, rhs = (array_arg("scaled_dot_general", x, i) for i, x in enumerate((lhs, rhs)))
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=result)
    if len(configs) != 3:
        raise ValueError(f"scaled_dot_general: expected three configs (lhs, rhs, gradient), got {len(configs)}")
    (lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch) = dimension_numbers
    a, outer, rows = _in_three(lhs, lhs_contracted, lhs_batch)
    b, other, columns = _in_three(rhs, rhs_contracted, rhs_batch)
    if outer != other or a.shape[2] != b.shape[2]:
        raise ValueError(f"scaled_dot_general: batch and contracted axes must have equal sizes, got shapes {lhs.shape} and "
                         f"{rhs.shape} with dimension_numbers {dimension_numbers}")
    return jnp.astype(jnp.reshape(_quantized_product(configs)(a, b), (*outer, *rows, *columns)), result)
