"""Generated corpus of `numjet.tools.replay`: samples of all operations, random programs and their tangents.

    python -m numjet.tools.replay_corpus operations 0/2      every second operation, from the first
    python -m numjet.tools.replay_corpus random 0 150        random programs of these seeds
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet as nj
from numjet import numpy as jnp
from numjet.core.op import all_ops
from numjet.runtime import dispatch
from numjet.testing import programs, records
from numjet.testing.generator import Generator
from numjet.transforms.simplify import simplify

CASES = 2  # of each operation
LENGTH, DEPTH = 8, 2  # of random programs


def compile_operations(part: int, parts: int) -> None:
    """Compiles samples of every parts-th operation, from the given one."""
    for name, op in sorted(all_ops().items())[part::parts]:
        for case in records.cases(op, limit=CASES):
            apply = lambda *xs, case=case: case.op.bind(*xs, **case.params)
            _compile(apply, case.operands, name.replace("-", "_"))


def compile_random(first: int, last: int) -> None:
    """Compiles random programs of the seeds in a range, as they are and differentiated in forward mode."""
    for seed in range(first, last):
        program = Generator(seed, LENGTH, DEPTH).program()
        with programs.configured(program.x64):
            fun, args = programs.load(program), [jnp.asarray(x) for x in programs.arguments(program)]
            _compile(fun, args, f"random_{seed}")
            _compile(lambda *xs, fun=fun: nj.jvp(fun, xs, nj.tree.map(_tangent, xs)), args, f"random_{seed}_jvp")


def _tangent(x: Any) -> Any:
    return jnp.ones_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else np.zeros(x.shape, nj.dtypes.float0)


def _compile(fun: Callable[..., Any], args: Sequence[Any], name: str) -> None:
    try:
        dispatch.compile_closed(simplify(nj.make_jaxpr(fun)(*args)), name)
    except Exception as error:  # refused programs must stay refused: the message is part of the recording
        print(f"{name}: {type(error).__name__}: {error}")


def main(arguments: Sequence[str]) -> int:
    """Compiles a part of the corpus. Returns 0."""
    if arguments[0] == "operations":
        part, _, parts = arguments[1].partition("/")
        compile_operations(int(part), int(parts))
    else:
        compile_random(int(arguments[1]), int(arguments[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
