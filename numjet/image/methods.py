"""Interpolation kernels: the weight of a pixel by its distance from the sampled position."""
from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp

_NAMES = {
    "nearest": "NEAREST",
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), "LINEAR"),
    "lanczos3": "LANCZOS3",
    "lanczos5": "LANCZOS5",
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), "CUBIC"),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), "CUBIC_PYTORCH"),
    "area": "AREA",
}


class ResizeMethod(enum.Enum):
    """Interpolation methods of resize and scale_and_translate.

    NEAREST: the pixel at the sampled position. LINEAR: triangle kernel. CUBIC: Keys' kernel, a = -1/2. CUBIC_PYTORCH: with
    antialias the same, without it Keys' kernel with a = -3/4 on an image that goes on with the pixels of its edge.
    LANCZOS3, LANCZOS5: windowed sinc of radius 3 or 5. AREA: the mean of the pixels below, each by the area it covers.

    >>> ResizeMethod.from_string("bicubic")
    <ResizeMethod.CUBIC: 4>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name such as 'bilinear'. ValueError for unknown ones.

        >>> ResizeMethod.from_string("triangle")
        <ResizeMethod.LINEAR: 1>
        """
        if s not in _NAMES:
            raise ValueError(f'Unknown resize method "{s}"; expected a ResizeMethod or one of {sorted(_NAMES)}')
        return ResizeMethod[_NAMES[s]]


# -------------------------------------------------------------------------------------------- kernels

def triangle(x: Any) -> Any:
    """The linear kernel at distances x >= 0."""
    return jnp.maximum(0, 1 - x)


def keys(a: float) -> Callable[[Any], Any]:
    """Cubic convolution with the slope a at 1: Keys 1981, "Cubic convolution interpolation for digital image processing"."""
    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = a * (((x - 5) * x + 8) * x - 4)
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))
    return kernel


def lanczos(radius: float) -> Callable[[Any], Any]:
    """sinc(x) sinc(x / radius) for x < radius."""
    def kernel(x: Any) -> Any:
        small = x < 1e-3  # there the product is 1 to rounding in single precision, and 1 - O(x^2) in double
        safe = jnp.where(small, 1, x)
        value = radius * jnp.sin(math.pi * safe) * jnp.sin(math.pi * safe / radius) / (math.pi * safe) ** 2
        series = 1 - (math.pi * x) ** 2 * (1 + 1 / radius ** 2) / 6
        return jnp.where(small, series, jnp.where(x < radius, value, 0))
    return kernel


KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3.0),
    ResizeMethod.LANCZOS5: lanczos(5.0),
    ResizeMethod.CUBIC: keys(-0.5),
    ResizeMethod.CUBIC_PYTORCH: keys(-0.75),
}
