"""Derivatives of the incomplete gamma function by its parameter, from loops that carry derivatives of series and fraction.

(Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, 2018, for samples of gamma distributions.)
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numjet.lax.elementwise.gamma_pieces import TEMME_FROM, Temme, is_temme, log_gamma_star, phi
from numjet.lax.elementwise.special_loops import Number, Step, equals, numbers


def _series_step(n: Number, carry: Sequence[Number], a: Number, x: Number) -> Sequence[Number]:
    """Terms and sum of 1 + x / (a + 1) + x² / (a + 1)(a + 2) + ... (DLMF 8.7.1), and their derivatives by a."""
    term, total, term_a, total_a = carry
    inverse = 1.0 / (a + (n + 1.0))
    ratio = x * inverse
    term = term * ratio
    term_a = term_a * ratio - term * inverse
    return term, total + term, term_a, total_a + term_a


def _fraction_step(steps: int) -> Step:
    """f = -k (k - a) / (x + 2k + 1 - a + f) for k = steps .. 1 (DLMF 8.9.2, contracted), and its derivative by a."""
    def step(n: Number, carry: Sequence[Number], a: Number, x: Number) -> Sequence[Number]:
        f, f_a = carry
        k = float(steps) - n
        inverse = 1.0 / ((x - a) + (k + k + 1.0) + f)
        f = k * (a - k) * inverse
        return f, (k - f * (f_a - 1.0)) * inverse
    return numbers(step)


def _by_loops(m: Any, fn: Callable[..., Number]) -> Any:
    """fn(a, x, sum, sum_a, fraction, fraction_a) from the two loops."""
    steps = 160 if m.precise else 64
    series = m.iterate(steps, (1.0, 1.0, 0.0, 0.0), numbers(_series_step))
    fraction = m.iterate(steps, (0.0, 0.0), _fraction_step(steps))

    def finish(a: Number, x: Number, _: Number, total: Number, __: Number, total_a: Number, f: Number, f_a: Number) -> Number:
        head = 1.0 / ((x - a) + 1.0 + f)
        return fn(a, x, total, total_a, head, head * head * (1.0 - f_a))

    return m.combine(numbers(finish), *series, *fraction)


def _density(a: Number, x: Number) -> Number:
    """x^a e^-x / Gamma(a) = sqrt(a / 2 pi) exp(-a phi((x - a) / a)) / Gamma*(a)."""
    log = -(a * phi((x - a) / a, x / a)) - log_gamma_star(a)
    scaled = (a * (1 / (2 * math.pi))).sqrt() * log.math("exp")
    direct = (a * x.math("log") - x - a.math("lgamma")).math("exp")
    return direct.where(a < 10.0, scaled)


def _implicit(a: Number, x: Number, total: Number, total_a: Number, fraction: Number, fraction_a: Number) -> Number:
    """-(dP/da) / (dP/dx): how the quantile x of the gamma distribution moves with a. No factor can underflow."""
    log = x.math("log")
    by_series = ((a + 1.0).math("digamma") - log) * total
    by_series = (x / a) * (by_series - total_a)
    by_fraction = x * ((log - a.math("digamma")) * fraction + fraction_a)
    value = by_series.where(x <= (a + 1.0).where(a < TEMME_FROM, a), by_fraction)
    return _implicit_temme(a, x).where(is_temme(a, x), value)


def _implicit_temme(a: Number, x: Number) -> Number:
    """Both derivatives of Temme's form in units of exp(-a eta² / 2) / sqrt(2 pi a); eta' = -1 / (a sqrt(2 h))."""
    holds = is_temme(a, x)
    t = Temme(a, x, holds)
    eta_a = -(t.inverse / t.slope)
    scale_a = -(0.5 * (t.eta * t.eta) + t.a * (t.eta * eta_a) + 0.5 * t.inverse)
    rest = t.sum() * scale_a + t.sum_by_a(eta_a)
    by_a = t.a * eta_a + 0.5 * t.eta - rest
    return -(by_a * (x * t.inverse) * log_gamma_star(t.a).math("exp"))


def _valid(a: Number, x: Number, value: Number) -> Number:
    """0 at x = 0, NaN outside of a > 0, x >= 0."""
    b = a.b
    value = a.constant(0.0).where(equals(b, x.s, 0.0), value)
    return value.where(b.prim("and", a > 0.0, x >= 0.0), math.nan)


def random_gamma_grad(m: Any) -> Any:
    """dx/da at fixed P(a, x)."""
    return _by_loops(m, lambda a, x, *loops: _valid(a, x, _implicit(a, x, *loops)))


def igamma_grad_a(m: Any) -> Any:
    """dP(a, x)/da."""
    def fn(a: Number, x: Number, *loops: Number) -> Number:
        b = a.b
        slope = _density(a, x) / a.constant(1.0).where(equals(b, x.s, 0.0), x)
        value = -(_implicit(a, x, *loops) * slope)
        return _valid(a, x, a.constant(0.0).where(equals(b, slope.s, 0.0), value))
    return _by_loops(m, fn)
