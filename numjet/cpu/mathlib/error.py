"""erf, erfc and the inverse of erf."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import exp_in_parts, exp_parts
from numjet.cpu.mathlib.helpers import Calc, Poly, Power
from numjet.cpu.mathlib.logarithm import log_positive

_SMALL_OF, _SMALL_WEIGHT = "erf(sqrt(u)) / sqrt(u) - 1", "sqrt(u) / erf(sqrt(u))"
ERF_32 = Poly((0.12837917, -0.3761263, 0.112836584, -0.0268595, 0.005207506, -0.0008324363, 0.00010319185,
               -7.4302893e-06), _SMALL_OF, _SMALL_WEIGHT, 0.0, 1.5626, 29.3, "float32")
ERF_64 = Poly((0.1283791670955126, -0.37612638903184004, 0.11283791670963572, -0.026866170646249486,
               0.005223977633126219, -0.0008548327336280575, 0.00012055341081034692, -1.49257884869935e-05,
               1.6463676162397328e-06, -1.6377197564062807e-07, 1.4854181374168902e-08, -1.2340503505892094e-09,
               8.928793848778071e-11, -4.22499131952135e-12), _SMALL_OF, _SMALL_WEIGHT, 0.0, 1.5626, 56.3, "float64")
_ROOT_OF, _ROOT_WEIGHT = "erfc(u)**(mpf(1)/8)", "8 * erfc(u)**(mpf(7)/8) / erf(u)"
ERFC_ROOT_32 = Poly((1.0010067, -0.14547439, -0.061245322, -0.011010537, 0.012410222, -0.0021925606, 8.007454e-05,
                     6.8271393e-06), _ROOT_OF, _ROOT_WEIGHT, 1.245, 3.95, 29.7, "float32")
ERFC_ROOT_64 = Poly((0.9999998412062249, -0.14104598029180393, -0.0696361808427706, -0.002074865192742314,
                     0.006567174426785922, 0.00020872957972874862, -0.0005257880243373706, 8.955279458590262e-05,
                     1.7385096078262158e-06, -6.62835806741387e-06, 3.586209486947034e-06, -1.2445084576230935e-06,
                     2.972544716506947e-07, -5.131337900144368e-08, 6.577472436506339e-09, -6.230359949353613e-10,
                     4.1643271740128764e-11, -1.7565020945262044e-12, 3.5066323304004616e-14),
                    _ROOT_OF, _ROOT_WEIGHT, 1.245, 5.95, 60.3, "float64")

# (1 + 2 x) exp(x*x) erfc(x) in u = (x - k) / (x + k), hence x = k (1 + u) / (1 - u); k = 2.5 and 3.5
_SCALED_32 = "exp((2.5*(1+u)/(1-u))**2) * erfc(2.5*(1+u)/(1-u)) * (1 + 5*(1+u)/(1-u))"
_SCALED_64 = "exp((3.5*(1+u)/(1-u))**2) * erfc(3.5*(1+u)/(1-u)) * (1 + 7*(1+u)/(1-u))"
ERFC_MIDDLE_32 = 1.2648382186889648    # a float32 near the value at u = 0; what is left is small
ERFC_32 = Poly((-3.7974790e-08, -0.1223567, -0.09902417, 0.15762788, -0.102973975, 0.03277682, 0.0009809831, -0.00441833,
                0.00034186742, 0.00061158149, 7.8365586e-05),
               f"{_SCALED_32} - mpf({ERFC_MIDDLE_32})", f"1 / ({_SCALED_32})", -1.0, 0.6094, 27.2, "float32")
ERFC_64 = Poly((1.2423492448711544, -0.1400091801376193, -0.010555596332215695, 0.09751909515324117,
                -0.11508959816034862, 0.0879831538254828, -0.04882332582412831, 0.01909933093252591,
                -0.004215019955396798, -0.00030226779153692384, 0.0005643847745271112, -0.00012151286618602906,
                -4.278392219639211e-05, 2.42623690739952e-05, 2.333504638978741e-06, -3.817310797053458e-06,
                -5.455317160064187e-08, 6.038139292097802e-07, 4.835048812853583e-09, -9.558160699939825e-08,
                -8.377959237768947e-09, 1.1169504127248912e-08, 2.7160582935325657e-09),
               _SCALED_64, f"1 / ({_SCALED_64})", -1.0, 0.7727, 55.0, "float64")

_TAIL_OF = "ratio((1/(u + 0.244) - 0.5)**2) * (u + 0.244)"
# erf_inv(x) / x in w = -log(1 - x*x), in float32 around a place where it is close to a float32; for large w in
# v = 1 / (sqrt(w) + 1/2)
ERF_INV_32 = Poly((1.1351232528686523, 0.24809160828590393, 0.004028450697660446, -0.0023635367397218943,
                   0.00010618926627637742, 3.73931325157173e-05, -4.5123338168195914e-06, -4.896004384136177e-07,
                   1.3945258103831293e-07, -8.791918304495994e-09),
                  "ratio(u + 1.03125)", "1 / ratio(u + 1.03125)", -1.03125, 3.96875, 26.3, "float32")
ERF_INV_TAIL_32 = Poly((2.8329768, 1.0016751, 0.00944568, -0.007639139, 0.0056832391, -0.0035882404, 0.001495694,
                        -7.4564516e-05, -0.00031864937, 0.00012791365),
                       "ratio((u + 3)**2)", "1 / ratio((u + 3)**2)", -0.77, 1.01, 25.0, "float32")
ERF_INV_64 = Poly((1.6536545626831027, 0.24015818242558834, -0.006033670871426996, -0.0007407025341545546,
                   0.00018673420802052946, -1.3882523394196534e-05, -1.3654691772639437e-06, 4.2347881711954946e-07,
                   -2.9070389895678794e-08, -4.112660642267388e-09, 1.0512225669525277e-09, -5.4142946506607594e-11,
                   -1.297850418271143e-11, 2.6305035201670706e-12, -8.079291372138778e-14, -4.001590909588275e-14,
                   6.533340984309236e-15, -3.9876713846828036e-17, -1.2344857736219034e-16, 1.5545108802955213e-17,
                   6.956509491785111e-19, -3.4876122281078047e-19, 1.6539935304717032e-20, 3.21930556531825e-21,
                   -3.001730217718009e-22),
                  "ratio(u + 3.125)", "1 / ratio(u + 3.125)", -3.125, 3.125, 55.3, "float64")
ERF_INV_TAIL_64 = Poly((0.8380426465035674, -0.696372047531768, 0.18762776519101668, 1.1865219554176065,
                        2.9437035774920197, 43.53011051791548, 233.94511358675854, -695.1743941376038,
                        -16561.118726268614, -17867.952982121864, 832778.5799510896, 1644909.7848482777,
                        -41485605.88149505, -42704393.69874788, 2039944952.5599864, -2544313887.571563,
                        -88730927355.67241, 395936415255.3952, 2947845347549.1304, -27599818643416.53,
                        -58912577570939.65, 1227248572075222.0, 203578189139618.25, -3.35818044338683e+16,
                        1.2633326277072826e+16, 4.3469874211081824e+17),
                       _TAIL_OF, f"1 / ({_TAIL_OF})", -0.09, 0.0898, 53.7, "float64")


def erf(c: Calc, x: Expr) -> Expr:
    """x (1 + P(x*x)) up to 5/4, then 1 - R(|x|)**8, where R approximates the smooth eighth root of erfc."""
    a = c.abs(x)
    z = c.mul(a, a)
    if c.single:
        small, root = c.poly(ERF_32, z), c.poly(ERFC_ROOT_32, c.at_most(a, 3.95))
    else:
        small, root = c.poly(ERF_64, z), c.careful_poly(ERFC_ROOT_64, c.at_most(a, 5.95))
    square = c.mul(root, root)
    fourth = c.mul(square, square)
    large = c.fnma(fourth, fourth, 1.0)
    return c.copysign(c.select(c.test("lt", a, 1.25), c.fma(a, small, a), large), x)


def _erfc_parts(c: Calc, a: Expr) -> tuple[Expr, Power]:
    """erfc(a) = p * 2**n for a >= 0, by exp(-a*a), whose argument needs the rounding error of the square, too.

    M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Math. Comp. 36, 1981.
    """
    square, divisor = c.mul(a, a), c.fma(a, 2.0, 1.0)
    missed = c.fms(a, a, square)
    if c.single:
        return _erfc_quotient(c, a, square, missed, divisor)
    p, power = exp_parts(c, c.neg(square))
    scaled = c.careful_poly(ERFC_64, c.div(c.sub(a, 3.5), c.add(a, 3.5)))
    return c.mul(c.fnma(p, missed, p), c.div(scaled, divisor)), power


def _erfc_quotient(c: Calc, a: Expr, square: Expr, missed: Expr, divisor: Expr) -> tuple[Expr, Power]:
    """The same in float32, rounded nearly once: every factor is a sum of two floats, and the quotient gets a correction."""
    p, p_rest, power = exp_in_parts(c, c.neg(square), c.neg(missed))
    bend = c.horner(ERFC_32.terms, c.div(c.sub(a, 2.5), c.add(a, 2.5)))
    scaled = c.add(bend, ERFC_MIDDLE_32)
    scaled_rest = c.sub(bend, c.sub(scaled, ERFC_MIDDLE_32))
    top = c.mul(p, scaled)
    top_rest = c.fma(p, scaled_rest, c.fma(p_rest, scaled, c.fms(p, scaled, top)))
    divisor_rest = c.fma(a, 2.0, c.sub(1.0, divisor))
    inverse = c.div(1.0, divisor)
    quotient = c.mul(top, inverse)
    left = c.add(c.fnma(quotient, divisor, top), c.fnma(quotient, divisor_rest, top_rest))
    return c.fma(left, inverse, quotient), power


def erfc(c: Calc, x: Expr) -> Expr:
    """1 - erf(x) without cancellation: literally for small x, where that is more accurate."""
    a = c.abs(x)
    small = c.sub(1.0, c.fma(a, c.poly(ERF_32 if c.single else ERF_64, c.mul(a, a)), a))
    large = c.fading(c.neg(a), -10.3 if c.single else -27.3, lambda b: c.scaled(*_erfc_parts(c, c.neg(b)), True))
    return _mirrored(c, x, c.select(c.test("lt", a, 0.4 if c.single else 0.5), small, large))


def _mirrored(c: Calc, x: Expr, value: Expr) -> Expr:
    return c.select(c.test("lt", x, 0.0), c.sub(2.0, value), value)


def erf_inv(c: Calc, x: Expr) -> Expr:
    """x P(w) with w = -log(1 - x*x), for large w with another polynomial in sqrt(w).

    M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2010 (float64 tail: in 1 / (sqrt(w) + 1/2)).
    """
    w = c.sub(0.0, log_positive(c, c.fnma(x, x, 1.0), normal=True))  # 0, never -0
    root = c.sqrt(w)
    if c.single:
        near = c.test("lt", w, 5.0)
        u = c.select(near, c.sub(w, 1.03125), c.sub(root, 3.0))
        first, *central = ERF_INV_32.terms
        other, *tail = ERF_INV_TAIL_32.terms
        rest = c.mul(u, c.select(near, c.horner(tuple(central), u), c.horner(tuple(tail), u)))
        # the product rounds once, but for the small rest
        inner = c.copysign(c.fma(x, c.select(near, first, other), c.mul(x, rest)), x)
    else:
        near = c.test("lt", w, 6.25)
        shifted = c.add(root, 0.5)
        tail_64 = c.mul(shifted, c.careful_poly(ERF_INV_TAIL_64, c.sub(c.div(1.0, shifted), 0.244)))
        inner = c.mul(x, c.select(near, c.careful_poly(ERF_INV_64, c.sub(w, 3.125)), tail_64))
    a = c.abs(x)
    edge = c.select(c.test("eq", a, 1.0), c.copysign(c.inf, x), c.nan)
    return c.select(c.test("lt", a, 1.0), inner, edge)
