"""Layered graph drawing (Sugiyama, Tagawa and Toda 1981) of a program: equations in rows below what they read.

Each equation stands one row below its last operand; within a row the order follows the mean place of the neighbours, in a few
sweeps up and down. Programs inside of operations are drawn inside of their box. All steps are linear in the program, or
n log n for the sorting of rows.
"""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from numjet.core.compile_report import CompileReport, Location, Operation
from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from numjet.foundation.record import Record
from numjet.foundation.source import Source

GAP, MARGIN, TITLE, HEIGHT = 26, 14, 24, 40   # pixels
LETTER = 7.2                                  # width of a letter
SWEEPS = 4


class Node(Record):
    """A box. kind: "input", "constant", "output" or "operation"; text: its lines; x and y: its left upper corner, from that of
    the box around it. fate and why: what the compiler made of the array (Operation), "" where it is not known.
    inside: the drawings of programs inside of the operation."""
    key: int
    kind: str
    text: tuple[str, ...]
    location: Location
    name: str
    fate: str
    why: str
    x: float
    y: float
    width: float
    height: float
    inside: tuple[Drawing, ...] = ()


class Drawing(Record):
    """A program's boxes and edges (pairs of keys), in a box of its own."""
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    x: float
    y: float
    width: float
    height: float

    def all_nodes(self) -> Iterator[Node]:
        """Every node, those inside of others too."""
        stack: list[Drawing] = [self]
        while stack:
            for node in stack.pop().nodes:
                yield node
                stack.extend(node.inside)


class _Box:
    """A node before it has a place."""

    def __init__(self, key: int, kind: str, text: tuple[str, ...], location: Location, name: str = "", fate: str = "",
                 why: str = "", inside: tuple[Drawing, ...] = ()):
        self.key, self.kind, self.text, self.location, self.name = key, kind, text, location, name
        self.fate, self.why, self.inside = fate, why, inside
        self.row, self.place = 0, 0.0
        self.width = LETTER * max(map(len, text)) + 2 * MARGIN
        self.height: float = HEIGHT
        if inside:
            self.width = max(self.width, sum(d.width + MARGIN for d in inside) + MARGIN)
            self.height = HEIGHT + max(d.height for d in inside) + MARGIN

    def at(self, x: float, y: float) -> Node:
        return Node(self.key, self.kind, self.text, self.location, self.name, self.fate, self.why, x, y, self.width,
                    self.height, self.inside)


class Drawer:
    """Draws a program and those inside of it. Operations of the report are found by name, type and line, in order."""

    def __init__(self, report: CompileReport):
        self.keys = 0
        self.known: defaultdict[tuple[str, str, str], deque[Operation]] = defaultdict(deque)
        for operation in report.operations:
            self.known[operation.name, operation.type, str(operation.location)].append(operation)

    def draw(self, jaxpr: Jaxpr, title: str) -> Drawing:
        boxes, edges = self.boxes(jaxpr)
        rows = _rows(boxes, edges)
        _order(rows, edges)
        return _placed(title, rows, edges)

    def boxes(self, jaxpr: Jaxpr) -> tuple[list[_Box], list[tuple[_Box, _Box]]]:
        """A box for each input, equation and result, and the edges between them."""
        names = _names(jaxpr)
        maker: dict[Var, _Box] = {}
        boxes: list[_Box] = []
        edges: list[tuple[_Box, _Box]] = []
        for kind, variables in (("constant", jaxpr.constvars), ("input", jaxpr.invars)):
            for v in variables:
                maker[v] = self.box(kind, (names[v], v.aval.str_short()), NOWHERE)
                boxes.append(maker[v])
        for eqn in jaxpr.eqns:
            box = self.of_equation(eqn, names)
            boxes.append(box)
            edges += [(maker[v], box) for v in dict.fromkeys(a for a in eqn.invars if isinstance(a, Var))]
            maker.update(dict.fromkeys(eqn.outvars, box))
        for k, atom in enumerate(jaxpr.outvars):
            text = (f"result {k}", atom.aval.str_short() if isinstance(atom, Var) else str(atom.val))
            box = self.box("output", text, NOWHERE)
            boxes.append(box)
            if isinstance(atom, Var):
                edges.append((maker[atom], box))
        return boxes, edges

    def of_equation(self, eqn: JaxprEqn, names: dict[Var, str]) -> _Box:
        made = ", ".join(names[v] for v in eqn.outvars)
        read = " ".join(str(a.val) if isinstance(a, Literal) else names[a] for a in eqn.invars)
        types = [v.aval.str_short() for v in eqn.outvars]
        location = location_of(eqn)
        found = [self.known[key] for t in types if (key := (eqn.primitive.name, t, str(location))) in self.known]
        operation = next((operations.popleft() for operations in found if operations), None)
        inside = tuple(self.draw(sub, f"{eqn.primitive.name} {k}" if k else eqn.primitive.name)
                       for k, sub in enumerate(subjaxprs(eqn.params)))
        text = (_short(f"{made} = {eqn.primitive.name} {read}"), _short(", ".join(types)))
        return self.box("operation", text, location, eqn.primitive.name, operation.fate if operation else "",
                        operation.why if operation else "", inside)

    def box(self, kind: str, text: tuple[str, ...], location: Location, name: str = "", fate: str = "", why: str = "",
            inside: tuple[Drawing, ...] = ()) -> _Box:
        self.keys += 1
        return _Box(self.keys, kind, text, location, name, fate, why, inside)


