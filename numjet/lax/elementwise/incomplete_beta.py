"""The regularized incomplete beta function, its complement and their logarithms, by a continued fraction, and for large
parameters next to the mean by an expansion.

Source: DLMF (dlmf.nist.gov) 8.17.22; A. DiDonato and A. Morris, "Algorithm 708", ACM TOMS 18 (1992), for the scaling of the
beta distribution's density.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numjet.lax.elementwise.beta_expansion import normal_correction
from numjet.lax.elementwise.gamma_pieces import log_gamma_1p, log_gamma_star, log_gamma_star_1, phi
from numjet.lax.elementwise.special_loops import Number, S, Step, equals, numbers

_PAIRS = {True: 256, False: 128}     # of levels of the fraction, for parameters up to about 1e5; True: of float64 results
_UNROLLED = 4                        # pairs in one step of a loop
_LARGE = 64.0                        # p from which on differences of the fraction are rewritten
_LEAST = 0.005                       # of 1 - x, for which the fraction converges for parameters below 1
_POWERS_TO = 60.0                    # from here on the density is an exponential, below a product of powers
_SINGLE_TO = 1e4                     # the same for float32 results: logarithms of gamma functions of larger ones cancel
_MANY = {True: 1e5, False: 1e4}      # p q / (p + q) from which on the fraction does not converge next to the mean
_NEAR = 8.0                          # half the square of the deviate up to which the expansion is used instead
_TINY, _FROM_TINY = 1e-200, 2.0**300
_LEAST_P = 1e-300
_VANISHING = 3e-6                    # p, in units of q if that is below 1, at which a step of p / q has an error of its square
_POWER_TERMS = 16                    # of a sum of (q x)^n / (n! n) for q x up to 1
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


def _swapped(p: Number, q: Number, x: Number) -> S:
    """Whether the complement is the smaller share: x beyond the mean, and for parameters below 1, by which most of the mass is
    at one end, by estimates of the share for x next to either end."""
    b = x.b
    below = (x * q.at_least(1.0)).math("pow", p) * (q / (p + q))
    above = ((1.0 - x) * p.at_least(1.0)).math("pow", q) * (p / (p + q))
    crowded = b.select(x < 0.5, below > 0.5, above < 0.5)
    small = b.prim("or", p < 1.0, q < 1.0)
    usual = x > (p + 1.0) / (p + q + 2.0)   # if not, the fraction converges, however close to 1 x is
    crowded = b.prim("or", b.prim("and", crowded, b.prim("or", x > _LEAST, usual)), b.prim("and", x > 1.0 - _LEAST, usual))
    return b.prim("or", b.prim("and", small, crowded), b.prim("and", b.prim("not", small), usual))


class _Sides:
    """The operands on the side of the mean where the fraction converges fast."""

    def __init__(self, p: Number, q: Number, x: Number):
        tiny = p + q < _TINY                 # the share is that of the parameters' quotient, and inverses do not overflow
        p, q = (p * _FROM_TINY).where(tiny, p), (q * _FROM_TINY).where(tiny, q)
        self.swap = _swapped(p, q, x)
        other = 1.0 - x
        rest = (1.0 - other) - x          # 1 - x is other + rest
        # The share by such a p beside another q is 1, and the fraction, which is nearly its inverse, stays finite.
        self.p, self.q = q.where(self.swap, p).at_least(_LEAST_P), p.where(self.swap, q)
        self.x, self.y = other.where(self.swap, x), x.where(self.swap, other)
        self.x_rest, self.y_rest = rest.where(self.swap, 0.0), x.constant(0.0).where(self.swap, rest)
        self.below = (self.p * self.y - self.q * self.x) + (self.p * self.y_rest - self.q * self.x_rest)


def _step(pairs: int) -> Step:
    """h = 1 / g of the fraction's even part, as a quotient bottom / top that is divided once per step, from the innermost pair
    of levels on: g(m) = p + 2m - (p + m)(p + q + m) x / (p + 2m + 1 + e / g(m + 1)) with e = (m + 1)(q - m - 1) x.

    For large p the difference is rewritten with `below` = p y - q x, the distance from the mean: it would lose all digits next
    to the mean of parameters of very different sizes. For small p it is taken as it stands, which rounds less for x next to 1.
    """
    def step(n: Number, carry: Sequence[Number], *operands: Number) -> Sequence[Number]:
        p, q, x, y, below = operands[3:]
        top, bottom = p.constant(1.0), carry[0]
        last, large = pairs - _UNROLLED * n, p > _LARGE
        for i in range(_UNROLLED):
            k = last - float(i)
            m = k - 1.0
            even = (k * (q - k)) * x * bottom
            bottom = (p + (2.0 * m + 1.0)).fma(top, even)
            most = p * (m.fma(y + 2.0, below) + 1.0) + m * (m.fma(y + 3.0, below) + 2.0)
            outer = p + 2.0 * m
            odd = ((p + m) * (p + q + m)) * x
            top = outer.fma(even.where(large, bottom), most.where(large, -odd) * top)
        return (bottom / top,)
    return numbers(step)


# ------------------------------------------------------------------------------------------------ x^p (1 - x)^q / (p B(p, q))

def _exponent(s: _Sides) -> Number:
    """p phi(u) + q phi(v) with the distances from the mean in units of p and q."""
    total, excess = s.p + s.q, -s.below
    u, v = excess / s.p, -(excess / s.q)
    return s.p * phi(u, s.x * (total / s.p)) + s.q * phi(v, s.y * (total / s.q))


def _log_scaled(s: _Sides) -> Number:
    """Its logarithm, by minus the exponent and by Stirling's rests."""
    p, q = s.p, s.q
    total = p + q
    exponent = _exponent(s)
    stars = log_gamma_star(total) - (log_gamma_star(p) + log_gamma_star(q))
    return stars - exponent + 0.5 * ((q / total) / p).math("log") - _HALF_LOG_2_PI


