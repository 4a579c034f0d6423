"""jaxlib's clients: one per platform, started with its first use. jax itself is never imported."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from numjet.foundation import locks
from numjet.foundation.config import config
from numjet.foundation.processes import state as processes
from numjet.xla import libraries

# jaxlib promises no stability; these are the supported versions.
OLDEST, BELOW = (0, 8), (0, 11)
EXTRAS = {"xla_cpu": "xla", "gpu": "cuda", "tpu": "tpu"}
_CUDA_PLUGINS = ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")


@functools.cache
def library() -> ModuleType:
    """The module jaxlib.xla_client. Raises RuntimeError when jaxlib is missing or of an unsupported version."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read while it loads: warnings and errors only
    try:
        xla_client = locks.import_module("jaxlib.xla_client")
    except ModuleNotFoundError:
        raise RuntimeError("The XLA backend needs jaxlib, which is not installed: pip install 'numjet[xla]' for XLA's CPU "
                           "client, 'numjet[cuda]' for NVIDIA GPUs, 'numjet[tpu]' for TPUs.") from None
    version = locks.import_module("jaxlib.version").__version__
    found = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if not OLDEST <= found < BELOW:
        wanted = f"jaxlib >= {'.'.join(map(str, OLDEST))}, < {'.'.join(map(str, BELOW))}"
        raise RuntimeError(f"The XLA backend needs {wanted}, found jaxlib {version}: pip install '{wanted.replace(' ', '')}'.")
    return xla_client


@functools.cache
def bindings() -> ModuleType:
    """The module jaxlib._jax, for what xla_client does not name."""
    library()
    return locks.import_module("jaxlib._jax")


_kept: list[Any] = []  # in a forked child: objects of jaxlib that must not be destroyed there
_clients: list[str] = []  # platforms whose clients were started, by this process or its parent before the fork


def check_fork() -> None:
    """Raises RuntimeError in a process that was forked from one with jaxlib's clients: their threads do not exist there."""
    if _kept:
        raise RuntimeError("XLA's clients (xla_cpu, gpu, tpu) do not survive a fork: this process was forked after its parent "
                           "had started one. Start processes by multiprocessing.get_context('spawn'), or fork before XLA is "
                           "first used. The platform 'cpu', numjet's own backend, works here.")


def keep_at_fork(things: Callable[[], list[Any]]) -> None:
    """In a forked child, keeps the objects of `things()` alive: destroying them would wait for threads that do not exist."""
    def keep() -> None:
        if not _clients:
            return
        _kept.extend([None, *things()])
        for thing in _kept:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    os.register_at_fork(after_in_child=keep)


def client_platform(platform: str) -> str:
    """The platform whose client runs programs of several devices of a platform: XLA's CPU client for numjet's "cpu"."""
    return "xla_cpu" if platform == "cpu" else platform


def client(platform: str) -> Any:
    """The PJRT client of a platform: xla_cpu, gpu or tpu. Raises RuntimeError, with the remedy, where there is none."""
    check_fork()
    return _client(platform)


@contextlib.contextmanager
def _enough_threads(devices: int) -> Iterator[None]:
    """A block in which XLA's CPU client is given threads for all devices to wait for each other in collectives; with fewer,
    as on a machine of few cores, they would wait for ever."""
    name = "PJRT_NPROC"
    if (devices == 1 and processes.count == 1) or name in os.environ:
        yield
        return
    os.environ[name] = str((os.cpu_count() or 1) + 8 * devices)  # each may wait in several programs at once
    try:
        yield
    finally:
        del os.environ[name]


def _of_processes() -> dict[str, Any]:
    """What the CPU client of one process of several is told: how it finds the others, and exchanges parts with them."""
    if processes.client is None:
        return {}
    return {"distributed_client": processes.client, "node_id": processes.index, "num_nodes": processes.count,
            "collectives": bindings().make_gloo_tcp_collectives(distributed_client=processes.client)}


