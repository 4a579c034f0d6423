"""Recursive filters: linear difference equations along an axis, as one scan."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.scan import scan
from numjet.core.trace import Tracer
from numjet.lax.contraction.precision import Precision
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact, promote_kinds_inexact

_PADDINGS = ("odd", "even", "constant")


# -------------------------------------------------------------------------------------------- arguments

def _axis(name: str, x: Any, axis: int) -> int:
    axis = operator.index(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for an array of shape {x.shape}")
    return axis % x.ndim


def _coefficients(name: str, b: Any, a: Any) -> tuple[Any, Any]:
    """Numerator and denominator of one length and dtype, divided by a[0]."""
    b, a = (jnp.atleast_1d(v) for v in promote_dtypes_inexact(array_arg(name, b), array_arg(name, a)))
    if b.ndim != 1 or a.ndim != 1 or not a.size or not b.size:
        raise ValueError(f"{name}: expected b and a as vectors of coefficients, got shapes {b.shape} and {a.shape}")
    if not isinstance(a, Tracer) and not np.asarray(a[0] != 0):
        raise ValueError(f"{name}: a[0] must not be 0")
    n = max(a.size, b.size)
    full = lambda v: jnp.pad(v, (0, n - v.size)) / a[0]
    return full(b), full(a)


def _second_order(name: str, sos: Any) -> Any:
    (sos,) = promote_dtypes_inexact(array_arg(name, sos))
    sos = jnp.atleast_2d(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"{name}: sos must be of shape (n_sections, 6), got {sos.shape}")
    if not isinstance(sos, Tracer) and not (np.asarray(sos[:, 3]) == 1).all():
        raise ValueError(f"{name}: sos[:, 3] should be all ones")
    return sos


# -------------------------------------------------------------------------------------------- the recurrence

@jit_when_eager()
def _filtered(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Direct form II, transposed: x [samples, ...], state [order, ...] -> (results, last state)."""
    if b.size == 1:
        return b[0] * x, state
    tall = (-1, *[1] * (x.ndim - 1))
    ahead, back = b[1:].reshape(tall), a[1:].reshape(tall)

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        y = b[0] * x + state[0]
        shifted = jnp.concatenate([state[1:], jnp.zeros_like(state[:1])])
        return shifted + ahead * x[None] - back * y[None], y
    last, ys = scan(step, state, x)
    return ys, last


def _common(name: str, coefficients: Any, x: Any, given: tuple[Any, ...]) -> Any:
    """The dtype of the results: filters are real where samples may be complex."""
    return promote_kinds_inexact(name, coefficients, x, *given)[0].dtype


def _state(name: str, zi: Any, shape: tuple[int, ...], axis: int, dtype: Any) -> Any:
    """The given state, with the filter's axis in front."""
    (zi,) = promote_dtypes_inexact(array_arg(name, zi))
    if zi.ndim != len(shape) or any(n not in (1, m) for n, m in zip(zi.shape, shape, strict=True)) \
            or zi.shape[axis] != shape[axis]:
        raise ValueError(f"{name}: zi must have the shape {shape}, got {zi.shape}")
    return jnp.moveaxis(jnp.broadcast_to(zi, shape), axis, 0).astype(dtype)


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A recursive filter along an axis: a[0] y[n] = b[0] x[n] + b[1] x[n-1] + ... - a[1] y[n-1] - ...

    b, a: vectors of coefficients. zi: the state before the first sample (zero by default), with max(len(a), len(b)) - 1
    elements along the axis; with it the result is (y, state after the last sample). In direct form II, transposed, as one
    scan; differentiable by all arguments. ValueError for shapes that do not fit, and a[0] = 0 where it is known.

    >>> import numjet.numpy as jnp
    >>> lfilter(jnp.array([1.0]), jnp.array([1.0, -0.5]), jnp.array([1.0, 0.0, 0.0])).tolist()
    [1.0, 0.5, 0.25]
    """
    b, a = _coefficients("lfilter", b, a)
    (x,) = promote_dtypes_inexact(array_arg("lfilter", x))
    at = _axis("lfilter", x, axis)
    given = () if zi is None else (jnp.asarray(zi),)
    dtype = _common("lfilter", b, x, given)
    b, a, moved = b.astype(dtype), a.astype(dtype), jnp.moveaxis(x, at, 0).astype(dtype)
    shape = (*x.shape[:at], b.size - 1, *x.shape[at + 1:])
    state = (jnp.zeros((b.size - 1, *moved.shape[1:]), dtype) if zi is None else _state("lfilter", zi, shape, at, dtype))
    y, last = _filtered(b, a, moved, state)
    out = jnp.moveaxis(y, 0, at)
    return out if zi is None else (out, jnp.moveaxis(last, 0, at))


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of lfilter after a long time at the constant input 1.

    >>> import numjet.numpy as jnp
    >>> lfilter_zi(jnp.array([1.0]), jnp.array([1.0, -0.5])).tolist()
    [1.0]
    """
    b, a = _coefficients("lfilter_zi", b, a)
    b, a = promote_dtypes_inexact(b, a)
    n = b.size - 1
    companion = jnp.eye(n, k=-1, dtype=a.dtype).at[0].set(-a[1:]) if n else jnp.zeros((0, 0), a.dtype)
    return jnp.linalg.solve(jnp.eye(n, dtype=a.dtype) - companion.T, b[1:] - a[1:] * b[0])


