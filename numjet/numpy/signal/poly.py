"""Polynomials as vectors of coefficients, the highest power first."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.scan import scan
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer
from numjet.lax.elementwise import arithmetic
from numjet.lax.indexing import slicing
from numjet.lax.linalg.eigen import eig
from numjet.lax.shape import create, join
from numjet.lax.shape.rearrange import broadcast_shapes
from numjet.numpy.contraction.dot import _times
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import (
    array_arg,
    check_arraylike,
    literal,
    promote_args,
    promote_args_inexact,
    promote_dtypes,
    strong_array,
    to_array,
)
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.shaping.joining import concatenate
from numjet.numpy.shaping.manipulation import atleast_1d, broadcast_to
from numjet.numpy.signal.calculus import convolve
from numjet.numpy.ufuncs.arithmetic import add, multiply, true_divide


def _padded(x: Any, size: int) -> Any:
    """Coefficients with zeros in front."""
    return join.pad(x, to_array(literal(0, x.dtype, x.weak_type)), [(size - x.shape[0], 0, 0)]) if x.shape[0] < size else x


def _same_degree(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    a, b = (atleast_1d(x) for x in promote_args(name, a1, a2))
    size = max(a.shape[0], b.shape[0])
    return _padded(a, size), _padded(b, size)


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> import numjet.numpy as jnp
    >>> polyadd(jnp.array([1, 2]), jnp.array([5])).tolist()
    [1, 7]
    """
    return arithmetic.add(*_same_degree("polyadd", a1, a2))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> import numjet.numpy as jnp
    >>> polysub(jnp.array([1, 2]), jnp.array([5])).tolist()
    [1, -3]
    """
    return arithmetic.sub(*_same_degree("polysub", a1, a2))


def _trimmed(name: str, x: Any) -> Any:
    """Coefficients without leading zeros, which must be known."""
    values = known(name, x, "how many leading zeros there are")
    found = np.nonzero(values)[0]
    return getitem(x, slice(int(found[0]) if found.size else x.shape[0] - 1, None))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials. trim_leading_zeros: as NumPy does; the values must be known.

    >>> import numjet.numpy as jnp
    >>> polymul(jnp.array([1, 2]), jnp.array([1, 3])).tolist()
    [1.0, 5.0, 6.0]
    """
    a, b = (atleast_1d(x) for x in promote_args_inexact("polymul", a1, a2))
    if trim_leading_zeros and (a.shape[0] > 1 or b.shape[0] > 1):
        a, b = _trimmed("polymul", a), _trimmed("polymul", b)
    if not a.shape[0]:
        a = create.full((1,), np.zeros((), b.dtype)[()])
    if not b.shape[0]:
        b = create.full((1,), np.zeros((), a.dtype)[()])
    return convolve(a, b, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of the division of polynomials.

    trim_leading_zeros: the remainder without zeros in front, where those count that rounding leaves (below the square root of
    the dtype's precision); the values must be known.

    >>> import numjet.numpy as jnp
    >>> [x.tolist() for x in polydiv(jnp.array([1.0, 5.0, 6.0]), jnp.array([1.0, 2.0]))]
    [[1.0, 3.0], [0.0, 0.0, 0.0]]
    """
    u, v = (atleast_1d(x) for x in promote_args_inexact("polydiv", u, v))
    m, n = u.shape[0] - 1, v.shape[0] - 1
    if m < n:
        q = create.full((1,), np.zeros((), u.dtype)[()])
    else:
        q, u = _long_division(u, v)
    return q, _without_rounding("polydiv", u) if trim_leading_zeros else u


@jit_when_eager()
def _long_division(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder, in the length of u. A window of u moves: its first coefficient, divided, is a digit."""
    leading, size = getitem(v, 0), v.shape[0]

    def step(window: Any, entering: Any) -> tuple[Any, tuple[Any, Any]]:
        digit = true_divide(getitem(window, 0), leading)
        rest = arithmetic.sub(window, _times(broadcast_to(digit, (1,)), v))
        following = join.concatenate([getitem(rest, slice(1, None)), broadcast_to(entering, (1,))], 0)
        return following, (digit, getitem(rest, 0))

    entering = join.concatenate([getitem(u, slice(size, None)), create.full((1,), np.zeros((), u.dtype)[()])], 0)
    last, (q, passed) = scan(step, getitem(u, slice(0, size)), entering)
    return q, join.concatenate([passed, getitem(last, slice(0, size - 1))], 0)


def _without_rounding(name: str, x: Any) -> Any:
    """A remainder without the leading coefficients that are 0 but for rounding; it may be empty."""
    values = known(name, x, "how many leading zeros there are")
    kept = np.nonzero(~(np.abs(values) <= np.sqrt(dtypes.finfo(x.dtype).eps)))[0]  # NaN is no rounding
    return getitem(x, slice(int(kept[0]) if kept.size else x.shape[0], None))


@jit_when_eager("unroll")
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of a polynomial at x, by Horner's rule. unroll: the number of coefficients per iteration. Coefficients p[k] may
    be arrays, which broadcast with x.

    >>> import numjet.numpy as jnp
    >>> polyval(jnp.array([1, 0, -2]), jnp.array([3, 4])).tolist()
    [7, 14]
    """
    check_arraylike("polyval", p, x)
    p, x = promote_dtypes(p, x)
    if not p.ndim:
        raise IndexError("jnp.polyval: p must have an axis, along which the coefficients lie; got a number")
    unroll = as_integer(unroll, "jnp.polyval: unroll")
    count, shape = p.shape[0], broadcast_shapes(p.shape[1:], x.shape)
    out = create.full(shape, np.zeros((), x.dtype)[()])
    if count > unroll:
        step = lambda y, c: (add(multiply(y, x), broadcast_to(c, shape)), None)
        return scan(step, out, p, unroll=unroll)[0]
    whole = x.dtype not in dtypes.INEXACT  # zero times infinity or NaN is NaN: the first step is like the others for floats
    for k in range(count):
        c = broadcast_to(getitem(p, k), shape)
        out = c if k == 0 and whole else add(multiply(out, x), c)
    return strong_array(out)


def _check_vector(name: str, p: Any) -> None:
    """NumPy's classes of errors: it takes the length of a scalar, and cannot broadcast the powers of a matrix."""
    if p.ndim != 1:
        raise (TypeError if p.ndim == 0 else ValueError)(
            f"jnp.{name}: expected a vector of coefficients, got shape {p.shape}; for many polynomials use vmap")


def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, m times.

    >>> import numjet.numpy as jnp
    >>> polyder(jnp.array([1, 0, -2])).tolist()
    [2.0, 0.0]
    """
    order = as_integer(m, "m, how often,")
    if order < 0:
        raise ValueError("Order of derivative must be positive")
    p, = promote_args_inexact("polyder", p)
    _check_vector("polyder", p)
    if order == 0:
        return p
    size = p.shape[0]
    if size <= order:
        return create.full((0,), np.zeros((), p.dtype)[()])
    powers = np.arange(size - 1, order - 1, -1, dtype=float)
    factors = np.prod([powers - i for i in range(order)], axis=0)
    return arithmetic.mul(slicing.slice_in_dim(p, 0, size - order), to_array(factors.astype(p.dtype)))


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of a polynomial, m times, with constants k (a number, or m of them; default 0).

    >>> import numjet.numpy as jnp
    >>> polyint(jnp.array([2.0, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    order = as_integer(m, "m, how often,")
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p, constants = promote_args_inexact("polyint", p, 0 if k is None else array_arg("polyint", k, 1))
    _check_vector("polyint", p)
    if order == 0:
        return p
    constants = atleast_1d(constants)
    constants = broadcast_to(constants, (order,)) if constants.shape == (1,) else constants
    if constants.shape != (order,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    size = p.shape[0]
    powers = np.arange(size + order - 1, -1, -1, dtype=float)
    factors = np.prod([np.maximum(powers - i, 1) for i in range(order)], axis=0)
    whole = concatenate([p, constants])
    return arithmetic.div(whole, to_array(factors.astype(whole.dtype)))


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with the given zeros, a vector, the first one 1; of a square matrix its
    characteristic polynomial, complex. ValueError for other shapes.

    >>> import numjet.numpy as jnp
    >>> poly(jnp.array([1.0, 2.0])).tolist()
    [1.0, -3.0, 2.0]
    """
    zeros = atleast_1d(promote_args_inexact("poly", array_arg("poly", seq_of_zeros))[0])
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros, = eig(zeros, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    if zeros.ndim != 1:
        raise ValueError(f"jnp.poly: input must be 1d or non-empty square 2d array. It is a vector of zeros or a matrix; got "
                         f"shape {zeros.shape}")
    if not zeros.shape[0]:
        return create.full((), np.ones((), zeros.dtype)[()])
    out, zero = (create.full((1,), zeros.dtype.type(n)) for n in (1, 0))
    for k in range(zeros.shape[0]):
        lower = arithmetic.mul(out, broadcast_to(slicing.slice_in_dim(zeros, k, k + 1), out.shape))
        first, rest = slicing.slice_in_dim(out, 0, 1), slicing.slice_in_dim(out, 1, k + 1)
        out = join.concatenate([first, arithmetic.sub(join.concatenate([rest, zero], 0), lower)], 0)
    return out


