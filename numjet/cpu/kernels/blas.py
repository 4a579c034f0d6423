"""The BLAS and LAPACK of the kernels for decompositions: OpenBLAS as shipped in the wheels of scipy (or numpy).

scipy's copy is loaded without importing scipy. On CPUs with AVX-512 OpenBLAS is told to use its SkylakeX kernels, which
it doesn't choose by itself on AMD's Zen (half the speed otherwise).
"""
from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path


@functools.cache
def library() -> tuple[ctypes.CDLL, str]:
    """The shared library and the pattern of its symbols.

    Raises RuntimeError when neither scipy nor numpy brings an OpenBLAS.
    """
    for package, pattern in (("scipy", "scipy_{}"), ("numpy", "scipy_{}64_")):
        for path in _candidates(package):
            lib = _load(path)
            # Its threads spin while they wait: next to our own work they collapse.
            getattr(lib, pattern.format("openblas_set_num_threads"))(1)
            return lib, pattern
    raise RuntimeError("no OpenBLAS found: numjet calls the one in the wheels of scipy or numpy (pip install scipy)")


def _load(path: Path) -> ctypes.CDLL:
    """Loads the library with the kernels for this CPU; other copies (NumPy's) keep the environment's choice."""
    kernels, before = _core_type(), os.environ.get("OPENBLAS_CORETYPE")
    if not kernels:
        return ctypes.CDLL(str(path))
    os.environ["OPENBLAS_CORETYPE"] = kernels
    try:
        return ctypes.CDLL(str(path))
    finally:
        if before is None:
            del os.environ["OPENBLAS_CORETYPE"]
        else:
            os.environ["OPENBLAS_CORETYPE"] = before


def _candidates(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    root = Path(spec.origin).parents[1]
    return sorted([*root.glob(f"{package}.libs/libscipy_openblas*"), *root.glob(f"{package}/.dylibs/libscipy_openblas*")])


def _core_type() -> str:
    """The kernels for this CPU; empty lets OpenBLAS choose."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf8")
    except OSError:
        return ""
    return "SkylakeX" if " avx512bw" in flags and "AuthenticAMD" in flags else ""
