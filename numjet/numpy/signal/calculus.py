"""Differences, derivatives, integrals and convolutions of samples."""
from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_integer, largest, smallest
from numjet.lax.axes import as_axis
from numjet.lax.contraction.conv_functions import conv_general_dilated
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.reduction import cumulative
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.contraction.dot import _times
from numjet.numpy.core.promotion import (
    array_arg,
    as_dtype,
    check_arraylike,
    literal,
    promote_args_inexact,
    promote_dtypes,
    to_array,
)
from numjet.numpy.reduction.reductions import axes_of, sum as total
from numjet.numpy.shaping.joining import concatenate
from numjet.numpy.shaping.manipulation import broadcast_to, ravel
from numjet.numpy.shaping.repeating import flip

_FEW_POWERS = 64  # which the equations of vander multiply one by one

# -------------------------------------------------------------------------------------------- differences

@jit_when_eager("n", "axis")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along `axis`, n times. prepend, append: values put before and after first.

    >>> import numjet.numpy as jnp
    >>> diff(jnp.array([1, 4, 9])).tolist()
    [3, 5]
    """
    a = array_arg("diff", a)
    n = as_integer(n, "jnp.diff: n")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    dim = as_axis(axis, a.ndim)
    parts = [_slab(prepend, a, dim), a, _slab(append, a, dim)]
    if prepend is not None or append is not None:
        a = concatenate([p for p in parts if p is not None], axis=dim)
    size = a.shape[dim]
    for _ in range(n if isinstance(size, Dimension) else min(n, size)):
        size = a.shape[dim]
        after = slicing.slice_in_dim(a, smallest(1, size), size, axis=dim)
        before = slicing.slice_in_dim(a, 0, largest(size - 1, 0), axis=dim)
        a = compare.ne(after, before) if a.dtype == np.bool_ else arithmetic.sub(after, before)
    return a


def _slab(value: Any, a: Any, dim: int) -> Any:
    if value is None:
        return None
    value = array_arg("diff", value)
    return broadcast_to(value, [1 if d == dim else n for d, n in enumerate(a.shape)]) if value.ndim == 0 else value


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the flattened array, with to_begin before and to_end after them.

    >>> import numjet.numpy as jnp
    >>> ediff1d(jnp.array([1, 4, 9]), to_begin=0).tolist()
    [0, 3, 5]
    """
    ary = ravel(array_arg("ediff1d", ary))
    if ary.dtype == np.bool_:
        raise TypeError("jnp.ediff1d: bools have no differences; convert them to integers, or use jnp.diff")
    parts = [diff(ary) if ary.size else ary]
    for position, value, front in ((1, to_begin, True), (0, to_end, False)):
        if value is not None:
            extra = as_dtype(ravel(array_arg("ediff1d", value, position)), ary.dtype)
            parts = [extra, *parts] if front else [*parts, extra]
    return join.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Derivatives of samples: central differences inside, one-sided ones at the ends. A list when there are several axes.

    varargs: the distance of samples (one number for all axes, or for each a number or the coordinates). axis: an int, ints or
    None: all. edge_order: only 1. ValueError for axes of less than two samples.

    >>> import numjet.numpy as jnp
    >>> gradient(jnp.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 1.5, 2.0]
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f, *varargs)
    f, *spacing = promote_args_inexact("gradient", f, *varargs)
    axes = axes_of(axis, f.ndim)
    if not varargs:
        spacing = [None] * len(axes)
    elif len(spacing) == 1:
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(varargs)} for {axes=}")
    if any(f.shape[d] < 2 for d in axes):
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least 2 elements are required.")
    out = [_derivative(f, h, d) for h, d in zip(spacing, axes, strict=True)]
    return out[0] if len(axes) == 1 else out


def _derivative(f: Any, h: Any, d: int) -> Any:
    n = f.shape[d]
    part = lambda start, stop: slicing.slice_in_dim(f, start, stop, axis=d)
    steps = arithmetic.sub(part(1, n), part(0, n - 1))
    if h is None or h.ndim == 0:
        inner = arithmetic.mul(arithmetic.sub(part(2, n), part(0, n - 2)), literal(0.5, f.dtype))
        ends = (slicing.slice_in_dim(steps, 0, 1, axis=d), slicing.slice_in_dim(steps, n - 2, n - 1, axis=d))
        out = join.concatenate([ends[0], inner, ends[1]], d)
        return out if h is None else arithmetic.div(out, broadcast_to(h, out.shape))
    if h.shape != (n,):
        raise ValueError(f"Spacing arrays must have shape ({n},) along axis {d}, got {h.shape}")
    widths = rearrange.broadcast_in_dim(diff(h), steps.shape, (d,))
    slopes = arithmetic.div(steps, widths)
    left, right = slicing.slice_in_dim(slopes, 0, n - 2, axis=d), slicing.slice_in_dim(slopes, 1, n - 1, axis=d)
    before, after = slicing.slice_in_dim(widths, 0, n - 2, axis=d), slicing.slice_in_dim(widths, 1, n - 1, axis=d)
    weighted = arithmetic.add(arithmetic.mul(left, after), arithmetic.mul(right, before))
    inner = arithmetic.div(weighted, arithmetic.add(before, after))
    return join.concatenate([slicing.slice_in_dim(slopes, 0, 1, axis=d), inner,
                             slicing.slice_in_dim(slopes, n - 2, n - 1, axis=d)], d)


