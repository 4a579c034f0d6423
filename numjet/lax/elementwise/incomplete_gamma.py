"""The regularized incomplete gamma functions P and Q and their logarithms, by loops without divisions.

Three forms cover the plane, and each element chooses one: the series of P below max(a, 1), the continued fraction of Q above,
and Temme's uniform expansion around x = a for large a. Series and fraction are evaluated from their last term as quotients
of two numbers, so that each takes a few multiplications per step and one division at the end.

Sources: DLMF (dlmf.nist.gov) chapter 8; N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", SIAM J.
Math. Anal. 10 (1979); W. Gautschi, "A computational procedure for incomplete gamma functions", ACM TOMS 5 (1979).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numjet.lax.elementwise.gamma_pieces import (
    TEMME_FROM,
    Temme,
    is_temme,
    log_gamma_1p,
    log_gamma_star_1,
    phi,
)
from numjet.lax.elementwise.special_loops import Number, Step, equals, numbers

_UNROLLED = 4            # terms in one step of a loop
_SERIES_TERMS = {True: 72, False: 56}       # of the series for x <= max(a, 1) below TEMME_FROM; True: of float64 results
_FRACTION_TERMS = {True: 96, False: 40}     # the slowest are those of a = 0, x = 1
_SMALL_TERMS = {True: 20, False: 12}
_SERIES_SCALE = 1 / 64   # a power of 2 near the inverse of the largest factor of the series
_FAR = 6.0               # from here on in units of sqrt(2) standard deviations, logarithms come from erfcx
_ERFCX_TERMS = 16
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_LARGEST = 1e30          # exp(-x) x^10 is 0 beyond


def _above_1(a: Number) -> Number:
    return a.at_least(1.0)


# ------------------------------------------------------------------------------------------------ loops

def _scale(a: Number, x: Number) -> Number:
    """What the factors a + n of the series are multiplied with, so that their product is a float."""
    large = a >= TEMME_FROM
    return (1.0 / a.where(large, 1.0)).where(large, _SERIES_SCALE)


def _series_step(terms: int) -> Step:
    """p / d = 1 + x / (a + 1) + x² / ((a + 1) (a + 2)) + ... (DLMF 8.7.1) from its last term on."""
    def step(n: Number, carry: Sequence[Number], a: Number, x: Number, scale: Number) -> Sequence[Number]:
        p, d = carry
        last = terms - _UNROLLED * n
        base, scaled = a * scale, x * scale
        for k in range(_UNROLLED):
            d = d * (last - float(k)).fma(scale, base)
            p = scaled.fma(p, d)
        return p, d
    return numbers(step)


def _fraction_step(terms: int) -> Step:
    """The continued fraction of Q (DLMF 8.9.2, contracted) from its last level on: p / q = k (a - k) / (x - a + 2k + 1 + ...),
    with both in units of x, so that they stay in the range of floats."""
    def step(n: Number, carry: Sequence[Number], a: Number, x: Number, inverse: Number) -> Sequence[Number]:
        p, q = carry
        last = terms - _UNROLLED * n
        base, share = (x.at_least(1.0) - a) * inverse, a * inverse
        for k in range(_UNROLLED):
            level = last - float(k)
            unit = level * inverse
            p, q = (unit * (share - unit)) * q, level.fma(2.0, 1.0).fma(inverse, base).fma(q, p)
        return p, q
    return numbers(step)


def _small_sum(a: Number, x: Number, terms: int) -> Number:
    """w in x^-a gamma(a, x) e^x a = e^x - a w: the sum of the (x^n / n! - x^n / (a + 1)_n) / a, for a <= 1 and x <= 1.

    All terms are positive. They are kept over the common denominator (a + 1)_n: power / bottom, difference / bottom.
    """
    bottom = power = a.constant(1.0)
    difference = total = a.constant(0.0)
    for n in range(1, terms + 1):
        factor, share = a + float(n), x * (1.0 / n)
        difference = share * difference.fma(factor, power)
        power, bottom = power * x, bottom * factor
        total = total.fma(factor, difference)
    return total / bottom


# ------------------------------------------------------------------------------------------------ densities

def _product(a: Number) -> tuple[Number, Number]:
    """(f, (f + 1) (f + 2) ... a) for a < 10, where f is the fractional part of a."""
    f, product = a, a.constant(1.0)
    for _ in range(9):
        above = f >= 1.0
        product = (product * f).where(above, product)
        f = (f - 1.0).where(above, f)
    return f, product


def _scaled_exponent(a: Number, x: Number) -> Number:
    """log(x^a e^-x / Gamma(a + 1) sqrt(2 pi a)) for a >= 10."""
    return -(a * phi((x - a) / a, x / a) + log_gamma_star_1(a))


def _density(a: Number, x: Number, precise: bool) -> Number:
    """x^a e^-x / Gamma(a + 1)."""
    if not precise:
        return _log_density(a, x, precise).math("exp")
    large = a >= 10.0
    big = a.where(large, 10.0)
    scaled = _scaled_exponent(big, x).math("exp") / (big * (2 * math.pi)).sqrt()
    low, near = a.constant(1.0).where(large, a), x.at_most(_LARGEST)
    f, product = _product(low)
    direct = near.math("pow", low) * ((-near).math("exp") * (-(f * log_gamma_1p(f))).math("exp") / product)
    return scaled.where(large, direct)


def _log_density(a: Number, x: Number, precise: bool) -> Number:
    if not precise:
        above = a + 1.0
        log_gamma = (a + 0.5) * above.math("log") + log_gamma_star_1(above, precise=False) + _HALF_LOG_2_PI
        return a * x.math("log") + (above - x) - log_gamma
    large = a >= 10.0
    big = a.where(large, 10.0)
    scaled = _scaled_exponent(big, x) - 0.5 * (big * (2 * math.pi)).math("log")
    return scaled.where(large, a * x.math("log") - x - (a.constant(1.0).where(large, a) + 1.0).math("lgamma"))


# ------------------------------------------------------------------------------------------------ values

class _Parts:
    """What all four functions are made of, at one element."""

    def __init__(self, precise: bool, a: Number, x: Number, sums: Sequence[Number]):
        self.precise, self.a, self.x = precise, a, x
        series_p, series_d, fraction_p, fraction_q = sums
        near = x.at_least(1.0)
        self.series = series_p / series_d
        self.fraction = a / ((near - a + 1.0) + near * (fraction_p / fraction_q))
        self.lower = x <= _above_1(a)
        self.temme = is_temme(a, x)
        self.small = a.b.prim("and", a < 1.0, x <= 1.0)

    def small_q(self) -> Number:
        """Q for a < 1 and x <= 1 without cancellation for small a: 1 - x^a / Gamma(1 + a) is that of the logarithm."""
        a, x = self.a, self.x
        fall = (a * (x.math("log") - log_gamma_1p(a))).math("expm1")
        w = _small_sum(a, x, _SMALL_TERMS[self.precise])
        return (1.0 + fall) * (-x).math("exp") * a * w - fall

    def shares(self) -> tuple[Number, Number]:
        """P and Q."""
        density = _density(self.a, self.x, self.precise)
        p, q = density * self.series, density * self.fraction
        upper = self.small_q().where(self.small, 1.0 - p)
        p, q = p.where(self.lower, 1.0 - q), upper.where(self.lower, q)
        expansion = Temme(self.a, self.x, self.temme, self.precise)
        return expansion.share(upper=False).where(self.temme, p), expansion.share(upper=True).where(self.temme, q)

    def log(self, upper: bool) -> Number:
        """log(Q) if `upper`, else log(P). The logarithm of the larger of both comes from the smaller one."""
        p, q = self.shares()
        log_density = _log_density(self.a, self.x, self.precise)
        tail = log_density + (self.fraction if upper else self.series).math("log")
        in_tail = self.a.b.prim("not", self.lower) if upper else self.lower
        expansion = Temme(self.a, self.x, self.temme, self.precise)
        tail = expansion.log_share(upper, _FAR, _ERFCX_TERMS).where(self.temme, tail)
        in_tail = self.a.b.select(self.temme, expansion.is_far(upper, _FAR), in_tail)
        share, other = (q, p) if upper else (p, q)
        large = other < 0.5
        usual = (-other.where(large, 0.0)).math("log1p").where(large, share.math("log"))
        return tail.where(self.a.b.prim("and", in_tail, self.a.b.prim("not", large)), usual)


def _edges(a: Number, x: Number, value: Number, zero: float, one: float) -> Number:
    """NaN for negative operands and for a = x = 0; the limits at 0 and infinity: `zero` at x = 0, `one` at x = inf."""
    b = a.b
    a_is_0, a_is_inf = equals(b, a.s, 0.0), equals(b, a.s, math.inf)
    x_is_0, x_is_inf = equals(b, x.s, 0.0), equals(b, x.s, math.inf)
    for where, limit in ((x_is_0, zero), (a_is_inf, zero), (x_is_inf, one), (a_is_0, one)):
        value = a.constant(limit).where(where, value)
    both = b.prim("or", b.prim("and", a_is_0, x_is_0), b.prim("and", a_is_inf, x_is_inf))
    outside = b.prim("not", b.prim("and", a >= 0.0, x >= 0.0))      # NaN, too
    return a.constant(math.nan).where(b.prim("or", both, outside), value)


def _rule(choose: Callable[[_Parts], Number], zero: float, one: float) -> Callable[[Any], Any]:
    def rule(m: Any) -> Any:
        terms = _SERIES_TERMS[m.precise]
        scale = m.prepare(numbers(_scale))
        series = m.iterate(terms // _UNROLLED, (1.0, 1.0), _series_step(terms), scale)
        levels = _FRACTION_TERMS[m.precise]
        inverse = m.prepare(numbers(lambda a, x: 1.0 / x.at_least(1.0)))
        fraction = m.iterate(levels // _UNROLLED, (0.0, 1.0), _fraction_step(levels), inverse)
        element = lambda a, x, *sums: _edges(a, x, choose(_Parts(m.precise, a, x, sums)), zero, one)
        return m.combine(numbers(element), *series, *fraction)
    return rule


igamma = _rule(lambda parts: parts.shares()[0], 0.0, 1.0)
igammac = _rule(lambda parts: parts.shares()[1], 1.0, 0.0)
log_igamma = _rule(lambda parts: parts.log(upper=False), -math.inf, 0.0)
log_igammac = _rule(lambda parts: parts.log(upper=True), 0.0, -math.inf)
