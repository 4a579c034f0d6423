"""Functions of scipy.special, imported with the first one that is evaluated, and mended where they lose digits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.foundation import lazy_import

scipy_special = lazy_import.Module("scipy.special")


def by_scipy(function: str | Callable[..., Any]) -> Any:
    """An eager rule: a function of scipy.special, or one made of such, in the dtype of the first operand, computed in
    float64 (SciPy's float32 versions lose up to 400 ulps)."""
    def eager(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        wide = [x.astype(np.float64) if x.dtype.itemsize < 8 else x for x in xs]
        fn = getattr(scipy_special, function) if isinstance(function, str) else function
        return fn(*wide).astype(dtype, copy=False)
    return eager


def psi_by_reflection(x: np.ndarray) -> np.ndarray:
    """SciPy's, below 0 by the reflection formula (DLMF 5.5.4), as SciPy's loses all digits near the poles; NaN at these."""
    with np.errstate(all="ignore"):
        to_pole = x - np.rint(x)
        reflected = scipy_special.psi(1 - x) - np.pi / np.tan(np.pi * to_pole)
    return np.where(x > 0, scipy_special.psi(x), np.where(to_pole == 0, np.nan, reflected))


def gammaln_with_limits(x: np.ndarray) -> np.ndarray:
    """SciPy's, inf at -inf, and -log|x| beside the pole at 0, where 1 / x may overflow."""
    size = np.abs(x)
    near = (size < 1e-20) & (size > 0)
    with np.errstate(all="ignore"):
        value = np.where(near, -np.log(np.where(near, size, 1)), scipy_special.gammaln(x))
    return np.where(np.isinf(x), np.inf, value)


def erfc_without_loss(x: np.ndarray) -> np.ndarray:
    """SciPy's; beyond 1, where it loses 250 ulps, erfcx(x) exp(-x**2) with the square in two parts, the first one exact."""
    tail = np.minimum(np.maximum(x, 1), 28)
    head = tail.astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        far = scipy_special.erfcx(tail) * np.exp(-(tail - head) * (tail + head)) * np.exp(-head * head)
    return np.where((x > 1) & (x < 28), far, scipy_special.erfc(x))


def odd(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """An odd function of SciPy, with -0.0 at -0.0."""
    return lambda x: np.copysign(getattr(scipy_special, name)(x), x)


ZETA_LEFT = -14.0     # from here on to the left, zeta functions are found from some to the right
_ZETA_AT = 12.0       # at a parameter between -12 and -11


def zeta_shift(q: Any, floor: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """(u, v, w) with zeta(s, q) = zeta(s, u) + (-1)^s (zeta(s, v) - zeta(s, w)) for whole s and q < -14: sums of (q + n)^-s and
    of (n - q)^-s, of which those over all n depend on the fractional part of q alone. u > -14, v and w > 12.

    >>> import math
    >>> zeta_shift(-20.25, math.floor)
    (-11.25, 12.25, 21.25)
    """
    fraction = q - floor(q)
    return fraction - _ZETA_AT, (_ZETA_AT + 1) - fraction, 1 - q


def zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """SciPy's, NaN where an operand is; of large s, where SciPy has NaN, the first term. SciPy adds up all terms of negative q,
    however many they are."""
    far, left = (s >= 1e17) & (q > 1), (q < ZETA_LEFT) & (s > 1) & (s == np.floor(s)) & (q > -np.inf)
    with np.errstate(all="ignore"):
        value = _zeta_on_the_left(s, q, left) if left.any() else scipy_special.zeta(s, q)
        if far.any():
            value = np.where(far, np.where(far, q, 1) ** -np.where(far, s, 1), value)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, value)


def _zeta_on_the_left(s: np.ndarray, q: np.ndarray, left: np.ndarray) -> np.ndarray:
    u, v, w = zeta_shift(np.where(left, q, -20.5), np.floor)
    value = scipy_special.zeta(s, np.where(left, u, q))
    below = scipy_special.zeta(s, v) - scipy_special.zeta(s, w)
    return np.where(left, value + np.where(s % 2 == 1, -below, below), value)
