"""numjet.scipy.special against SciPy, in 64 bits."""
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special

ALL = np.array([-25.3, -3.3, -0.5, -1e-4, 1e-4, 0.2, 1.0, 1.7, 2.0, 3.0, 8.0, 20.0, 50.0])
POSITIVE = np.array([1e-8, 1e-3, 0.2, 0.49, 0.51, 1.0, 1.4, 1.6, 2.5, 8.0, 31.9, 32.1, 60.0])
UNIT = np.array([1e-200, 1e-12, 1e-3, 0.0999, 0.1001, 0.3, 0.5, 0.7, 0.95, 1 - 1e-9])
UNARY = {
    "gammaln": ALL, "gammasgn": ALL, "gamma": ALL, "digamma": POSITIVE, "erf": ALL, "erfc": ALL, "erfinv": UNIT, "expit": ALL,
    "logit": UNIT, "entr": ALL, "ndtr": ALL, "ndtri": UNIT, "log_ndtr": ALL, "i0": ALL, "i0e": ALL, "i1": ALL, "i1e": ALL,
    "factorial": POSITIVE, "spence": POSITIVE, "exp1": POSITIVE, "expi": np.concatenate([-POSITIVE, POSITIVE]),
}
BINARY = {
    "xlogy": (POSITIVE[:, None], POSITIVE), "xlog1py": (POSITIVE[:, None], POSITIVE), "rel_entr": (POSITIVE[:, None], POSITIVE),
    "kl_div": (POSITIVE[:, None], POSITIVE), "betaln": (POSITIVE[:, None], POSITIVE * 50), "beta": (POSITIVE[2:,
                                                                                                             None],
                                                                                                             POSITIVE[2:10]),
    "gammainc": (POSITIVE[2:, None], POSITIVE), "gammaincc": (POSITIVE[2:, None], POSITIVE), "poch": (POSITIVE[1:9,
                                                                                                               None],
                                                                                                               POSITIVE[1:9]),
    "boxcox": (POSITIVE[:, None], POSITIVE[:9]), "boxcox1p": (POSITIVE[:, None], POSITIVE[:9]),
    "expn": (np.arange(6.0)[:, None], POSITIVE),
    "polygamma": (np.arange(4.0)[:, None], POSITIVE[2:]), "zeta": (POSITIVE[8:, None], POSITIVE[2:]),
    "comb": (np.array([5.0, 30.0, 1000.0])[:, None], np.arange(6.0)),
}


@pytest.fixture(autouse=True)
def wide():
    with nj.enable_x64(True):
        yield


def _close(got, want, rtol=3e-11):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-300)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x, fn = UNARY[name], getattr(special, name)
    _close(fn(x), getattr(oracle, name)(x), 3e-8 if name == "log_ndtr" else 3e-11)
    np.testing.assert_allclose(nj.jit(fn)(x), getattr(oracle, name)(x), rtol=2e-7 if name in ("log_ndtr", "i0", "i1") else 1e-9)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    x, y = BINARY[name]
    want = getattr(oracle, name)(x.astype(int) if name in ("polygamma", "expn") else x, y)
    _close(getattr(special, name)(x, y), want, 2e-10)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("gammasgn", "factorial")])
def test_slopes(name):
    fn, x = getattr(special, name), UNARY[name]
    x = x[(abs(x) > 1e-3) & (abs(x) < 10) & (x < 0.999 if x is UNIT else True)]
    x = x[x > 0] if name == "entr" else x
    step = 1e-6 * np.abs(x)
    want = (np.asarray(fn(x + step)) - np.asarray(fn(x - step))) / (2 * step)
    np.testing.assert_allclose(nj.vmap(nj.grad(fn))(jnp.array(x)), want, rtol=2e-4, atol=1e-7)


def test_special_values():
    inf, nan = np.inf, np.nan
    for name, points in (("xlogy", [(0, 0, 0), (0, inf, 0)]), ("rel_entr", [(0, 0, 0), (0, 1, 0), (1, 0, inf), (-1, 1, inf)])):
        for x, y, want in points:
            assert float(getattr(special, name)(float(x), float(y))) == want
    for name, x, want in (("entr", -1, -inf), ("entr", 0, 0), ("ndtri", 0, -inf), ("ndtri", 1, inf), ("exp1", 0,
                                                                                                      inf), ("expi", 0, -inf),
                          ("spence", 0, np.pi ** 2 / 6), ("factorial", -1, 0), ("logit", 0, -inf)):
        np.testing.assert_allclose(getattr(special, name)(float(x)), want)
    for name, x in (("ndtri", 1.5), ("exp1", -1), ("spence", -1), ("expi", nan), ("gamma", -2)):
        assert np.isnan(getattr(special, name)(float(x)))
    assert nj.grad(special.xlogy, (0, 1))(0.0, 2.0)[1] == 0
    assert nj.grad(special.entr)(0.0) == inf


def test_static_orders():
    _close(special.multigammaln(jnp.array([3.0, 4.5]), 3), oracle.multigammaln(np.array([3.0, 4.5]), 3))
    _close(special.bernoulli(10), oracle.bernoulli(10), 1e-9)
    _close(special.betainc(2.0, 3.0, np.linspace(0, 1, 5)), oracle.betainc(2.0, 3.0, np.linspace(0, 1, 5)))
    _close(special.zeta(3.0), oracle.zeta(3.0))


def test_softmax_over_all_axes():
    x = np.arange(6.0).reshape(2, 3)
    _close(special.softmax(x), oracle.softmax(x))
    _close(special.log_softmax(x, axis=1), oracle.log_softmax(x, axis=1))
    _close(special.logsumexp(x), oracle.logsumexp(x))


@pytest.mark.parametrize("call, error, text", [
    (lambda: special.gammaln(1j), TypeError, "complex"), (lambda: special.factorial(3, exact=True),
                                                           NotImplementedError, "exact"),
    (lambda: special.bernoulli(-1), ValueError, "non-negative"), (lambda: special.log_ndtr(1.0, 99), ValueError,
                                                                  "series_order"),
    (lambda: special.erf([1.0]), TypeError, "list")])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_quantiles_of_the_normal_distribution_are_right_to_a_few_ulps():
    p = np.concatenate([np.linspace(0.0005, 0.9995, 1999), np.exp(-np.linspace(8, 700, 500)), [0.075, 0.925, np.exp(-25.0)]])
    with nj.enable_x64(True):
        for dtype in (np.float64, np.float32):
            x = p.astype(dtype)[p.astype(dtype) > 0]
            want = oracle.ndtri(x.astype(np.float64))
            gap = np.abs(np.asarray(nj.jit(special.ndtri)(x)) - want)
            assert (gap <= 8 * np.finfo(dtype).eps * np.abs(want)).all()


def test_boxcox_of_complex_numbers():
    x = np.array([1j, 2 + 1j], np.complex64)
    np.testing.assert_allclose(special.boxcox(x, 0.5), (x ** 0.5 - 1) / 0.5, rtol=1e-6)
    np.testing.assert_allclose(special.boxcox1p(x - 1, 0.0), np.log(x), rtol=1e-6)
