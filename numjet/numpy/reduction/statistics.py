"""Averages: mean, var, std, average."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.ir import Literal
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.lax.collective.reductions import axis_size
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.shape import rearrange
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg, as_dtype, check_out, literal, size_literal, strong_array
from numjet.numpy.fastpath import small
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import Axis, axes_of, mask_arg, put_back, split_names, sum

_COMPLEX = frozenset(dtypes.COMPLEX)
_HALVES = frozenset(d for d in dtypes.FLOATING if d.itemsize < 4)


def inexact_dtype(name: str, dtype: Any, a: Any) -> np.dtype:
    """The dtype of an average: the one asked for, or that of a made inexact."""
    return dtypes.to_inexact_dtype(a.dtype) if dtype is None else dtypes.check_user_dtype(dtype, name)


def constant_if_empty(a: Any) -> Any:
    """An array, without derivatives where it has no elements, of which no result depends: they would be those of 0 / 0."""
    return stop_gradient(a) if 0 in a.shape else a


def computing_dtype(dtype: np.dtype) -> np.dtype:
    """float32 for the floats below it, whose sums overflow; others compute in themselves."""
    return dtypes.float32 if dtype in _HALVES else dtype


def count(name: str, a: Any, axes: tuple[int, ...], names: tuple[str, ...], where: Any, dtype: np.dtype) -> Any:
    """The number of averaged elements: a number, or an array when a mask chooses them."""
    if where is None:
        return size_literal(prod(a.shape[i] for i in axes) * axis_size(names), dtype)
    chosen = promotion.broadcast_to(array_arg(name, where), a.shape)
    return sum(chosen, (*axes, *names), dtype=dtype, keepdims=False)


@jit_when_eager("axis", "dtype", "out", "keepdims", small=False)
def mean(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """The mean of the elements along `axis` (an int, a tuple of ints; None: all; names of axes as for `sum`); NaN when
    there are none.

    dtype: of the result; by default that of a, float for integers. Floats of 16 bits are summed in 32; into integers the
    elements are converted first, as NumPy does. keepdims, where: as for `sum`.

    >>> import numjet.numpy as jnp
    >>> mean(jnp.array([1, 2, 4, 5]))
    Array(3., dtype=float32)
    """
    check_out("mean", out)
    if dtype is where is None and type(keepdims) is bool:
        found = small.mean(a, axis, keepdims)
        if found is not None:
            return found
    a = constant_if_empty(array_arg("mean", a))
    if where is not None:
        where = mask_arg("mean", where, a.shape)
    wanted = inexact_dtype("mean", dtype, a)
    wide = wanted if dtypes.kind(wanted) in "iu" else computing_dtype(dtypes.to_inexact_dtype(wanted))
    axes, names = split_names(axis, a.ndim)
    total = sum(a, (*axes, *names), wide, where=where)   # of 32 bits for float64 while jax_enable_x64 is off
    result = strong_array(arithmetic.div_p.bind(total, count("mean", a, axes, names, where, total.dtype)))
    result = as_dtype(result, wanted)
    return put_back(result, a.shape, axes) if keepdims else result


def _deviations(name: str, a: Any, axes: tuple[int, ...], names: tuple[str, ...], where: Any, given: Any, wide: np.dtype
                ) -> Any:
    """|a - mean|^2, elementwise, real."""
    if given is None:
        center = mean(a, (*axes, *names), wide, where=where)
        if center.ndim:
            center = rearrange.broadcast_in_dim(center, a.shape, [i for i in range(a.ndim) if i not in axes])
    else:
        center = as_dtype(promotion.operand(name, given), wide)
    x, y = promotion.operands(name, as_dtype(a, wide), center)
    centered = arithmetic.sub_p.bind(x, y)
    if where is not None:  # what is left out must not overflow, or its derivative is NaN
        centered = choose_by(name, where, centered, literal(0, centered.dtype))
    if wide in _COMPLEX:
        re, im = convert.real_p.bind(centered), convert.imag_p.bind(centered)
        return arithmetic.add_p.bind(arithmetic.square_p.bind(re), arithmetic.square_p.bind(im))
    return arithmetic.square_p.bind(centered)


def _freedom(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError(f"jnp.{name}: ddof and correction can't be given together, got {ddof!r} and {correction!r}")
    return correction


def _variance(name: str, a: Any, axes: tuple[int, ...], names: tuple[str, ...], wanted: np.dtype, ddof: Any, where: Any,
              given: Any) -> Any:
    """Sum of squares over (count - ddof), in the computing dtype; NaN where count <= ddof."""
    wide = computing_dtype(dtypes.common_dtype(dtypes.to_inexact_dtype(a.dtype), wanted))
    squares = _deviations(name, a, axes, names, where, given, wide)
    real = squares.dtype
    total = sum(squares, (*axes, *names), where=where)
    n = count(name, a, axes, names, where, real)
    if isinstance(n, Literal) and not isinstance(ddof, Tracer) and np.ndim(ddof) == 0:
        known = float(n.val) - float(ddof)
        if known >= 0:  # without degrees slopes are NaN, as in JAX; those of negative ones 0
            return arithmetic.div_p.bind(total, literal(known or float("nan"), real))
    left, degrees = promotion.operands(name, n, as_dtype(promotion.operand(name, ddof), real))
    return per_degree(name, total, arithmetic.sub_p.bind(left, degrees))


def per_degree(name: str, total: Any, degrees: Any) -> Any:
    """total / degrees, NaN with a derivative of 0 where there are no degrees of freedom."""
    some = compare.gt_p.bind(degrees, literal(0.0, degrees.dtype))
    ratio = arithmetic.div_p.bind(total, choose_by(name, some, degrees, literal(1.0, degrees.dtype)))
    return choose_by(name, some, ratio, literal(float("nan"), ratio.dtype))


def spread_dtype(name: str, dtype: Any, a: Any) -> np.dtype:
    """The dtype of a variance: the one asked for, else the real one of the array. ValueError where it cannot be."""
    found = inexact_dtype(name, dtype, a)
    if dtype is None:
        return dtypes.to_floating_dtype(found)
    if not dtypes.issubdtype(dtypes.as_dtype(dtype), np.inexact):
        raise ValueError(f"jnp.{name}: dtype must be floating or complex, got {dtype!r}")
    if a.dtype in _COMPLEX and found not in _COMPLEX:
        raise ValueError(f"jnp.{name} does not support real dtypes for complex arrays, got {dtype!r}: take the real "
                         "part of the result instead")
    return found


def _spread(name: str, a: Any, axis: Axis, dtype: Any, out: None, ddof: Any, keepdims: bool, where: Any, mean: Any,
            correction: Any, root: bool) -> Any:
    check_out(name, out)
    ddof = _freedom(name, ddof, correction)
    if dtype is where is mean is None and not keepdims:
        found = small.variance(a, axis, ddof, root)
        if found is not None:
            return found
    a = constant_if_empty(array_arg(name, a))
    if where is not None:
        where = mask_arg(name, where, a.shape)
    wanted = spread_dtype(name, dtype, a)
    axes, names = split_names(axis, a.ndim)
    result = _variance(name, a, axes, names, wanted, ddof, where, mean)
    result = strong_array(as_dtype(arithmetic.sqrt_p.bind(result) if root else result, wanted))
    return put_back(result, a.shape, axes) if keepdims else result


@jit_when_eager("axis", "dtype", "out", "ddof", "keepdims", "correction", small=False)
def var(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False, *,
        where: Any = None, mean: Any = None, correction: Any = None) -> Any:
    """The variance along `axis`: mean squared distance from the mean, with count - ddof in place of count.

    mean: the means when they are known, with reduced axes of size 1. correction: another name of ddof. NaN where
    count <= ddof. Other arguments as of `mean`; the result is real unless dtype is complex.

    >>> import numjet.numpy as jnp
    >>> var(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction, False)


