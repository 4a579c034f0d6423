"""nj_sort against NumPy, and against the definition by Python's stable sort of keys."""
from __future__ import annotations

import ctypes
import os

import ml_dtypes
import numpy as np
import pytest

from numjet import _native
from numjet.cpu.kernels import DTYPE_CODES as CODES

SMALL_INTEGERS = ["int4", "uint4", "int2", "uint2"]
SIZES = [0, 1, 2, 3, 17, 100, 1000]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def nj_sort(operands, num_keys=1, axis=-1, in_place=False):
    """Calls the kernel along one axis of equally shaped arrays, whatever their strides."""
    operands = [np.asarray(x) for x in operands]
    axis %= operands[0].ndim
    outs = operands if in_place else [np.empty(x.shape, x.dtype) for x in operands]
    views = [(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)) for a, b in zip(operands, outs, strict=True)]
    for index in np.ndindex(views[0][0].shape[:-1]):
        rows = [(a[index], b[index]) for a, b in views]
        status = call([a for a, _ in rows], [b for _, b in rows], num_keys, 1, len(rows[0][0]), 1,
                      [(0, a.strides[0], 0) for a, _ in rows], [(0, b.strides[0], 0) for _, b in rows])
        assert status == 0
    return outs


def call(ins, outs, num_keys, outer, axis, inner, in_strides=None, out_strides=None, codes=None):
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(integer, integer, integer, *[pointer] * 3, *[integer] * 3, pointer, pointer)
    words = [np.array([CODES[x.dtype.name] for x in ins] if codes is None else codes, np.int64)]
    words += [np.array([x.ctypes.data for x in arrays], np.int64) for arrays in (ins, outs)]
    steps = [None if s is None else np.array(s, np.int64) for s in (in_strides, out_strides)]
    pointers = [w.ctypes.data for w in words]
    step_pointers = [None if s is None else s.ctypes.data for s in steps]
    kernel = prototype(_native.kernel_address("nj_sort"))
    return kernel(len(ins), num_keys, *pointers, outer, axis, inner, *step_pointers)


def order_key(x):
    """The total order: NaN last, -0 equal to 0, complex by real part first."""
    if isinstance(x, complex):
        return order_key(x.real) + order_key(x.imag)
    return (x != x, 0.0 if x != x else x)


def python_argsort(keys):
    columns = [[order_key(v) for v in k.astype(wide(k.dtype)).tolist()] for k in keys]
    return sorted(range(len(keys[0])), key=lambda i: tuple(c[i] for c in columns))


def wide(dtype):
    if dtype.kind in "iub" or dtype.kind == "c":
        return dtype
    return np.int64 if dtype.name in SMALL_INTEGERS else np.float64


def special(name: str, n: int, seed: int = 0) -> np.ndarray:
    """Random bits: NaNs of both signs, infinities, zeros of both signs and ties included."""
    rng, dtype = np.random.default_rng(seed), dtype_of(name)
    if name in SMALL_INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        return rng.integers(int(info.min), int(info.max) + 1, n).astype(dtype)
    if name == "bool":
        return rng.integers(0, 2, n).astype(bool)
    x = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()
    if dtype.kind in "iu" or name == "float8_e8m0fnu" or dtype.itemsize == 1:
        return x
    pool = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0], dtype)
    if dtype.kind == "c":
        pool = np.array([complex(a, b) for a in (0.0, -0.0, np.nan, 1.0) for b in (0.0, -0.0, np.nan, -1.0)], dtype)
    x[: n // 2] = rng.choice(pool, n // 2)
    return rng.permutation(x)


def same_bits(a, b):
    return a.tobytes() == b.tobytes()


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", list(CODES))
def test_sorts_every_dtype_as_defined(name, n):
    x = special(name, n)
    (out,) = nj_sort([x])
    assert same_bits(out, x[python_argsort([x])])


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("name", list(CODES))
def test_carries_other_operands_along_in_stable_order(name):
    x = special(name, 777, seed=1)
    positions = np.arange(777, dtype=np.int32)
    keys, moved = nj_sort([x, positions])
    order = python_argsort([x])
    assert moved.tolist() == order
    assert same_bits(keys, x[order])


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64", "uint8"])
def test_large_rows_equal_numpy(name):
    rng = np.random.default_rng(2)
    x = (rng.normal(size=100_000) * 100).astype(name)
    values, order = nj_sort([x, np.arange(len(x), dtype=np.int64)])
    np.testing.assert_array_equal(values, np.sort(x))
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(nj_sort([x])[0], np.sort(x))


def test_64_bit_keys_with_long_runs_of_equal_upper_halves():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 50, 20_000) + (rng.integers(0, 3, 20_000) << 40)
    _, order = nj_sort([x, np.arange(len(x), dtype=np.int32)])
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("names", [("int32", "float32"), ("float64", "int8", "complex128"), ("complex64", "bool")])
def test_several_keys_sort_lexicographically(names):
    rng = np.random.default_rng(4)
    keys = [rng.integers(-2, 3, 500).astype(name) for name in names]
    payload = np.arange(500, dtype=np.int64)
    *sorted_keys, order = nj_sort([*keys, payload], num_keys=len(keys))
    expected = python_argsort(keys)
    assert order.tolist() == expected
    for out, key in zip(sorted_keys, keys, strict=True):
        assert same_bits(out, key[expected])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_middle_axis_of_contiguous_arrays(axis):
    x = np.random.default_rng(5).normal(size=(3, 5, 7)).astype(np.float32)
    outer, inner = int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis + 1 :]))
    out, order = np.empty_like(x), np.empty(x.shape, np.int32)
    positions = np.ascontiguousarray(np.broadcast_to(
        np.arange(x.shape[axis], dtype=np.int32).reshape([-1 if a == axis else 1 for a in range(3)]), x.shape))
    assert call([x], [out], 1, outer, x.shape[axis], inner) == 0
    np.testing.assert_array_equal(out, np.sort(x, axis))
    assert call([x, positions], [out, order], 1, outer, x.shape[axis], inner) == 0
    np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))


