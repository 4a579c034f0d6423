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
    if prod(z.kernel) > prod(z.out):  # as in derivatives by kernels: few long sums
        return False
    return sums == wide or (wide == dtype and dtype.kind in "iu")


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
    front = lambda values, fill: [fill] * (RANK - len(z.kernel)) + list(values)
    in_steps, out_steps = _steps(lhs.shape), _steps(z.out_shape)
    batch, channel, *spatial = (in_steps[d] for d in z.numbers.lhs_spec)
    out_batch, feature, *out_spatial = (out_steps[d] for d in z.numbers.out_spec)
    numbers = [KERNEL_DTYPES.index(lhs.dtype.name), int(interleaved(z)), z.n, z.groups, z.c, z.o,
               *front([lhs.shape[d] for d in z.numbers.lhs_spec[2:]], 1), *front(z.out, 1), *front(z.kernel, 1),
               *front(z.strides, 1), *front(z.dilation, 1), *front(low, 0),
               batch, z.n * batch if z.batch_groups > 1 else z.c * channel, channel, *front(spatial, 0),
               out_batch, z.o * feature, feature, *front(out_spatial, 0)]
    return b.kernel("nj_convolution", [*numbers, lhs, weights], [ShapedArray(z.out_shape, sums_of(lhs.dtype))], checked=True)[0]


def _steps(shape: Sequence[int]) -> Ints:
    """Elements between neighbours along each axis."""
    return tuple(prod(shape[d + 1:]) for d in range(len(shape)))
