"""BCOO, batched coordinates: a sparse array of any rank as a list of elements with their indices."""
from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.vmap import register_mapped
from numjet.experimental.sparse.base import Batched
from numjet.experimental.sparse.bcoo_buffers import (
    _validate_bcoo,
    bcoo_extract_p,
    bcoo_fromdense_p,
    bcoo_sort_indices_p,
    bcoo_sum_duplicates_p,
    bcoo_todense_p,
    bcoo_transpose_p,
    check_fromdense,
    distinct,
    inside,
    kept,
    marked,
    row,
    stored,
    whole,
)
from numjet.experimental.sparse.util import (
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    _count_stored_elements,
    split_shape,
    static_nse,
)
from numjet.foundation import tree
from numjet.foundation.dtypes import canonicalize_dtype


@tree.register_pytree_node_class
class BCOO(Batched):
    """Batched coordinates: elements `data` at positions `indices`.

    data has the shape [*batch, nse, *dense], indices [*batch, nse, n_sparse]; the array's axes are those of the batch, n_sparse
    axes along which elements are found by indices, and the dense ones. nse is the number of stored elements per batch. Elements
    with equal indices add up. Elements whose indices are out of bounds count for nothing. BCOO is a pytree of its two buffers:
    jit, grad and vmap (over batch axes) take it.

    Args:
      args: (data, indices).
      shape: of the array.
      indices_sorted: a promise that the indices are in lexicographic order.
      unique_indices: a promise that no indices in bounds are equal.

    Raises:
      ValueError: the buffers do not fit the shape.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> m
    BCOO(float32[2, 2], nse=2)
    >>> (m @ jnp.array([1.0, 2.0])).tolist()
    [4.0, 3.0]
    """

    _buffers = ("data", "indices")

    def __init__(self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False):
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        super().__init__(args, shape=shape)
        _validate_bcoo(self.data, self.indices, self.shape)

    nse = property(lambda self: self.indices.shape[-2], doc="The number of stored elements per batch.")
    n_batch = property(lambda self: self.indices.ndim - 2, doc="The number of batch axes, which come first.")
    n_sparse = property(lambda self: self.indices.shape[-1], doc="The number of sparse axes, in the middle.")
    _sparse_shape = property(lambda self: split_shape(self.shape, self.n_batch, self.n_dense)[1])

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
                  n_batch: int = 0) -> BCOO:
        """The BCOO array of a dense one: see bcoo_fromdense."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The BCOO array of a matrix of scipy.sparse. NotImplementedError for batch or dense axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense/n_batch: use update_layout on its result")
        mat = mat.tocoo()
        indices = jnp.column_stack((mat.row, mat.col)).astype(index_dtype or np.int32)
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCOO:
        """An array of zeros."""
        shape = tuple(shape)
        batch, sparse, dense = split_shape(shape, n_batch, n_dense)
        if min(n_dense, n_batch, nse) < 0 or n_dense + n_batch > len(shape):
            raise ValueError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}")
        indices = jnp.broadcast_to(jnp.asarray(sparse, index_dtype), (*batch, nse, len(sparse)))
        return cls((jnp.zeros((*batch, nse, *dense), dtype), indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", n_batch: int = 0,
             n_dense: int = 0) -> BCOO:
        """Ones on a diagonal."""
        size = max(0, min(N, M - k) if k >= 0 else min(N + k, M))
        row = jnp.arange(size, dtype=index_dtype) + max(0, -k)
        made = cls((jnp.ones(size, dtype), jnp.stack([row, row + k], -1)), shape=(N, M), indices_sorted=True,
                   unique_indices=True)
        if not (n_batch or n_dense):
            return made
        if n_batch > 2 or n_dense > 2 or n_batch + n_dense > 2:
            raise ValueError(f"eye: n_batch + n_dense must be at most 2, got {n_batch=}, {n_dense=}")
        nse = min(size, 1)
        if (n_batch, n_dense) != (1, 0):
            return bcoo_fromdense(jnp.eye(N, M, k, dtype), nse=size if n_dense + n_batch == 1 else nse, n_batch=n_batch,
                                  n_dense=n_dense, index_dtype=index_dtype)
        column = jnp.arange(N, dtype=index_dtype) + k
        mask = (column >= 0) & (column < M)
        return cls((mask[:, None].astype(made.dtype)[:, :nse], jnp.where(mask, column, M)[:, None, None][:, :nse]),
                   shape=(N, M), indices_sorted=True, unique_indices=True)

    def todense(self) -> Any:
        """The dense array."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with permuted axes: see bcoo_transpose."""
        perm = range(self.ndim)[::-1] if axes is None else [operator.index(a) % self.ndim for a in axes]
        return bcoo_transpose(self, permutation=tuple(perm))

    def sort_indices(self) -> BCOO:
        """The array with its elements in the order of their indices."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The array with the elements of equal indices added, without stored zeros if remove_zeros; its indices are sorted.

        nse: the number of elements of the result, which must be given while tracing: see bcoo_sum_duplicates.
        """
        return bcoo_eliminate_zeros(self, nse=nse) if remove_zeros else bcoo_sum_duplicates(self, nse=nse)

    def update_layout(self, *, n_batch: int | None = None, n_dense: int | None = None,
                      on_inefficient: str | None = "error") -> BCOO:
        """The same array with other numbers of batch and dense axes: see bcoo_update_layout."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


def _to_element(mat: BCOO, axis: int) -> BCOO:
    """One element of a batch: the buffers without a batch axis, the shape still with it."""
    return _with_shape(mat, mat.shape[:axis] + mat.shape[axis + 1:])


def _from_element(mat: BCOO, size: int, axis: int) -> BCOO:
    return _with_shape(mat, (*mat.shape[:axis], size, *mat.shape[axis:]))


def _with_shape(mat: BCOO, shape: Sequence[int]) -> BCOO:
    return BCOO.tree_unflatten(mat._info._replace(shape=tuple(shape)), mat._bufs)


def _checked_batch(mat: BCOO, axis: int) -> BCOO:
    """The array with whole buffers. ValueError unless axis is one of its batch axes."""
    if not 0 <= axis < mat.n_batch:
        raise ValueError(f"vmap of a BCOO array maps over batch axes, those below n_batch={mat.n_batch}, got axis {axis}; "
                         "update_layout(n_batch=...) makes others")
    return BCOO.tree_unflatten(mat._info, whole(mat.data, mat.indices, mat.shape))


register_mapped(BCOO, _checked_batch, _to_element, _from_element)


def like(mat: BCOO, data: Any, indices: Any = None, **changes: Any) -> BCOO:
    """An array with other buffers. changes: of shape, indices_sorted, unique_indices; with other indices, the promises of the
    old ones are not kept unless they are given."""
    info = mat._info if indices is None else SparseInfo(mat.shape)
    return BCOO((data, mat.indices if indices is None else indices), **info._replace(**changes)._asdict())


# ------------------------------------------------------------------------------------------------ conversions

def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCOO:
    """Compression of a dense array: its nonzero elements with their indices.

    Args:
      mat: the dense array.
      nse: the number of elements to store per batch; default: as many as needed, which must be known, so it is to be given
        inside of jit. Larger numbers are filled up with padding; with smaller ones, the last elements are dropped.
      n_batch, n_dense: numbers of axes that are batch or dense axes.
      index_dtype: of the indices.

    Raises:
      ValueError: the numbers of axes do not fit.

    >>> import numjet.numpy as jnp
    >>> bcoo_fromdense(jnp.eye(3)).indices.tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    mat = jnp.asarray(mat)
    check_fromdense(mat, n_batch, n_dense)
    count = static_nse(_count_stored_elements(mat, n_batch, n_dense) if nse is None else nse, "bcoo_fromdense")
    buffers = _bcoo_fromdense(mat, nse=count, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def _bcoo_fromdense(mat: Any, *, nse: Any, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32) -> Any:
    return tuple(bcoo_fromdense_p.bind(jnp.asarray(mat), nse=static_nse(nse, "bcoo_fromdense"), n_batch=n_batch,
                                       n_dense=n_dense, index_dtype=canonicalize_dtype(index_dtype)))


def bcoo_todense(mat: BCOO) -> Any:
    """The dense array of a BCOO array.

    >>> import numjet.numpy as jnp
    >>> bcoo_todense(bcoo_fromdense(jnp.array([0, 5]))).tolist()
    [0, 5]
    """
    return _bcoo_todense(mat.data, mat.indices, spinfo=mat._info)


def _bcoo_todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    return bcoo_todense_p.bind(jnp.asarray(data), jnp.asarray(indices), spinfo=spinfo)


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the positions that a BCOO array stores.

    Of elements of `sparr` with equal indices only the first gets one, so that the result's dense array has the elements of
    `arr`, unless the indices are assumed to be unique (default: as `sparr` promises). ValueError for another shape.

    >>> import numjet.numpy as jnp
    >>> bcoo_extract(bcoo_fromdense(jnp.eye(2)), jnp.array([[1, 2], [3, 4]])).data.tolist()
    [1, 4]
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"shape mismatch: {sparr.shape=} != {arr.shape=}")
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    return like(sparr, _bcoo_extract(sparr.indices, arr, assume_unique=unique))


