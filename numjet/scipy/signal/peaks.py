"""Peaks of samples, with a static number of places for them under jit."""
from __future__ import annotations

import operator
from typing import Any

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop
from numjet.core.trace import Tracer
from numjet.foundation.errors import ConcretizationTypeError
from numjet.lax import cummin
from numjet.numpy.core.promotion import array_arg


def _local_maxima(x: Any) -> tuple[Any, Any, Any]:
    """True at peaks: samples, or middles of plateaus (rounded down), of which both neighbours are lower; the plateaus'
    edges."""
    n = x.shape[0]
    place = jnp.arange(n)
    starts = jnp.concatenate([jnp.zeros(1, bool), x[1:] > x[:-1]])
    changes = jnp.concatenate([x[1:] != x[:-1], jnp.ones(1, bool)])
    last = cummin(jnp.where(changes, place, n), axis=0, reverse=True)  # the end of the plateau
    after = jnp.take(x, jnp.minimum(last + 1, n - 1))
    found = starts & (last < n - 1) & (after < x)
    middle = jnp.where(found, (place + last) // 2, n)
    edges = (place.at[middle].set(v, mode="drop") for v in (place, last))
    return jnp.zeros(n, bool).at[middle].set(True, mode="drop"), *edges


def _interval(name: str, value: Any) -> tuple[Any, Any]:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"find_peaks: expected {name} as a number, an array or a pair (least, most), got {len(value)} "
                             "values")
        return value[0], value[1]
    return value, None


def _within(x: Any, interval: tuple[Any, Any]) -> Any:
    low, high = interval
    fine = jnp.ones(x.shape, bool)
    fine = fine if low is None else fine & (x >= low)
    return fine if high is None else fine & (x <= high)


def _prominences(x: Any, wlen: int | None) -> tuple[Any, Any, Any]:
    """Of every sample: how far it stands out, and where the lowest samples on both sides up to higher ones are."""
    n = x.shape[0]
    place = jnp.arange(n)
    reach = n if wlen is None else wlen // 2

    def side(x: Any) -> tuple[Any, Any]:
        """Lowest value, and its last place, to the left up to the first higher sample: one row per distance."""
        def step(d: Any, state: Any) -> Any:
            low, at, going = state
            j = place - d
            value = jnp.take(x, jnp.maximum(j, 0))
            going = going & (j >= 0) & (value <= x)
            lower = going & (value < low)
            return jnp.where(lower, value, low), jnp.where(lower, j, at), going
        low, at, _ = fori_loop(1, min(reach, n - 1) + 1, step, (x, place, jnp.ones(n, bool)))
        return low, at
    left, left_at = side(x)
    right, right_at = side(jnp.flip(x))
    return x - jnp.maximum(left, jnp.flip(right)), left_at, n - 1 - jnp.flip(right_at)


def _widths(x: Any, prominences: Any, left: Any, right: Any, rel_height: Any) -> tuple[Any, Any, Any, Any]:
    """Of every sample: width, height at which it is measured, and both ends between samples, by linear interpolation.

    The search stays within the bases, where the samples are at most as high as the height.
    """
    n = x.shape[0]
    place = jnp.arange(n)
    height = x - prominences * rel_height

    def side(x: Any, base: Any) -> Any:
        """To the left: where the samples first fall to the height."""
        def step(_: Any, at: Any) -> Any:
            return jnp.where((base < at) & (height < jnp.take(x, at)), at - 1, at)
        at = fori_loop(0, n - 1, step, place)
        low = jnp.take(x, at)
        step_up = jnp.take(x, jnp.minimum(at + 1, n - 1)) - low
        return at.astype(height.dtype) + jnp.where(low < height, (height - low) / jnp.where(step_up == 0, 1, step_up), 0)
    ends = side(x, left)
    height = jnp.flip(height)
    others = n - 1 - jnp.flip(side(jnp.flip(x), jnp.flip(n - 1 - right)))
    return others - ends, jnp.flip(height), ends, others


