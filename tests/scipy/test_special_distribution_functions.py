"""Distribution functions, their inverses, and elementary functions of scipy.special, against SciPy on grids of corners."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special as oracle
import scipy.stats

import numjet as nj
import numjet.numpy as jnp
from numjet.lax.elementwise import special as lax_special
from numjet.scipy import special, stats
from numjet.testing.records import check_function

NAN, INF = np.nan, np.inf
K, COUNTS = [-1.0, 0.0, 1.0, 2.5, 5.0, 20.0], [1.0, 5.0, 20.0, 30.0]
PROBABILITIES = [0.0, 1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0, -0.1, 1.1, NAN]
SHAPES = [-1.0, 0.1, 0.5, 1.0, 2.5, 30.0, 500.0]
X = [-1.0, 0.0, 1e-8, 0.1, 1.0, 3.0, 50.0, 600.0, INF, NAN]
F = [-2.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 3.0, 30.0]
DEGREES = [0.0, 30.0, 45.0, -60.0, 90.0, 120.0, -135.0, 180.0, 270.0, 359.5, 1e4, NAN]
LINE = [0.0, 1e-30, 1e-8, 0.1, 0.5, -1.0, 2.0, -2.5, 3.0, 7.0, -20.0, 60.0, 130.0, 700.0, NAN]
POSITIVE = F[2:]

CASES = {
    "gammaincinv": (SHAPES, PROBABILITIES), "gammainccinv": (SHAPES, PROBABILITIES),
    "betaincinv": (SHAPES[1:], SHAPES[1:], PROBABILITIES), "betainccinv": (SHAPES[1:], SHAPES[1:], PROBABILITIES),
    "betaincc": (SHAPES[1:], SHAPES[1:], PROBABILITIES[:8]), "bdtr": (K, COUNTS, PROBABILITIES),
    "bdtrc": (K, COUNTS, PROBABILITIES), "bdtri": (K, COUNTS[:3], PROBABILITIES), "nbdtr": (K, COUNTS, PROBABILITIES),
    "nbdtrc": (K, COUNTS, PROBABILITIES), "nbdtri": (K[1:], COUNTS, PROBABILITIES), "pdtr": (K, X), "pdtrc": (K, X),
    "pdtri": (K, PROBABILITIES[:7]), "chdtr": (SHAPES, X), "chdtrc": (SHAPES, X), "chdtri": (SHAPES, PROBABILITIES),
    "gdtr": (SHAPES[1:], SHAPES[1:], X), "gdtrc": (SHAPES[1:], SHAPES[1:], X), "gdtrix": (SHAPES[1:], SHAPES[1:], [0.3, 1.0]),
    "gdtria": (PROBABILITIES, SHAPES[1:], X[2:8]), "fdtr": (SHAPES, SHAPES, X), "fdtrc": (SHAPES, SHAPES, X),
    "fdtri": (SHAPES[2:], SHAPES[2:], PROBABILITIES), "stdtr": ([*SHAPES, INF], [0.0, 0.3, -2.0, 8.0, -50.0, INF, NAN]),
    "stdtrit": ([*SHAPES[1:], INF], PROBABILITIES), "nrdtrimn": (PROBABILITIES[1:5], SHAPES, X[3:]),
    "nrdtrisd": (X[3:7], PROBABILITIES[1:4], X[3:7]), "ndtri_exp": ([-1e5, -50.0, -3.0, -1.0, -0.3, -1e-8, 0.0, 1.0, NAN],),
    "erfcinv": ([0.0, 1e-12, 0.01, 0.3, 1.0, 1.7, 2.0, -0.1, 2.1, NAN],), "kolmogorov": (X,),
    "huber": (F, [*F, INF, NAN]), "pseudo_huber": (F, [*F, INF, NAN]), "inv_boxcox": (F, F), "inv_boxcox1p": (F, F),
    "powm1": (F, F), "sindg": (DEGREES,), "cosdg": (DEGREES,), "tandg": (DEGREES,), "cotdg": (DEGREES,),
    "radian": (DEGREES, [0.0, 5.0], [3.0]), "rgamma": (LINE,), "perm": (F, F), "binom": (F, [v for v in F if v != 0.5]),
    "erfi": (LINE,), "shichi": (LINE,), "agm": (F, F), "zetac": ([*LINE[:-1], -0.5, -3.5, -7.0, 1.0, 1.1, 0.9],),
    "ellipj": ([0.0, 0.3, -1.0, 2.0, 5.0, -20.0, NAN], [0.0, 0.1, 0.5, 0.99, 1 - 1e-8, 1.0, -0.5, 1.5]),
    "elliprc": (F, F), "elliprg": (POSITIVE, POSITIVE, POSITIVE), "elliprj": (POSITIVE[2:], POSITIVE[1:], POSITIVE[1:], F),
    "exp10": (LINE[:10],), "cbrt": (LINE,), "exp2": (LINE,), "expm1": (LINE,), "log1p": (POSITIVE,), "sinc": (LINE,),
    "softplus": (LINE,), "round": (LINE,), "psi": (POSITIVE[1:],), "factorial2": ([0.0, 1.0, 2.0, 5.0, 8.0, 11.0],),
}
WHOLE = {"bdtr": (1,), "bdtrc": (1,), "bdtri": (1,), "nbdtr": (0, 1), "nbdtrc": (0, 1), "nbdtri": (0, 1), "pdtri": (0,),
         "factorial2": (0,)}


@pytest.mark.parametrize("name", CASES)
def test_values(name, x64):
    args = [np.array(v) for v in zip(*itertools.product(*CASES[name]), strict=True)]
    given = [np.floor(v).astype(int) if k in WHOLE.get(name, ()) else v for k, v in enumerate(args)]
    with np.errstate(all="ignore"):
        want = getattr(oracle, name)(*given)
    got = nj.jit(getattr(special, name))(*args)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
        g, w = np.asarray(g), np.asarray(w)
        with np.errstate(all="ignore"):
            fine = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= 1e-9 * np.abs(w) + 1e-15)
        wrong = [(tuple(float(a[k]) for a in args), float(g[k]), float(w[k])) for k in np.flatnonzero(~fine)[:6]]
        assert not wrong, (name, wrong)


def test_quantiles_invert_to_rounding(rng, x64):
    """What SciPy's inverses lack: digits in the tails."""
    a, b, p = 10 ** rng.uniform(-1, 2.5, 300), 10 ** rng.uniform(-1, 2.5, 300), 10 ** rng.uniform(-12, -0.01, 300)
    for lower, inverse in (("gammainc", "gammaincinv"), ("gammaincc", "gammainccinv")):
        x = getattr(special, inverse)(a, p)
        np.testing.assert_allclose(getattr(special, lower)(a, x), p, rtol=1e-12)
    np.testing.assert_allclose(special.betainc(a, b, special.betaincinv(a, b, p)), p, rtol=1e-10)
    for name, first, second in (("gammaincinv", INF, None), ("gammainccinv", INF, None), ("betaincinv", 1, 0)):
        parameters = (a, b) if name == "betaincinv" else (a,)
        for place, limit in enumerate((first, second)[:len(parameters)]):
            infinite = [np.full(300, INF) if k == place else v for k, v in enumerate(parameters)]
            np.testing.assert_array_equal(getattr(special, name)(*infinite, p), limit)
    np.testing.assert_allclose(special.stdtr(0.5, special.stdtrit(0.5, 1e-9)), 1e-9, rtol=1e-10)


