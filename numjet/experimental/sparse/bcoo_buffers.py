"""Operations on the buffers of BCOO arrays: data[batch..., nse, dense...] and indices[batch..., nse, sparse].

An element whose indices are out of bounds is padding: it stands for nothing. By convention all of its indices are then the
sizes of the axes. Batch axes of either buffer may have size 1, and stand for the array's.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.products import add_rows, index_array, operand_labels, sampled_product, sparse_times_dense, take
from numjet.experimental.sparse.util import SparseInfo, check_layout, numbers, product_dtype, split_shape, stored


class BCOOProperties(NamedTuple):
    """How many axes of each kind there are, and how many elements are stored per batch."""
    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def layout(indices: Any, shape: Sequence[int]) -> BCOOProperties:
    """The properties that the shape of `indices` gives."""
    n_sparse, nse = indices.shape[-1], indices.shape[-2]
    n_batch = indices.ndim - 2
    return BCOOProperties(n_batch, n_sparse, len(shape) - n_batch - n_sparse, nse)


def _validate_bcoo(data: Any, indices: Any, shape: Sequence[int]) -> BCOOProperties:
    """The properties. ValueError for buffers that do not fit the shape."""
    shape = tuple(shape)
    if indices.ndim < 2 or not jnp.issubdtype(indices.dtype, jnp.integer):
        raise ValueError("BCOO indices must be integers of shape [*batch, nse, n_sparse], got "
                         f"indices.shape={indices.shape}, indices.dtype={indices.dtype}")
    found = layout(indices, shape)
    batch, _, dense = split_shape(shape, found.n_batch, max(found.n_dense, 0))
    if found.n_dense < 0 or not _fits(indices.shape[:found.n_batch], batch):
        raise ValueError(f"Invalid indices.shape={indices.shape} for {shape=}: expected [*batch, nse, n_sparse], where batch "
                         "axes have the sizes of the array's first ones, or 1")
    if data.ndim != found.n_batch + 1 + found.n_dense or data.shape[found.n_batch:] != (found.nse, *dense) \
            or not _fits(data.shape[:found.n_batch], batch):
        raise ValueError(f"Invalid data.shape={data.shape} for nse={found.nse}, n_batch={found.n_batch}, "
                         f"n_dense={found.n_dense}: expected {(*batch, found.nse, *dense)}")
    return found


def _fits(sizes: Sequence[int], batch: Sequence[int]) -> bool:
    return len(sizes) == len(batch) and all(s in (1, b) for s, b in zip(sizes, batch, strict=True))


def whole(data: Any, indices: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    """The buffers with all of the batch."""
    batch = tuple(shape[:indices.ndim - 2])
    n = len(batch)
    return jnp.broadcast_to(data, batch + data.shape[n:]), jnp.broadcast_to(indices, batch + indices.shape[n:])


def row(values: Any, indices: Any) -> Any:
    """One value per sparse axis, to be combined with indices: in their dtype and rank."""
    values = jnp.asarray(values, indices.dtype)
    return values.reshape((1,) * (indices.ndim - 1) + values.shape)


def inside(indices: Any, sizes: Sequence[int]) -> Any:
    """Which elements are no padding."""
    return (indices < row(np.asarray(sizes, int), indices)).all(-1)


def kept(data: Any, mask: Any) -> Any:
    """The data where the mask [batch..., nse] holds, else zero."""
    return jnp.where(mask.reshape(mask.shape + (1,) * (data.ndim - mask.ndim)), data, jnp.zeros((), data.dtype))


def live(data: Any, indices: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    """The buffers with all of the batch, and zeros as data of what is padding."""
    data, indices = whole(data, indices, shape)
    p = layout(indices, shape)
    return kept(data, inside(indices, shape[p.n_batch:p.n_batch + p.n_sparse])), indices


def marked(indices: Any, mask: Any, sizes: Sequence[int]) -> Any:
    """The indices where the mask holds, else those of padding."""
    return jnp.where(mask[..., None], indices, row(np.asarray(sizes, int), indices))


def with_nse(data: Any, indices: Any, shape: Sequence[int], nse: int) -> tuple[Any, Any]:
    """The buffers with at least that many elements, filled up with padding."""
    p = layout(indices, shape)
    more = nse - p.nse
    if more <= 0:
        return data, indices
    sizes = jnp.asarray(np.asarray(shape[p.n_batch:p.n_batch + p.n_sparse]), indices.dtype)
    padding = jnp.broadcast_to(sizes, (*indices.shape[:p.n_batch], more, p.n_sparse))
    zeros = jnp.zeros((*data.shape[:p.n_batch], more, *data.shape[p.n_batch + 1:]), data.dtype)
    return jnp.concatenate([data, zeros], p.n_batch), jnp.concatenate([indices, padding], p.n_batch)


# ------------------------------------------------------------------------------------------------ dense arrays

@composed("bcoo_todense")
def bcoo_todense_p(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    """The dense array of a BCOO array."""
    data, indices = whole(data, indices, spinfo.shape)
    p = layout(indices, spinfo.shape)
    if p.n_sparse == 0:
        return data.sum(p.n_batch, dtype=data.dtype)
    labels = operand_labels(p.n_batch, p.n_sparse, 0)
    return add_rows(spinfo.shape, index_array(indices, spinfo.shape[:p.n_batch], labels), data)


@composed("bcoo_extract")
def bcoo_extract_p(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    """The elements of a dense array at indices; of equal indices only the first gets one, unless they are assumed unique."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    batch = arr.shape[:n_batch]
    indices = jnp.broadcast_to(indices, batch + indices.shape[n_batch:])
    if n_sparse == 0:
        data = jnp.broadcast_to(jnp.expand_dims(arr, n_batch), (*batch, indices.shape[-2], *arr.shape[n_batch:]))
    else:
        labels = operand_labels(n_batch, n_sparse, arr.ndim - n_batch - n_sparse)
        data, _ = take(arr, labels, indices, batch)
    if assume_unique:
        return data
    return kept(data, _groups(indices, arr.shape[n_batch:n_batch + n_sparse]).first_in_place())