@jit_when_eager()
def _filtered_by_sections(sections: Any, x: Any, state: Any) -> tuple[Any, Any]:
    def step(state: Any, x: Any) -> tuple[Any, Any]:
        rows = []
        for k in range(sections.shape[0]):
            b0, b1, b2, _, a1, a2 = sections[k]
            y = b0 * x + state[0, k]
            rows.append(jnp.stack([b1 * x - a1 * y + state[1, k], b2 * x - a2 * y]))
            x = y
        return (jnp.stack(rows, 1) if rows else state), x
    last, y = scan(step, state, x)
    return y, last


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A cascade of filters of second order along an axis.

    sos: rows (b0, b1, b2, 1, a1, a2). zi: states [n_sections, ..., 2, ...] with 2 elements along the axis; with it the result
    is (y, states after the last sample). All sections in one scan. Differentiable; errors as of lfilter.

    >>> import numjet.numpy as jnp
    >>> sosfilt(jnp.array([[1.0, 0, 0, 1, -0.5, 0]]), jnp.array([1.0, 0.0, 0.0])).tolist()
    [1.0, 0.5, 0.25]
    """
    sos = _second_order("sosfilt", sos)
    (x,) = promote_dtypes_inexact(array_arg("sosfilt", x))
    at = _axis("sosfilt", x, axis)
    given = () if zi is None else (jnp.asarray(zi),)
    dtype = _common("sosfilt", sos, x, given)
    moved, sections = jnp.moveaxis(x, at, 0).astype(dtype), sos.astype(dtype)
    shape = (sos.shape[0], *x.shape[:at], 2, *x.shape[at + 1:])
    state = (jnp.zeros((2, sos.shape[0], *moved.shape[1:]), dtype) if zi is None
             else _state("sosfilt", zi, shape, at + 1, dtype))
    y, last = _filtered_by_sections(sections, moved, state)
    out = jnp.moveaxis(y, 0, at)
    return out if zi is None else (out, jnp.moveaxis(last, 0, at + 1))


def sosfilt_zi(sos: Any) -> Any:
    """The states of sosfilt after a long time at the constant input 1.

    >>> import numjet.numpy as jnp
    >>> sosfilt_zi(jnp.array([[1.0, 0, 0, 1, -0.5, 0]])).tolist()
    [[1.0, 0.0]]
    """
    sos = _second_order("sosfilt_zi", sos)
    scale, rows = jnp.ones((), sos.dtype), []
    for section in sos:
        rows.append(scale * lfilter_zi(section[:3], section[3:]))
        scale = scale * jnp.sum(section[:3]) / jnp.sum(section[3:])
    return jnp.stack(rows) if rows else jnp.zeros((0, 2), sos.dtype)


# -------------------------------------------------------------------------------------------- forward and backward

def _extended(name: str, x: Any, padtype: str | None, padlen: int | None, default: int) -> tuple[Any, int]:
    """x [samples, ...] with samples in front and behind that go on in one of three ways."""
    if padtype is not None and padtype not in _PADDINGS:
        raise ValueError(f"{name}: padtype must be 'even', 'odd', 'constant', or None, got {padtype!r}")
    n = 0 if padtype is None else default if padlen is None else operator.index(padlen)
    if n < 0 or x.shape[0] <= n:
        raise ValueError(f"{name}: the length of the input must be greater than padlen, {n}, got {x.shape[0]}")
    if not n:
        return x, 0
    first, last = x[:1], x[-1:]
    if padtype == "constant":
        return jnp.concatenate([jnp.repeat(first, n, 0), x, jnp.repeat(last, n, 0)]), n
    before, behind = x[n:0:-1], x[-2:-n - 2:-1]
    if padtype == "odd":
        before, behind = 2 * first - before, 2 * last - behind
    return jnp.concatenate([before, x, behind]), n


def filtfilt(b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None,
             method: str = "pad", irlen: int | None = None) -> Any:
    """A recursive filter, applied forward and backward, so that no phase is left.

    b, a, axis: as of lfilter. padtype: how the signal goes on at its ends by padlen samples (default 3 max(len(a), len(b))):
    'odd', 'even', 'constant' or None. NotImplementedError for method 'gust'; ValueError for other arguments.

    >>> import numjet.numpy as jnp
    >>> filtfilt(jnp.array([0.5, 0.5]), jnp.array([1.0]), jnp.arange(8.0)).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    if method != "pad" or irlen is not None:
        raise NotImplementedError("filtfilt: Gustafsson's method is not there; use method='pad', without irlen")
    taps = max(np.size(b), np.size(a))
    state = lfilter_zi(b, a)
    (x,) = promote_dtypes_inexact(array_arg("filtfilt", x))
    x = x.astype(_common("filtfilt", state, x, ()))  # before samples are added at the ends, which would be rounded
    at = _axis("filtfilt", x, axis)
    extended, n = _extended("filtfilt", jnp.moveaxis(x, at, 0), padtype, padlen, 3 * taps)
    scaled = lambda first: state.reshape(-1, *[1] * (x.ndim - 1)) * first
    y, _ = lfilter(b, a, extended, 0, scaled(extended[:1]))
    y, _ = lfilter(b, a, y[::-1], 0, scaled(y[-1:]))
    return jnp.moveaxis(y[::-1][n:y.shape[0] - n], 0, at)


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Any:
    """A cascade of filters of second order, applied forward and backward; arguments as of filtfilt.

    >>> import numjet.numpy as jnp
    >>> sosfiltfilt(jnp.array([[0.5, 0.5, 0, 1, 0, 0]]), jnp.arange(8.0)).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    sos = _second_order("sosfiltfilt", sos)
    (x,) = promote_dtypes_inexact(array_arg("sosfiltfilt", x))
    x = x.astype(_common("sosfiltfilt", sos, x, ()))
    at = _axis("sosfiltfilt", x, axis)
    if padtype is not None and padlen is None and isinstance(sos, Tracer):
        raise ValueError("sosfiltfilt: the default of padlen depends on the values of sos; give padlen where they are traced")
    zeros = 0 if isinstance(sos, Tracer) else min(int((sos[:, 2] == 0).sum()), int((sos[:, 5] == 0).sum()))
    extended, n = _extended("sosfiltfilt", jnp.moveaxis(x, at, 0), padtype, padlen, 3 * (2 * sos.shape[0] + 1 - zeros))
    states = sosfilt_zi(sos)
    scaled = lambda first: states.reshape(sos.shape[0], 2, *[1] * (x.ndim - 1)) * first[None]
    y, _ = sosfilt(sos, extended, 0, scaled(extended[:1]))
    y, _ = sosfilt(sos, y[::-1], 0, scaled(y[-1:]))
    return jnp.moveaxis(y[::-1][n:y.shape[0] - n], 0, at)


# -------------------------------------------------------------------------------------------- Savitzky and Golay

def savgol_coeffs(window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, pos: float | None = None,
                  use: str = "conv") -> Any:
    """The coefficients of a filter that fits polynomials: A. Savitzky and M. J. E. Golay (1964).

    window_length, polyorder: samples of a fit and the polynomial's degree. deriv, delta: which derivative, of samples delta
    apart. pos: where in the window it is evaluated, by default in the middle. use: 'conv' (in the order for a convolution) or
    'dot'. ValueError for other values.

    >>> [round(w, 3) for w in savgol_coeffs(5, 2).tolist()]
    [-0.086, 0.343, 0.486, 0.343, -0.086]
    """
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    if use not in ("conv", "dot"):
        raise ValueError("`use` must be 'conv' or 'dot'")
    middle = (window_length - 1) / 2 if pos is None else pos
    if not 0 <= middle < window_length:
        raise ValueError("pos must be nonnegative and less than window_length.")
    return jnp.asarray(_fit_weights(window_length, polyorder, deriv, delta, middle)[::-1 if use == "conv" else 1])


def _fit_weights(length: int, degree: int, deriv: int, delta: float, place: float) -> np.ndarray:
    """Weights of samples that give a derivative, at a place, of the polynomial fitted to them."""
    if deriv > degree:
        return np.zeros(length)
    basis = np.polynomial.legendre.Legendre.basis
    half = max((length - 1) / 2, 1)
    x = (np.arange(length) - (length - 1) / 2) / half
    values = np.stack([basis(k)(x) for k in range(degree + 1)], 1)
    at = (place - (length - 1) / 2) / half
    derivative = np.array([basis(k).deriv(deriv)(at) if deriv else basis(k)(at) for k in range(degree + 1)])
    return np.linalg.pinv(values).T @ derivative / (half * delta) ** deriv


def savgol_filter(x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
                  mode: str = "interp", cval: float = 0.0) -> Any:
    """Smoothing along an axis by polynomials that are fitted to windows.

    window_length, polyorder, deriv, delta: as of savgol_coeffs. mode: what is beyond the ends: 'interp' (the outer fits are
    evaluated there), 'mirror', 'constant' (cval), 'nearest' or 'wrap'. ValueError for other modes, and for windows that are
    longer than x in mode 'interp'; NotImplementedError for windows of even length.

    >>> import numjet.numpy as jnp
    >>> savgol_filter(jnp.array([1.0, 4.0, 9.0, 16.0, 25.0]), 5, 2).round(3).tolist()
    [1.0, 4.0, 9.0, 16.0, 25.0]
    """
    modes = {"interp": "edge", "mirror": "reflect", "constant": "constant", "nearest": "edge", "wrap": "wrap"}
    if mode not in modes:
        raise ValueError(f"mode must be 'mirror', 'constant', 'nearest', 'wrap' or 'interp', got {mode!r}")
    if window_length % 2 == 0:
        raise NotImplementedError(f"savgol_filter: window_length must be odd, got {window_length}")
    (x,) = promote_dtypes_inexact(array_arg("savgol_filter", x))
    at = _axis("savgol_filter", x, axis)
    moved = jnp.moveaxis(x, at, -1)
    n, half = moved.shape[-1], window_length // 2
    if mode == "interp" and window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    weights = savgol_coeffs(window_length, polyorder, deriv, delta, use="dot").astype(x.dtype)
    padding = [*[(0, 0)] * (x.ndim - 1), (half, window_length - 1 - half)]
    more = {"constant_values": cval} if mode == "constant" else {}
    padded = jnp.pad(moved, padding, mode=modes[mode], **more)
    out = sum(weights[k] * padded[..., k:k + n] for k in range(window_length))
    if mode == "interp" and half:
        fit = lambda places: jnp.asarray(
            np.stack([_fit_weights(window_length, polyorder, deriv, delta, p) for p in places]), x.dtype)
        ends = range(half), range(window_length - half, window_length)
        first = jnp.matmul(moved[..., :window_length], fit(ends[0]).T, precision=Precision.HIGHEST)
        last = jnp.matmul(moved[..., n - window_length:], fit(ends[1]).T, precision=Precision.HIGHEST)
        out = jnp.concatenate([first, out[..., half:n - half], last], -1)
    return jnp.moveaxis(out, -1, at)
