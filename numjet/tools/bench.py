"""Times of a function beside the limits of the machine: nj.benchmark on the command line.

    python -m numjet bench program.py:step "normal(random.key(0), (1000, 1000))" "f32[1000]"
    python -m numjet bench "lambda x: jnp.sin(x) + 1" "f32[1000000]" --save roofline.png

The function and its arguments are as for `python -m numjet show`: a function of a file or a module, or an expression; and
expressions, or types, which stand for zeros.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numjet as nj
from numjet.tools.show import argument, find_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m numjet bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function")
    parser.add_argument("args", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to measure (default: 0.5)")
    parser.add_argument("--grad", action="store_true", help="the gradient of the function")
    parser.add_argument("--save", metavar="FILE", help="draw the roofline (.png, .svg or .pdf; needs Matplotlib)")
    given = parser.parse_args(arguments)
    fun = find_function(given.function)
    args = nj.tree.map(nj.numpy.asarray, [argument(a) for a in given.args])
    found = nj.benchmark(nj.grad(fun) if given.grad else fun, seconds=given.seconds)(*args)
    print(found)
    if given.save:
        found.save(given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
