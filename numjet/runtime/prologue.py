"""Prologues: work on constants of a program alone runs once, when the program is compiled, and its results are constants, too.

Folding computes small results while a program is simplified, operation by operation. Here the equations that depend on
constants only, and on at least one array of the program's own, are a program by itself, which is compiled and run. What the
remaining program reads of it is kept for as long as the program lives.

Equations that cost next to nothing where their results are read, as a transpose or a sum of two arrays fused into a loop, stay:
their results would only take memory.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core import nan_checks
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from numjet.core.traits import BRANCHES, CHEAP, COMPACT, FREE, KEEPS_APART, MOVES
from numjet.core.walk import all_eqns
from numjet.foundation import events
from numjet.foundation.config import config
from numjet.foundation.record import Record

LEAST_ELEMENTS = 1024   # of all costly results together: fewer are computed in less time than a second program is worth
ELEMENTWISE = 16        # elements of an elementwise result that count as one, as they are computed side by side
MOST_BYTES = 1 << 20    # of the results that are kept, or
MOST_TIMES = 4          # as many times the bytes of the constants


class Split(Record):
    """A program in two: `prologue` has no inputs, and its results are the constants `kept` of `rest`, after its own."""
    prologue: ClosedJaxpr
    rest: Jaxpr
    constants: Sequence[Any]
    kept: Sequence[Var]

    def joined(self, values: Sequence[Any]) -> ClosedJaxpr:
        """The remaining program, given the results of the prologue."""
        return ClosedJaxpr(self.rest, [*self.constants, *values])


def computed_once(closed: ClosedJaxpr, run: Callable[[ClosedJaxpr], Sequence[Any]]) -> ClosedJaxpr:
    """The program with its work on constants done. run: the results of a program without inputs.

    The same program where there is nothing worth it, where results are checked for NaNs, which are to be reported for the
    line that made them, and where no program may run.
    """
    if not closed.consts or nan_checks.checked_kinds() or config.no_execution:
        return closed
    parts = split(closed)
    if parts is None:
        return closed
    events.count("prologue")
    return parts.joined(run(parts.prologue))


def split(closed: ClosedJaxpr) -> Split | None:
    """A program's work on constants, and the rest; None if that is not worth a second program."""
    jaxpr = closed.jaxpr
    makers, arrays = _constant_makers(jaxpr)
    if not arrays:
        return None
    early = {id(eqn) for eqn in makers.values()}
    kept, stays = _kept(jaxpr, makers, arrays, max(MOST_BYTES, MOST_TIMES * sum(v.aval.nbytes for v in jaxpr.constvars)))
    first = _needed([eqn for eqn in jaxpr.eqns if id(eqn) in early], kept)
    if sum(_elements(eqn) for eqn in first if _is_costly(eqn)) < LEAST_ELEMENTS:
        return None
    later = [eqn for eqn in jaxpr.eqns if id(eqn) not in early or id(eqn) in stays]
    consts = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    mine, others = ([v for v in consts if v in read] for read in (_read(first, ()), _read(later, jaxpr.outvars)))
    rest = Jaxpr([*others, *kept], jaxpr.invars, jaxpr.outvars, later, debug=jaxpr.debug)
    return Split(ClosedJaxpr(Jaxpr(mine, [], kept, first), [consts[v] for v in mine]), rest, [consts[v] for v in others], kept)


def _constant_makers(jaxpr: Jaxpr) -> tuple[dict[Var, JaxprEqn], set[Var]]:
    """By variable that depends on constants alone, the equation that makes it; and those made of an array."""
    makers: dict[Var, JaxprEqn] = {}
    known = set(jaxpr.constvars)   # and what is made of literals only
    arrays = set(jaxpr.constvars)
    for eqn in jaxpr.eqns:
        operands = [a for a in eqn.invars if isinstance(a, Var)]
        if known.issuperset(operands) and _is_pure(eqn):
            known.update(eqn.outvars)
            makers.update((v, eqn) for v in eqn.outvars)
            if not arrays.isdisjoint(operands):
                arrays.update(eqn.outvars)
    return makers, arrays.difference(jaxpr.constvars)


def _is_pure(eqn: JaxprEqn) -> bool:
    """Whether an equation may run before the program is called, or not at all."""
    inner = all_eqns(Jaxpr([], [], [], [eqn])) if eqn.primitive.programs else (eqn,)
    return not any(e.effects or KEEPS_APART <= e.primitive.traits or e.primitive.collective is not None
                   or any(map(callable, e.params.values())) for e in inner)


def _kept(jaxpr: Jaxpr, makers: dict[Var, JaxprEqn], arrays: set[Var],
          most: int) -> tuple[list[Var], set[int]]:
    """The variables whose values are kept, and the equations that stay though they depend on constants alone, by identity."""
    kept: dict[Var, None] = {}
    stays: set[int] = set()
    waiting: list[Atom] = [a for eqn in jaxpr.eqns if not any(v in makers for v in eqn.outvars) for a in eqn.invars]
    waiting += jaxpr.outvars
    while waiting:
        v = waiting.pop()
        if not isinstance(v, Var) or v not in makers or v in kept or id(makers[v]) in stays:
            continue
        eqn = makers[v]
        if v in arrays and _is_costly(eqn) and v.aval.dtype.itemsize and v.aval.dtype.names is None and v.aval.nbytes <= most:
            most -= v.aval.nbytes
            kept[v] = None
        else:
            stays.add(id(eqn))
            waiting += eqn.invars
    return [v for v in kept if id(makers[v]) not in stays], stays


def _is_costly(eqn: JaxprEqn) -> bool:
    """Whether it takes longer to compute an element of the results than to load it."""
    traits = eqn.primitive.traits
    return not any(cheap <= traits for cheap in (MOVES, COMPACT, FREE, CHEAP)) and not BRANCHES <= traits


def _elements(eqn: JaxprEqn) -> int:
    most = max((a.aval.size for a in (*eqn.invars, *eqn.outvars)), default=0)
    return most // ELEMENTWISE if eqn.primitive.elementwise else most


def _needed(eqns: Sequence[JaxprEqn], results: Sequence[Var]) -> list[JaxprEqn]:
    """Those of the equations that the results need."""
    wanted: set[Atom] = set(results)
    found = []
    for eqn in reversed(eqns):
        if not wanted.isdisjoint(eqn.outvars):
            found.append(eqn)
            wanted.update(a for a in eqn.invars if isinstance(a, Var))
    return found[::-1]


def _read(eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]) -> set[Atom]:
    found: set[Atom] = {a for a in outvars if isinstance(a, Var)}
    return found.union(a for eqn in eqns for a in eqn.invars if isinstance(a, Var))
