"""Linear algebra on arrays: norms, products and powers of matrices; systems and factors are in `factorizations`.
Imports the other packages of `numpy`.
Add a function here or to `factorizations`.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import arithmetic, bitwise, compare, convert
from numjet.lax.shape import create, rearrange
from numjet.numpy.contraction import dot, products
from numjet.numpy.core import taped as _taped
from numjet.numpy.core.promotion import (
    array_arg, as_dtype, check_arraylike, literal, promote_args, promote_args_inexact, strong_array, to_array,
)
from numjet.numpy.linalg.factorizations import (
    EighResult as EighResult, EigResult as EigResult, QRResult as QRResult, SlogdetResult as SlogdetResult,
    SVDResult as SVDResult, by_singular_values, cholesky as cholesky, det as det, eig as eig, eigh as eigh, eigvals as eigvals,
    eigvalsh as eigvalsh, inv as inv, lstsq as lstsq, matrix_rank as matrix_rank, pinv as pinv, qr as qr, slogdet as slogdet,
    solve as solve, svd as svd, svdvals as svdvals, tensorinv as tensorinv, tensorsolve as tensorsolve,
)
from numjet.numpy.reduction.reductions import any as any_of, axes_of, max as largest, min as smallest, sum as total
from numjet.numpy.shaping.manipulation import matrix_transpose as matrix_transpose
from numjet.numpy.ufuncs.arithmetic import absolute, power, sqrt

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cond", "cross", "det",
    "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]

LinAlgError = np.linalg.LinAlgError   # raised for shapes; singular matrices give infinities or NaN
_COMPLEX = frozenset(dtypes.COMPLEX)


# -------------------------------------------------------------------------------------------- norms

def _length(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The square root of the sum of squares, of which float16 would not hold most that it holds the root of."""
    if x.dtype == np.float16:
        return as_dtype(_length(as_dtype(x, np.dtype(np.float32)), axes, keepdims), x.dtype)
    squares = arithmetic.mul(x, convert.conj(x)) if x.dtype in _COMPLEX else arithmetic.mul(x, x)
    squares = convert.real(squares) if x.dtype in _COMPLEX else squares
    return sqrt(total(squares, axes, keepdims=keepdims))


@jit_when_eager("ord", "axis", "keepdims")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors (one axis) or matrices (two axes).

    axis: None: all, and then ord=None flattens. ord: None: the root of the sum of squares; for vectors a number, inf, -inf, 0;
    for matrices "fro", 1, -1, 2, -2, inf, -inf, "nuc". At 0 the derivative of the root is NaN, as everywhere.

    >>> import numjet.numpy as jnp
    >>> float(norm(jnp.array([3.0, 4.0])))
    5.0
    """
    x, = promote_args_inexact("linalg.norm", x)
    axes = axes_of(axis, x.ndim)
    if ord is None and (axis is None or len(axes) in (1, 2)):
        return _length(x, axes, keepdims)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of axes for norm: {axes=}. Pass one axis to compute a vector-norm, or two axes to "
                     "compute a matrix-norm.")


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or (not hasattr(ord, "aval") and ord == 2):
        return _length(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order {ord!r} for vector norm.")
    size = absolute(x)
    if not hasattr(ord, "aval"):
        if ord == np.inf:
            return largest(size, axes, keepdims=keepdims, initial=0)
        if ord == -np.inf:
            return smallest(size, axes, keepdims=keepdims)
        if ord == 0:
            return total(compare.ne(x, np.zeros((), x.dtype)[()]), axes, dtype=size.dtype, keepdims=keepdims)
        if ord == 1:
            return total(size, axes, keepdims=keepdims)
    dtype = size.dtype
    if dtype == np.float16:  # as in _length
        size = as_dtype(size, np.dtype(np.float32))
    exponent = as_dtype(to_array(ord), size.dtype)
    one = literal(1.0, size.dtype)
    return as_dtype(power(total(power(size, exponent), axes, keepdims=keepdims), arithmetic.div(one, exponent)), dtype)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    rows, columns = axes
    if rows == columns:
        raise ValueError(f"Duplicate axes given: {axes}")
    if ord in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = total(absolute(x), summed, keepdims=True)
        out = largest(sums, other, keepdims=True, initial=0) if ord > 0 else smallest(sums, other, keepdims=True)
        return out if keepdims else rearrange.squeeze(out, axes)
    if ord in (2, -2, "nuc"):
        return by_singular_values(x, ord, (axes[0], axes[1]), keepdims)
    raise ValueError(f"Invalid order {ord!r} for matrix norm.")


def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices: |x| |x^-1| in the norm p; default: the ratio of the extreme singular values.

    >>> import numjet.numpy as jnp
    >>> float(cond(jnp.array([[2.0, 0.0], [0.0, 1.0]])))
    2.0
    """
    x, = promote_args_inexact("linalg.cond", x)
    if x.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}")
    if 0 in x.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}")
    if p in (None, 2, -2):
        s = svdvals(x)
        high, low = largest(s, axis=-1), smallest(s, axis=-1)
        return _infinite_if_broken(arithmetic.div(low, high), x) if p == -2 else arithmetic.div(high, low)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"jnp.linalg.cond: for p={p}, array must be square; got arr.shape={x.shape}")
    return _infinite_if_broken(arithmetic.mul(norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1))), x)


