"""lgamma and digamma: recurrence to where a polynomial or Stirling's series holds, reflection for negative arguments.

M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 6.1.15, 6.1.17, 6.1.40, 6.3.5, 6.3.7, 6.3.18; the
series' coefficients are replaced by minimax ones. float32 is computed in float64.
"""
from __future__ import annotations

from typing import Any

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc, Poly, widened
from numjet.cpu.mathlib.logarithm import log_in_parts, log_positive
from numjet.cpu.mathlib.trigonometric import SIN_64, sin_poly

PI, PI_LOW = 3.141592653589793, 1.2246467991473532e-16
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
# The same on the whole of a >= 1, by u = 1 / a - 1/2, to an absolute error: for float32, of which zeros are no special case.
STIRLING_ALL = Poly((0.0826813919108186, -0.0024600201298120732, -0.0019404175524035852, 0.0008061463950652702,
                  -2.0194628965338704e-05, -0.00020492936458301077, 0.00016303144738291983,
                  -5.4707671322191864e-05, -2.999667185236758e-05, 6.653855426293449e-05,
                  -6.131213751457411e-05, 3.173492129852004e-05, 4.855760094119367e-06,
                  -3.667355343704866e-05, 5.042737006071115e-05, -3.040370998424828e-05,
                  1.425471640414632e-05, -6.178281671563132e-05, 2.045903768548509e-05,
                  0.00023094293061769715, -0.0002316267874538694, -0.00015803936585761236,
                  0.00021475822990840173),
                    "(loggamma(1/(u+0.5)) - (1/(u+0.5) - mpf(1)/2) * log(1/(u+0.5)) + 1/(u+0.5) - log(2*pi)/2) / (u+0.5)",
                    "u + 0.5", -0.499999, 0.5, 55.0, "float64")
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
DIGAMMA_FAR = Poly((0.08333333333333331, -0.008333333333305736, 0.003968253954115435, -0.004166663106631379,
                    0.0075752470708336525, -0.021048012194904524, 0.08085339405787093, -0.35621408837351803,
                    1.1428871108992409),
                   "(log(1/sqrt(u)) - sqrt(u)/2 - digamma(1/sqrt(u))) / u", "u", 1e-5, 0.027778, 67.7, "float64")


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
        return widened(c, _lgamma_for_single, x)
    negative = c.test("lt", x, 0.0)
    value = _lgamma_positive(c, c.select(negative, c.sub(1.0, x), x))
    # |gamma(x)| = pi / (|sin(pi x)| gamma(1 - x))
    wave = c.div(c.abs(sin_poly(c, c.mul(_fraction(c, x), PI))), PI)
    reflected = c.sub(c.neg(log_positive(c, wave)), value)
    result = c.select(negative, c.select(c.test("eq", wave, 0.0), c.inf, reflected), value)
    edge = c.either(c.test("eq", c.abs(x), c.inf), c.test("eq", x, 0.0))
    return c.select(edge, c.inf, result)


def _lgamma_for_single(c: Calc, x: Expr) -> Expr:
    """lgamma to an absolute error of about 1e-16, in float64: Stirling's formula at |x| + 1 or x, whose remainder is one
    polynomial, and one more logarithm below 1."""
    negative, low = c.test("lt", x, 0.0), c.test("lt", x, 1.0)
    a = c.select(negative, c.sub(1.0, x), c.select(low, c.add(x, 1.0), x))
    inverse = c.div(1.0, a)
    series = c.fma(inverse, c.poly(STIRLING_ALL, c.sub(inverse, 0.5)), HALF_LOG_2PI_1)
    value = c.fma(c.sub(a, 0.5), c.sub(log_positive(c, a, normal=True), 1.0), series)
    wave = c.div(c.abs(sin_poly(c, c.mul(_fraction(c, x), PI))), PI)
    factor = c.select(negative, wave, c.select(low, x, 1.0))
    result = c.sub(c.select(negative, c.neg(value), value), log_positive(c, factor, normal=True))
    result = c.select(c.either(c.test("eq", x, 1.0), c.test("eq", x, 2.0)), 0.0, result)
    edge = c.either(c.test("eq", c.abs(x), c.inf), c.test("eq", factor, 0.0))
    return c.select(edge, c.inf, result)


