"""Memory scheduling: the order of equations in which few large arrays are live at the same time.

Programs are often written in layers: one operation for all pieces of data, then the next; and gradients run through all pieces
forwards before they go back. The alternative is depth first, from each result to its operands: a piece is finished before the
next begins. That order is taken where it needs much less memory than the program's own.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.cpu.lowering.arrays.allocation import SMALL
from numjet.cpu.lowering.loops.shifts import makers_of, shift_of
from numjet.cpu.target import TYPICAL

LEAST_SAVED = TYPICAL.l2   # bytes, below which caches hold the difference
MOST_LEFT = 0.8         # of the peak: a smaller gain is not worth another order of loops


def minimize_peak_memory(jaxpr: Jaxpr) -> Jaxpr:
    """The program with its equations in the order that needs less memory; the same program where that makes no difference, and
    where it has effects."""
    jaxpr = _readers_first(jaxpr)
    eqns = jaxpr.eqns
    if len(eqns) < 3 or sum(_nbytes(eqn) for eqn in eqns) < 2 * LEAST_SAVED or any(eqn.effects for eqn in eqns):
        return jaxpr
    candidate = _depth_first(jaxpr)
    before, after = peak(eqns, jaxpr.outvars), peak(candidate, jaxpr.outvars)
    if after > MOST_LEFT * before or before - after < LEAST_SAVED:
        return jaxpr
    return jaxpr.replace(eqns=candidate)


def _readers_first(jaxpr: Jaxpr) -> Jaxpr:
    """The program with readers of an array in front of the equation that may overwrite it, where they do not depend on it and
    keep no more memory than a copy would: so `b.at[i].set(y), b[j]` copies nothing."""
    late = _late_readers(jaxpr)
    eqns = jaxpr.eqns
    if not late or any(eqn.effects for eqn in eqns):
        return jaxpr
    needs = _needs(jaxpr)
    order: dict[int, None] = {}
    for k in range(len(eqns)):
        for reader, nbytes in late.get(k, ()):
            first = _waiting(reader, needs, order)
            if k not in first and sum(_nbytes(eqns[n]) for n in first) <= nbytes:
                order.update(dict.fromkeys(sorted(first)))
        order.update(dict.fromkeys(sorted(_waiting(k, needs, order))))
    return jaxpr.replace(eqns=[eqns[k] for k in order])


def _late_readers(jaxpr: Jaxpr) -> dict[int, list[tuple[int, int]]]:
    """By equation that may overwrite a large array: the later readers of the array, and its size in bytes."""
    results = {a for a in jaxpr.outvars if isinstance(a, Var)}
    makers = makers_of(jaxpr)
    writers: dict[Var, int] = {}
    found: dict[int, list[tuple[int, int]]] = {}
    for k, eqn in enumerate(jaxpr.eqns):
        for v in dict.fromkeys(a for a in eqn.invars if isinstance(a, Var) and a in writers):
            found.setdefault(writers[v], []).append((k, v.aval.nbytes))
        for a in _overwritten(eqn, makers):
            if isinstance(a, Var) and a.aval.size > SMALL and a not in results:
                writers.setdefault(a, k)
    return found


def _waiting(k: int, needs: Sequence[Sequence[int]], done: Collection[int]) -> set[int]:
    """An equation and its dependences, transitively, except those that are done."""
    found: set[int] = set()
    stack = [k]
    while stack:
        top = stack.pop()
        if top not in found and top not in done:
            found.add(top)
            stack += needs[top]
    return found


def _overwritten(eqn: JaxprEqn, makers: dict[Var, JaxprEqn]) -> Sequence[Var | Literal]:
    """The arrays whose memory an equation may use for its results."""
    replaced = eqn.primitive.in_place
    if replaced is not None:
        return [eqn.invars[k] for k in replaced(eqn)]
    shift = shift_of(eqn, makers)
    return () if shift is None else (shift.var,)


def peak(eqns: Sequence[JaxprEqn], outvars: Sequence[Var | Literal]) -> int:
    """The most bytes of results of equations that are live at the same time, if all of them are stored."""
    last = {a: k for k, eqn in enumerate(eqns) for a in eqn.invars if isinstance(a, Var)}
    last.update((a, len(eqns)) for a in outvars if isinstance(a, Var))
    made: set[Var] = set()
    live = most = 0
    for k, eqn in enumerate(eqns):
        live += _nbytes(eqn)
        made.update(eqn.outvars)
        most = max(most, live)
        over = {a for a in eqn.invars if isinstance(a, Var) and last[a] == k and a in made}
        live -= sum(a.aval.nbytes for a in over) + sum(v.aval.nbytes for v in eqn.outvars if v not in last)
    return most


def _nbytes(eqn: JaxprEqn) -> int:
    return sum(v.aval.nbytes for v in eqn.outvars)


def _depth_first(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """Each result's equations before those of the next, operands with the longest history first; equations that reduce come as
    soon as they can."""
    needs = _needs(jaxpr)
    depth: list[int] = []
    for earlier in needs:
        depth.append(1 + max((depth[k] for k in earlier), default=0))
    makers = {v: k for k, eqn in enumerate(jaxpr.eqns) for v in eqn.outvars}
    placed = _Placed(jaxpr.eqns, needs)
    for out in jaxpr.outvars:
        stack = [makers[out]] if isinstance(out, Var) and out in makers else []
        while stack:
            missing = placed.missing(stack[-1])
            if missing:
                stack.append(max(missing, key=lambda k: depth[k]))
            else:
                placed.place(stack.pop())
    return [jaxpr.eqns[k] for k in placed.order]


class _Placed:
    """Equations put in order so far."""

    def __init__(self, eqns: Sequence[JaxprEqn], needs: Sequence[Sequence[int]]):
        self.eqns, self.needs = eqns, needs
        self.order: list[int] = []
        self.done: set[int] = set()
        self.waiting: defaultdict[int, list[int]] = defaultdict(list)
        for k, earlier in enumerate(needs):
            for one in earlier:
                self.waiting[one].append(k)

    def missing(self, k: int) -> list[int]:
        """The dependences of an equation that are not placed yet."""
        return [n for n in self.needs[k] if n not in self.done]

    def place(self, k: int) -> None:
        """Puts an equation next, and those that it makes ready whose results are much smaller than their operands."""
        ready = [k]
        while ready:
            k = ready.pop()
            if k not in self.done:
                self.done.add(k)
                self.order.append(k)
                ready += [n for n in self.waiting[k] if self._shrinks(n) and not self.missing(n)]

    def _shrinks(self, k: int) -> bool:
        return 4 * _nbytes(self.eqns[k]) <= max((a.aval.nbytes for a in self.eqns[k].invars if isinstance(a, Var)), default=0)


def _needs(jaxpr: Jaxpr) -> list[list[int]]:
    """The dependences of each equation."""
    makers: dict[Var, int] = {}
    readers: defaultdict[Var, list[int]] = defaultdict(list)
    needs: list[list[int]] = []
    for k, eqn in enumerate(jaxpr.eqns):
        variables = dict.fromkeys(a for a in eqn.invars if isinstance(a, Var))
        earlier = {makers[a]: None for a in variables if a in makers}
        if eqn.primitive.in_place is not None:  # earlier readers of an operand stay earlier, or it would be copied
            earlier.update((r, None) for a in variables for r in readers[a])
        needs.append(list(earlier))
        for a in variables:
            if eqn.primitive.in_place is not None:
                readers[a].clear()   # later equations need them through this one
            readers[a].append(k)
        makers.update((v, k) for v in eqn.outvars)
    return needs
