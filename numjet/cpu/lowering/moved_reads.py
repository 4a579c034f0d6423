"""Evaluations: how often the elements of a deferred array are computed for what moves data.

Elementwise operations read an array at one index, where it is computed once. What moves data (shifts, paddings, parts) asks for
it at indices of its own, and what is computed from the array in between hides that: of a gradient through several levels of
parts, each level would be computed twice by the one above it, in time and code exponential in their number.

A padding computes an element for each of its own, and leaves out those of its border. So a sum of padded parts, such as the
gradient of shifted slices, computes each part everywhere.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import MOVES, PADS

MOST = 8   # readers that are told apart
SEVERAL = 2.0   # paddings of an array, from which computing what they leave out counts: one may be cut at its borders

# Readers by number of the equation and of its operand, as two pieces of a join are computed apart; and which share of the
# elements each reads.
Readers = frozenset[tuple[tuple[int, int], float]]
_NONE: Readers = frozenset()


def evaluations(jaxpr: Jaxpr, needed: Sequence[bool]) -> dict[Var, float]:
    """By variable, how many of its elements equations that move data compute, directly or through elementwise operations, as a
    multiple of its size; of those that are read by more than one."""
    readers: dict[Var, Readers] = {}
    for k in reversed(range(len(jaxpr.eqns))):
        eqn = jaxpr.eqns[k]
        found = _readers_through(eqn, k, readers) if needed[k] else None
        for operand, a in enumerate(eqn.invars) if found is not None else ():
            if not isinstance(a, Literal):
                readers[a] = _joined(readers.get(a, _NONE), found or frozenset((((k, operand), _share(eqn, a)),)))
    several = {v: total for v, found in readers.items() if len(found) > 1 and (total := sum(share for _, share in found)) > 1}
    return {**several, **{v: times for v, times in _paddings(jaxpr, needed).items() if times > several.get(v, 1.0)}}


def _paddings(jaxpr: Jaxpr, needed: Sequence[bool]) -> dict[Var, float]:
    """By variable, how many elements paddings compute, of it or of its parts, as a multiple of its size; if that is several."""
    found: defaultdict[Var, float] = defaultdict(float)
    for k in reversed(range(len(jaxpr.eqns))):
        eqn = jaxpr.eqns[k]
        asked = _padded(eqn, found) if needed[k] else 0.0
        for a in {a for a in eqn.invars if isinstance(a, Var) and asked and a.aval.size}:
            found[a] += asked / a.aval.size
    return {v: times for v, times in found.items() if times >= SEVERAL}


def _padded(eqn: JaxprEqn, found: defaultdict[Var, float]) -> float:
    """How many elements of each operand paddings compute by way of an equation. Results that are padded several times are
    stored, and compute nothing again."""
    if PADS <= eqn.primitive.traits:
        return 0.0 if any(between for _, _, between in eqn.params["padding_config"]) else eqn.outvars[0].aval.size
    if eqn.primitive.elementwise or (MOVES <= eqn.primitive.traits and len(eqn.invars) == 1):
        return sum(v.aval.size * found[v] for v in eqn.outvars if found[v] < SEVERAL)
    return 0.0


def _readers_through(eqn: JaxprEqn, number: int, readers: dict[Var, Readers]) -> Readers | None:
    """What moves the operands of an elementwise equation by way of its results: nothing but the loop that stores these, if they
    are moved several times. For equations that move data themselves an empty set; None for others."""
    if eqn.primitive.elementwise:
        found = _NONE.union(*(readers.get(v, _NONE) for v in eqn.outvars))
        if sum(share for _, share in found) > 1:
            return frozenset((((number, 0), 1.0),))
        return found or None
    return _NONE if MOVES <= eqn.primitive.traits else None


def _share(eqn: JaxprEqn, a: Var) -> float:
    """The share of an operand's elements that an equation reads."""
    return min(1.0, sum(v.aval.size for v in eqn.outvars) / max(1, a.aval.size))


def _joined(one: Readers, other: Readers) -> Readers:
    return one if len(one) >= MOST else one | other
