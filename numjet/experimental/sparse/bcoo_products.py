"""Products of BCOO arrays with dense and with sparse ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numjet.numpy as jnp
from numjet.experimental.sparse.bcoo import BCOO, bcoo_sum_duplicates, bcoo_transpose, bcoo_update_layout
from numjet.experimental.sparse.bcoo_buffers import (
    bcoo_dot_general_p,
    bcoo_dot_general_sampled_p,
    bcoo_spdot_general_p,
    marked,
    pairs,
    whole,
)
from numjet.experimental.sparse.products import operand_labels, take
from numjet.experimental.sparse.util import (
    SparseInfo,
    _dot_general_validated_shape,
    cells,
    numbers,
    product_dtype,
    refuse,
    split_shape,
)


def bcoo_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: None = None, preferred_element_type: Any = None,
                     out_sharding: None = None) -> Any:
    """Product of two arrays, at least one of them sparse: lax.dot_general without making either dense.

    Args:
      lhs, rhs: BCOO arrays or dense ones.
      dimension_numbers: ((lhs contracting axes, rhs contracting axes), (lhs batch axes, rhs batch axes)). The product has the
        batch axes, then the other axes of lhs, then those of rhs.
      precision: a hint; products are computed with all digits of their type.
      preferred_element_type: the dtype of the product.

    Returns:
      A dense array if an operand is dense. The work is proportional to the stored elements. Otherwise a BCOO array, with
      min(lhs.nse * rhs.nse, size of its sparse axes) elements: all pairs are compared.

    Raises:
      TypeError: sizes differ, or neither operand is BCOO. NotImplementedError: of two sparse operands, those with dense
      axes, and
      contraction of batch axes.

    >>> import numjet.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> bcoo_dot_general(m, jnp.ones(2), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [2.0, 3.0]
    """
    del precision
    refuse("bcoo_dot_general", out_sharding=out_sharding)
    dims = numbers(dimension_numbers)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _sparse_sparse(lhs, rhs, dims, preferred_element_type)
    if isinstance(lhs, BCOO):
        return _bcoo_dot_general(lhs.data, lhs.indices, rhs, dimension_numbers=dims,
                                 preferred_element_type=preferred_element_type, lhs_spinfo=lhs._info)
    if isinstance(rhs, BCOO):
        return _bcoo_rdot_general(lhs, rhs.data, rhs.indices, dimension_numbers=dims,
                                  preferred_element_type=preferred_element_type, rhs_spinfo=rhs._info)
    raise TypeError(f"bcoo_dot_general: at least one operand must be BCOO, got {type(lhs).__name__} and {type(rhs).__name__}; "
                    "lax.dot_general multiplies dense arrays")


def _bcoo_dot_general(lhs_data: Any, lhs_indices: Any, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any,
                      lhs_spinfo: SparseInfo) -> Any:
    data, rhs = jnp.asarray(lhs_data), jnp.asarray(rhs)
    _dot_general_validated_shape(lhs_spinfo.shape, rhs.shape, dimension_numbers)
    return bcoo_dot_general_p.bind(data, jnp.asarray(lhs_indices), rhs, dimension_numbers=numbers(dimension_numbers),
                                   preferred_element_type=product_dtype(data, rhs, preferred_element_type),
                                   lhs_spinfo=lhs_spinfo)


def _bcoo_rdot_general(lhs: Any, rhs_data: Any, rhs_indices: Any, *, dimension_numbers: Any, preferred_element_type: Any,
                       rhs_spinfo: SparseInfo) -> Any:
    """The product with the sparse operand second, by that with the sparse operand first."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    swapped = ((rhs_contracting, lhs_contracting), (rhs_batch, lhs_batch))
    out = _bcoo_dot_general(rhs_data, rhs_indices, lhs, dimension_numbers=swapped,
                            preferred_element_type=preferred_element_type,
                            lhs_spinfo=rhs_spinfo)
    n_batch, n_rhs = len(rhs_batch), len(rhs_spinfo.shape) - len(rhs_batch) - len(rhs_contracting)
    return out.transpose([*range(n_batch), *range(n_batch + n_rhs, out.ndim), *range(n_batch, n_batch + n_rhs)])


def _sparse_sparse(lhs: BCOO, rhs: BCOO, dims: Any, preferred_element_type: Any) -> BCOO:
    shape = _dot_general_validated_shape(lhs.shape, rhs.shape, dims)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dims
    n = len(lhs_batch)
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_dot_general of two sparse arrays with dense axes: update_layout(n_dense=0) makes them "
                                  f"sparse; got n_dense={lhs.n_dense} and n_dense={rhs.n_dense}")
    lhs, lhs_contracting = _batch_first(lhs, lhs_batch, lhs_contracting)
    rhs, rhs_contracting = _batch_first(rhs, rhs_batch, rhs_contracting)
    batch = tuple(range(n))
    buffers = bcoo_spdot_general_p.bind(
        lhs.data, lhs.indices, rhs.data, rhs.indices, lhs_spinfo=lhs._info, rhs_spinfo=rhs._info,
        dimension_numbers=((lhs_contracting, rhs_contracting), (batch, batch)),
        preferred_element_type=product_dtype(lhs.data, rhs.data, preferred_element_type))
    return BCOO(tuple(buffers), shape=shape)


