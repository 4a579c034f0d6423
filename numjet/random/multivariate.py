"""Normal vectors of a given covariance, and random orthogonal matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.contraction.dot import dot_general
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.linalg import cholesky, eigh, matrix, qr, svd
from numjet.lax.reduction.reduce import reduce_max
from numjet.lax.shape import create, rearrange as shapes
from numjet.numpy.core.promotion import broadcast_to, promote_args_inexact
from numjet.random import basic
from numjet.random.arguments import as_float, float_dtype, inexact_dtype, placed, shape_of
from numjet.random.compiled import compiled
from numjet.random.key_bits import Shape, single

# -------------------------------------------------------------------------------------------- factorizations

def _matvec(a: Any, x: Any) -> Any:
    """a[..., i, j] x[..., j]."""
    batch = tuple(range(a.ndim - 2))
    return dot_general(a, x, (((a.ndim - 1,), (x.ndim - 1,)), (batch, batch)))


def _adjoint(a: Any) -> Any:
    flipped = shapes.transpose(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
    return convert.conj(flipped) if a.dtype in dtypes.COMPLEX else flipped


def _by_cholesky(a: Any) -> Any:
    return cholesky(a, symmetrize_input=False)


def _orthonormalize(a: Any) -> Any:
    """Q of a[..., n, m] = Q R, n >= m, with R's diagonal positive, without which Q depends on the algorithm."""
    q, r = qr(a, full_matrices=False)
    diagonal = matrix.diagonal(r)
    ones = create.full_like(diagonal, 1)
    return matrix.scale_columns(q, compare.select(compare.eq(diagonal, 0), ones, arithmetic.sign(diagonal)))


def _scaled(vectors: Any, squares: Any) -> Any:
    """Columns times the roots of their squared lengths, of which tiny negative ones are rounded zeros; NaN for others."""
    last = squares.ndim - 1
    largest = shapes.expand_dims(reduce_max(abs(squares), (last,)), (last,))
    rounding = largest * (-squares.shape[-1] * float(dtypes.finfo(squares.dtype).eps))
    zeros = create.full_like(squares, 0)
    rounded = (squares < 0) & (squares >= broadcast_to(rounding, squares.shape))
    lengths = compare.select(rounded, zeros, arithmetic.sqrt(squares))
    return vectors * broadcast_to(shapes.expand_dims(lengths, (lengths.ndim - 1,)), vectors.shape)


def _by_eigenvectors(a: Any) -> Any:
    vectors, values = eigh(a)
    return _scaled(vectors, values)


def _by_singular_vectors(a: Any) -> Any:
    left, values, _ = svd(a)
    return _scaled(left, values)


_FACTORS = {"cholesky": _by_cholesky, "eigh": _by_eigenvectors, "svd": _by_singular_vectors}


# -------------------------------------------------------------------------------------------- samplers

@compiled
def _multivariate_normal(key: Any, mean: Any, cov: Any, *, shape: Shape, dtype: np.dtype, method: str) -> Any:
    wide = _width(dtypes.result_type(mean, cov), dtype)
    mean, cov = as_float(mean, wide), as_float(cov, wide)
    factor = _FACTORS[method]((cov + _adjoint(cov)) / 2)
    size = mean.shape[-1]
    noise = as_float(basic.normal(key, (*shape, size), dtype), wide)
    factor = broadcast_to(factor, (*shape, size, size)) if factor.ndim > 2 else factor
    if factor.ndim == 2:
        spread = dot_general(noise, factor, (((noise.ndim - 1,), (1,)), ((), ())))
    else:
        spread = _matvec(factor, noise)
    vectors = broadcast_to(mean, (*shape, size)) + spread
    return vectors if wide in dtypes.COMPLEX else as_float(vectors, dtype)


def _width(given: np.dtype, dtype: np.dtype) -> np.dtype:
    """The dtype to compute in: `dtype`, but no half, which has no factorizations; complex for complex parameters."""
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    return dtypes.result_type(wide, np.complex64) if given in dtypes.COMPLEX else wide


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky", *,
                        out_sharding: Any = None) -> Any:
    """Normal vectors of mean[..., n] and covariance cov[..., n, n]; shape: of the batch, default theirs;
    dtype: that of the noise, default the float that mean and cov promote to. Vectors of a complex mean or cov are complex.

    method: the factorization of cov: 'cholesky' (fast; NaN where cov is not positive definite), 'eigh' (NaN where it has
    negative eigenvalues) or 'svd', which take singular ones. ValueError for other methods and for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> multivariate_normal(random.key(0), jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), (3,)).shape
    (3, 2)
    """
    found = float_dtype("multivariate_normal", dtype or promote_args_inexact("multivariate_normal", mean, cov)[0].dtype)
    if method not in _FACTORS:
        raise ValueError(f"method must be one of {tuple(_FACTORS)}, got {method!r}")
    first, second = np.shape(mean), np.shape(cov)
    _check_shapes(first, second)
    batch = shapes.broadcast_shapes(first[:-1], second[:-2])
    target = batch if shape is None else shape_of("multivariate_normal", shape)
    if shapes.broadcast_shapes(target, batch) != target:
        raise ValueError(f"multivariate_normal: expected mean and cov of batch shapes that broadcast to shape={target}, got "
                         f"{first[:-1]} and {second[:-2]}")
    vectors = _multivariate_normal(single("multivariate_normal", key), mean, cov, shape=target, dtype=found, method=method)
    return placed(vectors, out_sharding)


def _check_shapes(mean: Shape, cov: Shape) -> None:
    if not mean:
        raise ValueError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0")
    if len(cov) < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {len(cov)}")
    if cov[-2:] != (mean[-1], mean[-1]):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={mean[-1]}, but got cov.shape == {cov}.")


@compiled
def _orthogonal(key: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    *batch, n, m = shape
    noise = basic.normal(key, (*batch, max(n, m), min(n, m)), dtype)
    q = convert.convert_element_type(_orthonormalize(as_float(noise, _width(dtype, dtype))), dtype)
    return q if n >= m else shapes.transpose(q, (*range(q.ndim - 2), q.ndim - 1, q.ndim - 2))


def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None) -> Any:
    """Random matrices (*shape, n, m) with orthonormal columns (or rows, if n < m), uniform over all of them; m: default n.

    Source: Mezzadri, "How to generate random matrices from the classical compact groups", 2007.

    >>> from numjet import random
    >>> q = orthogonal(random.key(0), 3)
    >>> bool(abs((q[0] * q[1]).sum()) < 1e-5)
    True
    """
    found = inexact_dtype("orthogonal", dtype)
    target = (*shape_of("orthogonal", shape), *shape_of("orthogonal", (n, n if m is None else m)))
    return placed(_orthogonal(single("orthogonal", key), shape=target, dtype=found), out_sharding)


