"""Policy of early stores: which deferred arrays are stored, rather than evaluated wherever they are read.

Evaluating an array again costs operations, storing it costs memory traffic and a loop. The criteria below weigh one against
the other, before and after each equation; each threshold says what it balances.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from numjet.core.ir import Atom, JaxprEqn, Var
from numjet.core.op import Op
from numjet.core.traits import BROADCASTS, CONTRACTS, MOVES, READS_ONCE, SCATTERS, STRIDED
from numjet.cpu.analysis.scalar_costs import scalar_cost
from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.lowering.arrays.materialization import Materialization
from numjet.cpu.lowering.arrays.transpose_tiling import FEW
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray
from numjet.cpu.lowering.liveness import Frame, Liveness
from numjet.cpu.lowering.loops.loop_nests import SHORT_ROW
from numjet.cpu.lowering.rematerialization import FAR, LARGE, is_spread, recomputed
from numjet.cpu.target import TYPICAL

LONG = 400.0          # operations per element from which an array is stored: loop bodies stay compilable
LARGE_BUFFER = TYPICAL.l2 // 4  # bytes from which it matters that a deferred array keeps memory allocated: a share of the cache
MOST_KEPT = 6         # buffers of that size that a deferred array may keep
DEEP = 24             # nested deferred arrays that move data, from which one is stored: Python's stack, and index arithmetic
HEAVY = 12.0          # operations per element of what vectors do better, as exponentials
SIDE_BY_SIDE = 4.0    # the same where scalars wait for each other in turn: a division takes as long as a store and a load
CHEAP = 2.0           # an array that costs no more may be repeated by a broadcast: arithmetic against a load
SEARCHED = 12.0       # operations that find elements of a joined or padded array again, from which it is stored
SEARCHED_ELSEWHERE = 64.0   # the same for small arrays, whose loops take longer to begin, and for those that caches do not hold
SMALL_BUFFER, FAR_BUFFER = TYPICAL.l1, TYPICAL.last_level // 4
SHARED = 8.0          # a live part of a stored array is stored in the same loop if it costs this: arithmetic against a store
SHARED_FAR = 60.0     # the same where the part is larger than caches


class EarlyStores:
    """Stores operands before an equation, and results after it."""

    def __init__(self, materialization: Materialization, liveness: Liveness):
        self.materialization, self.liveness, self.ir = materialization, liveness, materialization.ir

    # ------------------------------------------------------------------------------------------ before an equation
    def store_operands(self, frame: Frame, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None:
        """Stores operands that this equation, with later ones, would evaluate too often."""
        update = _fills_window(eqn)
        for k, (atom, a) in enumerate(zip(eqn.invars, args, strict=True)):
            if update and k == 2:   # the elements of such an update are computed where they go
                continue
            if a.cost > 0 or a.content.finds > 0:
                why = self._reason(frame, eqn, atom, a)
                if why is not None:
                    self._store_with_parts(frame, a, why)
                elif not eqn.primitive.elementwise and not MOVES <= eqn.primitive.traits:
                    self._store_shared_parts(frame, eqn, a)

    def _reason(self, frame: Frame, eqn: JaxprEqn, atom: Atom, a: LoweredArray) -> str | None:
        """Why an operand is to be stored; None if it stays deferred."""
        uses = frame.uses[atom] if isinstance(atom, Var) else 1
        if _is_evaluated_again(frame, eqn, atom, a, uses):
            reads = f"read {uses} times" if uses > 1 else f"{eqn.primitive.name} reads elements several times"
            return f"{reads}, and it costs {operations(a.cost)} per element"
        times = frame.evaluations.get(atom, 1.0) if isinstance(atom, Var) else 1.0
        if a.size > self.ir.small and _is_moved_again(a, times):
            return f"what moves data reads it {times:.3g} times, and it costs {operations(a.cost)} per element"
        if _is_found_again(eqn, a, uses) and a.size > self.ir.small:
            again = f"{eqn.primitive.name} repeats it" if _repeated_rows(eqn) else f"read {uses} times"
            return f"{again}, and it takes {operations(a.content.finds)} to find an element"
        if a.content.dilation is not None and a.size > self.ir.small and not eqn.primitive.elementwise:
            return f"{eqn.primitive.name} reads it, and to find an element its index is divided by {a.content.dilation[1]}"
        if _is_searched_across(eqn, a):
            return f"its rows become columns, and it takes {operations(a.content.finds)} to find an element"
        if self._is_searched(eqn, a):
            return f"it takes {operations(a.content.finds)} to find an element, and none to store it piece by piece"
        if _is_read_one_by_one(eqn, a):
            return f"{eqn.primitive.name} reads one element after the other, and it costs {operations(a.cost)} per element"
        if a.cost > LONG and not READS_ONCE <= eqn.primitive.traits and a.works_more_than(LONG):
            return f"costs {operations(a.cost)} per element, enough for one loop"
        return None

    def _is_searched(self, eqn: JaxprEqn, a: LoweredArray) -> bool:
        """Whether elements are read of so many joined pieces that finding them takes more than to store them where they belong.
        What moves data may ask for a few pieces only."""
        joined = a.content.source if a.content.source is not None else a
        return not MOVES <= eqn.primitive.traits and joined.lazy and joined.content.finds > SEARCHED \
            and joined.size > self.ir.small and self.materialization.goes_by_pieces(joined)

    def _store_shared_parts(self, frame: Frame, eqn: JaxprEqn, a: LoweredArray) -> None:
        """Stores the parts of an operand, whose elements this equation computes, that others read, too. Else what each step of
        a program adds to, as a cotangent, would be added up again from the start in every step."""
        least = _least_shared(a)
        if a.cost < least or a.size <= self.ir.small:
            return
        chosen: dict[int, LoweredArray] = {}
        for p in sorted(self._shared_parts(frame, a, least), key=lambda p: p.cost):
            if p.work(chosen) >= least:
                chosen[id(p)] = p
        if chosen:
            why = f"{eqn.primitive.name} and others read what is made of it, at {operations(least)} per element or more"
            self.materialization.store_all([(p, self.ir.allocation.temporary(p.aval)) for p in chosen.values()], why)

    def _shared_parts(self, frame: Frame, a: LoweredArray, least: float) -> list[LoweredArray]:
        """The parts of an array that later equations or arrays which are no parts of it read. What was made before a loop or
        branch began is not stored in it; large arrays that are computed from little memory are computed again."""
        parts = list(a.reachable())
        inside = Counter(id(p) for x in parts for p in x.content.sources)
        found = [p for p in parts if p is not a and p.cost >= least and p.pointwise and p.shape == a.shape
                 and p.block is self.ir.block and p.content.source is None
                 and (p.readers > inside[id(p)] or frame.is_read_later(p))]
        return found if a.aval.nbytes < LARGE else [p for p in found if not is_spread(p)]

    def _store_with_parts(self, frame: Frame, a: LoweredArray, why: str) -> None:
        """Stores a deferred array, and in the same loop live arrays that would be evaluated again: its parts, and arrays made
        of one of its parts, such as the other result of the same equation."""
        if a.content.source is not None or a.size <= self.ir.small:
            self.materialization.materialize(a, why)
            return
        least = _least_shared(a)
        parts = {id(p) for p in a.reachable() if p is not a and p.pointwise and p.shape == a.shape and p.cost >= least}
        live = {id(x): x for v, x in frame.environment.items() if x is not a and frame.last_use.get(v, -1) > frame.position}
        found = [x for i, x in live.items() if i in parts]
        hidden = parts - live.keys()
        if hidden:
            found += [x for i, x in live.items() if i not in parts and _is_sibling(x, a, hidden)]
        self.materialization.store_all([(x, self.ir.allocation.temporary(x.aval)) for x in (a, *found)], why)

    # ------------------------------------------------------------------------------------------ after an equation
    def store_results(self, outs: Sequence[LoweredArray]) -> None:
        """Stores results of a few elements, and ends of long chains of data movement."""
        for out in outs:
            if out.lazy and out.size <= self.ir.small:
                self.materialization.materialize(out, "a few elements")
            elif out.content.depth > DEEP:
                self.materialization.materialize(out, "a long chain of data movement")

    def release_operands(self, args: Sequence[LoweredArray], outs: Sequence[LoweredArray],
                         dead: Sequence[LoweredArray | None]) -> None:
        """Stores deferred arrays that would keep large memory allocated: results that keep many buffers which nothing else
        needs, and small parts of an array that is read for the last time (`dead`)."""
        kept = tuple(dict.fromkeys(b for a in args for b in _kept_buffers(a)))
        for out in outs if kept else ():
            if isinstance(out.content, Deferred):
                out.content.keeps = kept
                if len(kept) > MOST_KEPT and len(self._otherwise_free(kept)) > MOST_KEPT:
                    self.materialization.materialize(out, f"else {len(kept)} large arrays would have to stay")
        for buffer in {b for a in dead if a is not None and not a.lazy for b in _kept_buffers(a)}:
            readers = [a for a in self.liveness.here() if buffer in a.content.keeps]
            if 4 * sum(a.aval.nbytes for a in readers) <= buffer.nbytes and buffer in self._otherwise_free((buffer,)):
                for a in readers:
                    self.materialization.materialize(a, "the larger array that it is a part of can go")

    def _otherwise_free(self, kept: Sequence[Buffer]) -> set[Buffer]:
        """Those buffers in which no live array is stored."""
        return set(kept) - {a.storage.buffer for a in self.liveness.everywhere() if a.storage is not None}


def _is_sibling(x: LoweredArray, a: LoweredArray, parts: set[int]) -> bool:
    """Whether most of a deferred array's cost is one of these parts of `a`, from which it is computed at once."""
    if not x.lazy or not x.pointwise or x.shape != a.shape or x.content.source is not None:
        return False
    return any(id(p) in parts and 2 * p.cost >= x.cost for p in x.parents)


