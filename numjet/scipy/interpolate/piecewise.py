"""Interpolation by piecewise cubics: splines, monotonic and Akima's interpolation."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.lax.linalg import tridiagonal_solve
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact, promote_kinds_inexact
from numjet.tree_util import register_pytree_node_class


@register_pytree_node_class
class PPoly:
    """A piecewise polynomial: coefficients c [degree + 1, intervals, ...], highest first, in x minus the interval's start.

    c: array, or tuple of rows. x: breakpoints, a vector of intervals + 1, increasing (tracers must increase). extrapolate: True
    (beyond the ends by the outer polynomials), False (NaN there), or 'periodic'. axis: where calls put the axes of the points.
    A pytree: it may be passed to `jit`, `vmap` and `grad`, and is differentiable by c, x and the points.

    >>> import numjet.numpy as jnp
    >>> PPoly(jnp.array([[1.0, 1.0], [0.0, 2.0]]), jnp.array([0.0, 2.0, 3.0]))(jnp.array([1.0, 2.5])).tolist()
    [1.0, 2.5]
    """

    c: Any
    x: Any
    extrapolate: bool | str
    axis: int

    def __init__(self, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        name = type(self).__name__
        c, x = promote_kinds_inexact(name, c, x)
        if x.ndim != 1 or c.ndim < 2 or c.shape[1] != x.shape[0] - 1:
            raise ValueError(f"{name}: expected c of the shape [degree + 1, intervals, ...] for intervals + 1 breakpoints, got "
                             f"{c.shape} and {x.shape}")
        if x.shape[0] < 2:
            raise ValueError(f"{name}: expected two breakpoints at least, got {x.shape[0]}")
        self.c, self.x, self.axis = c, x.real, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """The value, or derivative nu, at points of any shape."""
        (points,) = promote_dtypes_inexact(array_arg(type(self).__name__, x))
        mode = self.extrapolate if extrapolate is None else extrapolate
        points = points.astype(dtypes.common_dtype(points.dtype, self.x.dtype))
        first, last = self.x[0], self.x[-1]
        if mode == "periodic":
            points = first + jnp.mod(points - first, last - first)
        flat = points.reshape(-1)
        at = jnp.clip(jnp.searchsorted(self.x, flat, side="right") - 1, 0, self.x.shape[0] - 2)
        carried = (1,) * (self.c.ndim - 2)
        tall = lambda v: v.reshape(-1, *carried)
        mixed = dtypes.common_dtype(points.dtype, self.c.dtype)
        out, t = jnp.zeros((), mixed), tall(flat - self.x[at]).astype(mixed)
        for k, row in enumerate(self._rows(nu)):
            out = out * t + row[at].astype(mixed) if k else row[at].astype(mixed)
        if mode is False:
            out = jnp.where(tall((flat < first) | (flat > last)), jnp.nan, out)
        out = jnp.where(tall(jnp.isnan(flat)), jnp.nan, out).reshape(*points.shape, *self.c.shape[2:])
        return _moved_back(out, points.ndim, self.axis)

    def _rows(self, nu: int) -> list[Any]:
        """The coefficients of derivative nu."""
        if nu < 0:
            return list(self.antiderivative(-nu).c)
        degree = self.c.shape[0] - 1
        if nu > degree:
            return [jnp.zeros_like(self.c[0])]
        factor = lambda power: float(np.prod(np.arange(power - nu + 1, power + 1)))
        return [self.c[k] * factor(degree - k) for k in range(degree - nu + 1)]

    def derivative(self, nu: int = 1) -> PPoly:
        """The piecewise polynomial of derivative nu."""
        return PPoly(jnp.stack(self._rows(nu)), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The continuous antiderivative that is 0 at the first breakpoint, nu times."""
        if nu <= 0:
            return self.derivative(-nu) if nu else self
        degree, carried = self.c.shape[0], (1,) * (self.c.ndim - 2)
        h = jnp.diff(self.x).reshape(-1, *carried)
        rows = [self.c[k] / (degree - k) for k in range(degree)]
        total = jnp.zeros_like(rows[0])
        for row in rows:
            total = (total + row) * h
        starts = jnp.concatenate([jnp.zeros_like(total[:1]), jnp.cumsum(total, 0)[:-1]])
        return PPoly(jnp.stack([*rows, starts]), self.x, self.extrapolate, self.axis).antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: bool | None = None) -> Any:
        """The integral from a to b. NotImplementedError for periodic functions."""
        mode = self.extrapolate if extrapolate is None else extrapolate
        if mode == "periodic":
            raise NotImplementedError(f"{type(self).__name__}.integrate of a periodic function: add up integrals of periods")
        whole = self.antiderivative()
        return whole(b, extrapolate=mode) - whole(a, extrapolate=mode)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[bool | str, int]]:
        """Coefficients and breakpoints."""
        return (self.c, self.x), (self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, static: tuple[bool | str, int], parts: tuple[Any, Any]) -> PPoly:
        """The polynomial of these arrays."""
        out = object.__new__(cls)
        (out.c, out.x), (out.extrapolate, out.axis) = parts, static
        return out


