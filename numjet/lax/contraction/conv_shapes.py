"""The axes and sizes of convolutions: ConvDimensionNumbers, and the shapes that follow from strides and padding."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from numjet.core.printing_rules import register_parameter_type
from numjet.foundation.dimension import largest
from numjet.lax.axes import Ints
from numjet.lax.reduction.window_shapes import dilated, padtype_to_pads


@register_parameter_type
class ConvDimensionNumbers(NamedTuple):
    """Which axes play which roles in a convolution.

    Attributes:
      lhs_spec: of the input: (batch, feature, *spatial).
      rhs_spec: of the kernel: (output feature, input feature, *spatial).
      out_spec: of the result: (batch, feature, *spatial).
    """
    lhs_spec: Ints
    rhs_spec: Ints
    out_spec: Ints


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]
_ROLES = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> ConvDimensionNumbers:
    """The axes that a description of layouts stands for.

    dimension_numbers: None (batch, feature, spatial axes in this order for input and result; output feature, input
    feature, spatial axes for the kernel), or three strings with N, C (O, I for the kernel) and one character per
    spatial axis, such as ("NHWC", "HWIO", "NHWC"), or ConvDimensionNumbers. TypeError for anything else.

    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(f"conv_general_dilated requires lhs and rhs ndim to be equal, got shapes {tuple(lhs_shape)} and "
                        f"{tuple(rhs_shape)}.")
    if dimension_numbers is None:
        natural = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(natural, natural, natural)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(f"conv_general_dilated dimension_numbers must be tuple/list or None, got {type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError(f"conv_general_dilated dimension_numbers list/tuple must be length 3, got {len(dimension_numbers)}.")
    if not all(isinstance(s, str) for s in dimension_numbers):
        raise TypeError("conv_general_dilated dimension_numbers elements must be strings, "
                        f"got {tuple(map(type, dimension_numbers))}.")
    for k, spec in enumerate(dimension_numbers):
        _check_spec(k, spec, lhs_shape, rhs_shape)
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def _check_spec(k: int, spec: str, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> None:
    if len(spec) != len(lhs_shape):
        raise TypeError(f"conv_general_dilated dimension_numbers[{k}] must have len equal to the ndim of lhs and rhs, got "
                        f"{len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}.")
    if any(spec.count(c) != 1 for c in _ROLES[k]):
        raise TypeError(f"conv_general_dilated dimension_numbers[{k}] must contain the characters '{_ROLES[k][0]}' and "
                        f"'{_ROLES[k][1]}' exactly once, got {spec}.")
    if len(set(spec)) != len(spec):
        raise TypeError(f"conv_general_dilated dimension_numbers[{k}] cannot have duplicate characters, got {spec}.")


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """The axes of three layouts, spatial ones in the order of the kernel's layout.

    >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    names = [c for c in dimension_numbers[1] if c not in _ROLES[1]]
    for spec, roles in zip(dimension_numbers, _ROLES, strict=True):
        if sorted(c for c in spec if c not in roles) != sorted(names):
            raise TypeError("conv_general_dilated dimension_numbers elements must each have the same set of spatial "
                            f"characters, got {tuple(dimension_numbers)}.")
    lhs, rhs, out = (tuple(spec.index(c) for c in (*roles, *names))
                     for spec, roles in zip(dimension_numbers, _ROLES, strict=True))
    return lhs, rhs, out


def arranged(shape: Sequence[Any], spec: Ints) -> tuple[Any, ...]:
    """What belongs to (batch, feature, *spatial), in the order of a layout."""
    return tuple(shape[spec.index(d)] for d in range(len(spec)))


def spatial_count(sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[Sequence[int]],
                  lhs_dilation: Sequence[int], rhs_dilation: Sequence[int]) -> Ints:
    """The spatial sizes of a convolution's result."""
    out = []
    for n, w, s, (low, high), base, d in zip(sizes, kernel, strides, pads, lhs_dilation, rhs_dilation, strict=True):
        room = dilated(n, base) + low + high - dilated(w, d)
        out.append(largest(room // s + 1, 0))  # 0 where no window fits
    return tuple(out)


def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any,
                     batch_group_count: int = 1) -> Ints:
    """The shape of the result for shapes (batch, feature, ...) and (output feature, input feature, ...).

    >>> conv_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), "SAME")
    (2, 4, 8, 8)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(f"conv_shape_tuple: Wrong number of explicit pads: expected {len(lhs_shape) - 2}, got {len(pads)}.")
    if batch_group_count > 1 and lhs_shape[0] % batch_group_count:
        raise TypeError(f"conv_shape_tuple: batch_group_count must divide the batch of lhs, {lhs_shape[0]}, "
                        f"got {batch_group_count}.")
    ones = (1,) * len(strides)
    spatial = spatial_count(lhs_shape[2:], rhs_shape[2:], strides, pads, ones, ones)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                             padding: Any, dimension_numbers: Any) -> Ints:
    """The shape of the result for any layouts.

    >>> conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME", ("NHWC", "HWIO", "NHWC"))
    (2, 8, 8, 4)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    shape = conv_shape_tuple([lhs_shape[d] for d in lhs], [rhs_shape[d] for d in rhs], window_strides, padding)
    return arranged(shape, out)


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                               padding: Any, dimension_numbers: Any) -> Ints:
    """The shape of the result of conv_transpose.

    >>> conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "VALID", ("NHWC", "HWIO", "NHWC"))
    (2, 17, 17, 4)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    kernel = [rhs_shape[d] for d in rhs[2:]]
    pads = padding
    if isinstance(padding, str):
        pads = [transpose_padding(k, s, padding) for k, s in zip(kernel, window_strides, strict=True)]
    ones = (1,) * len(kernel)
    spatial = spatial_count([lhs_shape[d] for d in lhs[2:]], kernel, ones, pads, window_strides, ones)
    shape = (lhs_shape[lhs[0]], rhs_shape[rhs[0]], *spatial)
    return arranged(shape, out)


def transpose_padding(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding with which a convolution over an input dilated by `stride` undoes one of that stride.

    "SAME": the result has stride times the input's size. "VALID": all places that touch the input.
    Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning" (2016), chapter 4.
    """
    if padding == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total, low = kernel + stride - 2 + max(kernel - stride, 0), kernel - 1
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID' or pairs, got {padding!r}.")
    return low, total - low


def positive(what: str, value: Any) -> int:
    """A number of groups; ValueError unless it is a positive integer."""
    count = operator.index(value)
    if count < 1:
        raise ValueError(f"conv_general_dilated {what} must be a positive integer, got {count}.")
    return count
