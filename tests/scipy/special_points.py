"""Special points of the functions of scipy.special and scipy.stats: where functions end, overflow or are undefined.

What differs from SciPy there, on purpose, is data: DECISIONS, with the reason for each.
"""
from collections.abc import Callable
from itertools import product

import numpy as np

NAN, INF = np.nan, np.inf

POINTS = [0.0, -0.0, NAN, INF, -INF, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.5, -3.5, 5.0, -4.0, 1e-30, -1e-30, 1e30, -1e30, 30.0,
          -30.0, 70.0, -70.0, 1e5, 1e-310, 5e-324]
FEW = [0.0, -0.0, NAN, INF, 1.0, -1.0, 0.5, 2.0, -0.5, 1e-30, 1e30, 7.5]
UNARY = ("dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr logit ndtr "
         "ndtri spence").split()
BINARY = "gammainc gammaincc xlog1py xlogy rel_entr kl_div zeta".split()

# Distribution: pools of its shape parameters, whether it has loc and scale.
X = [0.0, -0.0, NAN, INF, -INF, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-30, 1e30, -1e30, 40.0, -40.0]
SHAPE = [0.0, NAN, 1.0, -1.0, 0.5, 2.0, 30.0]
PROBABILITY = [0.0, 0.25, 1.0, -0.1, 1.1, NAN]
QUANTILES = [0.0, 0.25, 0.5, 1.0, -0.1, 1.1, NAN, 1e-30]
LOC_SCALE = [(0.0, 1.0), (1.0, 2.0), (0.0, -1.0), (0.0, 0.0), (0.0, INF), (NAN, 1.0), (0.0, NAN)]
CUTS = [(-1.0, 1.0), (0.0, INF), (-INF, 0.0), (-INF, INF), (1.0, -1.0), (1.0, 1.0), (NAN, 1.0), (5.0, 6.0)]
CONTINUOUS: dict[str, tuple[list[list[float]], bool]] = {
    **dict.fromkeys(("norm", "cauchy", "expon", "laplace", "logistic", "uniform", "gumbel_r", "gumbel_l"), ([], True)),
    **dict.fromkeys(("gamma", "chi2", "pareto", "t"), ([SHAPE], True)), "beta": ([SHAPE, SHAPE], True),
    "gennorm": ([SHAPE], False), "vonmises": ([SHAPE], False), "wrapcauchy": ([PROBABILITY], False), "truncnorm": ([], True)}
COUNTS = [0.0, 1.0, 5.0, -1.0, NAN]
DISCRETE: dict[str, list[list[float]]] = {
    "bernoulli": [PROBABILITY], "geom": [PROBABILITY], "poisson": [[0.0, 1.0, 2.5, -1.0, NAN]], "binom": [COUNTS, PROBABILITY],
    "nbinom": [[0.0, 1.0, 2.5, -1.0, NAN], PROBABILITY], "betabinom": [COUNTS, SHAPE, SHAPE]}
FUNCTIONS = "logpdf pdf cdf sf logcdf logsf ppf isf logpmf pmf".split()

# Both arguments of poch, and the limit: SciPy's, and that of the gamma functions where SciPy has NaN.
INFINITE_POCH: list[tuple[float, float, float]] = [
    *((z, m, 0.0) for z, m in ((0.0, INF), (-2.0, INF), (0.0, -INF), (-2.0, -INF), (INF, -2.0), (INF, -2.5))),
    *((z, m, INF) for z, m in ((1.5, INF), (3.0, INF), (INF, 1.5), (INF, 3.0), (INF, INF))),
    *((z, m, NAN) for z, m in ((1.5, -INF), (-INF, 2.0), (INF, -INF), (NAN, INF), (INF, NAN))),
    (-2.5, INF, -INF), (INF, 0.0, 1.0), (2.0, 3.0, 24.0)]

