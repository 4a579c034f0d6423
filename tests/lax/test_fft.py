"""lax.fft against sums by the definition, of many lengths, in both precisions; its errors and derivatives."""
from __future__ import annotations

import numpy as np
import pytest

from numjet import lax
from numjet.core.op import lookup
from numjet.lax import FftType
from numjet.runtime import dispatch
from tests.lax.lax_gradients import vjp

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 30, 31, 32, 37, 49, 62, 74, 96, 101, 210, 256, 1000, 1009]


def matrix(n, sign):
    """The transform's matrix, with angles reduced in integers."""
    return np.exp(sign * 2j * np.pi * (np.outer(np.arange(n), np.arange(n)) % n) / n)


def compiled(x, kind, lengths):
    return np.asarray(dispatch.run_operation(lookup("fft"), [x], {"fft_type": kind, "fft_lengths": lengths}))


def error(got, want):
    return np.linalg.norm(got - want) / (np.linalg.norm(want) + 1e-300)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype, tolerance", [("complex64", 4e-7), ("complex128", 1e-14)])
def test_complex_rows_by_definition(n, dtype, tolerance, rng, x64):
    x = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype(dtype)
    forward, backward = x @ matrix(n, -1), x @ matrix(n, 1) / n
    for apply in (compiled, lambda *a: np.asarray(lax.fft(*a))):
        assert error(apply(x, FftType.FFT, (n,)), forward) < tolerance
        assert error(apply(x, FftType.IFFT, (n,)), backward) < tolerance
    assert compiled(x, FftType.FFT, (n,)).dtype == dtype


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 4e-7), ("float64", 1e-14)])
def test_real_rows_by_definition(n, dtype, tolerance, rng, x64):
    x = rng.standard_normal((3, n)).astype(dtype)
    want = (x @ matrix(n, -1))[:, :n // 2 + 1]
    for apply in (compiled, lambda *a: np.asarray(lax.fft(*a))):
        half = apply(x, FftType.RFFT, (n,))
        assert error(half, want) < tolerance
        assert error(apply(half, FftType.IRFFT, (n,)), x) < 2 * tolerance
    # Imaginary parts that no real values have are left out.
    odd = half + np.where(np.arange(n // 2 + 1) % max(n / 2, 1) == 0, 1j, 0).astype(half.dtype)
    assert error(compiled(odd, FftType.IRFFT, (n,)), x) < 2 * tolerance


@pytest.mark.parametrize("shape, k", [((4, 6), 2), ((3, 37, 5), 2), ((2, 3, 4, 5), 3), ((2, 2, 3, 2, 2), 4), ((1, 1), 2)])
def test_several_axes(shape, k, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    axes, lengths = tuple(range(-k, 0)), shape[-k:]
    for kind, value, want in (
            (FftType.FFT, x + 1j * x[::-1], np.fft.fftn(x + 1j * x[::-1], axes=axes)),
            (FftType.IFFT, x + 1j * x[::-1], np.fft.ifftn(x + 1j * x[::-1], axes=axes)),
            (FftType.RFFT, x, np.fft.rfftn(x, axes=axes))):
        value = value.astype(np.complex64) if kind != FftType.RFFT else value
        got = compiled(value, kind, lengths)
        assert got.shape == want.shape and error(got, want) < 1e-6
    assert error(compiled(np.asarray(lax.fft(x, "rfft", lengths)), FftType.IRFFT, lengths), x) < 1e-6


def test_long_transforms_stay_accurate(rng, x64):
    for n in (4096, 6561, 10007):
        x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
        assert error(compiled(x, FftType.FFT, (n,)), np.fft.fft(x)) < 1e-15 * np.log2(n)


def test_nan_spreads_over_its_row_only():
    x = np.ones((2, 6), np.float32)
    x[0, 2] = np.nan
    out = compiled(x, FftType.RFFT, (6,))
    assert np.isnan(out[0].real).all() and not np.isnan(out[1]).any()


def test_dtypes_and_names():
    ones = np.ones((4, 6), np.int32)
    assert lax.fft(ones, "RFFT", (6,)).dtype == np.complex64 and lax.fft(ones, "fft", (4, 6)).dtype == np.complex64
    assert lax.fft(ones.astype(np.float16), FftType.IFFT, (6,)).dtype == np.complex64
    assert lax.fft(ones, FftType.IRFFT, (10,)).dtype == np.float32
    assert lax.fft(ones.astype(np.complex64), FftType.FFT, ()).shape == (4, 6)
    assert [(t.name, t.value) for t in FftType] == [("FFT", 0), ("IFFT", 1), ("RFFT", 2), ("IRFFT", 3)]


@pytest.mark.parametrize("dtype, kind, lengths, kind_of_error, text", [
    ("complex64", "FFT", (4,), ValueError, "minor dimensions must be equal to fft_lengths \\(4,\\)"),
    ("complex64", "FFT", (2, 4, 6), ValueError, "at least as many input dimensions"),
    ("complex64", "IRFFT", (12,), ValueError, "minor dimensions must be \\(7,\\) for"),
    ("complex64", "RFFT", (6,), ValueError, "only real valued inputs"),
    ("float16", "RFFT", (6,), ValueError, "must be float32 or float64, got float16"),
    ("float32", "XFFT", (6,), ValueError, "Unknown FFT type 'XFFT'"),
    ("float32", 3.5, (6,), TypeError, "Unknown FFT type value '3.5'"),
    ("float32", "FFT", 6, TypeError, "fft_lengths"),
])
def test_errors(dtype, kind, lengths, kind_of_error, text):
    with pytest.raises(kind_of_error, match=text):
        lax.fft(np.ones((4, 6), dtype), kind, lengths)


@pytest.mark.parametrize("lengths", [(5,), (6,), (4, 5), (3, 4, 6)])
def test_gradients_of_real_transforms(lengths, rng, x64):
    x, dx = rng.standard_normal(lengths), rng.standard_normal(lengths)
    fun = lambda v: lax.fft(v, FftType.RFFT, lengths)
    half = np.asarray(fun(x))
    ct = rng.standard_normal(half.shape) + 1j * rng.standard_normal(half.shape)
    (g,) = vjp(fun, [x], ct)
    assert g.dtype == np.float64
    np.testing.assert_allclose((g * dx).sum(), (ct * np.asarray(fun(dx))).sum().real, rtol=1e-10)
    back = lambda v: lax.fft(v, FftType.IRFFT, lengths)
    (g,) = vjp(back, [half], x)
    np.testing.assert_allclose((g * ct).sum().real, (x * np.asarray(back(ct))).sum(), rtol=1e-10)
