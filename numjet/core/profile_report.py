"""Profiles of compiled programs: where the time of a run went, by the user's lines and by loops. See nj.profile."""
from __future__ import annotations

import html
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from numjet.core.compile_report import Location
from numjet.foundation.record import Record

NOWHERE = Location(None, 0)


class Measured(Record):
    """A statement of the machine code: a loop, a library call or a branch. `runs` and `nanoseconds` are totals over all runs of
    the program; `own` is without the statements inside that are listed by themselves. parent: its position in the list."""
    what: str
    locations: tuple[Location, ...]
    parent: int
    runs: int
    nanoseconds: int
    own: int


class Line(Record):
    """A line of the user's, and its part of the time of a run, in nanoseconds."""
    location: Location
    nanoseconds: float


class Profile(Record):
    """Where the time of a program's runs went. Prints as a table; `save` writes a page or a timeline.

    statements: those of the machine code, the first for all of it. events: (statement, begin, end) of the first ones, in
    nanoseconds.
    """
    name: str
    runs: int
    statements: tuple[Measured, ...]
    events: tuple[tuple[int, int, int], ...]

    @property
    def nanoseconds(self) -> float:
        """The time of one run, on average."""
        return self.statements[0].nanoseconds / self.runs

    @property
    def lines(self) -> list[Line]:
        """The user's lines, the slowest first. A statement that was fused of several lines counts with equal parts for each."""
        total: defaultdict[Location, float] = defaultdict(float)
        for s in self.statements:
            for location in s.locations or (NOWHERE,):
                total[location] += s.own / self.runs / max(len(s.locations), 1)
        return sorted((Line(at, ns) for at, ns in total.items()), key=lambda line: -line.nanoseconds)

    def __str__(self) -> str:
        rows = [[_share(line.nanoseconds, self.nanoseconds), _time(line.nanoseconds), _place(line.location), line.location.text]
                for line in self.lines]
        tree = [[_share(s.nanoseconds / self.runs, self.nanoseconds), _time(s.nanoseconds / self.runs),
                 f"{s.runs / self.runs:,.0f}", "  " * self._depth(s) + s.what, ", ".join(map(str, s.locations))]
                for s in self.statements]
        return "\n".join([f"{self.name}: {_time(self.nanoseconds)} per run, {self.runs} runs", "by line (own time)",
                          *_table(rows, "rrll"), "by statement (with those inside), and how often a run executes it",
                          *_table(tree, "rrrll")])

    def _repr_html_(self) -> str:
        return _flame(self)

    def _depth(self, s: Measured) -> int:
        return 0 if s.parent < 0 else 1 + self._depth(self.statements[s.parent])

    def timeline(self) -> dict[str, object]:
        """The first events in the Trace Event Format, which Perfetto and chrome://tracing open; times are in microseconds."""
        first = min((began for _, began, _ in self.events), default=0)
        return {"displayTimeUnit": "ns", "traceEvents": [
            {"name": s.what, "cat": "numjet", "ph": "X", "pid": 1, "tid": 1, "ts": (began - first) / 1000,
             "dur": (ended - began) / 1000, "args": {"lines": [f"{_place(at)}  {at.text}" for at in s.locations]}}
            for k, began, ended in self.events for s in [self.statements[k]]]}

    def save(self, path: str | Path) -> None:
        """Writes a flame graph, one self-contained page (.html), or a timeline for Perfetto (.json).

        Raises ValueError for other names of files.
        """
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise ValueError("profiles are saved as .html (a flame graph) or .json (a timeline for Perfetto), got "
                             f"{str(path)!r}")
        text = _page(self) if path.suffix == ".html" else json.dumps(self.timeline())
        path.write_text(text, encoding="utf8")


def _place(location: Location) -> str:
    return "elsewhere" if location.file is None else str(location)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0:.1f} %"


def _time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 1000 * size else f"{nanoseconds / size:,.0f} {unit}"
    return f"{nanoseconds:.0f} ns"


def _table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(len(align))]
    pad = lambda text, width, side: text.rjust(width) if side == "r" else text.ljust(width)
    return ["  " + "  ".join(map(pad, row, widths, align)).rstrip() for row in rows]


# --- the flame graph: a row per level; a box is as wide as its share of the time

_ROW = 26   # pixels
_STYLE = """.nj-flame{font:13px system-ui,sans-serif;color:#222;background:#fff;padding:8px}
.nj-flame .rows{position:relative;overflow:hidden;background:#f4f4f4}
.nj-flame .box{position:absolute;box-sizing:border-box;height:25px;line-height:23px;text-indent:4px;overflow:hidden;
white-space:nowrap;border-right:1px solid #fff}
.nj-flame table{border-collapse:collapse;margin-top:12px}.nj-flame td{padding:2px 10px 2px 0;vertical-align:top}
.nj-flame td.n{text-align:right;font-variant-numeric:tabular-nums}.nj-flame code{white-space:pre-wrap}"""


def _flame(p: Profile) -> str:
    lefts: list[float] = []
    ends: dict[int, float] = {}   # where the next child of a statement begins
    boxes = []
    deepest = 0
    whole = max(p.statements[0].nanoseconds, 1)
    for k, s in enumerate(p.statements):
        left = ends.get(s.parent, 0.0) if s.parent >= 0 else 0.0
        width = 100 * s.nanoseconds / whole
        lefts.append(left)
        ends[s.parent], ends[k] = left + width, left
        depth = p._depth(s)
        deepest = max(deepest, depth)
        boxes.append(_box(p, s, left, width, depth))
    rows = "".join(_row(p, line) for line in p.lines)
    return (f"<div class=nj-flame><style>{_STYLE}</style><p><b>{html.escape(p.name)}</b>: {_time(p.nanoseconds)} per run, "
            f"{p.runs} runs</p><div class=rows style='height:{_ROW * (deepest + 1)}px'>{''.join(boxes)}</div>"
            f"<table>{rows}</table></div>")


def _row(p: Profile, line: Line) -> str:
    place, text = html.escape(_place(line.location)), html.escape(line.location.text)
    return (f"<tr><td class=n>{_share(line.nanoseconds, p.nanoseconds)}</td><td class=n>{_time(line.nanoseconds)}</td>"
            f"<td>{place}</td><td><code>{text}</code></td></tr>")


def _box(p: Profile, s: Measured, left: float, width: float, depth: int) -> str:
    lines = ", ".join(map(str, s.locations))
    hue = 20 + 37 * (sum(map(ord, lines or s.what)) % 8)
    title = "\n".join([s.what, f"{_time(s.nanoseconds / p.runs)} per run, {s.runs / p.runs:,.0f} times",
                       *[f"{at}  {at.text}" for at in s.locations]])
    return (f"<div class=box title='{html.escape(title, quote=True)}' style='left:{left:.3f}%;width:{width:.3f}%;"
            f"top:{_ROW * depth}px;background:hsl({hue} 75% 80%)'>{html.escape(f'{lines}  {s.what}'.strip())}</div>")


def _page(p: Profile) -> str:
    return ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>{html.escape(p.name)}</title><body style='margin:0'>{_flame(p)}</body></html>")
