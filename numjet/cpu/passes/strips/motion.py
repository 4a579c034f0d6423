"""Code motion: which statements of a block may run before, and which behind, some that have to come together."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.ir.nodes import CALLBACK, Buffer, Call, Check, Expr, Stmt, SwapBuffers, While
from numjet.cpu.ir.traversal import binds, expressions, nodes, reads, walk, writes


def parted(span: Sequence[Stmt], needed: set[Stmt]) -> tuple[list[Stmt], list[Stmt], list[Stmt]] | None:
    """What may run before the statements that are needed, these with what has to stay among them, and what may run behind;
    None where something has its place in the order."""
    if any(isinstance(s, Check | SwapBuffers | While) or _is_callback(s) for s in walk(span)):
        return None
    before: list[Stmt] = []
    kept: list[tuple[Stmt, _Uses]] = []
    so_far = _Uses()
    for stmt in span:
        uses = _Uses(stmt)
        if stmt not in needed and not uses.conflict(so_far):
            before.append(stmt)
        else:
            kept.append((stmt, uses))
            so_far.add(uses)
    members: list[Stmt] = []
    after: list[Stmt] = []
    later = _Uses()
    for stmt, uses in reversed(kept):
        if stmt not in needed and not uses.conflict(later):
            after.append(stmt)
        else:
            members.append(stmt)
            later.add(uses)
    return before, members[::-1], after[::-1]


def _is_callback(stmt: Stmt) -> bool:
    return isinstance(stmt, Call) and stmt.symbol.startswith(CALLBACK)


class _Uses:
    """The buffers and variables that statements read and write."""

    def __init__(self, stmt: Stmt | None = None):
        self.reads: set[Buffer | Expr] = set()
        self.writes: set[Buffer | Expr] = set()
        for s in [] if stmt is None else walk([stmt]):
            self.reads.update(reads(s))
            self.writes.update(writes(s), binds(s))
        if stmt is not None:
            self.reads.update(e for e in nodes(expressions([stmt])) if e.op == "var")

    def conflict(self, other: _Uses) -> bool:
        """Whether the order of the two matters."""
        return not (self.writes.isdisjoint(other.writes) and self.writes.isdisjoint(other.reads)
                    and self.reads.isdisjoint(other.writes))

    def add(self, other: _Uses) -> None:
        """Counts another statement in."""
        self.reads |= other.reads
        self.writes |= other.writes
