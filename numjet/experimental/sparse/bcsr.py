"""BCSR, batched compressed rows: as BCOO with two sparse axes, with the elements of each row together."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.vmap import register_mapped
from numjet.experimental.sparse.base import Batched, JAXSparse
from numjet.experimental.sparse.bcoo import BCOO, bcoo_sort_indices
from numjet.experimental.sparse.bcoo_buffers import (
    bcoo_dot_general_p,
    bcoo_extract_p,
    bcoo_fromdense_p,
    bcoo_todense_p,
    inside,
    marked,
    whole,
)
from numjet.experimental.sparse.bcoo_shapes import bcoo_broadcast_in_dim, bcoo_concatenate
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.util import (
    SparseInfo,
    _count_stored_elements,
    _dot_general_validated_shape,
    numbers,
    product_dtype,
    refuse,
    split_shape,
    static_nse,
)
from numjet.foundation import tree
from numjet.foundation.dtypes import canonicalize_dtype


class BCSRProperties(NamedTuple):
    """How many batch and dense axes there are, and how many elements are stored per batch."""
    n_batch: int
    n_dense: int
    nse: int


def _validate_bcsr(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    """The properties. ValueError for buffers that do not fit the shape."""
    shape, n_batch = tuple(shape), indices.ndim - 1
    n_dense = len(shape) - n_batch - 2
    if n_batch < 0 or n_dense < 0 or indptr.ndim != indices.ndim or indptr.shape[-1] != shape[n_batch] + 1:
        raise ValueError(f"BCSR: {indices.shape=} and {indptr.shape=} do not fit {shape=}: expected [*batch, nse] and "
                         "[*batch, rows + 1]")
    batch, _, dense = split_shape(shape, n_batch, n_dense)
    fits = lambda sizes: len(sizes) == n_batch and all(s in (1, b) for s, b in zip(sizes, batch, strict=True))
    nse = indices.shape[-1]
    if data.ndim != n_batch + 1 + n_dense or data.shape[n_batch:] != (nse, *dense) \
            or not all(fits(x.shape[:n_batch]) for x in (data, indices, indptr)):
        raise ValueError(f"BCSR: {data.shape=} and {indices.shape=} do not fit {shape=}: expected data of shape "
                         f"{(*batch, nse, *dense)}")
    return BCSRProperties(n_batch, n_dense, nse)


def _bcsr_to_bcoo(indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    """Indices of BCOO; elements behind the last row are padding."""
    n = indices.ndim - 1
    rows, columns = shape[n], shape[n + 1]
    batch = jnp.broadcast_shapes(indices.shape[:-1], indptr.shape[:-1])
    position = jnp.arange(indices.shape[-1], dtype=indptr.dtype)
    # row of an element: how many rows end at or before it. Ends are counted, then summed.
    ends = jnp.broadcast_to(indptr[..., 1:], (*batch, rows))
    lanes = tuple(jnp.arange(s).reshape((s,) + (1,) * (n - d)) for d, s in enumerate(batch))
    count = jnp.zeros((*batch, position.size + 1), indices.dtype)
    row = jnp.cumsum(count.at[(*lanes, ends)].add(1, mode="drop"), -1, dtype=indices.dtype)[..., :-1]
    column = jnp.broadcast_to(indices, row.shape)
    return marked(jnp.stack([row, column], -1), row < rows, (rows, columns))


def _bcoo_to_bcsr(indices: Any, *, shape: Sequence[int], index_dtype: Any = None) -> tuple[Any, Any]:
    """(indices, indptr) of sorted BCOO indices with two sparse axes."""
    n = indices.ndim - 2
    rows = shape[n]
    index_dtype = indices.dtype if index_dtype is None else canonicalize_dtype(index_dtype)
    lanes = tuple(jnp.arange(s).reshape((s,) + (1,) * (n - d)) for d, s in enumerate(indices.shape[:n]))
    count = jnp.zeros((*indices.shape[:n], rows + 1), index_dtype)
    mask = inside(indices, shape[n:n + 2])
    row = jnp.where(mask, indices[..., 0] + 1, rows + 1)
    indptr = jnp.cumsum(count.at[(*lanes, row)].add(1, mode="drop"), -1, dtype=index_dtype)
    return indices[..., 1].astype(index_dtype), indptr


@composed("bcsr_todense")
def bcsr_todense_p(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    """The dense array of a BCSR array."""
    return bcoo_todense_p.fun(data, _bcsr_to_bcoo(indices, indptr, shape=spinfo.shape), spinfo=spinfo)


@composed("bcsr_extract")
def bcsr_extract_p(indices: Any, indptr: Any, arr: Any) -> Any:
    """The elements of a dense array at the positions of a BCSR array."""
    return bcoo_extract_p.fun(_bcsr_to_bcoo(indices, indptr, shape=arr.shape), arr, assume_unique=True)


@composed("bcsr_fromdense", multiple=True)
def bcsr_fromdense_p(mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any) -> Any:
    """Data, indices and indptr of the first `nse` nonzero elements, per batch."""
    data, indices = bcoo_fromdense_p.fun(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    return data, *_bcoo_to_bcsr(indices, shape=mat.shape, index_dtype=index_dtype)


@composed("bcsr_dot_general")
def bcsr_dot_general_p(lhs_data: Any, lhs_indices: Any, lhs_indptr: Any, rhs: Any, *, dimension_numbers: Any,
                       preferred_element_type: Any, lhs_spinfo: SparseInfo) -> Any:
    """dot_general of a BCSR array and a dense one."""
    indices = _bcsr_to_bcoo(lhs_indices, lhs_indptr, shape=lhs_spinfo.shape)
    return bcoo_dot_general_p.fun(lhs_data, indices, rhs, dimension_numbers=dimension_numbers,
                                  preferred_element_type=preferred_element_type, lhs_spinfo=lhs_spinfo)


@tree.register_pytree_node_class
class BCSR(Batched):
    """Batched compressed rows: elements `data` in columns `indices`, those of row i from indptr[i] to indptr[i + 1].

    data has the shape [*batch, nse, *dense], indices [*batch, nse], indptr [*batch, rows + 1]. Elements behind the last row are
    padding. ValueError for buffers that do not fit the shape.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> (m @ jnp.array([1.0, 2.0])).tolist()
    [4.0, 3.0]
    """

    indptr: Any
    _buffers = ("data", "indices", "indptr")

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False):
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        super().__init__(args, shape=shape)
        _validate_bcsr(self.data, self.indices, self.indptr, self.shape)

    nse = property(lambda self: self.indices.shape[-1], doc="The number of stored elements per batch.")
    n_batch = property(lambda self: self.indices.ndim - 1, doc="The number of batch axes, which come first.")
    n_sparse = property(lambda self: 2, doc="The number of sparse axes: 2.")
    _sparse_shape = property(lambda self: self.shape[self.n_batch:self.n_batch + 2])

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
                  n_batch: int = 0) -> BCSR:
        """The BCSR array of a dense one: see bcsr_fromdense."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """The BCSR array of a matrix of scipy.sparse. NotImplementedError for batch or dense axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse with nonzero n_dense/n_batch")
        mat = mat.tocsr()
        dtype = index_dtype or np.int32
        return cls((jnp.asarray(mat.data), jnp.asarray(mat.indices).astype(dtype), jnp.asarray(mat.indptr).astype(dtype)),
                   shape=mat.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The BCSR array of a BCOO one. NotImplementedError unless it has two sparse axes."""
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo requires n_sparse=2; got n_sparse={arr.n_sparse}")
        ordered = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        data, indices = whole(ordered.data, ordered.indices, ordered.shape)
        return cls((data, *_bcoo_to_bcsr(indices, shape=ordered.shape)), shape=arr.shape,
                   indices_sorted=ordered.indices_sorted, unique_indices=arr.unique_indices)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCSR:
        """An array of zeros."""
        if min(n_dense, n_batch, nse) < 0 or len(shape) != 2 + n_dense + n_batch:
            raise ValueError(f"BCSR: {shape=} must have two axes besides {n_batch=} and {n_dense=}")
        batch, sparse, dense = split_shape(shape, n_batch, n_dense)
        buffers = (jnp.zeros((*batch, nse, *dense), dtype), jnp.zeros((*batch, nse), index_dtype),
                   jnp.zeros((*batch, sparse[0] + 1), index_dtype))
        return cls(buffers, shape=shape, indices_sorted=True, unique_indices=True)

    def todense(self) -> Any:
        """The dense array."""
        return bcsr_todense(self)

    def to_bcoo(self) -> BCOO:
        """The BCOO array."""
        indices = _bcsr_to_bcoo(self.indices, self.indptr, shape=self.shape)
        return BCOO((self.data, indices), shape=self.shape, indices_sorted=self.indices_sorted,
                    unique_indices=self.unique_indices)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The array with equal indices added: see BCOO.sum_duplicates."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse, remove_zeros=remove_zeros))

    def transpose(self, axes: Sequence[int] | None = None) -> BCSR:
        """The array with permuted axes, with its elements sorted anew."""
        return BCSR.from_bcoo(self.to_bcoo().transpose(axes))


def _with_shape(mat: BCSR, shape: Sequence[int]) -> BCSR:
    return BCSR.tree_unflatten(mat._info._replace(shape=tuple(shape)), mat._bufs)


def _checked_batch(mat: BCSR, axis: int) -> BCSR:
    """The array with whole buffers. ValueError unless axis is one of its batch axes."""
    n = mat.n_batch
    if not 0 <= axis < n:
        raise ValueError(f"vmap of a BCSR array maps over batch axes, those below n_batch={n}, got axis {axis}")
    return BCSR.tree_unflatten(mat._info, [jnp.broadcast_to(b, mat.shape[:n] + b.shape[n:]) for b in mat._bufs])


register_mapped(BCSR, _checked_batch, lambda mat, axis: _with_shape(mat, mat.shape[:axis] + mat.shape[axis + 1:]),
                lambda mat, size, axis: _with_shape(mat, (*mat.shape[:axis], size, *mat.shape[axis:])))


def bcsr_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCSR:
    """Compression of a dense array to BCSR: as bcoo_fromdense, for two sparse axes. ValueError for other numbers of them.

    >>> import numjet.numpy as jnp
    >>> bcsr_fromdense(jnp.eye(3)).indptr.tolist()
    [0, 1, 2, 3]
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(f"bcsr_fromdense: must have 2 sparse dimensions, got shape {mat.shape} with {n_batch=}, {n_dense=}")
    count = static_nse(_count_stored_elements(mat, n_batch, n_dense) if nse is None else nse, "bcsr_fromdense")
    return BCSR(_bcsr_fromdense(mat, nse=count, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype), shape=mat.shape)


def _bcsr_fromdense(mat: Any, *, nse: Any, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32) -> Any:
    return tuple(bcsr_fromdense_p.bind(jnp.asarray(mat), nse=static_nse(nse, "bcsr_fromdense"), n_batch=n_batch,
                                       n_dense=n_dense, index_dtype=canonicalize_dtype(index_dtype)))


def bcsr_todense(mat: BCSR) -> Any:
    """The dense array of a BCSR array.

    >>> import numjet.numpy as jnp
    >>> bcsr_todense(bcsr_fromdense(jnp.array([[0, 5]]))).tolist()
    [[0, 5]]
    """
    return _bcsr_todense(*mat._bufs, spinfo=mat._info)


def _bcsr_todense(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    return bcsr_todense_p.bind(jnp.asarray(data), jnp.asarray(indices), jnp.asarray(indptr), spinfo=spinfo)


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The data of a dense array at the positions of a BCSR array.

    >>> import numjet.numpy as jnp
    >>> bcsr_extract(jnp.array([1]), jnp.array([0, 1]), jnp.array([[3, 4]])).tolist()
    [4]
    """
    return bcsr_extract_p.bind(jnp.asarray(indices), jnp.asarray(indptr), jnp.asarray(mat))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The array with the elements of equal indices added: see bcoo_sum_duplicates.

    >>> import numjet.numpy as jnp
    >>> bcsr_sum_duplicates(BCSR((jnp.ones(2), jnp.array([1, 1]), jnp.array([0, 2])), shape=(1, 2)))
    BCSR(float32[1, 2], nse=1)
    """
    return mat.sum_duplicates(nse=nse, remove_zeros=False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """As bcsr_sum_duplicates, without elements whose data are zero.

    >>> import numjet.numpy as jnp
    >>> bcsr_eliminate_zeros(BCSR((jnp.array([0, 1]), jnp.array([0, 1]), jnp.array([0, 2])), shape=(1, 2)))
    BCSR(int32[1, 2], nse=1)
    """
    return mat.sum_duplicates(nse=nse, remove_zeros=True)


def bcsr_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: None = None, preferred_element_type: Any = None,
                     out_sharding: None = None) -> Any:
    """Product of a BCSR array with a dense one: see bcoo_dot_general. NotImplementedError for other operands.

    >>> import numjet.numpy as jnp
    >>> m = bcsr_fromdense(jnp.array([[0.0, 2.0]]))
    >>> bcsr_dot_general(m, jnp.ones(2), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [2.0]
    """
    del precision
    refuse("bcsr_dot_general", out_sharding=out_sharding)
    if not isinstance(lhs, BCSR) or isinstance(rhs, JAXSparse):
        raise NotImplementedError("bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs; convert with to_bcoo()")
    data, rhs = lhs.data, jnp.asarray(rhs)
    _dot_general_validated_shape(lhs.shape, rhs.shape, dimension_numbers)
    return bcsr_dot_general_p.bind(data, lhs.indices, lhs.indptr, rhs, dimension_numbers=numbers(dimension_numbers),
                                   preferred_element_type=product_dtype(data, rhs,
                                                                        preferred_element_type), lhs_spinfo=lhs._info)


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding: None = None) -> BCSR:
    """The array in a larger shape: see bcoo_broadcast_in_dim.

    >>> import numjet.numpy as jnp
    >>> bcsr_broadcast_in_dim(bcsr_fromdense(jnp.eye(2)), shape=(3, 2, 2), broadcast_dimensions=(1, 2))
    BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    out = bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding)
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """The arrays one after another along an axis: see bcoo_concatenate.

    >>> import numjet.numpy as jnp
    >>> m = bcsr_fromdense(jnp.eye(2))
    >>> bcsr_concatenate([m, m], dimension=0).indptr.tolist()
    [0, 1, 2, 3, 4]
    """
    if not all(isinstance(m, BCSR) for m in operands):
        raise ValueError(f"bcsr_concatenate: expected operands to be a sequence of BCSR arrays. Got {operands}")
    return BCSR.from_bcoo(bcoo_concatenate([m.to_bcoo() for m in operands], dimension=dimension))
