"""Pass manager: passes as objects with what they need and give, run one after the other.

A fact is something that holds for a function between passes, such as "math": mathematical functions are single operations. A
pass names the facts that it requires, provides and ends, so that an order that makes no sense is refused by name instead of
giving slow or wrong code. Everything that one pass tells another is in the function itself, where its text shows it, or in the
`Context`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from numjet.cpu.ir.nodes import Function
from numjet.cpu.ir.printer import show
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import Target
from numjet.foundation.record import Fields, Record

FACTS = {
    "math": "mathematical functions are single operations",
    "arithmetic": "mathematical functions are arithmetic, or calls where a block has many of them",
    "serial": "no loop is shared among threads, except by rules of lowering and by batches",
    "batches": "loops over batches of independent rows are shared among threads",
    "shared": "loops worth it are shared among threads",
    "fused": "loops that others were joined with are marked `fused`",
    "unplaced": "temporaries have no place in memory yet, and may change",
    "placed": "temporaries have their place in the scratch arena",
}
LOWERED = frozenset({"math", "serial", "unplaced"})   # what holds for a function as lowering makes it


class PassError(ValueError):
    """A pass that does not exist, or that requires a fact that does not hold."""


class Context(Fields):
    """What passes work with beside the function.

    aliases: results in the memory of donated inputs, as (output, input) pairs. recorder: notes decisions, if somebody asks.
    nanoseconds: the estimated run time, once `estimate` has run.
    """
    target: Target
    aliases: Sequence[tuple[int, int]] = ()
    recorder: Recorder | None = None
    facts: frozenset[str] = LOWERED
    nanoseconds: float = math.inf


class Pass(Record):
    """One step over a function, in place. requires, provides, ends: names of FACTS.

    Example:
        >>> Pass("nothing", "changes nothing", lambda function, context: None, requires=("serial",))
        Pass(nothing)
    """
    name: str
    summary: str
    run: Callable[[Function, Context], object]
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := {*self.requires, *self.provides, *self.ends} - set(FACTS):
            raise ValueError(f"the pass '{self.name}' names facts that FACTS does not list: {sorted(unknown)}")

    def __repr__(self) -> str:
        return f"Pass({self.name})"

    def facts_after(self, facts: frozenset[str]) -> frozenset[str]:
        """The facts that hold when it has run. Raises PassError if one is missing that it requires."""
        if missing := [fact for fact in self.requires if fact not in facts]:
            raise PassError(f"the pass '{self.name}' requires {_quoted(missing)}, but only {_quoted(sorted(facts))} hold; "
                            f"'{missing[0]}' says: {FACTS[missing[0]]}")
        return (facts - set(self.ends)) | set(self.provides)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "no facts"


def run_passes(function: Function, passes: Iterable[Pass], context: Context,
               after: Callable[[Pass, Context], object] = lambda one, context: None) -> None:
    """Runs passes over a function, in place, and calls `after` with each one that has run.

    Raises PassError before a pass that requires a fact that does not hold.
    """
    for one in passes:
        facts = one.facts_after(context.facts)
        one.run(function, context)
        context.facts = facts
        after(one, context)


def titled(function: Function, name: str, facts: frozenset[str]) -> str:
    """The text of a function, with a comment that says what it comes after and which facts hold."""
    return f"# after {name}; facts: {', '.join(sorted(facts))}\n{show(function)}"


class Stages:
    """The texts of a function: as it is now, and after each of the passes that `add` names, where that changed it."""

    def __init__(self, function: Function, name: str = "lowering", facts: frozenset[str] = LOWERED):
        self.function = function
        self.last = show(function)
        self.texts = [titled(function, name, facts)]

    def add(self, one: Pass, context: Context) -> None:
        """Notes the text after a pass, if it is another one."""
        text = show(self.function)
        if text != self.last:
            self.last = text
            self.texts.append(titled(self.function, one.name, context.facts))

    def __str__(self) -> str:
        return "\n".join(self.texts)
