"""The table of docs/mathematics.md: the largest error of every function, by interval, and where its coefficients come from."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numjet.cpu import mathlib

BEGIN, END = "<!-- begin of what tools.fit.exhaustive --page writes -->", "<!-- end -->"
HEADS = ("function", "dtype", "< 0.1", "< 1", "< 10", "< 100", "beyond", "at", "looked at", "bound", "file")


def table(known: Mapping[str, Any]) -> str:
    """Rows of functions and dtypes as Markdown; known: their Progress by "function dtype"."""
    rows = [HEADS, ("---",) * len(HEADS)]
    for key in sorted(known):
        op, dtype = key.split()
        found = known[key]
        worst = max(range(len(found.worst)), key=lambda k: found.worst[k])
        place = shown(found.places[worst], "{:.9g}".format)
        errors = tuple(f"{e:.2f}" if p else "" for e, p in zip(found.worst, found.places, strict=True))
        rows.append((op, dtype, *errors, place, looked_at(found), f"{mathlib.ACCURACY[op, dtype]:g}", source(op)))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def shown(place: str, form: Callable[[float], str]) -> str:
    """The operands of a place, which is hexadecimal text."""
    return ", ".join(form(float.fromhex(x)) for x in place.split())


def looked_at(found: Any) -> str:
    """How many operands there were."""
    if found.stride == 0:
        return f"{found.next:,} samples"
    done = "all" if found.next >= 2**32 and found.stride == 1 else f"every {found.stride}th" if found.next >= 2**32 else \
        f"{100 * found.next / 2**32:.0f} % of every {found.stride}th"
    return done


def source(op: str) -> str:
    """The file of mathlib that has the function, with the source of its method and its tables of coefficients."""
    return f"`{mathlib.FUNCTIONS[op].__module__.rsplit('.', 1)[1]}.py`"


def renew(path: Path, known: Mapping[str, Any]) -> None:
    """Writes the table between the marks of a page. Raises ValueError when it has none."""
    text = path.read_text(encoding="utf8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} has no lines {BEGIN!r} and {END!r} for the table to stand between")
    new = f"{BEGIN}\n\n{table(known)}\n\n{END}"
    path.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: new, text, flags=re.DOTALL), encoding="utf8")


def parse(text: str) -> dict[tuple[str, str], list[float | None]]:
    """The errors that a page tells, per interval, by function and dtype."""
    found = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == len(HEADS) and cells[1] in ("float32", "float64"):
            found[cells[0], cells[1]] = [float(c) if c else None for c in cells[2:7]]
    return found