@jit_when_eager("axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples along `axis` by the trapezoidal rule. x: where the samples lie; otherwise dx apart.

    >>> import numjet.numpy as jnp
    >>> float(trapezoid(jnp.array([1.0, 2.0, 3.0])))
    4.0
    """
    if x is None:
        y, = promote_args_inexact("trapezoid", y)
        width: Any = to_array(dx)
    else:
        y, x = promote_args_inexact("trapezoid", y, x)
        width = diff(x, axis=axis) if x.ndim > 1 else _along(diff(x), y.ndim, as_axis(axis, y.ndim))
    dim = as_axis(axis, y.ndim)
    n = y.shape[dim]
    pairs = arithmetic.add(slicing.slice_in_dim(y, min(1, n), n, axis=dim),
                           slicing.slice_in_dim(y, 0, max(n - 1, 0), axis=dim))
    width, pairs = promote_dtypes(width, pairs)
    whole = rearrange.broadcast_shapes(width.shape, pairs.shape)
    width, pairs = (broadcast_to(v, whole) for v in (width, pairs))
    return arithmetic.mul(total(_times(width, pairs), axis), literal(0.5, pairs.dtype))


def _along(vector: Any, rank: int, dim: int) -> Any:
    """A vector along one of `rank` axes."""
    return rearrange.broadcast_in_dim(vector, [vector.shape[0] if d == dim else 1 for d in range(rank)], (dim,))


# -------------------------------------------------------------------------------------------- convolution

@jit_when_eager("mode", "precision", "preferred_element_type")
def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The convolution of two vectors. mode: "full" (N + M - 1 values), "same" (max(N, M)), "valid" (where both overlap).

    The longer vector is padded with zeros: where an infinity of the shorter one meets them the sum is NaN, as in JAX.

    >>> import numjet.numpy as jnp
    >>> convolve(jnp.array([1, 2, 3]), jnp.array([1, 1])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    a, v = _vectors("convolve", a, v)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    return _slide(a, v, mode, precision, preferred_element_type, "convolve")


@jit_when_eager("mode", "precision", "preferred_element_type")
def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The cross-correlation of two vectors: sums of a[n + k] * conj(v[n]). mode: as of convolve.

    >>> import numjet.numpy as jnp
    >>> correlate(jnp.array([1, 2, 3]), jnp.array([0, 1])).tolist()
    [2.0, 3.0]
    """
    a, v = _vectors("correlate", a, v)
    v = flip(convert.conj(v) if v.dtype in dtypes.COMPLEX else v)
    if a.shape[0] < v.shape[0]:
        return _slide(v, a, mode, precision, preferred_element_type, "correlate", reverse=True)
    return _slide(a, v, mode, precision, preferred_element_type, "correlate")


def _vectors(name: str, a: Any, v: Any) -> tuple[Any, Any]:
    a, v = promote_args_inexact(name, a, v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs: got shapes {a.shape} and {v.shape}")
    if not a.shape[0] or not v.shape[0]:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {a.shape} and {v.shape}.")
    return a, v


def _slide(a: Any, v: Any, mode: str, precision: Any, preferred: Any, name: str, reverse: bool = False) -> Any:
    """The convolution of a with the shorter v, reversed. reverse: "same" is centred from the end."""
    m = v.shape[0]
    if not isinstance(mode, str) or mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be one of ['full', 'same', 'valid'], got {reprlib.repr(mode)}")
    low, high = {"full": (m - 1, m - 1), "same": (m // 2, m - m // 2 - 1), "valid": (0, 0)}[mode]
    low, high = (high, low) if reverse else (low, high)
    if m == 1:
        padded = join.pad(a, to_array(literal(0, a.dtype, a.weak_type)), [(low, high, 0)])
        out = _times(padded, broadcast_to(v, padded.shape))
        return out if preferred is None else as_dtype(out, dtypes.check_user_dtype(preferred, name))
    out = conv_general_dilated(rearrange.expand_dims(a, (0, 1)), rearrange.expand_dims(flip(v), (0, 1)), (1,), [(low, high)],
                               precision=precision, preferred_element_type=preferred)
    return rearrange.squeeze(out, (0, 1))


# -------------------------------------------------------------------------------------------- powers

def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers of a vector: N columns (default its size), from the highest power to 0, or increasing.

    >>> import numjet.numpy as jnp
    >>> vander(jnp.array([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = array_arg("vander", x)
    if x.ndim != 1:
        raise ValueError(f"x must be a one-dimensional array, got shape {x.shape}")
    count = x.shape[0] if N is None else as_integer(N, "jnp.vander: N")
    if count < 0:
        raise ValueError(f"N must be nonnegative, got {count}")
    if count > _FEW_POWERS:
        powers = cumulative.cumprod(broadcast_to(rearrange.expand_dims(x, (1,)), (x.shape[0], count - 1)), 1)
        powers = join.pad(powers, to_array(literal(1, x.dtype, x.weak_type)), [(0, 0, 0), (1, 0, 0)])
        return powers if increasing else flip(powers, 1)
    column = rearrange.expand_dims(x, (1,))
    columns: list[Any] = [create.full(column.shape, np.ones((), x.dtype)[()])]
    for _ in range(count - 1):
        columns.append(arithmetic.mul(columns[-1], column))
    columns = columns[:count]
    if not columns:
        return create.full((x.shape[0], 0), np.zeros((), x.dtype)[()])
    return join.concatenate(columns if increasing else columns[::-1], 1)


