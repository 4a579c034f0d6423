"""Power spectra by Welch's method."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.lax.axes import as_axis
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.signal import segments as seg


def csd(x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
        nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
        axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """Frequencies and the cross power spectrum of two signals, by Welch's method of averaged periodograms.

    y: None for x, with a real result. The shorter signal is continued by zeros. window: a name, or a tuple of a name and
    parameters, of SciPy's windows, or an array; nperseg: samples of a segment (256, or those of the window); noverlap: those
    that neighbours share (half of them); nfft: the length of the transforms. detrend: "constant", "linear", False, or a
    function of segments along `axis`. scaling: "density" or "spectrum"; average: "mean" or "median" over the segments.
    Complex signals have two-sided spectra. P. D. Welch, IEEE Trans. Audio Electroacoustics 15, 1967. ValueError for values
    that are not among these.

    >>> import numjet.numpy as jnp
    >>> f, p = csd(jnp.array([1.0, -1.0, 1.0, -1.0]), jnp.array([1.0, -1.0, 1.0, -1.0]), nperseg=4, window="boxcar")
    >>> f.tolist(), p.real.tolist()
    ([0.0, 0.25, 0.5], [0.0, 0.0, 4.0])
    """
    alone = y is None
    same = alone or y is x
    x, y = promote_args_inexact("csd", x, x if y is None else y)
    x, y = seg.widened(x), seg.widened(y)
    at = as_axis(axis, x.ndim)
    f, out = _averaged(x, y, same, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, at, average)
    return f, out.real if alone else out


def welch(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
          axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """Frequencies and the power spectrum of a signal, by Welch's method. Arguments and errors: as in csd.

    >>> import numjet.numpy as jnp
    >>> welch(jnp.array([1.0, -1.0, 1.0, -1.0]), nperseg=4, window="boxcar")[1].tolist()
    [0.0, 0.0, 4.0]
    """
    (x,) = promote_args_inexact("welch", x)
    x = seg.widened(x)
    at = as_axis(axis, x.ndim)
    f, out = _averaged(x, x, True, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, at, average)
    return f, out.real


def _averaged(x: Any, y: Any, same: bool, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
              onesided: bool, scaling: str, axis: int, average: str) -> tuple[Any, Any]:
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    dtype = seg.real_dtype(x)
    complex_dtype = np.dtype(np.result_type(dtype, np.complex64))
    if not x.size or not y.size:
        shape = _empty_shape(x, y, axis)
        return jnp.zeros(shape, dtype), jnp.zeros(shape, complex_dtype)
    x, y = jnp.moveaxis(x, axis, -1), jnp.moveaxis(y, axis if y.ndim > axis else -1, -1)
    samples = x.shape[-1]
    x, y = _equally_long(x, y)
    parts = seg.layout(seg.segment_length(window, nperseg, samples if nperseg is None else x.shape[-1]), noverlap, nfft)
    onesided = seg.one_sided(x, onesided)
    weights = seg.make_window(window, parts.length, dtype)
    remove = seg.trend_remover(detrend, axis - x.ndim)
    power = _product(x, y, same, parts, weights, remove, onesided)
    power = power * seg.density(weights, fs, scaling).astype(power.dtype)
    if onesided:
        power = seg.doubled(power, parts.size)
    power = jnp.astype(_average(power, average), complex_dtype)
    return seg.frequencies(parts, fs, onesided, dtype), jnp.moveaxis(power, -1, axis)


def _empty_shape(x: Any, y: Any, axis: int) -> tuple[int, ...]:
    if x is y:
        return tuple(x.shape)
    n = min(x.shape[axis], y.shape[axis])
    rest = lambda v: (*v.shape[:axis], 1, *v.shape[axis + 1:])
    shape = list(np.broadcast_shapes(rest(x), rest(y)))
    shape[axis] = n
    return tuple(shape)


def _equally_long(x: Any, y: Any) -> tuple[Any, Any]:
    try:
        np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    except ValueError as error:
        raise ValueError(f"x and y cannot be broadcast together: shapes {x.shape} and {y.shape}, the signals last") from error
    n = max(x.shape[-1], y.shape[-1])
    longer = lambda v: v if v.shape[-1] == n else jnp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, n - v.shape[-1])])
    return longer(x), longer(y)


def _product(x: Any, y: Any, same: bool, parts: seg.Layout, weights: Any, remove: Any, onesided: bool) -> Any:
    first = seg.spectra(x, parts, weights, remove, onesided)
    if same:
        return jnp.square(first.real) + jnp.square(first.imag)
    return jnp.conj(first) * seg.spectra(y, parts, weights, remove, onesided)


def _average(power: Any, average: str) -> Any:
    """Over the segments, the axis before the last."""
    count = power.shape[-2]
    if average == "mean" or count == 1:
        return jnp.mean(power, -2)
    found = jnp.median(power.real, -2)
    if jnp.iscomplexobj(power):
        found = lax.complex(found, jnp.median(power.imag, -2))
    return found / _median_bias(count)


def _median_bias(n: int) -> float:
    """The mean of the median of n exponential variables of mean 1 (B. Allen et al., Phys. Rev. D 85, 122006)."""
    k = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    return float(1 + np.sum(1 / (k + 1) - 1 / k))


def periodogram(x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
                return_onesided: bool = True, scaling: str = "density", axis: int = -1) -> tuple[Any, Any]:
    """Frequencies and the power spectrum of a signal, by one transform of all samples. Arguments and errors: as in csd.

    nfft: the length of the transform; a shorter one takes the first samples.

    >>> import numjet.numpy as jnp
    >>> periodogram(jnp.array([1.0, -1.0, 1.0, -1.0]))[1].tolist()
    [0.0, 0.0, 4.0]
    """
    (x,) = promote_args_inexact("periodogram", x)
    at = as_axis(axis, x.ndim)
    n = x.shape[at]
    if nfft is not None and nfft < n:
        x, n, nfft = lax.slice_in_dim(x, 0, nfft, axis=at), nfft, None
    length = n if isinstance(window, (str, tuple)) and n else None
    return welch(x, fs, window, length, 0, nfft, detrend, return_onesided, scaling, axis)


def coherence(x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
              nfft: int | None = None, detrend: Any = "constant", axis: int = -1) -> tuple[Any, Any]:
    """Frequencies and the magnitude squared coherence of two signals, |Pxy|^2 / (Pxx Pyy), by Welch's method. As csd.

    >>> import numjet.numpy as jnp
    >>> x = jnp.array([1.0, -1.0, 2.0, -1.0, 1.0, 3.0])
    >>> coherence(x, 2 * x, nperseg=4)[1].round(3).tolist()
    [1.0, 1.0, 1.0]
    """
    f, xx = welch(x, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, yy = welch(y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, xy = csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    return f, (jnp.square(xy.real) + jnp.square(xy.imag)) / xx / yy
