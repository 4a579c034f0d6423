"""Times of the gallery's examples: what `run()` of each takes on numjet and, with its imports exchanged, on JAX.

    python -m benchmarks.gallery --jax-python PATH --page gallery-times.md

Each example runs in a process of its own, one package right after the other, and once, as its reader runs it: the time holds
tracing and compilation. A process before it, which does not count, writes the byte code of Python's modules, as an installer
does. Later calls are not compared, as `run()` has no arguments: numjet keeps what follows from constants. An example that uses
what only numjet has shows no time for JAX.
"""
from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.goals import show
from benchmarks.run import ROOT, machine, output

EXAMPLES = ROOT / "examples" / "gallery"
_IMPORTS = ((r"^import numjet as nj$", "import jax as nj"), (r"^import numjet\.numpy as jnp$", "import jax.numpy as jnp"),
            (r"^from numjet\b", "from jax"))


def prelude(source: str) -> str:
    """An example up to the first call of run(): what defines the computation, without its pictures, so that environments
    without Matplotlib can run it."""
    tree = ast.parse(source)
    for node in tree.body:
        if any(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "run" for x in ast.walk(node)):
            lines = source.splitlines()[:node.lineno - 1]
            return "\n".join("" if line.startswith("import matplotlib") else line for line in lines)
    raise ValueError("no call of run() at the top of the example")


def for_jax(source: str) -> str:
    for pattern, replacement in _IMPORTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def measure(path: Path, jax: bool) -> float:
    """Seconds of the first call; runs in the process of an example."""
    source = prelude(path.read_text(encoding="utf8"))
    names: dict = {"__name__": "example"}
    exec(compile(for_jax(source) if jax else source, str(path), "exec"), names)
    start = time.perf_counter()
    names["nj"].block_until_ready(names["run"]())
    return time.perf_counter() - start


def in_process(python: str, path: Path, package: str) -> float | None:
    """The time of an example in another process; None if it does not run there."""
    command = [python, "-W", "ignore", "-m", "benchmarks.gallery", "--one", str(path), "--package", package]
    try:
        output(command)
        return float(json.loads(output(command).splitlines()[-1]))
    except RuntimeError:
        if package == "numjet":
            raise
        return None


def title(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf8"))) or path.stem).splitlines()[0]


def row(path: Path, own: float, other: float | None) -> str:
    cells = [title(path), show(own), *((show(other), f"{other / own:.3g}") if other else ("", ""))]
    return "| " + " | ".join(cells) + " |"


def page(rows: Sequence[str], machine: str) -> str:
    return "\n".join((
        "# Times of the gallery", "",
        "What `run()` of each example of the gallery (`examples/gallery`) takes, on numjet and, with its imports exchanged, on "
        "JAX: one call in a new process, with tracing and compilation.", "", machine, "",
        "| example | numjet | JAX | JAX / numjet |", "|---|---:|---:|---:|", *rows, "",
        "Written by `python -m benchmarks.gallery --jax-python PATH --page gallery-times.md`. Examples without a time for "
        "JAX use functions that JAX does not have.", ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Returns 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax-python", default=None, help="the Python of an environment with JAX")
    parser.add_argument("--page", type=Path, default=None, help="write the table to this page")
    parser.add_argument("--only", nargs="*", default=None, help="names of examples")
    parser.add_argument("--one", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--package", default="numjet", choices=("numjet", "jax"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure(options.one, options.package == "jax")))
        return 0
    paths = [p for p in sorted(EXAMPLES.glob("*.py")) if options.only is None or p.stem in options.only]
    rows = []
    for path in paths:
        own = in_process(sys.executable, path, "numjet")
        assert own is not None
        other = in_process(options.jax_python, path, "jax") if options.jax_python else None
        rows.append(row(path, own, other))
        print(rows[-1], flush=True)
    if options.page:
        pythons = {"numjet": sys.executable} | ({"jax": options.jax_python} if options.jax_python else {})
        options.page.write_text(page(rows, machine(pythons)), encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
