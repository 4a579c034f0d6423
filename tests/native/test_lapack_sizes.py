"""Workspaces of LAPACK: sizes that a float rounds down, and sizes beyond 32-bit integers. A stand-in for a routine checks."""
from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import ctypes
    import numpy as np
    from numjet import _native
    from numjet.cpu.kernels import lapack
    lapack.load()
    order, answer = {order}, {answer}
    P, I = ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)
    given = []

    @ctypes.CFUNCTYPE(None, P, P, I, P, I, P, ctypes.POINTER(ctypes.c_float), I, I, I, I)
    def syevd(job, triangle, n, a, lda, w, work, lwork, iwork, liwork, info):
        info[0] = 0
        if lwork[0] == -1:
            work[0], iwork[0] = answer, 3 + 5 * n[0]
        else:
            given.append((lwork[0], liwork[0]))

    set_routine = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(_native.kernel_address("nj_lapack_set"))
    assert set_routine(5, 0, 4, ctypes.cast(syevd, P).value) == 0
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5, P, P, P)(_native.kernel_address("nj_syevd"))
    status = run(0, {batch}, order, 1, 1, 0, 0, 0) if {batch} == 0 else None
    if status is None:
        a, v, w = np.eye(order, dtype=np.float32) * 1e-30, np.empty((order, order), np.float32), np.empty(order, np.float32)
        status = run(0, 1, order, 1, 1, a.ctypes.data, v.ctypes.data, w.ctypes.data)
    print(status, *(given[0] if given else ()))
"""


def run(order: int, answer: float, batch: int) -> list[int]:
    program = textwrap.dedent(PROGRAM).format(order=order, answer=answer, batch=batch)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("order", [100, 4097])
def test_workspace_that_a_float_rounds_down(order):
    least = 1 + 6 * order + 2 * order * order
    status, lwork, liwork = run(order, least - 2.0 * (order > 1000), 1)
    assert status == 0 and least <= lwork < 1.001 * least + 10 and liwork >= 3 + 5 * order


def test_workspace_beyond_the_integers_of_the_library_is_refused():
    assert run(100, 3e9, 0) == [3]
    assert run(40_000, -1.0, 0) == [3]   # the query has wrapped around
