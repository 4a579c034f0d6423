"""Designs of filters, windows, other sampling rates, periodograms, responses and peaks, against SciPy."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import signal
from numjet.scipy.signal import windows
from numjet.test_util import check_grads
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
DESIGNS = [
    ("butter", (4, 0.3), {}), ("butter", (4, [0.2, 0.4]), {"btype": "bandpass", "output": "sos"}),
    ("cheby1", (3, 1.0, 0.3), {}),
    ("butter", (3, 0.3), {"output": "zpk"}), ("cheby2", (3, 40.0, 0.3), {}), ("ellip", (3, 1.0, 40.0, 0.3), {}),
    ("bessel", (3, 0.3), {}), ("iirfilter", (2, [0.2, 0.4]), {}), ("iirnotch", (0.3, 30.0), {}), ("iirpeak", (0.3, 30.0), {}),
    ("buttord", (0.2, 0.5, 1.0, 40.0), {}), ("firwin", (11, 0.3), {"window": ("kaiser", 5.0)}),
    ("firwin2", (9, [0.0, 0.5, 1.0], [1.0, 1.0, 0.0]), {}), ("firls", (7, [0, 0.3, 0.6, 1], [1, 1, 0, 0]), {}),
    ("remez", (9, [0, 0.2, 0.3, 0.5], [1, 0]), {}), ("kaiserord", (60.0, 0.1), {}), ("get_window", (("tukey", 0.3), 9), {}),
    ("tf2sos", ([1.0, 0.5], [1.0, -0.25]), {}), ("tf2zpk", ([1.0, 0.5], [1.0, -0.25]), {}),
    ("zpk2tf", ([-0.5], [0.25], 2.0), {}), ("zpk2sos", ([-0.5], [0.25], 2.0), {}),
    ("sos2tf", ([[1.0, 0.5, 0.0, 1.0, -0.25, 0.0]],), {}), ("sos2zpk", ([[1.0, 0.5, 0.0, 1.0, -0.25, 0.0]],), {})]


def _close(got, want, rtol=1e-10, atol=1e-12):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            _close(g, w, rtol, atol)
    else:
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name,args,kwargs", DESIGNS)
def test_designs(name, args, kwargs, x64):
    _close(getattr(signal, name)(*args, **kwargs), getattr(oracle, name)(*args, **kwargs))


def test_windows_and_errors_of_designs():
    more = {"chebwin": (100,), "exponential": (None, 3.0), "gaussian": (2.0,), "general_cosine": ([0.5, 0.3, 0.2],),
            "general_gaussian": (1.5, 2.0), "general_hamming": (0.6,), "kaiser": (8.0,)}
    for name in [n for n in vars(windows) if not n.startswith("_") and hasattr(oracle.windows, n)]:
        found = getattr(windows, name)(7, *more.get(name, ()))
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, getattr(oracle.windows, name)(7, *more.get(name, ())), atol=1e-6)
    with pytest.raises(nj.errors.ConcretizationTypeError, match="butter: a filter is designed while the program is traced"):
        nj.jit(lambda w: signal.butter(2, w))(0.3)
    with pytest.raises(nj.errors.ConcretizationTypeError, match="kaiser: windows are made while a program is traced"):
        nj.jit(lambda beta: windows.kaiser(4, beta))(0.3)
    with pytest.raises(ValueError, match="Digital filter critical frequencies"):
        signal.butter(2, 1.5)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n,num", [(8, 8), (8, 5), (8, 6), (8, 12), (8, 13), (7, 4), (7, 5), (7, 14), (1, 3), (5, 1), (2, 1)])
def test_resample(n, num, dtype, x64):
    x = (RNG.standard_normal((n, 2)) + (1j * RNG.standard_normal((n, 2)) if dtype == np.complex128 else 0)).astype(dtype)
    _close(signal.resample(x, num), oracle.resample(x, num))
    if dtype == np.float64:
        _close(signal.resample(x[:, 0], num, window="hann"), oracle.resample(x[:, 0], num, window="hann"))
        t = np.arange(n) * 0.5 + 1
        if n > 1:
            _close(signal.resample(x.T, num, t, axis=-1), oracle.resample(x.T, num, t, axis=-1))


@pytest.mark.parametrize("up,down", [(1, 1), (2, 1), (1, 3), (3, 2), (6, 4), (5, 7)])
def test_resample_poly_and_upfirdn(up, down, x64):
    x, h = RNG.standard_normal((3, 11)), RNG.standard_normal(5)
    _close(signal.upfirdn(h, x, up, down), oracle.upfirdn(h, x, up, down))
    for options in ({}, {"padtype": "mean"}, {"padtype": "line"}, {"cval": 0.7}, {"padtype": "median"}, {"window": h}):
        _close(signal.resample_poly(x, up, down, axis=1, **options), oracle.resample_poly(x, up, down, axis=1, **options))


def test_spectra_responses_and_analytic_signals(x64):
    x, y = RNG.standard_normal((2, 3, 40))
    for options in ({}, {"window": "hann", "scaling": "spectrum"}, {"nfft": 64}, {"nfft": 31},
                    {"detrend": "linear", "fs": 10.0}):
        _close(signal.periodogram(x, **options), oracle.periodogram(x, **options))
    _close(signal.coherence(x, y, nperseg=16), oracle.coherence(x, y, nperseg=16))
    for n in (None, 40, 33, 50):
        _close(signal.hilbert(x, n), oracle.hilbert(x, n))
    _close(signal.hilbert(x, axis=0), oracle.hilbert(x, axis=0))
    b, a = oracle.butter(3, 0.3)
    for options in ({}, {"worN": 7, "whole": True}, {"worN": np.array([0.1, 0.2]), "fs": 1.0},
                    {"worN": 5, "include_nyquist": True}):
        _close(signal.freqz(b, a, **options), oracle.freqz(b, a, **options))
    sos = oracle.butter(4, 0.3, output="sos")
    _close(signal.sosfreqz(sos, 16), oracle.freqz_sos(sos, 16))
    for mode in ("full", "same", "valid"):
        for n, m in ((5, 3), (6, 3), (3, 5)):
            _close(signal.correlation_lags(n, m, mode), oracle.correlation_lags(n, m, mode))


def test_derivatives_jit_vmap_dtypes(x64):
    x = RNG.standard_normal(9)
    check_function(lambda x: [signal.resample(x, 6), signal.resample_poly(x, 3, 2), abs(signal.hilbert(x))], [x], 1, "sampling")
    run = lambda x: signal.resample_poly(x, 3, 2)
    _close(nj.jit(nj.vmap(run))(np.stack([x, 2 * x]))[1], oracle.resample_poly(2 * x, 3, 2))
    for dtype in ("float16", "float32"):
        assert signal.resample(jnp.asarray(x, dtype), 4).dtype == dtype
    for call, error, match in [
        (lambda: signal.resample(x, 0), ValueError, "num >= 1"),
        (lambda: signal.resample(x, 3, domain="x"), ValueError, "domain"),
        (lambda: signal.hilbert(x + 0j), ValueError, "x must be real"), (lambda: signal.hilbert(x, 0), ValueError, "N must be"),
        (lambda: signal.upfirdn(x, x, 0), ValueError, "must be >= 1"),
        (lambda: signal.upfirdn(x[:0], x), ValueError, "non-zero"),
        (lambda: signal.upfirdn(x, x, mode="symmetric"), NotImplementedError, "mode='constant'"),
        (lambda: signal.resample_poly(x, 2, 1, padtype="x"), ValueError, "padtype"),
        (lambda: signal.sosfreqz(x), ValueError, "n_sections"),
        (lambda: signal.correlation_lags(1, 2, "x"), ValueError, "Mode"),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("options", [
    {}, {"height": 0.3}, {"height": (0.0, 1.0)}, {"threshold": 0.2}, {"threshold": (0.1, 0.9)}, {"distance": 4},
    {"prominence": 0.5}, {"prominence": 0.2, "wlen": 9}, {"height": 0.0, "distance": 3.5, "prominence": (0.1, 2.0)},
    {"width": 2}, {"width": (None, 3), "rel_height": 0.8, "wlen": 9}, {"plateau_size": 2},
    {"plateau_size": (1, 2), "width": 0}])
def test_peaks(options, x64):
    rough = RNG.standard_normal(60)  # equal heights closer than the distance: NumPy's order of equal numbers decides in SciPy
    rough = rough if "distance" in options else np.round(rough, 1)
    for x in (rough, np.sin(np.arange(40.0)), np.array([0, 1, 1, 1, 0, 2, 2, 0, 3, 3.0]), np.ones(5)):
        got, found = signal.find_peaks(x, **options)
        want, properties = oracle.find_peaks(x, **options)
        np.testing.assert_array_equal(got, want)
        for name, value in found.items():
            np.testing.assert_allclose(value, properties[name], err_msg=name)
        bounded = nj.jit(lambda x: signal.find_peaks(x, size=30, **options)[0])(x)
        np.testing.assert_array_equal(bounded[:len(want)], want)
        assert (np.asarray(bounded)[len(want):] == -1).all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_properties_of_the_peaks_of_short_signals(n):
    peaks, found = signal.find_peaks(jnp.ones(n), height=0.5, width=1)
    want = oracle.find_peaks(np.ones(n), height=0.5, width=1)[1]
    assert peaks.shape == (0,) and {*found} == {*want} and all(v.shape == (0,) for v in found.values())


def test_peaks_of_bools_and_of_complex_numbers():
    peaks, found = signal.find_peaks(jnp.array([False, True, False]), prominence=1)
    assert peaks.tolist() == [1] and found["prominences"].tolist() == [1]
    with pytest.raises(TypeError, match="complex numbers have no order"):
        signal.find_peaks(jnp.ones(4) * 1j)


def test_empty_signals():
    with pytest.raises(ValueError, match="expected samples along axis -1"):
        signal.resample_poly(jnp.ones(0), 3, 2, axis=-1, padtype="line")
    assert signal.fftconvolve(jnp.ones(0), jnp.ones(0), "valid").shape == (0,)


def test_errors_of_peaks():
    assert signal.find_peaks(np.zeros(0))[0].shape == (0,) and signal.find_peaks(np.zeros(2), size=3)[0].tolist() == [-1] * 3
    for call, error, match in [
        (lambda: signal.find_peaks(np.zeros((2, 2))), ValueError, "1-D"),
        (lambda: signal.find_peaks(np.zeros(4), distance=0), ValueError, "distance"),
        (lambda: signal.find_peaks(np.zeros(4), height=(1, 2, 3)), ValueError, "height as a number, an array or a pair"),
        (lambda: nj.jit(signal.find_peaks)(np.zeros(4)), nj.errors.ConcretizationTypeError, "pass size="),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("wlen", [None, 7])
def test_widths_and_prominences_of_peaks(wlen, x64):
    x = np.round(RNG.standard_normal(50), 1)
    peaks = oracle.find_peaks(x)[0]
    for got, want in zip(signal.peak_prominences(x, peaks, wlen), oracle.peak_prominences(x, peaks, wlen), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    data = oracle.peak_prominences(x, peaks, wlen)
    for height in (0.5, 1.5):
        want = oracle.peak_widths(x, peaks, height, wlen=wlen)
        for got in (signal.peak_widths(x, peaks, height, wlen=wlen), signal.peak_widths(x, peaks, height, data),
                    nj.jit(lambda x, p, height=height: signal.peak_widths(x, p, height, wlen=wlen))(x, peaks)):
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, atol=1e-12)
    both = nj.vmap(lambda x: signal.peak_widths(x, peaks, wlen=wlen)[0])(np.stack([x, x]))
    np.testing.assert_allclose(both[1], oracle.peak_widths(x, peaks, wlen=wlen)[0], atol=1e-12)


def test_derivatives_of_widths_of_peaks(x64):
    x = RNG.standard_normal(20)
    peaks = oracle.find_peaks(x)[0]
    check_grads(lambda x: jnp.stack(signal.peak_widths(x, peaks)[:2]), (jnp.asarray(x),), 1, eps=1e-6)


@pytest.mark.parametrize("call, error", [
    (lambda: signal.peak_widths(np.ones((2, 2)), np.array([0])), ValueError),
    (lambda: signal.peak_widths(np.ones(4), np.array([4])), ValueError),
    (lambda: signal.peak_prominences(np.ones(4), np.array([0.5])), TypeError),
    (lambda: signal.peak_widths(np.ones(4), np.array([1]), -1.0), ValueError)])
def test_errors_of_widths_of_peaks(call, error):
    with pytest.raises(error):
        call()


def test_widths_of_no_peaks_and_of_what_is_none():
    assert all(v.shape == (0,) for v in signal.peak_widths(np.ones(4), np.zeros(0)))
    assert signal.peak_widths(np.ones(4), np.array([1]))[0].tolist() == [0.0]
