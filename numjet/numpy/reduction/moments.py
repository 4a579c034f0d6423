"""Second moments of observations: cov, corrcoef."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import is_empty
from numjet.lax.elementwise import arithmetic, convert
from numjet.lax.elementwise.convert import size_constant
from numjet.lax.shape import create, rearrange
from numjet.numpy.contraction.dot import dot
from numjet.numpy.contraction.products import diagonal
from numjet.numpy.core.promotion import array_arg, as_dtype, check_arraylike, literal, promote_args_inexact, to_array
from numjet.numpy.indexing.where import clip
from numjet.numpy.reduction.reductions import sum as total
from numjet.numpy.shaping.joining import concatenate
from numjet.numpy.shaping.manipulation import atleast_2d, broadcast_to
from numjet.numpy.ufuncs.arithmetic import sqrt, true_divide


def _weights(name: str, weights: Any, count: int, dtype: np.dtype, integers: bool) -> Any:
    check_arraylike("cov", weights)
    w = to_array(weights)
    if integers and dtypes.kind(w.dtype) not in "iu":
        raise TypeError(f"{name} must be integer.")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}: expected a vector of {count} numbers, got shape {w.shape}")
    if w.shape != (count,):
        raise RuntimeError(f"incompatible numbers of samples and {name}: expected {count} numbers, got shape {w.shape}")
    return arithmetic.abs(as_dtype(w, dtype))


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
        aweights: Any = None, dtype: Any = None) -> Any:
    """The covariance matrix of variables: the rows of m (and y), with observations as columns; rowvar=False: the reverse.

    bias: divided by the number N of observations, not N - 1; ddof: by N - ddof. fweights: how often each observation
    counts; aweights: its relative importance.

    >>> import numjet.numpy as jnp
    >>> cov(jnp.array([[0.0, 2.0], [2.0, 0.0]])).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    if ddof is not None and int(ddof) != ddof:
        raise ValueError("ddof must be integer")
    x, *other = promote_args_inexact("cov", m, *(() if y is None else (y,)))
    if aweights is not None:
        x, *other, _ = promote_args_inexact("cov", x, *other, aweights)
    for name, v in zip("my", (x, *other), strict=False):
        if v.ndim > 2:
            raise ValueError(f"cov: {name} has more than 2 dimensions: expected at most two axes, got shape {v.shape}")
    if dtype is not None:
        wanted = dtypes.check_user_dtype(dtype, "cov")
        if not dtypes.issubdtype(wanted, np.inexact):
            raise ValueError(f"cov: dtype must be a subclass of float or complex; got dtype={dtype}")
        x, other = as_dtype(x, wanted), [as_dtype(v, wanted) for v in other]
    x = _variables(x, rowvar)
    if other:
        x = concatenate([x, _variables(other[0], rowvar)], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = x.shape[1]
    real = dtypes.to_floating_dtype(x.dtype)
    f = None if fweights is None else _weights("fweights", fweights, count, real, True)
    a = None if aweights is None else _weights("aweights", aweights, count, real, False)
    return _covariance(x, f, a, ddof, real)


def _covariance(x: Any, f: Any, a: Any, ddof: int, real: np.dtype) -> Any:
    if is_empty(x.shape[1]):  # the mean of no elements is NaN, while a product of empty arrays is 0
        side = x.shape[0]
        return create.full((side, side) if side != 1 else (), np.asarray(np.nan, x.dtype)[()])
    weights = f if a is None else a if f is None else arithmetic.mul(f, a)
    if weights is None:
        whole: Any = create.full((), size_constant(x.shape[1], real))
        average = true_divide(total(x, 1), as_dtype(whole, x.dtype))
        norm = arithmetic.sub(whole, literal(float(ddof), real))
    else:
        whole = total(weights)
        wide = broadcast_to(as_dtype(weights, x.dtype), x.shape)
        average = true_divide(total(arithmetic.mul(x, wide), 1), as_dtype(whole, x.dtype))
        used = whole if a is None else true_divide(total(arithmetic.mul(weights, a)), whole)
        norm = arithmetic.sub(whole, arithmetic.mul(literal(float(ddof), real), used if a is not None else literal(1.0, real)))
    x = arithmetic.sub(x, rearrange.broadcast_in_dim(average, x.shape, (0,)))
    y = x if weights is None else arithmetic.mul(x, broadcast_to(as_dtype(weights, x.dtype), x.shape))
    y = convert.conj(y) if y.dtype in dtypes.COMPLEX else y
    out = true_divide(dot(x, rearrange.transpose(y, (1, 0))), as_dtype(norm, x.dtype))
    return rearrange.reshape(out, ()) if out.shape == (1, 1) else out


def _variables(x: Any, rowvar: bool) -> Any:
    return rearrange.transpose(x, (1, 0)) if not rowvar and x.ndim == 2 else atleast_2d(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients of variables; arguments as of cov.

    >>> import numjet.numpy as jnp
    >>> corrcoef(jnp.array([[0.0, 2.0], [2.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    array_arg("corrcoef", x)
    if dtype is not None and dtypes.kind(dtypes.as_dtype(dtype)) not in "fc":
        raise ValueError(f"corrcoef: dtype must be a subclass of float or complex; got dtype={dtype}")
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return true_divide(c, c)
    deviations = sqrt(convert.real(diagonal(c)) if c.dtype in dtypes.COMPLEX else diagonal(c))
    deviations = as_dtype(deviations, c.dtype)
    c = true_divide(c, rearrange.broadcast_in_dim(deviations, c.shape, (0,)))
    c = true_divide(c, rearrange.broadcast_in_dim(deviations, c.shape, (1,)))
    if c.dtype in dtypes.COMPLEX:
        return convert.complex(clip(convert.real(c), -1, 1), clip(convert.imag(c), -1, 1))
    return clip(c, -1, 1)


