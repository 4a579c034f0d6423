"""nj_gemm, the kernel of matrix products, called on NumPy arrays and compared with NumPy in a wider dtype."""
from __future__ import annotations

import ctypes
import functools
import hashlib
from collections import OrderedDict

import ml_dtypes
import numpy as np

from numjet import _native
from numjet.cpu.kernels.products import CODES, GEMM, result

FLOATS = ["float32", "float64", "bfloat16", "float16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
COMPLEX = ["complex64", "complex128"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


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


@functools.lru_cache(96)
def numbers(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    """Random numbers, the same array for the same arguments: it is read-only."""
    x = _numbers(shape, dtype, np.random.default_rng(seed))
    x.setflags(write=False)
    return x


def _numbers(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


class Exact:
    """Memoization of reference products by the elements of the factors: other instructions, layouts and starts share them."""

    def __init__(self, most: int = 256, most_bytes: int = 1 << 20):
        self.most, self.most_bytes = most, most_bytes
        self.known: OrderedDict[bytes, tuple[np.ndarray, np.ndarray | None]] = OrderedDict()

    def __call__(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """x @ y in a wider dtype; and the product of the sizes of the elements, None for integers."""
        key = _digest(x) + _digest(y)
        found = self.known.pop(key, None) or _product(x, y)
        if found[0].nbytes <= self.most_bytes:
            self.known[key] = found
        while len(self.known) > self.most:
            self.known.popitem(last=False)
        return found


def _digest(x: np.ndarray) -> bytes:
    return hashlib.blake2b(f"{x.dtype.name}{x.shape}".encode() + x.tobytes()).digest()


def _product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    wide = result(x.dtype) if x.dtype.kind in "iu" else np.dtype(np.complex128 if x.dtype.kind == "c" else np.float64)
    a, b = x.astype(wide), y.astype(wide)
    return a @ b, None if x.dtype.kind in "iu" else np.abs(a) @ np.abs(b)


exact = Exact()


def check(x: np.ndarray, y: np.ndarray, start: np.ndarray | None = None) -> None:
    got, k = multiply(x, y, start), x.shape[2]
    want, size = exact(x, y)
    if size is None:
        np.testing.assert_array_equal(got, want if start is None else want + start)
        return
    if start is not None:
        want, size = want + start, size + np.abs(start)
    # Each of k sums rounds, by at most eps / 2 of what has been added up so far; a complex one is two of two products.
    bound = (k + 2) * np.finfo(got.dtype).eps * size * (3 if x.dtype.kind == "c" else 1)
    assert (np.abs(got - want) <= bound).all()
