"""erf, erfc and the inverse of erf."""
from __future__ import annotations

from ..loop_ir import Expr
from .exponential import exp_parts
from .helpers import FLOAT64, Calc, Poly
from .logarithm import log_positive

_SMALL_OF, _SMALL_WEIGHT = "erf(sqrt(u)) / sqrt(u) - 1", "sqrt(u) / erf(sqrt(u))"
ERF_32 = Poly((0.12837917, -0.3761263, 0.112836584, -0.0268595, 0.005207506, -0.0008324363, 0.00010319185,
               -7.4302893e-06), _SMALL_OF, _SMALL_WEIGHT, 0.0, 1.5626, 29.3, "float32")
ERF_64 = Poly((0.12837916709551256, -0.37612638903183343, 0.11283791670936968, -0.026866170641965503,
               0.0052239775968163414, -0.0008548325490163409, 0.00012055280688790237, -1.4924470032560132e-05,
               1.6444213088649795e-06, -1.618453098295491e-07, 1.3619285585650064e-08, -7.613084153745977e-10),
              _SMALL_OF, _SMALL_WEIGHT, 0.0, 1.0, 56.0, "float64")
_ROOT_OF, _ROOT_WEIGHT = "erfc(u)**(mpf(1)/8)", "8 * erfc(u)**(mpf(7)/8) / erf(u)"
ERFC_ROOT_32 = Poly((1.0010067, -0.14547439, -0.061245322, -0.011010537, 0.012410222, -0.0021925606, 8.007454e-05,
                     6.8271393e-06), _ROOT_OF, _ROOT_WEIGHT, 1.245, 3.95, 29.7, "float32")
ERFC_ROOT_64 = Poly((0.999999997986457, -0.14104738413098217, -0.06963028763679538, -0.002090278781740579,
                     0.0065953282503885685, 0.0001705789892265162, -0.0004860218762077689, 5.693042831617611e-05,
                     2.3109156091625894e-05, -1.7904785867776104e-05, 8.398059319538568e-06, -2.904818317508266e-06,
                     7.585379265306726e-07, -1.535949748651815e-07, 2.4412306095359018e-08, -3.0127412518124463e-09,
                     2.78895344745949e-10, -1.8182213721613412e-11, 7.424135330107424e-13, -1.4254032060638756e-14),
                    _ROOT_OF, _ROOT_WEIGHT, 0.995, 5.95, 59.9, "float64")

# (1 + 2 x) exp(x*x) erfc(x) in u = (x - k) / (x + k), hence x = k (1 + u) / (1 - u); k = 3 and 3.5
_SCALED_3 = "exp((3*(1+u)/(1-u))**2) * erfc(3*(1+u)/(1-u)) * (1 + 6*(1+u)/(1-u))"
_SCALED_35 = "exp((3.5*(1+u)/(1-u))**2) * erfc(3.5*(1+u)/(1-u)) * (1 + 7*(1+u)/(1-u))"
ERFC_32 = Poly((1.253008058982594, -0.13562111255810558, -0.04756238773747984, 0.1296454042631799, -0.11927156882742547,
                0.0683061136607871, -0.023787925436840083, 0.002528893221972367, 0.0019500383169734957,
                -0.0007401791136805451, -0.00018129153662137983, 3.580492564083712e-05),
               _SCALED_3, f"1 / ({_SCALED_3})", -1.0, 0.5488, 30.5, "float64")
ERFC_64 = Poly((1.2423492448711544, -0.1400091801376193, -0.010555596332215695, 0.09751909515324117,
                -0.11508959816034862, 0.0879831538254828, -0.04882332582412831, 0.01909933093252591,
                -0.004215019955396798, -0.00030226779153692384, 0.0005643847745271112, -0.00012151286618602906,
                -4.278392219639211e-05, 2.42623690739952e-05, 2.333504638978741e-06, -3.817310797053458e-06,
                -5.455317160064187e-08, 6.038139292097802e-07, 4.835048812853583e-09, -9.558160699939825e-08,
                -8.377959237768947e-09, 1.1169504127248912e-08, 2.7160582935325657e-09),
               _SCALED_35, f"1 / ({_SCALED_35})", -1.0, 0.7727, 55.0, "float64")


def erf(c: Calc, x: Expr) -> Expr:
    """x (1 + P(x*x)) while small, then 1 - R(|x|)**8, where R approximates the smooth eighth root of erfc."""
    a = c.abs(x)
    z = c.mul(a, a)
    small = c.fma(a, c.poly(ERF_32 if c.single else ERF_64, z), a)
    root = c.poly(ERFC_ROOT_32 if c.single else ERFC_ROOT_64, c.at_most(a, 3.95 if c.single else 5.95))
    square = c.mul(root, root)
    fourth = c.mul(square, square)
    near = c.test("lt", a, 1.25 if c.single else 1.0)
    return c.copysign(c.select(near, small, c.fnma(fourth, fourth, 1.0)), x)


def _erfc_parts(c: Calc, a: Expr, table: Poly, k: float) -> tuple[Expr, Expr]:
    """erfc(a) = p * 2**n for a >= 0, float64: p and the bits of n + magic.

    M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Math. Comp. 36, 1981.
    """
    square = c.mul(a, a)
    p, shifted = exp_parts(c, c.neg(square))
    # exp(-a*a) needs the rounding error of the square, too
    p = c.fnma(p, c.fms(a, a, square), p)
    scaled = c.poly(table, c.div(c.sub(a, k), c.add(a, k)))
    return c.mul(p, c.div(scaled, c.fma(a, 2.0, 1.0))), shifted


def erfc(c: Calc, x: Expr) -> Expr:
    if c.single:
        w = Calc(c.e, FLOAT64)
        y = c.e.convert(x, FLOAT64)
        p, shifted = _erfc_parts(w, w.at_most(w.abs(y), 10.3), ERFC_32, 3.0)
        return c.e.convert(_mirrored(w, y, w.mul(p, w.pow2(shifted))), c.dtype)
    p, shifted = _erfc_parts(c, c.at_most(c.abs(x), 27.3), ERFC_64, 3.5)
    half = (c.bias + 1) // 2
    return _mirrored(c, x, c.mul(c.mul(p, c.pow2(shifted, half)), 2.0**-half))


def _mirrored(c: Calc, x: Expr, value: Expr) -> Expr:
    return c.select(c.test("lt", x, 0.0), c.sub(2.0, value), value)
