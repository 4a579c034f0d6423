"""Transforms that are split or run side by side: lengths, layouts, accuracy, numbers of threads."""
from __future__ import annotations

import numpy as np
import pytest

from numjet import _native, jit
from numjet.lax import FftType, fft

# Powers of two and products of other primes, on both sides of where sequences are split; 31 is the largest radix, and the
# last ones have larger primes.
LENGTHS = [64, 255, 256, 257, 512, 1001, 1024, 4096, 4100, 6561, 8192, 14641, 20000, 29791, 32768, 46189, 98304, 131072, 521,
           4099, 40009, 2 * 10007]


def transform(kind: FftType, x: np.ndarray, n: int) -> np.ndarray:
    return np.asarray(jit(lambda v: fft(v, kind, (n,)))(x))


def error(got: np.ndarray, want: np.ndarray, eps: float, n: int) -> float:
    """The norm of the difference, in units of eps log n."""
    return float(np.linalg.norm(got - want) / np.linalg.norm(want)) / (eps * (1 + np.log2(n)))


def sequences(rows: int, n: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(n)
    return (rng.standard_normal((rows, n)) + 1j * rng.standard_normal((rows, n))).astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("dtype", "real"), [("complex64", "float32"), ("complex128", "float64")])
def test_errors_grow_with_the_logarithm(n, dtype, real, x64):
    eps = np.finfo(real).eps
    for rows in (1, 2, 17) if n < 5000 else (1, 2):
        x = sequences(rows, n, dtype)
        want = np.fft.fft(x.astype(np.clongdouble))
        assert error(transform(FftType.FFT, x, n), want, eps, n) < 0.5
        assert error(transform(FftType.IFFT, want.astype(dtype), n), x, eps, n) < 1
        half = np.fft.rfft(x.real.astype(np.longdouble))
        assert error(transform(FftType.RFFT, x.real, n), half, eps, n) < 0.5
        assert error(transform(FftType.IRFFT, half.astype(dtype), n), x.real, eps, n) < 1


@pytest.mark.parametrize("shape", [(3, 128, 5), (2, 100, 1), (1, 37, 40), (4, 300, 2), (2, 5000, 3), (1, 96, 33), (3, 521, 3)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_axes_in_the_middle(shape, dtype, x64):
    x = sequences(shape[0] * shape[2], shape[1], dtype).reshape(shape[0], shape[2], shape[1]).swapaxes(1, 2).copy()
    lengths = shape[1:]
    for kind, reference in ((FftType.FFT, np.fft.fft2), (FftType.IFFT, np.fft.ifft2)):
        got = np.asarray(jit(lambda v, kind=kind: fft(v, kind, lengths))(x))
        assert error(got, reference(x.astype(np.clongdouble)), np.finfo(dtype).eps, shape[1] * shape[2]) < 0.5


@pytest.mark.parametrize(("rows", "n"), [(1, 1 << 17), (3, 40000), (200, 96), (40, 300), (1, 40009), (33, 521)])
def test_results_do_not_depend_on_the_number_of_threads(rows, n):
    x = sequences(rows, n, "complex64")
    before, results = _native.num_threads(), []
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            results.append([transform(FftType.FFT, x, n).tobytes(), transform(FftType.RFFT, x.real, n).tobytes(),
                            transform(FftType.IRFFT, x[:, :n // 2 + 1], n).tobytes(),
                            np.asarray(jit(lambda v: fft(v, FftType.FFT, (n, rows)))(x.T.copy())).tobytes()])
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1]


def test_rows_do_not_touch_each_other():
    """Rows that share vector registers: what is not a number stays in its row."""
    x = sequences(20, 48, "complex64")
    want = transform(FftType.FFT, x, 48)
    x[3, 5], x[11, 0] = np.nan, np.inf
    got = transform(FftType.FFT, x, 48)
    others = np.delete(np.arange(20), [3, 11])
    assert np.array_equal(got[others], want[others])
    assert not np.isfinite(got[[3, 11]]).all(axis=1).any()


def test_a_result_is_the_same_in_any_row():
    x = sequences(1, 1000, "complex64")
    many = transform(FftType.FFT, np.repeat(x, 19, 0), 1000)
    assert (many == many[0]).all()


def test_exact_values():
    """Small integers whose transforms are small integers."""
    for n in (64, 1024, 8192):
        x = np.zeros(n, np.complex64)
        x[0] = 3
        assert np.array_equal(transform(FftType.FFT, x, n), np.full(n, 3, np.complex64))
        assert np.array_equal(transform(FftType.FFT, np.full(n, 1, np.complex64), n), n * (np.arange(n) == 0))
