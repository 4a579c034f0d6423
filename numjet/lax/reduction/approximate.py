"""approx_max_k and approx_min_k: the greatest and least elements.

The algorithm that may miss some (Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s", 2022) pays on
accelerators for matrix products; here the result is exact, which every recall target allows.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_size
from numjet.lax.axes import as_axis, replace
from numjet.lax.composed import composed
from numjet.lax.elementwise.arithmetic import sub_p
from numjet.lax.reduction.sort import take_along, top_k_p
from numjet.lax.templates import aligned_batch, kind_of

_VECTOR_TILE, _MATRIX_TILE = 1024, 128  # how many candidates are found together, as the algorithm's authors have it


def _size(x: ShapedArray, *, k: int, reduction_dimension: int, recall_target: float, reduction_input_size_override: int,
          aggregate_to_topk: bool, is_max_k: bool) -> int:
    """How many candidates there are: k once they are aggregated, else as many as the algorithm keeps for this recall, with
    each step of which half of the tiles is dropped."""
    size = x.shape[reduction_dimension]
    tile = _VECTOR_TILE if x.ndim == 1 else _MATRIX_TILE
    if aggregate_to_topk:
        return k
    if isinstance(size, Dimension) or isinstance(k, Dimension):
        raise NotImplementedError("approx_max_k, approx_min_k: aggregate_to_topk=False gives a number of candidates that "
                                  f"depends on k and the size of the axis, where a symbolic one came: {k} and {size}. Leave it "
                                  "out.")
    if size <= tile or k == 1:
        return min(size, tile)
    whole = max(size, reduction_input_size_override)
    wanted = min(max((1 - k) / math.log(recall_target), tile), whole) if recall_target < 1 else whole
    steps = (whole // int(wanted)).bit_length() - 1
    if steps == 0:
        return size
    most = (size // tile - 1).bit_length()
    tiles = math.ceil(size / tile)
    return math.ceil(tiles / 2 ** min(steps, most)) * tile


def _abstract(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    shape = replace(x.shape, params["reduction_dimension"], _size(x, **params))
    return [x.update(shape=shape), ShapedArray(shape, np.dtype(np.int32))]


def _eager(x: np.ndarray, *, reduction_dimension: int, is_max_k: bool, **params: Any) -> list[np.ndarray]:
    more = {"reduction_dimension": reduction_dimension, "is_max_k": is_max_k, **params}
    size = _size(ShapedArray(x.shape, x.dtype), **more)
    found = top_k_p.eager(x if is_max_k else 0 - x, k=size, axis=reduction_dimension)[1]
    return [np.take_along_axis(x, found, reduction_dimension), found]


def _found(x: Any, *, reduction_dimension: int, is_max_k: bool, **params: Any) -> list[Any]:
    """By top_k. 0 - x and not -x: then zeros of either sign are equal, and come in the order of their positions."""
    aval = aval_of(x)
    size = _size(aval, reduction_dimension=reduction_dimension, is_max_k=is_max_k, **params)
    keys = x if is_max_k else sub_p.bind(np.zeros((), aval.dtype)[()], x)
    values, indices = top_k_p.bind(keys, k=size, axis=reduction_dimension)
    return [values if is_max_k else take_along(x, indices, reduction_dimension), indices]


_PARAMS = ("k", "reduction_dimension", "recall_target", "is_max_k", "reduction_input_size_override", "aggregate_to_topk")

approx_top_k_p: Op = composed(
    "approx_top_k", _found, multiple=True, params=_PARAMS, abstract=_abstract, eager=_eager,
    batch=aligned_batch(lambda: approx_top_k_p, "reduction_dimension"), traits=EXACT,
    samples=Samples(
        shapes=((5,), (2, 6), (4, 3), (2, 300)),
        params=tuple(dict(zip(_PARAMS, values, strict=True)) for values in (
            (2, 0, 0.95, True, -1, True), (3, 1, 0.95, False, -1, True), (1, 0, 1.0, True, -1, True),
            (3, 1, 0.9, False, -1, False))),
        dtypes=("float32", "float64"), ulps=0))


def _approx_k(name: str, operand: Any, k: int, dimension: int, recall_target: float, override: int, aggregate: bool
              ) -> list[Any]:
    aval = aval_of(operand)
    if kind_of(aval.dtype) != "f":
        raise ValueError(f"{name}: operand must be a floating type, got {dtypes.long_name(aval.dtype)}")
    if not 0 < recall_target <= 1:
        raise ValueError(f"{name}: recall_target must be above 0 and at most 1, got {recall_target}")
    axis, k = as_axis(dimension, aval.ndim, name), as_size(k)
    if k <= 0:
        raise ValueError(f"{name}: k must be positive, got {k}")
    if k > aval.shape[axis]:
        raise ValueError(f"{name}: k must be smaller than the size of reduction_dim {aval.shape[axis]}, got {k}")
    if 0 <= override < aval.shape[axis]:
        raise ValueError(f"{name}: reduction_input_size_override out of range: below the size of reduction_dimension, "
                         f"{aval.shape[axis]}, got {override}")
    params: dict[str, Any] = {
        "k": k, "reduction_dimension": axis, "recall_target": float(recall_target), "is_max_k": name == "approx_max_k",
        "reduction_input_size_override": int(override), "aggregate_to_topk": bool(aggregate)}
    if (size := _size(aval, **params)) > aval.shape[axis]:
        raise ValueError(f"{name}: reduction_input_size_override={override} and aggregate_to_topk=False ask for {size} "
                         f"candidates, and the axis has {aval.shape[axis]} elements")
    return list(approx_top_k_p.bind(operand, **params))


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The k greatest elements along an axis in descending order, and their positions (int32).

    The result is exact. With aggregate_to_topk=False there are more than k: the greatest ones, as many as the algorithm of
    accelerators keeps for recall_target on an axis of that size, or of reduction_input_size_override.

    ValueError for a dtype that is no float, k out of bounds, an axis out of bounds, a recall target out of (0, 1] and an
    override below the size.

    >>> [x.tolist() for x in approx_max_k(np.float32([3, 1, 2]), 2)]
    [[3.0, 2.0], [0, 2]]
    """
    return _approx_k("approx_max_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
                     aggregate_to_topk)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Any]:
    """The k least elements along an axis in ascending order, and their positions (int32). See approx_max_k.

    >>> [x.tolist() for x in approx_min_k(np.float32([3, 1, 2]), 2)]
    [[1.0, 2.0], [1, 2]]
    """
    return _approx_k("approx_min_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
                     aggregate_to_topk)
