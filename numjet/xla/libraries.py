"""Libraries of functions that programs call by name, from jaxlib and its plugins: LAPACK on CPUs, cuSOLVER etc. on GPUs."""
from __future__ import annotations

import functools
from typing import Any

from numjet.foundation import locks

# The modules of the CUDA plugin's package with linear algebra; each has registrations().
_CUDA_MODULES = ("_linalg", "_solver", "_sparse", "_hybrid")


def register_lapack(xla: Any) -> None:
    """Makes LAPACK's functions known to XLA's CPU client; `prepare` loads them."""
    for platform, functions in locks.import_module("jaxlib.lapack").registrations().items():
        for name, function, version in functions:
            xla.register_custom_call_target(name, function, platform=platform, api_version=version)


def prepare(program: str) -> None:
    """Loads the libraries of a program's calls: LAPACK is SciPy's, which is slow to import."""
    if '"lapack_' in program:
        _load_lapack()


@functools.cache
def _load_lapack() -> None:
    locks.import_module("jaxlib.cpu._lapack").initialize()


@functools.cache
def register_cuda(xla: Any, package: str, c_api: Any) -> None:
    """Makes the functions of the CUDA plugin's package (jax_cuda13_plugin, say) known to the client of its C API."""
    extension = locks.import_module(f"{package}.cuda_plugin_extension")
    xla.register_custom_call_handler("CUDA", functools.partial(extension.register_custom_call_target, c_api))
    for module in _CUDA_MODULES:
        for name, function in locks.import_module(f"{package}.{module}").registrations().items():
            xla.register_custom_call_target(name, function, platform="CUDA", api_version=1)
