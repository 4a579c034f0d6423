"""Which large arrays are only read by reductions, and better computed again by each of them than stored.

All pairs of two lists of points are an array that is read from much less memory than it has elements. Reverse mode sums such
arrays over either axis, and no loop can do both; but what each sum reads is a definition that lies in the cache, while the
array itself would have to be written to memory and read from it.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import STRIDED
from numjet.cpu.lowering.values import LoweredArray

LARGE = 2 ** 18         # bytes of such an array
SPREAD = 8              # and at least this many times the bytes of the memory that it is computed from
MOST_PASSES = 4         # reductions that may compute it
COMPUTED_AGAIN = 40.0   # operations per element that all but the first may take together
FAR = 2 ** 20           # bytes that caches do not hold for long,
COMPUTED_FAR = 150.0    # of which more is computed again


def passes(jaxpr: Jaxpr, needed: Sequence[bool]) -> dict[Var, int]:
    """For large arrays of which nothing but reductions is left, how many reductions read them, directly or through
    operations on elements; only where they are few."""
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
    """The reductions that read the operands of an equation through it; None if it, or anything else, keeps them."""
    op = eqn.primitive
    if op.reduces is not None:
        return frozenset((number,))
    if op.elementwise or STRIDED <= op.traits:
        return reduced.get(eqn.outvars[0])
    return None


def _joined(one: frozenset[int] | None, other: frozenset[int] | None) -> frozenset[int] | None:
    both = None if one is None or other is None else one | other
    return both if both is None or len(both) <= MOST_PASSES else None


def computed_again(a: LoweredArray, times: int) -> bool:
    """Whether a definition that `times` reductions read is computed by each of them."""
    limit = COMPUTED_FAR if a.aval.nbytes >= FAR else COMPUTED_AGAIN
    if not times or (times - 1) * a.work() > limit:
        return False
    return SPREAD * sum(p.aval.nbytes for p in a.reachable() if p.storage is not None) <= a.aval.nbytes
