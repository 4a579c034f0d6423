"""Other sampling rates: by Fourier's series, by polyphase filters; the analytic signal; frequency responses."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import dtypes
from numjet.lax import conv_general_dilated
from numjet.lax.axes import as_axis
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import promote_args_inexact, promote_kinds_inexact
from numjet.scipy.signal import segments as seg
from numjet.scipy.signal.design import firwin


def _axis_last(name: str, x: Any, axis: int) -> tuple[Any, int]:
    (x,) = promote_args_inexact(name, x)
    if not x.ndim:
        raise ValueError(f"{name}: expected an array of at least one axis, got a scalar")
    at = as_axis(axis, x.ndim)
    return jnp.moveaxis(x, at, -1), at


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal x + i H(x), of which the imaginary part is Hilbert's transform, along an axis; complex.

    N: samples of the transform (default: those of x). ValueError for complex x and for N < 1.

    >>> import numjet.numpy as jnp
    >>> hilbert(jnp.array([1.0, 0.0, -1.0, 0.0])).imag.round(3).tolist()
    [0.0, 1.0, 0.0, -1.0]
    """
    x, at = _axis_last("hilbert", x, axis)
    if jnp.iscomplexobj(x):
        raise ValueError("x must be real.")
    size = x.shape[-1] if N is None else operator.index(N)
    if size < 1:
        raise ValueError("N must be positive.")
    factor = np.zeros(size)
    factor[0] = 1
    factor[1:(size + 1) // 2] = 2
    if size % 2 == 0:
        factor[size // 2] = 1
    x = seg.widened(x)
    spectrum = jnp.fft.fft(x, size)
    out = jnp.fft.ifft(spectrum * jnp.asarray(factor.reshape(*[1] * (x.ndim - 1), -1), spectrum.dtype))
    return jnp.moveaxis(out, -1, at)


def _fourier_window(window: Any, size: int, dtype: Any) -> Any:
    if callable(window):
        return jnp.asarray(window(jnp.asarray(np.fft.fftfreq(size), dtype)), dtype)
    if hasattr(window, "shape"):
        if tuple(window.shape) != (size,):
            raise ValueError("window must have the same length as data")
        return jnp.asarray(window, dtype)
    return jnp.fft.ifftshift(seg.make_window(window, size, dtype))


def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """Samples of the same span at `num` equal distances, by cutting or padding the Fourier transform along an axis.

    num: a static integer >= 1. t: the times of x; then the result is (samples, their times). window: applied to the transform,
    as of get_window, or an array, or a function of frequencies. domain: "time", or "freq" for x that is a transform. Halves are
    computed as float32. ValueError for other domains, num, windows of another length.

    >>> import numjet.numpy as jnp
    >>> resample(jnp.array([0.0, 1.0, 0.0, -1.0]), 8)[::2].round(3).tolist()
    [0.0, 1.0, 0.0, -1.0]
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter domain='{domain}' not in ('time', 'freq')!")
    count = operator.index(num)
    if count < 1:
        raise ValueError(f"resample: expected num >= 1, got {num}")
    x, at = _axis_last("resample", x, axis)
    dtype = x.dtype
    x = seg.widened(x)
    n, real = x.shape[-1], domain == "time" and not jnp.iscomplexobj(x)
    if not n:
        raise ValueError(f"resample: expected samples along axis {axis}, got shape {x.shape}")
    size = min(n, count)
    weights = None if window is None else _fourier_window(window, n, seg.real_dtype(x))
    if real:
        spectrum = jnp.fft.rfft(x)
        if weights is not None:
            mirrored = jnp.concatenate([weights[:1], 0.5 * (weights[1:] + weights[:0:-1])])
            spectrum = spectrum * mirrored[:spectrum.shape[-1]]
        kept = spectrum[..., :size // 2 + 1]
        if size % 2 == 0 and n != count:
            kept = kept.at[..., size // 2].multiply(2.0 if count < n else 0.5)
        out = jnp.fft.irfft(kept, count) * (count / n)
    else:
        spectrum = x if domain == "freq" else jnp.fft.fft(x)
        spectrum = spectrum if weights is None else spectrum * weights
        low, high = spectrum[..., :(size + 1) // 2], spectrum[..., n - size // 2:] if size > 1 else spectrum[..., :0]
        if size % 2 == 0 and n != count:
            other = spectrum[..., size // 2:size // 2 + 1]
            if count < n:
                high = high.at[..., :1].add(other)
            else:
                low, high = jnp.concatenate([low, 0.5 * other], -1), high.at[..., :1].multiply(0.5)
        gap = jnp.zeros((*spectrum.shape[:-1], count - low.shape[-1] - high.shape[-1]), spectrum.dtype)
        out = jnp.fft.ifft(jnp.concatenate([low, gap, high], -1)) * (count / n)
    out = jnp.moveaxis(out, -1, at)
    out = out.astype(dtype) if dtype.itemsize == 2 else out
    if t is None:
        return out
    t = jnp.asarray(t)
    return out, jnp.arange(count) * ((t[1] - t[0]) * n / count) + t[0]


def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0) -> Any:
    """x with up - 1 zeros between samples, filtered by h, of which every down-th sample is kept: one dilated convolution.

    The result has ceil(((n - 1) up + len(h)) / down) samples along the axis. Beyond the ends x is 0: NotImplementedError for
    another mode or cval; ValueError for up or down < 1, h that is no vector, empty h or x.

    >>> import numjet.numpy as jnp
    >>> upfirdn(jnp.array([1.0, 1.0]), jnp.array([1.0, 2.0]), up=2).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    if mode != "constant" or cval != 0:
        raise NotImplementedError(f"upfirdn: only mode='constant' with cval=0 is there, got {mode!r} and {cval!r}; pad x")
    if up < 1 or down < 1:
        raise ValueError(f"Both up and down must be >= 1, got {up} and {down}")
    h, x = promote_kinds_inexact("upfirdn", h, x)
    if h.ndim != 1 or not h.size:
        raise ValueError(f"h must be 1-D with non-zero length, got shape {h.shape}")
    x, at = _axis_last("upfirdn", x, axis)
    if not x.shape[-1]:
        raise ValueError(f"upfirdn: expected samples along axis {axis}, got none")
    rows = x.reshape(-1, 1, x.shape[-1])
    pad = h.size - 1
    out = conv_general_dilated(rows, jnp.flip(h)[None, None], (operator.index(down),), [(pad, pad)],
                               lhs_dilation=(operator.index(up),), precision=Precision.HIGHEST)
    return jnp.moveaxis(out.reshape(*x.shape[:-1], out.shape[-1]), -1, at)


_BACKGROUNDS: dict[str, Any] = {"mean": jnp.mean, "median": jnp.median, "minimum": jnp.min, "maximum": jnp.max}


def resample_poly(x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str | None = None,
                  cval: float | None = None) -> Any:
    """Samples at up / down times the rate, by a polyphase filter of finite response along an axis.

    window: of the filter, as of firwin, or the filter itself, a vector. padtype: what is subtracted before and added after:
    "constant" (cval, 0 by default), "line" through the first and last sample, "mean", "median", "minimum", "maximum". The
    result has ceil(n up / down) samples. ValueError for rates < 1 and other types of padding.

    >>> import numjet.numpy as jnp
    >>> resample_poly(jnp.array([1.0, 1.0, 1.0, 1.0]), 2, 1, padtype="mean").round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    padtype = "constant" if padtype is None else padtype
    if padtype not in ("constant", "line", *_BACKGROUNDS):
        raise ValueError(f"padtype must be 'constant', 'line', 'mean', 'median', 'minimum' or 'maximum', got {padtype!r}")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect when padtype is " + padtype)
    up, down = operator.index(up), operator.index(down)
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    x, at = _axis_last("resample_poly", x, axis)
    if not x.shape[-1]:
        raise ValueError(f"resample_poly: expected samples along axis {axis}, got none")
    common, n = math.gcd(up, down), x.shape[-1]
    up, down = up // common, down // common
    if up == down == 1:
        return jnp.moveaxis(x, -1, at)
    count = -(-n * up // down)
    if isinstance(window, (list, np.ndarray)) or hasattr(window, "aval"):
        h = jnp.asarray(window)
        if h.ndim != 1:
            raise ValueError("window must be 1-D")
        half = (h.size - 1) // 2
    else:
        rate = max(up, down)
        half = 10 * rate
        h = firwin(2 * half + 1, 1 / rate, window=window)
    h = jnp.astype(h * up, seg.real_dtype(x) if not jnp.iscomplexobj(h) else h.dtype)
    before = down - half % down
    skip = (half + before) // down
    after = max(0, (count + skip - 1) * down + 1 - (n - 1) * up - h.size - before)
    h = jnp.pad(h, (before, after))
    if padtype in _BACKGROUNDS:
        level = _BACKGROUNDS[padtype](x, -1, keepdims=True)
        y = upfirdn(h, x - level, up, down)[..., skip:skip + count] + level
    else:
        more = -(-h.size // (up * down)) + 1  # in units of `down` samples, so that results keep their places
        y = upfirdn(h, _extended(x, more * down, padtype, cval or 0), up, down)[..., skip + more * up:skip + more * up + count]
    return jnp.moveaxis(y, -1, at)


def _extended(x: Any, width: int, padtype: str, cval: float) -> Any:
    """x with samples on both sides: a constant, or on the line through the first and the last."""
    n = x.shape[-1]
    if padtype == "constant":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(width, width)], constant_values=cval)
    slope = (x[..., -1:] - x[..., :1]) / max(n - 1, 1)
    far = jnp.arange(1, width + 1, dtype=seg.real_dtype(x))
    return jnp.concatenate([x[..., :1] - slope * far[::-1], x, x[..., -1:] + slope * far], -1)


def freqz(b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi,
          include_nyquist: bool = False) -> tuple[Any, Any]:
    """Frequencies and response of a filter (b, a): b(exp(-i w)) / a(exp(-i w)), differentiable by the coefficients.

    worN: how many frequencies, or an array of them, in units of fs. whole: up to fs instead of half of it. ValueError for
    coefficients that are no vectors.

    >>> import numjet.numpy as jnp
    >>> abs(freqz(jnp.array([0.5, 0.5]), worN=1)[1]).tolist()
    [1.0]
    """
    b, a = promote_args_inexact("freqz", jnp.atleast_1d(b), jnp.atleast_1d(a))
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError(f"freqz: expected vectors of coefficients, got shapes {b.shape} and {a.shape}")
    b, a = (c.astype(dtypes.common_dtype(c.dtype, np.float32)) for c in (b, a))  # there are no complex halves
    real = seg.real_dtype(b)
    if isinstance(worN, int) or worN is None:
        count = 512 if worN is None else worN
        if count < 0:
            raise ValueError(f"worN must be nonnegative, got {count}")
        last = 2 * np.pi if whole else np.pi
        w = jnp.asarray(np.linspace(0, last, count, endpoint=include_nyquist and not whole), real)
    else:
        w = jnp.asarray(worN, real) * (2 * np.pi / fs)
    turn = lax.complex(jnp.cos(w), -jnp.sin(w))
    above, below = (jnp.polyval(jnp.flip(c).astype(turn.dtype), turn) for c in (b, a))
    return w * (fs / (2 * np.pi)), above / below


def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple[Any, Any]:
    """Frequencies and response of sections of second order [n, 6]; arguments as of freqz. SciPy's other name: freqz_sos.

    >>> import numjet.numpy as jnp
    >>> abs(sosfreqz(jnp.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]), worN=1)[1]).tolist()
    [1.0]
    """
    sos = jnp.atleast_2d(*promote_args_inexact("sosfreqz", sos))
    if sos.ndim != 2 or sos.shape[1] != 6 or not sos.shape[0]:
        raise ValueError(f"sosfreqz: sos must be of shape (n_sections, 6), got {sos.shape}")
    found = [freqz(row[:3], row[3:], worN, whole, fs) for row in sos]
    out = found[0][1]
    for _, h in found[1:]:
        out = out * h
    return found[0][0], out


def correlation_lags(in1_len: int, in2_len: int, mode: str = "full") -> Any:
    """The lags of correlate's results, for static lengths. ValueError for other modes than full, same and valid.

    >>> correlation_lags(2, 2).tolist()
    [-1, 0, 1]
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"Mode {mode} is invalid; expected 'full', 'same' or 'valid'")
    if mode == "full":
        return jnp.arange(-in2_len + 1, in1_len)
    if mode == "same":
        lags = np.arange(-in2_len + 1, in1_len)
        middle = lags.size // 2
        first = middle - in1_len // 2
        return jnp.asarray(lags[first:first + in1_len])
    bound = in1_len - in2_len
    return jnp.arange(bound + 1) if bound >= 0 else jnp.arange(bound, 1)
