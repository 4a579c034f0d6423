"""Limited loops: the limits that `limits.py` found become the bounds of loops and the sizes of calls.

Masks go where they hold: `select(i < n, x, 0)` in a loop that ends at n. A loop of several rows per iteration is divided into
one whose iterations are inside as a whole, without masks, and one for the rest.
"""
from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Comment, Expr, Exprs, For, Function, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import binds, blocks, map_operands, nodes, operands, upper_bound, walk
from numjet.cpu.passes.limits import from_zero, multiple, size_inputs
from numjet.cpu.passes.manager import Pass


def apply(function: Function) -> None:
    """Writes the limits into the bounds of loops and the sizes of calls, in place."""
    _Limiting(function).block(function.body)


class _Limiting:
    """Goes through the blocks of a function from the outside to the inside."""

    def __init__(self, function: Function):
        self.function, self.exprs = function, function.exprs
        self.sizes = size_inputs(function)
        self.forms = AffineForms.of(function.body)

    def block(self, block: list[Stmt]) -> None:
        """Limits the loops and calls of a block and of those inside."""
        done: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and stmt.limit is not None:
                done += self._loop(stmt)
            else:
                if isinstance(stmt, Call) and stmt.limits:
                    self._call(stmt)
                done.append(stmt)
        block[:] = done
        for stmt in block:
            for inner in blocks(stmt):
                self.block(inner)

    def _call(self, call: Call) -> None:
        for place, limit in call.limits:
            size = call.args[place]
            assert isinstance(size, Expr)
            least = self.exprs.prim("min", size, limit)
            call.args[place] = self.exprs.prim("max", least, self.exprs.index(0))  # users' n may be negative
        call.limits = ()

    def _loop(self, loop: For) -> list[Stmt]:
        assert loop.limit is not None
        limit, loop.limit = loop.limit, None
        if loop.mode == "unroll":
            return [loop]
        divided = _whole_iterations(self.exprs, self.forms, loop, self.sizes)
        loop.stop = self.exprs.prim("min", loop.stop, limit)
        _drop_masks(self.function, loop, self._that_hold(loop, limit))
        return [loop] if divided is None else self._divided(loop, *divided)

    def _divided(self, loop: For, whole: Expr, masks: Sequence[Expr]) -> list[Stmt]:
        """The iterations in front of number `whole`, in which masks hold, and the others, which read no element beyond the
        last one."""
        make = self.exprs.prim
        ids = {mask.id for mask in masks}
        first = _copied(self.function, loop, ids)
        first.stop = make("min", first.stop, whole)
        bound = multiple(masks[0].args[1], self.sizes)
        assert bound is not None
        end = make("mul", self.exprs.convert(bound[0], INT64), self.exprs.index(bound[1]))
        last = make("sub", end, self.exprs.index(1))
        places = {_unconverted(mask.args[0]).id for mask in masks}
        kept = _Clamped(self.function, ids, places, last)
        kept.rewrite.block(loop.body)
        loop.start = make("max", loop.start, whole)
        self._note(first, masks, loop, bound)
        return [first, loop]

    def _note(self, first: For, masks: Sequence[Expr], loop: For, bound: tuple[Expr, int]) -> None:
        """Notes which loads of the first iterations are of elements: those at places that masks compare."""
        renamed = _renaming(self.function, loop, first)
        places = {renamed.expr(_unconverted(mask.args[0])).id for mask in masks}
        for e in nodes(_roots(first)):
            if e.op == "load" and e.args[0].id in places:
                self.function.within[e] = bound

    def _that_hold(self, loop: For, limit: Expr) -> set[int]:
        """The conditions that hold in all iterations of a limited loop."""
        bound = multiple(limit, self.sizes)
        return set() if bound is None else {
            e.id for e in nodes(_roots(loop)) if e.op == "lt" and _unconverted(e.args[0]) is loop.var
            and multiple(e.args[1], self.sizes) == bound}


def _roots(loop: For) -> list[Expr]:
    """The expressions that iterations evaluate."""
    own = [x for c in loop.carries for x in (c.next, c.term) if x is not None]
    return [*own, *(e for stmt in walk(loop.body) for e in operands(stmt))]


def _unconverted(x: Expr) -> Expr:
    while x.op == "convert" and x.args[0].dtype.kind == "i":
        x = x.args[0]
    return x


def _drop_masks(function: Function, loop: For, masks: set[int]) -> None:
    """Removes selections by conditions that hold."""
    if not masks:
        return
    rewrite = Rewrite(function, lambda e: e.args[1] if e.op == "select" and e.args[0].id in masks else e)
    rewrite.block(loop.body)
    for carry in loop.carries:
        carry.next = rewrite.expr(carry.next)
        carry.term = None if carry.term is None else rewrite.expr(carry.term)


