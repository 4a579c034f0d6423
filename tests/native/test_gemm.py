"""nj_gemm, the kernel of matrix products, against NumPy in a wider dtype: dtypes, layouts, sizes, threads, special values."""
from __future__ import annotations

import ctypes
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from numjet import _native
from numjet.cpu.kernels.products import CODES, GEMM, result

FLOATS = ["float32", "float64", "bfloat16", "float16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
COMPLEX = ["complex64", "complex128"]
EDGES = [*range(0, 35), 47, 48, 49, 63, 64, 65, 127, 128, 129]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


LEVELS = ["plain C++", "AVX2", "AVX-512", "VNNI"]


@pytest.fixture(params=LEVELS)
def level(request):
    """Instructions that the kernel may use; skips what this CPU doesn't have."""
    choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_native.kernel_address("nj_gemm_level"))
    wanted = LEVELS.index(request.param)
    try:
        if choose(wanted) != wanted:
            pytest.skip(f"no {request.param} here")
        yield
    finally:
        choose(len(LEVELS) - 1)


def kernel():
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(None, *[integer] * 5, pointer, *[integer] * 3, pointer, *[integer] * 3, pointer, integer)
    return prototype(_native.kernel_address(GEMM))


def multiply(x: np.ndarray, y: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """x @ y, or start + x @ y, of arrays of rank 3, by the kernel."""
    batch, m, k = x.shape
    n = y.shape[2]
    shape, dtype = (batch, m, n), result(x.dtype)
    # A margin behind the result shows what is written there.
    memory = np.full(batch * m * n + 64, 99, dtype)
    out = memory[:batch * m * n].reshape(shape)
    if start is not None:
        out[...] = start
    steps = [[s // a.itemsize for s in a.strides] for a in (x, y)]
    kernel()(CODES[x.dtype.name], batch, m, n, k, x.ctypes.data, *steps[0], y.ctypes.data, *steps[1], out.ctypes.data,
             int(start is not None))
    assert (memory[batch * m * n:] == 99).all()
    return out


def numbers(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


LAYOUTS = {
    "rows": lambda shape, make: make(shape),
    "columns": lambda shape, make: make((shape[0], shape[2], shape[1])).swapaxes(1, 2),
    "wide rows": lambda shape, make: make((shape[0], shape[1], shape[2] + 3))[:, :, 2:shape[2] + 2],
    "every other": lambda shape, make: make((shape[0], 2 * shape[1], 2 * shape[2]))[:, ::2, ::2],
    "backwards": lambda shape, make: make(shape)[:, ::-1, ::-1],
    "batch inside": lambda shape, make: make((*shape[1:], shape[0])).transpose(2, 0, 1),
    "one for all": lambda shape, make: np.broadcast_to(make((1, *shape[1:])), shape),
}


def check(x: np.ndarray, y: np.ndarray, start: np.ndarray | None = None) -> None:
    got, k = multiply(x, y, start), x.shape[2]
    if x.dtype.kind in "iu":
        wide = got.dtype
        want = x.astype(wide) @ y.astype(wide)
        np.testing.assert_array_equal(got, want if start is None else want + start)
        return
    wide = np.dtype(np.complex128 if x.dtype.kind == "c" else np.float64)
    a, b = x.astype(wide), y.astype(wide)
    want, size = a @ b, np.abs(a) @ np.abs(b)
    if start is not None:
        want, size = want + start, size + np.abs(start)
    # Each of k sums rounds, by at most eps / 2 of what has been added up so far; a complex one is two of two products.
    bound = (k + 2) * np.finfo(got.dtype).eps * size * (3 if x.dtype.kind == "c" else 1)
    assert (np.abs(got - want) <= bound).all()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX])
@pytest.mark.parametrize("shape", [(3, 17, 35, 20), (2, 70, 9, 130), (1, 130, 150, 40), (2, 1, 40, 33), (2, 37, 1, 50),
                                   (1, 5, 3, 1100), (1, 90, 80, 600)], ids=str)
def test_dtypes_and_layouts(dtype, shape):
    batch, m, n, k = shape
    one = dtype_of(dtype)
    for seed, left in enumerate(LAYOUTS):
        for right in LAYOUTS if seed == 0 else ("rows", left):
            x = LAYOUTS[left]((batch, m, k), partial(numbers, dtype=one, seed=seed))
            y = LAYOUTS[right]((batch, k, n), partial(numbers, dtype=one, seed=seed + 1))
            check(x, y)
    check(x, y, numbers((batch, m, n), result(one), 7))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX])
