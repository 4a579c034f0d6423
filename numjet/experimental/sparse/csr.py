"""CSR and CSC: a sparse matrix by compressed rows, or columns."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcsr import bcsr_dot_general_p, bcsr_fromdense_p, bcsr_todense_p
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.coo import checked_operand, contraction, diagonal, matrix_axes, promoted
from numjet.experimental.sparse.util import SparseInfo, _count_stored_elements, product_dtype, static_nse
from numjet.foundation import tree
from numjet.foundation.dtypes import canonicalize_dtype


@composed("csr_todense")
def csr_todense_p(data: Any, indices: Any, indptr: Any, *, shape: tuple[int, ...]) -> Any:
    """The dense matrix of a CSR matrix."""
    return bcsr_todense_p.fun(data, indices, indptr, spinfo=SparseInfo(shape))


@composed("csr_fromdense", multiple=True)
def csr_fromdense_p(mat: Any, *, nse: int, index_dtype: Any) -> Any:
    """Data, columns and starts of rows of the first `nse` nonzero elements."""
    return bcsr_fromdense_p.fun(mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype)


def _product(data: Any, indices: Any, indptr: Any, x: Any, *, shape: tuple[int, ...], transpose: bool) -> Any:
    """The product of a CSR matrix, or its transpose, with a dense vector or matrix."""
    return bcsr_dot_general_p.fun(data, indices, indptr, x, dimension_numbers=contraction(transpose),
                                  preferred_element_type=product_dtype(data, x, None), lhs_spinfo=SparseInfo(shape))


csr_matvec_p = composed("csr_matvec")(_product)
csr_matmat_p = composed("csr_matmat")(_product)


class _Compressed(JAXSparse):
    """A matrix by compressed rows (CSR) or columns (CSC)."""

    indices: Any
    indptr: Any
    _buffers = ("data", "indices", "indptr")

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]):
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        rows = self._row_shape[0] if len(self.shape) == 2 else None
        if rows is None or self.data.ndim != 1 or self.data.shape != self.indices.shape or self.indptr.shape != (rows + 1,):
            raise ValueError(f"{type(self).__name__}: data and indices must be vectors of one size, and indptr have one "
                             f"element more than there are {'columns' if isinstance(self, CSC) else 'rows'}, "
                             f"got {self.data.shape}, {self.indices.shape}, {self.indptr.shape} for shape {self.shape}")

    nse = property(lambda self: self.data.size, doc="The number of stored elements.")
    _row_shape = property(lambda self: self.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> Any:
        """A matrix of zeros."""
        if len(shape) != 2:
            raise ValueError(f"{cls.__name__} must have ndim=2; got shape={tuple(shape)}")
        rows = shape[1] if cls is CSC else shape[0]
        return cls((jnp.empty(0, dtype), jnp.empty(0, index_dtype), jnp.zeros(rows + 1, index_dtype)), shape=shape)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            raise NotImplementedError("matmul between two sparse objects: BCOO has it.")
        data, other = promoted(self.data, other)
        product = _csr_matvec if other.ndim == 1 else _csr_matmat
        return product(data, self.indices, self.indptr, other, shape=self._row_shape, transpose=isinstance(self, CSC))


@tree.register_pytree_node_class
class CSR(_Compressed):
    """Compressed rows: a matrix with the elements `data` in columns `indices`, those of row i from indptr[i] to indptr[i + 1].

    An experimental format with fewer functions than BCSR.

    >>> import numjet.numpy as jnp
    >>> (CSR.fromdense(jnp.array([[0.0, 2.0]])) @ jnp.ones(2)).tolist()
    [2.0]
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The CSR matrix of a dense one: see csr_fromdense."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:
        """Ones on a diagonal."""
        row, col = diagonal(N, M, k, index_dtype)
        indptr = jnp.searchsorted(row, jnp.arange(N + 1)).astype(index_dtype)
        return cls((jnp.ones(row.size, dtype), col, indptr), shape=(N, M))

    def todense(self) -> Any:
        """The dense matrix."""
        return csr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """The transposed matrix, by columns."""
        matrix_axes("CSR", axes)
        return CSC(self._bufs, shape=self.shape[::-1])


@tree.register_pytree_node_class
class CSC(_Compressed):
    """Compressed columns: the transpose of CSR.

    >>> import numjet.numpy as jnp
    >>> (CSC.fromdense(jnp.array([[0.0, 2.0]])) @ jnp.ones(2)).tolist()
    [2.0]
    """

    _row_shape = property(lambda self: self.shape[::-1])

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The CSC matrix of a dense one."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:
        """Ones on a diagonal."""
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).T

    def todense(self) -> Any:
        """The dense matrix."""
        return csr_todense(self.T).T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transposed matrix, by rows."""
        matrix_axes("CSC", axes)
        return CSR(self._bufs, shape=self.shape[::-1])


def csr_todense(mat: CSR) -> Any:
    """The dense matrix of a CSR matrix.

    >>> import numjet.numpy as jnp
    >>> csr_todense(csr_fromdense(jnp.array([[0, 5]]))).tolist()
    [[0, 5]]
    """
    return _csr_todense(*mat._bufs, shape=mat.shape)


def _csr_todense(data: Any, indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    return csr_todense_p.bind(*map(jnp.asarray, (data, indices, indptr)), shape=tuple(shape))


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """Compression of a dense matrix to CSR. nse: as in bcoo_fromdense.

    >>> import numjet.numpy as jnp
    >>> csr_fromdense(jnp.eye(2)).indptr.tolist()
    [0, 1, 2]
    """
    mat = jnp.asarray(mat)
    count = static_nse(_count_stored_elements(mat) if nse is None else nse, "csr_fromdense")
    return CSR(_csr_fromdense(mat, nse=count, index_dtype=index_dtype), shape=mat.shape)


def _csr_fromdense(mat: Any, *, nse: Any, index_dtype: Any = np.int32) -> Any:
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(f"csr_fromdense: expected a matrix, got shape {mat.shape}")
    return tuple(csr_fromdense_p.bind(mat, nse=static_nse(nse, "csr_fromdense"), index_dtype=canonicalize_dtype(index_dtype)))


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, with a vector.

    >>> import numjet.numpy as jnp
    >>> csr_matvec(csr_fromdense(jnp.array([[0, 5]])), jnp.array([2]), transpose=True).tolist()
    [0, 10]
    """
    return _csr_matvec(mat.data, mat.indices, mat.indptr, v, shape=mat.shape, transpose=transpose)


def _csr_matvec(data: Any, indices: Any, indptr: Any, v: Any, *, shape: Sequence[int], transpose: bool = False) -> Any:
    v = checked_operand("csr_matvec", shape, v, 1, transpose)
    return csr_matvec_p.bind(*map(jnp.asarray, (data, indices, indptr)), v, shape=tuple(shape), transpose=transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, with a dense matrix.

    >>> import numjet.numpy as jnp
    >>> csr_matmat(csr_fromdense(jnp.array([[0, 5]])), jnp.eye(2, dtype=int)).tolist()
    [[0, 5]]
    """
    return _csr_matmat(mat.data, mat.indices, mat.indptr, B, shape=mat.shape, transpose=transpose)


def _csr_matmat(data: Any, indices: Any, indptr: Any, B: Any, *, shape: Sequence[int], transpose: bool = False) -> Any:
    B = checked_operand("csr_matmat", shape, B, 2, transpose)
    return csr_matmat_p.bind(*map(jnp.asarray, (data, indices, indptr)), B, shape=tuple(shape), transpose=transpose)
