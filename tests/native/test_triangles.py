"""nj_trsm and nj_potrf: orders and widths around their blocks, by each instruction set, with backward errors as LAPACK's."""
from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from numjet import _native
from numjet.cpu.kernels import lapack
from numjet.cpu.native_code import jit

ROOT = Path(__file__).parents[2]
DTYPES = ("float32", "float64", "complex64", "complex128")
ORDERS = (1, 2, 7, 8, 9, 16, 31, 64, 65, 130, 203)  # around the rows that registers hold, and the order of a block
WIDTHS = (1, 5, 8, 16, 17, 32, 33, 70)
FORMS = list(itertools.product((0, 1), (0, 1), (0, 1, 2), (0, 1)))  # left, lower, transposed (2: conjugated, too), unit
MOST = 8.0  # eps times the size of the operands, which residuals may be
MARGIN = 64


def run(name: str, dtype: np.dtype, numbers: tuple[int, ...], *arrays: np.ndarray) -> np.ndarray:
    """The last array as the kernel leaves it; what lies around it must not change."""
    lapack.load()
    memory = np.full(arrays[-1].size + 2 * MARGIN, 99, dtype)
    out = memory[MARGIN:-MARGIN].reshape(arrays[-1].shape)
    out[...] = arrays[-1]
    pointers = [*[x.ctypes.data for x in arrays[:-1]], out.ctypes.data]
    types = [ctypes.c_int64] * (1 + len(numbers)) + [ctypes.c_void_p] * len(pointers)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(_native.kernel_address(name))
    assert kernel(DTYPES.index(dtype.name), *numbers, *pointers) == 0
    assert (memory[:MARGIN] == 99).all() and (memory[-MARGIN:] == 99).all()
    return out


def solve(a: np.ndarray, b: np.ndarray, left: int, lower: int, transposed: int, unit: int) -> np.ndarray:
    return run("nj_trsm", b.dtype, (1, *b.shape, left, lower, transposed, unit), a, b)


def residual(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    """How far a x is from b, in eps of the sizes of a and x."""
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    a, x = a.astype(wide), x.astype(wide)
    return float(np.abs(a @ x - b).max() / (np.abs(a) @ np.abs(x)).max() / np.finfo(b.dtype).eps)


def numbers(rng: np.random.Generator, dtype: np.dtype, *shape: int) -> np.ndarray:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def check_systems(dtype: np.dtype) -> None:
    rng = np.random.default_rng(0)
    forms = itertools.cycle(FORMS)
    for n, width in itertools.product(ORDERS, WIDTHS):
        a = numbers(rng, dtype, n, n) / dtype.type(np.sqrt(n)) + dtype.type(3) * np.eye(n, dtype=dtype)
        for left, lower, transposed, unit in itertools.islice(forms, 5):
            triangle = np.tril(a) if lower else np.triu(a)
            if unit:
                np.fill_diagonal(triangle, 1)
            meant = (triangle, triangle.T, triangle.conj().T)[transposed]
            b = numbers(rng, dtype, *((n, width) if left else (width, n)))
            x = solve(a, b, left, lower, transposed, unit)
            error = residual(meant, x, b) if left else residual(meant.T, x.T, b.T)
            assert error < MOST, (dtype.name, n, width, left, lower, transposed, unit)


def check_factors(dtype: np.dtype) -> None:
    rng = np.random.default_rng(1)
    for n in (*ORDERS, 161, 192, 320):
        x = numbers(rng, dtype, n, n)
        a = x @ x.conj().T + dtype.type(n) * np.eye(n, dtype=dtype)
        factor = run("nj_potrf", dtype, (1, n), a)
        assert not np.triu(factor, 1).any()
        assert residual(factor, factor.conj().T, a) < MOST, (dtype.name, n)
        a[n - 1, n - 1] = -1
        assert np.isnan(run("nj_potrf", dtype, (1, n), a)[np.tril_indices(n)]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems(dtype):
    check_systems(np.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors(dtype):
    check_factors(np.dtype(dtype))


@pytest.mark.parametrize(("instruction_set", "vector_bytes"), [("avx2", 32), ("baseline", 16)])
def test_narrower_vectors(instruction_set, vector_bytes):
    if vector_bytes > jit.host().vector_bytes:
        pytest.skip("the CPU does not have it")
    program = f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=ROOT,
                          env={**os.environ, "NUMJET_INSTRUCTION_SET": instruction_set})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("pivot", "number"), [(1e-40, 3e-39), (1e38, 2e38), (3e-38, 1.0), (-1e-45, 1e-45)])
def test_pivots_whose_inverse_loses_digits(pivot, number):
    """Numbers are divided by pivots near the ends of float32, where others are multiplied by the inverse."""
    a, b = np.diag(np.array([1, pivot, 2], np.float32)), np.array([[1], [number], [4]], np.float32)
    np.testing.assert_allclose(solve(a, b, 1, 1, 0, 0), b / np.diag(a)[:, None], rtol=2e-7)


def test_a_zero_pivot_is_infinite_and_stays_where_it_is_multiplied():
    a, b = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 1]], np.float32), np.ones((3, 1), np.float32)
    assert solve(a, b, 1, 1, 0, 0).ravel().tolist() == [1, np.inf, -np.inf]


if __name__ == "__main__":
    for each in ("float32", "float64"):
        check_systems(np.dtype(each))
        check_factors(np.dtype(each))