def _infinite_if_broken(condition: Any, x: Any) -> Any:
    """Condition numbers, infinite instead of NaN for matrices x without NaN."""
    given = any_of(compare.ne(x, x), axis=(-2, -1))
    broken = bitwise.bitwise_and(compare.ne(condition, condition), bitwise.bitwise_not(given))
    return compare.select(broken, create.full_like(condition, np.inf), condition)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along `axis` (an int, ints that are flattened, None: all axes); ord as of norm.

    >>> import numjet.numpy as jnp
    >>> float(vector_norm(jnp.array([[3.0], [4.0]])))
    5.0
    """
    x, = promote_args_inexact("linalg.vector_norm", x)
    axes = axes_of(axis, x.ndim)
    return _vector_norm(x, ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes; ord as of norm.

    >>> import numjet.numpy as jnp
    >>> float(matrix_norm(jnp.array([[3.0, 4.0]])))
    5.0
    """
    return norm(array_arg("linalg.matrix_norm", x), ord, (-2, -1), keepdims)


# -------------------------------------------------------------------------------------------- products

def matrix_power(a: Any, n: int) -> Any:
    """Square matrices to the power of an integer n, by repeated squaring; n < 0 inverts them.

    TypeError for matrices that are not square.

    >>> import numjet.numpy as jnp
    >>> matrix_power(jnp.array([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    a = array_arg("linalg.matrix_power", a)
    if a.ndim < 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise TypeError(f"Last 2 dimensions of the array must be square, got shape {a.shape}")
    try:
        count = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if count < 0:
        a, count = inv(a), -count
    if count == 0:
        return rearrange.broadcast_in_dim(to_array(np.eye(a.shape[-1], dtype=a.dtype)), a.shape, (a.ndim - 2, a.ndim - 1))
    out, square = None, a
    while count:
        count, odd = divmod(count, 2)
        if odd:
            out = square if out is None else dot.matmul(out, square)
        square = dot.matmul(square, square) if count else square
    return out


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of matrices in the cheapest order; the first and the last may be vectors.

    The order is that of the textbook's dynamic program (Cormen et al., Introduction to Algorithms, 15.2).

    >>> import numjet.numpy as jnp
    >>> multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)]).tolist()
    [12.0, 12.0]
    """
    given = list(arrays)
    check_arraylike("linalg.multi_dot", *given)
    if len(given) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(given)}")
    parts = promote_args("linalg.multi_dot", *given)
    for i, x in enumerate(parts):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(parts) - 1)):
            raise ValueError(f"multi_dot: input {i} must have two axes (the first and last one or two), got shape {x.shape}")
    sizes = [parts[0].shape[0] if parts[0].ndim == 2 else 1, *[x.shape[0] for x in parts[1:]],
             parts[-1].shape[1] if parts[-1].ndim == 2 else 1]
    cut = _cheapest_cuts(sizes)

    def multiply(i: int, j: int) -> Any:
        if i == j:
            return parts[i]
        k = cut[i, j]
        return dot.matmul(multiply(i, k), multiply(k + 1, j), precision=precision)
    return multiply(0, len(parts) - 1)


def _cheapest_cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """The best split of each chain i..j of matrices, of shapes (sizes[i], sizes[i + 1])."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            prices = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            cut[i, j] = min(prices, key=prices.__getitem__)
            cost[i, j] = prices[cut[i, j]]
    return cut


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of the vector x1 with one of x2. ValueError for other ranks.

    >>> import numjet.numpy as jnp
    >>> outer(jnp.arange(2), jnp.arange(2)).tolist()
    [[0, 0], [0, 1]]
    """
    a, b = promote_args("linalg.outer", x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are a.ndim={a.ndim} b.ndim={b.ndim}")
    return dot.outer(a, b)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 elements along `axis`. ValueError for other sizes.

    >>> import numjet.numpy as jnp
    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = promote_args("linalg.cross", x1, x2)
    if a.shape[as_axis(axis, a.ndim)] != 3 or b.shape[as_axis(axis, b.ndim)] != 3:
        raise ValueError(f"Both input arrays must be (arrays of) 3-dimensional vectors, but they have {a.shape[axis]} and "
                         f"{b.shape[axis]} dimensions instead.")
    return products.cross(a, b, axis=axis)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of matrices in the last two axes.

    >>> import numjet.numpy as jnp
    >>> trace(jnp.array([[1, 2], [3, 4]])).tolist()
    5
    """
    return products.trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of matrices in the last two axes.

    >>> import numjet.numpy as jnp
    >>> diagonal(jnp.array([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    return strong_array(products.diagonal(x, offset, -2, -1))


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The matrix product, as numjet.numpy.matmul.

    >>> import numjet.numpy as jnp
    >>> matmul(jnp.ones((2, 3)), jnp.ones(3)).tolist()
    [3.0, 3.0]
    """
    return dot.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products along `axis`, as numjet.numpy.vecdot.

    >>> import numjet.numpy as jnp
    >>> vecdot(jnp.ones((2, 3)), jnp.ones(3)).tolist()
    [3.0, 3.0]
    """
    return dot.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None,
              out_sharding: Any = None) -> Any:
    """Sums of products over axes, as numjet.numpy.tensordot.

    >>> import numjet.numpy as jnp
    >>> float(tensordot(jnp.ones((2, 3)), jnp.ones((2, 3))))
    6.0
    """
    return dot.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
                            out_sharding=out_sharding)




_taped.library(vars())
