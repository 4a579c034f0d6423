"""Short-time Fourier transforms, their inverse, and spectrograms."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.signal import segments as seg

_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


def stft(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
         padded: bool = True, axis: int = -1) -> tuple[Any, Any, Any]:
    """The short-time Fourier transform: frequencies, times, and the transforms of windowed segments of x.

    The frequencies replace `axis`, the times are the last axis. boundary: how half a segment is put in front and at the end,
    "zeros", "even" or "odd" continuation, "constant", or None; padded: zeros complete the last segment. Other arguments and
    errors: as in csd, with the scaling of a "spectrum". ValueError for other boundaries.

    >>> import numjet.numpy as jnp
    >>> f, t, z = stft(jnp.ones(8), nperseg=4, window="boxcar", boundary=None)
    >>> t.tolist(), z.real.tolist()
    ([2.0, 4.0, 6.0], [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """
    if boundary not in _BOUNDARIES:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}")
    (x,) = promote_args_inexact("stft", x)
    x = seg.widened(x)
    axis = as_axis(axis, x.ndim)
    if not x.size:
        real, spectrum = seg.real_dtype(x), dtypes.to_complex_dtype(x.dtype)
        return jnp.zeros(x.shape, real), jnp.zeros(x.shape, real), jnp.zeros(x.shape, spectrum)
    signal = jnp.moveaxis(x, axis, -1)
    dtype = seg.real_dtype(x)
    parts = seg.layout(seg.segment_length(window, nperseg, signal.shape[-1]), noverlap, nfft)
    half = parts.length // 2
    signal = _extended(signal, half, boundary)
    if padded:
        missing = -(signal.shape[-1] - parts.length) % parts.step
        signal = jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
    onesided = seg.one_sided(x, return_onesided)
    weights = seg.make_window(window, parts.length, dtype)
    out = seg.spectra(signal, parts, weights, seg.trend_remover(detrend, axis - x.ndim), onesided)
    out = out * jnp.sqrt(seg.density(weights, fs, "spectrum")).astype(out.dtype)
    times = _times(out.shape[-2], parts, 0 if boundary is not None else parts.length / 2, fs, dtype)
    return seg.frequencies(parts, fs, onesided, dtype), times, jnp.moveaxis(out, -1, axis)


def _times(count: int, parts: seg.Layout, first: float, fs: Any, dtype: np.dtype) -> Any:
    return jnp.asarray(first + parts.step * np.arange(count), dtype) / fs


def _extended(x: Any, n: int, boundary: str | None) -> Any:
    """x with n samples more on both sides."""
    if boundary is None or n == 0:
        return x
    if boundary in ("even", "odd") and n > x.shape[-1] - 1:
        raise ValueError(f"boundary={boundary!r} needs more than {n} samples, half a segment; got {x.shape[-1]}")
    left, right = x[..., :1], x[..., -1:]
    front, back = x[..., n:0:-1], x[..., -2:-(n + 2):-1]
    if boundary == "odd":
        front, back = 2 * left - front, 2 * right - back
    elif boundary != "even":
        like = jnp.zeros_like if boundary == "zeros" else lambda v: v
        front, back = (jnp.broadcast_to(like(v), (*x.shape[:-1], n)) for v in (left, right))
    return jnp.concatenate([front, x, back], -1)


def istft(Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
          freq_axis: int = -2) -> tuple[Any, Any]:
    """The inverse of stft, by least squares: times, and the signal along `time_axis`.

    Where no window is above zero the signal is left as it comes. D. W. Griffin and J. S. Lim, "Signal estimation from modified
    short-time Fourier transform" (IEEE Trans. ASSP 32, 1984). ValueError for input of rank below 2, equal axes, nfft below
    nperseg and noverlap from nperseg on.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(8.0)
    >>> istft(stft(x, nperseg=4)[2], nperseg=4)[1].round(3).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    (z,) = promote_args_inexact("istft", Zxx)
    z = seg.widened(z)
    if z.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d! Got shape {z.shape}.")
    time, freq = as_axis(time_axis, z.ndim), as_axis(freq_axis, z.ndim)
    if time == freq:
        raise ValueError(f"Must specify differing time and frequency axes! Got {time_axis} and {freq_axis}.")
    z = jnp.moveaxis(z, (time, freq), (-2, -1))
    parts = _inverse_layout(2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1], nperseg, noverlap, nfft, input_onesided)
    z = z.astype(np.result_type(z.dtype, np.complex64))
    segments = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, parts.size)[..., :parts.length]
    weights = seg.make_window(window, parts.length, segments.dtype)
    common = np.result_type(segments.dtype, weights.dtype)
    segments, weights = segments.astype(common), weights.astype(common)
    out = _overlapped(segments, weights, parts, boundary)
    if input_onesided:
        out = out.real
    out = jnp.moveaxis(out, -1, time - (freq < time))
    times = jnp.arange(out.shape[0], dtype=out.real.dtype) / fs
    return times, out


