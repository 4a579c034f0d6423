"""Errors of functions defined by integrals, in units in the last place, against mpmath with 40 digits."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import scipy.special

import numjet as nj
import numjet.numpy as jnp
from numjet import nn
from numjet.foundation.config import enable_x64
from numjet.scipy import special


@functools.cache
def besselk(order: int, x: mpmath.mpf) -> mpmath.mpf:
    """One series for K and its scaled version, which are asked for at the same points."""
    return mpmath.besselk(order, x)


# name: (exact, ends of the intervals that are sampled, most ulps in float32 and float64)
FUNCTIONS: dict[str, tuple[Callable, tuple[float, ...], float, float]] = {
    "exp1": (mpmath.e1, (0.01, 0.9, 1.3, 1.6, 40.0), 4, 3),
    "expi": (mpmath.ei, (0.01, 0.35, 0.39, 5.0, 8.5, 22.0, 80.0), 4, 3),
    "erfi": (mpmath.erfi, (-9.49, -5.0, -0.5, 0.5, 5.0, 9.49), 6, 10),
    "ndtr": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, (-12.5, -5.0, -1.0, -0.55, 0.55, 8.0), 2, 7),
    "log_ndtr": (lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), (-120.0, -30.0, -19.0, -5.0, 0.0, 9.0), 0.51, 7),
    "i0": (lambda x: mpmath.besseli(0, x), (-8.0, 0.0, 8.0, 40.0), 6, 6),
    "i1": (lambda x: mpmath.besseli(1, x), (-8.0, 0.0, 8.0, 40.0), 6, 12),   # SciPy, outside of jit, is 10.4 off
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (-8.0, 0.0, 8.0, 80.0), 5, 5),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (-8.0, 0.0, 8.0, 80.0), 5, 10),
}
LARGER: dict[str, tuple[Callable, tuple[tuple[float, ...], ...], float]] = {  # in float64; the last: ends for each argument
    "gamma": (mpmath.gamma, ((-30.0, -5.0, 0.01, 3.0, 10.0, 170.0),), 7),
    "rgamma": (mpmath.rgamma, ((-30.0, -5.0, 0.01, 3.0, 10.0, 170.0),), 7),
    "cotdg": (lambda x: mpmath.cot(mpmath.radians(x)), ((-719.9, -180.5, 0.5, 359.0),), 3),
    "beta": (mpmath.beta, ((10.0, 12.0), (0.5, 3.0)), 60),
    "k0": (lambda x: besselk(0, x), ((0.01, 1.0, 1.5, 3.0, 80.0),), 4),
    "k1": (lambda x: besselk(1, x), ((0.01, 1.0, 1.5, 3.0, 80.0),), 4),
    "k0e": (lambda x: besselk(0, x) * mpmath.exp(x), ((0.01, 1.0, 1.5, 3.0, 80.0),), 4),
    "k1e": (lambda x: besselk(1, x) * mpmath.exp(x), ((0.01, 1.0, 1.5, 3.0, 80.0),), 4),
    "poch": (mpmath.rf, ((0.1, 30.0), (-5.0, 10.0)), 40),
    "comb": (mpmath.binomial, ((30.0, 60.0), (0.0, 30.0)), 120),
}
WIDE = {  # functions that are computed in 64 bits and rounded: ends for each argument
    "gamma": ((-20.0, 34.0),), "rgamma": ((-20.0, 34.0),), "factorial": ((0.0, 33.0),), "beta": ((0.1, 60.0),) * 2,
    "betaln": ((0.1, 400.0),) * 2, "binom": ((0.0, 60.0),) * 2, "poch": ((0.1, 20.0), (-4.0, 10.0)), "comb": ((30.0, 60.0),
    (0.0, 30.0)), "j0": ((0.0, 80.0),), "y1": ((0.1, 80.0),), "k0": ((0.01, 30.0),), "k1e": ((0.01, 30.0),),
    "jv": ((0.0, 30.0), (0.1, 60.0)), "iv": ((0.0, 30.0), (0.1, 40.0)),
    "struve": ((0.0, 10.0), (0.1, 30.0)), "modstruve": ((0.0, 10.0), (0.1, 20.0)), "hyp0f1": ((0.5, 9.0), (-20.0, 40.0)),
    "cotdg": ((-700.0, 700.0),), "zetac": ((-9.0, 20.0),), "ndtri_exp": ((-50.0, 0.0),), "kolmogorov": ((0.3, 4.0),),
    "stdtr": ((0.5, 50.0), (-5.0, 5.0)), "gammaincinv": ((0.2, 50.0), (0.01, 0.99)), "betaincinv": ((0.5, 9.0), (0.5, 9.0),
    (0.01, 0.99)), "hyp1f1": ((0.1, 9.0), (0.5, 9.0), (-9.0, 20.0)),
}
WHOLE = frozenset("""
    j0 y1 jv iv struve modstruve hyp0f1 hyp1f1 stdtr gammaincinv betaincinv ndtri_exp