def _moved_back(out: Any, count: int, axis: int) -> Any:
    """The first `count` axes, those of the points, moved to where the interpolated axis was."""
    if not axis:
        return out
    return jnp.moveaxis(out, tuple(range(count)), tuple(range(axis, axis + count)))


# -------------------------------------------------------------------------------------------- samples

def _samples(name: str, x: Any, y: Any, axis: int, least: int = 2) -> tuple[Any, Any, int]:
    """Positions, values with the interpolated axis in front, and that axis. ValueError for what does not fit."""
    x, y = promote_kinds_inexact(name, x, y)
    if x.dtype in dtypes.COMPLEX:
        x = x.real
    axis = axis % y.ndim if y.ndim else 0
    if x.ndim != 1 or not y.ndim or x.shape[0] != y.shape[axis]:
        raise ValueError(f"{name}: expected a vector of positions, as long as axis {axis} of y, got {x.shape} and {y.shape}")
    if x.shape[0] < least:
        raise ValueError(f"{name}: expected at least {least} samples, got {x.shape[0]}")
    if not isinstance(x, Tracer) and not (np.diff(np.asarray(x)) > 0).all():
        raise ValueError(f"{name}: the positions must increase strictly")
    return x, jnp.moveaxis(y, axis, 0), axis


def _tall(v: Any, y: Any) -> Any:
    """A vector along the first axis of y, in its dtype."""
    return v.reshape(-1, *[1] * (y.ndim - 1)).astype(y.dtype)


def _hermite_rows(x: Any, y: Any, slopes: Any) -> Any:
    """Coefficients of the cubics with these values and slopes at the breakpoints."""
    h = _tall(jnp.diff(x), y)
    rise = jnp.diff(y, axis=0) / h
    bend = (slopes[:-1] + slopes[1:] - 2 * rise) / h
    return jnp.stack([bend / h, (rise - slopes[:-1]) / h - bend, slopes[:-1], y[:-1]])


