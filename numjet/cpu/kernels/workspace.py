"""Workspace of library routines: their memory beyond operands and results, which comes from the buffer pool.

Routines whose threads share one matrix report its size. For the others it is measured: a call with no repetitions allocates
the memory of one thread and computes nothing.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence

from numjet import _native
from numjet.cpu.ir.nodes import Call, Expr, Function, GemmWithEpilogue, Stmt
from numjet.cpu.ir.traversal import blocks, side_by_side, upper_bound
from numjet.cpu.kernels import lapack
from numjet.cpu.kernels.products import GEMM, THEN

# Kernels with a function that reports it: nj_X_bytes(threads, arguments of nj_X), see native/runtime/threads/parallel.h.
_REPORTING = frozenset({GEMM, THEN, "nj_potrf", "nj_trsm", "nj_getrf", "nj_getri", "nj_geqrf", "nj_orgqr", "nj_syevd",
                        "nj_gesdd",
                        "nj_fft_complex", "nj_fft_real", "nj_fft_hermitian", "nj_convolution", "nj_convolution_long"})
# For other kernels, the argument with the number of repetitions (the batch).
_REPEATS = {**dict.fromkeys(lapack.KERNELS - _REPORTING, 1), **{f"nj_sort{n}": 1 for n in (1, 2, 3)}, "nj_top_k": 2,
            "nj_gtsv": 2}
_ROWS = {**{f"nj_sort{n}": slice(1, 4) for n in (1, 2, 3)}, "nj_top_k": slice(2, 5)}  # outer, axis, inner of what rows share
_ROWS_PER_CHUNK = 32768  # kChunkElements of native/kernels/sort/rows.h


def routines(function: Function) -> list[tuple[Call, bool]]:
    """The calls of a planned function, and whether they are in a block that runs several times at once."""
    return list(_calls(function.body, False))


def _calls(block: list[Stmt], parallel: bool) -> Iterator[tuple[Call, bool]]:
    for stmt in block:
        if isinstance(stmt, Call):
            yield stmt, parallel
        inside = parallel or side_by_side(stmt)
        for inner in blocks(stmt):
            yield from _calls(inner, inside)


def largest(calls: Sequence[tuple[Call, bool]], threads: int) -> int:
    """The largest workspace of a program at any time, in bytes."""
    return max((threads * of(call, 1) if parallel else of(call, threads) for call, parallel in calls), default=0)


def of(call: Call, threads: int = 1) -> int:
    """Bytes of workspace of one call with so many threads; 0 for routines that do not use the pool."""
    if call.symbol not in _REPEATS and call.symbol not in _REPORTING:
        return 0
    numbers: list[int | None] = []
    for a in call.args:
        most = None if isinstance(a, tuple) else upper_bound(a)
        if isinstance(a, Expr) and most is None:
            return 0  # part of a loop whose pieces are small
        numbers.append(most)
    if call.symbol in _REPORTING:
        kept = isinstance(call, GemmWithEpilogue) and call.result.kind != "tile"
        return _reported(GEMM if kept else call.symbol, threads, tuple(numbers))
    return _measured(call.symbol, tuple(numbers)) * min(threads, _chunks(call.symbol, numbers))


def _chunks(symbol: str, numbers: Sequence[int | None]) -> int:
    """How many chunks of its work a routine runs concurrently, each with a workspace of its own."""
    if symbol not in _ROWS:
        return 1
    outer, axis, inner = (n or 0 for n in numbers[_ROWS[symbol]])
    return -(-outer * inner // max(1, _ROWS_PER_CHUNK // max(1, axis)))


def _reported(symbol: str, threads: int, numbers: tuple[int | None, ...]) -> int:
    if symbol in lapack.KERNELS:
        lapack.load()
    kinds = [ctypes.c_void_p if n is None else ctypes.c_int64 for n in numbers]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *kinds)(_native.kernel_address(f"{symbol}_bytes"))
    return int(function(threads, *numbers))


@functools.lru_cache(maxsize=1024)
def _measured(symbol: str, numbers: tuple[int | None, ...]) -> int:
    """The pool's peak during a call with no repetitions."""
    address = lapack.address(symbol) or _native.kernel_address(symbol)
    kinds = [ctypes.c_void_p if n is None else ctypes.c_int64 for n in numbers]
    given = list(numbers)
    given[_REPEATS[symbol]] = 0
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)
    _native.synchronize()  # so that nobody else allocates
    return _native.pool_peak_during(lambda: function(*given))
