"""LOG_GAMMA_1P, PHI, LOG_GAMMA_STAR and NORMAL_TAIL of numjet/lax/elementwise/special_tables.py, by Chebyshev economization.

    python -m tools.fit.gamma_tables
"""
from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

from tools.fit.chebyshev_tables import chebyshev, powers

Function = Callable[[mp.mpf], mp.mpf]


def log_gamma_1p(a: mp.mpf) -> mp.mpf:
    return mp.loggamma(1 + a) / a if abs(a) > mp.mpf(10) ** -20 else -mp.euler


def phi(mu: mp.mpf) -> mp.mpf:
    return (mu - mp.log(1 + mu)) / mu**2 if abs(mu) > mp.mpf(10) ** -12 else mp.mpf(1) / 2 - mu / 3


def log_gamma_star(u: mp.mpf) -> mp.mpf:
    """a log(Gamma(a) e^a a^-a sqrt(a / 2 pi)) for u = 1 / a."""
    if u < mp.mpf(10) ** -12:
        return mp.mpf(1) / 12
    a = 1 / u
    return a * (mp.loggamma(a) - (a - 0.5) * mp.log(a) + a - mp.log(2 * mp.pi) / 2)


def normal_tail(u: mp.mpf) -> mp.mpf:
    """(x + k) exp(x² / 2) times the probability of normal numbers above x >= 0, for u = (x - k) / (x + k), k = sqrt(18)."""
    k = mp.sqrt(18)
    if u > 1 - mp.mpf(10) ** -8:
        return 1 / mp.sqrt(2 * mp.pi)
    x = k * (1 + u) / (1 - u)
    t = x / mp.sqrt(2)
    far = mp.fsum((-1) ** n * mp.fac2(2 * n - 1) / x ** (2 * n) for n in range(12)) / (mp.sqrt(mp.pi) * t)
    return (x + k) * (mp.exp(t * t) * mp.erfc(t) if t < 60 else far) / 2


def table(function: Function, centre: float, radius: float, bits: int) -> list[float]:
    """Coefficients of powers of the distance from the centre, with an error below 2**-bits times 0.3."""
    half = mp.mpf(radius)
    series = chebyshev(lambda t: function(centre + half * t))
    limit = mp.mpf(2) ** -bits * 3 / 10
    count = next(n for n in range(2, len(series)) if mp.fsum(map(abs, series[n:])) < limit)
    return [float(c / half**k) for k, c in enumerate(powers(series[:count]))]


if __name__ == "__main__":
    mp.mp.dps = 50
    print("LOG_GAMMA_1P =", table(log_gamma_1p, 0.5, 0.5, 58))
    print("PHI =", table(phi, 0.0, 0.4501, 57))
    print("LOG_GAMMA_STAR =", table(log_gamma_star, 0.5, 0.5, 55))
    print("LOG_GAMMA_STAR_SINGLE =", table(log_gamma_star, 0.5, 0.5, 37))
    print("NORMAL_TAIL =", table(normal_tail, 0.0, 1.0, 56))
    print("NORMAL_TAIL_SINGLE =", table(normal_tail, 0.0, 1.0, 33))
