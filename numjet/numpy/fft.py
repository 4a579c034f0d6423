"""Discrete Fourier transforms: numpy.fft for arrays that can be traced, differentiated, batched and compiled.

Single precision gives complex64, double precision complex128. norm: "backward" (None) divides inverse transforms
by the number of elements N, "forward" the others, "ortho" both by sqrt(N).
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer
from numjet.lax.axes import as_axes
from numjet.lax.elementwise.arithmetic import div, mul
from numjet.lax.fourier import FftType, fft as _transform
from numjet.lax.operands import scalar
from numjet.lax.shape.rearrange import transpose
from numjet.lax.templates import call
from numjet.numpy.core import taped as _taped
from numjet.numpy.core.arrays import array
from numjet.numpy.core.promotion import array_arg, as_dtype, broadcast_to
from numjet.numpy.shaping.repeating import roll

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

_INVERSE = (FftType.IFFT, FftType.IRFFT)


def _nd(name: str, kind: FftType, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None) -> Any:
    """All transforms: axes to the end, cut or filled up to size, transformed, scaled, moved back."""
    x = array_arg(f"fft.{name}", a)
    positions, sizes = _axes_and_sizes(name, x.ndim, s, axes)
    if kind is FftType.IRFFT and not positions:
        kind = FftType.IFFT     # no axis along which the result would be real
    shape = x.shape
    if sizes is None:
        sizes = [shape[d] for d in positions]
        if kind is FftType.IRFFT:
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    order = [*(d for d in range(x.ndim) if d not in positions), *positions]
    x = x if order == sorted(order) else transpose(x, order)
    given = list(sizes)
    if kind is FftType.IRFFT:
        given[-1] = sizes[-1] // 2 + 1 if sizes[-1] else 0
    out = _scaled(_transform(_resized(x, given), kind, sizes), kind, prod(sizes), norm)
    return out if order == sorted(order) else transpose(out, [order.index(d) for d in range(len(order))])


def _axes_and_sizes(name: str, ndim: int, s: Any, axes: Any) -> tuple[tuple[int, ...], list[int] | None]:
    sizes = None if s is None else [as_integer(n, f"jnp.fft.{name}: a size in s") for n in s]
    if sizes is not None and any(n <= 0 for n in sizes):
        raise ValueError(f"Shape should be positive: jax.numpy.fft.{name} got {tuple(sizes)}.")
    if axes is None:
        axes = range(ndim) if sizes is None else range(ndim - len(sizes), ndim)
    axes = tuple(axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    if sizes is not None and len(sizes) != len(axes):
        raise ValueError(f"Shape and axes have different lengths: jax.numpy.fft.{name} got {tuple(sizes)} and {axes}.")
    positions = as_axes(axes, ndim)
    if len(set(positions)) != len(positions):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    return positions, sizes


def _resized(x: Any, sizes: Sequence[int]) -> Any:
    """x with its last axes cut, or filled with zeros, to `sizes`."""
    start = x.ndim - len(sizes)
    if tuple(sizes) == x.shape[start:]:
        return x
    config = ((0, 0, 0),) * start + tuple((0, n - old, 0) for n, old in zip(sizes, x.shape[start:], strict=True))
    return call("pad", x, scalar(0, x.dtype), padding_config=config)


def _scaled(out: Any, kind: FftType, n: int, norm: str | None) -> Any:
    """The default norm's result in another norm."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if norm in (None, "backward") or n == 0:
        return out
    factor = sqrt(n) if norm == "ortho" else float(n)
    return call("mul", out, scalar(factor if kind in _INVERSE else 1 / factor, aval_of(out).dtype))


def _1d(name: str, kind: FftType, a: Any, n: int | None, axis: int | None, norm: str | None) -> Any:
    """The transform along one axis, the last by default (None)."""
    if isinstance(axis, (list, tuple)):
        raise ValueError(f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. "
                         f"Got axis = {axis!r}.")
    return _nd(name, kind, a, None if n is None else (n,), (-1 if axis is None else axis,), norm)


