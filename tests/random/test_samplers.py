"""Every sampler over dtypes, shapes and parameters, compiled, over batches of keys, and its derivatives."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from scipy import stats

import numjet as nj
from numjet import random
from tests.operands import quietly
from tests.random.distributions import CONTINUOUS
from tests.random.sampler_table import FLOATS, SAMPLERS

EVERY_ONE = pytest.mark.parametrize("name", SAMPLERS)
WITH_PARAMETERS = pytest.mark.parametrize("name", [name for name, s in SAMPLERS.items() if s.parameters])
OTHER_DTYPES = ("float16", "bfloat16", "float64")
IN_OTHER_DTYPES = [name for name in CONTINUOUS if name in SAMPLERS and not SAMPLERS[name].vectors]
# Six numbers wherever it does not matter: each sampler compiles once for these.
SHAPES = ((), (6,), (2, 0, 3), (1, 2, 1, 3))


def wide(dtype: object) -> bool:
    return np.dtype(dtype).itemsize >= 8 and np.dtype(dtype) != np.complex64


def plain(x: object) -> np.ndarray:
    """An array that NumPy compares."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x


def size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


@EVERY_ONE
def test_shapes(name):
    """The numbers depend on their count only, not on the shape."""
    sampler = SAMPLERS[name]
    flat = plain(sampler.draw(random.key(3), sampler.parameters, (6,), None))
    for shape in SHAPES:
        found = plain(sampler.draw(random.key(3), sampler.parameters, shape, None))
        assert found.shape[:len(shape)] == shape and (sampler.vectors or found.shape == shape)
        if size(shape) == 6:
            np.testing.assert_array_equal(found.reshape(flat.shape), flat)


@EVERY_ONE
def test_dtypes(name):
    """Finite numbers in every dtype but those of the next test; vectors and counts, too."""
    sampler = SAMPLERS[name]
    for label, dtype in sampler.floats.items():
        if name in IN_OTHER_DTYPES and label in OTHER_DTYPES:
            continue
        with nj.enable_x64(wide(dtype)):
            found = sampler.draw(random.key(3), sampler.parameters, (6,), dtype)
            assert found.dtype == dtype and found.shape[:1] == (6,)
            assert np.isfinite(np.asarray(found).astype(complex)).all()


@pytest.mark.parametrize("name", ["geometric", "poisson", "rademacher"])
def test_counts_are_the_same_in_every_dtype(name):
    sampler = SAMPLERS[name]
    draw = lambda dtype: plain(sampler.draw(random.key(3), sampler.parameters, (6,), dtype))
    for dtype in sampler.floats.values():
        if not wide(dtype):
            np.testing.assert_array_equal(draw(dtype), draw(np.int32).astype(draw(dtype).dtype))


@pytest.mark.parametrize("dtype", OTHER_DTYPES)
@pytest.mark.parametrize("name", IN_OTHER_DTYPES)
def test_distributions_in_other_dtypes(name, dtype):
    sampler, cdf = SAMPLERS[name], CONTINUOUS[name][1]
    with nj.enable_x64(True):
        found = np.asarray(sampler.draw(random.key(12), sampler.parameters, (1000,), FLOATS[dtype]))
    assert found.dtype == FLOATS[dtype]
    found = found.astype(np.float64)
    assert not np.isnan(found).any()
    assert stats.kstest(np.exp(found) if name == "loggamma" else found, cdf).pvalue > 1e-3


@EVERY_ONE
def test_compiled_and_over_a_batch_of_keys(name):
    """The same bits, for keys and for raw keys."""
    sampler = SAMPLERS[name]
    keys = random.split(random.key(1), 3)
    draw = lambda key: sampler.draw(key, sampler.parameters, (6,), None)
    rows = plain(np.stack([draw(key) for key in keys]))
    np.testing.assert_array_equal(plain(nj.jit(draw)(random.key_data(keys[0]))), rows[0])
    np.testing.assert_array_equal(plain(nj.jit(nj.vmap(draw))(keys)), rows)


