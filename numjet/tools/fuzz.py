"""Runs random programs op by op and compiled, compares, and prints the smallest script that shows a difference.

    python -m numjet.tools.fuzz --count 500 --seed 0
    python -m numjet.tools.fuzz --count 100 --machine xla_cpu     compiled by XLA instead
"""
from __future__ import annotations

import argparse
import sys
import traceback
from functools import partial
from typing import Any

import numpy as np

import numjet as nj
from numjet.testing import programs

RTOL, ATOL = 2e-3, 2e-4


def difference(p: programs.Program, seed: int, machine: str = "cpu") -> str | None:
    """What is wrong with a program: None when it gives the same eagerly and compiled for a machine."""
    args = programs.arguments(p, seed)
    try:
        fun = programs.load(p)
        with nj.disable_jit():
            want = [np.asarray(x) for x in fun(*args)]
    except Exception as error:
        return f"eager: {_text(error)}"
    try:
        got = [np.asarray(x) for x in nj.jit(fun, backend=machine)(*args)]
    except Exception as error:
        return f"compiled: {_text(error)}"
    return _compare(got, want)


def _compare(got: list[Any], want: list[Any]) -> str | None:
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"result {k}: {g.dtype}{g.shape} compiled, {w.dtype}{w.shape} eager"
        if not np.allclose(g, w, rtol=RTOL, atol=ATOL, equal_nan=True):
            return f"result {k}: compiled {g.ravel()[:4]} eager {w.ravel()[:4]}, largest difference {np.max(np.abs(g - w))}"
    return None


def _fails_alike(seed: int, machine: str, kind: str, p: programs.Program) -> bool:
    return (difference(p, seed, machine) or "").startswith(kind)


def _text(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:300]} ({last.filename}:{last.lineno})"


def main() -> int:
    """Returns the number of programs that differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--machine", default="cpu", help="cpu, xla_cpu, gpu or tpu")
    parser.add_argument("--no-shrink", action="store_true")
    args = parser.parse_args()
    failed = 0
    for seed in range(args.seed, args.seed + args.count):
        p = programs.Generator(seed, args.length, args.depth).program()
        wrong = difference(p, seed, args.machine)
        if wrong is None:
            continue
        failed += 1
        print(f"seed {seed}: {wrong}", flush=True)
        if not args.no_shrink:
            kind = wrong.split(":")[0].split(" ")[0]
            small = programs.shrink(p, partial(_fails_alike, seed, args.machine, kind))
            print(f"smallest: {difference(small, seed, args.machine)}\n\n{programs.script(small, seed)}\n", flush=True)
    print(f"{args.count - failed} of {args.count} programs agree")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
