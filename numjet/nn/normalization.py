"""Softmax, logsumexp and relatives; standardization."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.lax.elementwise import arithmetic, bits, transcendental
from numjet.numpy.core.promotion import as_dtype, promote_args_inexact
from numjet.numpy.reduction.reductions import split_names

Axis = int | str | tuple[int | str, ...] | None


def _inexact(name: str, x: Any) -> Any:
    return promote_args_inexact(name, x)[0]


def _beside_infinity(name: str, x: Any, where: Any) -> Any:
    """x as floats. With a mask integers are those beside the number -inf: with 64 bits float64, as in where(mask, x, -inf)."""
    return _inexact(name, x) if where is None else promote_args_inexact(name, x, -np.inf)[0]


def _booleans_beside_infinity(name: str, x: Any, where: Any) -> Any:
    """As _beside_infinity for Booleans; integers are floats before the mask is applied."""
    return _beside_infinity(name, x, where if dtypes.result_type(x) == dtypes.bool_ else None)


def _spread(x: Any, *beside: Any) -> Any:
    """x of the shape that it has together with the masks and weights beside it, so that axes are those of all of them."""
    shape = jnp.broadcast_shapes(x.shape, *(jnp.shape(other) for other in beside if other is not None))
    return x if shape == x.shape else jnp.broadcast_to(x, shape)


_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)  # float16: sums of 2**16 exponentials, or cotangents, overflow


# -------------------------------------------------------------------------------------------- logsumexp

def _finite_top(a: Any, axis: Axis, where: Any) -> Any:
    """The largest element (of complex numbers: real part), 0 where it is infinite; without derivative, axes kept."""
    real = jnp.real(a) if a.dtype in dtypes.COMPLEX else a
    top = jnp.max(real, axis=axis, keepdims=True, where=where, initial=-np.inf)
    return bits.stop_gradient(jnp.where(jnp.isfinite(top), top, 0))


def _scaled_sum(a: Any, axis: Axis, b: Any, where: Any) -> tuple[Any, Any]:
    """The sum of b exp(a - top) and top."""
    if b is not None:
        a = jnp.where(b != 0, a, -np.inf)
    if where is not None:
        a = jnp.where(where, a, -np.inf)  # what is left out must not overflow, or its derivative is NaN
    top = _finite_top(a, axis, where)
    terms = jnp.exp(a - as_dtype(top, a.dtype))
    if b is not None:
        terms = b * terms
    return jnp.sum(terms, axis=axis, keepdims=True, where=where), top


@jit_when_eager("axis", "keepdims", "return_sign")
def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False,
              where: Any = None) -> Any:
    """log(sum(b exp(a))) over axes, without overflow; -inf for an empty or all -inf row.

    b: weights that broadcast with a; weights 0 leave their terms out. where: mask of the terms. return_sign: gives the
    logarithm of the sum's absolute value, and its sign. Without it a negative sum gives NaN.

    >>> import numjet.numpy as jnp
    >>> round(float(logsumexp(jnp.array([1000.0, 1000.0]))), 2)
    1000.69
    """
    if b is not None:
        a, b = promote_args_inexact("logsumexp", a, b)
    else:
        a = _booleans_beside_infinity("logsumexp", a, where)
    a = _spread(a, b, where)
    if a.dtype == _HALF:
        wide = logsumexp(as_dtype(a, _SINGLE), axis, b if b is None else as_dtype(b, _SINGLE), keepdims, return_sign, where)
        return tuple(as_dtype(v, _HALF) for v in wide) if return_sign else as_dtype(wide, _HALF)
    total, top = _scaled_sum(a, axis, b, where)
    sign = None
    if return_sign:
        sign = jnp.sign(total)
        total = abs(total)
    if where is None:
        out = jnp.log(total) + as_dtype(top, total.dtype)
    else:  # the logarithm of an empty sum has no derivative, not NaN
        some = _any(jnp.broadcast_to(where, a.shape), axis)
        out = jnp.where(some, jnp.log(jnp.where(some, total, 1)) + as_dtype(top, total.dtype), -np.inf)
    if not keepdims:
        out, sign = _dropped(out, a.ndim, axis), sign if sign is None else _dropped(sign, a.ndim, axis)
    return (out, sign) if return_sign else out


def _any(mask: Any, axis: Axis) -> Any:
    """Whether the mask holds anywhere along the axes, which are kept; unlike jnp.any over named axes, too."""
    return jnp.max(jnp.asarray(mask, bool), axis=axis, keepdims=True, initial=False)


def _dropped(x: Any, ndim: int, axis: Axis) -> Any:
    """x without its reduced axes, which have size 1."""
    return jnp.sum(x, axis=split_names(axis, ndim)[0]) if ndim else x


@jit_when_eager("axis", "keepdims")
def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over axes, without overflow.

    >>> import numjet.numpy as jnp
    >>> float(logmeanexp(jnp.array([1000.0, 1000.0])))
    1000.0
    """
    x = _spread(_booleans_beside_infinity("logmeanexp", x, where), where)
    if x.dtype == _HALF:
        return as_dtype(logmeanexp(as_dtype(x, _SINGLE), axis, where, keepdims), _HALF)
    ones = jnp.ones_like(x)
    count = jnp.sum(ones, axis=axis, keepdims=keepdims, where=where)
    return logsumexp(x, axis=axis, where=where, keepdims=keepdims) - jnp.log(count)