def _batch_first(mat: BCOO, batch: Sequence[int], contracting: Sequence[int]) -> tuple[BCOO, tuple[int, ...]]:
    """The operand whose batch axes are those of the product, in front; and its contracting axes then."""
    if any(d >= mat.n_batch for d in batch):
        raise NotImplementedError("bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse "
                                  f"representation. got batch={tuple(batch)}, n_batch={mat.n_batch}; update_layout changes it")
    order = [*batch, *(d for d in range(mat.ndim) if d not in batch)]
    moved = bcoo_update_layout(bcoo_transpose(mat, permutation=order), n_batch=len(batch))
    return moved, tuple(order.index(d) for d in contracting)


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """Sampled product: the elements at indices [*batch, nse, n_sparse] of lax.dot_general(A, B), without computing the others.

    Indices are along the product's axes after its batch axes; axes after those are computed in full. What is out of bounds is
    zero. TypeError for sizes that differ.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(4.0).reshape(2, 2)
    >>> bcoo_dot_general_sampled(x, x, jnp.array([[1, 1]]), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [11.0]
    """
    A, B, indices = map(jnp.asarray, (A, B, indices))
    _dot_general_validated_shape(A.shape, B.shape, dimension_numbers)
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=numbers(dimension_numbers))


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The data of the elementwise product with a dense array that broadcasts to the shape; its indices are those of sp_mat.

    NotImplementedError if the product would be larger.

    >>> import numjet.numpy as jnp
    >>> bcoo_multiply_dense(BCOO.fromdense(jnp.array([0, 2, 3])), jnp.array([7, 8, 9])).tolist()
    [16, 27]
    """
    return _bcoo_multiply_dense(sp_mat.data, sp_mat.indices, v, spinfo=sp_mat._info)


def _bcoo_multiply_dense(data: Any, indices: Any, v: Any, *, spinfo: SparseInfo) -> Any:
    return read_at(indices, jnp.asarray(v), spinfo.shape, data) * data


def read_at(indices: Any, v: Any, shape: Sequence[int], data: Any) -> Any:
    """The elements of a dense array, broadcast to the shape, at the positions of a BCOO array: for `data` to combine with."""
    if jnp.broadcast_shapes(v.shape, tuple(shape)) != tuple(shape):
        raise NotImplementedError("multiplication between sparse and dense is only implemented for cases where the output "
                                  f"shape matches the sparse matrix shape. Got shape={tuple(shape)}, v.shape={v.shape}")
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    if v.ndim == 0:
        return v
    v = v.reshape((1,) * (len(shape) - v.ndim) + v.shape)
    labels = operand_labels(n_batch, n_sparse, len(shape) - n_batch - n_sparse)
    own = [d for d in range(v.ndim) if v.shape[d] > 1 or shape[d] == v.shape[d] == 0]
    if any(labels[d][0] == "sparse" for d in own):
        batch = shape[:n_batch]
        whole_indices = jnp.broadcast_to(indices, (*batch, *indices.shape[n_batch:]))
        picked = [d for d in range(v.ndim) if d in own or labels[d][0] == "dense"]
        return take(v.reshape([v.shape[d] for d in picked]), [labels[d] for d in picked], whole_indices, batch)[0]
    return v.reshape(*v.shape[:n_batch], 1, *v.shape[n_batch + n_sparse:])


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Elementwise product of two sparse arrays, which broadcast against each other.

    It has lhs.nse * rhs.nse elements, as all pairs are compared; as many as the smaller, where that is certain. ValueError for
    shapes that do not fit, NotImplementedError for other numbers of dense axes.

    >>> import numjet.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([0, 2, 3]))
    >>> bcoo_multiply_sparse(m, BCOO.fromdense(jnp.array([5, 6, 0]))).todense().tolist()
    [0, 12, 0]
    """
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    if lhs.ndim != rhs.ndim or lhs.n_dense != rhs.n_dense:
        raise NotImplementedError("bcoo_multiply_sparse: operands must have the same numbers of axes, and of dense axes, got "
                                  f"{lhs} and {rhs}")
    n = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = bcoo_update_layout(lhs, n_batch=n), bcoo_update_layout(rhs, n_batch=n)
    (a, i), (b, j) = whole(lhs.data, lhs.indices, lhs.shape), whole(rhs.data, rhs.indices, rhs.shape)
    sizes = [split_shape(s, n, lhs.n_dense)[1] for s in (lhs.shape, rhs.shape, shape)]
    equal = [(d, d) for d, (s, t) in enumerate(zip(sizes[0], sizes[1], strict=True)) if s == t]
    product, i, j, match = pairs((a, i, sizes[0]), (b, j, sizes[1]), equal)
    indices = jnp.where(jnp.asarray([s == t for s, t in zip(sizes[0], sizes[2], strict=True)], bool), i, j)
    out = BCOO((product, marked(indices, match, sizes[2])), shape=shape)
    if not (lhs.unique_indices and rhs.unique_indices and len(equal) == lhs.n_sparse) or not out.n_sparse:
        return out
    nse = min(lhs.nse, rhs.nse, cells(sizes[2]))  # each element has at most one partner
    return bcoo_sum_duplicates(out, nse)