@functools.cache
def _client(platform: str) -> Any:
    if platform not in EXTRAS:
        raise RuntimeError(f"Unknown backend {platform!r}: expected 'cpu' (numjet's own backend) or one of {sorted(EXTRAS)}.")
    xla = library()
    if platform == "xla_cpu":
        _clients.append(platform)
        libraries.register_lapack(xla)
        with _enough_threads(config.num_cpu_devices):
            return xla.make_cpu_client(num_devices=config.num_cpu_devices, **_of_processes())
    found = _cuda_library() if platform == "gpu" else _tpu_library()
    if found is None:
        raise RuntimeError(f"Unknown backend: {platform!r} requested, but it is not installed: pip install "
                           f"'numjet[{EXTRAS[platform]}]'.")
    name = "cuda" if platform == "gpu" else "tpu"
    _clients.append(platform)
    try:
        if not xla.pjrt_plugin_loaded(name):
            c_api = xla.load_pjrt_plugin_dynamically(name, str(found))
            functions = f"jax_{found.parent.name.removeprefix('xla_')}_plugin"  # the package beside jax_plugins.xla_cuda13
            if name == "cuda" and _folder(functions) is not None:
                libraries.register_cuda(xla, functions, c_api)
        if not xla.pjrt_plugin_initialized(name):
            xla.initialize_pjrt_plugin(name)
        return xla.make_c_api_client(name, xla.generate_pjrt_gpu_plugin_options() if name == "cuda" else None)
    except Exception as error:
        raise RuntimeError(f"Backend {platform!r} could not be started: {error}") from error


@functools.cache
def _context() -> tuple[Any, ModuleType]:
    """jaxlib's MLIR context with the dialects of programs."""
    library()
    ir = locks.import_module("jaxlib.mlir.ir")
    registry, context = ir.DialectRegistry(), ir.Context()
    locks.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in ("stablehlo", "chlo", "sdy"):
        locks.import_module(f"jaxlib.mlir.dialects.{dialect}").register_dialect(context)
    context.load_all_available_dialects()
    return context, ir


@functools.cache
def installed() -> bool:
    """Whether there is a jaxlib that fits."""
    try:
        library()
    except RuntimeError:
        return False
    return True


def parsed(text: str) -> Any:
    """A module as jaxlib's MLIR object, needed for programs with callbacks."""
    context, ir = _context()
    with context:
        return ir.Module.parse(text)


def hlo(text: str) -> Any:
    """A module in StableHLO, converted to HLO: jaxlib's XlaComputation."""
    return bindings().mlir.mlir_module_to_xla_computation(text, use_tuple_args=False,
                                                                                 return_tuple=False)


def hlo_text(text: str, metadata: bool) -> str:
    """A module in StableHLO as HLO text, perhaps with the metadata of its instructions."""
    computation = hlo(text)
    if not metadata:
        return computation.as_hlo_text()
    options = sys.modules[type(computation).__module__].HloPrintOptions()  # jaxlib's versions have it in different modules
    options.print_metadata = True
    return computation.get_hlo_module().to_string(options)


def program_platform(platform: str) -> str:
    """The name of a platform for lowering rules: cpu, cuda or tpu."""
    return {"xla_cpu": "cpu", "gpu": "cuda"}.get(platform, platform)


def _cuda_library() -> Path | None:
    for name in _CUDA_PLUGINS:
        with_suffix = _folder(name)
        if with_suffix is not None and (with_suffix / "xla_cuda_plugin.so").exists():
            return with_suffix / "xla_cuda_plugin.so"
    return None


def _tpu_library() -> Path | None:
    folder = _folder("libtpu")
    return folder / "libtpu.so" if folder is not None else None


def _folder(package: str) -> Path | None:
    """The folder of a package, without importing it (plugins would import jax)."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return None
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    return Path(places[0]) if places else None


def apply_settings(options: Any, settings: Mapping[str, Any] | None) -> None:
    """Puts a user's settings of XLA into the options of a compilation, which checks them."""
    rest = dict(settings or {})
    for effort in ("exec_time_optimization_effort", "memory_fitting_effort"):
        if effort in rest:
            setattr(options.executable_build_options, effort, rest.pop(effort))
    options.env_option_overrides = list(rest.items())
