"""The functions of scipy.integrate on samples of every kind."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as sp

from numjet.scipy import integrate
from tests.operands import KINDS, Case, Elsewhere

_NO_AXIS = {"rank 0": "there is no axis"}
_EMPTY = {"empty": "no samples; SciPy: 0 or an error of its own"}
_SPACED = [{}, {"dx": 0.5}, {"axis": 0}, {"axis": -2}]
_BOOL = {"bool": "the sum of two is 2; SciPy: True"}
# Numbers of samples that are one plus a power of 2.
_POWERS = {**{kind: KINDS[kind] for kind in ("int64", "rank 0", "size 1", "empty")},
           **{kind: np.resize(x, (3, 5)) for kind, x in KINDS.items() if x.size > 3 and kind != "int64"}}


def _at(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of samples at positions that are not equally far apart."""
    return lambda y, axis=-1, **options: function(y, x=np.arange(y.shape[axis] if y.ndim else 1) ** 2.0, axis=axis, **options)


def _simpson(y: np.ndarray, **options: Any) -> Any:
    return sp.simpson(y if np.issubdtype(y.dtype, np.inexact) else y.astype(np.float64), **options)


CASES: dict[str, Case] = {
    "trapezoid": Case(integrate.trapezoid, sp.trapezoid, options=_SPACED, refused=_NO_AXIS, decided=_BOOL),
    "simpson": Case(integrate.simpson, _simpson, options=_SPACED, refused={**_NO_AXIS, **_EMPTY}),
    "romb": Case(integrate.romb, sp.romb, options=_SPACED, kinds=_POWERS, refused=_NO_AXIS, decided=_BOOL),
    "cumulative_trapezoid": Case(integrate.cumulative_trapezoid, sp.cumulative_trapezoid, refused=_NO_AXIS,
                                 options=[*_SPACED, {"initial": 0}], decided=_BOOL),
    "cumulative_simpson": Case(integrate.cumulative_simpson, sp.cumulative_simpson, refused=_NO_AXIS,
                               options=[*_SPACED, {"initial": 2.0}]),
    **{f"{name} at positions": Case(_at(getattr(integrate, name)), _at(getattr(sp, name)), options=[{}, {"axis": 0}],
                                    refused=_NO_AXIS, decided=_BOOL if "trapezoid" in name else {})
       for name in ("trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson")}}
ELSEWHERE = {"quad": Elsewhere("scipy/test_integrate.py", "takes a function"),
             "solve_ivp": Elsewhere("scipy/test_solve_ivp.py", "takes a function")}