def _is_evaluated_again(frame: Frame, eqn: JaxprEqn, atom: Atom, a: LoweredArray, uses: int) -> bool:
    """Whether elements of an operand that is not cheap are read several times, by this equation or by several."""
    op = eqn.primitive
    if op.elementwise or a.cost <= CHEAP:
        return False
    if CONTRACTS <= op.traits and a.cost >= HEAVY and _rows_of_product(eqn, atom) > 1:
        return True
    grows = any(v.aval.size > a.size for v in eqn.outvars)
    if grows and not READS_ONCE <= op.traits and not _spreads_short_rows(eqn):
        return True
    return uses > 1 and not recomputed(a, frame.passes.get(atom, 0) if isinstance(atom, Var) else 0)


def _is_moved_again(a: LoweredArray, times: float) -> bool:
    """Whether computing an array again for all that move it, mostly by way of other arrays, takes more than to store it."""
    return (times - 1) * a.cost > _least_shared(a)


def _least_shared(a: LoweredArray) -> float:
    """The operations per element from which an array is stored, and not computed again."""
    return SHARED_FAR if a.aval.nbytes >= FAR else SHARED


def _rows_of_product(eqn: JaxprEqn, atom: Atom) -> int:
    """How often a product reads the elements of an operand in rows of the result that lie apart: those of the left operand, if
    it is the right one. So products of products would take time that is exponential in their number."""
    if atom is not eqn.invars[1]:
        return 1
    (contracted, _), (batch, _) = eqn.params["dimension_numbers"]
    return prod(n for d, n in enumerate(eqn.invars[0].aval.shape) if d not in (*contracted, *batch))


