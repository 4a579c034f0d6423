"""Starts the workers, in turn, and collects their times."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
_IMPORT = "import time, numpy; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def environment() -> dict[str, str]:
    """The workers' environment: no machine code compiled earlier is found again, Python's byte code is (as it is for
    installed packages), and numjet is that of this checkout."""
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
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


def times(python: str, package: str, names: list[str]) -> dict[str, float]:
    """Seconds by workload; every workload gets a process of its own."""
    found = {}
    for name in names:
        if name == "import_package":
            found[name] = import_seconds(python, package)
        else:
            found.update(json.loads(output([python, str(HERE / "worker.py"), package, name]).splitlines()[-1]))
    return found
