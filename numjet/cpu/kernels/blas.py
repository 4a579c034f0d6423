"""BLAS and LAPACK for decompositions: OpenBLAS as shipped in the wheels of scipy (or numpy).

scipy's copy is loaded without importing scipy. It chooses its kernels by the CPU or by OPENBLAS_CORETYPE, which belongs to
the user. (Old versions choose those for Haswell on AMD's Zen 4, where OPENBLAS_CORETYPE=SkylakeX is faster.)
"""
from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os


@functools.cache
def library() -> tuple[ctypes.CDLL, str]:
    """The shared library and the pattern of its symbols.

    Raises RuntimeError when neither scipy nor numpy brings an OpenBLAS.
    """
    for package, pattern in (("scipy", "scipy_{}"), ("numpy", "scipy_{}64_")):
        for path in _candidates(package):
            lib = ctypes.CDLL(path)
            # Its threads spin while they wait, which would slow our own threads down.
            getattr(lib, pattern.format("openblas_set_num_threads"))(1)
            return lib, pattern
    raise RuntimeError("no OpenBLAS found: numjet calls the one in the wheels of scipy or numpy (pip install scipy)")


def integer_bytes(pattern: str) -> int:
    """The size of the integers that the library takes."""
    return 8 if pattern.endswith("64_") else 4


def _candidates(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    root = glob.escape(os.path.dirname(os.path.dirname(spec.origin)))
    places = (f"{package}.libs", os.path.join(package, ".dylibs"))
    return sorted(path for place in places for path in glob.glob(os.path.join(root, place, "libscipy_openblas*")))