@jit_when_eager("axis", "dtype", "out", "ddof", "keepdims", "correction", small=False)
def std(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: bool = False, *,
        where: Any = None, mean: Any = None, correction: Any = None) -> Any:
    """The standard deviation along `axis`, the root of `var`; arguments as there.

    >>> import numjet.numpy as jnp
    >>> std(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction, True)


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The average along `axis` with weights: an array of the shape of a, or one-dimensional, along an int axis.

    With returned=True also the sums of weights. ValueError and TypeError for weights that do not fit.

    >>> import numjet.numpy as jnp
    >>> average(jnp.array([1.0, 2.0]), weights=jnp.array([3.0, 1.0]))
    Array(1.25, dtype=float32)
    """
    a = array_arg("average", a)
    axes = axes_of(axis, a.ndim)
    if weights is None:
        result = mean(a, axes, keepdims=keepdims)
        weight = as_dtype(size_literal(prod(a.shape[i] for i in axes), result.dtype), result.dtype)
    else:
        x, w = _weighted(a, array_arg("average", weights, 1), axis)
        weight = sum(w, axes, keepdims=keepdims)
        result = arithmetic.div_p.bind(sum(arithmetic.mul_p.bind(x, w), axes, keepdims=keepdims), weight)
    if not returned:
        return result
    return result, promotion.broadcast_to(promotion.to_array(weight) if weights is not None else
                                        convert.constant(weight.val, result.dtype), result.shape)


def _weighted(a: Any, weights: Any, axis: Axis) -> tuple[Any, Any]:
    """Values and weights of one shape and inexact dtype."""
    x, w = promotion.promote_args_inexact("average", a, weights)
    if w.shape == x.shape:
        return x, w
    if axis is None:
        raise ValueError(f"Axis must be specified when shapes of a {x.shape} and weights {w.shape} differ.")
    axes = axes_of(axis, x.ndim)
    if w.shape != tuple(x.shape[i] for i in axes):
        raise ValueError(f"Shape of weights {w.shape} must be consistent with shape of a {x.shape} along specified axis "
                         f"{axis}.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return x, rearrange.broadcast_in_dim(rearrange.transpose(w, order), x.shape, sorted(axes))