def test_students_quantiles_whose_squares_overflow(x64):
    """By mpmath: the tail is a power law, with SciPy's quantiles ending at 1e154."""
    df = np.array([1e-3, 0.1, 0.1, 1.5])
    p = np.array([0.34448407730328495, 4.173803137173215e-17, 0.0005254506833213578, 1e-300])
    t = np.array([-1e160, -1e160, -1e29, -5.219469427344768e199])
    np.testing.assert_allclose(special.stdtr(df, t), p, rtol=1e-12)
    np.testing.assert_allclose(special.stdtrit(df, p), t, rtol=1e-10)
    np.testing.assert_allclose(nj.grad(special.stdtr, 1)(0.1, -1e40) * 1e40, 0.1 * special.stdtr(0.1, -1e40), rtol=1e-12)


DERIVATIVES = [
    ("gammaincinv", (2.5, 0.3), 1), ("gammainccinv", (0.7, 0.2), 1), ("erfcinv", (0.3,), 2), ("ndtri_exp", (-3.0,), 2),
    ("kolmogorov", (0.8,), 2), ("kolmogorov", (1.3,), 2), ("ellipj", (1.3, 0.6), 2), ("ellipj", (4.0, 0.2), 2),
    ("zetac", (2.5,), 2), ("zetac", (-2.7,), 2), ("rgamma", (-2.0,), 1), ("rgamma", (2.3,), 2), ("erfi", (0.7,), 2),
    ("shichi", (0.7,), 2), ("agm", (1.0, 3.0), 2), ("elliprc", (1.2, 0.7), 2), ("elliprg", (0.3, 1.2, 2.0), 2),
    ("elliprj", (0.3, 1.2, 2.0, 0.9), 2), ("pseudo_huber", (1.2, 0.7), 2), ("huber", (1.2, 0.7), 2),
    ("inv_boxcox", (0.3, 0.7), 2), ("powm1", (1.2, 0.3), 2)]


