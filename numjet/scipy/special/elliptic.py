"""Elliptic integrals, by Carlson's symmetric forms. Errors are measured against mpmath in tests/scipy/test_special_elliptic.py.
"""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.scipy.special import complex_elliptic
from numjet.scipy.special.elliptic_duplication import rd, rf, scaled_rd
from numjet.scipy.special.gamma_family import floats


def _wide(name: str, *xs: Any) -> tuple[list[Any], np.dtype]:
    """Real floats with at least 32 bits, and the dtype of the result."""
    found = floats(name, *xs)
    dtype = found[0].dtype
    return [x.astype(np.float32) if dtype.itemsize == 2 else x for x in found], dtype


def scaled_up(*xs: Any) -> tuple[list[Any], list[Any], Any]:
    """The arguments by a power of four that brings the largest far above 1, the roots of these, and that power's root.

    Small arguments may underflow, their roots do not; and products of both kinds are in the range of floats."""
    largest = functools.reduce(jnp.maximum, xs)
    usable = (largest > 0) & jnp.isfinite(largest)
    up = np.finfo(largest.dtype).maxexp // 10
    root = jnp.exp2(jnp.floor(0.5 * jnp.log2(jnp.where(usable, largest, 1))) - up)
    return [x / root / root for x in xs], [jnp.sqrt(x) / root for x in xs], root


def elliprf(x: Any, y: Any, z: Any) -> Any:
    """Carlson's symmetric elliptic integral of the first kind: half the integral of ((t + x)(t + y)(t + z))^(-1/2) from 0.

    x, y, z >= 0 or complex, of which one may be 0 (inf if more are); NaN for negative ones.

    >>> round(float(elliprf(0.0, 1.0, 1.0)), 4)
    1.5708
    """
    found = complex_elliptic.complex_arguments("elliprf", x, y, z)
    if found is not None:
        return complex_elliptic.elliprf(*found)
    (x, y, z), dtype = _wide("elliprf", x, y, z)
    wrong = (jnp.minimum(jnp.minimum(x, y), z) < 0) | jnp.isnan(x + y + z)
    infinite = (x + y == 0) | (y + z == 0) | (z + x == 0)
    safe = [jnp.where(wrong | infinite, 1, v) for v in (x, y, z)]
    (a, b, c), (a_root, b_root, c_root), root = scaled_up(*safe)
    out = jnp.where(jnp.isinf(x + y + z), 0, rf(a, b, c, (a_root, b_root, c_root)) / root)
    return jnp.where(wrong, jnp.nan, jnp.where(infinite, jnp.inf, out)).astype(dtype)


def elliprd(x: Any, y: Any, z: Any) -> Any:
    """Carlson's degenerate elliptic integral of the second kind: R_J(x, y, z, z).

    x, y of which one may be 0, and z that is not; otherwise as elliprf.

    >>> round(float(elliprd(0.0, 1.0, 1.0)), 4)
    2.3562
    """
    found = complex_elliptic.complex_arguments("elliprd", x, y, z)
    if found is not None:
        return complex_elliptic.elliprd(*found)
    (x, y, z), dtype = _wide("elliprd", x, y, z)
    wrong = (jnp.minimum(jnp.minimum(x, y), z) < 0) | jnp.isnan(x + y + z)
    infinite = (x + y == 0) | (z == 0)
    safe = [jnp.where(wrong | infinite, 1, v) for v in (x, y, z)]
    out = jnp.where(jnp.isinf(x + y + z), 0, scaled_rd(*scaled_up(*safe)))
    return jnp.where(wrong, jnp.nan, jnp.where(infinite, jnp.inf, out)).astype(dtype)


# -------------------------------------------------------------------------------------------- complete integrals

def _first_kind(p: Any) -> Any:
    """K as a function of 1 - m."""
    singular, wrong = p == 0, ~(p >= 0)
    safe = jnp.where(singular | wrong | jnp.isinf(p), 1, p)
    one = jnp.ones_like(p)
    out = jnp.where(jnp.isinf(p), 0, rf(0.0, safe, one, (0.0, jnp.sqrt(safe), one)))
    return jnp.where(wrong, jnp.nan, jnp.where(singular, jnp.inf, out))


def _second_kind(m: Any) -> Any:
    p = 1 - m
    flat, wrong = p == 0, ~(p >= 0)
    safe = jnp.where(flat | wrong | jnp.isinf(p), 1, p)
    one, roots = jnp.ones_like(p), (0.0, jnp.sqrt(safe), jnp.ones_like(p))
    # for negative m the difference K - m/3 R_D is a sum; elsewhere DLMF 19.25.1 has no cancellation
    out = safe / 3 * (rd(0.0, safe, one, roots) + rd(0.0, one, safe, (0.0, one, jnp.sqrt(safe))))
    return jnp.where(wrong, jnp.nan, jnp.where(flat, 1, jnp.where(jnp.isinf(p), jnp.inf, out)))