# Function, arguments, number of the argument of the derivative, derivative: at ends of supports and of parameters.
SLOPES: list[tuple[str, tuple[float, ...], int, float]] = [
    ("vonmises.logpdf", (1.0, 0.0), 1, np.cos(1.0)), ("vonmises.logpdf", (1.0, 0.0), 0, 0.0),
    ("uniform.logpdf", (0.5, INF, 1.0), 2, 0.0), ("uniform.pdf", (0.5, INF, 1.0), 0, 0.0),
    *((f"gamma.{name}", (0.0, 0.5, 0.0, 2.0), 3, 0.0) for name in ("cdf", "sf", "logcdf", "logsf")),
    ("gamma.cdf", (0.0, 0.5, 0.0, INF), 3, 0.0), ("chi2.sf", (0.0, 1.0, 0.0, 2.0), 3, 0.0),
    ("beta.cdf", (0.0, 0.5, 1.0, 0.0, 1.0), 4, 0.0), ("beta.logcdf", (0.0, 1.0, 1.0, 0.0, 1.0), 4, 0.0),
    ("beta.sf", (2.0, 0.5, 2.0, 2.0, 3.0), 4, 0.0), ("beta.logcdf", (0.0, 1.0, 1.0, 0.0, 1.0), 0, INF),
    ("beta.logsf", (0.0, 0.5, 1.0, 0.0, 1.0), 0, -INF), ("beta.sf", (1.0, 0.5, 0.5, 0.0, 1.0), 4, INF),
    ("gamma.cdf", (-1.0, INF, 0.0, 1.0), 1, 0.0), ("gamma.logcdf", (-1.0, INF, 0.0, 1.0), 1, 0.0),
    ("gamma.cdf", (0.0, 0.5, 0.0, 2.0), 0, INF), ("gamma.cdf", (0.0, 1.0, 0.0, 2.0), 0, 0.5),
    ("pareto.cdf", (1.0, INF, 0.0, 1.0), 1, 0.0), ("pareto.ppf", (1.0, INF, 0.0, 1.0), 3, 1.0),
    ("poisson.cdf", (INF, INF), 1, 0.0), ("poisson.logpmf", (0.0, INF), 1, -1.0),
    # below and above loc, of which the quotient by an infinite scale is -0 and 0
    *(("expon.logcdf", (-1.0, 0.0, INF), place, 0.0) for place in range(3)),
    *((f"gamma.{name}", (-1.0, 2.0, 0.0, INF), place, 0.0) for name, place in (("logpdf", 0), ("logpdf", 3), ("pdf", 1))),
    ("gamma.logcdf", (1.0, 2.0, 0.0, INF), 0, 0.0), ("beta.logpdf", (-1.0, 2.0, 2.0, 0.0, INF), 4, 0.0),
    ("uniform.logcdf", (-1.0, 0.0, INF), 2, 0.0), ("expon.logpdf", (0.0, INF, 1.0), 1, 0.0),
    ("t.logpdf", (1.5e308, 1.0, 0.0, 1.0), 3, 1.0), ("t.pdf", (1.5e308, 1.0, 0.0, 1.0), 0, 0.0),
    ("gamma.pdf", (0.0, 0.5, 0.0, 1e300), 0, -INF), ("beta.pdf", (0.0, 0.5, 2.0, 0.0, 1e300), 0, -INF),
    # at infinity, where all the mass is below, and below an infinite shape, which has its mass at infinity
    *((f"{family}.{name}", (INF, 2.0, 0.0, 1.0), place, 0.0) for family in ("gamma", "chi2")
      for name in ("cdf", "logcdf", "sf") for place in range(4)),
    *((f"{family}.{name}", (x, *shapes, 0.0, scale), place, 0.0)
      for family, *shapes in (("norm",), ("cauchy",), ("expon",), ("laplace",), ("logistic",), ("uniform",), ("gumbel_r",),
                              ("gumbel_l",), ("t", 3.0), ("pareto", 2.0), ("beta", 2.0, 3.0), ("truncnorm", -1.0, 2.0))
      for name, x in (("cdf", INF), ("cdf", -INF), ("sf", INF), ("sf", -INF), ("logcdf", INF), ("logsf", -INF))
      for scale in (1.0, 2.0) for place in range(len(shapes) + 3) if family != "beta" or place not in (1, 2)),
    *((f"{family}.pdf", (x, 0.0, 1.0), place, 0.0) for x in (INF, -INF) for place in range(3)
      for family in ("norm", "cauchy", "expon", "laplace", "logistic", "uniform", "gumbel_r", "gumbel_l")),
    *((f"gamma.{name}", (x, INF, 0.0, 1.0), place, 0.0) for x in (0.0, 1.0)
      for name in ("cdf", "logcdf", "sf", "logsf") for place in range(4)),
    *((f"beta.{name}", (x, *shapes), place, 0.0) for name in ("cdf", "logcdf", "sf", "logsf") for place in (0, 3, 4)
      for x in (0.0, 0.5, 1.0) for shapes in ((1.0, INF, 0.0, 1.0), (INF, 2.0, 0.0, 1.0))),
    *((f"beta.{name}", (0.0, 300.0, 1e3, 0.0, 1.0), place, 0.0) for name in ("cdf", "sf", "pdf") for place in (0, 3, 4)),
    *((f"{family}.{name}", (0.5, *shapes, 0.0, INF), len(shapes) + place, 0.0) for name in ("cdf", "logcdf", "sf", "logsf")
      for family, *shapes in (("norm",), ("t", 3.0), ("beta", 2.0, 3.0), ("gamma", 2.0)) for place in (1, 2)),
    ("pareto.sf", (0.5, INF, 0.0, 1.0), 1, 0.0), ("nbinom.logpmf", (INF, 2.0, 0.25), 1, 0.0),
    # probabilities of 0 and 1, infinite numbers and means: the factorials' slopes, and log(p), k / p
    *(("binom.logpmf", (1.0, 1.0, 0.0), place, slope) for place, slope in enumerate((-INF, 1.0, INF))),
    *(("binom.logpmf", (0.0, 1.0, 1.0), place, slope) for place, slope in enumerate((INF, -INF, -INF))),
    *(("binom.logpmf", (2.0, INF, 0.25), place, slope) for place, slope in enumerate((INF, np.log(0.75), -INF))),
    *(("nbinom.logpmf", (1.0, 1.0, 1.0), place, slope) for place, slope in enumerate((-INF, 1.0, -INF))),
    *(("nbinom.logpmf", (2.0, INF, 0.25), place, slope) for place, slope in enumerate((INF, np.log(0.25), INF))),
    ("poisson.logpmf", (1.0, 0.0), 0, -INF), ("poisson.logpmf", (1.0, 0.0), 1, INF), ("poisson.logpmf", (1.0, INF), 0, INF),
    ("poisson.logpmf", (1e300, 1.0), 0, -300 * np.log(10.0)), ("poisson.logpmf", (1e300, 1e-30), 1, INF),
    *(("betabinom.logpmf", (0.0, 0.0, INF, INF), place, 0.0) for place in (1, 2)),
    *((name, (-1.0, *parameters), place, 0.0) for name, *parameters in (
        ("binom.logpmf", 2.5, 1.0), ("nbinom.logpmf", INF, 0.25), ("poisson.logpmf", INF)) for place in (0, 1)),
    # arguments whose quotient by the scale overflows
    ("pareto.logpdf", (1e300, 1.0, 0.0, 2.0**-99), 3, 2.0**99), ("pareto.logsf", (1e300, 1.0, 0.0, 2.0**-99), 3, 2.0**99),
    ("pareto.pdf", (1e300, 1.0, 0.0, 1e-30), 3, 0.0), ("gamma.pdf", (1e300, 0.5, 0.0, 1e-30), 3, 0.0),
    ("poisson.pmf", (1e300, 1e-30), 1, 0.0),
    ("beta.pdf", (0.0, 0.5, 0.5), 0, -INF), ("beta.pdf", (-0.0, 0.5, 0.5), 0, -INF),
    # digamma(z), and the same at a whole step
    ("special.poch", (0.25, 0.0), 1, -4.22745353337626541), ("special.poch", (-0.375, 0.0), 1, 1.2139579020901),
    ("special.poch", (0.25, 0.0), 0, 0.0), ("special.poch", (0.25, -2.0), 1, -1.76966981227761),
    ("special.poch", (0.25, -2.0), 0, 1.45124716553288),
    ("special.expn", (2.0, 0.5), 1, -0.5597735947761608), ("special.expn", (2.0, 0.0), 1, -INF),
    ("special.expn", (1.5, 2.0), 1, -0.05702612399289), ("special.expn", (0.0, 1.0), 1, -2 / np.e),
    # at poles of the second parameter, at infinities, and of polynomials
    ("special.hyp1f1", (1.0, -2.0, 0.0), 2, -0.5), ("special.hyp1f1", (-1.0, -1.0, 1.0), 2, 1.0),
    *(("special.hyp1f1", (-1.0, 1.0, x), 2, -1.0) for x in (INF, -INF)), ("special.hyp1f1", (0.0, 2.0, INF), 2, 0.0),
    *(("special.hyp1f1", (1.0, b, INF), place, slope) for b in (1.0, 3.0) for place, slope in enumerate((INF, -INF, INF))),
    ("special.hyp1f1", (1.0, 2.0, -INF), 2, 0.0), ("special.hyp2f1", (1.0, 2.0, -2.0, 0.0), 3, -1.0),
    ("special.hyp2f1", (1.0, 0.5, 2.0, 1.0), 3, INF), ("special.hyp2f1", (1.0, 0.5, 4.0, 1.0), 3, 0.4),
    ("special.hyp2f1", (-1.0, 1.0, 2.0, INF), 3, -0.5)]
