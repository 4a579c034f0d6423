"""Independence of loops, noted while their bounds are numbers: with sizes in the place of these it could not be shown."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.dependence import independent
from numjet.cpu.ir.nodes import For, Function, GemmWithEpilogue, Stmt
from numjet.cpu.ir.traversal import blocks
from numjet.cpu.passes.manager import Pass

LEVELS = 2   # of loops one inside the other: those further inside are never shared


def note(function: Function) -> None:
    """Marks loops whose iterations may run at the same time, in place."""
    _note(function.body, LEVELS)


def _note(block: Sequence[Stmt], levels: int) -> None:
    for stmt in block:
        inside = levels
        if isinstance(stmt, For):
            stmt.independent, inside = stmt.mode in ("serial", "vector") and independent(stmt), levels - 1
        if inside and not isinstance(stmt, GemmWithEpilogue):
            for inner in blocks(stmt):
                _note(inner, inside)


PASS = Pass("independence", "notes which loops threads may share", lambda function, context: note(function), ("serial",))