@composed("bcoo_fromdense", multiple=True)
def bcoo_fromdense_p(mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any) -> Any:
    """Data and indices of the first `nse` nonzero elements, in row-major order, per batch."""
    batch, sparse, _ = split_shape(mat.shape, n_batch, n_dense)
    mask = stored(mat, n_batch, n_dense).reshape(*batch, prod(sparse))
    count = jnp.cumsum(mask, -1, dtype=jnp.int32) - 1
    target = jnp.where(mask & (count < nse), count, nse)
    position = jnp.full((*batch, nse), prod(sparse), jnp.int32)
    lanes = [lax.broadcasted_iota(jnp.int32, target.shape, d) for d in range(n_batch)]
    position = position.at[(*lanes, target)].set(lax.broadcasted_iota(jnp.int32, target.shape, n_batch), mode="drop")
    columns = unravelled(position, sparse)
    indices = jnp.stack(columns, -1) if columns else jnp.zeros((*batch, nse, 0), jnp.int32)
    indices = marked(indices, position < prod(sparse), sparse).astype(index_dtype)
    data = bcoo_extract_p.fun(indices, mat, assume_unique=True)
    if not sparse:  # one element; the others are padding, which has no indices to say so
        data = kept(data, jnp.broadcast_to(position == 0, (*batch, nse)))
    return data, indices


def unravelled(position: Any, sizes: Sequence[int]) -> list[Any]:
    """The index along each axis of a row-major position."""
    columns = []
    for size in reversed(sizes):
        columns.append(position % max(size, 1))
        position = position // max(size, 1)
    return columns[::-1]


def ravelled(indices: Any, sizes: Sequence[int]) -> Any:
    """The row-major position of indices[..., axis]."""
    position = jnp.zeros(indices.shape[:-1], indices.dtype)
    for j, size in enumerate(sizes):
        position = position * size + indices[..., j]
    return position


