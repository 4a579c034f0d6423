"""Segments: parts of a long block that become functions of their own.

LLVM's allocation of registers takes more than linear time in the length of a function, by the number of loops and calls that a
value may live across.
"""
from __future__ import annotations

import math
from collections.abc import Iterable

from numjet.cpu.ir.nodes import Expr, For, GemmWithEpilogue, Stmt, SwapBuffers, While
from numjet.cpu.ir.traversal import binds, blocks, expressions, nodes, operands
from numjet.foundation.record import Fields

LONG = 2000     # operations of a block that is cut
ENOUGH = 500    # operations of a segment, beside which a call costs nothing
REPEATED = 1.2  # how many times the operations of a block those of its parts are together, at most


class Segment(Fields):
    """Statements that follow each other, and the variables of theirs that are read behind them."""

    stmts: list[Stmt]
    results: list[Expr]


def segments(body: list[Stmt]) -> dict[int, Segment]:
    """The segments of the long blocks of a program, by the identity of their first statement."""
    facts = _Facts()
    if facts.block(body) <= LONG:
        return {}
    found: dict[int, Segment] = {}
    _cut(body, facts, found)
    return found


class _Facts:
    """What one walk over a program finds: the operations in each statement, by its identity; statements in which buffers change
    places; and of variables, by their ids, the last statement of their block that reads them, by its place."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.swaps: set[int] = set()
        self.last: dict[int, float] = {}
        self._around: list[tuple[int, int]] = []           # the blocks around, by identity, and the places in them
        self._bound: dict[int, tuple[int, int]] = {}       # of variables: the depth and the identity of their block

    def block(self, block: list[Stmt]) -> int:
        """Walks over a block; the number of its operations."""
        depth, total = len(self._around), 0
        self._around.append((id(block), 0))
        for place, stmt in enumerate(block):
            self._around[depth] = id(block), place
            own = nodes(operands(stmt))
            size = len(own) + sum(self.block(inner) for inner in blocks(stmt))
            for expr in own:
                if expr.op == "var":
                    self._read(expr)
            for var in _bound(stmt):
                self._bound[var.id] = depth, id(block)
            if isinstance(stmt, SwapBuffers) or any(id(s) in self.swaps for inner in blocks(stmt) for s in inner):
                self.swaps.add(id(stmt))
            self.sizes[id(stmt)] = size
            total += size
        self._around.pop()
        return total

    def _read(self, var: Expr) -> None:
        """Notes a use of a variable: in its block, or by the statement around, when the block has ended."""
        depth, block = self._bound.get(var.id, (math.inf, 0))
        inside = depth < len(self._around) and self._around[int(depth)][0] == block
        self.last[var.id] = self._around[int(depth)][1] if inside else math.inf


def _cut(block: list[Stmt], facts: _Facts, found: dict[int, Segment]) -> None:
    """Cuts a long block into segments, and the long blocks in it. Straight code is cut into basic blocks elsewhere, and parts
    that have many operations in common stay together, as each would compute them."""
    parts = _parts(block, facts)
    inside = [nodes(expressions(part)) for _, part in parts]
    if sum(map(len, inside)) <= REPEATED * len({e.id for exprs in inside for e in exprs}):
        for end, part in parts:
            if sum(facts.sizes[id(stmt)] for stmt in part) >= ENOUGH and any(map(blocks, part)):
                results = [var for stmt in part for var in _bound(stmt) if facts.last.get(var.id, -1) >= end]
                found[id(part[0])] = Segment(part, results)
    for stmt in block:
        if _long(stmt, facts):
            for inner in blocks(stmt):
                _cut(inner, facts, found)


def _long(stmt: Stmt, facts: _Facts) -> bool:
    """Whether a statement has long blocks that can be cut: not the body of vectors, nor that of a product, which is a function
    with tiles of its own."""
    vector = isinstance(stmt, For) and stmt.mode == "vector"
    return facts.sizes[id(stmt)] > LONG and not vector and not isinstance(stmt, GemmWithEpilogue)


def _parts(block: list[Stmt], facts: _Facts) -> list[tuple[int, list[Stmt]]]:
    """Statements that follow each other, of enough operations together, with the place where they end. Long ones, and those in
    which buffers change places, are in none."""
    parts: list[tuple[int, list[Stmt]]] = []
    part: list[Stmt] = []
    size = 0
    for place, stmt in enumerate(block):
        apart = _long(stmt, facts) or id(stmt) in facts.swaps
        if part and (apart or size >= ENOUGH):
            parts.append((place, part))
            part, size = [], 0
        if not apart:
            part.append(stmt)
            size += facts.sizes[id(stmt)]
    return [*parts, (len(block), part)] if part else parts


def _bound(stmt: Stmt) -> Iterable[Expr]:
    """The variables that a statement binds for those behind it."""
    if isinstance(stmt, GemmWithEpilogue):
        return ()
    return (c.out for c in stmt.carries) if isinstance(stmt, For | While) else binds(stmt)