def _rounded_sum(x: Number, y: Number) -> tuple[Number, Number]:
    """x + y and its rounding error (O. Moller, 1965)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _power(x: Number, x_rest: Number, total: Number, p_1: Number, p: Number) -> Number:
    """((x + x_rest) total / p_1)^p, with the rounding errors of the base made good to first order."""
    product = x * total
    base = product / p_1
    missed = x.fma(total, -product) + (-base).fma(p_1, product) + x_rest * total
    share = p * missed / product.where(product > 0.0, 1.0)
    return base.math("pow", p) * (1.0 + share)


def _by_powers(s: _Sides) -> Number:
    """By powers of x T / P and y T / Q with P = p + 1, Q = q + 1, T = p + q + 1, and Gamma of these."""
    small = s.p.b.prim("and", s.p < _POWERS_TO, s.q < _POWERS_TO)
    p, q = s.p.where(small, 1.0), s.q.where(small, 1.0)
    p_1, p_rest = _rounded_sum(p, p.constant(1.0))
    q_1, q_rest = _rounded_sum(q, p.constant(1.0))
    both, both_rest = _rounded_sum(p, q)
    total, total_rest = _rounded_sum(both, p.constant(1.0))
    total_rest = total_rest + both_rest
    powers = _power(s.x, s.x_rest, total, p_1, p) * _power(s.y, s.y_rest, total, q_1, q)
    moved = (both + 0.5) * (total_rest / total) - ((p + 0.5) * (p_rest / p_1) + (q + 0.5) * (q_rest / q_1))
    stars = log_gamma_star_1(total) - (log_gamma_star_1(p_1) + log_gamma_star_1(q_1)) + moved
    root = (total / (p_1 * q_1) * (1 / (2 * math.pi))).sqrt()
    return (q / both) * root * (powers * (stars + 1.0).math("exp"))


def _scaled(s: _Sides, precise: bool) -> Number:
    most = _POWERS_TO if precise else _SINGLE_TO
    large = s.p.b.prim("not", s.p.b.prim("and", s.p < most, s.q < most))
    return _log_scaled(s).math("exp").where(large, _by_powers(s) if precise else _scaled_single(s))


def _scaled_single(s: _Sides) -> Number:
    """The same by logarithms, right to 1e-10, for float32 results."""
    p_1, q_1, total = s.p + 1.0, s.q + 1.0, s.p + s.q + 1.0
    log_of = lambda a: (a - 0.5) * a.math("log") + log_gamma_star_1(a, precise=False)
    beta = log_of(p_1) + log_of(q_1) - log_of(total)
    log = s.p * s.x.math("log") + s.q * s.y.math("log") - beta + (1.0 - _HALF_LOG_2_PI)
    return (s.q / (s.p + s.q)) * log.math("exp")


# ------------------------------------------------------------------------------------------------ values

def _edges(p: Number, q: Number, x: Number, value: Number, zero: float, one: float) -> Number:
    """The limits at the ends and for parameters 0 and infinity; NaN outside of the domain, and where limits differ."""
    b = x.b
    either = lambda u, v: b.prim("or", u, v)
    no_p, no_q = equals(b, p.s, 0.0), equals(b, q.s, 0.0)
    p_inf, q_inf = equals(b, p.s, math.inf), equals(b, q.s, math.inf)
    value = x.constant(zero).where(either(no_q, p_inf), value)
    value = x.constant(one).where(either(no_p, q_inf), value)
    value = x.constant(zero).where(equals(b, x.s, 0.0), x.constant(one).where(equals(b, x.s, 1.0), value))
    value = x.constant(math.nan).where(b.prim("and", p_inf, q_inf), value)
    inside = b.prim("and", x >= 0.0, x <= 1.0)
    positive = b.prim("and", b.prim("and", p >= 0.0, q >= 0.0), p + q > 0.0)
    return value.where(b.prim("and", inside, positive), math.nan)


def _by_expansion(s: _Sides, precise: bool) -> tuple[S, Number]:
    """Where the parameters are large and x next to the mean, and the share up to x there."""
    b, inverse, exponent = s.p.b, 1.0 / s.p + 1.0 / s.q, _exponent(s)
    here = b.prim("and", inverse <= 1.0 / _MANY[precise], exponent <= _NEAR)
    half = exponent.where(here, 0.0).at_least(0.0)
    half_root = half.sqrt()
    half_root = half_root.where(s.below < 0.0, -half_root)
    p, q = s.p.where(here, 1.0), s.q.where(here, 1.0)
    correction = normal_correction(half_root * math.sqrt(2.0), p, q, inverse.sqrt())
    return here, 0.5 * (-half_root).math("erfc") - (-half).math("exp") * correction * (1 / math.sqrt(2 * math.pi))


def _log_of_most(s: _Sides) -> tuple[S, Number]:
    """Where p is so small that the share is 1 but for rounding, and there log(share), which is small, from the series
    x^p / (p B(p, q)) (1 + p sum of (1 - q)_n x^n / (n! (p + n))), DLMF 8.17.7."""
    b = s.p.b
    here = b.prim("and", s.p < _VANISHING * s.q.at_most(1.0), s.x * s.q.at_least(1.0) <= 1.0)
    p, q, x = s.p.where(here, 0.0), s.q.where(here, 1.0), s.x.where(here, 0.5)
    term, total = x.constant(1.0), x.constant(0.0)
    for n in range(1, _POWER_TERMS + 1):
        term = term * ((float(n) - q) * x * (1.0 / n))
        total = total + term / (p + float(n))
    power = x.where(x > 0.0, 1.0).math("log") + (q + 0.5 * p).math("digamma") - log_gamma_1p(p)
    return here, p * power + (p * total).math("log1p")


def _complement(s: _Sides, share: Number) -> Number:
    """1 - share, also where it is so small that it is lost in the share's rounding."""
    here, log = _log_of_most(s)
    return (-log.math("expm1")).where(here, 1.0 - share)


