"""Limited loops: the limits that `limits.py` found become the bounds of loops and the sizes of calls.

Masks go where they hold: `select(i < n, x, 0)` in a loop that ends at n. A loop of several rows per iteration is divided into
one whose iterations are inside as a whole, without masks, and one for the rest.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.front_rows import Mask, alike, from_zero, multiple, unclamped, unconverted
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Comment, Expr, Exprs, For, Function, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite, copied
from numjet.cpu.ir.traversal import binds, blocks, map_operands, nodes, operands, postorder, upper_bound, walk
from numjet.cpu.passes.limits import Limits
from numjet.cpu.passes.manager import Pass


def apply(function: Function) -> None:
    """Writes the limits into the bounds of loops and the sizes of calls, in place."""
    if any(map(_is_limited, walk(function.body))):
        _Limiting(function).block(function.body)


def _is_limited(stmt: Stmt) -> bool:
    return bool(stmt.limits) if isinstance(stmt, Call) else isinstance(stmt, For) and stmt.limit is not None


class _Limiting:
    """Goes through the blocks of a function from the outside to the inside."""

    def __init__(self, function: Function):
        self.function, self.exprs = function, function.exprs
        self.limits = Limits(function)
        self.sizes, self.forms = self.limits.sizes, self.limits.forms

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
        loop.stop = self.exprs.prim("min", loop.stop, limit)
        bound = multiple(limit, self.sizes)
        if bound is not None:
            self._drop(loop, bound)
        divided = _whole_iterations(self.exprs, self.forms, loop, self.sizes)
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
        renamed, moved = _renaming(self.function, loop, first), _Moved(self.function, self.forms, loop, bound)
        for e in nodes(_roots(loop)):
            if e.op == "select" and e.args[0].id in ids:
                for load, size in moved.rows(e):   # loads of the first iterations are of elements
                    self.function.within[renamed.expr(load)] = bound[0], bound[1] * size
        moved.rewrite(ids).block(loop.body)
        loop.start = make("max", loop.start, whole)
        return [first, loop]

    def _drop(self, loop: For, bound: tuple[Expr, int]) -> None:
        """Removes selections by conditions that hold in front of n * factor, and what moves indices inside that are."""
        known: dict[int, Expr] = {}
        for e in nodes(_roots(loop)):
            if e.op == "select":
                held = e.args[0]
                if held.op == "lt" and unconverted(held.args[0]) is loop.var and multiple(held.args[1], self.sizes) == bound:
                    known[e.id] = e.args[1]
            elif e.op in ("min", "max") and self.limits.mirrored(unclamped(e), loop.var) == bound:
                known[e.id] = unclamped(e)
        if known:
            rewritten = _replacing(self.function, known)
            for stmt in walk(loop.body):
                map_operands(stmt, rewritten)
            for carry in loop.carries:
                carry.next = rewritten(carry.next)
                carry.term = None if carry.term is None else rewritten(carry.term)


def _roots(loop: For) -> list[Expr]:
    """The expressions that iterations evaluate."""
    own = [x for c in loop.carries for x in (c.next, c.term) if x is not None]
    return [*own, *(e for stmt in walk(loop.body) for e in operands(stmt))]


def _replacing(function: Function, known: dict[int, Expr]) -> Callable[[Expr], Expr]:
    """What puts expressions in the place of others, by ids of these, in what they are part of."""
    done: dict[int, Expr] = {}
    exprs = function.exprs

    def rewritten(top: Expr) -> Expr:
        for e in postorder([top], done):
            source = known.get(e.id)
            if source is not None:
                done[e.id] = rewritten(source)
                continue
            args = tuple(done[a.id] for a in e.args)
            done[e.id] = e if args == e.args else exprs.make(e.op, e.dtype, args, e.attr)
        return done[top.id]
    return rewritten


class _Moved:
    """Moves what a selection reads where its mask does not hold to the last row."""

    def __init__(self, function: Function, forms: AffineForms, loop: For, bound: tuple[Expr, int]):
        self.function, self.exprs, self.forms, self.loop = function, function.exprs, forms, loop
        end = self.exprs.prim("mul", self.exprs.convert(bound[0], INT64), self.exprs.index(bound[1]))
        self.last = self.exprs.prim("sub", end, self.exprs.index(1))
        inner = [s for s in walk(loop.body) if isinstance(s, For) and from_zero(s)]
        self.ends = {s.var.id: int(s.stop.attr) for s in inner}

    def rows(self, chosen: Expr) -> list[tuple[Expr, int]]:
        """The loads in a selection whose index is that which the mask compares, times a size, plus something below that; with
        the sizes."""
        loads = [e for e in nodes([chosen.args[1]]) if e.op == "load"]
        return [(e, found[0]) for e in loads if (found := self._row(e.args[0], unconverted(chosen.args[0].args[0])))]

    def _row(self, index: Expr, place: Expr) -> tuple[int, int, list[tuple[Expr, int]]] | None:
        """(size, constant, terms) of what an index is beyond a place times size."""
        have, of = dict(self.forms.split(index).terms), dict(self.forms.split(place).terms)
        size, rest = divmod(have.get(self.loop.var, 0), of.get(self.loop.var, 1))
        beyond = self.forms.split(index).constant - size * self.forms.split(place).constant
        left = [(t, f - size * of.get(t, 0)) for t, f in have.items() if f != size * of.get(t, 0)]
        if rest or size <= 0 or beyond < 0 or any(t not in have for t in of):
            return None
        if any(t.id not in self.ends or f < 0 for t, f in left):
            return None
        most = beyond + sum(f * (self.ends[t.id] - 1) for t, f in left)
        return (size, beyond, left) if most < size else None

    def rewrite(self, masks: set[int]) -> Rewrite:
        """What moves the loads of selections by masks."""
        make, index = self.exprs.prim, self.exprs.index

        def rule(e: Expr) -> Expr:
            if e.op != "select" or e.args[0].id not in masks:
                return e
            inside = make("min", unconverted(e.args[0].args[0]), self.last)
            known: dict[int, Expr] = {}
            for load, _ in self.rows(e):
                row = self._row(load.args[0], unconverted(e.args[0].args[0]))
                assert row is not None
                size, beyond, left = row
                place = make("add", make("mul", inside, index(size)), index(beyond)) if size > 1 or beyond else inside
                for term, factor in left:
                    place = make("add", place, make("mul", term, index(factor)))
                known[load.id] = self.exprs.load(load.attr, place)
            return make("select", e.args[0], _replacing(self.function, known)(e.args[1]), e.args[2])
        return Rewrite(self.function, rule)


def _whole_iterations(exprs: Exprs, forms: AffineForms, loop: For, sizes: set[Buffer]) -> tuple[Expr, list[Expr]] | None:
    """The number of the first iteration in which a mask of a loop of updates may not hold, and the masks; None for other
    loops, and for those whose masks are not all alike."""
    if loop.carries or not all(isinstance(s, For | Let | Store | Comment) for s in walk(loop.body)):
        return None
    inner = [s for s in walk(loop.body) if isinstance(s, For)]
    if any(s.carries for s in inner):
        return None
    masks = [m for m in _masks(loop) if m.op == "lt" and multiple(m.args[1], sizes) is not None]
    spreads = {s.var.id: (upper_bound(s.stop) or 0) - 1 for s in inner if from_zero(s)}
    inside = {v.id for s in walk(loop.body) for v in binds(s)}
    found = {_last(forms, mask, loop.var, spreads, inside, sizes) for mask in masks}
    if not found or None in found:
        return None
    ends = [end for end in found if end is not None]
    return (max(ends, key=lambda end: end.start).first_false(exprs), masks) if alike(ends) else None


def _masks(loop: For) -> list[Expr]:
    """The conditions of selections that depend on a loop's variable."""
    found = {e.args[0].id: e.args[0] for e in nodes(_roots(loop)) if e.op == "select"}
    return [c for c in found.values() if any(e is loop.var for e in nodes([c]))]


