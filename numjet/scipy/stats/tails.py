"""Logarithms of incomplete gamma and beta functions, accurate in tails where the functions underflow.

Far out in a tail the series and continued fractions of Abramowitz and Stegun 6.5.29, 6.5.31 and 26.5.4 converge within
a fixed number of steps, and their logarithms are finite; elsewhere the logarithm of the function itself is accurate.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop
from numjet.scipy.special.gamma_family import betainc, betaln, floats, gammainc, gammaincc, gammaln

_SERIES_STEPS = 60          # each at least halves the term: 2**-60
_FRACTION_STEPS = 60
_FAR = 40.0                 # beyond it, and beyond 2 a, the continued fraction has converged


def _series(ratio: Callable[[Any], Any], like: Any) -> Any:
    """1 + r(0) + r(0) r(1) + ..., evaluated from its end."""
    def step(i: Any, total: Any) -> Any:
        return 1 + ratio(jnp.astype(_SERIES_STEPS - 1 - i, like.dtype)) * total
    return fori_loop(0, _SERIES_STEPS, step, jnp.ones_like(like))


def _log_share(part: Any, rest: Any) -> Any:
    """log(part), where part + rest = 1."""
    large = rest < 0.5
    return jnp.where(large, jnp.log1p(-jnp.where(large, rest, 0.0)), jnp.log(jnp.where(large, 1.0, part)))


def log_gammainc(a: Any, x: Any) -> Any:
    """log(gammainc(a, x)) for x >= 0.

    >>> round(float(log_gammainc(50.0, 0.01)), 3)
    -378.746
    """
    a, x = floats("log_gammainc", a, x)
    far, zero = (x < 0.5 * (a + 1)) & (x > 0), x == 0
    fx, fa = jnp.where(far, x, 0.5), jnp.where(far, a, 1.0)
    series = _series(lambda k: fx / (fa + 1 + k), fx)
    tail = fa * jnp.log(fx) - fx - gammaln(fa + 1) + jnp.log(series)
    na, nx = jnp.where(far | zero, 1.0, a), jnp.where(far | zero, 1.0, x)
    near = _log_share(gammainc(na, nx), gammaincc(na, nx))
    return jnp.where(zero, -jnp.inf, jnp.where(far, tail, near))


def log_gammaincc(a: Any, x: Any) -> Any:
    """log(gammaincc(a, x)) for x >= 0.

    >>> round(float(log_gammaincc(2.0, 500.0)), 3)
    -493.783
    """
    a, x = floats("log_gammaincc", a, x)
    far, end = (x > 2 * a) & (x > _FAR), jnp.isinf(x)
    inner = far & ~end
    fx, fa = jnp.where(inner, x, 2 * _FAR), jnp.where(inner, a, 1.0)

    def step(i: Any, rest: Any) -> Any:
        k = jnp.astype(_FRACTION_STEPS - i, fx.dtype)
        return k * (k - fa) / (fx + 2 * k + 1 - fa - rest)

    rest = fori_loop(0, _FRACTION_STEPS, step, jnp.zeros_like(fx))
    tail = fa * jnp.log(fx) - fx - gammaln(fa) - jnp.log(fx + 1 - fa - rest)
    na, nx = jnp.where(far, 1.0, a), jnp.where(far, 1.0, x)
    near = _log_share(gammaincc(na, nx), gammainc(na, nx))
    return jnp.where(end, -jnp.inf, jnp.where(far, tail, near))


def log_betainc(a: Any, b: Any, x: Any, y: Any) -> Any:
    """log(betainc(a, b, x)) for 0 <= x <= 1 and y = 1 - x.

    >>> round(float(log_betainc(50.0, 2.0, 0.01, 0.99)), 3)
    -226.337
    """
    a, b, x, y = floats("log_betainc", a, b, x, y)
    far, zero = (x < 0.5 * jnp.minimum((a + 1) / (a + b), 1.0)) & (x > 0), x == 0
    fx, fa, fb = jnp.where(far, x, 0.25), jnp.where(far, a, 1.0), jnp.where(far, b, 1.0)
    series = _series(lambda k: fx * (fa + fb + k) / (fa + 1 + k), fx)
    tail = fa * jnp.log(fx) + fb * jnp.log1p(-fx) - jnp.log(fa) - betaln(fa, fb) + jnp.log(series)
    off = far | zero
    na, nb, nx, ny = (jnp.where(off, v, w) for v, w in ((1.0, a), (1.0, b), (0.5, x), (0.5, y)))
    near = _log_share(betainc(na, nb, nx), betainc(nb, na, ny))
    return jnp.where(zero, -jnp.inf, jnp.where(far, tail, near))
