"""Looks at every float32 (or every `step`-th) and prints the largest error of each function with its operand.

    python -m tests.cpu.fit.exhaustive exp log sin          every float32, minutes for each function
    python -m tests.cpu.fit.exhaustive --step 61 exp        every 61st

The exit status is 1 when an error exceeds mathlib.ACCURACY.
"""
from __future__ import annotations

import argparse
import sys

import numpy as np

from numjet.cpu import mathlib
from numjet.cpu.loop_ir import MATH
from tests.cpu.fit.measure import evaluate, reference, ulps

CHUNK = 1 << 22


def largest_error(op: str, step: int = 1) -> tuple[float, np.float32]:
    """The largest error of a function of one float32 in units of the last place, and where it is."""
    worst, place = 0.0, np.float32(0)
    for start in range(0, 2**32, CHUNK * step):
        bits = (start + step * np.arange(CHUNK, dtype=np.int64)) % 2**32
        x = bits.astype(np.uint32).view(np.float32)
        error = ulps(evaluate(op, x), reference(op, x))
        k = int(np.argmax(error))
        if error[k] > worst:
            worst, place = float(error[k]), x[k]
    return worst, place


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="names of functions of one operand; all by default")
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args(arguments)
    unary = [op for op, count in MATH.items() if count == 1]
    failed = False
    for op in options.functions or unary:
        error, place = largest_error(op, options.step)
        bound = mathlib.ACCURACY[op, "float32"]
        failed |= error > bound
        print(f"{op:9} {error:6.3f} ulp at {place!r} (bound {bound})", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
