"""Persistent programs: compiled programs on disk under a hash of their jaxpr, and of all else that a compilation depends on.

A program that another process compiled is neither lowered nor compiled here. Left out are programs that call Python, hold
effects or operations of users' own, or much data; and all of them while a flag asks for what only a compilation does (dumps,
verification, checks of passes).
"""
from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Missing, Op
from numjet.core.walk import all_eqns
from numjet.foundation import disk_cache, events
from numjet.foundation.config import config
from numjet.runtime import backends

MOST_BYTES = 1 << 22   # of a stored program and its constants: with more, the folder would be full of arrays
# Flags that say where and what is logged, counted and kept, not what programs are.
_IRRELEVANT = frozenset(("jax_compilation_cache_dir", "jax_enable_compilation_cache", "jax_compilation_cache_max_size",
                         "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes",
                         "jax_raise_persistent_cache_errors", "numjet_cache", "jax_log_compiles", "jax_explain_cache_misses",
                         "jax_no_tracing", "jax_traceback_filtering", "jax_array_garbage_collection_guard"))
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
enabled = True   # tests of the levels below turn it off


def allowed() -> bool:
    """Whether programs are taken from the disk, and kept there."""
    return enabled and disk_cache.folder() is not None and not (
        config.dump or config.verify or config.enable_checks or config.perf_map)


def surroundings() -> tuple[str, ...]:
    """What all programs depend on, beside themselves: versions, the machine, and the flags."""
    flags = ",".join(f"{name}={value!r}" for name, value in config.values.items() if name not in _IRRELEVANT)
    return *_machine(), str(_native.num_threads()), flags


def key(closed: ClosedJaxpr, name: str, donated: Sequence[bool]) -> str | None:
    """The name of a program on disk; None for one that is not kept there."""
    if not allowed() or closed.effects or sum(getattr(c, "nbytes", 8) for c in closed.consts) > MOST_BYTES:
        return None
    if not all(_is_own(eqn.primitive) for eqn in all_eqns(closed.jaxpr)):
        return None
    try:
        content = hooks.program_bytes(closed)
    except ValueError:   # it calls Python functions
        return None
    return disk_cache.key(content, "program", name, "".join("01"[d] for d in donated), *surroundings())


def _is_own(op: Any) -> bool:
    """Whether an operation is lowered by a rule of numjet's, which has the same version as numjet."""
    if type(op) is not Op:
        return False
    rule = op.cpu
    while isinstance(rule, functools.partial):
        rule = rule.func
    return isinstance(rule, Missing) or (getattr(rule, "__module__", None) or "").split(".")[0] == "numjet"


def find(name: str, on_error: Any) -> Any:
    """The stored program of that name, linked, or None. on_error: see cpu.native_code.stored.load."""
    content = disk_cache.find(name, "stored_program")
    if content is None:
        return None
    try:
        return backends.load_stored().load(content, on_error)
    except (ValueError, KeyError, TypeError, RuntimeError):   # of another version, whatever its name says: compile
        events.count("stored_program.unusable")
        return None


def keep(name: str, program: Any, began: float) -> None:
    """Stores a program that was compiled since `began`; once more when its second tier is there."""
    portable = program.portable
    if portable is None or portable.nbytes > MOST_BYTES:
        return
    seconds = time.perf_counter() - began

    def write() -> None:
        disk_cache.keep(name, portable.pack(), seconds, "stored_program")
    write()
    portable.observer = write


@functools.cache
def _machine() -> tuple[str, ...]:
    """The versions of all that makes programs, and the processor."""
    version = str(sys.modules["numjet"].__version__)
    return version, _sources(), np.__version__, sys.version, _libraries(), _native.cpu_identity(), str(_native.caches(""))


def _sources() -> str:
    """What tells one state of numjet's files from another. Those of a checkout, and installed ones, too, may be edited."""
    text = "\n".join(sorted(_stamps(_PACKAGE)))
    return str(disk_cache.blake2.blake2b(text.encode(), digest_size=16).hexdigest())


def _stamps(folder: str) -> list[str]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                found += _stamps(entry.path)
            elif entry.name.endswith((".py", ".so", ".pyd")):
                status = entry.stat()
                found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns} ")
    return found


# Libraries that traces and programs depend on, with a file that changes with the version.
_LIBRARIES = (("llvmlite", "_version.py"), ("ml_dtypes", "__init__.py"), ("opt_einsum", "__init__.py"), ("scipy", "version.py"))


def _libraries() -> str:
    """Which libraries would be used here; they are not imported to be asked."""
    return "".join(_stamp(name, file) for name, file in _LIBRARIES)


def _stamp(library: str, file: str) -> str:
    for folder in sys.path:
        try:
            status = os.stat(os.path.join(folder or ".", library, file))
        except OSError:
            continue
        return f"{folder} {library} {status.st_size} {status.st_mtime_ns} "
    return f"no {library} "
