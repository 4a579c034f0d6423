"""Colourings of sparsity patterns: columns of one colour are found by one product with the matrix.

Greedy algorithms of A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian? Graph coloring for computing
derivatives" (SIAM Review 47, 2005): partial distance-2 colouring of a bipartite graph (Curtis, Powell, Reid 1974) and star
colouring. Sets of colours are Python's integers, a bit per colour.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.experimental.sparse_derivatives.values import sparse


def _first_free(used: int) -> int:
    """The lowest bit that is not set."""
    return (~used & (used + 1)).bit_length() - 1


def _best(colour: Callable[[np.ndarray], np.ndarray], degrees: np.ndarray) -> np.ndarray:
    """The colouring with fewest colours of two orders: as the vertices come, and those with most neighbours first."""
    orders = (np.arange(degrees.size), np.argsort(-degrees, kind="stable"))
    return min((colour(order) for order in orders), key=lambda c: int(c.max(initial=-1)))


def colour_columns(pattern: Any) -> np.ndarray:
    """Partial distance-2 colouring: a colour (0, 1, ...) for each column, so that those of one colour share no row.

    pattern: a matrix, of scipy.sparse or dense, whose elements that are not zero count.

    >>> import numpy as np
    >>> colour_columns(np.array([[1, 1, 0], [0, 1, 1]])).tolist()
    [0, 1, 0]
    """
    by_row = sparse.csr_matrix(pattern)
    by_column = by_row.tocsc()
    rows = np.split(by_column.indices, by_column.indptr[1:-1]) if by_row.shape[1] else []
    neighbours = by_column.T @ np.diff(by_row.indptr)
    return _best(lambda order: _distance_two([r.tolist() for r in rows], by_row.shape[0], order), np.asarray(neighbours))


def _distance_two(rows: Sequence[list[int]], count: int, order: np.ndarray) -> np.ndarray:
    used = [0] * count
    colours = np.zeros(len(rows), np.int64)
    for j in order.tolist():
        taken = 0
        for r in rows[j]:
            taken |= used[r]
        colours[j] = _first_free(taken)
        for r in rows[j]:
            used[r] |= 1 << int(colours[j])
    return colours


def colour_symmetric(pattern: Any) -> np.ndarray:
    """Star colouring of a symmetric matrix' graph: neighbours differ, and every path of four vertices has three colours.

    So each element (i, j) can be read from the product with the columns of i's colour, or of j's.

    pattern: a square matrix, of scipy.sparse or dense, with a symmetric pattern; its diagonal counts as nonzero.

    >>> import numpy as np
    >>> colour_symmetric(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]])).tolist()
    [0, 1, 1]
    """
    graph = sparse.csr_matrix(pattern, copy=True)
    graph.setdiag(0)
    graph.eliminate_zeros()
    neighbours = [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]
    return _best(lambda order: _Star(neighbours).coloured(order), np.diff(graph.indptr))


class _Star:
    """A star colouring in the making.

    near[v]: colours of v's neighbours; twice[v]: those of two or more; barred[v]: colours c of neighbours x, with v's colour in
    twice[x], which a further neighbour of v must not have."""

    def __init__(self, neighbours: Sequence[list[int]]):
        self.neighbours = neighbours
        self.colours = [-1] * len(neighbours)
        self.near, self.twice, self.barred = ([0] * len(neighbours) for _ in range(3))

    def coloured(self, order: np.ndarray) -> np.ndarray:
        """All vertices, in this order."""
        for v in order.tolist():
            self.give(v, _first_free(self.forbidden(v)))
        return np.array(self.colours, np.int64)

    def forbidden(self, v: int) -> int:
        """Colours by which v would end up on a path of four vertices with two colours, or beside its own."""
        taken = self.near[v]
        for w in self.neighbours[v]:
            c = self.colours[w]
            if c >= 0:
                taken |= self.barred[w]          # v - w - x - y
                if self.twice[v] >> c & 1:       # u - v - w - y, u coloured as w
                    taken |= self.near[w]
        return taken

    def give(self, v: int, c: int) -> None:
        """Colours v."""
        self.colours[v] = c
        bit = 1 << c
        for w in self.neighbours[v]:
            if self.colours[w] >= 0 and self.twice[v] >> self.colours[w] & 1:
                self.barred[w] |= bit
        for x in self.neighbours[v]:
            repeated = bool(self.near[x] & bit)
            self.near[x] |= bit
            if repeated and not self.twice[x] & bit:
                self.twice[x] |= bit
                if self.colours[x] >= 0:
                    self._bar(x, c)
            elif repeated and self.colours[x] >= 0:
                self.barred[v] |= 1 << self.colours[x]

    def _bar(self, x: int, c: int) -> None:
        """x has become the middle of two neighbours of colour c."""
        for w in self.neighbours[x]:
            if self.colours[w] == c:
                self.barred[w] |= 1 << self.colours[x]