NOWHERE = Location(None, 0)


def location_of(eqn: JaxprEqn) -> Location:
    source = eqn.source
    frame = source.frame if isinstance(source, Source) else source
    return NOWHERE if frame is None else Location(frame.file, frame.line)


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"


def _names(jaxpr: Jaxpr) -> dict[Var, str]:
    """a, b, ..., z, ba, bb, ... in the order of definition."""
    variables = [*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)]
    return {v: _letters(k) for k, v in enumerate(variables)}


def _letters(k: int) -> str:
    text = ""
    while True:
        k, digit = divmod(k, 26)
        text = chr(ord("a") + digit) + text
        if not k:
            return text


def _rows(boxes: Sequence[_Box], edges: Sequence[tuple[_Box, _Box]]) -> list[list[_Box]]:
    """Boxes by row. They come in an order in which operands precede their readers, and edges in the order of the readers."""
    for source, target in edges:
        target.row = max(target.row, source.row + 1)
    last = max((box.row for box in boxes), default=0)
    for box in boxes:
        if box.kind == "output":
            box.row = last
    rows: list[list[_Box]] = [[] for _ in range(last + 1)]
    for box in boxes:
        rows[box.row].append(box)
    return rows


def _order(rows: Sequence[list[_Box]], edges: Sequence[tuple[_Box, _Box]]) -> None:
    """Sorts each row by the mean place of the neighbours above, then below, a few times."""
    above: defaultdict[_Box, list[_Box]] = defaultdict(list)
    below: defaultdict[_Box, list[_Box]] = defaultdict(list)
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    for row in rows:
        _number(row)
    for sweep in range(SWEEPS):
        neighbours, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            for box in row:
                near = neighbours[box]
                if near:
                    box.place = sum(other.place for other in near) / len(near)
            row.sort(key=lambda box: box.place)
            _number(row)


def _number(row: Sequence[_Box]) -> None:
    for k, box in enumerate(row):
        box.place = (k + 0.5) / len(row)


def _placed(title: str, rows: Sequence[Sequence[_Box]], edges: Sequence[tuple[_Box, _Box]]) -> Drawing:
    """Rows one below the other, each centred."""
    widths = [sum(box.width + GAP for box in row) - GAP for row in rows]
    whole = max([*widths, LETTER * len(title)], default=0.0)
    nodes = []
    y = float(TITLE)
    for row, width in zip(rows, widths, strict=True):
        x = MARGIN + (whole - width) / 2
        for box in row:
            nodes.append(box.at(x, y))
            x += box.width + GAP
        y += max((box.height for box in row), default=0.0) + GAP
    return Drawing(title, tuple(nodes), tuple((a.key, b.key) for a, b in edges), 0.0, 0.0, whole + 2 * MARGIN, y)