def _bcoo_extract(indices: Any, arr: Any, *, assume_unique: bool = True) -> Any:
    return bcoo_extract_p.bind(jnp.asarray(indices), jnp.asarray(arr), assume_unique=assume_unique)


# ------------------------------------------------------------------------------------------------ order of the elements

def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The array with its elements in the lexicographic order of their indices.

    >>> import numjet.numpy as jnp
    >>> bcoo_sort_indices(BCOO((jnp.array([1, 2]), jnp.array([[3], [0]])), shape=(4,))).data.tolist()
    [2, 1]
    """
    data, indices = bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return like(mat, data, indices, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The array with the elements of equal indices added; its indices are sorted and unique.

    nse: the number of elements of the result. Default: as many as needed, which must be known, so it is to be given inside
    of jit. If it is larger, there is padding; if it is smaller, the elements with the largest indices are dropped.

    >>> import numjet.numpy as jnp
    >>> bcoo_sum_duplicates(BCOO((jnp.array([1, 2, 3]), jnp.array([[3], [0], [3]])), shape=(4,))).data.tolist()
    [2, 4]
    """
    if nse is None:
        nse = distinct(mat.indices, mat._sparse_shape).max(initial=0)
    data, indices = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info,
                                               nse=static_nse(nse, "bcoo_sum_duplicates"))
    return like(mat, data, indices, indices_sorted=True, unique_indices=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """As bcoo_sum_duplicates, without elements whose data are zero.

    >>> import numjet.numpy as jnp
    >>> bcoo_eliminate_zeros(BCOO((jnp.array([1, 0]), jnp.array([[3], [0]])), shape=(4,)))
    BCOO(int32[4], nse=1)
    """
    data, indices = whole(mat.data, mat.indices, mat.shape)
    if mat.n_sparse:
        indices = marked(indices, stored(data, mat.n_batch, mat.n_dense), mat._sparse_shape)
    return bcoo_sum_duplicates(like(mat, data, indices), nse)


def bcoo_set_nse(mat: BCOO, nse: int) -> BCOO:
    """The array with another number of elements: padding is added, or elements of the largest indices dropped.

    >>> import numjet.numpy as jnp
    >>> bcoo_set_nse(bcoo_fromdense(jnp.ones(2)), 4).indices.tolist()
    [[0], [1], [2], [2]]
    """
    return mat if nse == mat.nse else bcoo_sum_duplicates(mat, nse)


# ------------------------------------------------------------------------------------------------ axes

def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with permuted axes; batch, sparse and dense axes keep their kinds.

    ValueError for what is no permutation, NotImplementedError for one that mixes kinds: update_layout changes them.

    >>> import numjet.numpy as jnp
    >>> bcoo_transpose(bcoo_fromdense(jnp.array([[0, 1], [0, 0]])), permutation=(1, 0)).todense().tolist()
    [[0, 0], [1, 0]]
    """
    permutation = tuple(map(operator.index, permutation))
    if sorted(permutation) != list(range(mat.ndim)):
        raise ValueError(f"bcoo_transpose: permutation must be one of the axes 0 to {mat.ndim - 1}, got {permutation}")
    for name, count, front in (("batch", mat.n_batch, permutation[:mat.n_batch]),
                               ("dense", mat.n_dense, permutation[mat.ndim - mat.n_dense:])):
        start = 0 if name == "batch" else mat.ndim - count
        if sorted(front) != list(range(start, start + count)):
            raise NotImplementedError(f"transpose permutation cannot permute {name} axes with non-{name} axes; got permutation "
                                      f"{permutation}, with n_{name}={count}.")
    if permutation == tuple(range(mat.ndim)):
        return mat
    data, indices = bcoo_transpose_p.bind(mat.data, mat.indices, permutation=permutation, spinfo=mat._info)
    _, sparse, _ = split_shape(permutation, mat.n_batch, mat.n_dense)
    return like(mat, data, indices, shape=tuple(mat.shape[d] for d in permutation), unique_indices=mat.unique_indices,
                indices_sorted=mat.indices_sorted and sparse == tuple(sorted(sparse)))


def bcoo_update_layout(mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None,
                       on_inefficient: str | None = "error") -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Sparse axes that become batch or dense axes take memory as if dense; on_inefficient says what then happens: "error" raises
    SparseEfficiencyError, "warn" warns, None does neither. ValueError for numbers that do not fit.

    >>> import numjet.numpy as jnp
    >>> bcoo_update_layout(bcoo_fromdense(jnp.eye(2), n_batch=1), n_batch=0)
    BCOO(float32[2, 2], nse=2)
    """
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"{on_inefficient=}; expected one of ['error', 'warn', None].")
    batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if batch < 0 or dense < 0 or batch + dense > mat.ndim:
        raise ValueError(f"n_batch and n_dense must be at least 0; sum of n_batch={batch} and n_dense={dense} cannot be larger "
                         f"than mat.ndim={mat.ndim}.")
    _check_cost(mat, "n_dense", mat.n_dense, dense, mat.shape[mat.ndim - dense:mat.ndim - mat.n_dense], on_inefficient)
    _check_cost(mat, "n_batch", mat.n_batch, batch, mat.shape[mat.n_batch:batch], on_inefficient)
    while mat.n_dense > dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense < dense:
        mat = _sparse_to_dense(mat)
    while mat.n_batch < batch:
        mat = _sparse_to_batch(mat)
    return mat


