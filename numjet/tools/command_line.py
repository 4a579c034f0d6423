"""Command dispatch: `python -m numjet TOOL ...` runs the module of a tool, which reads its own arguments.

    python -m numjet                      lists the tools
    python -m numjet doctor               what this installation consists of, and whether it works
    python -m numjet show --help          the help of a tool
"""
from __future__ import annotations

import difflib
import runpy
import sys
from collections.abc import Sequence

# Name, module, and what the list says of it.
TOOLS = {
    "doctor": ("numjet.tools.doctor", "versions, processor, threads, caches and devices, and a self-test"),
    "demo": ("numjet.demo", "a classifier and a fitted differential equation, with a picture"),
    "show": ("numjet.tools.show", "every stage of a function's compilation"),
    "bench": ("numjet.tools.bench", "times of a function, beside the limits of the machine"),
    "error": ("numjet.tools.error", "what an error means, with an example and remedies"),
    "cache": ("numjet.tools.cache", "the programs kept on disk: list, verify, clear"),
    "launch": ("numjet.tools.launch", "a program in several local processes"),
    "memory": ("numjet.tools.memory", "where a program's memory goes"),
    "ops": ("numjet.tools.ops", "the table of operations"),
    "fuzz": ("numjet.tools.fuzz", "random programs, compiled in several ways and compared"),
}


def listing() -> str:
    width = max(map(len, TOOLS)) + 2
    rows = (f"  {name:{width}}{text}" for name, (_, text) in TOOLS.items())
    end = "`python -m numjet TOOL --help` explains a tool."
    return "\n".join(("usage: python -m numjet TOOL [ARGUMENTS]", "", *rows, "", end))


def unknown(name: str) -> str:
    near = difflib.get_close_matches(name, TOOLS, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"numjet has no tool {name!r}.{hint}\n\n{listing()}"


def main(arguments: Sequence[str]) -> int:
    """Runs the tool that the first argument names, as if its module had been run; 2 for a name that is none."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(listing())
        return 0
    name, *rest = arguments
    if name not in TOOLS:
        print(unknown(name), file=sys.stderr)
        return 2
    module, _ = TOOLS[name]
    sys.argv = [f"python -m numjet {name}", *rest]
    runpy.run_module(module, run_name="__main__")
    return 0
