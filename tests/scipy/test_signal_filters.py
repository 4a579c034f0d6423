"""Filters of numjet.scipy.signal against SciPy's."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import signal
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 30, 3))
FILTERS = [tuple(np.asarray(v) for v in f) for f in (
    oracle.butter(3, 0.3), ([1.0, 2.0, 0.5], [2.0]), ([0.5], [1.0, -0.9]), ([2.0], [4.0]), ([1.0, 0.3], [2.0, -0.4, 0.3, 0.1]))]
SECTIONS = [oracle.butter(4, [0.2, 0.5], "band", output="sos"), oracle.butter(3, 0.3, output="sos"),
            np.array([[1.0, 2, 0, 1, 0.5, 0]])]


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


@pytest.mark.parametrize("b,a", FILTERS)
def test_lfilter(b, a):
    order = max(len(a), len(b)) - 1
    np.testing.assert_allclose(signal.lfilter(b, a, X[0, :, 0]), oracle.lfilter(b, a, X[0, :, 0]), atol=1e-12)
    zi = RNG.standard_normal((2, order, 3))
    run = nj.jit(lambda b, a, x, zi: signal.lfilter(b, a, x, axis=1, zi=zi))
    for got, want in zip(run(b, a, X, zi), oracle.lfilter(b, a, X, axis=1, zi=zi), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    z = X[..., 0] * (1 + 1j)
    np.testing.assert_allclose(signal.lfilter(b, a, z), oracle.lfilter(b, a, z), atol=1e-12)
    if not order:  # which SciPy has no state for
        np.testing.assert_allclose(signal.filtfilt(b, a, X, axis=1), 0.25 * X)
        return
    np.testing.assert_allclose(signal.lfilter_zi(b, a), oracle.lfilter_zi(b, a), atol=1e-12)
    for options in ({}, {"padtype": "even"}, {"padtype": "constant", "padlen": 4}, {"padtype": None}):
        np.testing.assert_allclose(signal.filtfilt(b, a, X, axis=1, **options), oracle.filtfilt(b, a, X, axis=1, **options),
                                   atol=1e-11)


@pytest.mark.parametrize("sos", SECTIONS)
def test_sections(sos):
    run = nj.jit(lambda s, x: signal.sosfilt(s, x, axis=1))
    np.testing.assert_allclose(run(sos, X), oracle.sosfilt(sos, X, axis=1), atol=1e-12)
    zi = RNG.standard_normal((len(sos), 2, 30, 2))
    for got, want in zip(signal.sosfilt(sos, X, zi=zi), oracle.sosfilt(sos, X, zi=zi), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    np.testing.assert_allclose(signal.sosfilt_zi(sos), oracle.sosfilt_zi(sos), atol=1e-12)
    for options in ({}, {"padtype": "even"}, {"padtype": "constant", "padlen": 4}, {"padtype": None}):
        np.testing.assert_allclose(signal.sosfiltfilt(sos, X, axis=1, **options), oracle.sosfiltfilt(sos, X, axis=1, **options),
                                   atol=1e-10)
    traced = nj.jit(lambda s: signal.sosfiltfilt(s, X, axis=1, padlen=5))(sos)
    np.testing.assert_allclose(traced, oracle.sosfiltfilt(sos, X, axis=1, padlen=5), atol=1e-10)


def test_derivatives_and_batches():
    b, a, x = np.array([0.5, 0.2]), np.array([1.3, -0.4, 0.1]), X[0, :6, 0]
    check_function(lambda b, a, x, z: list(signal.lfilter(b, a, x, zi=z)), [b, a, x, np.array([0.3, -0.2])], 2, "lfilter")
    sections = lambda s: jnp.concatenate([s[:, :3], jnp.ones((2, 1)), s[:, 3:]], 1)
    check_function(lambda s, x: [signal.sosfilt(sections(s), x)], [SECTIONS[1][:, [0, 1, 2, 4, 5]], x], 1, "sosfilt")
    check_function(lambda b, x: [signal.filtfilt(b, a, x, padlen=3)], [b, x], 1, "filtfilt")
    np.testing.assert_allclose(nj.vmap(lambda x: signal.lfilter(b, a, x, 0))(X), oracle.lfilter(b, a, X, 1), atol=1e-12)
    many = nj.vmap(signal.lfilter, (0, 0, None))(jnp.stack([b, 2 * b]), jnp.stack([a, a]), x)
    np.testing.assert_allclose(many[1], 2 * many[0])
    with enable_x64(False):
        assert signal.lfilter(b, a, np.arange(5)).dtype == jnp.float32
        assert signal.lfilter(jnp.ones(1), jnp.ones(1), jnp.ones(3, jnp.bfloat16)).dtype == jnp.float32


@pytest.mark.parametrize("length,degree,deriv", [(5, 2, 0), (7, 3, 1), (9, 4, 2), (3, 1, 2), (1, 0, 0)])
def test_savgol(length, degree, deriv):
    for mode in ("interp", "mirror", "constant", "nearest", "wrap"):
        options = {"deriv": deriv, "delta": 0.5, "axis": 1, "mode": mode}
        np.testing.assert_allclose(signal.savgol_filter(X, length, degree, **options),
                                   oracle.savgol_filter(X, length, degree, **options), atol=1e-10)
    for use, pos in (("conv", None), ("dot", length - 1)):
        np.testing.assert_allclose(signal.savgol_coeffs(length, degree, deriv, 0.5, pos, use),
                                   oracle.savgol_coeffs(length, degree, deriv, 0.5, pos, use), atol=1e-11)


@pytest.mark.parametrize("call,error,match", [
    (lambda: signal.lfilter(np.ones(2), np.zeros(2), X), ValueError, r"a\[0\]"),
    (lambda: signal.lfilter(np.ones((2, 2)), np.ones(2), X), ValueError, "vectors"),
    (lambda: signal.lfilter(np.ones(2), np.ones(2), X, axis=3), ValueError, "axis 3"),
    (lambda: signal.lfilter(np.ones(2), np.ones(2), X, zi=np.ones(1)), ValueError, "zi must"),
    (lambda: signal.sosfilt(np.ones((2, 5)), X), ValueError, "n_sections"),
    (lambda: signal.sosfilt(2 * np.ones((1, 6)), X), ValueError, "all ones"),
    (lambda: signal.filtfilt(np.ones(2), np.ones(1), X), ValueError, "padlen"),
    (lambda: signal.filtfilt(np.ones(2), np.ones(1), X, padtype="zero"), ValueError, "padtype"),
    (lambda: signal.filtfilt(np.ones(2), np.ones(1), X, method="gust"), NotImplementedError, "Gustafsson"),
    (lambda: nj.jit(lambda s: signal.sosfiltfilt(s, X))(SECTIONS[0]), ValueError, "give padlen"),
    (lambda: signal.savgol_filter(X, 5, 5, axis=1), ValueError, "polyorder"),
    (lambda: signal.savgol_filter(X, 4, 2), NotImplementedError, "odd"),
    (lambda: signal.savgol_filter(X, 5, 2), ValueError, "less than or equal"),
    (lambda: signal.savgol_filter(X, 3, 1, mode="reflect"), ValueError, "mode must be"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_one_section_is_a_vector_of_six_numbers():
    np.testing.assert_array_equal(signal.sosfilt(SECTIONS[0][0], X), signal.sosfilt(SECTIONS[0][:1], X))
    got = signal.sosfreqz(jnp.asarray(SECTIONS[0][0], "float16"), 5)[1]
    np.testing.assert_array_equal(got, signal.sosfreqz(jnp.asarray(SECTIONS[0][:1], "float16"), 5)[1])
    assert got.dtype == "complex64"


@pytest.mark.parametrize("run", [
    lambda x: signal.filtfilt(np.array([1.0, 0.5]), np.array([2.0, -0.5]), x), lambda x: signal.sosfiltfilt(SECTIONS[1], x)])
def test_samples_at_the_ends_of_halves_are_not_rounded(run):
    x = jnp.asarray(X[0, :, 0], jnp.bfloat16)
    np.testing.assert_allclose(run(x), run(x.astype(jnp.float32)), rtol=1e-6)
