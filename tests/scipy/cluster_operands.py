"""vq of scipy.cluster on observations of every kind."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet.scipy.cluster import vq
from tests.operands import KINDS, Case, Elsewhere


def _codes(x: np.ndarray) -> np.ndarray:
    """Three codes of the width of the observations."""
    return np.random.default_rng(3).normal(0, 2, (3, *x.shape[1:])).astype(np.float32)


def _nearest(obs: np.ndarray, codes: np.ndarray) -> Any:
    """The definition: SciPy's vq takes no NaN, no complex numbers, and no observations."""
    obs, codes = (x.reshape(len(x), math.prod(x.shape[1:])) for x in (np.atleast_1d(obs), codes))
    distances = np.linalg.norm(obs[:, None] - codes[None], axis=-1)
    return np.argmin(distances, 1).astype(np.int32), np.min(distances, 1)


_NO_VECTORS = "observations are the rows of a matrix, or numbers"
CASES: dict[str, Case] = {
    "vq": Case(vq.vq, _nearest, [lambda x: x, _codes],
               refused={kind: _NO_VECTORS for kind, x in KINDS.items() if x.ndim not in (1, 2)},
               differentiated="float64 matrix", kinds={**KINDS, "float64 matrix": np.asfortranarray(
                   np.random.default_rng(4).normal(0, 2, (4, 3)))})}
ELSEWHERE: dict[str, Elsewhere] = {}
