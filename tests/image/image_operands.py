"""The functions of numjet.image on operands of every kind, against matrices of weights written in NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import image
from tests.operands import COMPLEX, KINDS, Case

_FEW = {kind: KINDS[kind] for kind in (
    "float64 transposed", "float16", "rank 0", "size 1 of rank 3", "empty of rank 3", "uint8")}


# -------------------------------------------------------------------------------------------- definitions

def _keys(x: np.ndarray, a: float) -> np.ndarray:
    near = (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
    return np.where(x < 1, near, np.where(x < 2, a * (x ** 3 - 5 * x ** 2 + 8 * x - 4), 0))


def _lanczos(x: np.ndarray, radius: int) -> np.ndarray:
    return np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0)


KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: np.maximum(0, 1 - x), "cubic": lambda x: _keys(x, -0.5), "cubic-pytorch": lambda x: _keys(x, -0.5),
    "lanczos3": lambda x: _lanczos(x, 3), "lanczos5": lambda x: _lanczos(x, 5)}


def _columns(method: str, size: int, target: int, scale: float, translation: float, antialias: bool) -> np.ndarray:
    """The weights of the pixels of one axis for each pixel of the result."""
    position, pixels = (np.arange(target) + 0.5 - translation) / scale - 0.5, np.arange(size)[:, None]
    inside = (position >= -0.5) & (position <= size - 0.5)
    if method == "area":
        half = 0.5 / scale
        found = np.maximum(0, np.minimum(position + half, pixels + 0.5) - np.maximum(position - half, pixels - 0.5))
    elif method == "cubic-pytorch" and not antialias:
        around = np.arange(-2, size + 2)[:, None]
        near, found = _keys(abs(position - around), -0.75), np.zeros((size, target))
        np.add.at(found, np.clip(around[:, 0], 0, size - 1), near)
    else:
        found = KERNELS[method](abs(position - pixels) / (max(1 / scale, 1) if antialias else 1))
    beyond = method == "cubic-pytorch" and not antialias  # there the image goes on with the pixels of its edge
    return np.where(inside | beyond, found / found.sum(0), 0)


def _along(x: np.ndarray, axis: int, weights: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.tensordot(x, weights, (axis, 0)), -1, axis)


def _target(shape: tuple[int, ...]) -> tuple[int, ...]:
    """More pixels along the first axis, fewer along the last one; none of none."""
    grown = tuple(n and n + 2 for n in shape[:1])
    return grown + shape[1:-1] + tuple(n and max(n - 1, 1) for n in shape[1:][-1:])


def _resize(x: np.ndarray, method: str = "linear", antialias: bool = True) -> np.ndarray:
    x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    for axis, (n, m) in enumerate(zip(x.shape, _target(x.shape), strict=True)):
        if n != m:
            x = _along(x, axis, _columns(method, n, m, m / n, 0, antialias))
    return x


def _nearest(x: np.ndarray) -> np.ndarray:
    for axis, (n, m) in enumerate(zip(x.shape, _target(x.shape), strict=True)):
        x = np.take(x, ((np.arange(m) + 0.5) * n / max(m, 1)).astype(int), axis)
    return x


def _moved(x: np.ndarray, scale: Any, translation: Any, method: str = "linear", antialias: bool = True) -> np.ndarray:
    x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    x.shape[-2]  # at least two axes
    x = _along(x, 0, _columns(method, x.shape[0], 4, float(scale[0]), float(translation[0]), antialias))
    last = x.ndim - 1
    return _along(x, last, _columns(method, x.shape[last], x.shape[last], float(scale[1]), float(translation[1]), antialias))


# -------------------------------------------------------------------------------------------- tables

def _ours_moved(x: Any, scale: Any, translation: Any, method: str = "linear", antialias: bool = True) -> Any:
    return image.scale_and_translate(x, (4, *x.shape[1:]), (0, -1), scale, translation, method, antialias)


def _ours(x: Any, method: str = "linear", antialias: bool = True) -> Any:
    return image.resize(x, _target(x.shape), method, antialias)


METHODS: list[dict[str, Any]] = [{"method": method} for method in ("cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")]
WITHOUT: list[dict[str, Any]] = [{"method": method, "antialias": False} for method in ("linear", "cubic-pytorch", "lanczos5")]
SCALES = (lambda x: np.float64([1.3, 0.8]), lambda x: np.float64([0.2, -0.4]))
_TWO_AXES = {kind: x for kind, x in KINDS.items() if x.ndim > 1 and x.size}

CASES: dict[str, Case] = {
    "resize": Case(_ours, _resize), "resize, nearest": Case(lambda x: _ours(x, "nearest"), _nearest),
    "resize, methods": Case(_ours, _resize, options=METHODS + WITHOUT, kinds=_FEW),
    "scale_and_translate": Case(_ours_moved, _moved, (lambda x: x, *SCALES), kinds=_TWO_AXES),
    "scale_and_translate, methods": Case(
        _ours_moved, _moved, (lambda x: x, *SCALES), METHODS + WITHOUT,
        kinds={kind: x for kind, x in _TWO_AXES.items() if kind in (*COMPLEX[:1], "float64 transposed", "bfloat16")})}
