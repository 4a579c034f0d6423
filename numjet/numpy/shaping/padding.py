"""pad: arrays with values added at the ends of their axes, in all of NumPy's modes."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_size, computed_sizes, exceeds
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import array_arg, as_dtype, check_arraylike, promote_dtypes, to_array
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.reduction.quantiles import median
from numjet.numpy.reduction.reductions import max as largest, min as smallest
from numjet.numpy.reduction.statistics import mean
from numjet.numpy.shaping.repeating import flip
from numjet.numpy.ufuncs.arithmetic import floor_divide, remainder, round as rounded

Widths = list[tuple[int, int]]
_OPTIONS = {
    "constant": ("constant_values",), "linear_ramp": ("end_values",), "maximum": ("stat_length",), "mean": ("stat_length",),
    "median": ("stat_length",), "minimum": ("stat_length",), "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
    "edge": (), "wrap": (), "empty": (),
}
_STATISTICS: dict[str, Callable[..., Any]] = {"maximum": largest, "minimum": smallest, "mean": mean, "median": median}


def _pairs(name: str, value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A number, (one,), (before, after) or ((before, after), ...) as a pair for each axis."""
    if hasattr(value, "aval") and value.aval.ndim:
        value = list(value)
    if not isinstance(value, (tuple, list, np.ndarray)) or (isinstance(value, np.ndarray) and not value.ndim):
        return [(value, value)] * ndim
    items = list(value)
    if all(np.ndim(v) == 0 if not hasattr(v, "aval") else v.aval.ndim == 0 for v in items):
        if len(items) == 1:
            return [(items[0], items[0])] * ndim
        if len(items) == 2:
            return [(items[0], items[1])] * ndim
    pairs = [tuple(v) if np.ndim(v) == 1 else () for v in items]
    pairs = [p * 2 if len(p) == 1 else p for p in pairs]
    if len(pairs) == 1:
        pairs = pairs * ndim
    if len(pairs) != ndim or any(len(p) != 2 for p in pairs):
        raise ValueError(f"jnp.pad: {name} with {ndim} axes: expected a number, a pair or a pair for each axis, got {value}")
    return pairs