def test_all_instructions(dtype, level):
    one = dtype_of(dtype)
    for m, n, k in ((1, 20, 30), (20, 1, 30), (9, 7, 5), (33, 50, 700), (130, 90, 40)):
        for flip in (False, True):
            x, y = numbers((2, m, k), one, 0), numbers((2, k, n), one, 1)
            if flip:
                x, y = (np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2) for a in (x, y))
            check(x, y)
            check(x, y, numbers((2, m, n), result(one), 2))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "complex64"])
@pytest.mark.parametrize("which", ["m", "n", "k"])
def test_every_edge(dtype, which):
    one = dtype_of(dtype)
    for size in EDGES:
        m, n, k = (size if which == name else other for name, other in (("m", 19), ("n", 37), ("k", 23)))
        x, y = numbers((1, m, k), one, size), numbers((1, k, n), one, size + 1)
        check(x, y)
        check(np.asfortranarray(x[0])[None], np.asfortranarray(y[0])[None], numbers((1, m, n), result(one), 3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16", "complex128"])
@pytest.mark.parametrize("size", [(2, 3, 5000), (200, 300, 1537), (1, 2, 3000), (57, 2500, 3), (600, 40, 512)], ids=str)
def test_several_blocks(dtype, size):
    m, n, k = size
    one = dtype_of(dtype)
    check(numbers((1, m, k), one, 0), numbers((1, k, n), one, 1))
    check(numbers((1, k, m), one, 0).swapaxes(1, 2), numbers((1, n, k), one, 1).swapaxes(1, 2))


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int64", *COMPLEX])
def test_few_rows_and_a_large_matrix(dtype, level):
    """Of 4 MiB at least: read once, in order, whichever way it lies."""
    one = dtype_of(dtype)
    for m, k in ((3, 517), (16, 600), (1, 700)):
        n = max(2050, (4 << 20) // (k * one.itemsize) + 1)
        x, y = numbers((1, m, k), one, 0), numbers((1, k, n), one, 1)
        check(x, y)
        check(x, np.asfortranarray(y[0])[None], numbers((1, m, n), result(one), 2))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX])
@pytest.mark.parametrize("size", [(1, 300, 129), (300, 1, 129), (1, 5, 1100)], ids=str)
def test_vectors(dtype, size, level):
    m, n, k = size
    one = dtype_of(dtype)
    x, y = numbers((2, m, k), one, 0), numbers((2, k, n), one, 1)
    for left in (x, np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)):
        for right in (y, np.ascontiguousarray(y.swapaxes(1, 2)).swapaxes(1, 2)):
            check(left, right)
            check(left, right, numbers((2, m, n), result(one), 2))
    check(numbers((2, m, 2 * k), one, 0)[:, :, ::2], y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 16, 17, 32])
def test_few_columns(dtype, n, level):
    one = dtype_of(dtype)
    for m, k in ((64, 5), (203, 16), (1003, 65)):
        x, y = numbers((1, m, k + 3), one, 0)[:, :, 1:k + 1], numbers((1, k, n), one, 1)
        check(x, y)
        check(x, y, numbers((1, m, n), one, 2))


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int32", "uint64", *COMPLEX])
@pytest.mark.parametrize("size", [(4, 4, 40001), (17, 9, 9000), (1, 1, 70000), (1, 20, 20000)], ids=str)
def test_long_sums(dtype, size):
    """They are cut into parts, which are added in order."""
    m, n, k = size
    one = dtype_of(dtype)
    x, y = numbers((1, m, k), one, 0), numbers((1, k, n), one, 1)
    check(x, y)
    check(np.asfortranarray(x[0])[None], y, numbers((1, m, n), result(one), 2))


