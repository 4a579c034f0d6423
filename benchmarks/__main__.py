"""Times numjet, beside JAX where its Python is given; prints a table and draws it.

    python -m benchmarks [--jax-python PATH] [--no-numpy] [--only NAME ...] [--picture FILE] [--json FILE]
                         [--page FILE] [--front-page FILE]

All of it takes about two minutes with JAX. `--json` keeps the numbers, `--from` shows kept ones again.
`python -m benchmarks --jax-python PATH --page docs/benchmarks.md --front-page README.md` renews the page of the documentation
with its picture, and the rows of the first page.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import page, plot, run
from benchmarks.arrays import CASES
from benchmarks.goals import GOALS, show

NUMPY = [name for name, case in CASES.items() if case.numpy]


def measure(jax_python: str | None, numpy: bool, names: Sequence[str]) -> tuple[run.Times, str]:
    """The times of all packages asked for, and on what they were measured."""
    pythons = {"numjet": sys.executable}
    pythons |= {"jax": jax_python} if jax_python else {}
    pythons |= {"numpy": sys.executable} if numpy else {}
    found: run.Times = {package: {} for package in pythons}
    for name, package, seconds in run.times(pythons, names, NUMPY):
        found[package][name] = seconds
        print(f"\r{GOALS[name].title}: {package} {show(seconds)}".ljust(78), end="", file=sys.stderr, flush=True)
    print("\r".ljust(79) + "\r", end="", file=sys.stderr)
    return found, run.machine(pythons)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax-python", help="the Python of an environment that has jax")
    parser.add_argument("--no-numpy", action="store_true", help="leave NumPy out")
    parser.add_argument("--only", nargs="+", choices=list(GOALS), default=list(GOALS), metavar="NAME",
                        help=f"among {', '.join(GOALS)}")
    parser.add_argument("--picture", type=Path, help="a .png or .svg (default: benchmarks.png)")
    parser.add_argument("--json", type=Path, help="where the numbers go, too")
    parser.add_argument("--from", dest="kept", type=Path, help="numbers kept by --json, instead of measuring")
    parser.add_argument("--page", type=Path, help="the page of the documentation that is renewed, with its picture")
    parser.add_argument("--front-page", type=Path, help="the page whose rows of numjet's and JAX's times are renewed")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the measurements; returns 0, or 1 when a goal is missed."""
    options = arguments(argv)
    if options.kept:
        kept = json.loads(options.kept.read_text(encoding="utf8"))
        times, machine = kept["times"], kept["machine"]
    else:
        times, machine = measure(options.jax_python, not options.no_numpy, options.only)
    print(page.table(times))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "times": times}, indent=1), encoding="utf8")
    if options.page:
        page.renew(options.page, times, machine)
    if options.front_page:
        page.renew_rows(options.front_page, times)
    if options.picture or not options.page:
        plot.save(times, options.picture or Path("benchmarks.png"))
    ours, jax = times["numjet"], times.get("jax", {})
    return int(any(GOALS[name].met(ours[name], jax.get(name)) is False for name in ours))


if __name__ == "__main__":
    sys.exit(main())
