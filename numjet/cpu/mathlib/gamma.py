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

LGAMMA_NEAR = Poly((0.42278433509846713, 0.32246703342411354, -0.06735230105319122, 0.02058080842771346,
                    -0.007385551029687883, 0.0028905103345158306, -0.0011927538535465715, 0.0005096694953737105,
                    -0.00022315631396037285, 9.945521357646317e-05, -4.4907469118199916e-05, 2.0568766182011055e-05,
                    -9.492067292748456e-06, 3.842493291190138e-06, -2.7601110459228896e-06, 1.852067630994857e-06,
                    3.5989186614989704e-06, 5.770404875826786e-06, 3.6364512771438736e-06, 1.1378811291346973e-06),
                   "loggamma(2 + u) / u", "u / loggamma(2 + u)", -0.8, 0.3, 54.4, "float64")
STIRLING = Poly((0.08333333333333322, -0.002777777777541326, 0.0007936506556576101, -0.000595203484100198,
                 0.0008374989134448801, -0.0016616894919771088),
                "(loggamma(1/sqrt(u)) - (1/sqrt(u) - mpf(1)/2) * (log(1/sqrt(u)) - 1) - (log(2*pi) - 1)/2) / sqrt(u)",
                "sqrt(u) / 9.5", 1e-4, 0.013873, 62.9, "float64")
# digamma(x) / (x - its root) with x = u + 3/2
_ROOT_TEXT = "mpf('1.4616321449683623412626595423257213284681962')"
DIGAMMA_ROOT = (0.03836785503163766, -1.6445603550442201e-18)  # 3/2 - root, high part minus low part
DIGAMMA_NEAR = Poly((0.951055876031833, -0.4236274212814606, 0.24054248424077398, -0.14840492305389025,
                     0.09498872445497343, -0.06192213327467664, 0.04076083381072505, -0.026975796692048602,
                     0.017907252484322327, -0.0119082194023521, 0.007926943967739226, -0.0052799464704022525,
                     0.003519012631749532, -0.0023454191386851394, 0.0015565964215752176, -0.001036850023321125,
                     0.0007234474887965458, -0.0004847072532095975, 0.0002270044941865464, -0.00014701539412431295,
                     0.00025986853922491696, -0.0001765365989102114),
                    f"digamma(u + 1.5) / (u + 1.5 - {_ROOT_TEXT})", f"(u + 1.5 - {_ROOT_TEXT}) / digamma(u + 1.5)",
                    -0.5, 0.5, 53.5, "float64")
DIGAMMA_FAR = Poly((0.0833333333333333, -0.008333333333278025, 0.003968253936795726, -0.004166658076718719,
                    0.007574457849830551, -0.02097699975259988, 0.07719019416370541, -0.2555212752013168),
                   "(log(1/sqrt(u)) - sqrt(u)/2 - digamma(1/sqrt(u))) / u", "u", 1e-5, 0.020408, 66.8, "float64")


def _fraction(c: Calc, x: Expr) -> Expr:
    """x minus the nearest integer: exact, NaN for infinities."""
    return c.sub(x, c.op("round_even", x))


def _lgamma_near(c: Calc, a: Expr) -> tuple[Expr, Expr]:
    """lgamma(a) = lgamma(2 + u) +- log(factor) for 0 < a < 8.3, minus below 1.2: u in [-0.8, 0.3] and the factor."""
    u, factor = c.sub(a, 2.0), c.operand(1.0)
    for k in range(1, 7):
        step = c.sub(a, float(k))
        beyond = c.test("ge", a, k + 1.3)
        u = c.select(beyond, c.sub(step, 2.0), u)
        factor = c.select(beyond, c.mul(factor, step), factor)
    tiny, low = c.test("lt", a, 0.3), c.test("lt", a, 1.2)
    u = c.select(tiny, a, c.select(low, c.sub(a, 1.0), u))
    factor = c.select(tiny, c.fma(a, a, a), c.select(low, a, factor))
    return u, factor


def _lgamma_positive(c: Calc, a: Expr) -> Expr:
    far = c.test("ge", a, 8.3)
    u, factor = _lgamma_near(c, a)
    logarithm = log_positive(c, c.select(far, a, factor))
    signed = c.select(c.test("lt", a, 1.2), c.neg(logarithm), logarithm)
    near = c.fma(u, c.careful_poly(LGAMMA_NEAR, u), signed)
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


def _digamma_positive(c: Calc, a: Expr) -> Expr:
    """Up to 3 a polynomial on [1, 2], which has the root; from 7 on the asymptotic series; steps lead to either."""
    below, above, far = c.test("lt", a, 1.0), c.test("gt", a, 2.0), c.test("ge", a, 7.0)
    step = c.sub(a, 1.0)
    u = c.sub(c.select(below, a, c.select(above, c.sub(a, 2.0), step)), 0.5)
    near = c.mul(c.sub(c.add(u, DIGAMMA_ROOT[0]), DIGAMMA_ROOT[1]), c.careful_poly(DIGAMMA_NEAR, u))
    # 1/a + 1/(a+1) + 1/(a+2) + 1/(a+3) in p = a (a + 3), for which only two poles are left
    p = c.mul(a, c.add(a, 3.0))
    middle = c.test("gt", a, 3.0)
    top = c.mul(c.fma(a, 2.0, 3.0), c.fma(p, 2.0, 2.0))
    top = c.select(middle, c.neg(top), c.select(below, -1.0, c.select(above, 1.0, 0.0)))
    bottom = c.select(middle, c.mul(p, c.add(p, 2.0)), c.select(below, a, step))
    correction = c.select(c.either(far, c.both(c.negate(below), c.negate(above))), 0.0, c.div(top, bottom))
    b = c.select(far, a, c.add(a, 4.0))
    inverse = c.div(1.0, b)
    square = c.mul(inverse, inverse)
    series = c.fnma(square, c.poly(DIGAMMA_FAR, square), c.fma(inverse, -0.5, log_positive(c, b)))
    return c.add(c.select(middle, series, near), correction)


def digamma(c: Calc, x: Expr) -> Expr:
    """The derivative of lgamma; NaN at the poles and at minus infinity."""
    if c.single:
        return widened(c.e, digamma, x)
    negative = c.test("le", x, 0.0)
    value = _digamma_positive(c, c.select(negative, c.sub(1.0, x), x))
    # psi(x) = psi(1 - x) - pi cot(pi x), cot from sines of both distances
    d = _fraction(c, x)
    cosine = sin_poly(c, c.mul(c.sub(0.5, c.abs(d)), PI))
    reflected = c.fnma(c.div(cosine, sin_poly(c, c.mul(d, PI))), PI, value)
    reflected = c.select(c.test("ne", d, 0.0), reflected, c.nan)
    return c.select(negative, reflected, c.select(c.test("lt", x, c.inf), value, x))