# Function, arguments, second derivative to the first one, at ends.
CURVATURES: list[tuple[str, tuple[float, ...], float]] = [
    ("cauchy.ppf", (0.0,), -INF), ("cauchy.ppf", (1.0,), INF), ("cauchy.isf", (0.0,), INF),
    ("cauchy.ppf", (0.25, 0.0, INF), -INF), ("expon.logcdf", (0.0,), -INF), ("expon.logcdf", (-0.0,), -INF),
    ("expon.logcdf", (1e3,), 0.0), ("pareto.logcdf", (1.0, 2.0), -INF),
    ("laplace.cdf", (0.0,), 0.5), ("laplace.sf", (0.0,), -0.5), ("laplace.logsf", (0.0,), -2.0),
    ("vonmises.logpdf", (0.0, INF), -INF), ("vonmises.logpdf", (2.0, INF), INF)]
# Degenerate distributions whose parameter is infinite.
LIMITS: list[tuple[str, tuple[float, ...], float]] = [
    *((f"{family}.{name}", (INF, INF), value) for family in ("gamma", "chi2")
      for name, value in (("cdf", 1.0), ("sf", 0.0), ("logcdf", 0.0), ("logsf", -INF))),
    ("gamma.cdf", (1.0, INF), 0.0), ("gamma.logsf", (0.0, INF), 0.0), ("gamma.pdf", (0.0, 1e-30, 0.0, 1e30), INF),
    ("beta.pdf", (0.0, 1e-30, 2.0, 0.0, 1e30), INF), ("beta.pdf", (0.0, 2.0, 1e8, 0.0, 1e-30), 0.0),
    ("gamma.pdf", (0.0, 30.0, 0.0, 1e-30), 0.0), ("beta.cdf", (0.5, 2.0, INF), 1.0), ("beta.cdf", (0.5, INF, 2.0), 0.0),
    *((f"betabinom.{name}", (k, 5.0, a, b), value) for name, k, a, b, value in (
        ("pmf", 0.0, 2.0, INF, 1.0), ("pmf", 1.0, 2.0, INF, 0.0), ("pmf", 5.0, INF, 2.0, 1.0), ("pmf", 0.0, INF, 2.0, 0.0),
        ("cdf", 0.0, 2.0, INF, 1.0), ("cdf", 4.0, INF, 2.0, 0.0), ("sf", 4.0, INF, 2.0, 1.0), ("logcdf", 5.0, INF, 2.0, 0.0))),
    ("beta.sf", (0.5, INF, 2.0), 1.0), ("beta.logcdf", (1.0, INF, 2.0), 0.0), ("beta.cdf", (0.0, 2.0, INF), 0.0),
    ("beta.cdf", (0.5, INF, INF), NAN), ("pareto.cdf", (1.0, INF), 0.0),
    ("pareto.logcdf", (1.0, INF), -INF), ("pareto.ppf", (1.0, INF), 1.0),
    ("poisson.cdf", (INF, INF), 1.0), ("poisson.sf", (INF, INF), 0.0), ("binom.logpmf", (INF, INF, 0.25), -INF),
    ("binom.pmf", (INF, INF, 0.25), 0.0), ("binom.logpmf", (2.0, INF, 0.25), -INF), ("binom.pmf", (0.0, INF, 0.0), 1.0),
    ("nbinom.logpmf", (2.0, INF, 0.25), -INF), ("poisson.logpmf", (2.0, INF), -INF), ("poisson.logpmf", (INF, INF), NAN),
    ("betabinom.pmf", (0.0, 0.0, INF, INF), 1.0), ("geom.std", (2.0**-99,), 2.0**99), ("nbinom.std", (1.0, 2.0**-99), 2.0**99)]
