"""Lazy loader of backends: a compiler is imported when the first program is compiled."""
from __future__ import annotations

import sys
from types import ModuleType

from numjet import _native
from numjet.foundation import locks

_XLA = "numjet.xla.backend"
_BACKENDS = {"cpu": "numjet.cpu.compiler", "xla_cpu": _XLA, "gpu": _XLA, "tpu": _XLA}
_SEVERAL = "numjet.xla.partitioned"
_PROCESSES = "numjet.xla.processes"
_COMPILER_BYTES = 1 << 28  # of address space: with less, the loader fails with a misleading message
_ALIASES = {"cuda": "gpu"}


def canonical(platform: str) -> str:
    """The name of a platform: cpu, xla_cpu, gpu or tpu. Raises RuntimeError for any other."""
    found = _ALIASES.get(platform, platform)
    if found not in _BACKENDS:
        raise RuntimeError(f"Unknown backend {platform!r}: expected one of {sorted(_BACKENDS)}. 'cpu' is numjet's own backend, "
                           "the others need jaxlib: pip install 'numjet[xla]', 'numjet[cuda]' or 'numjet[tpu]'.")
    return found


def load_backend(platform: str) -> ModuleType:
    """The module that compiles for a platform, see numjet.cpu.compiler and numjet.xla.backend."""
    return _loaded(_BACKENDS[canonical(platform)])


def load_partitioned() -> ModuleType:
    """The module that compiles programs for several devices, of whatever platform."""
    return _loaded(_SEVERAL)


def load_processes() -> ModuleType:
    """The module that connects the processes of a program."""
    return _loaded(_PROCESSES)


def _loaded(name: str) -> ModuleType:
    if name not in sys.modules:
        _native.require_memory(_COMPILER_BYTES)
    return locks.import_module(name)


def load_standalone() -> ModuleType:
    """The module that compiles for a linker, see numjet.cpu.standalone."""
    load_backend("cpu")
    return locks.import_module("numjet.cpu.standalone")


def load_stored() -> ModuleType:
    """The module that takes programs of the CPU from bytes, without a compiler, see numjet.cpu.native_code.stored."""
    return locks.import_module("numjet.cpu.native_code.stored")
