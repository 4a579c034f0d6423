"""Wright's omega of complex numbers: the w with w + log(w) = z, of the branch of Lambert's W that the imaginary part names.

P. W. Lawrence, R. M. Corless and D. J. Jeffrey, "Algorithm 917: complex double-precision evaluation of the Wright omega
function" (ACM Trans. Math. Softw. 38, 2012): series and expansions by region, and the steps of Fritsch, Shafer and Crowley. In
the left half plane of w the equation is that of u = -w, log(u) - u = z -+ pi i, so that no logarithm is near its cut.
"""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.horner import horner
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

_PI_REST = 1.2246467991473532e-16     # pi less its float64
_STEPS = 4
_ABOUT_1 = (1.0, 0.5, 1 / 16, -1 / 192, -1 / 3072, 13 / 61440)           # Taylor's series about z = 1
_ABOUT_MINUS_INFINITY = (1.0, -1.0, 3 / 2, -8 / 3, 125 / 24)             # omega / exp(z) by powers of exp(z)


def _beside_branch_point(z: Any, upper: Any) -> Any:
    """The series about -1 +- pi i by the root, which is continuous from below, as the cuts are."""
    q = 2 * (z + lax.complex(jnp.ones_like(z.real), jnp.where(upper, -math.pi, math.pi)))
    root = jnp.sqrt(lax.complex(q.real, jnp.where(q.imag == 0, -0.0, q.imag)))
    turn = jnp.where(upper, 1j, -1j)
    return -1 + root * (turn + root * (1 / 3 + root * (-turn / 72 + root * (1 / 270 + root * turn / 4320))))


def _half_turn(z: Any) -> Any:
    """z less pi i above the real axis, plus pi i below."""
    y = jnp.where(z.imag > 0, (z.imag - math.pi) - _PI_REST, (z.imag + math.pi) + _PI_REST)
    return lax.complex(z.real, y)


def _guess(z: Any, low: Any) -> Any:
    x, y, size = z.real, z.imag, jnp.abs(z.imag)
    beside = (x > -2) & (x <= 1) & (size > 1) & (size < 2 * math.pi)
    wing = (x <= -2) & ~low & (size - math.pi <= -0.75 * (x + 1))
    middle = ~beside & ~wing & ~low & (jnp.abs(z - 1) <= math.pi)
    turned = _half_turn(z)
    log = jnp.log(jnp.where(wing, -turned, jnp.where(z == 0, 1, z)))
    large = jnp.where(wing, turned, z)
    large = large - log + log / jnp.where(large == 0, 1, large)
    small = jnp.exp(jnp.where(low, z, 0))
    return jnp.where(low, small * horner(_ABOUT_MINUS_INFINITY, jnp.where(low, small, 0)),
                     jnp.where(beside, _beside_branch_point(jnp.where(beside, z, 0), y > 0),
                               jnp.where(middle, horner(_ABOUT_1, jnp.where(middle, z - 1, 0)), large)))


@custom_jvp
def _omega(z: Any) -> Any:
    fine = jnp.isfinite(z)
    safe = jnp.where(fine, z, 1)
    low = (safe.real <= -2) & (safe.imag > -math.pi) & (safe.imag <= math.pi)
    done = low & (safe.real < -50)      # omega is exp(z)
    w = _guess(jnp.where(done, 1, safe), low & ~done)
    flipped = w.real < 0
    sign, goal = jnp.where(flipped, -1, 1), jnp.where(flipped, _half_turn(safe), safe)
    u = jnp.where(done, 1, sign * w)
    for _ in range(_STEPS):
        rest = goal - sign * u - jnp.log(jnp.where(u == 0, 1, u))
        by = 1 + sign * u
        second = 2 * by * (by + 2 / 3 * rest)
        change = rest / jnp.where(by == 0, 1, by) * ((second - rest) / jnp.where(second == 2 * rest, 1, second - 2 * rest))
        u = jnp.where((by == 0) | ~jnp.isfinite(change), u, u * (1 + change))
    exact = jnp.where(low & ~done, sign * u, 0)
    small = jnp.exp(jnp.where(low, safe, 0)) * jnp.exp(-exact)     # without the error of a logarithm
    out = jnp.where(low, small, sign * u)
    out = lax.complex(out.real, jnp.where(z.imag == 0, z.imag, out.imag))
    vanishes = (z.real == -jnp.inf) & (z.imag > -math.pi) & (z.imag <= math.pi)
    nan = jnp.full_like(z.real, jnp.nan)
    ends = jnp.where(vanishes, 0, jnp.where(jnp.isnan(z.real) | jnp.isnan(z.imag), lax.complex(nan, nan), z))
    return jnp.where(fine, out, ends)


_omega.defjvps(lambda t, out, z: t * jnp.where(jnp.isinf(out), 1, out / (1 + jnp.where(jnp.isinf(out), 0, out))))


@smooth_in_64_bits
def wrightomega(z: Any) -> Any:
    """Wright's omega, with cuts on the lines of the imaginary parts -pi and pi to the left of -1.

    >>> complex(wrightomega(jnp.array(1j))).real.__round__(4)
    0.4918
    """
    return _omega(z)