@pytest.mark.parametrize("name,args,order", DERIVATIVES)
def test_derivatives(name, args, order, x64):
    flat = lambda *v: list(out) if isinstance(out := getattr(special, name)(*v), tuple) else [out]
    check_function(flat, [np.float64(a) for a in args], order, name)


@pytest.mark.parametrize("name,parameters,x", [
    ("betaincinv", (2.0, 3.0), 0.3), ("betainccinv", (2.0, 3.0), 0.3), ("stdtr", (3.0,), 0.0), ("stdtrit", (3.0,), 0.2),
    ("bdtr", (1.0, 5.0), 0.3), ("fdtri", (2.0, 3.0), 0.3)])
def test_derivatives_to_the_last_argument(name, parameters, x, x64):
    check_function(lambda x: [getattr(special, name)(*parameters, x)], [np.float64(x)], 2, name)


def test_quadrature_and_polynomials(x64):
    for name, parameters in [("legendre", ()), ("chebyt", ()), ("chebyu", ()), ("chebyc", ()), ("chebys", ()), ("hermite", ()),
                             ("hermitenorm", ()), ("laguerre", ()), ("genlaguerre", (0.5,)), ("gegenbauer", (0.7,)),
                             ("jacobi", (0.5, -0.2)), ("sh_legendre", ()), ("sh_chebyt", ()), ("sh_chebyu", ()),
                             ("sh_jacobi", (2.0, 1.5))]:
        got, want = (getattr(module, f"roots_{name}")(4, *parameters, True) for module in (special, oracle))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-15)
        x, n = np.linspace(0.1, 0.9, 5), np.arange(7)[:, None]
        np.testing.assert_allclose(getattr(special, f"eval_{name}")(n, *parameters, x),
                                   getattr(oracle, f"eval_{name}")(n, *parameters, x), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(special.stirling2(np.arange(9)[:, None], np.arange(6)),
                                  oracle.stirling2(np.arange(9)[:, None], np.arange(6)))
    np.testing.assert_allclose(special.diric(np.array([0.0, 1.0, 2 * np.pi, 7.0]), 3), oracle.diric([0, 1, 2 * np.pi, 7], 3))


def test_limits_and_derivatives_at_order_0(x64):
    """Where densities underflow, where arguments are infinite, and E_0, whose derivative has a negative order."""
    np.testing.assert_allclose(special.gammainccinv(0.0018628265712741993, 1.7622824572066064e-12), 17.85127539503838, 1e-9)
    assert special.betaln(INF, 2.0) == -INF and special.voigt_profile(INF, 1.0, 1.0) == 0
    assert np.isnan(special.fdtr(INF, 2.0, 1.0))
    slope = nj.grad(special.expn, 1)
    np.testing.assert_allclose(slope(0.0, 0.7), -1.7228469723375435, rtol=1e-13)
    np.testing.assert_allclose(nj.grad(slope, 1)(1.0, 0.7), 1.7228469723375435, rtol=1e-13)


def test_dtypes_and_errors():
    half = jnp.array([0.25, 0.5], "float16")
    for call in (lambda x: special.gammaincinv(x, x), lambda x: special.betaincinv(x, x, x), lambda x: special.stdtrit(x, x),
                 special.zetac, special.erfi, lambda x: special.ellipj(x, x)[0], special.kolmogorov):
        assert call(half).dtype == "float16" and call(half[:0]).shape == (0,)
    np.testing.assert_allclose(nj.vmap(special.gammaincinv, (None, 0))(2.0, half), oracle.gammaincinv(2, np.float32(half)),
                               rtol=2e-3)
    for call, error, match in [
        (lambda: special.perm(5, 2, exact=True), NotImplementedError, "perm with exact=True"),
        (lambda: special.factorial2(5, exact=True), NotImplementedError, "factorial2 with exact=True"),
        (lambda: special.gammaincinv(1.0, 1j), ValueError, "gammaincinv does not support complex"),
        (lambda: nj.grad(special.betaincinv)(1.0, 2.0, 0.5), NotImplementedError, "betaincinv: expected a derivative"),
        (lambda: special.roots_legendre(0), ValueError, "positive integer"),
        (lambda: special.roots_jacobi(2, 1.0), TypeError, "expected the arguments n, alpha, beta and mu"),
        (lambda: nj.jit(special.roots_genlaguerre, static_argnums=0)(2, 1.0), nj.errors.ConcretizationTypeError, "alpha"),
        (lambda: special.eval_hermite(0.5, 1.0), TypeError, "degree must be integers"),
    ]:
        with pytest.raises(error, match=match):
            call()


# (a, b, x, the share below, the share above): mpmath 1.3 at 40 digits
ONE_SMALL = [(24404.16618742086, 0.0648481596708889, 0.99503, 1.1704890255650929e-56, 1.0),
             (24404.16618742086, 0.0648481596708889, 0.999, 8.120518740074459e-14, 1.0),
             (24404.16618742086, 0.3, 0.99966, 1.7567183420096416e-05, 0.9999824328165799),
             (0.9, 24404.16618742086, 0.004, 1.0, None), (0.0648481596708889, 24404.16618742086, 0.00497, 1.0, None)]


@pytest.mark.parametrize(("a", "b", "x", "below", "above"), ONE_SMALL)
def test_incomplete_beta_of_a_small_and_a_large_parameter(a, b, x, below, above, x64):
    """Where x is next to an end, but before the mean, the fraction of the small share converges as it is."""
    a, b, x = jnp.array([a]), jnp.array([b]), jnp.array([x])   # not known while tracing
    np.testing.assert_allclose(nj.jit(special.betainc)(a, b, x), [below], rtol=2e-12)
    if above is not None:
        np.testing.assert_allclose(nj.jit(special.betaincc)(a, b, x), [above], rtol=1e-13)


# Student's distribution function by mpmath, with 60 digits
T_OF_MANY = [
    (1e5, -0.5, 0.308538088827209), (1e5, -3.0, 0.0013502304420323595), (1e5, -12.0, 1.8722529059781755e-33),
    (1e7, -3.0, 0.0013499013555185806), (1e7, -12.0, 1.7774160254673176e-33), (1e10, -12.0, 1.7764830457548404e-33),
    (1e15, -3.0, 0.0013498980316301278), (1e18, -12.0, 1.7764821120776883e-33), (1e21, -0.5, 0.3085375387259869),
    (1e21, -12.0, 1.776482112077679e-33)]


@pytest.mark.parametrize(("df", "t", "want"), T_OF_MANY)
def test_student_s_t_of_many_degrees_of_freedom(df, t, want, x64):
    np.testing.assert_allclose(special.stdtr(df, t), want, rtol=3e-14)
    np.testing.assert_allclose(special.stdtrit(df, want), t, rtol=1e-13)
    slope = nj.grad(special.stdtr, 1)(df, t)
    np.testing.assert_allclose(slope, scipy.stats.t.pdf(t, df), rtol=1e-9)


# (df, t, first derivative of the distribution function by df, second one of its logarithm): mpmath, with 60 digits
T_BY_DF = [
    (2.0, -3.0, -0.028759845161577355, 0.24226773678272956), (3.0, 1.0, 0.01111045670486464, -0.008443899156277426),
    (5.0, -20.0, -5.176162584740243e-06, 0.11371613876413866), (0.3, -0.5, -0.14244576799469993, 1.0080545599794626),
    (50.0, 2.0, 5.491062396998835e-05, -2.273814916564377e-06), (1e3, -30.0, -6.482078318582915e-143, 0.00011254936587571244),
    (1e4, 0.2, 2.0333696810566038e-10, -7.020527014483888e-14), (0.01, 5.0, 1.9564929928812778, -75.77796666634403),
    (1.0, -2e3, -0.0011789808003530003, 0.6775327536129901), (1e5, -1.5, -1.5784894172601782e-11, 4.72532992049851e-15),
    (1e3, -4.0, -2.3928595747795975e-09, 1.3929429501799338e-07)]


def log_stdtr(df, t):
    return stats.t.logcdf(t, df)


def test_derivatives_of_student_s_t_by_degrees_of_freedom(x64):
    df, t, first, second = np.array(T_BY_DF).T
    share = special.stdtr(df, t)
    for mode in (nj.grad, nj.jacfwd):   # one program, as they share most of their terms
        derivatives = [mode(special.stdtr), mode(log_stdtr), mode(mode(log_stdtr)),
                       mode(mode(special.stdtr), 1), mode(mode(special.stdtr, 1))]
        found = nj.jit(nj.vmap(lambda df, t, derivatives=derivatives: [f(df, t) for f in derivatives]))(df, t)
        np.testing.assert_allclose(found[0], first, rtol=6e-14)
        np.testing.assert_allclose(found[1], first / share, rtol=1e-12)
        np.testing.assert_allclose(found[2], second, rtol=1e-11)
        np.testing.assert_allclose(found[3], found[4], rtol=1e-9)
    quantile = nj.vmap(nj.grad(special.stdtrit))(df, share)
    np.testing.assert_allclose(quantile, -first / scipy.stats.t.pdf(t, df), rtol=1e-8)
    single = nj.vmap(nj.grad(special.stdtr))(df.astype(np.float32), t.astype(np.float32))
    np.testing.assert_allclose(single, first, rtol=1e-6, atol=1e-38)


def test_derivatives_of_student_s_t_by_degrees_of_freedom_at_ends(x64):
    """0 for infinite degrees and arguments, where the function is constant in df; NaN outside of the domain."""
    rows = [(3.0, 0.0, 0.0), (3.0, np.inf, 0.0), (3.0, -np.inf, 0.0), (np.inf, 1.0, 0.0), (1e100, 1.0, 0.0),
            (3.0, np.nan, np.nan), (np.nan, 1.0, np.nan), (-1.0, 1.0, np.nan), (0.0, 1.0, np.nan), (2.0, -1e300, 0.0)]
    for df, t, want in rows:
        for mode in (nj.grad, nj.jacfwd):
            np.testing.assert_array_equal(mode(special.stdtr)(df, t), want)
    assert nj.grad(log_stdtr)(3.0, -np.inf) == -np.inf and nj.grad(log_stdtr)(np.inf, -2.0) == 0
    np.testing.assert_allclose(nj.grad(log_stdtr)(2.0, -1e300), 0.5 - np.log(1e300) + 0.5 * np.log(2), rtol=1e-2)
    for p in (0.0, 0.5, 1.0):
        assert nj.grad(special.stdtrit)(3.0, p) == 0
    assert nj.grad(special.stdtrit)(np.inf, 0.25) == 0 and nj.grad(special.stdtrit)(1e-30, 0.25) == np.inf


@pytest.mark.parametrize(("a", "b"), [(150.0, 0.5), (1500.0, 0.5), (150.0, 2.0), (300.0, 300.0)])
@pytest.mark.parametrize("p", [1e-15, 1e-30, 1e-60])
def test_quantiles_of_the_beta_distribution_far_out_in_its_tail(a, b, p, x64):
    np.testing.assert_allclose(special.betainc(a, b, special.betaincinv(a, b, p)), p, rtol=1e-12)
    rest = special.betainccinv(b, a, p)
    np.testing.assert_allclose(special.betaincc(b, a, rest), p, rtol=1e-12)


@pytest.mark.parametrize("df", [300.0, 3e3, 9e4, 1.1e5])
@pytest.mark.parametrize("p", [1e-15, 1e-30, 1e-100])
def test_quantiles_of_student_s_t_far_out_in_its_tail(df, p, x64):
    t = special.stdtrit(df, p)
    np.testing.assert_allclose(special.stdtr(df, t), p, rtol=1e-9)
    np.testing.assert_allclose(special.stdtrit(df, 1 - 2.0**-40), -special.stdtrit(df, 2.0**-40), rtol=1e-12)


# (a, b, x, the share below, the share above) next to the mean: the continued fraction DLMF 8.17.22 by mpmath, with 50 digits
LARGE_PARAMETERS = [
    (1e6, 1e6, 0.5, 0.5, 0.5), (2e5, 3e5, 0.399307179677, 0.15865524043669613, 0.8413447595633039),
    (1.3e5, 1e13, 1.3018027587e-08, 0.6917065602836203, 0.3082934397163796),
    (30.0, 1e13, 3.27386127874e-12, 0.7074687405774639, 0.29253125942253616),
    (1e4, 1e10, 1.0049989925e-06, 0.69234243934422, 0.30765756065578),
    (1e8, 3e10, 0.00332215963414, 0.38210009194023103, 0.617899908059769),
    (1e10, 2e8, 0.980396275334, 0.9986509141049258, 0.0013490858950742212)]


@pytest.mark.parametrize(("a", "b", "x", "below", "above"), LARGE_PARAMETERS)
def test_incomplete_beta_of_large_parameters(a, b, x, below, above, x64):
    """Next to the mean the fraction takes as many levels as the root of the parameters, and cancels where one is larger."""
    at = [jnp.array([v]) for v in (a, b, x)]
    np.testing.assert_allclose(nj.jit(special.betainc)(*at), [below], rtol=3e-12)
    np.testing.assert_allclose(nj.jit(special.betaincc)(*at), [above], rtol=1e-11)
    np.testing.assert_allclose(np.exp(nj.jit(lax_special.log_betainc)(*at)), [below], rtol=3e-12)


def test_incomplete_beta_of_large_parameters_in_float32():
    for a, b, x, want in ((4e4, 2e4, 0.6665999889373779, 0.485797580151643),
                          (1e6, 1e7, 0.0908999964594841, 0.4583311981366659)):
        found = nj.jit(special.betainc)(jnp.float32([a]), jnp.float32([b]), jnp.float32([x]))
        np.testing.assert_allclose(found, [want], rtol=2e-7)


# (dfn, dfd, x, below, above), the same way
F_OF_MANY = [(2.1e7, 4e9, 0.998143506, 9.64752410340939e-10, 0.9999999990352476),
             (2e8, 2e8, 0.997171573, 1.5596143942195355e-89, 1.0),
             (1e10, 3e8, 1.00016573, 0.9772362453773591, 0.02276375462264088),
             (2e8, 1e12, 0.999974998, 0.4013076863627275, 0.5986923136372725)]


@pytest.mark.parametrize(("dfn", "dfd", "x", "below", "above"), F_OF_MANY)
def test_f_distribution_of_many_degrees_of_freedom(dfn, dfd, x, below, above, x64):
    for f, want in ((special.fdtr, below), (nj.jit(special.fdtr), below), (special.fdtrc, above)):
        np.testing.assert_allclose(f(dfn, dfd, x), want, rtol=2e-13)
    slope, step = nj.grad(special.fdtr, 2)(dfn, dfd, x), 1e-4 * np.sqrt(2 / dfn + 2 / dfd)
    change = special.fdtr(dfn, dfd, x + step) - special.fdtr(dfn, dfd, x - step)
    np.testing.assert_allclose(slope, change / ((x + step) - (x - step)), rtol=3e-6)
    np.testing.assert_allclose(nj.grad(special.fdtrc, 2)(dfn, dfd, x), -slope, rtol=1e-9)


def test_ends_of_the_f_distribution_of_many_degrees_of_freedom():
    x = np.float32([0, 1e-30, 0.5, 4, 1e30, np.inf, -1, np.nan])
    want = np.float32([0, 0, 0, 1, 1, 1, np.nan, np.nan])
    for count in (1e8, 1e30):
        np.testing.assert_array_equal(special.fdtr(np.float32(count), np.float32(2e8), x), want)
        np.testing.assert_array_equal(special.fdtrc(np.float32(count), np.float32(2e8), x), 1 - want)


def test_small_complements_of_the_incomplete_beta_function_in_float32():
    a, b, x = (np.array(v, np.float32) for v in ([1e-5, 1e-5, 2.0], [100.0, 30.0, 3.0], [1e-5, 1e-5, 0.9]))
    want = oracle.betaincc(*(v.astype(np.float64) for v in (a, b, x)))   # by 1 - x in float32 2e-4 off
    for function in (special.betaincc, nj.jit(special.betaincc)):
        np.testing.assert_allclose(function(a, b, x), want, rtol=3e-7)
    slope = nj.grad(special.betaincc, 2)
    np.testing.assert_allclose(slope(2.0, 3.0, 0.9), -nj.grad(special.betainc, 2)(2.0, 3.0, 0.9), rtol=1e-6)


def test_phase_of_jacobi_functions_has_more_digits_than_a_float32():
    u, m = (np.array(v, np.float32) for v in ([1e6, 1000.0, -50.0, 100.0, 1e6], [0.5, 0.1, 0.5, 0.999, 0.0]))
    want = oracle.ellipj(u.astype(np.float64), m.astype(np.float64))
    for got, expected in zip(nj.jit(special.ellipj)(u, m), want, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
