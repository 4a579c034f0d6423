"""Runs compiler passes over loop IR as text, and prints the result.

    python -m numjet.tools.opt --passes fusion,array_contraction softmax.loops
    python -m numjet.tools.show "lambda x: nn.softmax(x)" "f32[300,700]" --stage loops |
        python -m numjet.tools.opt --passes all --each -
    python -m numjet.tools.opt --list

A pass requires facts that earlier passes provide (`--list` names them). A text is as lowering makes it unless a comment in
front says otherwise, as `# after fusion; facts: fused, math, serial, unplaced`; what is printed begins with such a comment, so
that passes can be run one by one.
"""
from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from numjet.cpu import target
from numjet.cpu.compiler import PASSES
from numjet.cpu.ir.parser import LoopSyntaxError, parse
from numjet.cpu.native_code import jit
from numjet.cpu.passes.manager import FACTS, LOWERED, Context, Pass, PassError, Stages, run_passes, titled
from numjet.cpu.verification.verifier import LoopIRError, Verified, check

_KNOWN = {one.name: one for one in PASSES}
_FACTS = re.compile(r"^#.*facts: ([\w, ]*)$", re.MULTILINE)


def find_passes(names: str) -> list[Pass]:
    """The passes of a list of names with commas, or all of the compiler's for "all". Raises PassError.

    >>> find_passes("fusion,array_contraction")
    [Pass(fusion), Pass(array_contraction)]
    """
    return list(PASSES) if names == "all" else [_find(name.strip()) for name in names.split(",")]


def _find(name: str) -> Pass:
    if name not in _KNOWN:
        near = difflib.get_close_matches(name, _KNOWN, 1)
        raise PassError(f"there is no pass '{name}'{f'; do you mean {near[0]!r}?' if near else ''} (--list names them all)")
    return _KNOWN[name]


def facts_of(text: str) -> frozenset[str]:
    """The facts that the first comment about them tells; without one, those of lowering. Raises PassError.

    >>> sorted(facts_of("# facts: arithmetic, serial"))
    ['arithmetic', 'serial']
    """
    found = _FACTS.search(text)
    facts = LOWERED if found is None else frozenset(re.findall(r"\w+", found[1]))
    if unknown := sorted(facts - set(FACTS)):
        raise PassError(f"there is no fact '{unknown[0]}'; facts are {', '.join(FACTS)}")
    return facts


def find_target(name: str) -> target.Target:
    """The CPU to compile for: "host", or a limited instruction set of x86-64."""
    return jit.host() if name == "host" else target.from_features(*target.LIMITED[name], "x86_64")


def optimized(text: str, passes: Sequence[Pass], cpu: target.Target, *, verify: bool = False, each: bool = False) -> str:
    """The text of a function after passes; each: before them, and after every pass that changes it.

    Raises LoopSyntaxError, PassError, and LoopIRError for a function that breaks a rule: with `verify` before the passes and
    after each, otherwise before them.
    """
    function, context = parse(text), Context(cpu, facts=facts_of(text))
    check(function)
    verified, stages = Verified(function).after if verify else lambda name: None, Stages(function, "input", context.facts)
    verified("input")

    def after(one: Pass, context: Context) -> None:
        verified(one.name)
        stages.add(one, context)
    run_passes(function, passes, context, after)
    return str(stages) if each else titled(function, passes[-1].name, context.facts)


def listing() -> str:
    """All passes in the order in which the compiler runs them, with what they require, provide and end."""
    lines = ["passes, in the order in which the compiler runs them:"]
    for one in _KNOWN.values():
        relations = (("requires", one.requires), ("provides", one.provides), ("ends", one.ends))
        lines += [f"  {one.name}: {one.summary}",
                  "      " + "; ".join(f"{word} {', '.join(facts)}" for word, facts in relations if facts)]
    return "\n".join([*lines, "facts:", *(f"  {name}: {description}" for name, description in FACTS.items())])


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what passes make of a function. Returns 0; 2 for wrong input, with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.opt", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="loop IR as text; - for standard input")
    parser.add_argument("--passes", metavar="NAME,NAME", help="which passes, in order; all for those of the compiler")
    parser.add_argument("--list", action="store_true", help="list the passes and the facts")
    parser.add_argument("--each", action="store_true", help="print the function before, and after each that changes it")
    parser.add_argument("--verify", action="store_true", help="verify the function before the passes and after each")
    parser.add_argument("--target", default="host", choices=["host", *target.LIMITED], help="the CPU to compile for")
    given = parser.parse_args(arguments)
    if given.list:
        print(listing())
        return 0
    if given.file is None or given.passes is None:
        parser.error("give --passes and a file, or --list")
    try:
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text(encoding="utf8")
        made = optimized(text, find_passes(given.passes), find_target(given.target), verify=given.verify, each=given.each)
    except (OSError, LoopSyntaxError, PassError, LoopIRError, NotImplementedError) as error:
        print(f"{given.file}: {error}", file=sys.stderr)
        return 2
    print(made, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
