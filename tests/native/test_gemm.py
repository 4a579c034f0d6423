"""nj_gemm, the kernel of matrix products, against NumPy in a wider dtype: dtypes, layouts, sizes, threads, special values."""
from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from numjet import _native
from numjet.cpu.kernels.products import result
from tests.native.gemm_checks import COMPLEX, FLOATS, INTEGERS, check, dtype_of, multiply, numbers

TILE_DATA = 18  # of the components of a thread's state that XGETBV tells (Intel's manual, volume 1, chapter 13)
EDGES = [*range(0, 35), 47, 48, 49, 63, 64, 65, 127, 128, 129]
LAYOUTS = {
    "rows": lambda shape, make: make(shape),
    "columns": lambda shape, make: make((shape[0], shape[2], shape[1])).swapaxes(1, 2),
    "wide rows": lambda shape, make: make((shape[0], shape[1], shape[2] + 3))[:, :, 2:shape[2] + 2],
    "every other": lambda shape, make: make((shape[0], 2 * shape[1], 2 * shape[2]))[:, ::2, ::2],
    "backwards": lambda shape, make: make(shape)[:, ::-1, ::-1],
    "batch inside": lambda shape, make: make((*shape[1:], shape[0])).transpose(2, 0, 1),
    "one for all": lambda shape, make: np.broadcast_to(make((1, *shape[1:])), shape),
}


def flags_of_cpu() -> list[str]:
    """What Linux says that the processor has."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf8").splitlines() if info.exists() else []
    return next((line.split() for line in lines if line.startswith("flags")), [])


def components_in_use() -> int:
    """The components of this thread's state that are not in their initial configuration."""
    source = """
        define i32 @in_use() {
          %parts = call i32 asm sideeffect "xgetbv", "={ax},{cx},~{dx}"(i32 1)
          ret i32 %parts
        }"""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(source), llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(engine.get_function_address("in_use"))()


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


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_products_of_integers_are_exact(dtype):
    one, rng = dtype_of(dtype), np.random.default_rng(0)
    x, y = (rng.integers(-8, 9, s).astype(one) for s in ((2, 50, 300), (2, 300, 70)))
    np.testing.assert_array_equal(multiply(x, y), x.astype(np.float64) @ y.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_bits_do_not_depend_on_how_rows_lie(dtype, level):
    """A few columns are computed from rows where they lie, or from copies of them."""
    for m, n, k in ((64, 64, 64), (77, 33, 300), (200, 50, 20), (130, 17, 512), (131, 65, 100)):
        x, y = numbers((1, m, k + 5), dtype_of(dtype), 0)[:, :, 2:k + 2], numbers((1, k, n), dtype_of(dtype), 1)
        columns = np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
        start = numbers((1, m, n), result(dtype_of(dtype)), 2)
        np.testing.assert_array_equal(multiply(x, y), multiply(columns, y))
        np.testing.assert_array_equal(multiply(x, y, start), multiply(columns, y, start))
        check(x, y, start)


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


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "uint8"])
@pytest.mark.parametrize("size", [(1, 16, 32), (15, 17, 33), (16, 16, 64), (17, 31, 65), (31, 32, 95), (32, 33, 127),
                                  (33, 47, 257), (100, 48, 600), (70, 200, 64)], ids=str)
def test_tiles_of_sixteen_rows_and_columns(dtype, size, level):
    m, n, k = size
    for left in LAYOUTS:
        x = LAYOUTS[left]((2, m, k), partial(numbers, dtype=dtype_of(dtype), seed=0))
        for right in ("rows", "columns", "every other"):
            y = LAYOUTS[right]((2, k, n), partial(numbers, dtype=dtype_of(dtype), seed=1))
            check(x, y)
            check(x, y, numbers((2, m, n), result(dtype_of(dtype)), 2))


@pytest.mark.skipif("amx_tile" not in flags_of_cpu(), reason="no AMX here")
def test_tiles_are_released():
    """Other libraries set up tiles of their own, and a thread that still has some is slower to switch."""
    multiply(numbers((1, 70, 90), dtype_of("bfloat16"), 0), numbers((1, 90, 60), dtype_of("bfloat16"), 1))
    assert not components_in_use() >> TILE_DATA & 1
