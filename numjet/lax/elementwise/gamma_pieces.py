"""Parts of incomplete gamma and beta functions in scalar arithmetic: logarithms without cancellation, Temme's expansion."""
from __future__ import annotations

import math
from collections.abc import Sequence

from numjet.lax.elementwise.special_loops import Number, S
from numjet.lax.elementwise.special_tables import LOG_GAMMA_1P, LOG_GAMMA_STAR, LOG_GAMMA_STAR_SINGLE, PHI, TEMME

TEMME_FROM = 60.0       # smallest a for which the table of Temme's expansion is made
TEMME_SPREAD = 0.45     # and the largest |x - a| / a
_SINGLE = 2.0**-40      # relative error that float32 results may have before they are rounded


def phi_over_square(mu: Number) -> Number:
    """(mu - log(1 + mu)) / mu², by a polynomial up to TEMME_SPREAD."""
    near = abs(mu) < TEMME_SPREAD
    safe = mu.where(mu.b.prim("not", near), 1.0)
    far = (safe - safe.math("log1p")) / (safe * safe)
    return mu.where(near, 0.0).polynomial(PHI).where(near, far)


def phi(mu: Number, ratio: Number) -> Number:
    """mu - log(1 + mu) for 1 + mu = ratio, without cancellation near 0."""
    near = abs(mu) < TEMME_SPREAD
    inner = mu.where(near, 0.0)
    return (inner * inner * inner.polynomial(PHI)).where(near, mu - ratio.math("log"))


def log_gamma_1p(a: Number) -> Number:
    """log(Gamma(1 + a)) / a for a from 0 to 1."""
    return (a - 0.5).polynomial(LOG_GAMMA_1P)


def log_gamma_star_1(a: Number, precise: bool = True) -> Number:
    """log(Gamma(a) e^a a^-a sqrt(a / 2 pi)) for a >= 1."""
    inverse = 1.0 / a
    return inverse * (inverse - 0.5).polynomial(LOG_GAMMA_STAR if precise else LOG_GAMMA_STAR_SINGLE)


def log_gamma_star(a: Number) -> Number:
    """The same for a > 0: below 1 by Gamma(a + 1) = a Gamma(a)."""
    small = a < 1.0
    inner = a.where(small, 1.0)
    shift = (inner + 0.5) * (1.0 / inner).math("log1p") - 1.0
    return log_gamma_star_1((a + 1.0).where(small, a)) + shift.where(small, 0.0)


# ------------------------------------------------------------------------------------------------ Temme's expansion

def is_temme(a: Number, x: Number) -> S:
    """Whether P(a, x) is to be found by Temme's expansion."""
    return a.b.prim("and", a >= TEMME_FROM, abs(x - a) < a * TEMME_SPREAD)


def _needed(table: Sequence[Sequence[float]], precise: bool) -> list[Sequence[float]]:
    """The coefficients that matter for a >= TEMME_FROM and eta up to 0.6."""
    if precise:
        return list(table)
    kept = [list(row) for row in table]
    for k, row in enumerate(kept):
        while row and abs(row[-1]) * 0.6 ** (len(row) - 1) * TEMME_FROM ** -k < _SINGLE:
            row.pop()
    return [row for row in kept if row]


class Temme:
    """Q = erfc(eta sqrt(a / 2)) / 2 + R and P = erfc(-eta sqrt(a / 2)) / 2 - R (DLMF 8.12.3, 8.12.4, 8.12.7).

    Where the expansion does not hold, its variables are harmless numbers.
    """

    def __init__(self, a: Number, x: Number, holds: S, precise: bool = True):
        self.table = _needed(TEMME, precise)
        self.a = a.where(holds, TEMME_FROM)
        mu = ((x - a) / a).where(holds, 0.0)
        self.slope = (2.0 * mu.polynomial(PHI)).sqrt()     # eta / mu
        self.inverse, self.eta = 1.0 / self.a, mu * self.slope
        self.half = self.eta * (0.5 * self.a).sqrt()

    def sum(self) -> Number:
        """The sum of c_k(eta) a^-k."""
        total = self.a.constant(0.0)
        for row in reversed(self.table):
            total = total.fma(self.inverse, self.eta.polynomial(row))
        return total

    def sum_by_a(self, eta_a: Number) -> Number:
        """The derivative of the sum by a at fixed x."""
        total = self.a.constant(0.0)
        for k in reversed(range(len(self.table))):
            slopes = [n * c for n, c in enumerate(self.table[k])][1:] or [0.0]
            row = self.eta.polynomial(slopes) * eta_a - float(k) * self.inverse * self.eta.polynomial(self.table[k])
            total = total * self.inverse + row
        return total

    def _rest(self) -> Number:
        return self.sum() * (self.inverse * (1 / (2 * math.pi))).sqrt()

    def share(self, upper: bool) -> Number:
        rest = (-(self.half * self.half)).math("exp") * self._rest()
        main = 0.5 * (self.half if upper else -self.half).math("erfc")
        return main + rest if upper else main - rest

    def is_far(self, upper: bool, far: float) -> S:
        """Whether the share is in its tail."""
        return (self.half if upper else -self.half) > far

    def log_share(self, upper: bool, far: float, terms: int) -> Number:
        """The logarithm of the share in its tail, by the continued fraction of erfcx (DLMF 7.9.1)."""
        h = (self.half if upper else -self.half).at_least(far)
        p, q = h.constant(0.0), h.constant(1.0)
        for k in range(terms, 0, -1):
            p, q = 0.5 * k * q, h.fma(q, p)
        main = (0.5 / math.sqrt(math.pi)) / (h + p / q)
        rest = self._rest()
        return (main + rest if upper else main - rest).math("log") - h * h