class _Clamped:
    """Rewrites selections by masks so that what they read where a mask does not hold is the last element."""

    def __init__(self, function: Function, masks: set[int], places: set[int], last: Expr):
        exprs = function.exprs

        def inside(e: Expr) -> Expr:
            if e.op == "load" and e.args[0].id in places:
                return exprs.load(e.attr, exprs.prim("min", e.args[0], last))
            return e
        loads = Rewrite(function, inside)

        def rule(e: Expr) -> Expr:
            chosen = e.op == "select" and e.args[0].id in masks
            return exprs.prim("select", e.args[0], loads.expr(e.args[1]), e.args[2]) if chosen else e
        self.rewrite = Rewrite(function, rule)


def _whole_iterations(exprs: Exprs, forms: AffineForms, loop: For, sizes: set[Buffer]) -> tuple[Expr, list[Expr]] | None:
    """The number of the first iteration in which a mask of a loop of updates may not hold, and the masks; None for other
    loops, and for those whose masks are not all alike."""
    if loop.carries or not all(isinstance(s, For | Let | Store | Comment) for s in walk(loop.body)):
        return None
    inner = [s for s in walk(loop.body) if isinstance(s, For)]
    if any(s.carries for s in inner):
        return None
    masks = _masks(loop)
    spreads = {s.var.id: (upper_bound(s.stop) or 0) - 1 for s in inner if from_zero(s)}
    inside = {v.id for s in walk(loop.body) for v in binds(s)}
    found = {_last(forms, mask, loop.var, spreads, inside, sizes) for mask in masks}
    if not found or None in found:
        return None
    ends = [end for end in found if end is not None]
    n, factor, step, _, others = ends[0]
    if any((e[0], e[1], e[2], e[4]) != (n, factor, step, others) for e in ends):
        return None
    make, index = exprs.prim, exprs.index
    left = make("sub", make("mul", exprs.convert(n, INT64), index(factor)), index(max(e[3] for e in ends) - step + 1))
    for term, scale in others:
        left = make("sub", left, make("mul", term, index(scale)))
    return make("div", left, index(step)), masks


End = tuple[Expr, int, int, int, tuple[tuple[Expr, int], ...]]


def _masks(loop: For) -> list[Expr]:
    """The conditions of selections that depend on a loop's variable."""
    found = {e.args[0].id: e.args[0] for e in nodes(_roots(loop)) if e.op == "select"}
    return [c for c in found.values() if any(e is loop.var for e in nodes([c]))]


def _last(forms: AffineForms, mask: Expr, var: Expr, spreads: dict[int, int], inside: Iterable[int], sizes: set[Buffer]
          ) -> End | None:
    """(n, factor, step, last, others) of a condition that holds where last + step * i + others < n * factor, for a loop over
    i that knows the others. spreads: the greatest values of the variables of loops inside."""
    bound = multiple(mask.args[1], sizes) if mask.op == "lt" else None
    if bound is None or _unconverted(mask.args[0]).dtype != INT64:
        return None
    last, terms = forms.split(_unconverted(mask.args[0]))
    step, others = 0, []
    for term, factor in terms:
        if term is var:
            step = factor
        elif factor > 0 and term.id in spreads:
            last += factor * spreads[term.id]
        elif term.op != "var" or term.id in inside:
            return None
        else:
            others.append((term, factor))
    return (*bound, step, last, tuple(sorted(others, key=lambda one: one[0].id))) if step > 0 else None


def _copied(function: Function, loop: For, masks: set[int]) -> For:
    """A copy of a loop of updates with variables of its own, without selections by masks."""
    exprs = function.exprs
    names = {v.id: exprs.var(v.dtype, v.attr) for s in walk([loop]) for v in binds(s)}
    unmasked = Rewrite(function, lambda e: e.args[1] if e.op == "select" and e.args[0].id in masks else e)
    renamed = Rewrite(function, lambda e: names.get(e.id, e))

    def copied(stmts: Sequence[Stmt]) -> list[Stmt]:
        made = []
        for stmt in stmts:
            new = copy.copy(stmt)
            map_operands(new, lambda e: renamed.expr(unmasked.expr(e)))
            if isinstance(new, For | Let):
                new.var = names[new.var.id]
            if isinstance(new, For):
                new.body, new.carries = copied(new.body), []
            made.append(new)
        return made
    made, = copied([loop])
    assert isinstance(made, For)
    return made


def _renaming(function: Function, loop: For, copied: For) -> Rewrite:
    """What makes expressions in a loop those in a copy of it."""
    pairs = zip(walk([loop]), walk([copied]), strict=True)
    names = {a.id: b for old, new in pairs for a, b in zip(binds(old), binds(new), strict=True)}
    return Rewrite(function, lambda e: names.get(e.id, e))


PASS = Pass("limit loops", "ends loops where the padding begins", lambda function, context: apply(function), ("placed",))
