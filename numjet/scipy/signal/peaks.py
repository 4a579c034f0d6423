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


def _local_maxima(x: Any) -> Any:
    """True at peaks: samples, or middles of plateaus (rounded down), of which both neighbours are lower."""
    n = x.shape[0]
    place = jnp.arange(n)
    starts = jnp.concatenate([jnp.zeros(1, bool), x[1:] > x[:-1]])
    changes = jnp.concatenate([x[1:] != x[:-1], jnp.ones(1, bool)])
    last = cummin(jnp.where(changes, place, n), axis=0, reverse=True)  # the end of the plateau
    after = jnp.take(x, jnp.minimum(last + 1, n - 1))
    found = starts & (last < n - 1) & (after < x)
    return jnp.zeros(n, bool).at[jnp.where(found, (place + last) // 2, n)].set(True, mode="drop")


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
               wlen: int | None = None, *, size: int | None = None) -> tuple[Any, dict[str, Any]]:
    """Indices of the peaks of a vector, samples or plateaus (their middles) with lower neighbours, and their properties.

    Args:
      x: real samples, a vector.
      height: least height, or a pair (least, most). threshold: the same for the distance in height to the neighbours.
      distance: least distance in samples, >= 1; of closer peaks the higher ones stay. prominence: as height, of how far a peak
        stands out from the lowest samples around it up to higher ones; wlen: a static window for it.
      size: static: how many peaks to return, the first ones, with -1 behind the last. Needed in programs that are traced.

    Returns:
      (peaks, properties): integers of the shape (size,), and, for conditions that are given, peak_heights, left_thresholds,
      right_thresholds, prominences, left_bases, right_bases, as SciPy has them.

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
    if x.shape[0] < 3:
        return jnp.full(0 if size is None else size, -1), {}
    chosen, found = _local_maxima(x), {}
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
    if prominence is not None:
        sizes, left, right = _prominences(x, None if wlen is None else operator.index(wlen))
        chosen = chosen & _within(sizes, _interval("prominence", prominence))
        found |= {"prominences": sizes, "left_bases": left, "right_bases": right}
    count = int(jnp.sum(chosen)) if size is None else operator.index(size)
    (peaks,) = jnp.nonzero(chosen, size=count, fill_value=-1)
    return peaks, {name: jnp.where(peaks < 0, 0, jnp.take(v, peaks, mode="clip")) for name, v in found.items()}