def _share(s: _Sides, fraction: Number, precise: bool, upper: bool) -> Number:
    here, near = _by_expansion(s, precise)
    scaled = _scaled(s, precise)
    value = near.where(here, (scaled * fraction).where(scaled > 0.0, 0.0))   # where the fraction overflows, this is 0
    own = s.swap if upper else s.x.b.prim("not", s.swap)
    return value.where(own, _complement(s, value))


def _log_share(s: _Sides, fraction: Number, precise: bool, upper: bool) -> Number:
    """The logarithm; of the larger share by the smaller one."""
    here, near = _by_expansion(s, precise)
    log = near.where(here, 1.0).math("log").where(here, _log_scaled(s) + fraction.math("log"))
    own = s.swap if upper else s.x.b.prim("not", s.swap)
    most, log_of_most = _log_of_most(s)
    other = (-(log.at_most(0.0).math("exp"))).math("log1p")
    return log.where(own, (-log_of_most.math("expm1")).math("log").where(most, other))


def _rule(value: Callable[[_Sides, Number, bool, bool], Number], upper: bool, zero: float, one: float) -> Callable[[Any], Any]:
    def rule(m: Any) -> Any:
        pairs = _PAIRS[m.precise]
        operand = lambda name: m.prepare(numbers(lambda p, q, x: getattr(_Sides(p, q, x), name)))
        (h,) = m.iterate(pairs // _UNROLLED, (0.0,), _step(pairs), *map(operand, ("p", "q", "x", "y", "below")))

        def element(p: Number, q: Number, x: Number, h: Number) -> Number:
            s = _Sides(p, q, x)
            return _edges(p, q, x, value(s, s.p * h, m.precise, upper), zero, one)
        return m.combine(numbers(element), h)
    return rule


betainc = _rule(_share, False, 0.0, 1.0)
betaincc = _rule(_share, True, 1.0, 0.0)
log_betainc = _rule(_log_share, False, -math.inf, 0.0)
log_betaincc = _rule(_log_share, True, 0.0, -math.inf)
