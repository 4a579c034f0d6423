"""Convolutions by the kernel `nj_convolution`: products of matrices whose rows overlap where they lie.

No matrix of patches is made: places side by side share most of what they read, and the kernel copies a few lines of the operand
at a time, with their padding, into a core's cache (`native/kernels/gemm/convolution.cpp`).
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.lax.axes import Ints
from numjet.lax.reduction.sort import KERNEL_DTYPES

RANK = 3    # spatial axes at most
PLACES = 6  # of a line of the result at least: rows of a tile
LANES = 8   # of a vector of float32 where registers are of 32 bytes
LONG = 12   # places of a line of a long window at least
SUMS = 1 << 20  # bytes of sums at most
SHORT = 48  # elements of a line of a window: fewer are interleaved with those of the window's other lines


def sums_of(dtype: np.dtype) -> np.dtype | None:
    """The dtype in which the kernel adds products of a dtype up; None where it has none."""
    if dtype.name not in KERNEL_DTYPES or dtype.kind == "b":
        return None
    if dtype.kind in "iu":
        return np.dtype(np.int32) if dtype.itemsize < 4 else dtype
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def suits(z: Any, dtype: np.dtype, wide: np.dtype) -> bool:
    """Whether the kernel takes a convolution of arrays of a dtype with sums in `wide`. Of integers the lower bits are kept."""
    sums = sums_of(dtype)
    if sums is None or not 1 <= len(z.kernel) <= RANK or z.out[-1] < PLACES:
        return False
    if prod(z.kernel) > prod(z.out):  # few long sums
        return False
    return sums == wide or (wide == dtype and dtype.kind in "iu")


def suits_long(z: Any, dtype: np.dtype, wide: np.dtype) -> bool:
    """Whether the kernel for long windows takes a convolution, as derivatives by kernels are: few places, whose sums fit into a
    core's second cache, and long lines of the window."""
    if sums_of(dtype) != wide or wide.kind not in "fc" or not 1 <= len(z.kernel) <= RANK or prod(z.kernel) <= prod(z.out):
        return False
    return z.kernel[-1] >= LONG and prod(z.out) * z.n * z.o * wide.itemsize <= SUMS


def pays(z: Any, written: bool) -> bool:
    """Whether the kernel is worth it for a narrow product, of which a vector register is filled in part. written: sums can be
    written out instead."""
    wide = z.o >= LANES // 2 or (z.o > 1 and not written)
    return z.n * prod(z.out) >= LANES and (z.c >= 2 * LANES or (z.c > 1 and wide and z.c * z.kernel[-1] >= LANES))


def interleaved(z: Any) -> bool:
    """Whether the lines of a window are side by side at each place; the last two axes of the weights are swapped then."""
    return len(z.kernel) > 1 and z.dilation[-1] == 1 and z.kernel[-2] > 1 and z.c * z.kernel[-1] < SHORT


def convolve(b: Any, lhs: Any, weights: Any, z: Any, low: Ints) -> Any:
    """The result, in the dtype of the sums. lhs: without gaps; `low` zeros are in front of each spatial axis, and as many as
    are asked for behind it. weights: (groups, *kernel, channels, outputs), the last two of the kernel swapped if
    interleaved."""
    numbers = [KERNEL_DTYPES.index(lhs.dtype.name), int(interleaved(z)), *_numbers(z, lhs.shape, low)]
    return b.kernel("nj_convolution", [*numbers, lhs, weights], [ShapedArray(z.out_shape, sums_of(lhs.dtype))], checked=True)[0]


def convolve_long(b: Any, lhs: Any, rhs: Any, z: Any, low: Ints) -> Any:
    """As `convolve`, for long windows. rhs: the weights as they are."""
    feature, channel, *window = (_steps(rhs.shape)[d] for d in z.numbers.rhs_spec)
    numbers = [KERNEL_DTYPES.index(lhs.dtype.name), 0, *_numbers(z, lhs.shape, low), z.o * feature, channel, feature,
               *_front(window, 0)]
    aval = ShapedArray(z.out_shape, sums_of(lhs.dtype))
    return b.kernel("nj_convolution_long", [*numbers, lhs, rhs], [aval], checked=True)[0]


def _numbers(z: Any, shape: Ints, low: Ints) -> list[int]:
    """Sizes and strides of an operand of a shape and of the result, as both kernels take them."""
    batch, channel, *spatial = (_steps(shape)[d] for d in z.numbers.lhs_spec)
    out_batch, feature, *out_spatial = (_steps(z.out_shape)[d] for d in z.numbers.out_spec)
    group = z.n * batch if z.batch_groups > 1 else z.c * channel
    return [z.n, z.groups, z.c, z.o, *_front([shape[d] for d in z.numbers.lhs_spec[2:]], 1), *_front(z.out, 1),
            *_front(z.kernel, 1), *_front(z.strides, 1), *_front(z.dilation, 1), *_front(low, 0),
            batch, group, channel, *_front(spatial, 0), out_batch, z.o * feature, feature, *_front(out_spatial, 0)]


def _front(values: Sequence[int], fill: int) -> list[int]:
    """Of three spatial axes, of which the first ones may not be there."""
    return [fill] * (RANK - len(values)) + list(values)


def _steps(shape: Sequence[int]) -> Ints:
    """Elements between neighbours along each axis."""
    return tuple(prod(shape[d + 1:]) for d in range(len(shape)))
