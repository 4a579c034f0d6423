"""numjet.scipy.signal against SciPy, in 64 bits."""
import itertools
import warnings

import numpy as np
import pytest
import scipy.signal as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import signal
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")


@pytest.fixture(autouse=True)
def wide():
    with nj.enable_x64(True):
        yield


def draw(shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def same(got, want):
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("shapes", [((5,), (3,)), ((2,), (4,)), ((3, 4), (3, 2)), ((4, 3, 2), (2, 2, 2))])
def test_convolutions(name, shapes):
    x, y = (draw(s, True) for s in shapes)
    for mode, method in itertools.product(MODES, ("direct", "fft")):
        got = getattr(signal, name)(x, y, mode, method)
        same(got, getattr(oracle, name)(x, y, mode, method))
    same(getattr(signal, name)(x[0].real, y[0].real), getattr(oracle, name)(x[0].real, y[0].real))


def test_fftconvolve_along_axes():
    x, y = draw((3, 5)), draw((3, 4))
    for mode in MODES:
        same(signal.fftconvolve(x, y, mode, axes=1), oracle.fftconvolve(x, y, mode, axes=1))
        same(signal.fftconvolve(x, y[:1], mode, axes=[-1]), oracle.fftconvolve(x, y[:1], mode, axes=[-1]))
    same(signal.fftconvolve(np.float64(2), np.float64(3)), np.float64(6))
    assert signal.fftconvolve(np.zeros(0), np.zeros(3)).shape == (2,)


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
@pytest.mark.parametrize("shapes", [((4, 5), (2, 3)), ((2, 2), (3, 4)), ((3, 3), (2, 2))])
def test_matrices(name, shapes):
    x, y = (draw(s, True) for s in shapes)
    ours, theirs = getattr(signal, name), getattr(oracle, name)
    for mode in MODES:
        for more in [{}, {"boundary": "wrap"}, {"boundary": "symm"}, {"fillvalue": 2}]:
            same(ours(x, y, mode, **more), theirs(x, y, mode, **more))


@pytest.mark.parametrize("kind, bp", [("constant", 0), ("linear", 0), ("linear", [1, 4])])
def test_detrend(kind, bp):
    x = draw((3, 6, 2), True)
    for axis in (0, 1, -1) if bp == 0 else (1,):
        same(signal.detrend(x, axis, kind, bp), oracle.detrend(x, axis, kind, bp))
    assert signal.detrend(np.ones(3, np.float16)).dtype == np.float16


SPECTRA = [{"nperseg": 17, "noverlap": 5},
           {"nperseg": 8, "detrend": "linear", "nfft": 12, "window": "hamming", "scaling": "spectrum"},
           {"nperseg": 7, "axis": 0, "detrend": False, "window": ("tukey", 0.3), "fs": 10.0}, {"window": np.arange(1.0, 7)},
           {"nperseg": 9, "return_onesided": False, "noverlap": 0}]


@pytest.mark.parametrize("options", SPECTRA, ids=str)
@pytest.mark.parametrize("average", ["mean", "median"])
def test_power(options, average):
    x, y = draw((40, 40)), draw((40, 40))
    same(signal.welch(x, average=average, **options), oracle.welch(x, average=average, **options))
    same(signal.csd(x, y, average=average, **options), oracle.csd(x, y, average=average, **options))
    if options.get("axis") is None:
        same(signal.csd(x, y[:, :25], **options), oracle.csd(x, y[:, :25], **options))


@pytest.mark.parametrize("options", SPECTRA, ids=str)
@pytest.mark.parametrize("mode", ["psd", "complex", "magnitude", "angle", "phase"])
def test_spectrogram(options, mode):
    x = draw((40, 41))
    got, want = (module.spectrogram(x, mode=mode, **options) for module in (signal, oracle))
    turned = (lambda v: np.exp(1j * np.asarray(v))) if mode in ("angle", "phase") else np.asarray  # pi is -pi
    same((*got[:2], turned(got[2])), (*want[:2], turned(want[2])))


@pytest.mark.parametrize("boundary", ["even", "odd", "constant", "zeros", None])
def test_stft(boundary):
    x = draw((2, 50, 3), True)
    for options in [{"nperseg": 8}, {"nperseg": 7, "noverlap": 3, "nfft": 9, "fs": 5.0, "window": "boxcar"}]:
        for padded in (True, False):
            more = dict(boundary=boundary, padded=padded, axis=1, **options)
            same(signal.stft(x, return_onesided=False, **more), oracle.stft(x, return_onesided=False, **more))
            same(signal.stft(x.real, **more), oracle.stft(x.real, **more))


@pytest.mark.parametrize("options", [{"nperseg": 8}, {"nperseg": 7, "noverlap": 5, "boundary": False},
                                     {"nfft": 10, "nperseg": 9}, {"input_onesided": False, "nperseg": 5},
                                     {"window": np.ones(8)}],
                         ids=str)
def test_istft(options):
    z = draw((3, 6 if "nfft" in options else 5, 12), True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(signal.istft(z, **options), oracle.istft(z, **options))
        swapped, axes = np.moveaxis(z, (1, 2), (2, 0)), {"time_axis": 0, "freq_axis": 2}
        same(signal.istft(swapped, **axes, **options), oracle.istft(swapped, **axes, **options))


def test_there_and_back():
    x = draw((2, 100))
    back = nj.jit(lambda v: signal.istft(signal.stft(v, nperseg=16)[2], nperseg=16)[1])(x)
    np.testing.assert_allclose(back[:, :100], x, atol=1e-12)


@pytest.mark.parametrize("function", [
    signal.convolve, signal.correlate, signal.fftconvolve,
    lambda x, y: signal.csd(x, y, nperseg=4)[1].real, lambda x, y: jnp.abs(signal.stft(x, nperseg=4)[2]) ** 2 + jnp.sum(y),
    lambda x, y: signal.detrend(x) * y[0],
], ids=["convolve", "correlate", "fftconvolve", "csd", "stft", "detrend"])
def test_derivatives_and_batches(function):
    x, y = draw(9), draw(5)
    check_function(lambda *v: [function(*v)], [x, y], 2, "signal")
    batch = draw((3, 9))
    same(nj.vmap(function, (0, None))(batch, y), np.stack([function(b, y) for b in batch]))


def test_complex_signals_have_two_sides():
    x = draw(20, True)
    with pytest.warns(UserWarning, match="complex"):
        f, p = signal.welch(x, nperseg=8)
    assert f.shape == p.shape == (8,)


def test_long_segments_are_cut():
    with pytest.warns(UserWarning, match="nperseg=8 is greater"):
        assert signal.welch(draw(3), nperseg=8)[0].shape == (2,)
    assert signal.welch(np.zeros(0))[1].shape == (0,)


X = np.ones(20)


@pytest.mark.parametrize("call, error, text", [
    (lambda: signal.convolve(X, X[None]), ValueError, "same number of dimensions"),
    (lambda: signal.convolve(X, X[:0]), ValueError, "zero-size"),
    (lambda: signal.convolve(X, X, "bad"), ValueError, "mode must be one of"),
    (lambda: signal.convolve(X, X, method="bad"), ValueError, "method='bad'"),
    (lambda: signal.convolve(X.reshape(2, 10), X.reshape(10, 2), "valid"), ValueError, "One input must be smaller"),
    (lambda: signal.fftconvolve(X.reshape(2, 10), X.reshape(10, 2), axes=0), ValueError, "mapped axes must have same shape"),
    (lambda: signal.convolve2d(X, X), ValueError, "2-dimensional"),
    (lambda: signal.convolve2d(X[None], X[None], boundary="bad"), ValueError, "boundary must be"),
    (lambda: signal.detrend(X, type="bad"), ValueError, "Trend type"),
    (lambda: signal.detrend(X, bp=[50]), ValueError, "Breakpoints"),
    (lambda: signal.detrend(X, overwrite_data=True), NotImplementedError, "overwrite_data"),
    (lambda: signal.welch(X, nperseg=8, noverlap=8), ValueError, "noverlap must be less"),
    (lambda: signal.welch(X, nperseg=8, nfft=4), ValueError, "nfft must be greater"),
    (lambda: signal.welch(X, nperseg=8, average="bad"), ValueError, "average must be"),
    (lambda: signal.welch(X, nperseg=8, scaling="bad"), ValueError, "Unknown scaling"),
    (lambda: signal.welch(X, nperseg=8, window=np.ones(4)), ValueError, "different from length of window"),
    (lambda: signal.csd(X.reshape(2, 10), X[:18].reshape(3, 6)), ValueError, "cannot be broadcast"),
    (lambda: signal.stft(X, boundary="bad"), ValueError, "Unknown boundary"),
    (lambda: signal.istft(X), ValueError, "at least 2d"),
    (lambda: signal.istft(X[None], time_axis=0, freq_axis=0), ValueError, "differing time and frequency"),
    (lambda: signal.istft(np.ones((3, 4)), nperseg=6), ValueError, "FFT length"),
    (lambda: signal.spectrogram(X, mode="bad"), ValueError, "unknown value for mode"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_stft_of_nothing_is_complex():
    assert [x.dtype.kind for x in signal.stft(np.zeros(0, np.float32), nperseg=2)] == ["f", "f", "c"]


def test_detrend_takes_lists():
    np.testing.assert_allclose(signal.detrend([1.0, 4.0, 2.0]), oracle.detrend([1.0, 4.0, 2.0]), atol=1e-6)
