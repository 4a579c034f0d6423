"""Interpolators of scipy.interpolate: functions of their samples, and of the points, of every kind."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as sp

from numjet.scipy import interpolate
from tests.operands import COMPLEX, KINDS, SPECIAL, Case, Elsewhere

_POINTS = np.array([[-0.5, 0.0, 0.2, 1.75], [0.5, 1.1, 1.4, 3.0]])
_FEW = dict.fromkeys(("rank 0", "size 1", "size 1 of rank 3", "empty"), "too few samples")
_AT_POINTS = {**dict.fromkeys(COMPLEX, "the piece at the real part; SciPy drops the imaginary part"),
              **dict.fromkeys(SPECIAL, "the limits at infinity; SciPy: NaN")}
_SAMPLED = {**KINDS, "float64 transposed": np.random.default_rng(2).normal(0, 2, (4, 1, 6)).T}


def _positions(n: int) -> np.ndarray:
    return np.arange(n) ** 1.5 / 4


def _of_samples(make: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """The interpolator through an array of samples, at some points."""
    def of_samples(y: Any, axis: int = 0, **options: Any) -> Any:
        return make(_positions(y.shape[axis] if y.ndim else 1), y, axis=axis, **fixed, **options)(_POINTS)
    return of_samples


def _at_points(make: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """The interpolator through known samples, at an array of points."""
    return lambda x, **options: make(_positions(6), np.cos(np.arange(6.0)), **fixed)(x, **options)


def _hermite(module: Any) -> Callable[..., Any]:
    return lambda x, y, axis=0: module.CubicHermiteSpline(x, y, y[::-1] if y.ndim else y, axis)


def _pieces(module: Any) -> Callable[..., Any]:
    return lambda x, y, axis=0: module.PPoly(np.stack([y, y])[:, :-1] if axis == 0 and y.ndim else y, x)


def _bspline(module: Any) -> Callable[..., Any]:
    return lambda x, y, axis=0: module.BSpline(np.arange((y.shape[axis] if y.ndim else 1) + 3.0) / 4, y, 2, axis=axis)


def _grid(module: Any) -> Callable[..., Any]:
    def make(x: Any, y: Any, axis: int = 0, **options: Any) -> Any:
        interpolator = module.RegularGridInterpolator((x,), y, bounds_error=False, **options)
        return lambda at: interpolator(at[..., None])
    return make


def _both(of: Callable[..., Any], make: Callable[[Any], Callable[..., Any]], **fixed: Any) -> list[Callable[..., Any]]:
    return [of(make(module), **fixed) for module in (interpolate, sp)]


_MAKERS: dict[str, tuple[Callable[[Any], Callable[..., Any]], list[dict[str, Any]]]] = {
    "CubicSpline": (lambda m: m.CubicSpline, [{}, {"bc_type": "natural"}, {"bc_type": "clamped"}, {"axis": -1},
                                              {"extrapolate": False}]),
    "PchipInterpolator": (lambda m: m.PchipInterpolator, [{}, {"axis": -1}]),
    "Akima1DInterpolator": (lambda m: m.Akima1DInterpolator, [{}, {"method": "makima"}, {"axis": -1}]),
    "CubicHermiteSpline": (_hermite, [{}, {"axis": 0}]),
    "PPoly": (_pieces, [{}]), "BSpline": (_bspline, [{}, {"axis": -1}]),
    "make_interp_spline": (lambda m: m.make_interp_spline, [{"k": 1}, {"k": 2}, {"k": 3}, {"k": 1, "axis": -1}]),
    "RegularGridInterpolator": (_grid, [{}, {"method": "nearest"}, {"fill_value": 2.0}, {"fill_value": None}])}
CASES: dict[str, Case] = {
    **{name: Case(*_both(_of_samples, make), options=options, kinds=_SAMPLED, refused=_FEW)
       for name, (make, options) in _MAKERS.items()},
    **{f"{name} at points": Case(*_both(_at_points, make), options=[{}, {"nu": 1}, {"extrapolate": False}],
                                 decided=_AT_POINTS)
       for name, (make, _) in _MAKERS.items() if name != "RegularGridInterpolator"},
    "RegularGridInterpolator at points": Case(*_both(_at_points, _grid), decided=dict.fromkeys(
        COMPLEX, "computed with complex numbers, as in JAX; SciPy drops the imaginary part"))}
# Kinds that only SciPy refuses.
for _name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicHermiteSpline", "make_interp_spline"):
    _kinds = dict.fromkeys(SPECIAL, "NaN next to samples that are not finite")
    if _name == "Akima1DInterpolator":
        _kinds |= dict.fromkeys(COMPLEX, "weights by absolute values, as of real samples")
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered=_kinds)
ELSEWHERE: dict[str, Elsewhere] = {}