def _digamma_steps(c: Calc, a: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """digamma(a) = digamma(1 + u) + top / bottom for 0 < a < 6: u in [0, 1], and the sum of up to four reciprocals as a
    quotient of polynomials in the middle of their arguments; last, the rounding error of bottom where the sum could cancel."""
    one, two, three, four = (c.sub(a, float(k)) for k in (1, 2, 3, 4))
    pair, square, ends = c.mul(one, two), c.mul(one, three), c.mul(one, four)
    forms: tuple[tuple[Any, ...], ...] = (  # from which a on, u, top, bottom, rest of bottom
        (0.0, a, -1.0, a, 0.0),
        (1.0, one, 0.0, 1.0, 0.0),
        (2.0, two, 1.0, one, 0.0),
        (3.0, three, c.fma(a, 2.0, -3.0), pair, c.fms(one, two, pair)),
        (4.0, four, c.fma(c.mul(two, 3.0), two, -1.0), c.mul(two, square), 0.0),
        (5.0, c.sub(a, 5.0), c.mul(c.fma(a, 2.0, -5.0), c.fma(ends, 2.0, 2.0)), c.mul(ends, c.add(ends, 2.0)), 0.0))
    u, top, bottom, rest = (c.operand(x) for x in forms[0][1:])
    for start, *form in forms[1:]:
        beyond = c.test("gt", a, start)
        u, top, bottom, rest = (c.select(beyond, new, old) for new, old in zip(form, (u, top, bottom, rest), strict=True))
    return u, top, bottom, rest


def _sum(c: Calc, x: Expr, y: Expr | float) -> tuple[Expr, Expr]:
    """x + y and its rounding error (O. Moller, 1965)."""
    total = c.add(x, y)
    part = c.sub(total, x)
    return total, c.add(c.sub(x, c.sub(total, part)), c.sub(y, part))


def _quotient(c: Calc, top: Expr, bottom: Expr, rest: Expr) -> tuple[Expr, Expr]:
    """top / (bottom + rest) and its rounding error."""
    inverse = c.div(1.0, bottom)
    quotient = c.mul(top, inverse)
    return quotient, c.mul(c.fnma(quotient, rest, c.fnma(quotient, bottom, top)), inverse)


def _digamma_positive(c: Calc, a: Expr) -> tuple[Expr, Expr]:
    """Up to 6 recurrence steps to [1, 2], where the root is, and a polynomial there; above 6 the asymptotic series. In parts.

    Rounding errors are carried along: the polynomial and the steps cancel a little where digamma is small.
    """
    u, top, bottom, bottom_rest = _digamma_steps(c, a)
    v = c.sub(u, 0.5)
    distance, distance_rest = _sum(c, v, DIGAMMA_ROOT[0])
    slope = c.careful_poly(DIGAMMA_NEAR, v)
    product = c.mul(distance, slope)
    product_rest = c.fma(c.sub(distance_rest, DIGAMMA_ROOT[1]), slope, c.fms(distance, slope, product))
    steps, steps_rest = _quotient(c, top, bottom, bottom_rest)
    near, near_rest = _sum(c, product, steps)
    near = c.add(near, c.add(near_rest, c.add(product_rest, steps_rest)))
    inverse = c.div(1.0, a)
    square = c.mul(inverse, inverse)
    logarithm, logarithm_rest = log_in_parts(c, a)
    series = c.add(logarithm_rest, c.fnma(square, c.poly(DIGAMMA_FAR, square), c.mul(inverse, -0.5)))
    near = c.select(c.test("lt", a, 2.0**-200), steps, near)  # only the pole matters, and parts may overflow
    far = c.test("ge", a, 6.0)
    return c.select(far, logarithm, near), c.select(far, series, 0.0)


def _sin_pi(c: Calc, d: Expr) -> tuple[Expr, Expr, Expr]:
    """sin(pi d) for |d| <= 1/2 in two parts, and the rounding error of the angle, which adds its product with the cosine."""
    angle = c.mul(d, PI)
    square = c.mul(angle, angle)
    tail = c.mul(c.mul(angle, square), c.poly(SIN_64, square))
    sine = c.add(angle, tail)
    return sine, c.add(c.sub(angle, sine), tail), c.fma(d, PI_LOW, c.fms(d, PI, angle))


def _cot_pi(c: Calc, d: Expr) -> tuple[Expr, Expr]:
    """cot(pi d) for |d| <= 1/2 in two parts, from the sines of both distances."""
    a = c.abs(d)
    e = c.sub(0.5, a)
    sine, sine_rest, angle_rest = _sin_pi(c, d)
    cosine, cosine_rest, other_rest = _sin_pi(c, e)
    other_rest = c.fma(c.sub(c.sub(0.5, e), a), PI, other_rest)
    sine_rest = c.fma(angle_rest, cosine, sine_rest)
    cosine_rest = c.fma(other_rest, c.abs(sine), cosine_rest)
    quotient, quotient_rest = _quotient(c, cosine, sine, sine_rest)
    return quotient, c.add(quotient_rest, c.div(cosine_rest, sine))


def digamma(c: Calc, x: Expr) -> Expr:
    """The derivative of lgamma; NaN at the poles and at minus infinity."""
    if c.single:
        return widened(c, digamma, x)
    negative = c.test("le", x, 0.0)
    value, value_rest = _digamma_positive(c, c.select(negative, c.sub(1.0, x), x))
    # psi(x) = psi(1 - x) - pi cot(pi x)
    d = _fraction(c, x)
    cot, cot_rest = _cot_pi(c, d)
    rest = c.sub(c.fma(cot_rest, PI, c.mul(cot, PI_LOW)), value_rest)
    reflected = c.sub(c.fnma(cot, PI, value), rest)
    # Next to a pole only the pole matters, and its parts may overflow.
    reflected = c.select(c.test("lt", c.abs(d), 2.0**-200), c.div(-1.0, d), reflected)
    reflected = c.select(c.test("ne", d, 0.0), reflected, c.nan)
    return c.select(negative, reflected, c.select(c.test("lt", x, c.inf), c.add(value, value_rest), x))
