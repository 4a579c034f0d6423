"""The functions of scipy.fft on operands of every kind."""
from __future__ import annotations

import numpy as np
import scipy.fft as sp

from numjet.scipy import fft
from tests.operands import KINDS, Case, Elsewhere

_ONE_AXIS = [{}, {"type": 1, "axis": 0}, {"type": 3, "norm": "ortho", "n": 3, "axis": -2},
             {"type": 4, "norm": "forward", "n": 7}]
_AXES = [{}, {"type": 1, "axes": -1}, {"type": 3, "norm": "ortho", "s": (2, 4), "axes": (1, 0)},
         {"type": 4, "norm": "forward", "axes": ()}]
_KINDS = {**KINDS, "NaN in one row": np.array([[1, np.nan, 3, 4], [1, 2, 3, 5]], np.float32)}
_INFINITE = {"special values reversed": "infinities in a row reach all of it in another way: as NaN or infinity"}
CASES: dict[str, Case] = {
    name: Case(getattr(fft, name), getattr(sp, name), options=options, kinds=_KINDS, decided=_INFINITE)
    for names, options in ((("dct", "idct"), _ONE_AXIS), (("dctn", "idctn"), _AXES)) for name in names}
ELSEWHERE: dict[str, Elsewhere] = {}
