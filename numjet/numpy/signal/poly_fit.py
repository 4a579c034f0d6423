"""Roots of polynomials, and polynomials through points: roots, polyfit."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import as_dtype, check_arraylike, promote_args_inexact, to_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.linalg.factorizations import eigvals, inv, lstsq
from numjet.numpy.reduction.reductions import sum as total
from numjet.numpy.shaping.manipulation import atleast_1d
from numjet.numpy.shaping.repeating import roll
from numjet.numpy.signal.calculus import vander
from numjet.numpy.ufuncs.arithmetic import sqrt

# -------------------------------------------------------------------------------------------- roots

def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of a polynomial with coefficients p, the highest power first: the eigenvalues of its companion matrix.

    strip_zeros: leading zeros, which must be known, lower the degree. False, for jit: they give NaN at the end. ValueError
    for other ranks than 1.

    >>> import numjet.numpy as jnp
    >>> roots(jnp.array([1.0, -3.0, 2.0])).real.round(3).tolist()
    [2.0, 1.0]
    """
    p = atleast_1d(promote_args_inexact("roots", p)[0])
    if p.ndim != 1:
        raise ValueError(f"Input must be a rank-1 array: roots got shape {p.shape}.")
    return _known_degree(p) if strip_zeros and p.shape[0] > 1 else _any_degree(p)


def _known_degree(p: Any) -> Any:
    """Without leading zeros; the roots at 0, for which trailing zeros stand, come last."""
    found = np.nonzero(known("roots", p, "how many leading zeros there are (pass strip_zeros=False under jit)"))[0]
    if not found.size:
        return _zeros(0, p)
    inner = getitem(p, slice(int(found[0]), int(found[-1]) + 1))
    return join.concatenate([_by_eigenvalues(inner), _zeros(p.shape[0] - 1 - int(found[-1]), p)], 0)


def _any_degree(p: Any) -> Any:
    """Leading zeros go to the end, where they are roots at 0: rows of zeros below, whose eigenvalues LAPACK gives last."""
    n = p.shape[0]
    if n < 2:
        return _zeros(0, p)
    nonzero = compare.ne(p, np.zeros((), p.dtype)[()])
    leading = n - total(_ever(nonzero), dtype=np.int32)
    values = eigvals(_companion(roll(p, arithmetic.neg(leading))).T)
    real = compare.lt(create.iota(np.int32, n - 1), arithmetic.sub(np.int32(n - 1), leading))
    return choose_by("roots", real, values, np.asarray(np.nan + 1j * np.nan, values.dtype)[()])


def _ever(mask: Any) -> Any:
    """Whether the mask held at a position or before it."""
    from_first = compare.ge(create.broadcasted_iota(np.int32, mask.shape * 2, 0),
                            create.broadcasted_iota(np.int32, mask.shape * 2, 1))
    seen = rearrange.broadcast_in_dim(mask, mask.shape * 2, (1,)) & from_first
    return total(seen, 1) > 0


def _zeros(count: int, like: Any) -> Any:
    return create.full((count,), np.zeros((), dtypes.common_dtype(like.dtype, np.complex64))[()])


def _by_eigenvalues(p: Any) -> Any:
    return eigvals(_companion(p)) if p.shape[0] > 1 else _zeros(0, p)


def _companion(p: Any) -> Any:
    n = p.shape[0] - 1
    first_row = arithmetic.neg(arithmetic.div(getitem(p, slice(1, None)), rearrange.broadcast_in_dim(getitem(p, 0), (n,), ())))
    below = convert.convert_dtype(np.eye(n - 1, n, dtype=np.float32), p.dtype)
    return join.concatenate([rearrange.expand_dims(first_row, (0,)), below], 0)


# -------------------------------------------------------------------------------------------- fits

