"""NumPy's conversions and questions that JAX leaves out, for immutable arrays that are stored row by row."""
from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.elementwise import convert
from numjet.lax.shape import rearrange
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import array_arg
from numjet.numpy.indexing.subscript import getitem

_HELD = frozenset(("C", "C_CONTIGUOUS", "CONTIGUOUS", "A", "ALIGNED", "O", "OWNDATA", "E", "ENSUREARRAY"))
_REFUSED = {"F": "arrays are stored row by row", "W": "arrays are immutable"}


def asanyarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None) -> Any:
    """As asarray: arrays have no subclasses.

    >>> asanyarray([1, 2]).tolist()
    [1, 2]
    """
    return asarray(a, dtype, order, copy=copy, device=device)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """As asarray, with at least one axis: arrays are always contiguous.

    >>> ascontiguousarray(3).tolist()
    [3]
    """
    out = asarray(a, dtype)
    return out if out.ndim else rearrange.reshape(out, (1,))


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """NotImplementedError: arrays are stored row by row. asarray takes any layout; what reads columns fast is the transpose.

    >>> asfortranarray([[1, 2]])
    Traceback (most recent call last):
    NotImplementedError: asfortranarray: ...
    """
    raise NotImplementedError("asfortranarray: arrays are stored row by row; use jnp.asarray, and keep the transpose where "
                              "columns are to be neighbours in memory")


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """TypeError: arrays are immutable. `jnp.where(where, src, dst)` and `dst.at[...].set(src)` make new ones.

    >>> import numjet.numpy as jnp
    >>> copyto(jnp.ones(2), 0.0)
    Traceback (most recent call last):
    TypeError: copyto: ...
    """
    raise TypeError("copyto: numjet arrays are immutable; use dst = dst.at[...].set(src), or dst = jnp.where(where, src, dst)")


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """The indices of all elements of an array of this shape, row by row: lengths, or one tuple of them.

    >>> list(ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    return iter(np.ndindex(*(operator.index(n) for n in lengths)))


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """As asarray; ValueError for infinities and NaNs. The values must be known.

    >>> asarray_chkfinite([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    out = asarray(a, dtype, order)
    if dtypes.issubdtype(out.dtype, np.inexact) and not np.isfinite(known("asarray_chkfinite", out, "what is checked")).all():
        raise ValueError("array must not contain infs or NaNs")
    return out


def require(a: Any, dtype: Any = None, requirements: str | Sequence[str] | None = None) -> Any:
    """As asarray; requirements that arrays always meet ("C", "A", "O", "E"). ValueError for "F" and "W".

    >>> require([1, 2], "float32", ["C"]).dtype.name
    'float32'
    """
    for given in (requirements,) if isinstance(requirements, str) else requirements or ():
        name = given.upper()
        if name[0] in _REFUSED:
            raise ValueError(f"require: the requirement {given!r} cannot be met, as {_REFUSED[name[0]]}")
        if name not in _HELD:
            raise ValueError(f"require: expected requirements among 'C', 'A', 'O' and 'E', got {given!r}")
    return asarray(a, dtype)


def isfortran(a: Any) -> bool:
    """Whether an array is stored column by column: never.

    >>> import numjet.numpy as jnp
    >>> isfortran(jnp.ones((2, 3)).T)
    False
    """
    array_arg("isfortran", a)
    return False


def shares_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Whether two arrays are the same memory, which nobody can notice: arrays are immutable.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(3)
    >>> shares_memory(x, x), shares_memory(x, x + 0)
    (True, False)
    """
    return np.shares_memory(np.asarray(a), np.asarray(b))


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """As shares_memory.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(3)
    >>> may_share_memory(x, x + 1)
    False
    """
    return shares_memory(a, b)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part, where all imaginary parts are less than `tol` machine epsilons; else a. The values must be known.

    tol: up to 1 it is no factor but the limit itself.

    >>> import numjet.numpy as jnp
    >>> real_if_close(jnp.array([1 + 1e-9j])).dtype.name
    'float32'
    """
    a = array_arg("real_if_close", a)
    if a.dtype not in dtypes.COMPLEX:
        return a
    limit = tol * float(dtypes.finfo(a.dtype).eps) if tol > 1 else tol
    close = (np.abs(known("real_if_close", a, "whether the imaginary parts matter").imag) < limit).all()
    return convert.real(a) if close else a


def common_type(*arrays: Any) -> Any:
    """The scalar type of the floats or complex numbers to which arrays promote. TypeError for arrays of bool.

    >>> import numjet.numpy as jnp
    >>> common_type(jnp.arange(2), jnp.ones(2, "float16")).__name__
    'float16'
    """
    found = [aval_of(array_arg("common_type", x, i)).dtype for i, x in enumerate(arrays)]
    if any(dtype == np.bool_ for dtype in found):
        raise TypeError("common_type: can't get common type for non-numeric array: bool is no number")
    return dtypes.to_inexact_dtype(dtypes.result_type(*found)).type if found else np.float16


def min_scalar_type(a: Any, /) -> np.dtype:
    """The smallest dtype that holds the value of rank 0, as numpy.min_scalar_type; for arrays their dtype.

    >>> min_scalar_type(300).name
    'uint16'
    """
    return np.min_scalar_type(known("min_scalar_type", a, "which dtype holds it") if not np.ndim(a) else a.dtype)


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Pairs of an index and the element there, row by row.

    >>> import numjet.numpy as jnp
    >>> [(i, int(v)) for i, v in ndenumerate(jnp.array([[1, 2]]))]
    [((0, 0), 1), ((0, 1), 2)]
    """
    arr = array_arg("ndenumerate", arr)
    for index in np.ndindex(arr.shape):
        yield index, getitem(arr, index)
