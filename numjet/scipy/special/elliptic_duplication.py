"""Carlson's duplication theorem for his symmetric elliptic integrals, of real and of complex numbers.

B. C. Carlson, "Numerical computation of real or complex elliptic integrals" (Numer. Algorithms 10, 1995), and DLMF, section
19.36: each step quarters the differences of the arguments, and a power series of the rest follows.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop

_STEPS = 14  # differences shrink by 4^14, more than the arguments' mean can


def _duplicate(x: Any, y: Any, z: Any, roots: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """One step: the new arguments, and the mean of products of the roots."""
    a, b, c = roots
    shift = a * b + b * c + c * a
    return 0.25 * (x + shift), 0.25 * (y + shift), 0.25 * (z + shift), shift


def _roots(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    return jnp.sqrt(x), jnp.sqrt(y), jnp.sqrt(z)


def rf(x: Any, y: Any, z: Any, roots: tuple[Any, Any, Any] | None = None) -> Any:
    """Carlson's R_F; roots: those of the arguments, where they are known better. DLMF 19.36.1."""
    x, y, z, _ = _duplicate(x, y, z, _roots(x, y, z) if roots is None else roots)
    x, y, z = fori_loop(0, _STEPS, lambda _, v: _duplicate(v[0], v[1], v[2], _roots(*v))[:3], (x, y, z))
    mean = (x + y + z) / 3
    a, b = 1 - x / mean, 1 - y / mean
    c = -a - b
    e2, e3 = a * b - c * c, a * b * c
    series = 1 + e2 * (-1 / 10 + e2 / 24 - 3 * e3 / 44) + e3 / 14
    return series / jnp.sqrt(mean)


def rd(x: Any, y: Any, z: Any, roots: tuple[Any, Any, Any] | None = None) -> Any:
    """Carlson's R_D. DLMF 19.36.2."""
    by, rest = rd_parts(x, y, z, _roots(x, y, z) if roots is None else roots)
    return 3 / by[0] / by[1] + rest


def rd_parts(x: Any, y: Any, z: Any, roots: tuple[Any, Any, Any]) -> tuple[tuple[Any, Any], Any]:
    """(the divisors of 3 in the first term of R_D, whose product may underflow, and the sum of all other terms)."""
    zero = jnp.zeros_like(x + y + z)
    new_x, new_y, new_z, shift = _duplicate(x + zero, y + zero, z + zero, roots)
    return (roots[2], z + shift), _rest_of_rd(new_x, new_y, new_z)


def scaled_rd(xs: list[Any], roots: list[Any], root: Any) -> Any:
    """R_D of root^2 times the arguments, whose roots are given, without overflow on the way."""
    (by, sums), rest = rd_parts(xs[0], xs[1], xs[2], (roots[0], roots[1], roots[2]))
    return 3 / (by * root) / root / sums / root + rest / root / root / root


def _rest_of_rd(x: Any, y: Any, z: Any) -> Any:
    """A quarter of R_D."""
    def step(_: Any, v: Any) -> Any:
        x, y, z, total, factor = v
        roots = _roots(x, y, z)
        new_x, new_y, new_z, shift = _duplicate(x, y, z, roots)
        return new_x, new_y, new_z, total + factor / (roots[2] * (z + shift)), 0.25 * factor
    zero = jnp.zeros_like(x)
    x, y, z, total, factor = fori_loop(0, _STEPS, step, (x, y, z, zero, zero + 0.25))
    mean = (x + y + 3 * z) / 5
    a, b = 1 - x / mean, 1 - y / mean
    c = -(a + b) / 3
    product = a * b
    e2, e3 = product - 6 * c * c, (3 * product - 8 * c * c) * c
    e4, e5 = 3 * (product - c * c) * c * c, product * c * c * c
    series = (1 + e2 * (-3 / 14 + 9 * e2 / 88 - 9 * e3 / 52) + e3 / 6 - 3 * e4 / 22 + 3 * e5 / 26)
    return 3 * total + factor * series / (mean * jnp.sqrt(mean))


def rc(x: Any, y: Any) -> Any:
    """R_C for y > 0."""
    return rf(x, y, y)


def duplicated_rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Carlson's algorithm of 1995 for p > 0, in forward mode alone: the count of steps is data.

    As many steps as make p, a quarter each time, no larger than x, y and z, and then their differences small."""
    def step(_: Any, state: Any) -> Any:
        x, y, z, p, total, factor = state
        a, b, c, d = jnp.sqrt(x), jnp.sqrt(y), jnp.sqrt(z), jnp.sqrt(p)
        shift = a * b + b * c + c * a
        total = total + factor / (d + a) / (d + b) / (d + c) * rc(jnp.ones_like(x), _complement(d, a, b, c))
        return 0.25 * (x + shift), 0.25 * (y + shift), 0.25 * (z + shift), 0.25 * (p + shift), total, 0.25 * factor

    zero = jnp.zeros_like(x + y + z + p)
    start = (x + zero, y + zero, z + zero, p + zero, zero, zero + 1)
    x, y, z, p, total, factor = fori_loop(0, _steps_of_rj(x, y, z, p), step, start)
    mean = (x + y + z + 2 * p) / 5
    a, b, c = 1 - x / mean, 1 - y / mean, 1 - z / mean
    d = -(a + b + c) / 2
    e2 = a * b + a * c + b * c - 3 * d * d
    e3 = a * b * c + 2 * e2 * d + 4 * d * d * d
    e4, e5 = (2 * a * b * c + e2 * d + 3 * d * d * d) * d, a * b * c * d * d
    series = 1 + e2 * (-3 / 14 + 9 * e2 / 88 - 9 * e3 / 52) + e3 / 6 - 3 * e4 / 22 + 3 * e5 / 26
    return 6 * total + factor * series / (mean * jnp.sqrt(mean))


def _complement(d: Any, *roots: Any) -> Any:
    """1 less the product of (root - d) / (root + d), which are 1 less a share each, or its negative: without cancellation."""
    negative: Any = False
    out: Any = 0
    for root in roots:
        below = jnp.abs(root) < jnp.abs(d)
        share = 2 * jnp.where(below, root, d) / (d + root)
        negative, out = negative ^ below, share + (1 - share) * out
    return jnp.where(negative, 2 - out, out)


def scaled_rj(xs: list[Any], roots: list[Any], root: Any) -> Any:
    """R_J of root^2 times the arguments."""
    return duplicated_rj(xs[0], xs[1], xs[2], xs[3]) / root / root / root


def _steps_of_rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    largest = jnp.maximum(jnp.maximum(jnp.abs(x), jnp.abs(y)), jnp.abs(z))
    more = jnp.maximum(0.5 * jnp.log2(jnp.abs(p) / largest), 0)
    return jnp.astype(_STEPS + 2 + jnp.ceil(jnp.max(jnp.where(jnp.isfinite(more), more, 0), initial=0)), np.int32)