def _2d(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
    return _nd(name, kind, a, s, axes, norm)


# -------------------------------------------------------------------------------------------- one axis

def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform along an axis, which is first cut, or filled with zeros, to n elements.

    ValueError for an axis out of bounds, n < 1, or an unknown norm.

    >>> import numjet.numpy as jnp
    >>> fft(jnp.array([1., 0., 0.])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    return _1d("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`.

    >>> import numjet.numpy as jnp
    >>> ifft(jnp.array([2., 0.])).tolist()
    [(1+0j), (1+0j)]
    """
    return _1d("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 coefficients of the transform of real values. ValueError for complex ones.

    >>> import numjet.numpy as jnp
    >>> rfft(jnp.array([1., 2., 3., 2.])).tolist()
    [(8+0j), (-2+0j), 0j]
    """
    return _1d("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`: n real values (by default 2 (m - 1) of m coefficients).

    >>> import numjet.numpy as jnp
    >>> irfft(jnp.array([8., -2., 0.])).tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    return _1d("irfft", FftType.IRFFT, a, n, axis, norm)


def _mirrored(norm: str | None) -> str | None:
    """The norm with the directions exchanged."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def _conj(x: Any) -> Any:
    x = array_arg("fft.hfft", x)
    return call("conj", x, input_dtype=x.dtype) if x.dtype.kind == "c" else x


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform, which is real, of values with a[-k] = conj(a[k]), of which half is given; n: size of the result.

    >>> import numjet.numpy as jnp
    >>> hfft(jnp.array([1., 2., 3.])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """
    return _1d("hfft", FftType.IRFFT, _conj(a), n, axis, _mirrored(norm))


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`: n // 2 + 1 values.

    >>> import numjet.numpy as jnp
    >>> ihfft(jnp.array([8., -2., 0., -2.])).real.tolist()
    [1.0, 2.0, 3.0]
    """
    return _conj(_1d("ihfft", FftType.RFFT, a, n, axis, _mirrored(norm)))


# -------------------------------------------------------------------------------------------- several axes

def fftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The transform along `axes` (by default all, or the last len(s)), cut or filled with zeros to sizes s.

    ValueError for repeated axes, sizes below 1, and when s and axes differ in length.

    >>> import numjet.numpy as jnp
    >>> fftn(jnp.ones((2, 2))).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return _nd("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`.

    >>> import numjet.numpy as jnp
    >>> ifftn(fftn(jnp.ones((2, 2)))).real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _nd("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """As `fftn`, of real values: half of the coefficients along the last of `axes`.

    >>> import numjet.numpy as jnp
    >>> rfftn(jnp.ones((2, 3))).shape
    (2, 2)
    """
    return _nd("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`; s: sizes of the result.

    >>> import numjet.numpy as jnp
    >>> irfftn(jnp.ones((2, 2)), s=(2, 3)).shape
    (2, 3)
    """
    return _nd("irfftn", FftType.IRFFT, a, s, axes, norm)


def fft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """`fftn` along two axes.

    >>> import numjet.numpy as jnp
    >>> fft2(jnp.ones((5, 2, 3))).shape
    (5, 2, 3)
    """
    return _2d("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """`ifftn` along two axes.

    >>> import numjet.numpy as jnp
    >>> ifft2(jnp.ones((2, 3))).dtype.name
    'complex64'
    """
    return _2d("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """`rfftn` along two axes.

    >>> import numjet.numpy as jnp
    >>> rfft2(jnp.ones((2, 3))).shape
    (2, 2)
    """
    return _2d("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """`irfftn` along two axes.

    >>> import numjet.numpy as jnp
    >>> irfft2(jnp.ones((2, 3))).shape
    (2, 4)
    """
    return _2d("irfft2", FftType.IRFFT, a, s, axes, norm)


# -------------------------------------------------------------------------------------------- helpers

def _frequencies(name: str, counts: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Any:
    if isinstance(d, (list, tuple)) or np.ndim(d):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {d!r}.")
    wanted = dtypes.canonicalize_dtype(float) if dtype is None else dtypes.check_user_dtype(dtype, f"fft.{name}")
    if dtypes.kind(aval_of(d).dtype) not in "fiub":
        raise ValueError(f"The d argument of jax.numpy.fft.{name} must be a real number. Got d = {d!r}.")
    if isinstance(d, Tracer):
        step = mul(as_dtype(d, wanted), np.asarray(n, wanted)[()])
        return div(counts.astype(wanted), broadcast_to(step, counts.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (counts / (np.asarray(d, np.float64) * n)).astype(wanted)
    return array(values, device=device)


def _count(name: str, n: Any) -> int:
    if isinstance(n, (list, tuple)) or np.ndim(n):
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {n!r}.")
    return as_integer(n, f"jnp.fft.{name}: n")


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the n coefficients of `fft`, for samples that are d apart.

    >>> fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    n = _count("fftfreq", n)
    counts = np.arange(n, dtype=np.float64)
    return _frequencies("fftfreq", np.where(counts < (n + 1) // 2, counts, counts - n), n, d, dtype, device)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the n // 2 + 1 coefficients of `rfft`, for samples that are d apart. Integer dtypes give floats.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    n = _count("rfftfreq", n)
    if dtype is not None and (kind := dtypes.kind(dtypes.check_user_dtype(dtype, "fft.rfftfreq"))) in "biu":
        if kind == "b":
            raise TypeError("jnp.fft.rfftfreq: frequencies have no dtype bool; pass a float or a complex dtype")
        dtype = None
    return _frequencies("rfftfreq", np.arange(n // 2 + 1, dtype=np.float64), n, d, dtype, device)


def _shifted(name: str, x: Any, axes: Any, sign: int) -> Any:
    a = array_arg(f"fft.{name}", x)
    positions = tuple(range(a.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    positions = as_axes(positions, a.ndim)
    amounts = tuple(sign * (a.shape[d] // 2) for d in positions)
    return roll(a, amounts, positions) if positions else a


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """The array rolled by half its sizes, so that the frequency 0 stands in the middle. axes: by default all.

    >>> import numjet.numpy as jnp
    >>> fftshift(jnp.arange(5)).tolist()
    [3, 4, 0, 1, 2]
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of `fftshift`.

    >>> import numjet.numpy as jnp
    >>> ifftshift(jnp.array([3, 4, 0, 1, 2])).tolist()
    [0, 1, 2, 3, 4]
    """
    return _shifted("ifftshift", x, axes, -1)


_taped.library(vars())
