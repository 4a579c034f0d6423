"""COO: a sparse matrix as the rows and columns of its elements."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo_buffers import bcoo_dot_general_p, bcoo_fromdense_p, bcoo_todense_p
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.util import SparseInfo, _count_stored_elements, product_dtype, static_nse
from numjet.foundation import tree
from numjet.foundation.dtypes import canonicalize_dtype


class COOInfo(NamedTuple):
    """The static part of a COO matrix."""
    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


def matrix_axes(what: str, axes: Sequence[int] | None) -> None:
    """NotImplementedError for a permutation that does not exchange the two axes."""
    if axes is not None and tuple(axes) not in ((1, 0), (-1, 0), (-1, -2), (1, -2)):
        raise NotImplementedError(f"{what}.transpose: axes must be (1, 0) or None, got {tuple(axes)}")


def contraction(transpose: bool) -> Any:
    """The dimension numbers of a matrix, or its transpose, times a vector or matrix."""
    return (((0 if transpose else 1,), (0,)), ((), ()))


def checked_operand(what: str, shape: Sequence[int], x: Any, rank: int, transpose: bool) -> Any:
    """The dense operand. ValueError for another rank or size."""
    x = jnp.asarray(x)
    inner = shape[0] if transpose else shape[1]
    if x.ndim != rank or x.shape[0] != inner:
        raise ValueError(f"{what}: the operand must have {rank} axes, the first of size {inner}, for a matrix of shape "
                         f"{tuple(shape)}{', transposed' if transpose else ''}; got shape {x.shape}")
    return x


@composed("coo_todense")
def coo_todense_p(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    """The dense matrix of a COO matrix."""
    return bcoo_todense_p.fun(data, jnp.stack([row, col], -1), spinfo=SparseInfo(spinfo.shape))


@composed("coo_fromdense", multiple=True)
def coo_fromdense_p(mat: Any, *, nse: int, index_dtype: Any) -> Any:
    """Data, rows and columns of the first `nse` nonzero elements."""
    data, indices = bcoo_fromdense_p.fun(mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype)
    return data, indices[:, 0], indices[:, 1]


def _product(data: Any, row: Any, col: Any, x: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    """The product of a COO matrix, or its transpose, with a dense vector or matrix."""
    return bcoo_dot_general_p.fun(data, jnp.stack([row, col], -1), x, dimension_numbers=contraction(transpose),
                                  preferred_element_type=product_dtype(data, x, None), lhs_spinfo=SparseInfo(spinfo.shape))


coo_matvec_p = composed("coo_matvec")(_product)
coo_matmat_p = composed("coo_matmat")(_product)


@tree.register_pytree_node_class
class COO(JAXSparse):
    """Coordinates: a matrix with the elements `data` in rows `row` and columns `col`.

    An experimental format with fewer functions than BCOO. Elements out of bounds are padding.

    >>> import numjet.numpy as jnp
    >>> (COO.fromdense(jnp.array([[0.0, 2.0]])) @ jnp.ones(2)).tolist()
    [2.0]
    """

    row: Any
    col: Any
    _buffers = ("data", "row", "col")
    _statics = ("shape", "_rows_sorted", "_cols_sorted")

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], rows_sorted: bool = False,
                 cols_sorted: bool = False):
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted
        super().__init__(args, shape=shape)
        if len(self.shape) != 2 or not self.data.ndim == 1 or not self.data.shape == self.row.shape == self.col.shape:
            raise ValueError(f"COO: data, row and col must be vectors of one size, and shape have two axes, got "
                             f"{self.data.shape}, {self.row.shape}, {self.col.shape} and {self.shape}")

    nse = property(lambda self: self.data.size, doc="The number of stored elements.")
    _info = property(lambda self: COOInfo(self.shape, self._rows_sorted, self._cols_sorted))

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The COO matrix of a dense one: see coo_fromdense."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """A matrix of zeros."""
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got shape={tuple(shape)}")
        none = jnp.empty(0, index_dtype)
        return cls((jnp.empty(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        """Ones on a diagonal."""
        row, col = diagonal(N, M, k, index_dtype)
        return cls((jnp.ones(row.size, dtype), row, col), shape=(N, M), rows_sorted=True, cols_sorted=True)

    def _sort_indices(self) -> COO:
        """The matrix with its elements in the order of rows, then columns."""
        order = jnp.lexsort((self.col, self.row))
        return COO((self.data[order], self.row[order], self.col[order]), shape=self.shape, rows_sorted=True)

    def todense(self) -> Any:
        """The dense matrix."""
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """The transposed matrix."""
        matrix_axes("COO", axes)
        return COO((self.data, self.col, self.row), shape=self.shape[::-1], rows_sorted=self._cols_sorted,
                   cols_sorted=self._rows_sorted)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            raise NotImplementedError("matmul between two sparse objects: BCOO has it.")
        data, other = promoted(self.data, other)
        self = COO((data, self.row, self.col), **self._info._asdict())
        return coo_matvec(self, other) if other.ndim == 1 else coo_matmat(self, other)


def promoted(data: Any, other: Any) -> tuple[Any, Any]:
    """Both in the dtype of their product."""
    other = jnp.asarray(other)
    dtype = jnp.promote_types(data.dtype, other.dtype)
    return data.astype(dtype), other.astype(dtype)


def diagonal(N: int, M: int, k: int, index_dtype: Any) -> tuple[Any, Any]:
    """The rows and columns of a diagonal."""
    size = max(0, min(N, M - k) if k >= 0 else min(N + k, M))
    row = jnp.arange(size, dtype=index_dtype) + max(0, -k)
    return row, row + k


def coo_todense(mat: COO) -> Any:
    """The dense matrix of a COO matrix.

    >>> import numjet.numpy as jnp
    >>> coo_todense(coo_fromdense(jnp.array([[0, 5]]))).tolist()
    [[0, 5]]
    """
    return _coo_todense(mat.data, mat.row, mat.col, spinfo=mat._info)


def _coo_todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return coo_todense_p.bind(*map(jnp.asarray, (data, row, col)), spinfo=spinfo)


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """Compression of a dense matrix to COO. nse: as in bcoo_fromdense.

    >>> import numjet.numpy as jnp
    >>> coo_fromdense(jnp.eye(2)).row.tolist()
    [0, 1]
    """
    mat = jnp.asarray(mat)
    count = static_nse(_count_stored_elements(mat) if nse is None else nse, "coo_fromdense")
    return COO(_coo_fromdense(mat, nse=count, index_dtype=index_dtype), shape=mat.shape, rows_sorted=True)


def _coo_fromdense(mat: Any, *, nse: Any, index_dtype: Any = np.int32) -> Any:
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(f"coo_fromdense: expected a matrix, got shape {mat.shape}")
    return tuple(coo_fromdense_p.bind(mat, nse=static_nse(nse, "coo_fromdense"), index_dtype=canonicalize_dtype(index_dtype)))


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, with a vector.

    >>> import numjet.numpy as jnp
    >>> coo_matvec(coo_fromdense(jnp.array([[0, 5]])), jnp.array([2]), transpose=True).tolist()
    [0, 10]
    """
    return _coo_matvec(mat.data, mat.row, mat.col, v, spinfo=mat._info, transpose=transpose)


def _coo_matvec(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool = False) -> Any:
    v = checked_operand("coo_matvec", spinfo.shape, v, 1, transpose)
    return coo_matvec_p.bind(*map(jnp.asarray, (data, row, col)), v, spinfo=spinfo, transpose=transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, with a dense matrix.

    >>> import numjet.numpy as jnp
    >>> coo_matmat(coo_fromdense(jnp.array([[0, 5]])), jnp.eye(2, dtype=int)).tolist()
    [[0, 5]]
    """
    return _coo_matmat(mat.data, mat.row, mat.col, B, spinfo=mat._info, transpose=transpose)


def _coo_matmat(data: Any, row: Any, col: Any, B: Any, *, spinfo: COOInfo, transpose: bool = False) -> Any:
    B = checked_operand("coo_matmat", spinfo.shape, B, 2, transpose)
    return coo_matmat_p.bind(*map(jnp.asarray, (data, row, col)), B, spinfo=spinfo, transpose=transpose)