@composed("bcoo_transpose", multiple=True)
def bcoo_transpose_p(data: Any, indices: Any, *, permutation: tuple[int, ...], spinfo: SparseInfo) -> Any:
    """Data and indices with permuted axes; each axis keeps its kind."""
    p = layout(indices, spinfo.shape)
    batch, sparse, dense = split_shape(permutation, p.n_batch, p.n_dense)
    data = data.transpose([*batch, p.n_batch, *(d - p.n_sparse + 1 for d in dense)])
    columns = np.asarray([d - p.n_batch for d in sparse], int)
    indices = indices.transpose([*batch, p.n_batch, p.n_batch + 1])
    return data, indices[..., columns] if p.n_sparse else indices


# ------------------------------------------------------------------------------------------------ order

class Groups(NamedTuple):
    """Elements in the lexicographic order of their indices. order: positions[batch..., nse]; indices: in that order, padding
    last; first: which of them are the first with their indices."""
    order: Any
    indices: Any
    first: Any

    def first_in_place(self) -> Any:
        """`first` in the elements' own order."""
        lanes = [lax.broadcasted_iota(jnp.int32, self.order.shape, d) for d in range(self.order.ndim - 1)]
        return jnp.zeros_like(self.first).at[(*lanes, self.order)].set(self.first)


def _groups(indices: Any, sizes: Sequence[int]) -> Groups:
    *front, nse, n_sparse = indices.shape
    position = lax.broadcasted_iota(jnp.int32, (*front, nse), len(front))
    if n_sparse == 0 or nse == 0:
        return Groups(position, indices, position == 0)
    indices = marked(indices, inside(indices, sizes), sizes)
    *columns, order = lax.sort([*(indices[..., j] for j in range(n_sparse)), position], num_keys=n_sparse, is_stable=True)
    ordered = jnp.stack(columns, -1)
    changed = (ordered[..., 1:, :] != ordered[..., :-1, :]).any(-1)
    return Groups(order, ordered, jnp.concatenate([jnp.ones((*front, 1), bool), changed], -1))


def _in_order(data: Any, order: Any) -> Any:
    """data[batch..., nse, dense...] in another order of its elements."""
    return jnp.take_along_axis(data, order.reshape(order.shape + (1,) * (data.ndim - order.ndim)), order.ndim - 1)


