"""A compile report as HTML: what `nj.explain` shows in a notebook."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from numjet.core import notebook
from numjet.core.compile_report import CompileReport, Location, Loop

_LISTED = 400   # operations; longer lists make notebooks slow


def report(made: CompileReport) -> str:
    """Loops, warnings, calls, copies and large buffers; the operations fold away."""
    head, *_ = str(made).split("\n")
    name, _, summary = head.partition(": ")
    parts = [f"<p><b>{notebook.escaped(name)}</b>: {notebook.escaped(summary)}</p>"]
    if made.loops:
        parts.append(_titled("Loops", ("line", "code", "loop"), [row for loop in made.loops for row in _loops(loop, 0)]))
    for title, items in (("Warnings", made.warnings), ("Library calls", made.calls), ("Copies", made.copies),
                         ("Large buffers", made.allocations)):
        if items:
            parts.append(_titled(title, ("line", "code", ""), [[*_place(item.location), notebook.escaped(str(item))]
                                                               for item in items]))
    if made.operations:
        parts.append(notebook.folded(f"Operations ({len(made.operations)})", _operations(made)))
    return notebook.shown(*parts)


def _titled(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"<h4>{title}</h4>{notebook.table(heads, rows)}"


def _place(location: Location) -> tuple[str, str]:
    return notebook.escaped(str(location)), f"<code>{notebook.escaped(location.text)}</code>"


def _loops(loop: Loop, depth: int) -> Iterator[list[str]]:
    lines = ", ".join(map(str, loop.locations)) or "?"
    code = "<br>".join(f"<code>{notebook.escaped(at.text)}</code>" for at in loop.locations if at.text)
    indent = f"<span style='padding-left:{1.5 * depth}em'></span>"
    yield [notebook.escaped(lines), code, indent + notebook.escaped(str(loop))]
    for inner in loop.inside:
        yield from _loops(inner, depth + 1)


def _operations(made: CompileReport) -> str:
    rows = [[*_place(o.location), f"<code>{notebook.escaped(o.name)}</code>", f"<code>{notebook.escaped(o.type)}</code>",
             f"<span class='fate {notebook.escaped(o.fate)}'>{notebook.escaped(o.fate)}</span>", notebook.escaped(o.why)]
            for o in made.operations[:_LISTED]]
    more = len(made.operations) - len(rows)
    rest = f"<p>and {more:,} more: print(report) lists them all</p>" if more else ""
    return notebook.table(("line", "code", "operation", "type", "", "why"), rows) + rest
