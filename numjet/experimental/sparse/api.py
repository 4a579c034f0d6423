"""Functions of all sparse formats."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo import BCOO
from numjet.experimental.sparse.bcsr import BCSR
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.coo import COO
from numjet.experimental.sparse.csr import CSC, CSR
from numjet.foundation import tree as pytrees

_FORMATS: dict[str, Any] = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


@composed("todense")
def todense_p(*bufs: Any, tree: Any) -> Any:
    """The dense array of a sparse one, or of a dense one, with these buffers."""
    arr = pytrees.tree_unflatten(tree, bufs)
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


def todense(arr: Any) -> Any:
    """The dense array of a sparse one. Dense arrays are given back, so it fits functions for sparsify.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> sparse.todense(sparse.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not isinstance(arr, (JAXSparse, Tracer)):
        return jnp.asarray(arr)
    bufs, tree = pytrees.tree_flatten(arr)
    return todense_p.bind(*bufs, tree=tree)


def _format(name: str) -> Any:
    if name not in _FORMATS:
        raise ValueError(f"sparse_format={name!r} not recognized; must be one of {list(_FORMATS)}")
    return _FORMATS[name]


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any) -> Any:
    """A sparse array of zeros.

    sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc". kwds: of the format: n_batch, n_dense, nse. ValueError for another
    format, or a shape that it does not have.

    >>> empty((2, 3), sparse_format="csr")
    CSR(float32[2, 3], nse=0)
    """
    return _format(sparse_format)._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo",
        **kwds: Any) -> Any:
    """A sparse matrix with ones on a diagonal, as jnp.eye gives.

    sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc". kwds: of the format: n_batch, n_dense. ValueError for another format.

    >>> eye(2, 3, k=1).indices.tolist()
    [[0, 1], [1, 2]]
    """
    rows = operator.index(N)
    columns = rows if M is None else operator.index(M)
    made = _format(sparse_format)
    if made is BCSR:
        return BCSR.from_bcoo(BCOO._eye(rows, columns, k, dtype=dtype, index_dtype=index_dtype, **kwds))
    return made._eye(rows, columns, operator.index(k), dtype=dtype, index_dtype=index_dtype, **kwds)
