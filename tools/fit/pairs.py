"""The largest errors of functions of two operands, on samples."""
from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

from tools.fit.measure import LONG, bit_patterns, evaluate, reference, ulps, uniform

BINARY: dict[str, Callable[[mp.mpf, mp.mpf], mp.mpf]] = {"atan2": mp.atan2, "hypot": mp.hypot, "pow": mp.power}
CONFIRMED = 8   # of the largest errors in an interval: the quick reference may be what is wrong


def samples(dtype: np.dtype, count: int) -> list[np.ndarray]:
    """5 * count pairs: of all magnitudes, and where results are ordinary numbers."""
    shuffle = np.random.default_rng(1).permutation
    first = [bit_patterns(dtype, count, 3), np.exp(uniform(dtype, -5, 5, count, 1)), 1 + uniform(dtype, -1e-3, 1e-3, count, 2),
             np.exp(uniform(dtype, -80, 80, count, 3)), uniform(dtype, -9, 9, count, 4)]
    second = [shuffle(bit_patterns(dtype, count, 4)), uniform(dtype, -30, 30, count, 5), uniform(dtype, -1e5, 1e5, count, 6),
              uniform(dtype, -9, 9, count, 7), np.round(uniform(dtype, -9, 9, count, 8))]
    return [np.concatenate(first), np.concatenate(second)]


def largest_errors(op: str, dtype: np.dtype, count: int, interval: Callable[[np.ndarray], np.ndarray],
                   intervals: int) -> tuple[list[float], list[str]]:
    """Per interval of the first operand, the largest error in units of the last place and where it is, as hexadecimal text."""
    x, y = samples(dtype, count)
    got = evaluate(op, x, y)
    error, inside = ulps(got, reference(op, x, y)), interval(x)
    worst, places = [0.0] * intervals, [""] * intervals
    for k in range(intervals):
        here = np.flatnonzero((inside == k) & (error > 0))
        for place in here[np.argsort(error[here])[:-CONFIRMED - 1:-1]]:
            exact = _exact_error(op, x[place], y[place], got[place])
            if exact > worst[k]:
                worst[k], places[k] = exact, f"{float(x[place]).hex()} {float(y[place]).hex()}"
    return worst, places


def _exact_error(op: str, x: np.floating, y: np.floating, got: np.floating) -> float:
    with mp.workprec(200):
        value = BINARY[op](mp.mpf(float(x)), mp.mpf(float(y)))
        high = float(value)
        low = float(value - mp.mpf(high)) if np.isfinite(high) else 0.0
    return float(ulps(np.array([got]), np.array([LONG(high) + LONG(low)]))[0])
