"""Records of invalid values: what a program writes down about NaNs while it runs, and how the place of birth is found in that.

A program has a table of integers. Every equation has a place in it for the first invalid element of its result, or -1; every
loop a place for the iteration in which its results became invalid first. Values that no result shows are forgotten iteration
by iteration, so that what stands in the table at the end leads from the results to the equation that made the value.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numjet.core.nan_checks import InvalidValueError, Iteration

Origin = tuple["Place", ...]  # the places that a value may have its invalid elements from
KINDS = ("nan", "inf")


class Place:
    """Something that may be invalid. slot: where the table has 2 * position + kind of its first invalid element."""

    def __init__(self, slot: int):
        self.slot = slot

    def is_invalid(self, table: np.ndarray) -> bool:
        """Whether it was."""
        return int(table[self.slot]) >= 0

    def causes(self, table: np.ndarray) -> Iterator[Place]:
        """The invalid places that it has its value from."""
        return iter(())


class Argument(Place):
    """An argument of the program."""

    def __init__(self, slot: int, number: int, shape: Sequence[int]):
        super().__init__(slot)
        self.number, self.shape = number, shape


class Row(Place):
    """A row that a scan reads in each iteration."""

    def __init__(self, slot: int, outer: Origin):
        super().__init__(slot)
        self.outer = outer

    def causes(self, table: np.ndarray) -> Iterator[Place]:
        return invalid(self.outer, table)


class Carried(Place):
    """A value that a loop carries: valid, as the first iteration with an invalid result is recorded, or the first one."""

    def __init__(self, scope: Scope, outer: Origin):
        super().__init__(-1)
        self.scope, self.outer = scope, outer

    def is_invalid(self, table: np.ndarray) -> bool:
        return int(table[self.scope.iteration]) == 0 and any(invalid(self.outer, table))

    def causes(self, table: np.ndarray) -> Iterator[Place]:
        return invalid(self.outer, table)


class Scope:
    """A program, the body of a loop or a branch, while it runs once. kind: "program", "loop" or "branch".

    state: the slot that says what is recorded: 0 nothing, 1 an iteration whose carried values are invalid, 2 for good;
    iteration: that of which. results: the origins of its results.
    """

    def __init__(self, kind: str, parent: Scope | None, state: int, iteration: int, length: int | None = None,
                 reverse: bool = False):
        self.kind, self.parent, self.state, self.iteration = kind, parent, state, iteration
        self.length, self.reverse = length, reverse
        self.results: Origin = ()
        self.nodes: list[tuple[Node, Any]] = []      # with the scalar for the table
        self.rows: list[tuple[Row, Any]] = []        # with the array
        self.finished: list[Scope] = []              # inside, until an equation takes them

    @property
    def is_loop(self) -> bool:
        return self.kind == "loop"

    def around(self) -> Iterator[Scope]:
        """This scope and those around it that have a state."""
        scope: Scope | None = self
        while scope is not None and scope.parent is not None:
            yield scope
            scope = scope.parent

    def iterations(self, table: np.ndarray) -> list[Iteration]:
        """The iterations recorded, outermost first."""
        found = []
        for scope in self.around():
            if scope.is_loop:
                found.append(scope.iteration_of(int(table[scope.iteration])))
        return found[::-1]

    def iteration_of(self, step: int) -> Iteration:
        """The iteration that a step is: a reverse scan begins with the last one."""
        if self.length is None:
            return Iteration(step, None, self.reverse)
        return Iteration(self.length - 1 - step if self.reverse else step, self.length)


class Node(Place):
    """One result of an equation. children: the loops and branches that the equation runs."""

    def __init__(self, slot: int, eqn: Any, result: int, scope: Scope, inputs: Origin, children: Sequence[Scope]):
        super().__init__(slot)
        self.eqn, self.result, self.scope, self.inputs, self.children = eqn, result, scope, inputs, children

    def causes(self, table: np.ndarray) -> Iterator[Place]:
        for child in self.children:
            if int(table[child.state]) > 0:
                yield from invalid(child.results, table)
        yield from invalid(self.inputs, table)

    def error(self, kind: str, position: int, iterations: Sequence[Iteration], note: str = "") -> InvalidValueError:
        """The error for an element of the result."""
        var = self.eqn.outvars[self.result]
        return InvalidValueError(kind, self.eqn.primitive.name, self.eqn.source, iterations=iterations, lanes=var.lanes or (),
                                 shape=var.aval.shape, position=position, note=note)


def invalid(places: Origin, table: np.ndarray) -> Iterator[Place]:
    """Those places that were invalid."""
    return (p for p in places if p.is_invalid(table))


def first_birth(results: Origin, table: np.ndarray) -> Place | None:
    """The place where an invalid value was made that some results show: of several, the first in the program."""
    found: list[Place] = []
    seen: set[Place] = set()
    stack = list(invalid(results, table))
    while stack:
        place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        causes = list(place.causes(table))
        stack += causes
        if not causes and not isinstance(place, (Row, Carried)):
            found.append(place)
    return min(found, key=lambda p: p.slot, default=None)


_NOT_MADE = "the de-optimized function did not make it, it is an"
_CONSTANT = f"A constant of the program holds it: {_NOT_MADE} array or literal from outside."


def error_of(results: Origin, table: np.ndarray, name: str, kind: str) -> Exception:
    """The error for a program whose results are invalid."""
    born = first_birth(results, table)
    if born is None:
        return InvalidValueError(kind, name, None, note=_CONSTANT)
    position, which = divmod(int(table[born.slot]), 2)
    if isinstance(born, Node):
        return born.error(KINDS[which], position, born.scope.iterations(table))
    assert isinstance(born, Argument)
    return InvalidValueError(KINDS[which], name, None, shape=born.shape, position=position,
                             note=f"Argument number {born.number} of the program holds it already: {_NOT_MADE} input.")
