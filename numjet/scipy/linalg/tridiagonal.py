"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation import dtypes
from numjet.lax import linalg as lax_linalg
from numjet.numpy.core.promotion import array_arg


@jit_when_eager("eigvals_only", "select", "select_range", "tol", "key")
def eigh_tridiagonal(d: Any, e: Any, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[float, float] | None = None, tol: float | None = None, key: Any = None) -> Any:
    """Eigenvalues (ascending) of Hermitian tridiagonal matrices with diagonals d[..., n] and e[..., n - 1], and eigenvectors.

    eigvals_only: the values alone, by bisection with Sturm sequences (W. Barth, R. S. Martin, J. H. Wilkinson, "Calculation of
    the eigenvalues of a symmetric tridiagonal matrix by the method of bisection", 1967), without forming the matrices. select:
    "a" for all, "i" for those with the indices select_range[0] to select_range[1]. tol, key: accepted as hints; results are as
    accurate as the dtype allows, and no random numbers are needed. Differentiable. TypeError for dtypes that differ or have
    not 32 or 64 bits; NotImplementedError for select "v", whose number of results depends on the values.

    >>> import numjet.numpy as jnp
    >>> eigh_tridiagonal(jnp.array([2.0, 2.0]), jnp.array([1.0]), eigvals_only=True).round(4).tolist()
    [1.0, 3.0]
    """
    d, e = array_arg("eigh_tridiagonal", d), array_arg("eigh_tridiagonal", e, 1)
    _check(d, e)
    n = d.shape[-1]
    low, high = _range(select, select_range, n)
    if eigvals_only:
        squares = jnp.square(jnp.abs(e)) if jnp.iscomplexobj(e) else e * e
        return _eigenvalues(d.real, e if not jnp.iscomplexobj(e) else jnp.abs(e), squares)[..., low:high]
    values, vectors = jnp.linalg.eigh(_dense(d, e))
    return values[..., low:high], vectors[..., low:high]


def _check(d: Any, e: Any) -> None:
    if d.dtype != e.dtype:
        raise TypeError(f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}")
    if d.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError("Only float32 and float64 inputs are supported as inputs to jax.scipy.linalg.eigh_tridiagonal, got "
                        f"{d.dtype} and {e.dtype}")
    if d.ndim < 1 or e.shape != (*d.shape[:-1], max(d.shape[-1] - 1, 0)):
        raise TypeError(f"eigh_tridiagonal: expected d[..., n] and e[..., n - 1], got incompatible shapes {d.shape} "
                        f"and {e.shape}")


def _range(select: str, select_range: Any, n: int) -> tuple[int, int]:
    if select not in ("a", "i", "v"):
        raise ValueError(f"'select must have a value in {{'a', 'i', 'v'}}, got {select!r}.")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented: the number of results would depend on "
                                  "the values; select all and compare them with the bounds")
    if select == "a":
        return 0, n
    if select_range is None or len(select_range) != 2:
        raise ValueError(f"for select='i' select_range must be (first, last), got {select_range!r}")
    first, last = (int(k) for k in select_range)
    if not 0 <= first <= last < n:
        raise ValueError(f"select_range must be within 0 and {n - 1}, got {select_range}")
    return first, last + 1


def _dense(d: Any, e: Any) -> Any:
    n = d.shape[-1]
    place = lambda v, k: jnp.where(jnp.broadcast_to(np.eye(n, k=k, dtype=bool), (*d.shape, n)), v, jnp.zeros((), d.dtype))
    zero = jnp.zeros((*d.shape[:-1], min(n, 1)), d.dtype)
    below = jnp.concatenate([zero, e], -1)
    above = jnp.concatenate([jnp.conj(e), zero], -1)
    spread = lambda v: jnp.broadcast_to(v[..., :, None], (*d.shape, n))
    return place(spread(d), 0) + place(spread(below), -1) + place(spread(above), 1)


@custom_jvp
def _eigenvalues(d: Any, e: Any, squares: Any) -> Any:
    n = d.shape[-1]
    if n == 0:
        return d
    sizes = jnp.sqrt(squares)
    zero = jnp.zeros_like(d[..., :1])
    reach = jnp.concatenate([sizes, zero], -1) + jnp.concatenate([zero, sizes], -1)
    low, high = jnp.min(d - reach, -1, keepdims=True), jnp.max(d + reach, -1, keepdims=True)
    span = jnp.maximum(jnp.abs(low), jnp.abs(high))
    info = dtypes.finfo(d.dtype)
    low, high = (v + s * (2 * float(info.eps) * span + float(info.tiny)) for v, s in ((low, -1), (high, 1)))
    index = jnp.broadcast_to(jnp.arange(n, dtype=np.int32), d.shape)

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        left, right = bounds
        middle = left + 0.5 * (right - left)
        above = _count_below(d, squares, middle) <= index
        return jnp.where(above, middle, left), jnp.where(above, right, middle)

    start = (jnp.broadcast_to(low, d.shape), jnp.broadcast_to(high, d.shape))
    left, right = fori_loop(0, info.nmant + 6, halve, start)
    return 0.5 * (left + right)


def _count_below(d: Any, squares: Any, x: Any) -> Any:
    """The number of eigenvalues below each x: of negative terms in its Sturm sequence."""
    smallest = float(dtypes.finfo(d.dtype).tiny) * jnp.maximum(jnp.max(squares, -1, keepdims=True, initial=1.0), 1.0)
    rows = (jnp.moveaxis(d, -1, 0), jnp.concatenate([jnp.zeros_like(d[None, ..., 0]), jnp.moveaxis(squares, -1, 0)]))

    def step(state: tuple[Any, Any], row: tuple[Any, Any]) -> tuple[tuple[Any, Any], None]:
        before, count = state
        term = row[0][..., None] - x - row[1][..., None] / before
        term = jnp.where(jnp.abs(term) < smallest, -smallest, term)
        return (term, count + (term < 0).astype(np.int32)), None

    return scan(step, (jnp.ones_like(x), jnp.zeros(x.shape, np.int32)), rows)[0][1]


@_eigenvalues.defjvp
def _eigenvalues_jvp(primals: Any, tangents: Any) -> Any:
    d, e, squares = primals
    dd, de, _ = tangents
    vectors = lax_linalg.eigh(_dense(d, e))[0]
    change = jnp.sum(jnp.square(vectors) * dd[..., :, None], -2)
    change = change + jnp.sum(2 * vectors[..., :-1, :] * vectors[..., 1:, :] * de[..., :, None], -2)
    return _eigenvalues(d, e, squares), change
