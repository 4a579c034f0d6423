"""Prints a function in every form it takes on its way to machine code: jaxpr, simplified jaxpr, the
compiler's decisions, loop IR as lowered and after each pass that changes it, LLVM IR, assembly.

    python -m numjet.tools.show model.py:loss "ones(3)" "arange(4.0)"
    python -m numjet.tools.show "lambda x: jnp.sin(x) + 1" "f32[3]" --stage loops
    python -m numjet.tools.show package.module:step "f32[8,8]" --grad

The first argument is a function: `file.py:name`, `module:name`, or an expression of jnp, lax, nn, nj and np. The others are its
arguments: expressions (every name of jnp may be written without it), or types such as `f32[3,4]`, which stand for zeros.
"""
from __future__ import annotations

import argparse
import importlib
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import numjet as nj
from numjet import lax, numpy as jnp
from numjet.core.ir import ClosedJaxpr
from numjet.core.printer import jaxpr_text
from numjet.cpu.native_code import jit as native
from numjet.foundation import dtypes
from numjet.foundation.config import Override
from numjet.runtime import backends, dispatch
from numjet.transforms.simplify import simplify

STAGES = ("jaxpr", "simplified", "decisions", "loops", "passes", "llvm", "asm")
_TYPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_FILE = re.compile(r"(?P<module>[\w./\\~-]+):(?P<name>\w+)")


def find_function(text: str) -> Callable[..., Any]:
    """The function that `file.py:name`, `module:name` or an expression means.

    ValueError for a name that is not there, or for what is no function.
    """
    found = _FILE.fullmatch(text.strip())
    made = eval(text, _names()) if found is None else _member(found["module"], found["name"])  # the caller's own text
    if not callable(made):
        raise ValueError(f"{text!r} is a {type(made).__name__}, not a function")
    return made


def _member(module: str, name: str) -> Any:
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).expanduser().resolve().parent))
        space = runpy.run_path(str(Path(module).expanduser()))
    else:
        space = vars(importlib.import_module(module))
    if name not in space:
        raise ValueError(f"{module} defines no {name!r}; it has {', '.join(k for k in space if not k.startswith('_'))}")
    return space[name]


def _names() -> dict[str, Any]:
    return {"nj": nj, "jnp": jnp, "lax": lax, "np": np, "nn": getattr(nj, "nn", None)}


def argument(text: str) -> Any:
    """The value of an argument: an array of zeros for a type such as `f32[3]`, otherwise an expression's.

    >>> argument("f32[2]").shape
    (2,)
    """
    found = _TYPE.fullmatch(text.strip())
    if found is not None:
        shape = tuple(int(n) for n in found[2].split(",") if n)
        return np.zeros(shape, dtypes.from_short_name(found[1]))
    return eval(text, {**vars(jnp), **_names()})  # the caller's own text


def forms(fun: Callable[..., Any], args: Sequence[Any], wanted: Sequence[str] = STAGES,
          sources: bool = False) -> dict[str, str]:
    """The forms of a function with example arguments, by name of the stage; those of STAGES that are wanted."""
    closed = nj.make_jaxpr(fun)(*args)
    simple = simplify(closed)
    makers: dict[str, Callable[[], str]] = {
        "jaxpr": lambda: jaxpr_text(closed, sources=sources), "simplified": lambda: jaxpr_text(simple, sources=sources)}
    if not set(wanted) <= set(makers):
        makers |= _compiled_forms(simple, getattr(fun, "__name__", "main"))
    return {stage: makers[stage]() for stage in STAGES if stage in wanted}


def _compiled_forms(closed: ClosedJaxpr, name: str) -> dict[str, Callable[[], str]]:
    backend = backends.load_backend("cpu")
    with Override("numjet_tiers", "one"):
        program = dispatch.compile_closed(closed, name).program
    return {"decisions": lambda: str(backend.explained(closed, name)), "loops": lambda: backend.as_text(closed, name),
            "passes": lambda: backend.stages(closed, name), "llvm": lambda: program.text,
            "asm": lambda: native.disassembly(program.compiled)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the stages that are asked for. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.show", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function")
    parser.add_argument("args", nargs="*")
    parser.add_argument("--stage", action="append", choices=STAGES, help="which forms (default: all)")
    parser.add_argument("--grad", action="store_true", help="the gradient of the function")
    parser.add_argument("--sources", action="store_true", help="with the user's line behind every equation")
    given = parser.parse_args(arguments)
    fun = find_function(given.function)
    made = forms(nj.grad(fun) if given.grad else fun, [argument(a) for a in given.args], given.stage or STAGES, given.sources)
    for stage, text in made.items():
        print(f"{'' if len(made) == 1 else f'==== {stage} ====' + chr(10)}{text.rstrip()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