# Counts of which logarithms of factorials cancel, and the logarithm of their probability: mpmath, with 60 digits.
HUGE_COUNTS: list[tuple[str, tuple[float, ...], float]] = [
    ("nbinom.logpmf", (2.0**99, 1.0, 2.0**-99), -69.62157087543456),
    ("binom.logpmf", (2.0**39, 2.0**40, 0.5), -14.08873496384386),
    ("pareto.logpdf", (2.0**100, 1.0, 0.0, 2.0**-100), -300 * np.log(2.0))]

Rows = tuple[np.ndarray, ...]


def columns(rows: list[tuple[float, ...]]) -> Rows:
    return tuple(np.array(rows).T)


def arguments_of(distribution: str, function: str) -> Rows:
    """Arguments of a function of a distribution: every point with every parameter."""
    xs = QUANTILES if function in ("ppf", "isf") else X
    if distribution in DISCRETE:
        return columns(list(product(xs, *DISCRETE[distribution])))
    pools, placed = CONTINUOUS[distribution]
    shapes = CUTS if distribution == "truncnorm" else list(product(*pools))
    return columns([(x, *s, *ls) for x in xs for s in shapes for ls in (LOC_SCALE if placed else [()])])


def _fractional(*args: np.ndarray) -> np.ndarray:
    return args[0] != np.floor(args[0])