# -------------------------------------------------------------------------------------------- softmax

def _masked(x: Any, where: Any) -> Any:
    """x with -inf where the mask is false: what is left out must not overflow, or its derivative is NaN."""
    return x if where is None else jnp.where(where, x, -np.inf)


def _plain_softmax(x: Any, axis: Axis, where: Any) -> Any:
    x = _masked(x, where)
    top = bits.stop_gradient(jnp.max(x, axis=axis, keepdims=True, where=where, initial=-np.inf))
    weights = jnp.exp(x - top)
    out = weights / jnp.sum(weights, axis=axis, keepdims=True, where=where)
    return out if where is None else jnp.where(where, out, 0)


def _softmax_rule(axis: Axis, primals: Any, tangents: Any) -> Any:
    y = _softmax(*primals, axis)
    kept = (lambda v: v) if primals[1] is None else (lambda v: jnp.where(primals[1], v, 0))
    t = y * kept(tangents[0])
    return y, kept(t - y * jnp.sum(t, axis=axis, keepdims=True))    # what is left out has slopes of 0, also beside NaN


def _softmax_fun(x: Any, where: Any, axis: Axis) -> Any:
    return _plain_softmax(x, axis, where)


_softmax = custom_jvp(_softmax_fun, nondiff_argnums=(2,))
_softmax.defjvp(_softmax_rule)


@jit_when_eager("axis")
def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over axes, without overflow. NaN for rows of -inf.

    where: mask of the elements; the others become 0.

    >>> import numjet.numpy as jnp
    >>> softmax(jnp.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    x = _spread(_beside_infinity("softmax", x, where), where)
    if config.softmax_custom_jvp:
        return _softmax(x, where, axis)
    return _plain_softmax(x, axis, where)


@jit_when_eager("axis")
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """log(softmax(x)): x - logsumexp(x), accurate; where: mask of the elements, the others become -inf.

    >>> import numjet.numpy as jnp
    >>> log_softmax(jnp.array([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """
    x = _spread(_beside_infinity("log_softmax", x, where), where)
    if x.dtype == _HALF:
        return as_dtype(log_softmax(as_dtype(x, _SINGLE), axis, where), _HALF)
    top = jnp.max(x, axis=axis, keepdims=True, where=where, initial=-np.inf)
    if where is not None:
        # Elements that do not count are zeros in all that follows, so that no derivative is infinite there: exp of them
        # overflows, and the maximum of a row without elements is -inf.
        x = jnp.where(where, x, 0)
        some = _any(jnp.broadcast_to(where, x.shape), axis)
        top = jnp.where(some, top, 0)
    shifted = x - bits.stop_gradient(top)
    total = jnp.sum(jnp.exp(shifted), axis=axis, keepdims=True, where=where)
    out = shifted - transcendental.log(total if where is None else jnp.where(some, total, 1))
    return out if where is None else jnp.where(where, out, -np.inf)


# -------------------------------------------------------------------------------------------- standardize

@jit_when_eager("axis", "algorithm")
def standardize(x: Any, axis: Axis = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5, where: Any = None, *,
                algorithm: str = "fast") -> Any:
    """(x - mean) / sqrt(variance + epsilon) over axes.

    mean, variance: default those of x. algorithm: 'fast' computes the variance as mean(x²) - mean(x)², 'stable' from
    the differences to the mean, which is more accurate. ValueError for others.

    >>> import numjet.numpy as jnp
    >>> [round(float(v), 3) for v in standardize(jnp.array([1.0, 3.0]))]
    [-1.0, 1.0]
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: expected algorithm 'fast' or 'stable', got {algorithm!r}")
    x = _inexact("standardize", x)
    kept = x if where is None else jnp.where(where, x, 0)  # what is left out must not overflow, or its derivative is NaN
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None and algorithm == "fast":
        variance = jnp.mean(jnp.square(kept), axis, keepdims=True, where=where) - jnp.square(mean)
        variance = jnp.maximum(variance, 0)
    elif variance is None:
        variance = jnp.mean(jnp.square(abs(kept - mean)), axis, keepdims=True, where=where)
    return (x - mean) * arithmetic.rsqrt(variance + epsilon)


