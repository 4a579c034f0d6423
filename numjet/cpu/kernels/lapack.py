"""Registration of LAPACK routines: passes their addresses once to the kernels of native/kernels/linalg/.

The native core keeps the addresses, never a compiled program, which may be stored on disk.
"""
from __future__ import annotations

import ctypes
import functools

from numjet import _native
from numjet.foundation import lazy_import

blas = lazy_import.Module("numjet.cpu.kernels.blas")

# In the order of native/kernels/linalg/lapack.h. A second name is for complex dtypes: `-` where they have none.
_ROUTINES = ("potrf", "trsm", "getrf", "geqrf", "orgqr/ungqr", "syevd/heevd", "gesdd", "geev", "gees", "gehrd",
             "geqp3", "sytrd/hetrd", "gemm", "stedc", "gebrd", "bdsdc/-")
KERNELS = frozenset({"nj_potrf", "nj_trsm", "nj_getrf", "nj_geqrf", "nj_orgqr", "nj_syevd", "nj_gesdd", "nj_geev",
                     "nj_gees", "nj_gehrd", "nj_geqp3", "nj_sytrd", "nj_getri"})


@functools.cache
def load() -> None:
    """Passes the addresses of all routines to the kernels. Raises RuntimeError if there is no OpenBLAS."""
    lib, pattern = blas.library()
    give = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(_native.kernel_address("nj_lapack_set"))
    for k, code, name in routines():
        function = getattr(lib, pattern.format(name))
        status = give(k, code, blas.integer_bytes(pattern), ctypes.cast(function, ctypes.c_void_p).value or 0)
        if status:
            raise RuntimeError(f"the native core refused the address of {name} with status {status}")


def routines() -> list[tuple[int, int, str]]:
    """(number of the routine, number of the dtype, name) of all that nj_lapack_set is to be given."""
    found = []
    for k, names in enumerate(_ROUTINES):
        real, _, other = names.partition("/")
        found += [(k, code, letter + (other if other and code > 1 else real) + "_") for code, letter in enumerate("sdcz")
                  if code < 2 or other != "-"]
    return found


def address(name: str) -> int | None:
    """The address of a kernel that calls LAPACK, after loading that; None for other names."""
    if name not in KERNELS:
        return None
    load()
    return _native.kernel_address(name)
