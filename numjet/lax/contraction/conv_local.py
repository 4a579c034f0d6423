"""Patches of an array, and convolutions with another kernel at each position."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import as_shape
from numjet.lax.contraction.conv_functions import conv_general_dilated
from numjet.lax.contraction.conv_shapes import arranged, conv_dimension_numbers
from numjet.lax.contraction.dot import dot_general
from numjet.lax.contraction.precision import Precision, canonicalize_precision
from numjet.lax.shape.rearrange import transpose


def conv_general_dilated_patches(lhs: Any, filter_shape: Sequence[int], window_strides: Sequence[int], padding: Any,
                                 lhs_dilation: Any = None, rhs_dilation: Any = None, dimension_numbers: Any = None,
                                 precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The elements under a kernel of shape filter_shape at each of its positions, as features of the result.

    The result is that of conv_general_dilated with feature c * prod(filter_shape) + k for feature c of lhs and element
    k of the kernel, in row-major order. Arguments and errors as there; the values are exact whatever the precision.

    >>> x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    >>> conv_general_dilated_patches(x, (2,), (1,), "VALID").tolist()
    [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]]
    """
    shape, dtype = aval_of(lhs).shape, aval_of(lhs).dtype
    filter_shape = as_shape(filter_shape, "filter_shape")
    numbers = conv_dimension_numbers(shape, (1, 1, *filter_shape), dimension_numbers)
    n, features = prod(filter_shape), shape[numbers.lhs_spec[1]]
    one_hot = np.tile(np.eye(n, dtype=dtype), (features, 1)).reshape(features * n, 1, *filter_shape)
    pair = canonicalize_precision(precision)
    if isinstance(pair, tuple) and not hasattr(pair, "accumulation_type"):
        pair = (pair[0], Precision.DEFAULT)  # ones and zeros need no more
    preferred = None if preferred_element_type is None else dtypes.canonicalize_dtype(preferred_element_type)
    return conv_general_dilated(
        lhs, one_hot.transpose(np.argsort(numbers.rhs_spec)), window_strides, padding, lhs_dilation, rhs_dilation,
        numbers, feature_group_count=features, precision=pair, preferred_element_type=preferred)


def conv_general_dilated_local(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any,
                               filter_shape: Sequence[int], lhs_dilation: Any = None, rhs_dilation: Any = None,
                               dimension_numbers: Any = None, precision: Any = None) -> Any:
    """A convolution with another kernel at each position of the result.

    rhs has, where a kernel has spatial axes, those of the result, and features of lhs times elements of a kernel of
    shape filter_shape (in the order of conv_general_dilated_patches) where it has input features. Other arguments as of
    conv_general_dilated.

    >>> x, k = np.ones((1, 1, 3), np.float32), np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    >>> conv_general_dilated_local(x, k, (1,), "VALID", (2,)).tolist()
    [[[2.0, 4.0]]]
    """
    numbers = conv_dimension_numbers(aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers)
    pair = canonicalize_precision(precision)
    patches = conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation,
                                           numbers, pair)
    _, rhs_spec, out_spec = numbers
    rank = len(out_spec) - 2
    out = dot_general(rhs, patches, (((rhs_spec[1],), (out_spec[1],)), (rhs_spec[2:], out_spec[2:])), pair)
    # Its axes: spatial, output features, batch.
    return transpose(out, arranged((rank + 1, rank, *range(rank)), out_spec))