""".split())       # compiled outside of jit, too
COMPILED = {"i1": 6, "i1e": 5}   # float64, where compiled code is better


def _exactly(exact: Callable, x: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        return exact(mpmath.mpf(x))


def _error(got: float, want: mpmath.mpf, dtype: np.dtype) -> float:
    with mpmath.workdps(40):
        return float(abs(mpmath.mpf(got) - want) / mpmath.mpf(float(np.spacing(dtype.type(abs(float(want)))))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_in_ulps(name, dtype):
    exact, ends, single, double = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(a, b, 40) for a, b in itertools.pairwise(ends)]).astype(dtype)
    function, bound = getattr(special, name), single if dtype == np.float32 else double
    with enable_x64(True):
        eager, compiled = np.asarray(function(points)), np.asarray(nj.jit(function)(points))
    assert eager.dtype == compiled.dtype == dtype
    wanted = [_exactly(exact, float(x)) for x in points]
    for values, most in ((eager, bound), (compiled, COMPILED.get(name, bound) if dtype == np.float64 else bound)):
        errors = [_error(float(v), want, np.dtype(dtype)) for v, want in zip(values, wanted, strict=True)]
        assert max(errors) <= most, (points[int(np.argmax(errors))], max(errors))


@pytest.mark.parametrize("name", LARGER)
def test_errors_of_double(name):
    exact, ends, most = LARGER[name]
    rng = np.random.default_rng(0)
    count = 12 if name.startswith("k") else 40
    points = [np.concatenate([rng.uniform(a, b, count) for a, b in itertools.pairwise(e)]) for e in ends]
    function = getattr(special, name)
    with enable_x64(True):
        eager, compiled = np.asarray(function(*points)), np.asarray(nj.jit(function)(*points))
    for *at, first, second in zip(*points, eager, compiled, strict=True):
        with mpmath.workdps(40):
            want = exact(*map(mpmath.mpf, at))
            place = mpmath.mpf(float(np.spacing(abs(float(want)))))
            error = max(abs(mpmath.mpf(float(got)) - want) for got in (first, second)) / place
        assert error <= most, (at, float(error))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "shift", "bound"), [("rel_entr", 0, 3), ("kl_div", 1, 6)])
def test_relative_entropies_in_ulps(name, shift, bound, dtype):
    """Next to p = q, over the whole range, and where the quotient overflows in the dtype."""
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    p = np.concatenate([rng.uniform(0.1, 3, 120), 2 ** rng.uniform(info.minexp - info.nmant, info.maxexp - 9, 160)])
    near = p[:120] * np.exp(np.concatenate([rng.uniform(-1.5, 1.5, 80), rng.uniform(-1e-3, 1e-3, 40)]))
    p, q = p.astype(dtype), np.concatenate([near, rng.permutation(p[120:])]).astype(dtype)
    function = getattr(special, name)
    with enable_x64(True):
        found = [np.asarray(f(p, q)) for f in (function, nj.jit(function))]
    for k, (x, y) in enumerate(zip(p, q, strict=True)):
        with mpmath.workdps(40):
            x, y = mpmath.mpf(float(x)), mpmath.mpf(float(y))
            want = x * mpmath.log(x / y) + shift * (y - x)
        for values in found:
            assert _error(float(values[k]), want, np.dtype(dtype)) <= bound, (x, y, values[k])


@pytest.mark.parametrize("name", WIDE)
def test_single_precision_is_rounded_once(name):
    rng = np.random.default_rng(0)
    points = [rng.uniform(a, b, 200).astype(np.float32) for a, b in WIDE[name]]
    want = getattr(scipy.special, name)(*(x.astype(np.float64) for x in points))
    own = getattr(special, name)
    for function in (own,) if name in WHOLE else (own, nj.jit(own)):
        got = np.asarray(function(*points))
        errors = np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(want).astype(np.float32))
        assert got.dtype == np.float32 and errors.max() <= 0.51, (int(errors.argmax()), errors.max())


def test_logit_next_to_a_half():
    x = np.linspace(0.3, 0.7, 401, dtype=np.float32)
    want = scipy.special.logit(x.astype(np.float64))
    assert np.max(np.abs(np.asarray(special.logit(x)) - want) / np.spacing(np.abs(want).astype(np.float32))) <= 4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_logit_of_denormals_and_halves(dtype, x64):
    info = jnp.finfo(dtype)
    x = jnp.array([1, 3, 0.3, 0.47, 0.71], dtype).at[:2].multiply(info.smallest_subnormal)
    given = np.asarray(x).astype(np.float64)
    want = scipy.special.logit(given)
    error = np.abs(np.asarray(special.logit(x)).astype(np.float64) - want)
    assert np.all(error <= 2 * float(info.eps) * np.abs(want))
    ends = special.logit(jnp.array([-0.0, 0.0, 1.0, -0.1, 1.1, np.nan], dtype))
    assert np.array_equal(ends, [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan], equal_nan=True)



def test_derivatives_of_functions_in_64_bits():
    """Of any order, to one argument where that to another is infinite, and without 64 bits enabled."""
    assert float(nj.grad(special.rel_entr, 1)(np.float32(0.0), np.float32(2.0))) == 0.0
    assert np.isclose(float(nj.grad(nj.grad(special.gamma))(np.float32(2.5))), 1.3091172)
    assert np.isclose(float(nj.grad(nj.grad(special.kl_div, 1), 0)(2.5, 1.5)), -1 / 1.5)
    assert np.allclose(nj.jacfwd(special.ber)(np.float32(2.0)), scipy.special.berp(2.0))


def test_exact_gelu_in_the_tail():
    """Where erfc of a rounded argument loses 60 units of float32."""
    x = np.linspace(-12.5, 3, 300, dtype=np.float32)
    got = np.asarray(nj.jit(lambda x: nn.gelu(x, approximate=False))(x))
    wanted = [_exactly(lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2, float(v)) for v in x]
    assert max(_error(float(g), w, np.dtype(np.float32)) for g, w in zip(got, wanted, strict=True) if w) < 4


def test_slope_of_log_ndtr_is_finite():
    x = np.array([-np.inf, -1e30, -50.0, 0.0, 40.0, np.inf], np.float32)
    slope, bend = nj.grad(special.log_ndtr), nj.grad(nj.grad(special.log_ndtr))
    np.testing.assert_allclose(nj.vmap(slope)(x), [np.inf, 1e30, 50.01998, 0.7978846, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(nj.vmap(bend)(x), [-1, -1, -0.9996009, -0.6366198, 0, 0], rtol=1e-6)


# by mpmath, with 60 digits
@pytest.mark.parametrize("evaluate", [nj.jit, lambda f: f], ids=["compiled", "eager"])
def test_incomplete_gamma_below_a_large_parameter(evaluate, x64):
    found = evaluate(special.gammainc)(np.array([1e6, 1e8, 1e8]), np.array([992000.0, 99920000.0, 99970000.0]))
    np.testing.assert_allclose(found, [5.24012281543083e-16, 6.11569983219279e-16, 0.0013487164491615506], rtol=1e-13)
