"""What the sparse formats share: their flags, warnings, and conversions of indices."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import dtypes, errors


class SparseEfficiencyError(ValueError):
    """The operation would take much more memory than its operands.

    >>> issubclass(SparseEfficiencyError, ValueError)
    True
    """


class SparseEfficiencyWarning(UserWarning):
    """The operation takes much more memory than its operands.

    >>> issubclass(SparseEfficiencyWarning, UserWarning)
    True
    """


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A slow path on GPUs, for JAX's name: nothing here warns so.

    >>> issubclass(CuSparseEfficiencyWarning, SparseEfficiencyWarning)
    True
    """


class SparseInfo(NamedTuple):
    """The static part of a sparse array: shape, and what is promised of its indices."""
    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def static_nse(nse: Any, what: str) -> int:
    """A number of stored elements as an int. ConcretizationTypeError if it is not known while tracing."""
    if isinstance(nse, Tracer) and nse.concrete() is None:
        raise errors.ConcretizationTypeError(nse, f"{what}: the number of stored elements decides shapes. Give `nse`, an int.")
    return int(nse)


def split_shape(shape: Sequence[int], n_batch: int, n_dense: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """(batch, sparse, dense) parts of a shape."""
    shape, stop = tuple(shape), len(shape) - n_dense
    return shape[:n_batch], shape[n_batch:stop], shape[stop:]


def check_layout(what: str, ndim: int, n_batch: int, n_dense: int) -> None:
    """ValueError for counts of axes that do not fit."""
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > ndim:
        raise ValueError(f"{what}: n_batch and n_dense must be non-negative, and at most ndim={ndim} together, got {n_batch=}, "
                         f"{n_dense=}")


def stored(mat: Any, n_batch: int, n_dense: int) -> Any:
    """Which positions of the batch and sparse axes hold a nonzero element in any of the dense axes."""
    mask = mat.astype(bool)
    return mask.any(tuple(range(mask.ndim - n_dense, mask.ndim))) if n_dense else mask


def _count_stored_elements_per_batch(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    mat = jnp.asarray(mat)
    check_layout("count of stored elements", mat.ndim, n_batch, n_dense)
    mask = stored(mat, n_batch, n_dense)
    return mask.sum(tuple(range(n_batch, mask.ndim)), dtype=jnp.int32)


def _count_stored_elements(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    return _count_stored_elements_per_batch(mat, n_batch, n_dense).max(initial=0)


def _csr_to_coo(indices: Any, indptr: Any) -> tuple[Any, Any]:
    """Row and column of every element; past the last row for padding."""
    position = jnp.arange(indices.shape[0], dtype=indptr.dtype)
    return (jnp.searchsorted(indptr, position, side="right") - 1).astype(indices.dtype), indices


def _coo_extract(row: Any, col: Any, mat: Any) -> Any:
    return mat.at[row, col].get(mode="fill", fill_value=0)


def _csr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    return _coo_extract(*_csr_to_coo(indices, indptr), mat)


def _dot_general_validated_shape(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> tuple[int, ...]:
    """The shape of a product. TypeError for dimension numbers that do not fit."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    for name, left, right in (("contracting", lhs_contracting, rhs_contracting), ("batch", lhs_batch, rhs_batch)):
        sizes = [lhs_shape[d] for d in left], [rhs_shape[d] for d in right]
        if sizes[0] != sizes[1]:
            raise TypeError(f"dot_general requires {name} dimensions to have equal sizes, got {sizes[0]} of shape "
                            f"{tuple(lhs_shape)} and {sizes[1]} of shape {tuple(rhs_shape)}")
    free = [s for shape, used in ((lhs_shape, (*lhs_batch, *lhs_contracting)), (rhs_shape, (*rhs_batch, *rhs_contracting)))
            for d, s in enumerate(shape) if d not in used]
    return tuple([lhs_shape[d] for d in lhs_batch] + free)


def numbers(dimension_numbers: Any) -> Any:
    """Dimension numbers as nested tuples of ints."""
    return tuple(tuple(tuple(map(int, dims)) for dims in pair) for pair in dimension_numbers)


def product_dtype(lhs: Any, rhs: Any, preferred: Any) -> np.dtype:
    """The dtype of a product."""
    return np.dtype(dtypes.canonicalize_dtype(preferred)) if preferred is not None else jnp.result_type(lhs, rhs)


def cells(shape: Sequence[int]) -> int:
    """How many positions the shape has."""
    return prod(shape)


def refuse(what: str, **options: Any) -> None:
    """NotImplementedError for options that are given and cannot be honoured."""
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError(f"{what}: {name}={value!r} is not supported: arrays are on one device; leave it out")
