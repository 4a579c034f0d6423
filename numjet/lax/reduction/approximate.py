"""approx_max_k and approx_min_k: the greatest and least elements.

The algorithm that may miss some (Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s", 2022) pays on
accelerators for matrix products; here the result is exact, which every recall target allows.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.lax.elementwise.arithmetic import sub_p
from numjet.lax.reduction.sort import take_along, top_k
from numjet.lax.templates import kind_of


def _approx_k(name: str, operand: Any, k: int, dimension: int, recall_target: float, maximum: bool) -> list[Any]:
    aval = aval_of(operand)
    if kind_of(aval.dtype) != "f":
        raise ValueError(f"{name}: operand must be a floating type, got {dtypes.long_name(aval.dtype)}")
    if not 0 < recall_target <= 1:
        raise ValueError(f"{name}: recall_target must be above 0 and at most 1, got {recall_target}")
    axis, k = as_axis(dimension, aval.ndim, name), operator.index(k)
    if not 0 <= k <= aval.shape[axis]:
        raise ValueError(f"{name}: k must be between 0 and the size of reduction_dimension, {aval.shape[axis]}, got {k}")
    # 0 - x and not -x: then zeros of either sign are equal, and come in the order of their positions.
    keys = operand if maximum else sub_p.bind(np.zeros((), aval.dtype)[()], operand)
    values, indices = top_k(keys, k, axis=axis)
    return [values if maximum else take_along(operand, indices, axis), indices]


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The k greatest elements along an axis in descending order, and their positions (int32).

    The result is exact, so recall_target and reduction_input_size_override make no difference, and with
    aggregate_to_topk=False there are k results, too.

    ValueError for a dtype that is no float, k out of bounds, an axis out of bounds and a recall target out of (0, 1].

    >>> [x.tolist() for x in approx_max_k(np.float32([3, 1, 2]), 2)]
    [[3.0, 2.0], [0, 2]]
    """
    return _approx_k("approx_max_k", operand, k, reduction_dimension, recall_target, True)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The k least elements along an axis in ascending order, and their positions (int32). See approx_max_k.

    >>> [x.tolist() for x in approx_min_k(np.float32([3, 1, 2]), 2)]
    [[1.0, 2.0], [1, 2]]
    """
    return _approx_k("approx_min_k", operand, k, reduction_dimension, recall_target, False)
