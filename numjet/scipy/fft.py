"""Discrete cosine transforms of types 1 to 4, by fast Fourier transforms of real numbers.

norm: "backward" (None) divides inverse transforms by M = 2 n (2 (n - 1) for type 1), "forward" the others, "ortho" both by
sqrt(M), with weights that make the transform an orthogonal matrix. The real and the imaginary part of complex arrays are
transformed separately; halves and integers become floats of single precision.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax import complex as from_parts
from numjet.lax.axes import as_axes
from numjet.numpy.core.promotion import promote_args, promote_args_inexact

__all__ = ["dct", "dctn", "idct", "idctn"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_NORMS = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}  # the power of 1 / M that scales the transform


@jit_when_eager("type", "n", "axis", "norm")
def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete cosine transform along `axis`, cut or filled with zeros to n elements.

    ValueError for unknown norms, n < 1 and empty axes; NotImplementedError for types other than 1, 2, 3, 4.
    J. Makhoul, "A fast cosine transform in one and two dimensions" (IEEE Trans. ASSP 28, 1980).

    >>> import numjet.numpy as jnp
    >>> dct(jnp.array([1.0, 1.0])).tolist()
    [4.0, 0.0]
    """
    return _transformed("dct", x, type, None if n is None else [n], (axis,), norm)


@jit_when_eager("type", "n", "axis", "norm")
def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of dct, with the same arguments and errors.

    >>> import numjet.numpy as jnp
    >>> idct(dct(jnp.array([1.0, 2.0]))).round(4).tolist()
    [1.0, 2.0]
    """
    return _transformed("idct", x, type, None if n is None else [n], (axis,), norm)


def dctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
         norm: str | None = None) -> Any:
    """dct along several axes. s: their lengths; axes: default all, or as many of the last as s has elements.

    >>> import numjet.numpy as jnp
    >>> dctn(jnp.ones((2, 2))).tolist()
    [[16.0, 0.0], [0.0, 0.0]]
    """
    return _several("dctn", x, type, _static(s), _static(axes), norm)


def idctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None) -> Any:
    """The inverse of dctn, with the same arguments and errors.

    >>> import numjet.numpy as jnp
    >>> idctn(dctn(jnp.ones((2, 2)))).round(4).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _several("idctn", x, type, _static(s), _static(axes), norm)


def _static(numbers: Sequence[int] | None) -> tuple[int, ...] | None:
    if numbers is None:
        return None
    return tuple(operator.index(n) for n in np.atleast_1d(numbers)) if np.size(numbers) else ()


@jit_when_eager("name", "type", "s", "axes", "norm")
def _several(name: str, x: Any, type: int, s: tuple[int, ...] | None, axes: tuple[int, ...] | None, norm: str | None) -> Any:
    ndim = jnp.ndim(x)
    if s is not None and len(s) > ndim:
        raise ValueError(f"jax.scipy.fft.{name}: s must have at most x.ndim ({ndim}) elements, got {len(s)}")
    if axes is None:
        axes = tuple(range(0 if s is None else ndim - len(s), ndim))
    if s is not None and len(s) != len(axes):
        raise ValueError(f"jax.scipy.fft.{name}: s and axes must have one length, got s={s} and axes={axes}")
    return _transformed(name, x, type, s, axes, norm)


def _transformed(name: str, x: Any, kind: int, sizes: Sequence[int] | None, axes: Sequence[int], norm: str | None) -> Any:
    (given,) = promote_args(name, x)
    (x,) = promote_args_inexact(name, x)
    if kind not in _INVERSE:
        raise NotImplementedError(f"jax.scipy.fft.{name}: only types 1, 2, 3 and 4 are implemented, got type={kind!r}")
    if norm not in _NORMS:
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented; "
                         "expected None, 'backward', 'ortho' or 'forward'")
    if x.dtype.itemsize == 2:
        x = jnp.astype(x, np.float32)
    positions = as_axes(axes, x.ndim)
    if len(set(positions)) != len(positions):
        raise ValueError(f"jax.scipy.fft.{name}: repeated axis: {tuple(axes)}")
    if not positions:
        return given  # integers stay integers, as nothing is transformed
    if x.dtype in dtypes.COMPLEX:
        return from_parts(*(_transformed(name, part, kind, sizes, axes, norm) for part in (x.real, x.imag)))
    power = _NORMS[norm]
    if name.startswith("i"):
        kind, power = _INVERSE[kind], 1.0 - power
    for k, axis in enumerate(positions):
        x = _along(name, x, kind, axis, None if sizes is None else operator.index(sizes[k]), power, norm == "ortho")
    return x


