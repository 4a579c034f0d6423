"""Rematerialization: large arrays that only reductions read are computed again by each of them.

An array of all pairs of two lists of points is computed from much less memory than it has elements. Reverse mode sums such
arrays over either axis, and no loop can do both. Its operands lie in the cache, while the array itself would have to be
written to memory and read from it.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import STRIDED
from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.target import TYPICAL

LARGE = TYPICAL.l2 // 4   # bytes from which an array leaves the nearest caches
SPREAD = 8              # times the bytes of its operands, at least: else reading them takes as long as reading the array
MOST_PASSES = 4         # reductions that may compute it: code size
RECOMPUTED = 40.0       # operations per element that all but the first may take together: arithmetic against memory traffic
FAR = TYPICAL.l2        # bytes that caches do not hold for long
RECOMPUTED_FAR = 150.0  # the same for arrays of that size


def passes(jaxpr: Jaxpr, needed: Sequence[bool]) -> dict[Var, int]:
    """For large arrays that end in nothing but reductions, how many read them, directly or through elementwise operations; only
    where these are few."""
    reduced: dict[Var, frozenset[int] | None] = {a: None for a in jaxpr.outvars if isinstance(a, Var)}
    for k in reversed(range(len(jaxpr.eqns))):
        eqn = jaxpr.eqns[k]
        if needed[k]:
            found = _readers(eqn, k, reduced)
            for a in eqn.invars:
                if not isinstance(a, Literal) and a.aval.nbytes >= LARGE:
                    reduced[a] = _joined(reduced.get(a, frozenset()), found)
    return {v: len(readers) for v, readers in reduced.items() if readers}


def _readers(eqn: JaxprEqn, number: int, reduced: dict[Var, frozenset[int] | None]) -> frozenset[int] | None:
    """The reductions that read the operands of an equation through it; None if other equations read them, too."""
    op = eqn.primitive
    if op.reduces is not None:
        return frozenset((number,))
    if op.elementwise or STRIDED <= op.traits:
        return reduced.get(eqn.outvars[0])
    return None


def _joined(one: frozenset[int] | None, other: frozenset[int] | None) -> frozenset[int] | None:
    both = None if one is None or other is None else one | other
    return both if both is None or len(both) <= MOST_PASSES else None


def recomputed(a: LoweredArray, times: int) -> bool:
    """Whether a deferred array that `times` reductions read is computed by each of them."""
    limit = RECOMPUTED_FAR if a.aval.nbytes >= FAR else RECOMPUTED
    return times > 0 and (times - 1) * a.work() <= limit and is_spread(a)


def is_spread(a: LoweredArray) -> bool:
    """Whether a deferred array is computed from much less memory than it would take."""
    return SPREAD * sum(p.aval.nbytes for p in a.reachable() if p.storage is not None) <= a.aval.nbytes