def _is_found_again(eqn: JaxprEqn, a: LoweredArray, uses: int) -> bool:
    """Whether reading elements at other indices, such as all neighbours of an element in a padded array, or again in each row,
    searches more for them than it takes to store them. Elementwise operations read the same elements, which are found once."""
    near = SMALL_BUFFER <= a.aval.nbytes < FAR_BUFFER
    times = uses - 1 + _repeated_rows(eqn)
    return not eqn.primitive.elementwise and times * a.content.finds > (SEARCHED if near else SEARCHED_ELSEWHERE)


def _is_searched_across(eqn: JaxprEqn, a: LoweredArray) -> bool:
    """Whether lanes would search joined or padded rows for elements that lie apart, as a transpose reads them: rows are found
    whole, and stored ones are transposed in registers."""
    order = eqn.params.get("permutation", ())
    if not STRIDED <= eqn.primitive.traits or not order or order[-1] == a.ndim - 1:
        return False
    return a.content.finds > 0 and a.size >= FEW and min(a.shape[-1], a.shape[order[-1]]) > SHORT_ROW


def _is_read_one_by_one(eqn: JaxprEqn, a: LoweredArray) -> bool:
    """Whether elements that are not cheap are read one by one, which takes longer than to compute them side by side and store
    them."""
    scatters = SCATTERS <= eqn.primitive.traits and not eqn.params["unique_indices"]
    return scatters and a.cost >= SIDE_BY_SIDE and any(p.content.own_cost >= SIDE_BY_SIDE for p in a.reachable())


def _fills_window(eqn: JaxprEqn) -> bool:
    """Whether an update is one window that is most of the array."""
    if not SCATTERS <= eqn.primitive.traits:
        return False
    operand, indices, updates = (a.aval for a in eqn.invars)
    return prod(indices.shape[:-1]) == 1 and 2 * updates.size >= operand.size


def _spreads_short_rows(eqn: JaxprEqn) -> bool:
    """Whether elements are only repeated along last axes so short that they are written out, side by side."""
    if not BROADCASTS <= eqn.primitive.traits:
        return False
    shape, given = eqn.params["shape"], eqn.invars[0].aval.shape
    kept = dict(zip(eqn.params["broadcast_dimensions"], given, strict=True))
    spread = [d for d, n in enumerate(shape) if n != kept.get(d, 1)]
    return bool(spread) and prod(shape[spread[0]:]) == prod(shape[d] for d in spread) <= SHORT_ROW


def _repeated_rows(eqn: JaxprEqn) -> int:
    """How often again rows are read that a broadcast repeats along outer axes. Along inner axes an element is found once."""
    if not BROADCASTS <= eqn.primitive.traits:
        return 0
    shape, given = eqn.params["shape"], eqn.invars[0].aval.shape
    kept = {d: n for d, n in zip(eqn.params["broadcast_dimensions"], given, strict=True) if n > 1}
    return prod(n for d, n in enumerate(shape) if d not in kept and d < max(kept, default=0)) - 1


def _kept_buffers(x: LoweredArray) -> tuple[Buffer, ...]:
    """The large temporaries that stay allocated while an array is live."""
    storage = x.storage
    if storage is None:
        return x.content.keeps
    return (storage.buffer,) if storage.buffer.kind == "temp" and storage.buffer.nbytes >= LARGE_BUFFER else ()


def cost_of(op: Op) -> float:
    """The cost of an elementwise operation per element, in additions."""
    return op.cost or scalar_cost(op.function or "")


def operations(cost: float) -> str:
    """An estimated cost in words."""
    return f"about {cost:.0f} operation{'' if round(cost) == 1 else 's'}"
