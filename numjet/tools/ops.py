"""Table of operations: the slots of every record, and missing ones.

    python -m numjet.tools.ops                 a table for the terminal
    python -m numjet.tools.ops --holes         only what is missing, with the reasons
    python -m numjet.tools.ops --markdown      writes docs/ops.md
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numjet as nj
from numjet.core.op import LINEAR, ZERO, Expand, Missing, Op, PerArg, all_ops
from numjet.core.traits import DESCRIPTIONS, words

SLOTS = ("eager", "jvp", "transpose", "batch", "cpu", "hlo", "samples")
OPTIONAL = ("rewrites", "interval", "in_place", "carries", "shift", "part")
_PACKAGE = nj.__name__


def state(value: Any) -> str:
    """The state of a slot in a word: yes, linear, zero, derived, missing, or a name.

    >>> state(LINEAR), state(Missing("no")), state("sort_f32")
    ('linear', '-', 'sort_f32')
    """
    if isinstance(value, Missing):
        return "-"
    if isinstance(value, str):
        return value
    if value is LINEAR or value is ZERO:
        return "linear" if value is LINEAR else "zero"
    if isinstance(value, Expand):
        return "derived"
    return "per operand" if isinstance(value, PerArg) else "yes"


def kind(op: Op) -> str:
    """elementwise, program (holds programs) or array."""
    return "program" if op.programs else "elementwise" if op.elementwise else "array"


def nature(op: Op) -> str:
    """What the operation is like: its traits, the function of loop IR that it applies or its cost, its optional slots.

    >>> nature(all_ops()["reduce_or"])
    'exact, lanes, reads once, scans operand, reduces=or, rewrites, interval'
    """
    values = [f"{field}={value}" for field in ("function", "cost", "reduces") if (value := getattr(op, field)) is not None]
    return ", ".join([*words(op.traits), *values, *[slot for slot in OPTIONAL if getattr(op, slot) is not None]])


def rows() -> list[list[str]]:
    """One row per operation: name, kind, parameters, what it is like, then the slots."""
    return [[op.name, kind(op), ", ".join(op.params), nature(op), *[state(getattr(op, s)) for s in SLOTS]]
            for _, op in sorted(all_ops().items())]


HEAD = ["operation", "kind", "parameters", "traits", *SLOTS]


def holes() -> list[tuple[str, str, str]]:
    """(operation, slot, reason) of every missing slot."""
    return [(op.name, slot, value.why) for _, op in sorted(all_ops().items()) for slot in SLOTS
            if isinstance(value := getattr(op, slot), Missing)]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry."""
    widths = [max(len(r[k]) for r in (head, *body)) for k in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in (head, *body)]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown() -> str:
    """The table as a page of documentation."""
    cell = lambda text: text.replace("|", "\\|") or " "
    line = lambda r: "| " + " | ".join(map(cell, r)) + " |"
    body = [line(HEAD), "|" + "---|" * len(HEAD), *map(line, rows())]
    traits = [f"- *{word}*: {description}" for word, description in DESCRIPTIONS.items()]
    missing = [f"- `{name}`, {slot}: {why}" for name, slot, why in holes() if slot != "hlo"]
    return "\n".join([
        "# Operations", "",
        f"Written by `python -m {_PACKAGE}.tools.ops --markdown`. Every operation is one record, see `core/op.py`; the columns "
        "are its slots: `linear` and `zero` are derivatives that need no rule, `derived` comes from a definition in other "
        "operations, `-` is missing.", "", *body, "", "## Traits", "",
        "What passes ask a record about its operation (`core/traits.py`); the column leaves out what another trait implies. "
        "`function` is the function of loop IR that an elementwise operation applies, which gives its cost; `cost` is given in "
        "additions per element; `reduces` says how two elements combine. The other words are optional slots.", "", *traits,
        "", "## Missing", "", *missing, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints or writes the table. Returns 0."""
    parser = argparse.ArgumentParser(prog=f"python -m {_PACKAGE}.tools.ops", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holes", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("docs/ops.md"), help="where --markdown writes")
    given = parser.parse_args(arguments)
    if given.markdown:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(markdown(), encoding="utf8")
        print(f"wrote {given.output}")
    elif given.holes:
        print(table(["operation", "slot", "reason"], holes()))
    else:
        print(table(HEAD, rows()))
        print(f"\n{len(all_ops())} operations, {len(holes())} slots missing (--holes tells why)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