def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
            cov: Any = False) -> Any:
    """The polynomial of degree `deg` through points (x, y), by least squares: its coefficients, the highest power first.

    x: [m]. y: [m] or [m, k], k polynomials. rcond: singular values of the scaled powers of x below rcond times the largest
    count as zero (default: m times machine epsilon). w: [m], weights of y - p(x). full: also residuals, rank, singular
    values and rcond. cov: also the covariance of the coefficients, scaled by the residuals, or "unscaled". TypeError for
    other shapes, ValueError for deg < 0 and for fewer points than a covariance needs.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(5.0)
    >>> polyfit(x, 2 * x + 1, 1).round(3).tolist()
    [2.0, 1.0]
    """
    check_arraylike("polyfit", x, y)
    order = as_integer(deg, "jnp.polyfit: deg") + 1
    if order < 1:
        raise ValueError(f"expected deg >= 0, got {deg}")
    x, y = promote_args_inexact("polyfit", x, y)
    _check_points(x, y)
    left, right = vander(x, order), y
    if w is not None:
        left, right = _weighted(left, right, w)
    scale = sqrt(total(arithmetic.mul(left, left), 0))
    scaled = arithmetic.div(left, rearrange.broadcast_in_dim(scale, left.shape, (1,)))
    limit = x.shape[0] * float(dtypes.finfo(x.dtype).eps) if rcond is None else rcond
    solution, residuals, rank, singular = lstsq(scaled, right, limit)
    coefficients = arithmetic.div(solution, rearrange.broadcast_in_dim(scale, solution.shape, (0,)))
    if full:
        return coefficients, residuals, rank, singular, as_dtype(to_array(limit), singular.dtype, True)
    if isinstance(cov, str) or cov:
        return coefficients, _covariance(scaled, scale, residuals, x.shape[0], y.ndim, cov)
    return coefficients


def _check_points(x: Any, y: Any) -> None:
    if x.ndim != 1:
        raise TypeError(f"expected 1D vector for x, got shape {x.shape}")
    if not x.size:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError(f"expected 1D or 2D array for y, got shape {y.shape}")
    if x.shape[0] != y.shape[0]:
        raise TypeError(f"expected x and y to have same length, got {x.shape[0]} and {y.shape[0]}")


def _weighted(left: Any, right: Any, w: Any) -> tuple[Any, Any]:
    check_arraylike("polyfit", w)
    weights = as_dtype(to_array(w), left.dtype)
    if weights.ndim != 1:
        raise TypeError(f"expected a 1-d array for weights, got shape {weights.shape}")
    if weights.shape[0] != right.shape[0]:
        raise TypeError(f"expected w and y to have the same length, got {weights.shape[0]} and {right.shape[0]}")
    along_rows = lambda like: rearrange.broadcast_in_dim(weights, like.shape, (0,))
    return arithmetic.mul(left, along_rows(left)), arithmetic.mul(right, along_rows(right))


def _covariance(scaled: Any, scale: Any, residuals: Any, points: int, ndim: int, cov: Any) -> Any:
    """(A^T A)^-1 without the scaling; times the residuals per degree of freedom, unless cov is "unscaled"."""
    order = scaled.shape[1]
    outer = arithmetic.mul(*(rearrange.broadcast_in_dim(scale, (order, order), (d,)) for d in (0, 1)))
    base = arithmetic.div(inv(scaled.T @ scaled), outer)
    factor: Any = None
    if not isinstance(cov, str) or cov != "unscaled":
        if points <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix: polyfit got "
                             f"{points} points for {order} coefficients")
        factor = as_dtype(arithmetic.div(residuals, np.asarray(points - order, residuals.dtype)[()]), base.dtype)
    if ndim == 1:
        return base if factor is None else arithmetic.mul(base, rearrange.broadcast_in_dim(getitem(factor, 0), base.shape, ()))
    whole = (order, order, 1 if factor is None else residuals.shape[0])
    spread = rearrange.broadcast_in_dim(base, whole, (0, 1))
    return spread if factor is None else arithmetic.mul(spread, rearrange.broadcast_in_dim(factor, whole, (2,)))
