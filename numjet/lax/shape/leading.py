"""Operations of padded programs: `leading`, an array of which only the first rows are asked for, and `inside`, where a padded
array has elements.

What other rows hold may be anything, so the compiler may leave out their computation (`cpu/passes/limits.py`).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Samples
from numjet.core.traits import COMPACT, EXACT, KEEPS_APART

_WHY = Missing("of results of padded programs only, which no transformation sees")

leading_p = Op(name="leading", abstract=lambda x, n: x, eager=lambda x, n: x, jvp=_WHY, transpose=_WHY, batch=_WHY,
               cpu=lambda b, x, n: b.leading(x, n), hlo=lambda b, x, n: x, traits=EXACT | KEEPS_APART,
               samples=Missing("what it may leave out is not determined; tests/cpu/passes/test_limits.py"))


def _inside_eager(n: np.ndarray, *, shape: tuple[int, ...], axis: int) -> np.ndarray:
    column = [1] * len(shape)
    column[axis] = shape[axis]
    return np.ascontiguousarray(np.broadcast_to(np.arange(shape[axis]).reshape(column) < n, shape))


def _inside_cpu(b: Any, n: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return b.inside(n, shape, axis)


def _inside_hlo(b: Any, n: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return b.compare("LT", b.iota(shape, axis, n.dtype), b.broadcast(n, shape, ()))


inside_p = Op(
    name="inside", params=("shape", "axis"),
    abstract=lambda n, *, shape, axis: ShapedArray(shape, np.dtype(np.bool_)), eager=_inside_eager, jvp=_WHY, transpose=_WHY,
    batch=_WHY, cpu=_inside_cpu, hlo=_inside_hlo, traits=COMPACT | EXACT, samples=Samples(
        shapes=([()],), dtypes=("int32",), low=0, high=4, order=0, ulps=0,
        params=({"shape": (4,), "axis": 0}, {"shape": (3, 2), "axis": 0}, {"shape": (2, 3), "axis": 1})))
"""Where the index along an axis is below a number: the elements of a padded array. It is computed where it is read, from
positions in memory if the axis is the first, so that loops over all elements stay flat."""
