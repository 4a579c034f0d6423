"""Matrix functions: exponential, square root, polar factors."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.branches.cond import cond
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax import linalg as lax_linalg
from numjet.lax.elementwise.arithmetic import mul_p
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.elementwise.convert import as_dtype
from numjet.lax.linalg import lu_factors, matrix as mx
from numjet.lax.operands import real_dtype
from numjet.lax.shape import rearrange
from numjet.numpy.contraction.dot import matmul
from numjet.numpy.core.creation import arange
from numjet.numpy.core.promotion import promote_args_inexact, strong_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import where
from numjet.numpy.reduction import reductions
from numjet.numpy.ufuncs.arithmetic import absolute, ceil, sqrt
from numjet.numpy.ufuncs.logic import maximum
from numjet.numpy.ufuncs.transcendental import log2
from numjet.scipy.linalg.arguments import inexact
from numjet.transforms.jvp import jvp_flat

# Higham 2005, "The scaling and squaring method for the matrix exponential revisited": coefficients of the Pade numerators of
# degree 7 and 13 (b_k = (2m-k)! m! / ((2m)! k! (m-k)!), scaled), and the 1-norms up to which they are exact to rounding.
_PADE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE_13 = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
            10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_SINGLE = (3.925724783138660, _PADE_7)
_DOUBLE = (5.371920351148152, _PADE_13)


@jit_when_eager("upper_triangular", "max_squarings")
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The matrix exponential of A[..., n, n], by a Pade approximant with scaling and squaring.

    max_squarings: matrices that would need more (of a norm above some 2 ** max_squarings) give NaN. upper_triangular: A is
    upper triangular.

    >>> import numjet.numpy as jnp
    >>> expm(jnp.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    (A,) = promote_args_inexact("scipy.linalg.expm", A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={A.shape}.")
    if not A.size:
        return A
    mx.check_matrix("expm", aval_of(A))     # before a number of squarings is found that halves cannot hold
    limit, coefficients = _DOUBLE if real_dtype(A.dtype) == dtypes.float64 else _SINGLE
    norm = reductions.max(reductions.sum(absolute(stop_gradient(A)), axis=-2), axis=-1)
    count = ceil(log2(maximum(norm / limit, 1)))  # no infinity on the way, which `jax_debug_infs` would report
    tall = lambda v: rearrange.expand_dims(v, (v.ndim, v.ndim + 1))
    out = _pade(mul_p.bind(A, _broadcast(as_dtype(2.0 ** -tall(count), A.dtype), A.shape)), coefficients, upper_triangular)

    def square(x: Any, step: Any) -> tuple[Any, None]:
        wanted = step < count
        squared = lambda x: where(tall(wanted), matmul(x, x), x)
        return cond(reductions.any(wanted), squared, lambda x: x, x), None
    out, _ = scan(square, out, arange(max_squarings, dtype=count.dtype))
    return where(tall(count > max_squarings), np.nan, out)


def _broadcast(x: Any, target: tuple[int, ...]) -> Any:
    return mx.broadcast_in_dim_p.bind(x, shape=target, broadcast_dimensions=tuple(range(len(target))))


def _pade(a: Any, b: tuple[float, ...], upper_triangular: bool) -> Any:
    """The approximant (V - U)^-1 (V + U): U holds the odd powers, V the even ones."""
    square = matmul(a, a)
    power = mx.eye(a.shape, a.dtype)
    odd, even = mx.scaled(power, b[1]), mx.scaled(power, b[0])
    for k in range(2, len(b), 2):
        power = matmul(power, square)
        odd, even = odd + mx.scaled(power, b[k + 1]), even + mx.scaled(power, b[k])
    odd = matmul(a, odd)
    if upper_triangular:
        return lax_linalg.triangular_solve(even - odd, even + odd, left_side=True)
    return lu_factors.solve(even - odd, even + odd)


@jit_when_eager("method", "compute_expm")
def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """The matrix exponential of A and its derivative in the direction E; without compute_expm only that.

    >>> import numjet.numpy as jnp
    >>> expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False).tolist()
    [[1.0]]
    """
    A, E = inexact("expm_frechet", A, E)
    if A.ndim < 2 or A.shape != E.shape:
        raise ValueError(f"expm_frechet expects square matrices of one shape, got {A.shape} and {E.shape}")
    (value,), (change,) = jvp_flat(lambda x: [expm(x)], [A], [E])
    return (value, change) if compute_expm else change


@jit_when_eager("blocksize")
def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a square matrix, complex: Bjorck and Hammarling 1983, by the Schur form. No derivative.

    >>> import numjet.numpy as jnp
    >>> sqrtm(4 * jnp.eye(2)).real.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    (A,) = promote_args_inexact("scipy.linalg.sqrtm", A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"sqrtm expects one square matrix, got shape {A.shape}; use vmap for batches")
    A = as_dtype(A, dtypes.common_dtype(A.dtype, dtypes.complex64))
    if not A.size:
        return A
    t, z = lax_linalg.schur(A)
    roots = sqrt(mx.diagonal(t))
    start = mx.scale_rows(roots, mx.eye(t.shape, t.dtype))

    def column(j: Any, root: Any) -> Any:
        return fori_loop(0, j, lambda k, u: _element(t, roots, j - 1 - k, j, u), root)
    root = fori_loop(0, A.shape[0], column, start)
    return matmul(matmul(z, root), mx.mH(z))


def _element(t: Any, roots: Any, i: Any, j: Any, u: Any) -> Any:
    """One element of the root; elements not yet computed are zero, so that whole rows may be multiplied."""
    total = reductions.sum(getitem(u, (i,)) * getitem(u, (slice(None), j)))
    divisor = getitem(roots, (i,)) + getitem(roots, (j,))
    difference = getitem(t, (i, j)) - total
    return u.at[i, j].set(where(difference == 0, 0, difference / divisor))


def polar(a: Any, side: str = "right", *, method: str = "qdwh", eps: Any = None, max_iterations: Any = None) -> tuple[Any, Any]:
    """The polar factors (u, p): a = u p (side "right") or a = p u ("left"), with orthonormal u and positive p; by the
    singular values, whatever method is named.

    >>> import numjet.numpy as jnp
    >>> u, p = polar(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> p.round(3).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    a = strong_array(*inexact("polar", a))
    if a.ndim < 2:
        raise ValueError(f"polar: expected matrices a[..., m, n], got an array of shape {a.shape}")
    u, s, vh = lax_linalg.svd(a, full_matrices=False)
    p = matmul(mx.scale_columns(mx.mH(vh), s), vh) if side == "right" else matmul(mx.scale_columns(u, s), mx.mH(u))
    return matmul(u, vh), p
