"""Times numjet, beside JAX where its Python is given; prints a table and draws it.

    python -m benchmarks [--jax-python PATH] [--only NAME ...] [--picture benchmarks.png] [--json FILE]
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import plot, run
from benchmarks.goals import GOALS, show


def table(ours: dict[str, float], jax: dict[str, float]) -> str:
    """Rows of: measurement, numjet, JAX, ratio, goal, verdict; as Markdown."""
    rows = [("measurement", "numjet", "JAX", "JAX / numjet", "goal", "met")]
    for name, seconds in ours.items():
        other, goal = jax.get(name), GOALS[name]
        met = {True: "yes", False: "no", None: ""}[goal.met(seconds, other)]
        ratio = "" if other is None else f"{other / seconds:.3g}"
        rows.append((goal.title, show(seconds), "" if other is None else show(other), ratio, goal.text(), met))
    widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) + " |" for r in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the measurements; returns 0, or 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax-python", help="the Python of an environment that has jax")
    parser.add_argument("--only", nargs="+", choices=list(GOALS), default=list(GOALS), metavar="NAME",
                        help=f"among {', '.join(GOALS)}")
    parser.add_argument("--picture", default="benchmarks.png")
    parser.add_argument("--json", type=Path, help="where the numbers go, too")
    options = parser.parse_args(argv)
    jax = run.times(options.jax_python, "jax", options.only) if options.jax_python else {}
    ours = run.times(sys.executable, "numjet", options.only)
    print(table(ours, jax))
    plot.save(ours, jax, options.picture)
    if options.json:
        options.json.write_text(json.dumps({"numjet": ours, "jax": jax}, indent=1), encoding="utf8")
    return int(any(GOALS[name].met(ours[name], jax.get(name)) is False for name in ours))


if __name__ == "__main__":
    sys.exit(main())
