"""Runs a program for which `import jax` means numjet.

    python -m numjet.as_jax program.py [arguments]
    python -m numjet.as_jax -m module [arguments]
    python -m numjet.as_jax -c code [arguments]

Python processes that the program starts get the variable NUMJET_AS_JAX=1, so they do the same.
"""
from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path


def run(arguments: list[str]) -> None:
    """Runs a program as Python's command line would. Raises SystemExit with the usage if none is given."""
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) == 1):
        raise SystemExit(__doc__)
    os.environ["NUMJET_AS_JAX"] = "1"
    option, rest = arguments[0], arguments[1:]
    if option == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(option).resolve().parent)
        runpy.run_path(option, run_name="__main__")


if __name__ == "__main__":
    run(sys.argv[1:])
