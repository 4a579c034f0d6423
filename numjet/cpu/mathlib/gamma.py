"""lgamma and digamma: recurrence to where a polynomial or Stirling's series holds, reflection for negative arguments.

M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 6.1.15, 6.1.17, 6.1.40, 6.3.5, 6.3.7, 6.3.18; the
series' coefficients are replaced by minimax ones. float32 is computed in float64.
"""
from __future__ import annotations

from ..loop_ir import Expr
from .helpers import Calc, Poly, widened
from .logarithm import log_positive
from .trigonometric import sin_poly

PI = 3.141592653589793
HALF_LOG_2PI_1 = 0.4189385332046727  # (log(2 pi) - 1) / 2

LGAMMA_NEAR = Poly((0.42278433509846713, 0.3224670334241133, -0.06735230105319576, 0.020580808427765787,
                    -0.007385551028925184, 0.0028905103318498187, -0.0011927539013266409, 0.0005096694949371666,
                    -0.00022315497234336816, 9.945794623055258e-05, -4.4923770974399e-05, 2.050353029799783e-05,
                    -9.456084385569403e-06, 4.393573363052684e-06, -1.9748109253269465e-06, 8.997940363775461e-07,
                    -5.806294411366109e-07, 2.977973140750943e-07),
                   "loggamma(2 + u) / u", "u / loggamma(2 + u)", -0.5, 0.5, 55.8, "float64")
STIRLING = Poly((0.08333333333333322, -0.002777777777541326, 0.0007936506556576101, -0.000595203484100198,
                 0.0008374989134448801, -0.0016616894919771088),
                "(loggamma(1/sqrt(u)) - (1/sqrt(u) - mpf(1)/2) * (log(1/sqrt(u)) - 1) - (log(2*pi) - 1)/2) / sqrt(u)",
                "sqrt(u) / 9.5", 1e-4, 0.013873, 62.9, "float64")
DIGAMMA_FAR = Poly((0.08333333333333316, -0.008333333333046209, 0.00396825380621113, -0.0041666232688388,
                    0.007569504044678453, -0.02059015544686606, 0.061557338453628686),
                   "(log(1/sqrt(u)) - sqrt(u)/2 - digamma(1/sqrt(u))) / u", "u / 2", 1e-5, 0.015625, 65.6, "float64")


def _fraction(c: Calc, x: Expr) -> Expr:
    """x minus the nearest integer: exact, NaN for infinities."""
    return c.sub(x, c.op("round_even", x))


def _lgamma_near(c: Calc, a: Expr) -> tuple[Expr, Expr]:
    """For 0 < a < 8.5, lgamma(a) = lgamma(2 + u) +- log(factor), + from 3/2 on: u and the factor."""
    u, factor = c.sub(a, 2.0), c.operand(1.0)
    for k in range(1, 7):
        step = c.sub(a, float(k))
        beyond = c.test("ge", a, k + 1.5)
        u = c.select(beyond, c.sub(step, 2.0), u)
        factor = c.select(beyond, c.mul(factor, step), factor)
    tiny, low = c.test("lt", a, 0.5), c.test("lt", a, 1.5)
    u = c.select(tiny, a, c.select(low, c.sub(a, 1.0), u))
    factor = c.select(tiny, c.fma(a, a, a), c.select(low, a, factor))
    return u, factor


def _lgamma_positive(c: Calc, a: Expr) -> Expr:
    far = c.test("ge", a, 8.5)
    u, factor = _lgamma_near(c, a)
    logarithm = log_positive(c, c.select(far, a, factor))
    signed = c.select(c.test("lt", a, 1.5), c.neg(logarithm), logarithm)
    near = c.fma(u, c.poly(LGAMMA_NEAR, u), signed)
    inverse = c.div(1.0, a)
    series = c.fma(inverse, c.poly(STIRLING, c.mul(inverse, inverse)), HALF_LOG_2PI_1)
    return c.select(far, c.fma(c.sub(a, 0.5), c.sub(logarithm, 1.0), series), near)


def lgamma(c: Calc, x: Expr) -> Expr:
    """log|gamma(x)|; infinity at the poles and at both infinities."""
    if c.single:
        return widened(c.e, lgamma, x)
    negative = c.test("lt", x, 0.0)
    value = _lgamma_positive(c, c.select(negative, c.sub(1.0, x), x))
    # |gamma(x)| = pi / (|sin(pi x)| gamma(1 - x))
    wave = c.div(c.abs(sin_poly(c, c.mul(_fraction(c, x), PI))), PI)
    reflected = c.sub(c.neg(log_positive(c, wave)), value)
    result = c.select(negative, c.select(c.test("eq", wave, 0.0), c.inf, reflected), value)
    edge = c.either(c.test("eq", c.abs(x), c.inf), c.test("eq", x, 0.0))
    return c.select(edge, c.inf, result)


def _shift_sum(c: Calc, a: Expr) -> Expr:
    """1/a + 1/(a + 1) + ... + 1/(a + 7) with one division."""
    top, bottom = c.operand(1.0), a
    for k in range(1, 8):
        term = c.add(a, float(k))
        top, bottom = c.fma(top, term, bottom), c.mul(bottom, term)
    return c.div(top, bottom)


def digamma(c: Calc, x: Expr) -> Expr:
    """The derivative of lgamma; NaN at the poles and at minus infinity."""
    if c.single:
        return widened(c.e, digamma, x)
    negative = c.test("le", x, 0.0)
    a = c.select(negative, c.sub(1.0, x), x)
    low = c.test("lt", a, 8.0)
    b = c.select(low, c.add(a, 8.0), a)
    inverse = c.div(1.0, b)
    square = c.mul(inverse, inverse)
    far = c.fnma(square, c.poly(DIGAMMA_FAR, square), c.fma(inverse, -0.5, log_positive(c, b)))
    value = c.sub(far, c.select(low, _shift_sum(c, a), 0.0))
    # psi(x) = psi(1 - x) - pi cot(pi x), cot from sines of both distances
    d = _fraction(c, x)
    cosine = sin_poly(c, c.mul(c.sub(0.5, c.abs(d)), PI))
    reflected = c.fnma(c.div(cosine, sin_poly(c, c.mul(d, PI))), PI, value)
    reflected = c.select(c.test("ne", d, 0.0), reflected, c.nan)
    return c.select(negative, reflected, c.select(c.test("lt", x, c.inf), value, x))