def ellipk(m: Any) -> Any:
    """The complete elliptic integral of the first kind, of the parameter m <= 1 (NaN beyond): K(m) = R_F(0, 1 - m, 1).

    Derivatives of any order. ValueError for complex numbers.

    >>> round(float(ellipk(0.5)), 4)
    1.8541
    """
    (m,), dtype = _wide("ellipk", m)
    return _first_kind(1 - m).astype(dtype)


def ellipkm1(p: Any) -> Any:
    """ellipk(1 - p), precise for small p.

    >>> round(float(ellipkm1(1e-20)), 4)
    24.4121
    """
    (p,), dtype = _wide("ellipkm1", p)
    return _first_kind(p).astype(dtype)


def ellipe(m: Any) -> Any:
    """The complete elliptic integral of the second kind, of the parameter m <= 1 (NaN beyond).

    >>> round(float(ellipe(0.5)), 4)
    1.3506
    """
    (m,), dtype = _wide("ellipe", m)
    return _second_kind(m).astype(dtype)


# -------------------------------------------------------------------------------------------- incomplete integrals

def _amplitude(phi: Any, m: Any) -> tuple[Any, ...]:
    """How many half turns phi has, sine and cosine of the rest, 1 - m sin^2, and whether all is in the domain."""
    usable = jnp.isfinite(phi) & jnp.isfinite(m)
    phi, m = jnp.where(usable, phi, 0), jnp.where(usable, m, 0)
    turns = jnp.round(phi / math.pi)
    rest = jnp.where(turns == 0, phi, _without(phi, turns))
    s, c = jnp.sin(rest), jnp.cos(rest)
    radicand = c * c + (1 - m) * s * s
    inside = usable & (radicand >= 0) & ((turns == 0) | (m <= 1))
    return turns, m, s, c, jnp.where(inside, radicand, 1), inside


def _without(phi: Any, turns: Any) -> Any:
    """phi - pi turns, with pi in two parts, of which the product with the first is exact."""
    high, low = (3.140625, math.pi - 3.140625) if phi.dtype == np.float32 else (3.1415926218032837, 3.1786509424591713e-8)
    return (phi - turns * high) - turns * low


@jit_when_eager()
def ellipkinc(phi: Any, m: Any) -> Any:
    """The incomplete elliptic integral of the first kind: of (1 - m sin(t)^2)^(-1/2) from 0 to phi.

    Real phi, and m <= 1 / sin(phi)^2, m <= 1 for |phi| > pi / 2 (NaN elsewhere; SciPy gives NaN for all m > 1). DLMF 19.25.5.
    Derivatives of any order.

    >>> round(float(ellipkinc(1.0, 0.5)), 4)
    1.0832
    """
    (phi, m), dtype = _wide("ellipkinc", phi, m)
    turns, safe, s, c, radicand, inside = _amplitude(phi, m)
    one = jnp.ones_like(s)
    rest = s * rf(c * c, radicand, one, (abs(c), jnp.sqrt(radicand), one))
    whole = jnp.where(turns == 0, 0, 2 * turns * _first_kind(jnp.where(turns == 0, 1, 1 - safe)))
    out = jnp.where(inside, rest + whole, jnp.nan)
    return _at_infinity(phi, m, out, jnp.zeros_like(phi)).astype(dtype)


def _at_infinity(phi: Any, m: Any, out: Any, steep: Any) -> Any:
    """The value, with those for infinite angles, and `steep` for m = -inf."""
    out = jnp.where(jnp.isinf(phi) & (m <= 1), phi, out)
    return jnp.where((m == -jnp.inf) & jnp.isfinite(phi), jnp.where(phi == 0, 0, steep), out)


@jit_when_eager()
def ellipeinc(phi: Any, m: Any) -> Any:
    """The incomplete elliptic integral of the second kind: of (1 - m sin(t)^2)^(1/2) from 0 to phi.

    Domain as of ellipkinc. DLMF 19.25.9 and 19.25.10.

    >>> round(float(ellipeinc(1.0, 0.5)), 4)
    0.9273
    """
    (phi, m), dtype = _wide("ellipeinc", phi, m)
    turns, safe, s, c, radicand, inside = _amplitude(phi, m)
    one, c, delta = jnp.ones_like(s), abs(c), jnp.sqrt(radicand)
    first = rf(c * c, radicand, one, (c, delta, one))
    positive = (safe >= 0) & (safe <= 1) & (radicand > 0)  # then 19.25.10 has no differences
    pick = lambda a, b: jnp.where(positive, a, b)
    third = s ** 3 * rd(c * c, pick(one, radicand), pick(radicand, one), (c, pick(one, delta), pick(delta, one))) / 3
    other = 1 - safe
    rest = pick(other * (s * first + safe * third) + safe * s * c / jnp.where(radicand > 0, delta, 1), s * first - safe * third)
    whole = jnp.where(turns == 0, 0, 2 * turns * _second_kind(jnp.where(turns == 0, 0, safe)))
    out = jnp.where(inside, rest + whole, jnp.nan)
    return _at_infinity(phi, m, out, jnp.where(phi < 0, -jnp.inf, jnp.inf)).astype(dtype)