def test_the_largest_small_integers(level):
    """Steps of four products of int8 have operands with and without a sign."""
    for dtype in ("int8", "uint8", "int16", "uint16"):
        info = np.iinfo(dtype)
        for left in (info.min, info.max):
            for right in (info.min, info.max):
                check(np.full((1, 20, 37), left, dtype), np.full((1, 37, 50), right, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_products_of_integers_are_exact(dtype):
    one, rng = dtype_of(dtype), np.random.default_rng(0)
    x, y = (rng.integers(-8, 9, s).astype(one) for s in ((2, 50, 300), (2, 300, 70)))
    np.testing.assert_array_equal(multiply(x, y), x.astype(np.float64) @ y.astype(np.float64))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_multiplied_exactly_and_summed_in_float32(dtype):
    one = dtype_of(dtype)
    x, y = np.full((1, 3, 64), 1, one), np.full((1, 64, 20), 1, one)
    x[0, :, 0], y[0, 0] = 1 + 2.0 ** -7, 1 + 2.0 ** -7
    assert (multiply(x, y) == np.float32((1 + 2.0 ** -7) ** 2 + 63)).all()


def test_every_half_is_read_as_what_it_is():
    bits = np.arange(2 ** 16, dtype=np.uint16)
    for dtype in ("bfloat16", "float16"):
        x = bits.view(dtype_of(dtype))
        one = np.ones((1, 1, 1), x.dtype)
        with np.errstate(invalid="ignore"):
            want = x.astype(np.float32)
        np.testing.assert_array_equal(multiply(x[None, :, None], one)[0, :, 0], want)
        np.testing.assert_array_equal(multiply(one, x[None, None, :])[0, 0], want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(20, 40, 30), (1, 40, 30), (20, 1, 30), (90, 150, 700)], ids=str)
def test_nothing_is_skipped(dtype, size):
    """0 * inf and 0 * NaN are NaN, inf - inf, too; other places keep their values."""
    m, n, k = size
    one = dtype_of(dtype)
    x, y = np.zeros((1, m, k), one), np.zeros((1, k, n), one)
    x[0, m // 2, k - 1], y[0, k // 2, n - 1] = np.inf, np.nan
    got = multiply(x, y)[0]
    want = np.zeros((m, n))
    want[m // 2] = want[:, n - 1] = np.nan
    np.testing.assert_array_equal(got, want)
    y[...] = 1
    assert (multiply(x, y)[0, m // 2] == np.inf).all()
    x[0, m // 2, 0] = -np.inf
    assert np.isnan(multiply(x, y)[0, m // 2]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiny_numbers_and_zeros(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x, y = np.full((1, 3, 2), tiny, dtype), np.ones((1, 2, 40), dtype)
    assert (multiply(x, y) == 2 * tiny).all()
    assert (multiply(np.zeros((1, 3, 0), dtype), np.zeros((1, 0, 40), dtype)) == 0).all()


def test_nothing_to_add_leaves_the_start():
    start = numbers((2, 3, 4), np.dtype(np.float32), 0)
    np.testing.assert_array_equal(multiply(np.zeros((2, 3, 0), np.float32), np.zeros((2, 0, 4), np.float32), start), start)
    assert multiply(np.zeros((0, 3, 2), np.float32), np.zeros((0, 2, 4), np.float32)).shape == (0, 3, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(1, 300, 500, 700), (40, 32, 64, 96), (1, 20, 4000, 300), (1, 1, 5000, 500),
                                   (1, 9000, 1, 130), (3, 300, 257, 900), (1, 3, 3000, 700),
                                   (1, 12, 12, 60000), (1, 1, 30, 40000), (1, 5000, 9, 40)], ids=str)
def test_the_number_of_threads_changes_nothing(dtype, shape):
    batch, m, n, k = shape
    one = dtype_of(dtype)
    x, y = numbers((batch, m, k), one, 0), numbers((batch, n, k), one, 1).swapaxes(1, 2)
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2):
            _native.set_num_threads(count)
            results += [multiply(x, y), multiply(x, np.ascontiguousarray(y))]
    finally:
        _native.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


@pytest.mark.skipif(_native.num_threads() == 1, reason="one processor")
def test_large_products_are_shared():
    x = np.ones((1, 400, 400), np.float32)
    before = _native.parallel_regions()
    multiply(x, x)
    assert _native.parallel_regions() > before
    before = _native.parallel_regions()
    multiply(x[:, :32, :32], x[:, :32, :32])
    assert _native.parallel_regions() == before


def test_products_of_numpy_arrays():
    x, y = numbers((3, 20, 30), np.dtype(np.float64), 0), numbers((3, 40, 30), np.dtype(np.float64), 1).swapaxes(1, 2)
    out = np.empty((3, 20, 40))
    _native.multiply_matrices(x, y, out)
    np.testing.assert_array_equal(out, multiply(x, y))


def test_products_of_numpy_arrays_that_do_not_fit():
    x = np.zeros((1, 2, 3), np.float32)
    with pytest.raises(TypeError, match="rank 3 and of one dtype"):
        _native.multiply_matrices(x, x.astype(np.float64), np.zeros((1, 2, 2), np.float32))
    with pytest.raises(TypeError, match="at least 32 bits"):
        _native.multiply_matrices(*[np.zeros((1, 2, 2), np.int8)] * 3)
    with pytest.raises(ValueError, match=r"expected shapes \(b, m, k\)"):
        _native.multiply_matrices(x, x, np.zeros((1, 2, 3), np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        _native.multiply_matrices(x, np.zeros((1, 3, 4), np.float32), np.zeros((1, 2, 8), np.float32)[:, :, ::2])
