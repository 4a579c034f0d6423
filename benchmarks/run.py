"""Starts the workers, in turn, and collects their times."""
from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_IMPORT = "import time, numpy; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
Times = dict[str, dict[str, float]]   # by package, then by workload, in seconds


def environment() -> dict[str, str]:
    """The workers' environment: no machine code compiled earlier is found again, Python's byte code is (as it is for
    installed packages), and numjet is that of this checkout."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "NUMJET_CACHE": "0", "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def output(command: list[str]) -> str:
    """What a command prints. Raises RuntimeError with its error output when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def import_seconds(python: str, package: str, repeats: int = 9) -> float:
    """Least time of importing a package after numpy, each time in a new process; the first import is not counted."""
    command = [python, "-c", _IMPORT.format(package)]
    output(command)
    return min(float(output(command)) for _ in range(repeats))


def seconds(python: str, package: str, name: str) -> float:
    """The time of one workload, in a process of its own."""
    if name == "import_package":
        return import_seconds(python, package)
    return json.loads(output([python, "-m", "benchmarks.worker", package, name]).splitlines()[-1])[name]


def times(pythons: dict[str, str], names: Sequence[str], numpy_names: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """(name, package, seconds) of every workload on every package, one package right after the other, so that a busy
    machine is busy for all of them. pythons: an interpreter by package."""
    for name in names:
        for package, python in pythons.items():
            if package != "numpy" or name in numpy_names:
                yield name, package, seconds(python, package, name)


def machine(pythons: dict[str, str]) -> str:
    """The processor, how many cores there are, and the versions that are compared."""
    versions = [f"{package} {output([python, '-c', f'import {package}; print({package}.__version__)']).strip()}"
                for package, python in pythons.items()]
    return f"{processor()}, {os.cpu_count()} logical cores, Python {platform.python_version()}, {', '.join(versions)}"


def processor() -> str:
    """Its name, as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf8").splitlines() if info.exists() else []
    named = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
    return named or platform.processor() or platform.machine()
