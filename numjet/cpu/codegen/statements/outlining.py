"""Outlining: statements that differ only in buffers and captured values become calls of one function.

The structure of a statement lists its operations on its own variables, with the buffers and the variables of the code around
numbered in the order of their first use. Statements of equal structure do the same with other buffers and values.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import Buffer, Call, Check, Comment, Copy, Expr, Fill, For, Stmt, Store, SwapBuffers
from numjet.cpu.ir.traversal import binds, blocks, operands, postorder, swapped, walk, written


class Structure:
    """The structure of statements that follow each other: `key`, equal for statements of equal structure, and
    what differs between these.

    buffers: what they touch; captured: variables of the code around that they read; each in the order of the key. writes: the
    buffers that they may write.
    """

    __slots__ = ("_bound", "_items", "_numbers", "buffers", "captured", "key", "writes")

    def __init__(self, block: Sequence[Stmt]):
        self.buffers: dict[Buffer, int] = {}
        self.captured: list[Expr] = []
        self._bound = {var.id for s in walk(block) for var in binds(s)}
        self._items: list[Hashable] = []
        self._numbers: dict[int, int] = {}
        self.writes = written(block)
        for stmt in block:
            self._stmt(stmt)
        self.key: Hashable = tuple(self._items)

    @property
    def passed(self) -> list[Buffer]:
        """The buffers that come from the code around: all but the tiles of products, which exist while these run."""
        return [b for b in self.buffers if b.kind != "tile"]

    def number(self, var: Expr) -> int:
        """The number of a variable that the statements bind."""
        return self._numbers[var.id]

    def _buffer(self, buffer: Buffer) -> int:
        """The number of a buffer; the key holds what code generation depends on."""
        number = self.buffers.get(buffer)
        if number is None:
            number = self.buffers[buffer] = len(self.buffers)
            self._items.append((buffer.dtype, buffer.certain, buffer in self.writes, buffer.kind == "tile"))
        return number

    def _expr(self, expr: Expr) -> int:
        """The number of an expression; its operands come before it."""
        numbers, items = self._numbers, self._items
        found = numbers.get(expr.id)
        if found is not None:
            return found
        for top in postorder([expr], numbers):
            attr: Any = top.attr
            if attr is not None:
                attr = self._attribute(top, attr)
            items.append((top.op, top.dtype, attr, *[numbers[a.id] for a in top.args]))
            numbers[top.id] = len(numbers)
        return numbers[expr.id]

    def _attribute(self, expr: Expr, attr: Any) -> Any:
        if isinstance(attr, np.generic):
            return attr.tobytes()
        if isinstance(attr, Buffer):
            return self._buffer(attr)
        if expr.op != "var":
            return attr
        if expr.id in self._bound:
            return None
        self.captured.append(expr)
        return len(self.captured)

    def _stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, Comment):
            return
        head: list[Hashable] = [type(stmt).__name__, *(self._expr(e) for e in operands(stmt))]
        head += [self._expr(var) for var in binds(stmt)]
        match stmt:
            case For():
                head += [stmt.mode, *(c.combine for c in stmt.carries)]
            case Store(buffer=buffer) | Fill(target=buffer):
                head.append(self._buffer(buffer))
            case Copy():
                head += [self._buffer(stmt.target), self._buffer(stmt.source), stmt.target.kind, stmt.source.kind]
            case SwapBuffers():
                head += [*map(self._buffer, stmt.targets), None, *map(self._buffer, stmt.sources)]
            case Call():
                head += [stmt.symbol, stmt.checked, *(self._buffer(a[0]) if isinstance(a, tuple) else -1 for a in stmt.args)]
                head += [*map(self._buffer, stmt.reads), None, *map(self._buffer, stmt.writes)]
        inside = blocks(stmt)
        self._items.append((*head, len(inside)))
        for block in inside:
            for inner in block:
                self._stmt(inner)
            self._items.append(None)


def outlinable(stmt: Stmt) -> bool:
    """Whether this can be a function of its own: a loop without carries that leaves buffers where they are, and cannot leave
    the function around. An iteration of a parallel loop ends with all buffers where they were at its beginning."""
    if not isinstance(stmt, For) or stmt.carries or stmt.mode != "parallel" and swapped([stmt]):
        return False
    return not any(isinstance(s, Check) or (isinstance(s, Call) and s.checked) for s in walk(stmt.body))


def repeated_loops(body: list[Stmt]) -> dict[int, Structure]:
    """The structures of the loops of a block that occur more than once, by the identity of the statement."""
    structures = {id(stmt): Structure([stmt]) for stmt in body if outlinable(stmt)}
    times = Counter(structure.key for structure in structures.values())
    return {number: structure for number, structure in structures.items() if times[structure.key] > 1}