@composed("bcoo_sort_indices", multiple=True)
def bcoo_sort_indices_p(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    """Data and indices in the lexicographic order of the indices."""
    data, indices = whole(data, indices, spinfo.shape)
    *columns, order = lax.sort([*(indices[..., j] for j in range(indices.shape[-1])),
                                lax.broadcasted_iota(jnp.int32, indices.shape[:-1], indices.ndim - 2)],
                               num_keys=max(indices.shape[-1], 1), is_stable=True)
    return _in_order(data, order), jnp.stack(columns, -1) if columns else indices


@composed("bcoo_sum_duplicates", multiple=True)
def bcoo_sum_duplicates_p(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int) -> Any:
    """Data and indices with the elements of equal indices added: `nse` elements, those of the largest indices are dropped."""
    data, indices = whole(data, indices, spinfo.shape)
    p = layout(indices, spinfo.shape)
    batch, sizes, dense = split_shape(spinfo.shape, p.n_batch, p.n_dense)
    groups = _groups(indices, sizes)
    live_ = inside(groups.indices, sizes)
    target = jnp.where(live_, jnp.cumsum(groups.first, -1, dtype=jnp.int32) - 1, nse)
    where = jnp.stack([*(lax.broadcasted_iota(jnp.int32, target.shape, d) for d in range(p.n_batch)), target], -1)
    out = add_rows((*batch, nse, *dense), where, _in_order(data, groups.order))
    padding = jnp.broadcast_to(jnp.asarray(np.asarray(sizes), indices.dtype), (*batch, nse, p.n_sparse))
    lanes = tuple(where[..., d] for d in range(p.n_batch + 1))
    return out, padding.at[lanes].set(groups.indices, mode="drop")


def distinct(indices: Any, sizes: Sequence[int]) -> Any:
    """How many different indices there are per batch, without padding."""
    groups = _groups(indices, sizes)
    return (groups.first & inside(groups.indices, sizes)).sum(-1, dtype=jnp.int32)


# ------------------------------------------------------------------------------------------------ products

@composed("bcoo_dot_general")
def bcoo_dot_general_p(lhs_data: Any, lhs_indices: Any, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any,
                       lhs_spinfo: SparseInfo) -> Any:
    """dot_general of a BCOO array and a dense one."""
    data, indices = live(lhs_data, lhs_indices, lhs_spinfo.shape)
    dtype = product_dtype(data, rhs, preferred_element_type)
    return sparse_times_dense(data.astype(dtype), indices, lhs_spinfo.shape, rhs.astype(dtype), numbers(dimension_numbers))


@composed("bcoo_dot_general_sampled")
def bcoo_dot_general_sampled_p(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """The elements at indices of dot_general(A, B)."""
    dtype = jnp.result_type(A, B)
    return sampled_product(A.astype(dtype), B.astype(dtype), indices, numbers(dimension_numbers))


def pairs(lhs: tuple[Any, Any, Sequence[int]], rhs: tuple[Any, Any, Sequence[int]], equal: Sequence[tuple[int, int]],
          ) -> tuple[Any, Any, Any, Any]:
    """All pairs of an element of each operand (data, indices, sizes of the sparse axes), in an axis of nse * nse: the product
    of the data, the indices of both, and which pairs count. equal: pairs of sparse axes along which indices must agree."""
    (a, i, a_sizes), (b, j, b_sizes) = lhs, rhs
    n = i.ndim - 2
    i, j = jnp.expand_dims(i, n + 1), jnp.expand_dims(j, n)
    match = inside(i, a_sizes) & inside(j, b_sizes)
    for d, e in equal:
        match &= i[..., d] == j[..., e]
    flat = lambda x: x.reshape(*x.shape[:n], match.shape[n] * match.shape[n + 1], *x.shape[n + 2:])
    both = lambda x: flat(jnp.broadcast_to(x, match.shape + x.shape[n + 2:]))
    product = jnp.expand_dims(a, n + 1) * jnp.expand_dims(b, n)
    return kept(flat(product), flat(match)), both(i), both(j), flat(match)


@composed("bcoo_spdot_general", multiple=True)
def bcoo_spdot_general_p(lhs_data: Any, lhs_indices: Any, rhs_data: Any, rhs_indices: Any, *, lhs_spinfo: SparseInfo,
                         rhs_spinfo: SparseInfo, dimension_numbers: Any, preferred_element_type: Any) -> Any:
    """Data and indices of dot_general of two BCOO arrays, whose batch axes are the product's."""
    (lhs_contracting, rhs_contracting), (lhs_batch, _) = numbers(dimension_numbers)
    n = len(lhs_batch)
    dtype = product_dtype(lhs_data, rhs_data, preferred_element_type)
    (a, i), (b, j) = whole(lhs_data, lhs_indices, lhs_spinfo.shape), whole(rhs_data, rhs_indices, rhs_spinfo.shape)
    equal = [(d - n, e - n) for d, e in zip(lhs_contracting, rhs_contracting, strict=True)]
    lhs, rhs = lhs_spinfo.shape[n:], rhs_spinfo.shape[n:]
    product, i, j, match = pairs((a.astype(dtype), i, lhs), (b.astype(dtype), j, rhs), equal)
    left = [d for d in range(len(lhs)) if d not in [d for d, _ in equal]]
    right = [e for e in range(len(rhs)) if e not in [e for _, e in equal]]
    sizes = (*(lhs[d] for d in left), *(rhs[e] for e in right))
    columns = [*(i[..., d] for d in left), *(j[..., e] for e in right)]
    index_dtype = jnp.result_type(lhs_indices, rhs_indices)
    indices = jnp.stack(columns, -1).astype(index_dtype) if columns else jnp.zeros((*match.shape, 0), index_dtype)
    indices = marked(indices, match, sizes)
    nse = prod(sizes)
    if nse >= match.shape[-1]:
        return product, indices
    return bcoo_sum_duplicates_p.fun(product, indices, spinfo=SparseInfo((*lhs_spinfo.shape[:n], *sizes)), nse=nse)


def check_fromdense(mat: Any, n_batch: int, n_dense: int) -> None:
    """ValueError for a layout that does not fit."""
    check_layout("fromdense", mat.ndim, n_batch, n_dense)
