"""Carlson's symmetric elliptic integrals of complex numbers, by the duplication theorem, which holds for them as it is.

B. C. Carlson, "Numerical computation of real or complex elliptic integrals" (Numer. Algorithms 10, 1995). Arguments are off the
negative axis: NaN on it. All in 64 bits, rounded once; derivatives of any order are made by forward mode.
"""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special.elliptic_duplication import rd_parts, rf, scaled_rd, scaled_rj
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits


def complex_arguments(name: str, *xs: Any) -> list[Any] | None:
    """The arguments as complex numbers of one dtype and shape if one of them is complex, else None.

    >>> complex_arguments("elliprf", 1.0, 2.0, 3.0) is None
    True
    """
    found = promote_args_inexact(name, *xs)
    return list(jnp.broadcast_arrays(*found)) if found[0].dtype in dtypes.COMPLEX else None


def _on_cut(*xs: Any) -> Any:
    """Whether an argument is negative, or no number."""
    out: Any = False
    for x in xs:
        out = out | ((x.imag == 0) & (x.real < 0)) | jnp.isnan(x)
    return out


def _two_zeros(x: Any, y: Any, z: Any) -> Any:
    return ((x == 0) & (y == 0)) | ((y == 0) & (z == 0)) | ((z == 0) & (x == 0))


def _any_infinite(*xs: Any) -> Any:
    out: Any = False
    for x in xs:
        out = out | jnp.isinf(x)
    return out


def _scaled(*xs: Any) -> tuple[list[Any], list[Any], Any]:
    """The arguments by a power of four that brings the largest near 2^200, the roots of these, and that power's root.

    Small arguments may underflow, their roots do not; and products of both kinds are in the range of floats."""
    sizes = jnp.stack([jnp.maximum(jnp.abs(x.real), jnp.abs(x.imag)) for x in xs])
    root = jnp.exp2(jnp.floor(0.5 * jnp.log2(jnp.max(sizes, axis=0))) - 100)
    return [x / root / root for x in xs], [jnp.sqrt(x) / root for x in xs], root


def _evaluated(function: Any, wrong: Any, infinite: Any, *xs: Any) -> Any:
    """A function of arguments, roots and scale, NaN where arguments are wrong, inf where it is, 0 for infinite ones."""
    far = _any_infinite(*xs)
    safe = [jnp.where(wrong | infinite | far, 1, x) for x in xs]
    out = function(*_scaled(*safe))
    return jnp.where(wrong, jnp.nan, jnp.where(infinite, jnp.inf, jnp.where(far, 0, out)))


def _scaled_rf(xs: list[Any], roots: list[Any], root: Any) -> Any:
    return rf(xs[0], xs[1], xs[2], (roots[0], roots[1], roots[2])) / root


@smooth_in_64_bits
def elliprf(x: Any, y: Any, z: Any) -> Any:
    """R_F.

    >>> complex(elliprf(*jnp.array([1j, -1j, 2]))).real.__round__(4)
    1.0441
    """
    return _evaluated(_scaled_rf, _on_cut(x, y, z), _two_zeros(x, y, z), x, y, z)


@smooth_in_64_bits
def elliprd(x: Any, y: Any, z: Any) -> Any:
    """R_D.

    >>> complex(elliprd(*jnp.array([1j, -1j, 2]))).real.__round__(4)
    0.6593
    """
    return _evaluated(scaled_rd, _on_cut(x, y, z), ((x == 0) & (y == 0)) | (z == 0), x, y, z)


@smooth_in_64_bits
def elliprc(x: Any, y: Any) -> Any:
    """R_C, for negative y its principal value, DLMF 19.2.20.

    >>> complex(elliprc(*jnp.array([1j, 2]))).real.__round__(4)
    0.8062
    """
    below = (y.imag == 0) & (y.real < 0)
    other, size = jnp.where(below, x - y, x), jnp.where(below, -y, y)
    plain = _evaluated(_scaled_rf, _on_cut(other) | jnp.isnan(y) | (y == 0), False, other, size, size)
    share = jnp.sqrt(jnp.where(below, x / jnp.where(below & (other != 0), other, 1), 1))
    return jnp.where(_on_cut(x), jnp.nan, share * plain)


@smooth_in_64_bits
def elliprg(x: Any, y: Any, z: Any) -> Any:
    """R_G, DLMF 19.21.11.

    >>> complex(elliprg(*jnp.array([1j, -1j, 2]))).real.__round__(4)
    0.8482
    """
    wrong, single, far = _on_cut(x, y, z), _two_zeros(x, y, z), _any_infinite(x, y, z)
    xs, roots, root = _scaled(*(jnp.where(wrong | single | far, 1, v) for v in (x, y, z)))
    total: Any = 0
    for k in range(3):
        first, second = xs[k - 1], xs[k - 2]
        (_, by), rest = rd_parts(first, second, xs[k], (roots[k - 1], roots[k - 2], roots[k]))
        total = total + (first + second) * (3 * roots[k] / by + xs[k] * rest)
    out = jnp.where(single, 0.5 * jnp.sqrt(jnp.where(single, x + y + z, 1)), root * total / 6)
    return jnp.where(wrong, jnp.nan, jnp.where(far, jnp.inf, out))


def _computable(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Where Carlson's algorithm holds: the right half plane, and all p off the cut for x, y, z >= 0, or for one of them and a
    pair of conjugates."""
    right = (x.real >= 0) & (y.real >= 0) & (z.real >= 0)
    real = [v.imag == 0 for v in (x, y, z)]
    pairs = [real[k] & (v == jnp.conj(w)) for k, (v, w) in enumerate(((y, z), (z, x), (x, y)))]
    symmetric = (real[0] & real[1] & real[2]) | pairs[0] | pairs[1] | pairs[2]
    cut = (p.imag == 0) & (p.real <= 0)
    return right & (p.real > 0) | symmetric & ~cut


@smooth_in_64_bits
def elliprj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """R_J where Carlson's algorithm of 1995 holds, else NaN.

    >>> complex(elliprj(*jnp.array([1j, -1j, 2, 1 + 1j]))).real.__round__(4)
    0.7541
    """
    wrong, infinite = _on_cut(x, y, z) | jnp.isnan(p) | ~_computable(x, y, z, p), _two_zeros(x, y, z)
    return _evaluated(scaled_rj, wrong & ~(infinite & ~jnp.isnan(p)), infinite, x, y, z, p)
