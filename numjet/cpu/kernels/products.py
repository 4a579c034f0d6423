"""The kernel of matrix products, `nj_gemm` (`native/kernels/gemm/`), as compiled programs call it.

    void nj_gemm(int64_t code, int64_t batch, int64_t m, int64_t n, int64_t k,
                 const char* a, int64_t a_batch, int64_t a_row, int64_t a_col,
                 const char* b, int64_t b_batch, int64_t b_row, int64_t b_col, char* c, int64_t add)

For each of `batch` products: C = A B, or C += A B if `add` is not 0. A is m x k and B is k x n, with any strides, in
elements; C is contiguous and overlaps neither. `code` is the dtype of A and B (CODES below); that of C is given by `result`.
Products of halves are exact and summed in float32, those of integers modulo 2**32 or 2**64; floats round once per
multiply-add if the CPU can. The order of each sum does not depend on the number of threads, and no product is skipped:
0 * inf is NaN. Subnormal numbers are kept, but for bfloat16 where the CPU has instructions for it.
The kernel shares its work among threads itself, and cannot fail: without memory for packed panels (of nj_gemm_bytes bytes)
it uses 384 KiB of stack.

    void nj_gemm_epilogue(... the same ..., int64_t whole, void (*then)(void* context, char* c, int64_t row, int64_t row_end,
                      int64_t column, int64_t column_end), void* context)

calls `then` for parts of C as soon as they are computed, in any order and any thread. Rows are counted through the whole
batch: element (i, j) is n * i + j elements behind `c`. With `whole`, rows are not split, and C may be null: then each part
exists only during the call, which may change it. That requires MOST_ROWS rows of C to fit into LINES_BYTES.

    void nj_gemm_rows(int64_t code, int64_t m, int64_t n, int64_t k, const char* a, int64_t a_row, int64_t a_col,
                      const char* b, int64_t b_row, int64_t b_col, char* c)

computes some rows of one product in the calling thread: the same bits wherever the rows are cut.

    int64_t nj_gemm_level(int64_t level)

limits its instruction set, for tests: 0 the baseline, 1 AVX2 and FMA, 2 AVX-512, 3 AVX-512 with VNNI, 4 and with BF16, 5 (the
default) and with AMX; at most that of the CPU. Returns the level in use.
"""
from __future__ import annotations

from math import prod

import numpy as np

from numjet.cpu.ir.nodes import Call, Stmt
from numjet.cpu.kernels import DTYPE_CODES
from numjet.foundation import dtypes

GEMM = "nj_gemm"
THEN = "nj_gemm_epilogue"
ROWS = "nj_gemm_rows"
LINES_BYTES, MOST_ROWS = 1 << 19, 14   # at most kLinesBytes of native/kernels/gemm/memory.h; enough rows for any kernel
CODES = {name: DTYPE_CODES[name] for name in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128")}
"""Codes of the dtypes that `nj_gemm` knows; complex numbers come last."""
NARROW = ("int8", "uint8", "int16", "uint16")
CONVOLUTIONS = ("nj_convolution", "nj_convolution_long")  # see kernels/__init__.py
CONVOLVED = [2, 3, 4, 5, *range(9, 15)]  # among its arguments: images, groups, channels, features, sizes of result and window
POINTERS = (5, 9, 13)     # A, B and C among the arguments
SIZES = slice(1, 5)       # batch, m, n, k among the arguments


def result(dtype: np.dtype) -> np.dtype | None:
    """The dtype of C for operands of `dtype`; None if the kernel does not support it."""
    if dtype.name not in CODES:
        return None
    if dtype.name in NARROW:
        return dtypes.int32
    return dtypes.float32 if dtype.kind != "c" and dtype.itemsize == 2 else dtype


def gemm_sizes(stmt: Stmt) -> tuple[int, int, int, int] | None:
    """batch, m, n, k of a call of the kernel; None for other statements, and if a size is unknown."""
    if not isinstance(stmt, Call) or stmt.symbol != GEMM or any(a.op != "const" for a in stmt.args[SIZES]):  # type: ignore[union-attr]
        return None
    batch, m, n, k = (int(a.attr) for a in stmt.args[SIZES])  # type: ignore[union-attr]
    return batch, m, n, k


def result_words(stmt: Call) -> int:
    """Elements of the buffer that a call of the kernel writes."""
    batch, m, n, _ = gemm_sizes(stmt) or (0, 0, 0, 0)
    code = int(stmt.args[0].attr)  # type: ignore[union-attr]
    return batch * m * n * (2 if code >= CODES["complex64"] else 1)


def multiply_adds(stmt: Stmt) -> int:
    """The size of a product or a convolution; 0 for other statements."""
    if isinstance(stmt, Call) and stmt.symbol in CONVOLUTIONS:
        sizes = [stmt.args[k] for k in CONVOLVED]
        return prod(int(a.attr) if a.op == "const" else 1 for a in sizes)
    return prod(gemm_sizes(stmt) or (0,))
