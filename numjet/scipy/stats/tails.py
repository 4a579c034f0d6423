"""Logarithms of incomplete gamma and beta functions, accurate in tails where the functions underflow."""
from __future__ import annotations

from typing import Any

from numjet.api.jit_when_eager import jit_when_eager
from numjet.lax.elementwise import special
from numjet.scipy.special.gamma_family import floats


@jit_when_eager()
def log_gammainc(a: Any, x: Any) -> Any:
    """log(gammainc(a, x)) for x >= 0.

    >>> round(float(log_gammainc(50.0, 0.01)), 3)
    -378.746
    """
    return special.log_igamma(*floats("log_gammainc", a, x))


@jit_when_eager()
def log_gammaincc(a: Any, x: Any) -> Any:
    """log(gammaincc(a, x)) for x >= 0.

    >>> round(float(log_gammaincc(2.0, 500.0)), 3)
    -493.783
    """
    return special.log_igammac(*floats("log_gammaincc", a, x))


@jit_when_eager()
def log_betainc(a: Any, b: Any, x: Any) -> Any:
    """log(betainc(a, b, x)) for 0 <= x <= 1.

    >>> round(float(log_betainc(50.0, 2.0, 0.01)), 3)
    -226.337
    """
    return special.log_betainc(*floats("log_betainc", a, b, x))


@jit_when_eager()
def log_betaincc(a: Any, b: Any, x: Any) -> Any:
    """log(1 - betainc(a, b, x)) for 0 <= x <= 1.

    >>> round(float(log_betaincc(1.0, 1.0, 0.75)), 3)
    -1.386
    """
    return special.log_betaincc(*floats("log_betaincc", a, b, x))
