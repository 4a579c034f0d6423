"""Linear operators by their products with vectors, as SciPy's LinearOperator."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import linear_transpose
from numjet.api.vmap import vmap
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact

Product = Callable[[Any], Any]


class LinearOperator:
    """A matrix of a shape (rows, columns) that is given by its products with vectors. All solvers here take it as A or M.

    matvec: A v of a vector v, which may be traced. rmatvec: A^H u; by default the transpose of matvec, as programs are
    transposed. matmat: A V of a matrix; by default matvec of its columns, batched. dtype: of the operator, float by default.
    Operators are added, subtracted, scaled, multiplied (`A @ B`), and applied to vectors and matrices (`A @ v`, `A(v)`);
    `T` and `H` are the transpose and the adjoint. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> A = LinearOperator((2, 3), lambda v: jnp.stack([v[0] + v[2], 2 * v[1]]))
    >>> (A @ jnp.array([1.0, 2.0, 3.0])).tolist(), (A.T @ jnp.array([1.0, 1.0])).tolist()
    ([4.0, 4.0], [1.0, 2.0, 1.0])
    """

    ndim = 2

    def __init__(self, shape: tuple[int, int], matvec: Product, rmatvec: Product | None = None, matmat: Product | None = None,
                 dtype: Any = None) -> None:
        if len(shape) != 2 or any(int(n) != n or n < 0 for n in shape):
            raise ValueError(f"LinearOperator: expected a shape (rows, columns), got {shape!r}")
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = np.dtype(jnp.zeros(0, float).dtype if dtype is None else dtype)
        self._matvec, self._rmatvec, self._matmat = matvec, rmatvec, matmat

    def _applied(self, product: Product, v: Any, size: int, result: int) -> Any:
        v = jnp.asarray(v)
        if v.shape not in ((size,), (size, 1)):
            raise ValueError(f"dimension mismatch: an operator of the shape {self.shape} got a vector of the shape {v.shape}")
        out = jnp.asarray(product(v.reshape(-1)))
        if out.size != result:
            raise ValueError(f"LinearOperator: the product has the shape {out.shape}, expected ({result},)")
        return out.reshape((result,) if v.ndim == 1 else (result, 1))

    def matvec(self, x: Any) -> Any:
        """A x."""
        return self._applied(self._matvec, x, self.shape[1], self.shape[0])

    def rmatvec(self, x: Any) -> Any:
        """A^H x."""
        return self._applied(self._rmatvec or self._transposed, x, self.shape[0], self.shape[1])

    def _transposed(self, u: Any) -> Any:
        dtype = dtypes.common_dtype(self.dtype, u.dtype)
        like = ShapedArray((self.shape[1],), dtype, vma=aval_of(u).vma)
        product = lambda v: jnp.asarray(self._matvec(v)).reshape(-1).astype(dtype)
        (out,) = linear_transpose(product, like)(jnp.conj(u).astype(dtype))
        return jnp.conj(out)

    def matmat(self, x: Any) -> Any:
        """A X of a matrix X."""
        x = jnp.asarray(x)
        if x.ndim != 2 or x.shape[0] != self.shape[1]:
            raise ValueError(f"dimension mismatch: an operator of the shape {self.shape} got a matrix of the shape {x.shape}")
        return self._matmat(x) if self._matmat else vmap(self.matvec, 1, 1)(x)

    def __call__(self, x: Any) -> Any:
        return self @ x

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, LinearOperator):
            if self.shape[1] != x.shape[0]:
                raise ValueError(f"dimension mismatch: {self.shape} and {x.shape}")
            return LinearOperator((self.shape[0], x.shape[1]), lambda v: self.matvec(x.matvec(v)),
                                  lambda u: x.rmatvec(self.rmatvec(u)), dtype=dtypes.common_dtype(self.dtype, x.dtype))
        x = jnp.asarray(x)
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    dot = __matmul__

    def __add__(self, other: LinearOperator) -> LinearOperator:
        other = aslinearoperator(other)
        if self.shape != other.shape:
            raise ValueError(f"cannot add operators of the shapes {self.shape} and {other.shape}")
        return LinearOperator(self.shape, lambda v: self.matvec(v) + other.matvec(v),
                              lambda u: self.rmatvec(u) + other.rmatvec(u), dtype=dtypes.common_dtype(self.dtype, other.dtype))

    def __mul__(self, factor: Any) -> LinearOperator:
        return LinearOperator(self.shape, lambda v: factor * self.matvec(v), lambda u: jnp.conj(factor) * self.rmatvec(u),
                              dtype=dtypes.common_dtype(self.dtype, jnp.asarray(factor).dtype))

    __rmul__ = __mul__

    def __neg__(self) -> LinearOperator:
        return self * -1

    def __sub__(self, other: LinearOperator) -> LinearOperator:
        return self + -aslinearoperator(other)

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return LinearOperator((self.shape[1], self.shape[0]), self.rmatvec, self.matvec, dtype=self.dtype)

    adjoint = H

    @property
    def T(self) -> LinearOperator:
        """The transpose."""
        return LinearOperator((self.shape[1], self.shape[0]), lambda u: jnp.conj(self.rmatvec(jnp.conj(u))),
                              lambda v: jnp.conj(self.matvec(jnp.conj(v))), dtype=self.dtype)

    def __repr__(self) -> str:
        return f"<{self.shape[0]}x{self.shape[1]} LinearOperator with dtype={self.dtype}>"


def aslinearoperator(A: Any) -> LinearOperator:
    """A as a LinearOperator: one already, a matrix, or an object with a shape and a method for `@`. TypeError for others.

    >>> import numjet.numpy as jnp
    >>> aslinearoperator(jnp.eye(2)) @ jnp.array([1.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    if isinstance(A, LinearOperator):
        return A
    if hasattr(A, "ndim") and hasattr(A, "dtype") and hasattr(A, "__array__") or hasattr(A, "aval"):
        (matrix,) = promote_dtypes_inexact(array_arg("aslinearoperator", A))
        if matrix.ndim != 2:
            raise ValueError(f"aslinearoperator: expected a matrix, got the shape {matrix.shape}")
        times = lambda a, v: jnp.matmul(a, v, precision=Precision.HIGHEST)
        return LinearOperator(matrix.shape, lambda v: times(matrix, v), lambda u: times(jnp.conj(matrix.T), u),
                              lambda v: times(matrix, v), matrix.dtype)
    if hasattr(A, "shape") and hasattr(A, "__matmul__"):
        return LinearOperator(A.shape, lambda v: A @ v, dtype=getattr(A, "dtype", None))
    raise TypeError(f"aslinearoperator: expected a LinearOperator or a matrix, got {type(A).__name__}")
