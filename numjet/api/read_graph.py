"""Graphs of what functions read: every object is a node once, whatever refers to it.

A node is a list of parts: text, references to other nodes, and leaves, which say which object stands there. Out of one graph
come the text of all that a node reaches, with objects numbered in depth-first order, so that it is the same in other processes;
and digests of all nodes by the addresses of objects, which say within a process whether anything changed that a node reaches.
Both take time linear in the graph: for the digests, strongly connected components (Tarjan, Depth-first search and linear graph
algorithms, 1972) are made in an order in which what they refer to has a digest.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Node = int | tuple[int, ...]   # the address of an object; or of a function, and of static arguments


class Leaf(NamedTuple):
    """The address of an object; and of a part of its memory, if that is meant."""

    object: int
    address: int | None = None


Parts = list[str | Node | Leaf]


class Graph:
    """Nodes with their parts. make_digest: of a text."""

    def __init__(self, make_digest: Callable[[str], str]) -> None:
        self.nodes: dict[Node, Parts] = {}
        self.steps = 0   # parts that were looked at
        self._make_digest = make_digest
        self._digests: dict[Node, str] = {}

    def text(self, root: Node) -> list[str]:
        """What a node reaches, line by line."""
        lines: list[str] = []
        numbers: dict[Any, int] = {root: 0}
        origins: dict[int, int] = {}
        open_nodes: list[Iterator[str | Node | Leaf]] = [iter(self.nodes[root])]
        while open_nodes:
            part = next(open_nodes[-1], None)
            self.steps += 1
            if part is None:
                open_nodes.pop()
                lines.append("end")
            elif isinstance(part, str):
                lines.append(part)
            elif isinstance(part, Leaf):
                number = numbers.setdefault(part.object, len(numbers))
                lines.append(f"object {number}")
                if part.address is not None:
                    lines.append(str(part.address - origins.setdefault(part.object, part.address)))
            elif part in numbers:
                lines.append(f"object {numbers[part]}")
            else:
                numbers[part] = len(numbers)
                open_nodes.append(iter(self.nodes[part]))
        return lines

    def digest(self, root: Node) -> str:
        """A name of what a node reaches."""
        if root not in self._digests:
            self._name_all(root)
        return self._digests[root]

    def reaching(self, goal: Node) -> frozenset[Node]:
        """The nodes that a node is reached from, and itself."""
        sources: dict[Node, list[Node]] = {}
        for node in self.nodes:
            for target in self._targets(node):
                sources.setdefault(target, []).append(node)
        found, unread = {goal}, [goal]
        while unread:
            for node in sources.get(unread.pop(), ()):
                if node not in found:
                    found.add(node)
                    unread.append(node)
        return frozenset(found)

    def _targets(self, node: Node) -> list[Node]:
        parts = self.nodes[node]
        self.steps += len(parts)
        return [part for part in parts if not isinstance(part, (str, Leaf))]

    def _name_all(self, root: Node) -> None:
        """Digests of all nodes that one reaches, component by component."""
        order: dict[Node, int] = {root: 0}
        lowest = {root: 0}
        waiting = [root]   # nodes whose component is not complete
        open_nodes = [(root, iter(self._targets(root)))]
        while open_nodes:
            node, targets = open_nodes[-1]
            target = next(targets, None)
            if target is None:
                open_nodes.pop()
                if lowest[node] == order[node]:
                    component = [waiting.pop()]
                    while component[-1] != node:
                        component.append(waiting.pop())
                    self._name(component)
                if open_nodes:
                    above = open_nodes[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
            elif target in self._digests:
                continue
            elif target not in order:
                order[target] = lowest[target] = len(order)
                waiting.append(target)
                open_nodes.append((target, iter(self._targets(target))))
            else:
                lowest[node] = min(lowest[node], order[target])

    def _name(self, component: list[Node]) -> None:
        """Digests of nodes that reach each other, if they are several."""
        inner = set(component)
        lines = []
        for node in sorted(component, key=str):
            lines.append(f"node {node}")
            for part in self.nodes[node]:
                known = not isinstance(part, (str, Leaf)) and part not in inner
                lines.append(self._digests[part] if known else repr(part))  # type: ignore[index]
        name = self._make_digest("\n".join(lines))
        for node in component:
            self._digests[node] = name if len(component) == 1 else self._make_digest(f"{name} {node}")