def test_strided_input_and_output():
    x = np.random.default_rng(6).normal(size=(40, 30))[::2, ::-3]
    for axis in (0, 1):
        np.testing.assert_array_equal(nj_sort([x], axis=axis)[0], np.sort(x, axis))


@pytest.mark.parametrize("operands", [1, 2])
def test_in_place(operands):
    x = np.random.default_rng(7).normal(size=300)
    expected = [np.sort(x), np.argsort(x, kind="stable")][:operands]
    outs = nj_sort([x.copy(), np.arange(300)][:operands], in_place=True)
    for out, want in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, want)


def test_empty_extents_do_nothing():
    x = np.zeros((2, 0, 3), np.float32)
    assert call([x], [x], 1, 2, 0, 3) == 0
    assert call([x, x], [x, x], 1, 0, 5, 3) == 0


def test_bad_arguments_are_reported():
    x = np.zeros(4, np.float32)
    assert call([x], [x], 1, 1, 4, 1, codes=[99]) == 2
    assert call([x], [x], 1, 1, 4, 1, codes=[-1]) == 2
    assert call([x], [x], 2, 1, 4, 1) == 2
    assert call([x], [x], 0, 1, 4, 1) == 2
    assert call([x], [x], 1, -1, 4, 1) == 2


def test_rows_are_shared_among_threads_with_equal_results():
    rng = np.random.default_rng(0)
    x, positions = rng.normal(size=(64, 3000)).astype(np.float32), np.tile(np.arange(3000, dtype=np.int32), (64, 1))
    before, results, shared = _native.num_threads(), [], []
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            regions = _native.parallel_regions()
            values, order = [np.empty_like(x), np.empty_like(x)], np.empty_like(positions)
            assert call([x], values[:1], 1, 64, 3000, 1) == 0
            assert call([x, positions], [values[1], order], 1, 64, 3000, 1) == 0
            results.append([a.tobytes() for a in (*values, order)])
            shared.append(_native.parallel_regions() - regions)
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1] and results[0][0] == results[0][1] == np.sort(x, 1).tobytes()
    assert shared[0] == 0 and shared[1] == (2 if len(os.sched_getaffinity(0)) > 1 else 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_long_rows_of_bytes_are_counted(dtype):
    data = np.random.default_rng(0).integers(-128, 128, (3, 5001)).astype(np.int8)
    data = data > 0 if dtype == "bool" else data.view(dtype)
    (out,) = nj_sort([data])
    assert out.tobytes() == np.sort(data).tobytes()


def _long_keys(dtype, n, kind):
    rng = np.random.default_rng(n)
    if kind == "few":
        return rng.integers(0, 300, n).astype(dtype)
    if kind == "equal":
        return np.full(n, 7, dtype)
    bits = rng.integers(0, 2**32, n, np.uint32)
    if np.dtype(dtype) != np.float32:
        return bits.astype(np.uint64).astype(dtype) if np.dtype(dtype).itemsize == 8 else bits.view(dtype)
    x = rng.normal(size=n).astype(np.float32)
    x[::97] = {"any": 0.0, "nan": np.nan, "zeros": -0.0}[kind]
    return x


@pytest.mark.parametrize("n", [4095, 4096, 70_001, 300_000])
@pytest.mark.parametrize("dtype,kind", [("int32", "any"), ("uint32", "any"), ("float32", "any"), ("float32", "nan"),
                                        ("float32", "zeros"), ("int32", "few"), ("int64", "few"), ("int64", "any"),
                                        ("float64", "few"), ("uint32", "equal"), ("float32", "equal"), ("int16", "few")])
@pytest.mark.parametrize("rest", ["int32", "float32", "int64"])
@pytest.mark.parametrize("ordered", [False, True])
def test_long_rows_with_companions(n, dtype, kind, rest, ordered):
    """Pairs of 32 bits travel in one word; few different digits are counted; others are gathered. All are stable."""
    keys = _long_keys(dtype, n, kind)
    other = np.arange(n) if ordered else np.random.default_rng(1).permutation(n)
    other = other.astype(rest)
    order = np.argsort(keys, kind="stable")   # NaNs last, zeros equal, as here
    for in_place in (False, True):
        operands = [keys.copy(), other.copy()]
        got = nj_sort(operands, in_place=in_place)
        width = f"uint{8 * got[0].itemsize}"
        np.testing.assert_array_equal(got[0].view(width), keys[order].view(width))
        np.testing.assert_array_equal(got[1], other[order])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
def test_long_rows_with_companions_in_steps(dtype):
    """Many rows, which threads share, and rows that are no neighbours in memory."""
    keys = _long_keys(dtype, 5000 * 6, "any").reshape(5000, 6)
    other = np.random.default_rng(1).permutation(keys.size).astype(np.int32).reshape(keys.shape)
    got = nj_sort([keys, other], axis=0)
    order = np.argsort(keys, axis=0, kind="stable")
    for a, b in zip(got, (keys, other), strict=True):
        np.testing.assert_array_equal(a, np.take_along_axis(b, order, 0))
    outs = [np.empty((6, 5000), dtype), np.empty((6, 5000), np.int32)]
    assert call([np.ascontiguousarray(keys.T), np.ascontiguousarray(other.T)], outs, 1, 6, 5000, 1) == 0
    for a, b in zip(outs, got, strict=True):
        np.testing.assert_array_equal(a, b.T)