def _check_cost(mat: BCOO, name: str, old: int, new: int, sizes: Sequence[int], on_inefficient: str | None) -> None:
    if new <= old or all(s <= 1 for s in sizes) or on_inefficient is None:
        return
    text = f"For matrix of shape {mat.shape}, increasing {name} from {old} to {new} results in inefficient storage."
    if on_inefficient == "error":
        raise SparseEfficiencyError(f"{text} To disable this error, set the on_inefficient argument of bcoo_update_layout to "
                                    "'warn' or None.")
    warnings.warn(text, SparseEfficiencyWarning, stacklevel=4)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The last batch axis becomes the first sparse one."""
    data, indices = whole(mat.data, mat.indices, mat.shape)
    n, size = mat.n_batch - 1, mat.shape[mat.n_batch - 1]
    if mat.n_sparse:  # padding stays padding
        mask = inside(indices, mat._sparse_shape)
    else:
        mask = jnp.ones(indices.shape[:-1], bool)
    column = jnp.broadcast_to(jnp.arange(size, dtype=indices.dtype)[:, None], mask.shape)
    column = jnp.where(mask, column, jnp.asarray(size, indices.dtype))
    indices = jnp.concatenate([column[..., None], indices], -1)
    merge = lambda x: x.reshape(*x.shape[:n], x.shape[n] * x.shape[n + 1], *x.shape[n + 2:])
    return like(mat, merge(data), merge(indices), unique_indices=mat.unique_indices)


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """The first dense axis becomes the last sparse one."""
    n, size = mat.n_batch, mat.shape[mat.ndim - mat.n_dense]
    front = (*mat.indices.shape[:-1], size)
    column = jnp.broadcast_to(jnp.arange(size, dtype=mat.indices.dtype), front)
    if mat.n_sparse:
        column = jnp.where(inside(mat.indices, mat._sparse_shape)[..., None], column, jnp.asarray(size, column.dtype))
    indices = jnp.concatenate([jnp.broadcast_to(mat.indices[..., None, :], (*front, mat.n_sparse)), column[..., None]], -1)
    merge = lambda x: x.reshape(*x.shape[:n], x.shape[n] * x.shape[n + 1], *x.shape[n + 2:])
    return like(mat, merge(mat.data), merge(indices), unique_indices=mat.unique_indices)


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The last sparse axis becomes the first dense one."""
    data, indices = whole(mat.data, mat.indices, mat.shape)
    n, size = mat.n_batch, mat._sparse_shape[-1]
    here = indices[..., -1:] == row(np.arange(size), indices)
    here = here.reshape(here.shape + (1,) * mat.n_dense)
    dense = jnp.where(here, jnp.expand_dims(data, n + 1), jnp.zeros((), data.dtype))
    if mat.n_sparse == 1:
        return like(mat, kept(dense, inside(indices, mat._sparse_shape)), indices[..., :-1])
    rest = marked(indices[..., :-1], inside(indices, mat._sparse_shape), mat._sparse_shape[:-1])
    return like(mat, dense, rest)


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """The first sparse axis becomes the last batch one."""
    data, indices = whole(mat.data, mat.indices, mat.shape)
    n, size = mat.n_batch, mat._sparse_shape[0]
    first = jnp.expand_dims(indices[..., 0], n)
    lane = jnp.arange(size, dtype=indices.dtype).reshape((1,) * n + (size, 1))
    here = (first == lane) & jnp.expand_dims(inside(indices, mat._sparse_shape), n)
    data = kept(jnp.broadcast_to(jnp.expand_dims(data, n), (*here.shape, *data.shape[n + 1:])), here)
    return like(mat, data, marked(jnp.expand_dims(indices[..., 1:], n), here, mat._sparse_shape[1:]),
                unique_indices=mat.unique_indices)
