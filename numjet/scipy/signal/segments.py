"""Windows and overlapping segments, the parts that spectra are made of."""
from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import lazy_import
from numjet.scipy.signal.trends import detrend as remove_trend

_windows = lazy_import.Module("scipy.signal.windows")


@dataclass(frozen=True)
class Layout:
    """How samples are cut: segments of `length` samples, `step` apart, transformed with zeros up to `size`."""

    length: int
    step: int
    size: int


def make_window(window: Any, length: int, dtype: np.dtype) -> Any:
    """A window of that length by name, or with parameters as a tuple, from SciPy; or an array."""
    if isinstance(window, (str, tuple)):
        return jnp.asarray(_windows.get_window(window, length), dtype)
    found = jnp.asarray(window)
    if found.ndim != 1:
        raise ValueError(f"window must be 1-D, got shape {found.shape}")
    if found.shape[0] != length:
        raise ValueError(f"window must have length of {length}, got {found.shape[0]}")
    return found


def segment_length(window: Any, nperseg: Any, samples: int, default: int = 256) -> int:
    """The samples of a segment: those asked for, or of the window, at most those that there are."""
    if isinstance(window, (str, tuple)):
        length = default if nperseg is None else _positive("nperseg", nperseg)
        if length > samples:
            if nperseg is not None:
                warnings.warn(f"nperseg={length} is greater than input_length={samples}, using nperseg={samples}", stacklevel=4)
            length = samples
        return length
    shape = jnp.shape(window)
    if len(shape) != 1:
        raise ValueError(f"window must be 1-D, got shape {shape}")
    if nperseg is not None and operator.index(nperseg) != shape[0]:
        raise ValueError("value specified for nperseg is different from length of window: "
                         f"nperseg={nperseg}, the window has {shape[0]} samples")
    if shape[0] > samples:
        raise ValueError(f"window is longer than input signal: {shape[0]} samples, the signal has {samples}")
    return shape[0]


def layout(length: int, noverlap: Any, nfft: Any) -> Layout:
    """The layout of segments that share `noverlap` samples (default: half of them)."""
    overlap = length // 2 if noverlap is None else operator.index(noverlap)
    size = length if nfft is None else _positive("nfft", nfft)
    if size < length:
        raise ValueError(f"nfft must be greater than or equal to nperseg. Got nfft={size}, nperseg={length}.")
    if overlap >= length:
        raise ValueError(f"noverlap must be less than nperseg. Got noverlap={overlap}, nperseg={length}.")
    return Layout(length, length - overlap, size)


def _positive(name: str, value: Any) -> int:
    found = int(operator.index(value))
    if found < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return found


def cut(x: Any, parts: Layout) -> Any:
    """Segments [..., count, length] of samples [..., n]."""
    count = (x.shape[-1] - parts.length) // parts.step + 1
    return x[..., parts.step * jnp.arange(count)[:, None] + jnp.arange(parts.length)[None, :]]


def added(segments: Any, step: int) -> Any:
    """The sum of segments [..., count, length] that lie `step` apart: the transpose of `cut`."""
    count, length = segments.shape[-2:]
    index = step * jnp.arange(count)[:, None] + jnp.arange(length)[None, :]
    out = jnp.zeros((*segments.shape[:-2], (count - 1) * step + length), segments.dtype)
    return out.at[..., index].add(segments)


def trend_remover(kind: Any, axis: int) -> Callable[[Any], Any]:
    """The function for `detrend`: of segments along the last axis; a user's function gets them along `axis`."""
    if kind is False or kind is None:
        return lambda x: x
    if callable(kind):
        return lambda x: jnp.moveaxis(kind(jnp.moveaxis(x, -1, axis)), axis, -1)
    return lambda x: remove_trend(x, -1, kind)


def spectra(x: Any, parts: Layout, window: Any, remove: Callable[[Any], Any], onesided: bool) -> Any:
    """The transforms [..., count, frequencies] of the segments of x, less their trends and times the window."""
    segments = remove(cut(x, parts))
    segments = segments * window.astype(segments.dtype).reshape((1,) * (segments.ndim - 1) + window.shape)
    return jnp.fft.rfft(segments.real, parts.size) if onesided else jnp.fft.fft(segments, parts.size)


def frequencies(parts: Layout, fs: Any, onesided: bool, dtype: np.dtype) -> Any:
    """The frequencies of the transforms, for `fs` samples per second."""
    found = np.fft.rfftfreq(parts.size) if onesided else np.fft.fftfreq(parts.size)
    return jnp.asarray(found, dtype) * fs


def widened(x: Any) -> Any:
    """Halves in single precision, as transforms need them."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def one_sided(x: Any, wanted: bool) -> bool:
    """Whether only frequencies from 0 on are wanted, which complex signals refuse."""
    if wanted and jnp.iscomplexobj(x):
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=4)
        return False
    return bool(wanted)


def density(window: Any, fs: Any, scaling: str) -> Any:
    """The factor of power spectra: per frequency ("density") or per line ("spectrum")."""
    if scaling == "density":
        return 1 / (fs * jnp.sum(window * window))
    if scaling == "spectrum":
        return 1 / jnp.sum(window) ** 2
    raise ValueError(f"Unknown scaling: {scaling}; expected 'density' or 'spectrum'")


def real_dtype(x: Any) -> np.dtype:
    return np.dtype(lax.real(x).dtype if jnp.iscomplexobj(x) else x.dtype)


def doubled(power: Any, size: int) -> Any:
    """Twice the power of the frequencies whose negative counterparts are left out: all but 0 and the highest of even sizes."""
    k = jnp.arange(power.shape[-1]).reshape((1,) * (power.ndim - 1) + (-1,))
    inner = (k > 0) & (2 * k != size)
    return jnp.where(inner, 2 * power, power)