def _checked_peaks(name: str, x: Any, peaks: Any) -> tuple[Any, Any]:
    """A real vector of samples, and integer places in it. ValueError for other shapes, and for known places out of bounds."""
    x, peaks = jnp.asarray(array_arg(name, x)), jnp.asarray(array_arg(name, peaks))
    if x.ndim != 1 or peaks.ndim != 1:
        raise ValueError(f"{name}: expected vectors, got the shapes {x.shape} and {peaks.shape}")
    if not peaks.size:
        peaks = jnp.astype(peaks, int)
    if not jnp.issubdtype(peaks.dtype, jnp.integer):
        raise TypeError(f"{name}: expected integers as peaks, got {peaks.dtype.name}")
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else jnp.astype(x, float)
    if not isinstance(peaks, Tracer) and peaks.size and not (0 <= int(peaks.min()) and int(peaks.max()) < x.shape[0]):
        raise ValueError(f"{name}: expected peaks from 0 to {x.shape[0] - 1}, got {int(peaks.min())} to {int(peaks.max())}")
    return x, peaks


def peak_prominences(x: Any, peaks: Any, wlen: int | None = None) -> tuple[Any, Any, Any]:
    """How far peaks stand out: their heights over the higher of the lowest samples on both sides up to higher samples.

    x: real samples, a vector. peaks: places in it. wlen: a static window for the search, all samples by default. Returns
    (prominences, left_bases, right_bases), 0 for places that are no peaks. ValueError for other shapes and places.

    >>> import numjet.numpy as jnp
    >>> [v.tolist() for v in peak_prominences(jnp.array([0.0, 2.0, 1.0, 3.0, 0.0]), jnp.array([1, 3]))]
    [[1.0, 3.0], [0, 0], [2, 4]]
    """
    x, peaks = _checked_peaks("peak_prominences", x, peaks)
    if x.shape[0] == 0:
        return jnp.zeros(0, x.dtype), peaks, peaks
    found = _prominences(x, None if wlen is None else operator.index(wlen))
    sizes, left, right = (jnp.take(v, peaks) for v in found)
    return sizes, left, right


def peak_widths(x: Any, peaks: Any, rel_height: Any = 0.5, prominence_data: tuple[Any, Any, Any] | None = None,
                wlen: int | None = None) -> tuple[Any, Any, Any, Any]:
    """Widths of peaks, at the height that is rel_height times the prominence below them, between samples by linear
    interpolation.

    x, peaks, wlen: as of peak_prominences. rel_height: 1 is at the base. prominence_data: what peak_prominences gave for the
    peaks, computed if it is not passed. Returns (widths, width_heights, left_ips, right_ips), in samples. ValueError for other
    shapes and places, and for negative rel_height.

    >>> import numjet.numpy as jnp
    >>> [v.tolist() for v in peak_widths(jnp.array([0.0, 2.0, 0.0]), jnp.array([1]))]
    [[1.0], [1.0], [0.5], [1.5]]
    """
    x, peaks = _checked_peaks("peak_widths", x, peaks)
    if not isinstance(rel_height, Tracer) and rel_height < 0:
        raise ValueError("`rel_height` must be greater or equal to 0.0")
    if x.shape[0] == 0:
        none = jnp.zeros(0, x.dtype)
        return none, none, none, none
    data = _prominences(x, None if wlen is None else operator.index(wlen))
    if prominence_data is not None:
        data = tuple(v.at[peaks].set(jnp.asarray(given, v.dtype)) for v, given in zip(data, prominence_data, strict=True))
    widths, heights, left, right = (jnp.take(v, peaks) for v in _widths(x, *data, rel_height))
    return widths, heights, left, right


def _apart(x: Any, chosen: Any, distance: Any) -> Any:
    """Peaks that remain when lower ones closer than `distance` to higher ones are left out, the highest first."""
    n = x.shape[0]
    place = jnp.arange(n)
    order = jnp.argsort(jnp.where(chosen, x, -jnp.inf), stable=True)[::-1]

    def step(k: Any, keep: Any) -> Any:
        i = order[k]
        near = (jnp.abs(place - i) < distance) & (place != i)
        return jnp.where(keep[i] & near, False, keep)
    return fori_loop(0, jnp.sum(chosen), step, chosen)


