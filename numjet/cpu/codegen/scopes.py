"""Scopes and value numbering: the regions that hold emitted instructions, and the values known in them.

Every value is remembered under its expression until the scope with its instruction closes, or until a buffer that it read is
written. An instruction goes into the outermost scope in which all its operands exist, which hoists loop-invariant code: the
text of an open outer scope ends right before the inner statement.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable

from numjet.cpu.ir.nodes import Buffer

NO_READS: frozenset[Buffer] = frozenset()


class Value:
    """An SSA value: its text, number of lanes (1: scalar), depth of its scope, and the buffers it has read."""

    __slots__ = ("depth", "lanes", "literal", "reads", "text")

    def __init__(self, text: str, lanes: int = 1, depth: int = 0, reads: frozenset[Buffer] = NO_READS,
                 literal: bool = False):
        self.text, self.lanes, self.depth, self.reads, self.literal = text, lanes, depth, reads, literal


class Code:
    """Lines of text, the label of their last basic block, and the line where that block begins."""

    __slots__ = ("block", "block_start", "lines")

    def __init__(self, block: str):
        self.lines: list[str] = []
        self.block = block
        self.block_start = 0


class Scope:
    """A region whose values live until it closes.

    kind: "loop" (leaving it saves work), "branch" (may not be executed), "inline" (a part of its parent's code).
    certain: the region is executed whenever its parent is.
    """

    __slots__ = ("_hoisted", "certain", "code", "defined", "depth", "kind", "parent", "written")

    def __init__(self, parent: Scope | None, kind: str, code: Code, written: set[Buffer], certain: bool):
        self.parent, self.kind, self.code, self.written, self.certain = parent, kind, code, written, certain
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.defined: list[Hashable] = []
        self._hoisted = self._hoisting_table()

    def hoisted(self, depth: int) -> Scope:
        """The scope for an instruction whose deepest operand lives at that depth."""
        return self._hoisted[depth] or self

    def _hoisting_table(self) -> list[Scope | None]:
        """For each depth the scope of its instructions, None for this one.

        Code leaves a branch only on its way out of a loop, as otherwise it would only be executed more often.
        """
        parent = self.parent
        if parent is None:
            return [None]
        if self.kind == "branch":
            return [*parent._hoisted, None]
        return [*(scope or parent for scope in parent._hoisted), None]


class ValueTable:
    """The values known now, by key (an expression's id, or a tuple for helper values)."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Value] = {}
        self._readers: dict[Buffer, list[Hashable]] = {}

    def define(self, key: Hashable, value: Value, scope: Scope) -> Value:
        """Remembers `value`, whose instruction stands in `scope`."""
        self.known[key] = value
        scope.defined.append(key)
        for buffer in value.reads:
            self._readers.setdefault(buffer, []).append(key)
        return value

    def invalidate(self, buffers: Iterable[Buffer]) -> None:
        """Forgets every value that has read one of `buffers`."""
        for buffer in buffers:
            for key in self._readers.pop(buffer, ()):
                self.known.pop(key, None)

    def close(self, scope: Scope) -> None:
        """Forgets the values of a scope."""
        for key in scope.defined:
            self.known.pop(key, None)
