"""Convolutions and correlations of arrays of any rank, direct or by Fourier transforms."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax.axes import as_axes
from numjet.numpy.core.promotion import promote_args_inexact

_MODES = ("full", "same", "valid")
_BORDERS = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
            "symmetric": "symmetric"}


@jit_when_eager("mode", "method", "precision")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The convolution of two arrays of one rank: the sums of in1[i] in2[k - i].

    mode: "full" (all k for which a product exists), "same" (the middle, of in1's shape) or "valid" (where one array covers
    the other). method: "direct" (as "auto") or "fft". precision: as in lax.conv, for "direct". ValueError for arrays of
    different rank, empty ones, and with "valid" for arrays of which none covers the other.

    >>> import numjet.numpy as jnp
    >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 2.0]
    """
    in1, in2 = _arrays("convolve", in1, in2, mode)
    return _convolved(in1, in2, mode, method, precision)


@jit_when_eager("mode", "method", "precision")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The cross-correlation: the sums of in1[i + k] conj(in2[i]). Arguments and errors: as in convolve.

    >>> import numjet.numpy as jnp
    >>> correlate(jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0])).tolist()
    [1.0, 2.0, 0.0]
    """
    in1, in2 = _arrays("correlate", in1, in2, mode)
    return _convolved(in1, jnp.conj(jnp.flip(in2)), mode, method, precision)


def _convolved(in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    if not in1.size or not in2.size:
        raise ValueError(f"zero-size arrays not supported in convolutions, got shapes {in1.shape} and {in2.shape}.")
    return _direct(in1, in2, mode, precision)


def _arrays(name: str, in1: Any, in2: Any, mode: str) -> list[Any]:
    in1, in2 = promote_args_inexact(name, in1, in2)
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}")
    if in1.ndim != in2.ndim:
        raise ValueError(f"in1 and in2 must have the same number of dimensions, got shapes {in1.shape} and {in2.shape}")
    return [in1, in2]


def _covering(in1: Any, in2: Any, message: str) -> tuple[Any, Any]:
    """The array that covers the other in every dimension, and the other."""
    pairs = list(zip(in1.shape, in2.shape, strict=True))
    if all(m >= n for m, n in pairs):
        return in1, in2
    if all(m <= n for m, n in pairs):
        return in2, in1
    raise ValueError(f"{message} Got shapes {in1.shape} and {in2.shape}.")


def _direct(in1: Any, in2: Any, mode: str, precision: Any, starts: Sequence[int] | None = None) -> Any:
    """The convolution by `lax.conv_general_dilated`. starts: where mode "same" begins in the full result."""
    if not in1.ndim:
        return in1 * in2
    if mode == "valid":
        in1, in2 = _covering(in1, in2, "One input must be smaller than the other in every dimension.")
    starts = [(n - 1) // 2 for n in in2.shape] if starts is None else starts
    padding = {"valid": [(0, 0)] * in1.ndim, "full": [(n - 1, n - 1) for n in in2.shape],
               "same": [(n - 1 - start, start) for n, start in zip(in2.shape, starts, strict=True)]}[mode]
    out = lax.conv_general_dilated(in1[None, None], jnp.flip(in2)[None, None], window_strides=(1,) * in1.ndim, padding=padding,
                                   precision=precision)
    return out[0, 0]


# -------------------------------------------------------------------------------------------- by Fourier transforms

def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None) -> Any:
    """The convolution along `axes` (default: all) by Fourier transforms; along the others arrays are paired.

    The cost is that of a few transforms, whatever the sizes; the error is one relative to the largest element. Modes and errors
    as in convolve; ValueError for other axes whose sizes neither agree nor are 1.

    >>> import numjet.numpy as jnp
    >>> fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round(3).tolist()
    [1.0, 3.0, 2.0]
    """
    fixed = axes if axes is None else tuple(operator.index(d) for d in np.atleast_1d(axes))
    return _fftconvolve(in1, in2, mode, fixed)


@jit_when_eager("mode", "axes")
def _fftconvolve(in1: Any, in2: Any, mode: str, axes: tuple[int, ...] | None) -> Any:
    in1, in2 = promote_args_inexact("fftconvolve", in1, in2)
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}")
    if in1.ndim != in2.ndim:
        raise ValueError(f"in1 and in2 should have the same dimensionality, got shapes {in1.shape} and {in2.shape}")
    places = tuple(range(in1.ndim)) if axes is None else as_axes(axes, in1.ndim)
    if axes is not None and not places:
        raise ValueError("when provided, axes cannot be empty")
    if len(set(places)) != len(places):
        raise ValueError(f"all axes must be unique, got {axes}")
    rest = [d for d in range(in1.ndim) if d not in places]
    if any(in1.shape[d] != in2.shape[d] and 1 not in (in1.shape[d], in2.shape[d]) for d in rest):
        raise ValueError(f"mapped axes must have same shape; got in1.shape={in1.shape} in2.shape={in2.shape} axes={axes}")
    if not places:
        return in1 * in2
    return _by_spectra(in1, in2, mode, places)


def _by_spectra(in1: Any, in2: Any, mode: str, axes: Sequence[int]) -> Any:
    dtype = in1.dtype
    if dtype.itemsize == 2:
        in1, in2 = in1.astype(np.float32), in2.astype(np.float32)
    first = [in1.shape[d] for d in axes]
    second = [in2.shape[d] for d in axes]
    full = [m + n - 1 if m and n else max(m + n - 1, 0) for m, n in zip(first, second, strict=True)]
    real = dtype not in dtypes.COMPLEX
    if in1.size and in2.size:
        sizes = [_good_size(n) for n in full]
        forward: Callable[..., Any] = jnp.fft.rfftn if real else jnp.fft.fftn
        backward: Callable[..., Any] = jnp.fft.irfftn if real else jnp.fft.ifftn
        out = backward(forward(in1, sizes, axes) * forward(in2, sizes, axes), sizes, axes)
    else:
        out = jnp.zeros(_with_sizes(np.broadcast_shapes(_with_sizes(in1.shape, axes, full), _with_sizes(in2.shape, axes, full)),
                                    axes, full), in1.dtype)
    begin, count = _window(mode, first, second, full)
    for d, start, n in zip(axes, begin, count, strict=True):
        out = lax.slice_in_dim(out, start, start + n, axis=d)
    return out.astype(dtype)


def _with_sizes(shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    found = list(shape)
    for d, n in zip(axes, sizes, strict=True):
        found[d] = n
    return tuple(found)


def _window(mode: str, first: list[int], second: list[int], full: list[int]) -> tuple[list[int], list[int]]:
    """Where a mode's result begins in the full one, and its sizes."""
    if mode == "full":
        return [0] * len(full), full
    if mode == "same":
        return [(n - m) // 2 for n, m in zip(full, first, strict=True)], first
    pairs = list(zip(first, second, strict=True))
    if not all(m >= n for m, n in pairs) and not all(m <= n for m, n in pairs):
        raise ValueError("For 'valid' mode, One input must be at least as large as the other in every dimension; got sizes "
                         f"{tuple(first)} and {tuple(second)}")
    return [max(min(m, n) - 1, 0) for m, n in pairs], [min(abs(m - n) + 1, k) for (m, n), k in zip(pairs, full, strict=True)]


def _good_size(n: int) -> int:
    """The smallest product of powers of 2, 3 and 5 from n on."""
    best = 1 << (n - 1).bit_length()
    powers = range(best.bit_length())
    for threes, fives in itertools.product(powers, powers):
        odd = 3 ** threes * 5 ** fives
        if odd < best:
            best = min(best, odd << (-(-n // odd) - 1).bit_length())
    return best


# -------------------------------------------------------------------------------------------- two dimensions

@jit_when_eager("mode", "boundary", "precision")
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0,
               precision: Any = None) -> Any:
    """The convolution of two matrices. boundary: what lies around in1, "fill" (fillvalue), "wrap" (in1 again) or "symm" (its
    mirror image). Modes and errors as in convolve; ValueError for other ranks.

    >>> import numjet.numpy as jnp
    >>> convolve2d(jnp.ones((2, 2)), jnp.ones((1, 2)), boundary="wrap", mode="same").tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    in1, in2 = _matrices("convolve2d", in1, in2, mode)
    if mode == "valid":
        return _direct(in1, in2, mode, precision)
    return _bordered(in1, in2, mode, boundary, fillvalue, precision, [(n - 1) // 2 for n in in2.shape])


@jit_when_eager("mode", "boundary", "precision")
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0,
                precision: Any = None) -> Any:
    """The cross-correlation of two matrices: that of in1 with conj(in2), or with mode "valid" and a larger in2 that of
    conj(in1) with in2, as in SciPy. Arguments and errors: as in convolve2d.

    >>> import numjet.numpy as jnp
    >>> correlate2d(jnp.ones((2, 2)), jnp.ones((2, 2)), mode="valid").tolist()
    [[4.0]]
    """
    in1, in2 = _matrices("correlate2d", in1, in2, mode)
    if mode == "valid":
        larger = _covering(in1, in2, "One input must be smaller than the other in every dimension.")[0] is in1
        pair = (in1, jnp.conj(in2)) if larger else (jnp.conj(in1), in2)
        return _direct(pair[0], jnp.flip(pair[1]), mode, precision)
    return _bordered(in1, jnp.conj(jnp.flip(in2)), mode, boundary, fillvalue, precision, [n // 2 for n in in2.shape])


def _matrices(name: str, in1: Any, in2: Any, mode: str) -> list[Any]:
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs. Got shapes {jnp.shape(in1)} and {jnp.shape(in2)}.")
    in1, in2 = _arrays(name, in1, in2, mode)
    if not in1.size or not in2.size:
        raise ValueError(f"zero-size arrays not supported in convolutions, got shapes {in1.shape} and {in2.shape}.")
    return [in1, in2]


def _bordered(in1: Any, in2: Any, mode: str, boundary: str, fill: Any, precision: Any, starts: list[int]) -> Any:
    """Modes "full" and "same" with something around in1."""
    if boundary not in _BORDERS:
        raise ValueError(f"boundary must be 'fill', 'wrap' or 'symm', got {boundary!r}")
    if _BORDERS[boundary] == "constant" and type(fill) is int and fill == 0:
        return _direct(in1, in2, mode, precision, starts)
    pads = [(n - 1, n - 1) for n in in2.shape] if mode == "full" else [
        (n - 1 - start, start) for n, start in zip(in2.shape, starts, strict=True)]
    more = {"constant_values": fill} if _BORDERS[boundary] == "constant" else {}
    return _direct(jnp.pad(in1, pads, mode=_BORDERS[boundary], **more), in2, "valid", precision)