def _widths(pad_width: Any, ndim: int) -> Widths:
    if isinstance(pad_width, dict):
        full = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            full[operator.index(axis)] = _pairs("pad_width", width, 1)[0]
        pad_width = full
    elif hasattr(pad_width, "aval"):
        pad_width = known("pad", pad_width, "how much to pad")
    pairs = [(as_size(a), as_size(b)) for a, b in _pairs("pad_width", pad_width, ndim)]
    if any(exceeds(0, n) for p in pairs for n in p):
        raise ValueError(f"index can't contain negative values: jnp.pad got pad_width {pairs}")
    return pairs


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array with pad_width values before and after the elements of each axis.

    pad_width: a number, (before, after), one such pair per axis, or a dict of axes. mode: "constant" (constant_values, default
    0), "edge", "empty", "linear_ramp" (end_values), "maximum", "mean", "median", "minimum" (of stat_length elements at the
    edge), "reflect", "symmetric" (reflect_type "even" or "odd"), "wrap", or a function f(vector, (before, after), axis,
    kwargs) that gives a vector. ValueError for unknown modes and options.

    >>> import numjet.numpy as jnp
    >>> pad(jnp.array([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    array = array_arg("pad", array)
    padded = _padded(array, _widths(pad_width, array.ndim), mode, kwargs)
    return convert.convert_dtype(padded, padded.dtype, array.aval.weak_type)


def _padded(array: Any, widths: Widths, mode: Any, kwargs: dict[str, Any]) -> Any:
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad. Expected one of {sorted(_OPTIONS)}.")
    wrong = set(kwargs) - set(_OPTIONS[mode])
    if wrong:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {sorted(wrong)}")
    if mode == "constant":
        return _constant(array, widths, kwargs.get("constant_values", 0))
    if mode == "empty":
        return _constant(array, widths, 0)
    if mode == "linear_ramp":
        return _linear_ramp(array, widths, kwargs.get("end_values", 0))
    if mode in _STATISTICS:
        return _statistic(array, widths, mode, kwargs.get("stat_length"))
    for axis, width in enumerate(widths):
        if any(width) and not array.shape[axis]:
            raise ValueError(f"Cannot apply {mode!r} padding to empty axis {axis}")
        array = _mirrored(array, axis, width, mode, kwargs.get("reflect_type", "even"))
    return array


# -------------------------------------------------------------------------------------------- constants

def _constant(array: Any, widths: Widths, values: Any) -> Any:
    if not isinstance(values, (tuple, list)):
        check_arraylike("pad", values)
        if not np.ndim(values if not hasattr(values, "aval") else np.empty(values.aval.shape, bool)):
            return join.pad(array, as_dtype(to_array(values), array.dtype), [(a, b, 0) for a, b in widths])
    for axis, ((before, after), fill) in enumerate(zip(widths, _pairs("constant_values", values, array.ndim), strict=True)):
        for width, value in (((before, 0), fill[0]), ((0, after), fill[1])):
            if any(width):
                config = [(*width, 0) if d == axis else (0, 0, 0) for d in range(array.ndim)]
                array = join.pad(array, as_dtype(to_array(value), array.dtype), config)
    return array


def _edge(array: Any, axis: int, last: bool, count: int = 1) -> Any:
    n = array.shape[axis]
    if isinstance(n, Dimension) and count == 1:  # an element, which must be there; a slice would have up to one
        return rearrange.expand_dims(getitem(array, (slice(None),) * axis + (-1 if last else 0,)), (axis,))
    return slicing.slice_in_dim(array, n - count if last else 0, n if last else count, axis=axis)


def _spread(slab: Any, axis: int, count: int) -> Any:
    """A slab of size 1 along `axis` repeated."""
    return rearrange.broadcast_in_dim(slab, (*slab.shape[:axis], count, *slab.shape[axis + 1:]), range(slab.ndim))


def _joined(before: Any, array: Any, after: Any, axis: int) -> Any:
    parts = [p for p in (before, array, after) if p.shape[axis]]
    return join.concatenate(parts, axis) if len(parts) > 1 else parts[0] if parts else array


def _linear_ramp(array: Any, widths: Widths, end_values: Any) -> Any:
    """Steps of equal size from the end values to the edges; the edge itself is no step."""
    ramp = {"i": _whole_ramp, "u": _whole_ramp, "b": _ramp_of_bools}.get(dtypes.kind(array.dtype), _ramp)
    for axis, ((before, after), ends) in enumerate(zip(widths, _pairs("end_values", end_values, array.ndim), strict=True)):
        sides = []
        for count, end, last in ((before, ends[0], False), (after, ends[1], True)):
            edge = _spread(_edge(array, axis, last), axis, count)
            values = ramp(edge, to_array(end), axis, max(count, 1))
            sides.append(flip(values, axis) if last else values)
        array = _joined(sides[0], array, sides[1], axis)
    return array


def _ramp(edge: Any, end: Any, axis: int, count: int) -> Any:
    """end + (edge - end) k / count."""
    steps = create.broadcasted_iota(np.float32 if edge.dtype != np.float64 else np.float64, edge.shape, axis)
    share = convert.convert_element_type(arithmetic.div(steps, _number(count, steps.dtype)), edge.dtype)
    start = _wide(as_dtype(end, edge.dtype), edge.shape)
    return arithmetic.add(start, arithmetic.mul(arithmetic.sub(edge, start), share))


def _ramp_of_bools(edge: Any, end: Any, axis: int, count: int) -> Any:
    """Whether the steps are not 0."""
    return convert.convert_element_type(_ramp(as_dtype(edge, np.dtype(np.float32)), end, axis, count), edge.dtype)


def _whole_ramp(edge: Any, end: Any, axis: int, count: int) -> Any:
    """The ramp of integers, rounded down exactly. edge - end, which may overflow, is q count + r with 0 <= r < count; the whole
    part of r k / count comes from floats, corrected by what the remainder, which fits, lacks."""
    kind = edge.dtype if edge.dtype.itemsize >= 4 else np.dtype(np.int32)
    signed, real = (np.dtype(f"{letter}{kind.itemsize}") for letter in "if")
    start, fraction = _whole_and_rest(end, kind)
    (high, r_high), (low, r_low) = (_quotient(as_dtype(v, kind), count) for v in (edge, start))
    q, r = arithmetic.sub(high, low), arithmetic.sub(as_dtype(r_high, signed), as_dtype(r_low, signed))
    less, r = _quotient(r, count)
    q = arithmetic.add(q, as_dtype(less, kind))
    k = create.broadcasted_iota(signed, edge.shape, axis)
    about = arithmetic.mul(as_dtype(r, real), arithmetic.div(as_dtype(k, real), _number(count, real)))
    t = as_dtype(arithmetic.floor(about), signed)
    rest = arithmetic.sub(arithmetic.mul(r, k), arithmetic.mul(t, _number(count, signed)))
    more, rest = _quotient(rest, count)
    t = arithmetic.add(t, more)
    if fraction is not None:  # of the end value: it counts (count - k) / count
        share = arithmetic.mul(_wide(fraction, edge.shape), as_dtype(arithmetic.sub(_number(count, signed), k), fraction.dtype))
        full = compare.ge(share, as_dtype(arithmetic.sub(_number(count, signed), rest), fraction.dtype))
        t = arithmetic.add(t, as_dtype(full, signed))
    whole = arithmetic.add(arithmetic.mul(q, as_dtype(k, kind)), as_dtype(t, kind))
    return as_dtype(arithmetic.add(_wide(start, edge.shape), whole), edge.dtype)


def _whole_and_rest(end: Any, kind: np.dtype) -> tuple[Any, Any]:
    """An end value as integer, rounded down, and what is left of a float."""
    if end.dtype not in dtypes.INEXACT:
        return as_dtype(end, kind), None
    whole = arithmetic.floor(end)
    return as_dtype(whole, kind), arithmetic.sub(end, whole)


def _quotient(x: Any, count: int) -> tuple[Any, Any]:
    """x / count rounded down, and the rest, which is not negative."""
    n = _number(count, x.dtype)
    return floor_divide(x, n), remainder(x, n)


def _number(value: Any, dtype: np.dtype) -> Any:
    return np.asarray(value, dtype)[()]


def _wide(x: Any, whole: tuple[int, ...]) -> Any:
    return rearrange.broadcast_in_dim(x, whole, ())


# -------------------------------------------------------------------------------------------- statistics

def _statistic(array: Any, widths: Widths, mode: str, stat_length: Any) -> Any:
    lengths = _pairs("stat_length", stat_length, array.ndim)
    for axis, (width, length) in enumerate(zip(widths, lengths, strict=True)):
        n = array.shape[axis]
        sides = []
        for count, size, last in ((width[0], length[0], False), (width[1], length[1], True)):
            some = n if size is None else min(operator.index(size), n)
            if exceeds(1, some) and not (n == 0 and mode == "mean"):  # the mean of no elements is NaN
                raise ValueError(f"jnp.pad: stat_length of 0 yields no value for padding, in mode {mode!r}")
            value = _STATISTICS[mode](_edge(array, axis, last, some), axis=axis, keepdims=True)
            if dtypes.kind(array.dtype) in "iu" and dtypes.kind(value.dtype) == "f":
                value = rounded(value)
            sides.append(_spread(convert.convert_dtype(value, array.dtype, array.aval.weak_type), axis, count))
        array = _joined(sides[0], array, sides[1], axis)
    return array


# -------------------------------------------------------------------------------------------- reflections

def _mirrored(array: Any, axis: int, width: tuple[int, int], mode: str, reflect_type: str) -> Any:
    """reflect, symmetric, wrap, edge: elements of the array itself, at positions given by NumPy's pad of the indices."""
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"jnp.pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    if not any(width):
        return array
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        return _odd(array, axis, width, mode)
    if isinstance(array.shape[axis], Dimension):
        return _mirrored_once(array, axis, width, mode)
    positions = np.pad(np.arange(array.shape[axis]), width, mode=mode)  # type: ignore[call-overload]
    return _picked(array, axis, positions)


def _mirrored_once(array: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    """_mirrored along an axis of symbolic size, which must be at least the widths. A computed size may be smaller."""
    n = array.shape[axis]
    if mode == "edge":
        sides = [_spread(_edge(array, axis, last), axis, width[last]) for last in (False, True)]
    else:
        positions = _from_ends if computed_sizes.maker is None else _by_size
        sides = [getitem(array, (slice(None),) * axis + (places,)) for places in positions(n, width, mode)]
    return join.concatenate([sides[0], array, sides[1]], axis)


def _from_ends(n: Any, width: tuple[int, int], mode: str) -> tuple[Any, Any]:
    """The positions of the elements before and after the array, counted from its ends."""
    skipped, (before, after) = int(mode == "reflect"), width
    if any(exceeds(count + skipped, n) for count in width):
        raise ValueError(f"jnp.pad: mode {mode!r} along an axis of symbolic size {n} takes widths up to it, got {width}")
    if mode == "wrap":
        return np.arange(-before, 0, dtype=np.int32), np.arange(after, dtype=np.int32)
    return np.arange(before, dtype=np.int32)[::-1] + skipped, -1 - skipped - np.arange(after, dtype=np.int32)


def _by_size(size: Any, width: tuple[int, int], mode: str) -> tuple[Any, Any]:
    """The same for a size that the program computes: positions modulo the period of what is repeated.

    The k-th element before the array has the place k modulo the period, folded back in its second half; those after the array
    are the same, counted from its other end.
    """
    n = as_dtype(to_array(size), np.dtype(np.int32))
    last, one = arithmetic.sub(n, np.int32(1)), np.int32(1)
    double = arithmetic.mul(n, np.int32(2))
    period = {"wrap": n, "symmetric": double, "reflect": compare.max(arithmetic.sub(double, np.int32(2)), one)}[mode]

    def places(count: int) -> Any:
        k = np.arange(count, dtype=np.int32) + np.int32(mode == "reflect")
        place = arithmetic.rem(k, rearrange.broadcast_in_dim(period, k.shape, ()))
        if mode == "wrap":
            return arithmetic.sub(last, place)
        return compare.min(place, arithmetic.sub(arithmetic.sub(double, np.int32(1 + (mode == "reflect"))), place))
    return flip(places(width[0]), 0), arithmetic.sub(last, places(width[1]))


def _picked(array: Any, axis: int, positions: np.ndarray) -> Any:
    """Elements at known indices along an axis: as slices, where these are few."""
    runs = _runs(positions)
    if len(runs) > 8:
        return getitem(array, (slice(None),) * axis + (positions.astype(np.int32),))
    parts = []
    for start, step, count in runs:
        if step == 0:
            parts.append(_spread(slicing.slice_in_dim(array, start, start + 1, axis=axis), axis, count))
        elif step == 1:
            parts.append(slicing.slice_in_dim(array, start, start + count, axis=axis))
        else:
            parts.append(rearrange.rev(slicing.slice_in_dim(array, start - count + 1, start + 1, axis=axis), (axis,)))
    return join.concatenate(parts, axis) if len(parts) > 1 else parts[0]


def _runs(positions: Sequence[int] | np.ndarray) -> list[tuple[int, int, int]]:
    """A sequence of integers as runs (start, step, count) with steps 0, 1 or -1."""
    runs: list[list[int]] = []
    for position in map(int, positions):
        if runs:
            start, step, count = runs[-1]
            by = position - (start + step * (count - 1))
            if (count == 1 and by in (-1, 0, 1)) or (count > 1 and by == step):
                runs[-1] = [start, by, count + 1]
                continue
        runs.append([position, 1, 1])
    return [(a, b, c) for a, b, c in runs]


def _odd(array: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    """Odd reflections through the edge: 2 * edge - x[mirrored index], repeated as needed."""
    before, after = width
    skip = 1 if mode == "reflect" else 0
    while before or after:
        n = array.shape[axis]
        most = n - skip
        if most < 1:  # a single element has nothing to reflect
            return _picked(array, axis, np.zeros(n + before + after, int))
        take_before, take_after = min(before, most), min(after, most)
        left = rearrange.rev(slicing.slice_in_dim(array, skip, skip + take_before, axis=axis), (axis,))
        right = rearrange.rev(slicing.slice_in_dim(array, n - skip - take_after, n - skip, axis=axis), (axis,))
        low, high = _edge(array, axis, False), _edge(array, axis, True)
        array = _joined(_through(low, left, axis), array, _through(high, right, axis), axis)
        before, after = before - take_before, after - take_after
    return array


def _through(edge: Any, inside: Any, axis: int) -> Any:
    wide = _spread(edge, axis, inside.shape[axis])
    return arithmetic.sub(arithmetic.add(wide, wide), inside)


# -------------------------------------------------------------------------------------------- functions

def _by_function(array: Any, widths: Widths, func: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """func on each vector of the array padded with zeros, axis by axis."""
    padded = _constant(array, widths, 0)
    for axis, width in enumerate(widths):
        front = [d for d in range(padded.ndim) if d != axis]
        rows = rearrange.transpose(padded, [*front, axis])
        if not rows.size:
            continue
        flat = rearrange.reshape(rows, (rows.size // rows.shape[-1], rows.shape[-1]))
        for k in range(flat.shape[0]):
            value = func(getitem(flat, k), width, axis, kwargs)
            value, _ = promote_dtypes(value, flat)
            flat = scatter_update(flat, k, convert.convert_element_type(value, flat.dtype), "set")
        rows = rearrange.reshape(flat, rows.shape)
        order = [*front, axis]
        padded = rearrange.transpose(rows, [order.index(d) for d in range(padded.ndim)])
    return padded
