"""Times the workloads on one implementation, in this process: `python worker.py PACKAGE NAME...` prints JSON.

Runs as a plain file, so that another environment's Python needs nothing of numjet to run it.
"""
from __future__ import annotations

import importlib
import json
import sys

from workloads import WORKLOADS


def main(package: str, names: list[str]) -> None:
    """Prints {name: seconds} for the workloads named."""
    top = importlib.import_module(package)
    for part in ("numpy", "lax", "nn"):
        importlib.import_module(f"{package}.{part}")
    print(json.dumps({name: WORKLOADS[name](top) for name in names}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
