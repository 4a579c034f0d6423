"""Diagnosis of an installation: versions, processor, threads, caches and devices, then small programs with known results.

    python -m numjet doctor               exit status 1 if a check fails

The report is what a bug report needs. Checks compare compiled programs with NumPy, so they fail where machine code, kernels or
threads don't do what they should on this processor.
"""
from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet as nj
from numjet import _native, lax, numpy as jnp
from numjet.cpu.native_code import jit as native
from numjet.foundation import disk_cache
from numjet.foundation.config import config
from numjet.foundation.flags import FLAGS

PACKAGES = ("numpy", "scipy", "ml_dtypes", "llvmlite", "opt_einsum")
OPTIONAL = ("jaxlib", "jax", "tqdm", "matplotlib")


class Row(NamedTuple):
    """A line of the report."""

    name: str
    value: str


def installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions() -> Iterator[Row]:
    yield Row("numjet", nj.__version__)
    yield Row("Python", f"{platform.python_version()} ({platform.python_implementation()}), {platform.platform()}")
    for package in PACKAGES:
        yield Row(package, installed(package) or "missing: pip install " + package)
    extras = [f"{package} {version}" for package in OPTIONAL if (version := installed(package))]
    yield Row("beside it", ", ".join(extras) or "none")


def processor() -> Iterator[Row]:
    target = native.host()
    yield Row("processor", f"{target.cpu}, {platform.machine()}")
    yield Row("vectors", f"{target.vector_bytes} bytes")
    yield Row("caches", ", ".join(f"{name} {getattr(target.caches, name) // 1024} KiB" for name in ("l1", "l2", "last_level")))
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Row("threads", f"{_native.num_threads()} of {allowed} processors that this process may use")


def storage() -> Iterator[Row]:
    place = disk_cache.folder()
    yield Row("cache of machine code", "off" if place is None else f"{place} ({size_of(place):.1f} MiB)")


def size_of(place: str | os.PathLike[str]) -> float:
    """MiB of the files of a folder; 0 for one that is not there yet."""
    if not os.path.isdir(place):
        return 0.0
    return sum(entry.stat().st_size for entry in os.scandir(place) if entry.is_file()) / 2 ** 20


def devices() -> Iterator[Row]:
    yield Row("devices", ", ".join(map(str, nj.devices())))
    for name in ("xla_cpu", "gpu", "tpu"):
        yield Row(name, devices_of(name))


def devices_of(name: str) -> str:
    try:
        return ", ".join(map(str, nj.devices(name)))
    except RuntimeError as error:
        return "none: " + str(error).splitlines()[0]


def changed_flags() -> Iterator[Row]:
    for flag in FLAGS:
        value = getattr(config, flag.name)
        if value != flag.default:
            yield Row(flag.name, repr(value))


# ---------------------------------------------------------------------------------------------------- checks

def close(actual: Any, expected: Any, tolerance: float = 1e-5) -> bool:
    return bool(np.allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance))


def arithmetic() -> bool:
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    return close(nj.jit(lambda x: jnp.exp(jnp.sin(x)) / (1 + x * x))(x), np.exp(np.sin(x)) / (1 + x * x))


def derivative() -> bool:
    return close(nj.jit(nj.grad(lambda x: x ** 3))(2.0), 12.0)


def loop() -> bool:
    total = nj.jit(lambda n: lax.fori_loop(0, n, lambda i, t: t + i, 0))(1000)
    return int(total) == 499500


def threads_agree() -> bool:
    x = np.random.default_rng(0).normal(size=1_000_003).astype(np.float32)
    parts = nj.jit(lambda x: (jnp.sum(x), jnp.sort(x)))(x)
    return close(parts[0], x.sum(dtype=np.float64), 1e-2) and bool(np.array_equal(np.asarray(parts[1]), np.sort(x)))


def product() -> bool:
    a, b = np.random.default_rng(1).normal(size=(2, 129, 129)).astype(np.float32)
    return close(nj.jit(jnp.matmul)(a, b), a @ b, 1e-3)


def factorization() -> bool:
    a = np.random.default_rng(2).normal(size=(9, 9)).astype(np.float32) + 9 * np.eye(9, dtype=np.float32)
    return close(nj.jit(jnp.linalg.solve)(a, np.ones(9, np.float32)), np.linalg.solve(a, np.ones(9)), 1e-4)


def transform() -> bool:
    x = np.random.default_rng(3).normal(size=96).astype(np.float32)
    return close(nj.jit(jnp.fft.fft)(x), np.fft.fft(x), 1e-3)


def random_bits() -> bool:
    return np.asarray(nj.random.bits(nj.random.key(0), (2,))).tolist() == [4070199207, 4202968722]


CHECKS: dict[str, Callable[[], bool]] = {
    "arithmetic": arithmetic, "derivative": derivative, "loop": loop, "threads": threads_agree, "matrix product": product,
    "factorization": factorization, "Fourier transform": transform, "random bits": random_bits}


def outcome(check: Callable[[], bool]) -> tuple[bool, str]:
    """Whether a check holds, and what the report says: its time, or what went wrong."""
    start = time.perf_counter()
    try:
        good = check()
    except Exception as error:
        return False, f"FAILED: {type(error).__name__}: {error}"
    return good, f"ok, {(time.perf_counter() - start) * 1e3:.0f} ms" if good else "FAILED: wrong result"


def show(title: str, rows: Sequence[Row]) -> None:
    print(title)
    width = max(len(row.name) for row in rows) + 2
    for row in rows:
        print(f"  {row.name:{width}}{row.value}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report; 1 if a check failed."""
    argparse.ArgumentParser(prog="python -m numjet doctor", description=(__doc__ or "").split("\n")[0]).parse_args(arguments)
    for title, part in (("Versions", versions), ("Machine", processor), ("Storage", storage), ("Devices", devices)):
        show(title, list(part()))
    flags = list(changed_flags())
    show("Flags", flags or [Row("all", "have their defaults")])
    results = {name: outcome(check) for name, check in CHECKS.items()}
    show("Self-test", [Row(name, text) for name, (_, text) in results.items()])
    return 0 if all(good for good, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
