"""map_coordinates of scipy.ndimage on arrays of every kind."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as sp

from numjet.scipy import ndimage
from tests.operands import COMPLEX, EMPTY, SPECIAL, Case, Elsewhere

# Modes of SciPy that do the same: its "constant" and "wrap" interpolate differently beyond the ends.
_MODES = {"constant": "grid-constant", "wrap": "grid-wrap"}


def _points(x: np.ndarray) -> np.ndarray:
    """Positions within the array and beyond its ends, none of which lies halfway between two elements."""
    return np.random.default_rng(3).uniform(-2, 5, (x.ndim, 7)).astype(np.float32)


def _theirs(x: np.ndarray, at: np.ndarray, order: int, mode: str = "constant", cval: float = 0.0) -> Any:
    if not np.issubdtype(x.dtype, np.inexact):  # SciPy cuts integers off, here they are rounded
        found = sp.map_coordinates(x.astype(np.float64), at, order=order, mode=_MODES.get(mode, mode), cval=cval)
        return np.trunc(found + np.copysign(0.5, found)).astype(x.dtype)
    return sp.map_coordinates(x, at, order=order, mode=_MODES.get(mode, mode), cval=cval)


_OPTIONS = [{"order": 1}, {"order": 0}, *({"order": 1, "mode": mode} for mode in ("nearest", "wrap", "mirror", "reflect")),
            {"order": 1, "cval": 1}]
CASES: dict[str, Case] = {
    "map_coordinates": Case(ndimage.map_coordinates, _theirs, [lambda x: x, _points], _OPTIONS,
                            refused=dict.fromkeys(EMPTY, "there are no elements to index"),
                            unanswered={"rank 0": "a number, which has no axis of coordinates; JAX refuses it, too"},
                            decided={"bool": "true where the value is not 0, as in JAX; SciPy: where it is 1"}),
    "map_coordinates at the points": Case(
        lambda c, **options: ndimage.map_coordinates(np.cos(np.arange(5.0)), [c], **options),
        lambda c, **options: _theirs(np.cos(np.arange(5.0)), c.reshape(1, -1), **options).reshape(c.shape), options=_OPTIONS,
        refused=dict.fromkeys(COMPLEX, "positions are real"),
        decided=dict.fromkeys(SPECIAL, "NaN at an infinite position; SciPy: some element"))}
ELSEWHERE: dict[str, Elsewhere] = {}
