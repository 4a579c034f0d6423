"""Integrals of functions that are known at samples: Simpson's rule, cumulative integrals."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.lax.axes import as_axis
from numjet.numpy.core.promotion import promote_kinds_inexact


@jit_when_eager("axis")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule: the integral of y along `axis`, of parabolas through three neighbours.

    x: the positions of the samples, a vector or an array of y's shape; without it they are dx apart. For an even number of
    samples the last interval gets the parabola through the last three (K. V. Cartwright, "Simpson's rule cumulative
    integration with MS Excel and irregularly-spaced data", 2017); two are integrated by the trapezoidal rule. A float, or
    complex. ValueError for an axis without samples, or positions of another number.

    >>> import numjet.numpy as jnp
    >>> round(float(simpson(jnp.array([0.0, 1.0, 4.0]))), 4)
    2.6667
    """
    y, gaps = _samples("simpson", y, x, dx, axis)
    n = y.shape[-1]
    if n == 1:
        return jnp.zeros_like(y[..., 0])
    if n == 2:
        return 0.5 * gaps[..., 0] * (y[..., 0] + y[..., 1])
    pairs = n - 1 - (n - 1) % 2
    total = jnp.sum(_parabolas(y[..., 0:pairs - 1:2], y[..., 1:pairs:2], y[..., 2:pairs + 1:2],
                               gaps[..., 0:pairs:2], gaps[..., 1:pairs:2]), -1)
    if pairs == n - 1:
        return total
    return total + _first_part(y[..., -1], y[..., -2], y[..., -3], gaps[..., -1], gaps[..., -2])


@jit_when_eager("axis")
def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> Any:
    """Romberg's rule: the integral of y along `axis`, of 2**k + 1 samples that are dx apart.

    Richardson's extrapolation of the trapezoidal rules of all steps. A float, or complex. ValueError for other numbers of
    samples.

    >>> import numjet.numpy as jnp
    >>> round(float(romb(jnp.linspace(0.0, 1.0, 5) ** 4, 0.25)), 4)
    0.2
    """
    y, gaps = _samples("romb", y, None, dx, axis)
    n = y.shape[-1] - 1
    if n < 1 or n & (n - 1):
        raise ValueError(f"romb: Number of samples must be one plus a non-negative power of 2, got {n + 1}")
    width = gaps[..., 0]
    row = [0.5 * n * width * (y[..., 0] + y[..., -1])]
    for level in range(1, n.bit_length()):
        step = n >> level
        halved = 0.5 * row[0] + step * width * jnp.sum(y[..., step:n:2 * step], -1)
        finer = [halved]
        for k, coarse in enumerate(row, 1):
            finer.append(finer[-1] + (finer[-1] - coarse) / (4 ** k - 1))
        row = finer
    return row[-1]


@jit_when_eager("axis", "initial")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: int | None = None) -> Any:
    """The trapezoidal rule up to each sample but the first; with `initial` (0) in front.

    x, dx: as in simpson. ValueError for other values of `initial`, as in SciPy, and for an axis without samples.

    >>> import numjet.numpy as jnp
    >>> cumulative_trapezoid(jnp.array([0.0, 2.0, 4.0]), initial=0).tolist()
    [0.0, 1.0, 4.0]
    """
    if initial not in (None, 0):
        raise ValueError(f"`initial` must be `None` or `0`, got {initial!r}")
    y, gaps = _samples("cumulative_trapezoid", y, x, dx, axis)
    return _cumulated(0.5 * gaps * (y[..., 1:] + y[..., :-1]), axis, initial)


@jit_when_eager("axis")
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Simpson's rule up to each sample but the first, by Cartwright's formula; `initial` is added to all and put in front.

    x, dx: as in simpson; fewer than three samples are integrated by the trapezoidal rule.

    >>> import numjet.numpy as jnp
    >>> cumulative_simpson(jnp.array([0.0, 1.0, 4.0]), initial=0).round(3).tolist()
    [0.0, 0.3330000042915344, 2.6670000553131104]
    """
    y, gaps = _samples("cumulative_simpson", y, x, dx, axis)
    if y.shape[-1] < 3:
        return _cumulated(0.5 * gaps * (y[..., 1:] + y[..., :-1]), axis, initial, add=True)
    left, right, h0, h1 = y[..., :-2], y[..., 2:], gaps[..., :-1], gaps[..., 1:]
    first = _first_part(left, y[..., 1:-1], right, h0, h1)     # the first intervals of all triples
    second = _first_part(right, y[..., 1:-1], left, h1, h0)    # the second ones
    even = jnp.concatenate([first, second[..., -1:]], -1)
    odd = jnp.concatenate([first[..., :1], second], -1)
    k = jnp.arange(even.shape[-1])
    parts = jnp.where((k % 2 == 0) & (k < even.shape[-1] - 1), even, odd)
    return _cumulated(parts, axis, initial, add=True)


def _samples(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Samples with `axis` last, and the gaps between them."""
    y, h = promote_kinds_inexact(name, y, dx if x is None else x)
    at = as_axis(axis, y.ndim)
    n = y.shape[at]
    if n == 0:
        raise ValueError(f"{name}: expected at least one sample along axis {at}, got shape {y.shape}")
    y = jnp.moveaxis(y, at, -1)
    if x is None:
        return y, jnp.broadcast_to(h, (*y.shape[:-1], n - 1))
    if h.shape[at if h.ndim > 1 else 0:][:1] != (n,) or h.ndim not in (1, y.ndim):
        raise ValueError(f"{name}: expected x to be a vector of {n} positions, or of y's shape, got shape {h.shape}")
    return y, jnp.broadcast_to(jnp.diff(jnp.moveaxis(h, at, -1) if h.ndim > 1 else h, axis=-1), (*y.shape[:-1], n - 1))


def _parabolas(y0: Any, y1: Any, y2: Any, h0: Any, h1: Any) -> Any:
    """The integrals of the parabolas through three points that are h0 and h1 apart."""
    both, ratio = h0 + h1, h0 / jnp.where(h1 == 0, 1, h1)
    inverse = h1 / jnp.where(h0 == 0, 1, h0)
    product = jnp.where(h0 * h1 == 0, 1, h0 * h1)
    return both / 6 * (y0 * (2 - inverse) + y1 * (both * both / product) + y2 * (2 - ratio))


def _first_part(y0: Any, y1: Any, y2: Any, h0: Any, h1: Any) -> Any:
    """The integrals of such parabolas from the first point to the second."""
    a = h0 / (h0 + h1)
    b = a * h0 / h1
    return h0 / 6 * ((3 - a) * y0 + (3 + b + a) * y1 - b * y2)


def _cumulated(parts: Any, axis: int, initial: Any, add: bool = False) -> Any:
    out = jnp.cumsum(parts, -1)
    if initial is not None:
        start = jnp.astype(jnp.asarray(initial), out.dtype)
        start = jnp.moveaxis(start, axis, -1) if start.ndim == out.ndim and start.ndim else start
        front = jnp.broadcast_to(start, (*out.shape[:-1], 1))
        out = jnp.concatenate([front, out + front if add else out], -1)
    return jnp.moveaxis(out, -1, axis)
