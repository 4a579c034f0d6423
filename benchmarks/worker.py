"""Times workloads on one implementation, in this process: `python -m benchmarks.worker PACKAGE NAME...` prints JSON.

PACKAGE is numjet, jax or numpy; another environment's Python needs nothing of numjet to run it.
"""
from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from benchmarks.arrays import NumPy
from benchmarks.workloads import WORKLOADS


def implementation(package: str) -> Any:
    """Its top module, with the parts that workloads name imported."""
    if package == "numpy":
        return NumPy
    top = importlib.import_module(package)
    for part in ("numpy", "lax", "nn", "random"):
        importlib.import_module(f"{package}.{part}")
    return top


def main(package: str, names: list[str]) -> None:
    """Prints {name: seconds} for the workloads named."""
    top = implementation(package)
    print(json.dumps({name: WORKLOADS[name](top) for name in names}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
