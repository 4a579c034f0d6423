"""B-splines: evaluation by de Boor's recurrence, and interpolation of samples."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact, promote_kinds_inexact
from numjet.scipy.interpolate.piecewise import _moved_back, _samples
from numjet.tree_util import register_pytree_node_class


@register_pytree_node_class
class BSpline:
    """A spline of degree k: the sum of coefficients c times B-splines over the knots t.

    t: knots, a vector that does not decrease (tracers must not). c: coefficients, at least len(t) - k - 1 along `axis`, others
    are not used. k: degree, a static integer >= 0. extrapolate: True (beyond [t[k], t[n]] by the outer polynomials), False (NaN
    there), or 'periodic'. A pytree: it may be passed to `jit`, `vmap` and `grad`; differentiable by t, c and the points.
    ValueError for numbers that do not fit. C. de Boor, "A practical guide to splines" (1978), chapter X.

    >>> import numjet.numpy as jnp
    >>> spline = BSpline(jnp.array([0.0, 0.0, 1.0, 2.0, 2.0]), jnp.array([0.0, 2.0, 1.0]), 1)
    >>> spline(jnp.array([0.5, 1.5])).tolist()
    [1.0, 1.5]
    """

    t: Any
    c: Any
    k: int
    extrapolate: bool | str
    axis: int

    def __init__(self, t: Any, c: Any, k: int, extrapolate: bool | str = True, axis: int = 0) -> None:
        t, c = promote_kinds_inexact("BSpline", t, c)
        self.k = operator.index(k)
        if self.k < 0:
            raise ValueError(f"BSpline: the degree must not be negative, got {k}")
        if t.ndim != 1 or t.shape[0] < 2 * self.k + 2:
            raise ValueError(f"BSpline: expected at least {2 * self.k + 2} knots for degree {self.k}, got the shape {t.shape}")
        if not c.ndim or not -c.ndim <= axis < c.ndim:
            raise ValueError(f"BSpline: axis {axis} is out of bounds for coefficients of the shape {c.shape}")
        axis = axis % c.ndim
        if c.shape[axis] < t.shape[0] - self.k - 1:
            raise ValueError(f"BSpline: {t.shape[0]} knots of degree {self.k} need {t.shape[0] - self.k - 1} coefficients, got "
                             f"{c.shape[axis]}")
        if not isinstance(t, Tracer) and (np.diff(np.asarray(t.real)) < 0).any():
            raise ValueError("BSpline: knots must be in a non-decreasing order")
        self.t, self.c = t.real, jnp.moveaxis(c, axis, 0)[:t.shape[0] - self.k - 1]
        self.extrapolate, self.axis = extrapolate, axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """The value, or derivative nu, at points of any shape."""
        if nu:
            return self.derivative(nu)(x, extrapolate=self.extrapolate if extrapolate is None else extrapolate)
        (points,) = promote_dtypes_inexact(array_arg("BSpline", x))
        points = points.astype(dtypes.common_dtype(points.dtype, self.t.dtype))
        mode, n, k = self.extrapolate if extrapolate is None else extrapolate, self.c.shape[0], self.k
        first, last = self.t[k], self.t[n]
        if mode == "periodic":
            points = first + jnp.mod(points - first, last - first)
        flat = points.reshape(-1)
        at = jnp.clip(jnp.searchsorted(self.t, flat, side="right") - 1, k, n - 1)
        tall = lambda v: v.reshape(-1, *[1] * (self.c.ndim - 1))
        mixed = dtypes.common_dtype(points.dtype, self.c.dtype)
        rows = [self.c[at - k + j].astype(mixed) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                left, right = self.t[at - k + j], self.t[at + 1 + j - r]
                share = tall((flat - left) / jnp.where(right == left, 1, right - left)).astype(mixed)
                rows[j] = (1 - share) * rows[j - 1] + share * rows[j]
        out = rows[k]
        if mode is False:
            out = jnp.where(tall((flat < first) | (flat > last)), jnp.nan, out)
        out = jnp.where(tall(jnp.isnan(flat)), jnp.nan, out).reshape(*points.shape, *self.c.shape[1:])
        return _moved_back(out, points.ndim, self.axis)

    def _like(self, t: Any, c: Any, k: int) -> BSpline:
        return BSpline(t, jnp.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The spline of derivative nu; for negative nu an antiderivative."""
        if nu <= 0:
            return self.antiderivative(-nu) if nu else self
        if not self.k:
            return self._like(self.t, jnp.zeros_like(self.c), 0).derivative(nu - 1)
        gap = self.t[self.k + 1:-1] - self.t[1:-self.k - 1]
        tall = gap.reshape(-1, *[1] * (self.c.ndim - 1))
        rows = jnp.where(tall == 0, 0, self.k * jnp.diff(self.c, axis=0) / jnp.where(tall == 0, 1, tall))
        return self._like(self.t[1:-1], rows, self.k - 1).derivative(nu - 1)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative that is 0 at t[0], where that is the left end (t[k]), nu times."""
        if nu <= 0:
            return self.derivative(-nu) if nu else self
        gap = (self.t[self.k + 1:] - self.t[:-self.k - 1]) / (self.k + 1)
        rows = jnp.cumsum(self.c * gap.reshape(-1, *[1] * (self.c.ndim - 1)), 0)
        rows = jnp.concatenate([jnp.zeros_like(rows[:1]), rows])
        t = jnp.concatenate([self.t[:1], self.t, self.t[-1:]])
        return self._like(t, rows, self.k + 1).antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: bool | None = None) -> Any:
        """The integral from a to b. NotImplementedError for periodic splines."""
        mode = self.extrapolate if extrapolate is None else extrapolate
        if mode == "periodic":
            raise NotImplementedError("BSpline.integrate of a periodic spline: add up integrals of periods")
        whole = self.antiderivative()
        return whole(b, extrapolate=mode) - whole(a, extrapolate=mode)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[int, bool | str, int]]:
        """Knots and coefficients."""
        return (self.t, self.c), (self.k, self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, static: tuple[int, bool | str, int], parts: tuple[Any, Any]) -> BSpline:
        """The spline of these arrays."""
        out = object.__new__(cls)
        (out.t, out.c), (out.k, out.extrapolate, out.axis) = parts, static
        return out


# ------------------------------------------------------------------------------------------- interpolation

def _knots(x: Any, k: int, more: int) -> Any:
    """Knots at samples, of which so many near both ends are left out that there are n + more coefficients."""
    n = x.shape[0]
    if k % 2:
        drop = (k + 1) // 2 - more // 2
        inner = x[drop:n - drop]
    else:
        middles = 0.5 * (x[1:] + x[:-1])
        inner = middles[k // 2:middles.shape[0] - k // 2]
    return jnp.concatenate([jnp.broadcast_to(x[:1], k + 1), inner, jnp.broadcast_to(x[-1:], k + 1)])


def _conditions(bc_type: Any, k: int) -> tuple[list[tuple[int, Any]], list[tuple[int, Any]]]:
    """Orders and values of the derivatives at both ends."""
    if bc_type is None or isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    found: list[list[tuple[int, Any]]] = []
    for side in bc_type:
        if side in (None, "not-a-knot"):
            found.append([])
        elif side == "natural":
            found.append([(2, 0.0)])
        elif side == "clamped":
            found.append([(1, 0.0)])
        elif isinstance(side, str):
            raise ValueError(f"make_interp_spline: bc_type must be 'not-a-knot', 'natural', 'clamped', None or lists of "
                             f"(order, value), got {side!r}")
        else:
            found.append(list(side))
    if any(not 0 < nu <= k for side in found for nu, _ in side):
        raise ValueError(f"make_interp_spline: derivatives at the ends must be of orders 1 to {k}")
    return found[0], found[1]


def make_interp_spline(x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0) -> BSpline:
    """The spline of degree k through samples y at x, as a BSpline.

    x: positions, a vector that increases. y: values along `axis`. k: static degree. t: knots; by default as many of the samples
    as there are conditions (not-a-knot). bc_type: conditions at the ends: None, 'natural', 'clamped', or a pair of these or of
    lists of (order of the derivative, value), k - 1 in all for odd k. The coefficients solve the dense system of values of
    B-splines; they have derivatives with respect to x, y, t and the values of conditions. ValueError for numbers that do not
    fit; NotImplementedError for bc_type='periodic': CubicSpline has it.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(6.0)
    >>> round(float(make_interp_spline(x, x ** 3)(2.5)), 3)
    15.625
    """
    if isinstance(bc_type, str) and bc_type == "periodic":
        raise NotImplementedError("make_interp_spline: bc_type='periodic' is not there; use CubicSpline(bc_type='periodic')")
    k = operator.index(k)
    if k < 0:
        raise ValueError(f"make_interp_spline: the degree must not be negative, got {k}")
    x, y, axis = _samples("make_interp_spline", x, y, axis, 1)
    left, right = _conditions(bc_type, k)
    count = len(left) + len(right)
    n = x.shape[0]
    if k == 0 and t is None:
        return BSpline(jnp.concatenate([x, x[-1:]]), jnp.moveaxis(y, 0, axis), 0, True, axis)
    if t is None:
        if count not in (0, k - 1) or (k % 2 == 0 and count):
            raise ValueError(f"make_interp_spline: degree {k} takes {k - 1 if k % 2 else 0} conditions at the ends or none, "
                             f"got {count}; or give knots t")
        if n <= k and not count:
            raise ValueError(f"make_interp_spline: degree {k} needs at least {k + 1} samples, got {n}")
        if count and len(left) != len(right):
            raise ValueError("make_interp_spline: give as many conditions on the left as on the right, or knots t")
        t = _knots(x, k, count)
    t = jnp.asarray(t, x.dtype)
    size = t.shape[0] - k - 1
    if size != n + count:
        raise ValueError(f"make_interp_spline: {t.shape[0]} knots of degree {k} have {size} coefficients, for {n} samples and "
                         f"{count} conditions at the ends")
    basis = BSpline(t, jnp.eye(size, dtype=x.dtype), k)
    rows = [jnp.stack([basis(x[0], nu) for nu, _ in left])] if left else []
    rows += [basis(x)] + ([jnp.stack([basis(x[-1], nu) for nu, _ in right])] if right else [])
    given = lambda side: [jnp.stack([jnp.broadcast_to(jnp.asarray(v, y.dtype), y.shape[1:]) for _, v in side])] if side else []
    values = jnp.concatenate([*given(left), y, *given(right)])
    flat = values.reshape(size, math.prod(y.shape[1:]))
    c = jnp.linalg.solve(jnp.concatenate(rows).astype(flat.dtype), flat).reshape(values.shape)
    return BSpline(t, jnp.moveaxis(c, 0, axis), k, True, axis)
