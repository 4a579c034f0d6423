"""Separable resampling: each axis is multiplied by a matrix of weights, one column for every pixel of the result.

Pixel i covers [i, i + 1) and is sampled in its middle, as OpenCV, TensorFlow and PyTorch do.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.image.methods import KERNELS, ResizeMethod
from numjet.lax.axes import as_axes, as_shape
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg, promote_args_inexact

_EDGE = 2   # pixels by which the edge is repeated: the radius of the cubic kernel
_LEAST_WEIGHT = 1000.0   # machine epsilons: a sum of weights that small is rounding, the kernel saw no pixel


# -------------------------------------------------------------------------------------------- weights

def _column(values: Any) -> Any:
    return jnp.expand_dims(values, 1)


def _distances(position: Any, pixels: Any) -> Any:
    return abs(jnp.expand_dims(position, 0) - _column(pixels.astype(position.dtype)))


def _area_weights(position: Any, inverse: Any, size: int) -> Any:
    """weights[j, i]: the part of pixel j that pixel i of the result covers."""
    pixel = _column(jnp.arange(size, dtype=position.dtype))
    middle = jnp.expand_dims(position, 0) + 0.5
    start, end = middle - inverse / 2, middle + inverse / 2
    return jnp.maximum(0, jnp.minimum(end, pixel + 1) - jnp.maximum(start, pixel))


def _kernel_weights(method: ResizeMethod, position: Any, inverse: Any, size: int, antialias: bool) -> Any:
    """weights[j, i]: the kernel at the distance of pixel j from the position; wider when the image shrinks, if antialias."""
    width = jnp.maximum(inverse, 1) if antialias else 1
    return KERNELS[method](_distances(position, jnp.arange(size)) / width)


def _repeated_edge_weights(position: Any, size: int) -> Any:
    """The weights of an image that goes on with the pixels of its edge: those of the pixels beyond it join the edge's."""
    pixels = jnp.arange(-_EDGE, size + _EDGE, dtype=dtypes.int32)
    weights = KERNELS[ResizeMethod.CUBIC_PYTORCH](_distances(position, pixels))
    return jnp.zeros((size, position.size), position.dtype).at[jnp.clip(pixels, 0, size - 1)].add(weights)


def _weights(method: ResizeMethod, size: int, target: int, scale: Any, translation: Any, antialias: bool) -> Any:
    """The matrix (size, target) of one axis: columns sum to 1, or are 0 for positions outside of the image."""
    inverse = 1 / scale
    position = (jnp.arange(target, dtype=scale.dtype) + 0.5) * inverse - translation * inverse - 0.5
    repeat_edge = method is ResizeMethod.CUBIC_PYTORCH and not antialias
    if method is ResizeMethod.AREA:
        weights = _area_weights(position, inverse, size)
    elif repeat_edge:
        weights = _repeated_edge_weights(position, size)
    else:
        narrow = ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH else method
        weights = _kernel_weights(narrow, position, inverse, size, antialias)
    total = jnp.sum(weights, axis=0, keepdims=True)
    seen = abs(total) > _LEAST_WEIGHT * float(jnp.finfo(weights.dtype).eps)
    weights = jnp.where(seen, weights / jnp.where(seen, total, 1), 0)
    inside = jnp.expand_dims((position >= -0.5) & (position <= size - 0.5), 0)
    return weights if repeat_edge else jnp.where(inside, weights, 0)


def _weight_dtype(image: Any) -> Any:
    """Weights of halves are made in float32: positions in a large image need its digits."""
    real = jnp.finfo(image.dtype).dtype
    return dtypes.float32 if real.itemsize < 4 else real