def _along(name: str, x: Any, kind: int, axis: int, size: int | None, power: float, orthogonal: bool) -> Any:
    """One transform along one axis, times M**-power."""
    n = x.shape[axis] if size is None else size
    if n < 1 or (kind == 1 and n < 2):
        raise ValueError(f"jax.scipy.fft.{name}: expected at least {1 + (kind == 1)} elements along axis {axis}, got {n}")
    x = jnp.moveaxis(x, axis, -1)
    kept = min(n, x.shape[-1])
    x = jnp.pad(x[..., :kept], [(0, 0)] * (x.ndim - 1) + [(0, n - kept)])
    if orthogonal and kind in (1, 3):
        x = _weighted_ends(x, math.sqrt(2.0), kind == 1)
    out = _KERNELS[kind](x)
    if orthogonal and kind in (1, 2):
        out = _weighted_ends(out, math.sqrt(0.5), kind == 1)
    if power:
        out = out * (2 * (n - (kind == 1))) ** -power
    return jnp.moveaxis(out, -1, axis)


def _numbers(count: int, x: Any) -> Any:
    """0, 1, ... along the last axis of x, in its dtype."""
    return jnp.arange(count, dtype=x.dtype).reshape((1,) * (x.ndim - 1) + (count,))


def _weighted_ends(x: Any, weight: float, both: bool) -> Any:
    """x with the first element, or the first and the last, times `weight`."""
    k = _numbers(x.shape[-1], x)
    at_end = (k == 0) | (k == x.shape[-1] - 1) if both else k == 0
    return jnp.where(at_end, weight * x, x)


def _rotation(count: int, step: float, start: float, x: Any) -> tuple[Any, Any]:
    """cos and sin of start, start + step, ... along the last axis of x."""
    angle = _numbers(count, x) * step + start
    return jnp.cos(angle), jnp.sin(angle)


def _type1(x: Any) -> Any:
    """By the spectrum of the even continuation, which is real."""
    return jnp.fft.rfft(jnp.concatenate([x, jnp.flip(x[..., 1:-1], -1)], -1)).real


def _type2(x: Any) -> Any:
    """Makhoul: the spectrum of the even elements followed by the odd ones reversed, turned by pi k / (2 n)."""
    n = x.shape[-1]
    spectrum = jnp.fft.rfft(jnp.concatenate([x[..., ::2], jnp.flip(x[..., 1::2], -1)], -1))
    cos, sin = _rotation(n // 2 + 1, math.pi / (2 * n), 0.0, x)
    front = 2 * (spectrum.real * cos + spectrum.imag * sin)
    back = 2 * (spectrum.real * sin - spectrum.imag * cos)
    return jnp.concatenate([front, jnp.flip(back[..., 1:(n + 1) // 2], -1)], -1)


def _type3(x: Any) -> Any:
    """The steps of type 2, backwards."""
    n = x.shape[-1]
    half = n // 2
    front = x[..., :half + 1] if n > 1 else x
    back = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.flip(x, -1)[..., :half]], -1)
    cos, sin = _rotation(half + 1, math.pi / (2 * n), 0.0, x)
    spectrum = from_parts(front * cos + back * sin, front * sin - back * cos)
    order = jnp.fft.irfft(spectrum, n, norm="forward")
    even, odd = order[..., :n - half], jnp.flip(order[..., n - half:], -1)
    odd = jnp.pad(odd, [(0, 0)] * (x.ndim - 1) + [(0, n - 2 * half)])
    return jnp.stack([even, odd], -1).reshape(*x.shape[:-1], 2 * (n - half))[..., :n]


def _type4(x: Any) -> Any:
    """By a complex transform of twice the length, of elements turned by pi k / (2 n)."""
    n = x.shape[-1]
    cos, sin = _rotation(n, math.pi / (2 * n), 0.0, x)
    spectrum = jnp.fft.fft(from_parts(x * cos, -x * sin), 2 * n)[..., :n]
    cos, sin = _rotation(n, math.pi / (2 * n), math.pi / (4 * n), x)
    return 2 * (spectrum.real * cos + spectrum.imag * sin)


_KERNELS: dict[int, Callable[[Any], Any]] = {1: _type1, 2: _type2, 3: _type3, 4: _type4}