def _is_probability(p: np.ndarray) -> np.ndarray:
    return (p >= 0) & (p <= 1)


def _endless_below(x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    loc, scale = parameters[-2:]
    return (x < loc) & (scale == INF)


_NO_DISTRIBUTION = "NaN for parameters that no distribution has; SciPy: 0 from the end of the support on"

# Function: (where, reason). SciPy's value there is another one.
DECISIONS: dict[str, tuple[Callable[..., np.ndarray], str]] = {
    "digamma": (lambda x: x == 0, "the limits at 0 differ from both sides: NaN as in JAX, SciPy: -inf or inf"),
    "spence": (lambda x: x == INF, "the limit -inf; SciPy: NaN"),
    "zeta": (lambda x, q: np.isnan(x) | np.isnan(q) | (x >= 1e30) | (q <= 0) | (q == INF),
             "NaN stays NaN, the limit 0 for infinite x; poles and q <= 0 as in JAX"),
    "kl_div": (lambda p, q: (np.maximum(p, q) == INF) & (np.minimum(p, q) > 0), "the limit inf; SciPy: inf - inf"),
    "gammaincc": (lambda a, x: (a < 1e-14) & (x > 0), "right to 1e-14 absolutely; for tiny a the function is tiny"),
    "gumbel_r.logpdf": (lambda x, loc, scale: x == -INF, "the limit -inf; SciPy: inf - inf"),
    "gumbel_r.pdf": (lambda x, loc, scale: x == -INF, "the limit 0; SciPy: inf - inf"),
    "bernoulli.ppf": (lambda q, p: (q == 0) | ((q == 1) & (p == 0)), "0 and 1, the outcomes, as in JAX; SciPy: -1 for q = 0"),
    "truncnorm.cdf": (lambda x, a, b, loc, scale: x == 1e-30, "right relatively; SciPy: 0"),
    "bernoulli.isf": (lambda q, p: (q == 1) | ((q < 0.1) & (p == 0)), "0 and 1, the outcomes, as ppf; SciPy: -1 for q = 1"),
    "binom.isf": (lambda q, n, p: (q == 1e-30) & (p == 0), "0, the only outcome; SciPy: n"),
    "poisson.isf": (lambda q, mu: q == 1e-30, "right for small q; SciPy: NaN"),
    "geom.ppf": (lambda q, p: p == 1, "1, the only outcome; SciPy: 0"),
    "geom.isf": (lambda q, p: p == 1, "1, the only outcome; SciPy: 0 and NaN"),
    "truncnorm.ppf": (lambda q, a, b, loc, scale: (q == 0.5) & (a == -b), "0, and NaN for 0 times inf; SciPy: 1e-16"),
    "truncnorm.isf": (lambda q, a, b, loc, scale: (q == 1e-30) & (b == INF) | (q == 0.5) & (a == -b),
                      "right for small q; SciPy: ppf(1 - q)"),
    "gumbel_l.logpdf": (lambda x, loc, scale: x == INF, "the limit -inf; SciPy: inf - inf"),
    "gumbel_l.pdf": (lambda x, loc, scale: x == INF, "the limit 0; SciPy: inf - inf"),
    "bernoulli.pmf": (_fractional, "fractional counts are interpolated, as by logpmf"),
    "poisson.pmf": (lambda k, mu: k == INF, "the limit 0; SciPy: NaN"),
    "poisson.logpmf": (lambda k, mu: k == INF, "the limit -inf; SciPy: NaN"),
    "geom.pmf": (_fractional, "fractional counts are interpolated, as by logpmf"),
    "nbinom.pmf": (lambda k, n, p: _fractional(k) | (k == INF), "fractional counts are interpolated, and infinite ones have 0"),
    "nbinom.logpmf": (lambda k, n, p: k == INF, "the limit -inf; SciPy: NaN"),
    "binom.pmf": (_fractional, "fractional counts are interpolated, as by logpmf"),
    "betabinom.pmf": (_fractional, "counts are rounded down"),
    "bernoulli.logcdf": (lambda k, p: ~_is_probability(p), _NO_DISTRIBUTION),
    "binom.logcdf": (lambda k, n, p: ~((n >= 0) & _is_probability(p)), _NO_DISTRIBUTION),
    "geom.logcdf": (lambda k, p: ~((p > 0) & _is_probability(p)), _NO_DISTRIBUTION),
    "nbinom.logcdf": (lambda k, n, p: ~((n > 0) & (p > 0) & _is_probability(p)), _NO_DISTRIBUTION),
    "poisson.logcdf": (lambda k, mu: ~(mu >= 0), _NO_DISTRIBUTION),
    "betabinom.logcdf": (lambda k, n, a, b: ~((n >= 0) & (a > 0) & (b > 0)), _NO_DISTRIBUTION),
    "betabinom.logpmf": (_fractional, "counts are rounded down"),
    **{f"{family}.{name}": (_endless_below, "the value below the support, as in JAX; SciPy: that of the quotient, -0 or NaN")
       for family in ("expon", "uniform", "gamma", "chi2", "pareto", "beta") for name in FUNCTIONS[:6]},
}
