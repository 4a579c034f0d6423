"""Quantiles, percentiles and medians, with and without NaN.

Methods are those of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), under NumPy's names: each is a
position h(q, n) among the sorted elements 0 ... n - 1, and the share of the upper neighbour.
"""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, bitwise, compare, convert
from numjet.lax.elementwise.arithmetic import add_p, floor_p, mul_p, sub_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, max_p, min_p, select_n_p
from numjet.lax.reduction import cumulative
from numjet.lax.reduction.sort import sort, sort_key_val, take_along
from numjet.lax.shape import rearrange
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg, as_dtype, broadcast_to, literal, size_literal, to_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction import reductions
from numjet.numpy.reduction.reductions import Axis, axes_of
from numjet.numpy.ufuncs.logic import isnan

# Methods 4 to 9 of the paper: h = q * (n + 1 - alpha - beta) + alpha - 1.
_CONTINUOUS: dict[str, tuple[float, float]] = {
    "linear": (1.0, 1.0), "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}
_OTHERS = ("lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def _check(name: str, method: Any, overwrite_input: bool, out: None, weights: Any) -> None:
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None: arrays are immutable. Use "
                         "the returned array.")
    if method not in _CONTINUOUS and method not in _OTHERS:
        raise ValueError(f"method can only be one of {sorted((*_CONTINUOUS, *_OTHERS))}, got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights.")


# -------------------------------------------------------------------------------------------- positions

def _position(q: Any, n: Any, method: str) -> Any:
    """h(q, n), not limited to 0 ... n - 1."""
    if method in _CONTINUOUS or method in ("lower", "higher", "midpoint", "nearest"):
        alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
        h = mul_p.bind(q, add_p.bind(n, literal(1.0 - alpha - beta, q.dtype)))
        return add_p.bind(h, literal(alpha - 1.0, q.dtype))
    return sub_p.bind(mul_p.bind(q, n), literal(1.5 if method == "closest_observation" else 1.0, q.dtype))


def _share(h: Any, low: Any, method: str) -> Any:
    """The share of the upper neighbour."""
    zero, half, one = (literal(v, h.dtype) for v in (0.0, 0.5, 1.0))
    part = sub_p.bind(h, low)
    between = gt_p.bind(part, zero)
    if method in _CONTINUOUS:
        return part
    if method in ("lower", "higher", "midpoint", "inverted_cdf"):
        return choose_by("quantile", between, {"lower": zero, "midpoint": half}.get(method, one), zero)
    if method == "averaged_inverted_cdf":
        return choose_by("quantile", between, one, half)
    odd = gt_p.bind(arithmetic.rem_p.bind(arithmetic.abs_p.bind(low), literal(2.0, h.dtype)), zero)
    if method == "nearest":  # halves to the even neighbour
        up = bitwise.or_p.bind(gt_p.bind(part, half), bitwise.and_p.bind(eq_p.bind(part, half), odd))
        return choose_by("quantile", up, one, zero)
    return choose_by("quantile", bitwise.or_p.bind(between, bitwise.not_p.bind(odd)), one, zero)


def _index(position: Any, last: Any) -> Any:
    limited = max_p.bind(min_p.bind(position, last), literal(0.0, position.dtype))
    return convert.convert_dtype(limited, dtypes.int32)


def _blend(below: Any, above: Any, share: Any) -> Any:
    """(1 - share) * below + share * above; a share of 0 contributes 0 even for infinities.

    The derivative to the share is above - below also where the share is 0, between two elements or at the last one.
    """
    zero = literal(0.0, share.dtype)
    rest = sub_p.bind(literal(1.0, share.dtype), share)

    def part(weight: Any, x: Any) -> Any:
        endless = bitwise.and_p.bind(eq_p.bind(weight, zero), bitwise.not_p.bind(compare.is_finite_p.bind(x)))
        return mul_p.bind(weight, select_n_p.bind(endless, x, zero))
    return add_p.bind(part(rest, below), part(share, above))


# -------------------------------------------------------------------------------------------- quantiles of rows

def _to_front(x: Any, count: int) -> Any:
    """The last `count` axes in front."""
    order = range(x.ndim)
    return rearrange.transpose(x, (*order[x.ndim - count:], *order[:x.ndim - count])) if 0 < count < x.ndim else x


def _of_rows(rows: Any, q: Any, method: str) -> Any:
    """Quantiles of the last axis, NaN where a row holds one; axes of q in front."""
    lead = rows.shape[:-1]
    last = size_literal(rows.shape[-1] - 1, q.dtype)
    h = _position(q, size_literal(rows.shape[-1], q.dtype), method)
    low = floor_p.bind(h)
    ordered = sort(rows, rows.ndim - 1)
    above = add_p.bind(low, literal(1.0, q.dtype))
    pick = lambda position: _to_front(getitem(ordered, (Ellipsis, _index(position, last))), q.ndim)
    share = rearrange.broadcast_in_dim(_share(h, low, method), (*q.shape, *lead), range(q.ndim))
    out = _blend(pick(low), pick(above), share)
    bad = broadcast_to(reductions.any(isnan(rows), -1), out.shape)
    return choose_by("quantile", bad, literal(float("nan"), out.dtype), out)


def _of_numbers_in_rows(rows: Any, q: Any, method: str) -> Any:
    """Quantiles of the numbers that are not NaN in the last axis; axes of q in front."""
    lead = rows.shape[:-1]
    full = (*lead, q.size)
    counts = reductions.sum(bitwise.not_p.bind(isnan(rows)), -1, q.dtype, None, True)
    n = rearrange.broadcast_in_dim(counts, full, range(len(full)))
    h = _position(rearrange.broadcast_in_dim(rearrange.reshape(q, (q.size,)), full, (len(lead),)), n, method)
    low = floor_p.bind(h)
    ordered = sort(rows, rows.ndim - 1)  # NaN last
    last = sub_p.bind(n, literal(1.0, q.dtype))
    above = add_p.bind(low, literal(1.0, q.dtype))
    pick = lambda position: take_along(ordered, _index(position, last), rows.ndim - 1)
    out = _blend(pick(low), pick(above), _share(h, low, method))
    out = choose_by("nanquantile", eq_p.bind(n, literal(0.0, q.dtype)), literal(float("nan"), out.dtype), out)
    return rearrange.reshape(_to_front(out, 1), (*q.shape, *lead))


def _of_weighted_rows(rows: Any, weights: Any, q: Any, skip_nan: bool) -> Any:
    """The first element at which the share of weight reaches q; axes of q in front."""
    lead, n, at = rows.shape[:-1], rows.shape[-1], rows.ndim - 1
    missing = isnan(rows)
    if skip_nan:
        weights = choose_by("nanquantile", missing, literal(0.0, weights.dtype), weights)
    ordered, weights = sort_key_val(rows, weights, at)
    sums = cumulative.cumsum(weights, at)
    zero = literal(0.0, sums.dtype)
    total = getitem(sums, (Ellipsis, slice(n - 1, n)))
    reached = arithmetic.div_p.bind(sums, broadcast_to(total, sums.shape))
    reached = choose_by("quantile", eq_p.bind(sums, zero), literal(-1.0, sums.dtype), reached)
    full = (*lead, n, q.size)
    below = lt_p.bind(rearrange.broadcast_in_dim(reached, full, range(rows.ndim)),
                      rearrange.broadcast_in_dim(rearrange.reshape(q, (q.size,)), full, (rows.ndim,)))
    position = compare.min(reductions.sum(below, at), n - 1)
    out = take_along(ordered, position, at)
    if not skip_nan:
        bad = rearrange.broadcast_in_dim(reductions.any(missing, -1), out.shape, range(at))
        out = choose_by("quantile", bad, literal(float("nan"), out.dtype), out)
    return rearrange.reshape(_to_front(out, 1), (*q.shape, *lead))


# -------------------------------------------------------------------------------------------- arguments

def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """x with the axes joined into one, the last."""
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    moved = rearrange.transpose(x, (*kept, *axes)) if (*kept, *axes) != tuple(range(x.ndim)) else x
    return rearrange.reshape(moved, (*(x.shape[i] for i in kept), prod(x.shape[i] for i in axes)))


def _weight_rows(name: str, weights: Any, a: Any, axes: tuple[int, ...]) -> Any:
    w = as_dtype(array_arg(name, weights, 2), a.dtype)
    if w.shape != a.shape:
        if w.ndim != 1 or len(axes) != 1 or w.shape[0] != a.shape[axes[0]]:
            raise ValueError(f"jnp.{name}: weights must have the shape of a, {a.shape}, or the size of its axis; got {w.shape}")
        w = rearrange.broadcast_in_dim(w, a.shape, axes)
    return _rows(w, axes)


def _quantile(name: str, a: Any, q: Any, axis: Axis, method: str, keepdims: bool, skip_nan: bool, weights: Any) -> Any:
    (q,) = promotion.promote_args_inexact(name, q)
    a = promotion.promote_args_inexact(name, a, *(() if weights is None else (weights,)))[0]
    if any(dtypes.issubdtype(v.dtype, np.complexfloating) for v in (a, q)):
        raise ValueError(f"{name} does not support complex input, as the operation is poorly defined.")
    if q.ndim > 1:
        raise ValueError(f"q must have rank <= 1, got shape {q.shape}")
    if keepdims and not a.ndim:
        a = rearrange.reshape(a, (1,))  # as JAX has it
    axes, full, dtype = axes_of(axis, a.ndim), a.shape, a.dtype
    a, q = (as_dtype(v, dtypes.float32 if dtype.itemsize < 4 else dtype) for v in (a, q))
    rows = _rows(a, axes)
    if not rows.shape[-1]:
        found = broadcast_to(to_array(np.asarray(np.nan, rows.dtype)), (*q.shape, *rows.shape[:-1]))
    elif weights is not None:
        found = _of_weighted_rows(rows, _weight_rows(name, weights, a, axes), q, skip_nan)
    else:
        found = _of_numbers_in_rows(rows, q, method) if skip_nan else _of_rows(rows, q, method)
    found = promotion.strong_array(as_dtype(found, dtype))
    if keepdims:
        found = rearrange.reshape(found, (*q.shape, *(1 if i in axes else n for i, n in enumerate(full))))
    return found


def _hundredths(name: str, q: Any) -> Any:
    (q,) = promotion.promote_args_inexact(name, q)
    return arithmetic.div_p.bind(q, literal(100.0, q.dtype))


# -------------------------------------------------------------------------------------------- public

@jit_when_eager("axis", "out", "overwrite_input", "method", "keepdims")
def quantile(a: Any, q: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
             keepdims: bool = False, *, weights: Any = None) -> Any:
    """The value below which a share q of the elements along `axis` lies; NaN where there is one among them.

    q: a number or one-dimensional array in [0, 1], whose axis comes first in the result. method: NumPy's name of the
    interpolation between elements. weights: of the shape of a or along its axis, with method "inverted_cdf".

    >>> import numjet.numpy as jnp
    >>> quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    Array(2.5, dtype=float32)
    """
    _check("quantile", method, overwrite_input, out, weights)
    return _quantile("quantile", a, q, axis, method, keepdims, False, weights)


@jit_when_eager("axis", "out", "overwrite_input", "method", "keepdims")
def nanquantile(a: Any, q: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
                keepdims: bool = False, *, weights: Any = None) -> Any:
    """As `quantile`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
    Array(2., dtype=float32)
    """
    _check("nanquantile", method, overwrite_input, out, weights)
    return _quantile("nanquantile", a, q, axis, method, keepdims, True, weights)


@jit_when_eager("axis", "out", "overwrite_input", "method", "keepdims", "out_sharding")
def percentile(a: Any, q: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
               keepdims: bool = False, *, weights: Any = None, out_sharding: None = None) -> Any:
    """As `quantile`, with q in percent.

    >>> import numjet.numpy as jnp
    >>> percentile(jnp.array([1.0, 2.0, 3.0]), 50)
    Array(2., dtype=float32)
    """
    rearrange.check_unsharded("percentile", out_sharding)
    return quantile(a, _hundredths("percentile", q), axis, out, overwrite_input, method, keepdims, weights=weights)


@jit_when_eager("axis", "out", "overwrite_input", "method", "keepdims")
def nanpercentile(a: Any, q: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Any:
    """As `percentile`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
    Array(2., dtype=float32)
    """
    return nanquantile(a, _hundredths("nanpercentile", q), axis, out, overwrite_input, method, keepdims, weights=weights)


@jit_when_eager("axis", "out", "overwrite_input", "keepdims")
def median(a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle element along `axis`, or the mean of the two middle ones.

    >>> import numjet.numpy as jnp
    >>> median(jnp.array([3, 1, 2]))
    Array(2., dtype=float32)
    """
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@jit_when_eager("axis", "out", "overwrite_input", "keepdims")
def nanmedian(a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """As `median`, without NaN; NaN where there is nothing else.

    >>> import numjet.numpy as jnp
    >>> nanmedian(jnp.array([3.0, jnp.nan, 2.0]))
    Array(2.5, dtype=float32)
    """
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)