@WITH_PARAMETERS
def test_parameters_broadcast(name):
    """Parameters of some axes are those of all draws along the others; under vmap each row has its own."""
    sampler = SAMPLERS[name]
    numbers = [np.float32(p) if name != "randint" else np.int32(p) for p in sampler.parameters]
    columns = [(p * np.linspace(0.9, 1.1, 3)[:, None]).astype(p.dtype) for p in numbers]
    if name != "double_sided_maxwell":  # its parameters have axes beside those of the shape
        whole = [np.broadcast_to(p, (3, 2)) for p in columns]
        wanted = plain(sampler.draw(random.key(2), tuple(whole), (3, 2), None))
        traced = nj.jit(lambda *p: sampler.draw(random.key(2), p, (3, 2), None))(*columns)
        np.testing.assert_array_equal(plain(traced), wanted)
        with pytest.raises(ValueError):
            sampler.draw(random.key(2), tuple(whole), (5, 2), None)
    over = plain(nj.jit(nj.vmap(lambda *p: sampler.draw(random.key(2), tuple(v[0] for v in p), (), None)))(*columns))
    rows = [sampler.draw(random.key(2), tuple(v.item() for v in row), (), None) for row in zip(*columns, strict=True)]
    # Functions of vectors round otherwise than those of single numbers: to an ulp in each step.
    np.testing.assert_allclose(over, plain(np.stack(rows)), rtol=5e-7 if over.dtype.kind == "f" else 0)


@WITH_PARAMETERS
def test_special_parameters(name):
    """At the ends of the domain and beyond, as JAX decides."""
    sampler = SAMPLERS[name]
    for parameters, wanted in sampler.special.items():
        with quietly():
            found = np.asarray(sampler.draw(random.key(5), parameters, (6,), None)).astype(np.float64)
        if wanted is None:
            assert not np.isnan(found).any() and len({*found.tolist()}) > 1, parameters
        else:
            np.testing.assert_array_equal(found, np.full(6, wanted), err_msg=str(parameters))


# -------------------------------------------------------------------------------------------- derivatives

INVERTED = ("double_sided_maxwell", "lognormal", "pareto", "rayleigh", "triangular", "truncated_normal", "uniform", "wald",
            "weibull_min")
# Their derivatives are those of quantiles: means of smooth functions have the derivatives of their expectations.
OF_GAMMAS = {"beta": stats.beta, "chisquare": stats.chi2, "f": stats.f, "gamma": stats.gamma,
             "generalized_normal": stats.gennorm, "t": stats.t}


@pytest.mark.parametrize("name", INVERTED)
def test_derivatives_of_numbers_by_inversion(name):
    """Central differences at a fixed key, forward and backward."""
    sampler = SAMPLERS[name]
    with nj.enable_x64(True):
        draw = lambda p: sampler.draw(random.key(6), p, (20,), np.float64)
        for k in range(len(sampler.parameters)):
            one = lambda v, k=k: draw((*sampler.parameters[:k], v, *sampler.parameters[k + 1:]))
            at, step = sampler.parameters[k], 1e-6
            slope = (np.asarray(one(at + step)) - np.asarray(one(at - step))) / (2 * step)
            ahead = nj.jacfwd(one)(at)
            np.testing.assert_allclose(ahead, slope, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(nj.jacrev(one)(at), ahead, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OF_GAMMAS)
def test_derivatives_of_numbers_made_of_gamma_numbers(name):
    sampler, distribution, step = SAMPLERS[name], OF_GAMMAS[name], 1e-2
    levels = (np.arange(4000) + 0.5) / 4000
    expectation = lambda p: np.arctan(distribution(*p).ppf(levels) ** 2).mean()
    mean = lambda *p: nj.numpy.arctan(sampler.draw(random.key(6), p, (20_000,), None) ** 2).mean()
    slopes = nj.jacfwd(mean, tuple(range(len(sampler.parameters))))(*sampler.parameters)
    for k, slope in enumerate(slopes):
        moved = [[v + (sign * step if j == k else 0) for j, v in enumerate(sampler.parameters)] for sign in (1, -1)]
        assert abs(slope - (expectation(moved[0]) - expectation(moved[1])) / (2 * step)) < 0.01