def _inverse_layout(default: int, nperseg: Any, noverlap: Any, nfft: Any, onesided: bool) -> seg.Layout:
    length = default if nperseg is None else operator.index(nperseg)
    if length < 1:
        raise ValueError(f"nperseg must be a positive integer, got {length}")
    if nfft is None:
        size = length if onesided and length == default + 1 else default
    else:
        size = operator.index(nfft)
    if size < length:
        raise ValueError(f"FFT length ({size}) must be longer than nperseg ({length}).")
    return seg.layout(length, noverlap, size)


def _overlapped(segments: Any, weights: Any, parts: seg.Layout, boundary: bool) -> Any:
    """The signal whose windowed segments are nearest to the given ones."""
    row = weights.reshape((1,) * (segments.ndim - 1) + weights.shape)
    signal = seg.added(segments * row, parts.step) * jnp.sum(weights)
    norm = seg.added(jnp.broadcast_to(weights * weights, segments.shape[-2:]), parts.step)
    half = parts.length // 2
    if boundary and half:
        signal, norm = signal[..., half:-half], norm[half:-half]
    return signal / jnp.where(jnp.abs(norm) > 1e-10, norm, 1).reshape((1,) * (signal.ndim - 1) + norm.shape)


def spectrogram(x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: int | None = None, noverlap: int | None = None,
                nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
                axis: int = -1, mode: str = "psd") -> tuple[Any, Any, Any]:
    """Frequencies, times, and the spectra of consecutive segments: the frequencies replace `axis`, the times are the last one.

    mode: "psd" (power), "complex", "magnitude", "angle" or "phase" (unwrapped along the frequencies). noverlap: default an
    eighth of the segment. Other arguments and errors: as in csd.

    >>> import numjet.numpy as jnp
    >>> f, t, s = spectrogram(jnp.ones(16), nperseg=8, detrend=False, window="boxcar")
    >>> s.shape, s[0].tolist()
    ((5, 2), [8.0, 8.0])
    """
    modes = ("psd", "complex", "magnitude", "angle", "phase")
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {list(modes)}")
    (x,) = promote_args_inexact("spectrogram", x)
    x = seg.widened(x)
    axis = as_axis(axis, x.ndim)
    dtype = seg.real_dtype(x)
    length = seg.segment_length(window, nperseg, x.shape[axis])
    parts = seg.layout(length, length // 8 if noverlap is None else noverlap, nfft)
    onesided = seg.one_sided(x, return_onesided)
    weights = seg.make_window(window, length, dtype)
    out = seg.spectra(jnp.moveaxis(x, axis, -1), parts, weights, seg.trend_remover(detrend, axis - x.ndim), onesided)
    scale = seg.density(weights, fs, scaling)
    if mode == "psd":
        out = (jnp.square(out.real) + jnp.square(out.imag)) * scale
        out = seg.doubled(out, parts.size) if onesided else out
    elif mode in ("complex", "magnitude"):
        out = out * jnp.sqrt(scale).astype(out.dtype)
        out = jnp.abs(out) if mode == "magnitude" else out
    else:
        out = jnp.angle(out)
        out = jnp.unwrap(out, axis=-1) if mode == "phase" else out
    times = _times(out.shape[-2], parts, length / 2, fs, dtype)
    return seg.frequencies(parts, fs, onesided, dtype), times, jnp.moveaxis(out, -1, axis)
