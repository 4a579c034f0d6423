"""Cumulative reductions of long rows, by the kernel: all dtypes, both directions, edges of vectors and runs, threads."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
from numjet import _native, lax
from numjet.foundation.config import enable_x64

RUN = 32768   # kRun of native/kernels/prefix.cpp
UFUNCS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
INTEGERS = [np.dtype(f"{k}{bits}") for k in ("int", "uint") for bits in (8, 16, 32, 64)]


def by_numpy(name, x, axis, reverse):
    x = np.flip(x, axis) if reverse else x
    out = UFUNCS[name].accumulate(x, axis, dtype=x.dtype)
    return np.flip(out, axis) if reverse else out


def compiled(name, x, axis=0, reverse=False):
    with enable_x64():
        return np.asarray(nj.jit(lambda x: getattr(lax, name)(x, axis, reverse))(x))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", UFUNCS)
def test_integers_are_exact(name, reverse):
    rng = np.random.default_rng(0)
    for dtype in INTEGERS:
        for shape in ((64,), (3, 77), (1000,), (RUN + 1,), (2, 2 * RUN + 130)):
            x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
            assert compiled(name, x, len(shape) - 1, reverse).tolist() == by_numpy(name, x, len(shape) - 1, reverse).tolist()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(65,), (5, 100), (RUN,), (RUN + 3,), (2, 3 * RUN - 1)], ids=str)
def test_sums_of_floats(shape, dtype, reverse):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    x = x + 1j * rng.normal(size=shape).astype(x.real.dtype) if x.dtype.kind == "c" else x
    exact = by_numpy("cumsum", x.astype(np.complex256 if x.dtype.kind == "c" else np.longdouble), len(shape) - 1, reverse)
    error = np.abs(compiled("cumsum", x, len(shape) - 1, reverse) - exact)
    assert error.max() <= 8 * np.finfo(x.dtype).eps * np.sqrt(shape[-1]) * 4


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_accumulate_in_float32(dtype):
    with np.errstate(over="ignore"):
        expected = np.arange(1, 3 * RUN + 1, dtype=np.float32).astype(dtype)
    out = compiled("cumsum", np.ones(3 * RUN, dtype))
    assert out.dtype == dtype and out.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("place", [0, 17, RUN - 1, RUN, RUN + 40, 2 * RUN])
def test_nan_stays(name, place):
    x = np.random.default_rng(0).normal(size=2 * RUN + 1).astype(np.float32)
    x[place] = np.nan
    out, back = compiled(name, x), compiled(name, x, reverse=True)
    np.testing.assert_array_equal(out, UFUNCS[name].accumulate(x))
    np.testing.assert_array_equal(back, UFUNCS[name].accumulate(x[::-1])[::-1])


def test_infinities_and_zeros():
    x = np.zeros(2 * RUN + 9, np.float32)
    x[:] = -0.0
    assert np.signbit(compiled("cumsum", x)).all()
    x[RUN + 5] = np.inf
    out = compiled("cumsum", x)
    assert np.isposinf(out[RUN + 5:]).all() and np.signbit(out[:RUN + 5]).all()
    x[RUN + 50] = -np.inf
    assert np.isnan(compiled("cumsum", x)[RUN + 50:]).all() and np.isposinf(compiled("cumsum", x)[RUN + 5:RUN + 50]).all()
    assert compiled("cummax", np.full(100, -np.inf, np.float32)).tolist() == [-np.inf] * 100


def test_sums_of_runs_fit_together():
    """The first sum of a run is that of the run before and one element more, so it is never less for what is positive."""
    x = np.random.default_rng(0).uniform(size=8 * RUN).astype(np.float32)
    out = compiled("cumsum", x)
    ends = np.arange(1, 8) * RUN
    assert (out[ends] == out[ends - 1] + x[ends]).all()


def test_what_is_computed_first_is_summed_in_place():
    fun = nj.jit(lambda x: lax.cumsum(x * 2 + 1))
    x = np.arange(1000, dtype=np.int32)
    assert np.asarray(fun(x)).tolist() == np.cumsum(x * 2 + 1).tolist()
    assert fun.lower(x).compile().memory_analysis().temp_size_in_bytes == 0


def test_results_do_not_depend_on_threads():
    x, before, results = np.random.default_rng(0).normal(size=(3, 5 * RUN + 7)).astype(np.float32), _native.num_threads(), []
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            results.append([compiled("cumsum", x, 1, reverse).tobytes() for reverse in (False, True)])
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1]


def test_many_short_rows_and_gradients():
    x = np.random.default_rng(0).normal(size=(4000, 70)).astype(np.float32)
    np.testing.assert_allclose(compiled("cumsum", x, 1), np.cumsum(x, 1, dtype=np.float64), atol=1e-4)
    grad = nj.grad(lambda x: (lax.cumsum(x, 1) * x).sum())(x)
    expected = np.cumsum(x, 1) + np.flip(np.cumsum(np.flip(x, 1), 1), 1)
    np.testing.assert_allclose(np.asarray(grad), expected, atol=1e-3)
