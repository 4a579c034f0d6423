"""Neighbouring elements: which loads of a loop's body are a few elements apart, whatever its variable is."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import Buffer, Expr, Stmt
from numjet.cpu.ir.traversal import nodes, operands, walk

LARGEST_GROUP = 8   # elements

Terms = frozenset[tuple[int, int]]   # of an index: the ids of expressions, with their coefficients


class Neighbours:
    """The elements that the iterations of a loop read without a guard, by buffer and terms of the index."""

    def __init__(self, body: Sequence[Stmt]):
        self._affine = AffineForms.of(body)
        self._constants: dict[tuple[Buffer, Terms], set[int]] = {}
        for e in nodes([top for stmt in walk(body) for top in operands(stmt)]):
            if e.op == "load" and len(e.args) == 1:
                total = self._affine.split(e.args[0])
                self._constants.setdefault((e.attr, _terms(total.terms)), set()).add(total.constant)

    def group(self, buffer: Buffer, index: Expr) -> tuple[int, int] | None:
        """The place of an element in its group, and the size of that; None where it has no neighbours."""
        total = self._affine.split(index)
        found = self._constants.get((buffer, _terms(total.terms)), ())
        first = last = None
        for constant in sorted(found):
            if first is None or constant - first >= LARGEST_GROUP:
                if first is not None and total.constant < constant:
                    break
                first = constant
            last = constant
        if first is None or last is None or not first < last or not first <= total.constant <= last:
            return None
        return total.constant - first, last - first + 1


def _terms(terms: Sequence[tuple[Expr, int]]) -> Terms:
    return frozenset((term.id, coefficient) for term, coefficient in terms)