class CubicHermiteSpline(PPoly):
    """The piecewise cubic with given values y and slopes dydx at the positions x.

    axis: that of the positions in y. ValueError for arrays that do not fit. See PPoly for calls.

    >>> import numjet.numpy as jnp
    >>> float(CubicHermiteSpline(jnp.array([0.0, 2.0]), jnp.array([0.0, 4.0]), jnp.array([0.0, 4.0]))(1.0))
    1.0
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        x, y, axis = _samples(type(self).__name__, x, y, axis)
        slopes = jnp.moveaxis(jnp.asarray(dydx, y.dtype), axis, 0)
        if slopes.shape != y.shape:
            raise ValueError(f"{type(self).__name__}: dydx must have the shape of y, {y.shape}, got {slopes.shape}")
        super().__init__(_hermite_rows(x, y, slopes), x, extrapolate, axis)


register_pytree_node_class(CubicHermiteSpline)


# -------------------------------------------------------------------------------------------- splines

_ENDS: dict[str, tuple[int, float]] = {"clamped": (1, 0.0), "natural": (2, 0.0)}


@register_pytree_node_class
class CubicSpline(CubicHermiteSpline):
    """The cubic spline: the piecewise cubic through samples with two continuous derivatives.

    x, y: positions, increasing, and values. axis: that of the positions in y. bc_type: 'not-a-knot' (the first two cubics are
    one, and the last two), 'natural' (no curvature at the ends), 'clamped' (no slope), 'periodic' (y[0] must equal y[-1]), or a
    pair of these but the last, or of (order, value) with derivative 1 or 2 at the end. extrapolate: as of PPoly; by default
    'periodic' for periodic splines. C. de Boor, "A practical guide to splines" (1978), chapter IV: the slopes solve a
    tridiagonal system. ValueError for other conditions, and arrays that do not fit.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(5.0)
    >>> spline = CubicSpline(x, x ** 3)
    >>> round(float(spline(2.5)), 3), round(float(spline(2.5, 1)), 3)
    (15.625, 18.75)
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot",
                 extrapolate: bool | str | None = None) -> None:
        x, y, axis = _samples("CubicSpline", x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        slopes = _periodic_slopes(x, y) if periodic else _slopes(x, y, *_conditions(bc_type, y))
        PPoly.__init__(self, _hermite_rows(x, y, slopes), x, extrapolate, axis)


def _conditions(bc_type: Any, y: Any) -> tuple[Any, Any]:
    """For each end None (not a knot), or the order and the value of a derivative."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2:
        raise ValueError(f"CubicSpline: bc_type must be a name or a pair, got {bc_type!r}")
    return _condition(pair[0], y), _condition(pair[1], y)


def _condition(end: Any, y: Any) -> Any:
    if isinstance(end, str):
        if end == "not-a-knot":
            return None
        if end not in _ENDS:
            raise ValueError(f"CubicSpline: bc_type must be 'not-a-knot', 'natural', 'clamped' or 'periodic', got {end!r}")
        order, value = _ENDS[end]
        return order, jnp.broadcast_to(jnp.asarray(value, y.dtype), y.shape[1:])
    order, value = end
    if order not in (1, 2):
        raise ValueError(f"CubicSpline: conditions are about derivative 1 or 2, got {order}")
    return order, jnp.broadcast_to(jnp.asarray(value, y.dtype), y.shape[1:])


def _solved(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
    """The tridiagonal system, for right-hand sides along the first axis."""
    low, middle, high = (v.astype(right.dtype) for v in (lower, diagonal, upper))
    return tridiagonal_solve(low, middle, high, right.reshape(right.shape[0], -1)).reshape(right.shape)


def _slopes(x: Any, y: Any, start: Any, end: Any) -> Any:
    """The slopes at the breakpoints."""
    n, h = x.shape[0], jnp.diff(x).astype(y.dtype)
    rise = jnp.diff(y, axis=0) / _tall(h, y)
    if n == 2:
        return _two_points(h[0], rise[0], start, end)
    if n == 3 and start is None and end is None:  # one parabola
        bend = (rise[1] - rise[0]) / (h[0] + h[1])
        return jnp.stack([rise[0] - bend * h[0], rise[0] + bend * h[0], rise[1] + bend * h[1]])
    first = _end_row(h[0], h[1], rise[0], rise[1], start, 1)
    last = _end_row(h[-1], h[-2], rise[-1], rise[-2], end, -1)
    inner = 3 * (_tall(h[1:], y) * rise[:-1] + _tall(h[:-1], y) * rise[1:])
    zero = jnp.zeros(1, h.dtype)
    at = lambda v: jnp.asarray(v, h.dtype).reshape(1)
    lower = jnp.concatenate([zero, h[1:], at(last[1])])
    diagonal = jnp.concatenate([at(first[0]), 2 * (h[:-1] + h[1:]), at(last[0])])
    upper = jnp.concatenate([at(first[1]), h[:-1], zero])
    return _solved(lower, diagonal, upper, jnp.concatenate([first[2][None], inner, last[2][None]]))


def _end_row(h: Any, beside: Any, rise: Any, next_rise: Any, condition: Any, sign: int) -> tuple[Any, Any, Any]:
    """Of the equation at an end the diagonal, what stands beside it, and the right-hand side."""
    if condition is None:
        whole = h + beside
        return beside, whole, ((h + 2 * whole) * beside * rise + h * h * next_rise) / whole
    order, value = condition
    if order == 1:
        return 1.0, 0.0, value
    return 2.0, 1.0, 3 * rise - sign * 0.5 * h * value


def _two_points(h: Any, rise: Any, start: Any, end: Any) -> Any:
    """The slopes of a cubic through two points; an end without a condition has the line's slope."""
    row = lambda c, sign: (1.0, 0.0, rise) if c is None else _end_row(h, h, rise, rise, c, sign)
    (a, b, right), (d, c, other) = row(start, 1), row(end, -1)
    determinant = a * d - b * c
    return jnp.stack([(d * right - b * other) / determinant, (a * other - c * right) / determinant])


def _periodic_slopes(x: Any, y: Any) -> Any:
    """The cyclic system, as a tridiagonal one with a correction of rank one (Sherman, Morrison)."""
    if not isinstance(y, Tracer) and not np.allclose(np.asarray(y[0]), np.asarray(y[-1]), rtol=1e-6, atol=1e-6):
        raise ValueError("CubicSpline: a periodic spline needs y[0] equal to y[-1]")
    n, h = x.shape[0] - 1, jnp.diff(x).astype(y.dtype)
    rise = jnp.diff(y, axis=0) / _tall(h, y)
    before, rise_before = jnp.roll(h, 1), jnp.roll(rise, 1, 0)
    right = 3 * (_tall(h, y) * rise_before + _tall(before, y) * rise)
    if n == 1:
        return jnp.zeros_like(y)
    if n == 2:  # both neighbours are the same
        slopes = (2 * right - right[::-1]) / (3 * (h[0] + h[1]))
        return jnp.concatenate([slopes, slopes[:1]])
    corner_low, corner_high = before[-1], h[0]  # of the last row, first column and of the first row, last column
    shift = -2 * (h[0] + before[0])
    diagonal = (2 * (h + before)).at[0].add(-shift).at[-1].add(-corner_low * corner_high / shift)
    lower, upper = h.at[0].set(0), before.at[-1].set(0)
    first = jnp.zeros((n, *[1] * (y.ndim - 1)), right.dtype).at[0].set(shift).at[-1].set(corner_low)
    both = jnp.concatenate([right.reshape(n, -1), first.reshape(n, 1)], 1)
    found = _solved(lower, diagonal, upper, both)
    solution, change = found[:, :-1], found[:, -1:]
    ratio = corner_high / shift
    factor = (solution[0] + ratio * solution[-1]) / (1 + change[0] + ratio * change[-1])
    slopes = (solution - change * factor).reshape(right.shape)
    return jnp.concatenate([slopes, slopes[:1]])


# -------------------------------------------------------------------------------------------- shapes

def _safe(x: Any) -> Any:
    return jnp.where(x == 0, 1, x)


@register_pytree_node_class
class PchipInterpolator(CubicHermiteSpline):
    """Monotonic interpolation by cubics: between two samples it neither rises nor falls where they do not.

    x, y, axis, extrapolate: as of CubicSpline. F. N. Fritsch and J. Butland, "A method for constructing local monotone
    piecewise cubic interpolants" (1984): slopes are weighted harmonic means of those of the neighbouring lines.

    >>> import numjet.numpy as jnp
    >>> float(PchipInterpolator(jnp.arange(3.0), jnp.array([0.0, 1.0, 1.0]))(1.5))
    1.0
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        x, y, axis = _samples("PchipInterpolator", x, y, axis)
        if y.dtype in dtypes.COMPLEX:
            raise ValueError("PchipInterpolator: expected real values; interpolate real and imaginary parts")
        PPoly.__init__(self, _hermite_rows(x, y, _monotonic_slopes(x, y)), x, extrapolate, axis)


def _monotonic_slopes(x: Any, y: Any) -> Any:
    h = _tall(jnp.diff(x), y)
    rise = jnp.diff(y, axis=0) / h
    if x.shape[0] == 2:
        return jnp.concatenate([rise, rise])
    first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    turns = jnp.sign(rise[:-1]) * jnp.sign(rise[1:]) <= 0
    left, right = (jnp.where(turns, 1, m) for m in (rise[:-1], rise[1:]))
    inner = jnp.where(turns, 0, (first + second) / (first / left + second / right))
    start, end = _monotonic_end(h[0], h[1], rise[0], rise[1]), _monotonic_end(h[-1], h[-2], rise[-1], rise[-2])
    return jnp.concatenate([start[None], inner, end[None]])


def _monotonic_end(h: Any, beside: Any, rise: Any, next_rise: Any) -> Any:
    """The slope of the parabola through three samples, limited so that the shape is kept."""
    slope = ((2 * h + beside) * rise - h * next_rise) / (h + beside)
    steep = (jnp.sign(rise) != jnp.sign(next_rise)) & (abs(slope) > 3 * abs(rise))
    return jnp.where(jnp.sign(slope) != jnp.sign(rise), 0, jnp.where(steep, 3 * rise, slope))


@register_pytree_node_class
class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's interpolation: cubics whose slopes at a sample depend on the four lines around it.

    x, y, axis: as of CubicSpline. method: 'akima' (H. Akima, "A new method of interpolation and smooth curve fitting based on
    local procedures", 1970) or 'makima', with weights that avoid overshoots beside flat parts. extrapolate: default False.

    >>> import numjet.numpy as jnp
    >>> round(float(Akima1DInterpolator(jnp.arange(5.0), jnp.array([0.0, 1.0, 4.0, 9.0, 16.0]))(2.5)), 3)
    6.25
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: bool | str | None = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"Akima1DInterpolator: method {method!r} is not there; use 'akima' or 'makima'")
        x, y, axis = _samples("Akima1DInterpolator", x, y, axis)
        slopes = _akima_slopes(x, y, method == "makima")
        PPoly.__init__(self, _hermite_rows(x, y, slopes), x, bool(extrapolate) if extrapolate is None else extrapolate, axis)


def _akima_slopes(x: Any, y: Any, modified: bool) -> Any:
    rise = jnp.diff(y, axis=0) / _tall(jnp.diff(x), y)
    if x.shape[0] == 2:
        return jnp.concatenate([rise, rise])
    second, last = 2 * rise[0] - rise[1], 2 * rise[-1] - rise[-2]
    m = jnp.concatenate([(2 * second - rise[0])[None], second[None], rise, last[None], (2 * last - rise[-1])[None]])
    weights = abs(jnp.diff(m, axis=0))
    if modified:
        weights = weights + 0.5 * abs(m[1:] + m[:-1])
    after, before = weights[2:], weights[:-2]
    total = before + after
    even = total <= 1e-9 * jnp.max(total, initial=0.0)
    mixed = (after.astype(m.dtype) * m[1:-2] + before.astype(m.dtype) * m[2:-1]) / jnp.where(even, 1, total).astype(m.dtype)
    return jnp.where(even, 0.5 * (m[3:] + m[:-3]), mixed)
