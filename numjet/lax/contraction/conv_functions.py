"""The public functions of convolution: conv_general_dilated, its short forms, and conv_transpose."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import Ints, as_shape
from numjet.lax.contraction.conv_shapes import ConvDimensionNumbers, conv_dimension_numbers, positive, transpose_padding
from numjet.lax.contraction.convolution import conv_general_dilated_p
from numjet.lax.contraction.precision import canonicalize_precision
from numjet.lax.reduction.window_shapes import Pads, as_pads, dilated, padtype_to_pads
from numjet.lax.shape.rearrange import divided, rev, transpose


def conv_general_dilated(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any, lhs_dilation: Any = None,
                         rhs_dilation: Any = None, dimension_numbers: Any = None, feature_group_count: int = 1,
                         batch_group_count: int = 1, precision: Any = None, preferred_element_type: Any = None,
                         out_sharding: Any = None) -> Any:
    """The convolution (without reversal: cross-correlation) of an array with a kernel, over any spatial axes.

    Args:
      lhs: the input, with a batch axis, a feature axis and spatial axes, placed by dimension_numbers.
      rhs: the kernel, with an output feature axis, an input feature axis and the same spatial axes.
      window_strides: distances between neighbouring positions of the kernel, per spatial axis.
      padding: "SAME", "SAME_LOWER", "VALID", or (low, high) per spatial axis; negative numbers cut off.
      lhs_dilation, rhs_dilation: distances between neighbouring elements of input and kernel; 1 by default.
      dimension_numbers: see conv_dimension_numbers; by default batch (output feature), feature, spatial axes.
      feature_group_count: the features are convolved in so many groups, each with its own part of the kernel's output.
      batch_group_count: the same for groups of the batch; the result has so many times fewer batch elements.
      precision: see lax.Precision. preferred_element_type: dtype of sums and result.

    Raises:
      ValueError: features and groups don't fit, or the number of strides and dilations. TypeError: dtypes or ranks
      differ, or the dimension numbers are malformed. RuntimeError: an unknown name of a padding.

    >>> import numpy as np
    >>> x, k = np.arange(5, dtype=np.float32).reshape(1, 1, 5), np.ones((1, 1, 2), np.float32)
    >>> conv_general_dilated(x, k, (1,), "VALID").tolist()
    [[[1.0, 3.0, 5.0, 7.0]]]
    """
    if out_sharding is not None:
        return divided("conv_general_dilated", lambda x, y: conv_general_dilated(
            x, y, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
            batch_group_count, precision, preferred_element_type), out_sharding, lhs, rhs)
    left, right = aval_of(lhs).shape, aval_of(rhs).shape
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    rank = len(numbers.rhs_spec) - 2
    strides = as_shape(window_strides, "window_strides")
    lhs_dilation, rhs_dilation = ((1,) * rank if d is None else as_shape(d, "dilations")
                                  for d in (lhs_dilation, rhs_dilation))
    if len(strides) != rank:
        raise ValueError("conv_general_dilated window and window_strides must have the same number of dimensions, "
                         f"but got {rank} and {len(strides)}")
    if isinstance(padding, str) and any(d > 1 for d in lhs_dilation):
        raise ValueError("String padding is not implemented for transposed convolution using this op. Please either "
                         "exactly specify the required padding or use conv_transpose.")
    pads = _pads(padding, left, right, numbers, strides, rhs_dilation)
    preferred = None if preferred_element_type is None else dtypes.canonicalize_dtype(preferred_element_type)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=strides, padding=pads, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
        dimension_numbers=numbers, feature_group_count=positive("feature_group_count", feature_group_count),
        batch_group_count=positive("batch_group_count", batch_group_count), precision=canonicalize_precision(precision),
        preferred_element_type=preferred)


def _pads(padding: Any, left: Ints, right: Ints, numbers: ConvDimensionNumbers, strides: Ints, dilation: Ints) -> Pads:
    kernel = [right[d] for d in numbers.rhs_spec[2:]]
    if len(dilation) != len(kernel):
        raise ValueError("conv_general_dilated window and rhs_dilation must have the same number of dimensions, "
                         f"but got {len(kernel)} and {len(dilation)}")
    if len(strides) != len(kernel):
        raise ValueError("conv_general_dilated window and window_strides must have the same number of dimensions, but got "
                         f"{len(kernel)} and {len(strides)}")
    if any(s < 1 for s in strides):
        raise TypeError(f"conv_general_dilated: All window_strides must be positive, got {tuple(strides)}.")
    pads = as_pads("conv_general_dilated", padding, lambda: padtype_to_pads(
        [left[d] for d in numbers.lhs_spec[2:]], [dilated(k, d) for k, d in zip(kernel, dilation, strict=True)], strides,
        padding))
    if len(pads) != len(kernel):
        raise TypeError(f"conv_general_dilated: Wrong number of explicit pads: expected {len(kernel)}, got {len(pads)}.")
    return pads


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None,
         preferred_element_type: Any = None) -> Any:
    """conv_general_dilated of (batch, feature, ...) with (output feature, input feature, ...), without dilations.

    >>> import numpy as np
    >>> conv(np.ones((1, 3, 4), np.float32), np.ones((2, 3, 2), np.float32), (1,), "SAME").shape
    (1, 2, 4)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any, lhs_dilation: Any,
                              rhs_dilation: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """conv_general_dilated of (batch, feature, ...) with (output feature, input feature, ...).

    >>> import numpy as np
    >>> x, k = np.ones((1, 1, 3), np.float32), np.ones((1, 1, 2), np.float32)
    >>> conv_with_general_padding(x, k, (1,), [(1, 0)], (2,), None).tolist()
    [[[1.0, 1.0, 1.0, 1.0, 1.0]]]
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
                                preferred_element_type=preferred_element_type)


_LAYOUTS = {2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
            5: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(lhs: Any, rhs: Any, strides: Sequence[int], padding: Any, rhs_dilation: Any = None,
                   dimension_numbers: Any = None, transpose_kernel: bool = False, precision: Any = None,
                   preferred_element_type: Any = None, use_consistent_padding: bool = False) -> Any:
    """The transpose of a strided convolution: what conv_general_dilated's gradient does, as an operation of its own.

    Args:
      lhs, rhs: input and kernel, by default with features last: (N, H, W, C) and (H, W, I, O), with up to 3 spatial axes.
      strides: of the convolution that is transposed; the result is larger by them.
      padding: "SAME" (stride times the size of the input), "VALID", or (low, high) per spatial axis, applied to the
        dilated input; with use_consistent_padding, those of the convolution that is transposed.
      rhs_dilation: distances between neighbouring elements of the kernel.
      transpose_kernel: reverses the kernel and exchanges its features, so that the kernel of a convolution gives that
        convolution's transpose.

    Raises:
      ValueError: default layouts for other ranks, unknown names of paddings; otherwise as conv_general_dilated.

    >>> import numpy as np
    >>> conv_transpose(np.ones((1, 2, 1), np.float32), np.ones((2, 1, 1), np.float32), (2,), "SAME").shape
    (1, 4, 1)
    """
    rank = aval_of(lhs).ndim
    if dimension_numbers is None:
        if rank not in _LAYOUTS:
            raise ValueError(f"conv_transpose has no default dimension_numbers for {rank - 2} spatial axes; give them.")
        dimension_numbers = _LAYOUTS[rank]
    numbers = conv_dimension_numbers(aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers)
    dilation = (1,) * (rank - 2) if rhs_dilation is None else as_shape(rhs_dilation, "rhs_dilation")
    spans = [dilated(aval_of(rhs).shape[d], r) for d, r in zip(numbers.rhs_spec[2:], dilation, strict=True)]
    strides = as_shape(strides, "strides")
    if isinstance(padding, str):
        pads = [transpose_padding(k, s, padding) for k, s in zip(spans, strides, strict=True)]
    else:
        pads = list(as_pads("conv_transpose", padding, lambda: []))
        if use_consistent_padding:
            pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(spans, pads, strict=True)]
    if transpose_kernel:
        rhs = _exchanged(rev(rhs, numbers.rhs_spec[2:]), *numbers.rhs_spec[:2])
    return conv_general_dilated(lhs, rhs, (1,) * (rank - 2), pads, strides, dilation, numbers, precision=precision,
                                preferred_element_type=preferred_element_type)


def _exchanged(x: Any, a: int, b: int) -> Any:
    """x with two axes exchanged."""
    order = list(range(aval_of(x).ndim))
    order[a], order[b] = b, a
    return transpose(x, order)