def _cheapest_order(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """The order of axes, given as (size, target), with the fewest multiply-adds: those that shrink most come first. Of two axes
    that are neighbours in the order, the one with the larger 1 / target - 1 / size saves the other more than it costs."""
    gain = lambda k: 1 / max(sizes[k][1], 1) - 1 / max(sizes[k][0], 1)
    return sorted(range(len(sizes)), key=gain, reverse=True)


@jit_when_eager("shape", "axes", "method", "antialias", "precision")
def _resample(image: Any, scale: Any, translation: Any, shape: tuple[int, ...], axes: tuple[int, ...], method: ResizeMethod,
              antialias: bool, precision: Any) -> Any:
    for k in _cheapest_order([(image.shape[d], shape[d]) for d in axes]):
        d = axes[k]
        weights = _weights(method, image.shape[d], shape[d], scale[k], translation[k], antialias).astype(image.dtype)
        image = jnp.moveaxis(jnp.tensordot(image, weights, (d, 0), precision=precision), -1, d)
    return image


# -------------------------------------------------------------------------------------------- public

def _method(method: Any) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else ResizeMethod(method)


def _target(name: str, image: Any, shape: Any) -> tuple[int, ...]:
    target = as_shape(shape)
    if len(target) != image.ndim:
        raise ValueError(f"{name}: shape must have length equal to the number of dimensions of the image; {target} vs "
                         f"{image.shape}")
    if any(n < 0 for n in target):
        raise ValueError(f"{name}: sizes must not be negative, got shape {target}")
    for n, m in zip(image.shape, target, strict=True):
        if n == 0 and m != 0:
            raise ValueError(f"{name}: an empty axis can't be resampled to {m} pixels: image {image.shape}, shape {target}")
    return target


def resize(image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision: Any = Precision.HIGHEST) -> Any:
    """Image resampling to a shape, which has all axes: give those of batch and channels as they are.

    method: see ResizeMethod, or a name such as 'nearest', 'linear', 'bicubic', 'lanczos3', 'area'. antialias: the kernel is
    widened where the image shrinks, so that all pixels count. precision: of the products. The dtype is that of the image,
    but floating (float32 for integers) unless the method is nearest. ValueError for another rank and for unknown methods.

    >>> import numjet.numpy as jnp
    >>> resize(jnp.array([1.0, 3.0]), (4,), "linear").tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    method = _method(method)
    image = array_arg("resize", image)
    target = _target("resize", image, shape)
    axes = tuple(d for d in range(image.ndim) if target[d] != image.shape[d])
    if method is ResizeMethod.NEAREST:
        return _nearest(image, target, axes)
    image, = promote_args_inexact("resize", image)
    if not axes:
        return image
    dtype = _weight_dtype(image)
    # an empty axis has no pixel and no weight: its scale is never used
    scale = jnp.array([target[d] / image.shape[d] if target[d] else 1.0 for d in axes], dtype)
    return _resample(image, scale, jnp.zeros(len(axes), dtype), target, axes, method, antialias, precision)


@jit_when_eager("shape", "axes")
def _nearest(image: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for d in axes:
        position = (jnp.arange(shape[d], dtype=dtypes.float32) + 0.5) * image.shape[d] / max(shape[d], 1)
        image = jnp.take(image, jnp.floor(position).astype(dtypes.int32), axis=d)
    return image


def scale_and_translate(image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: Any, translation: Any,
                        method: str | ResizeMethod, antialias: bool = True, precision: Any = Precision.HIGHEST) -> Any:
    """Resampling of an image that is scaled, then moved: pixel position x goes to x * scale + translation.

    shape: of the result, which may differ in spatial_dims only. scale, translation: one number for each of spatial_dims,
    with derivatives. Positions that come from outside of the image give 0. method, antialias, precision: as of resize;
    method may not be nearest. ValueError for arguments that do not fit.

    `torch.nn.functional.interpolate(align_corners=True)` from m to n pixels is scale (n - 1) / (m - 1), translation
    (1 - scale) / 2.

    >>> import numjet.numpy as jnp
    >>> scale_and_translate(jnp.array([1.0, 3.0]), (4,), (0,), jnp.array([1.0]), jnp.array([1.0]), "linear").tolist()
    [0.0, 1.0, 3.0, 0.0]
    """
    method = _method(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("Nearest neighbor resampling is not currently supported for scale_and_translate. Use resize.")
    image, = promote_args_inexact("scale_and_translate", image)
    target = _target("scale_and_translate", image, shape)
    axes = as_axes(spatial_dims, image.ndim, "scale_and_translate")
    dtype = _weight_dtype(image)
    scale, translation = (jnp.astype(array_arg("scale_and_translate", x), dtype) for x in (scale, translation))
    if len(set(axes)) != len(axes) or scale.shape != (len(axes),) or translation.shape != (len(axes),):
        raise ValueError("scale_and_translate: expected different spatial_dims and one scale and translation for each, got "
                         f"spatial_dims {tuple(spatial_dims)}, scale {scale.shape}, translation {translation.shape}")
    if any(d not in axes and n != image.shape[d] for d, n in enumerate(target)):
        raise ValueError(f"scale_and_translate: shape {target} differs from that of the image {image.shape} in axes that are "
                         f"not in spatial_dims {tuple(spatial_dims)}")
    return _resample(image, scale, translation, target, axes, method, antialias, precision) if axes else image