def find_peaks(x: Any, height: Any = None, threshold: Any = None, distance: Any = None, prominence: Any = None,
               width: Any = None, wlen: int | None = None, rel_height: Any = 0.5, plateau_size: Any = None, *,
               size: int | None = None) -> tuple[Any, dict[str, Any]]:
    """Indices of the peaks of a vector, samples or plateaus (their middles) with lower neighbours, and their properties.

    Args:
      x: real samples, a vector.
      height: least height, or a pair (least, most). threshold: the same for the distance in height to the neighbours.
      distance: least distance in samples, >= 1; of closer peaks the higher ones stay. prominence: as height, of how far a peak
        stands out from the lowest samples around it up to higher ones; wlen: a static window for it.
      width: as height, of peak_widths at rel_height. plateau_size: as height, of the samples of a plateau.
      size: static: how many peaks to return, the first ones, with -1 behind the last. Needed in programs that are traced.

    Returns:
      (peaks, properties): integers of the shape (size,), and, for conditions that are given, peak_heights, left_thresholds,
      right_thresholds, prominences, left_bases, right_bases, widths, width_heights, left_ips, right_ips, plateau_sizes,
      left_edges, right_edges, as SciPy has them.

    Raises:
      ValueError: x that is no vector, distance < 1. ConcretizationTypeError: tracers without size.

    >>> import numjet.numpy as jnp
    >>> find_peaks(jnp.array([0.0, 2.0, 0.0, 1.0, 1.0, 0.0]))[0].tolist()
    [1, 3]
    >>> find_peaks(jnp.array([0.0, 2.0, 0.0, 1.0, 1.0, 0.0]), height=1.5, size=2)[0].tolist()
    [1, -1]
    """
    x = jnp.asarray(array_arg("find_peaks", x))
    if x.ndim != 1:
        raise ValueError(f"`x` must be a 1-D array, got shape {x.shape}")
    if distance is not None and not isinstance(distance, Tracer) and distance < 1:
        raise ValueError("`distance` must be greater or equal to 1")
    if isinstance(x, Tracer) and size is None:
        raise ConcretizationTypeError(x, "find_peaks: the number of peaks depends on values; pass size=, a static bound")
    if jnp.iscomplexobj(x):
        raise TypeError(f"find_peaks: complex numbers have no order, got {x.dtype.name}; pass abs(x) or x.real")
    x = x.astype(jnp.int32) if x.dtype == bool else x
    if x.shape[0] < 3:
        x = jnp.full(3, x[0] if x.shape[0] else 0, x.dtype)  # which has no peaks, either
    chosen, first, last = _local_maxima(x)
    found: dict[str, Any] = {}
    if plateau_size is not None:
        chosen = chosen & _within(last - first + 1, _interval("plateau_size", plateau_size))
        found |= {"plateau_sizes": last - first + 1, "left_edges": first, "right_edges": last}
    if height is not None:
        chosen = chosen & _within(x, _interval("height", height))
        found["peak_heights"] = x
    if threshold is not None:
        left, right = x - jnp.roll(x, 1), x - jnp.roll(x, -1)
        low, high = _interval("threshold", threshold)
        chosen = chosen & _within(jnp.minimum(left, right), (low, None)) & _within(jnp.maximum(left, right), (None, high))
        found |= {"left_thresholds": left, "right_thresholds": right}
    if distance is not None:
        chosen = _apart(x, chosen, jnp.ceil(distance))
    if prominence is not None or width is not None:
        sizes, left, right = _prominences(x, None if wlen is None else operator.index(wlen))
        chosen = chosen & _within(sizes, _interval("prominence", prominence))
        found |= {"prominences": sizes, "left_bases": left, "right_bases": right}
    if width is not None:
        real = x if jnp.issubdtype(x.dtype, jnp.floating) else jnp.astype(x, float)
        widths, heights, begin, end = _widths(real, sizes, left, right, rel_height)
        chosen = chosen & _within(widths, _interval("width", width))
        found |= {"widths": widths, "width_heights": heights, "left_ips": begin, "right_ips": end}
    count = int(jnp.sum(chosen)) if size is None else operator.index(size)
    (peaks,) = jnp.nonzero(chosen, size=count, fill_value=-1)
    return peaks, {name: jnp.where(peaks < 0, 0, jnp.take(v, peaks, mode="clip")) for name, v in found.items()}