def _last(forms: AffineForms, mask: Expr, var: Expr, spreads: dict[int, int], inside: Iterable[int], sizes: set[Buffer]
          ) -> Mask | None:
    """A condition in the last iterations of the loops inside. spreads: the greatest values of their variables."""
    bound = multiple(mask.args[1], sizes) if mask.op == "lt" else None
    if bound is None or unconverted(mask.args[0]).dtype != INT64:
        return None
    last, terms = forms.split(unconverted(mask.args[0]))
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
    return Mask(*bound, step, last, tuple(sorted(others, key=lambda one: one[0].id))) if step > 0 else None


def _copied(function: Function, loop: For, masks: set[int]) -> For:
    """A copy of a loop of updates with variables of its own, without selections by masks."""
    names = {v.id: function.exprs.var(v.dtype, v.attr) for s in walk([loop]) for v in binds(s)}
    unmasked = Rewrite(function, lambda e: e.args[1] if e.op == "select" and e.args[0].id in masks else e)
    renamed = Rewrite(function, lambda e: names.get(e.id, e))
    made, = copied([loop], names, lambda e: renamed.expr(unmasked.expr(e)))
    assert isinstance(made, For)
    return made


def _renaming(function: Function, loop: For, copied: For) -> Rewrite:
    """What makes expressions in a loop those in a copy of it."""
    pairs = zip(walk([loop]), walk([copied]), strict=True)
    names = {a.id: b for old, new in pairs for a, b in zip(binds(old), binds(new), strict=True)}
    return Rewrite(function, lambda e: names.get(e.id, e))


PASS = Pass("limit loops", "ends loops where the padding begins", lambda function, context: apply(function), ("placed",))
