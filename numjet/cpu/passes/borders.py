"""Index set splitting: the interior of a stencil runs without the conditions of its border.

`roll`, `pad` and `concatenate` that are read element by element become selections by comparisons of an index with constants,
which hold, or don't, in all iterations but those at the two ends of an axis. The loop over such an axis is cut behind the
first and in front of the last comparison that changes; within each part the others are constants, and their masked loads plain
ones or gone. Where the CPU has no masks for every element type, the loop is cut at each comparison, if they are few, so that no
part has a mask: LLVM makes branches lane by lane of a masked load of bytes. Along the outer axes, where a comparison is the
same for all lanes, the two loads that it chooses between become one from the chosen address. A loop over a few components, such
as those of a vector field, around others is cut at each comparison, too: each part has only the terms of its components.

Source: M. Wolfe, "High Performance Compilers for Parallel Computing" (1996), index set splitting.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, TypeGuard

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import BOOL, INT64, Comment, Expr, Exprs, For, Function, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite, copied
from numjet.cpu.ir.traversal import binds, blocks, expressions, nodes, postorder, static_trips, walk
from numjet.cpu.lowering.scalar_folding import fold
from numjet.cpu.passes.manager import Pass

STEP = 64          # parts begin at multiples of this: whole vectors of all dtypes
LEAST = 4 * STEP   # iterations of a loop that is worth three copies of its body
MOST_NODES = 300   # operations of a body that may be copied
LEAST_EXACT = 12   # the same as LEAST, for a loop that is cut at each comparison
MOST_COPIED = 900  # operations of all copies of a body, if it is cut at each comparison
COMPONENTS = 8     # the most iterations of a loop that goes over components
_FAR = 1 << 40     # numbers beyond this may wrap around


class Threshold(NamedTuple):
    """A comparison with a loop's variable: true below `at`, or from there on."""

    at: int
    below: bool


def split(function: Function, masks: bool) -> None:
    """Cuts vector loops at the borders of their arrays, and chooses addresses instead of values. masks: whether the CPU has
    masked loads of every element type."""
    _cut_components(function.body, function.exprs, AffineForms.of(function.body))
    _split_block(function.body, function, AffineForms.of(function.body), masks)


def _split_block(block: list[Stmt], function: Function, forms: AffineForms, masks: bool) -> None:
    for stmt in block:
        for inner in blocks(stmt):
            _split_block(inner, function, forms, masks)
    whole = list(block)
    block.clear()
    for stmt in whole:
        if isinstance(stmt, For) and _splittable(stmt):
            _choose_addresses(stmt, function, forms)
            parts = _parts(stmt, function.exprs, forms, masks)
            for part in parts if len(parts) > 1 else ():
                _choose_addresses(part, function, forms)
            block += parts
        else:
            block.append(stmt)


def _splittable(loop: For) -> bool:
    plain = all(isinstance(s, Store | Let | Comment) for s in loop.body)
    return loop.mode == "vector" and plain and not loop.carries and loop.limit is None


# --- components

def _cut_components(block: list[Stmt], exprs: Exprs, forms: AffineForms) -> None:
    """Cuts the loops over a few components in a block, and in the blocks in it."""
    block[:] = [part for stmt in block for part in (_component_parts(stmt, exprs, forms) if _over_components(stmt) else [stmt])]
    for stmt in block:
        for inner in blocks(stmt):
            _cut_components(inner, exprs, forms)


def _over_components(stmt: Stmt) -> TypeGuard[For]:
    if not isinstance(stmt, For) or stmt.mode != "serial" or not 1 < (static_trips(stmt) or 0) <= COMPONENTS:
        return False
    inside = walk(stmt.body)
    plain = all(isinstance(s, Store | Let | Comment) or _without_state(s) for s in inside)
    return _without_state(stmt) and plain and any(isinstance(s, For) for s in inside)


def _without_state(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and not stmt.carries and stmt.limit is None


def _component_parts(loop: For, exprs: Exprs, forms: AffineForms) -> list[For]:
    """A loop as one for each range of components that have the same terms; the loop itself where all have, or that are many."""
    found = nodes(expressions(loop.body))
    thresholds = {e: t for e in found if (t := _threshold(e, loop.var, forms)) is not None}
    first, stop = int(loop.start.attr), int(loop.stop.attr)
    cuts = [first, *sorted({t.at for t in thresholds.values() if first < t.at < stop}), stop]
    if len(cuts) == 2 or (len(cuts) - 1) * len(found) > MOST_COPIED or not _guards(found, thresholds):
        return [loop]
    return [_part(loop, a, b, stop, thresholds, exprs) for a, b in pairwise(cuts)]


# --- cutting

def _parts(loop: For, exprs: Exprs, forms: AffineForms, masks: bool) -> list[For]:
    """A loop as one over the interior and those over its ends; the loop itself where that is no gain."""
    found = nodes(expressions(loop.body))
    thresholds = {e: t for e in found if (t := _threshold(e, loop.var, forms)) is not None}
    stop = _largest(loop.stop)
    if not thresholds or stop is None or len(found) > MOST_NODES or not _guards(found, thresholds):
        return [loop]
    exact = () if masks else _exact(stop, thresholds.values(), len(found))
    cuts = exact or _whole_vectors(stop, thresholds.values())
    return [_part(loop, a, b, stop, thresholds, exprs) for a, b in pairwise(cuts)] or [loop]


def _exact(stop: int, thresholds: Iterable[Threshold], size: int) -> Sequence[int]:
    """Where a loop with a body of `size` operations is cut so that each comparison is constant in each part."""
    cuts = [0, *sorted({t.at for t in thresholds if 0 < t.at < stop}), stop]
    return cuts if stop >= LEAST_EXACT and len(cuts) > 2 and (len(cuts) - 1) * size <= MOST_COPIED else ()


def _whole_vectors(stop: int, thresholds: Iterable[Threshold]) -> Sequence[int]:
    """Where a loop is cut so that comparisons are constant in its interior, whose ends are those of whole vectors."""
    places = [t.at for t in thresholds]
    low = max((at for at in places if 0 < at <= stop // 4), default=0)
    high = min((at for at in places if stop - stop // 4 <= at < stop), default=stop)
    first, last = -(-low // STEP) * STEP, high if high == stop else high // STEP * STEP
    if stop < LEAST or (first, last) == (0, stop) or last - first < stop // 2:
        return ()
    return sorted({0, first, last, stop})


def _part(loop: For, begin: int, end: int, stop: int, thresholds: dict[Expr, Threshold], exprs: Exprs) -> For:
    """The iterations of a loop from `begin` to `end`, in which comparisons that do not change are constants."""
    bound = lambda op, x, at: fold(exprs, op, [x, exprs.index(at)])
    start = loop.start if begin == 0 else bound("max", loop.start, begin)
    names = {var.id: exprs.var(var.dtype, "i") for var in (loop.var, *(v for s in walk(loop.body) for v in binds(s)))}
    known = {e.id: exprs.const((t.at >= end) == t.below, BOOL) for e, t in thresholds.items() if not begin < t.at < end}
    body = copied(loop.body, names, _replacing({**names, **known}, exprs))
    stop_here = loop.stop if end == stop else bound("min", loop.stop, end)
    return loop.replace(var=names[loop.var.id], start=start, stop=stop_here, body=body)


def _replacing(done: dict[int, Expr], exprs: Exprs) -> Callable[[Expr], Expr]:
    """What simplifies expressions in which others, by their ids, are known."""
    def replaced(expr: Expr) -> Expr:
        for e in postorder([expr], done):
            done[e.id] = _simplified(e, [done[a.id] for a in e.args], exprs)
        return done[expr.id]
    return replaced


def _simplified(e: Expr, args: list[Expr], exprs: Exprs) -> Expr:
    if e.op == "load" and len(args) == 2 and args[1].op == "const":
        return exprs.load(e.attr, args[0]) if args[1].attr else exprs.const(0, e.dtype)
    if e.op in ("select", "and", "or", "not", "add") and any(a.op == "const" for a in args):
        return fold(exprs, e.op, args)
    return exprs.make(e.op, e.dtype, tuple(args), e.attr)


def _threshold(e: Expr, var: Expr, forms: AffineForms) -> Threshold | None:
    """Where a comparison of the variable, plus or minus a number, with another number changes."""
    if e.op not in ("lt", "le", "gt", "ge") or e.args[0].dtype != INT64:
        return None
    x, y = map(forms.split, e.args if e.op in ("lt", "le") else e.args[::-1])
    strict, alone = e.op in ("lt", "gt"), ((var, 1),)
    if max(abs(x.constant), abs(y.constant)) > _FAR:
        return None
    if x.terms == alone and not y.terms:
        return Threshold(y.constant - x.constant + (not strict), True)
    if y.terms == alone and not x.terms:
        return Threshold(x.constant - y.constant + strict, False)
    return None


def _largest(stop: Expr) -> int | None:
    """The constant that a loop ends at, or ends at the latest: its other bound is that of a thread's part."""
    if stop.op == "min":
        stop = next((a for a in stop.args if a.op == "const"), stop)
    return int(stop.attr) if stop.op == "const" else None


def _guards(found: Iterable[Expr], thresholds: dict[Expr, Threshold]) -> bool:
    """Whether a load depends on one of the comparisons: masks are what costs time."""
    masks = [e.args[1] for e in found if e.op == "load" and len(e.args) == 2]
    return any(e in thresholds for e in nodes(masks))


# --- addresses

def _choose_addresses(loop: For, function: Function, forms: AffineForms) -> None:
    """select(c, x[i], x[j]) becomes x[select(c, i, j)], where c is the same in all iterations and so is i - j. What else both
    masks ask for, such as a column of the picture, remains."""
    exprs, inside = function.exprs, {loop.var, *(var for stmt in loop.body for var in binds(stmt))}

    def rule(e: Expr) -> Expr:
        if e.op != "select" or e.args[0].op == "const":
            return e
        cond, yes, no = e.args
        if not (_masked(yes) and _masked(no) and no.attr is yes.attr):
            return e
        mask, other = _conditions(yes.args[1]), _conditions(no.args[1])
        inverse = next((c for c in other if c.op == "not" and c.args[0] is cond), None)
        if cond not in mask or inverse is None or {*mask} - {cond} != {*other} - {inverse}:
            return e
        distance = _fixed_distance(yes.args[0], no.args[0], forms)
        if distance is None or not inside.isdisjoint(nodes([cond])):
            return e
        offset = exprs.prim("select", cond, exprs.index(distance), exprs.index(0))
        rest = [c for c in mask if c is not cond]
        guard = [reduce(lambda x, y: exprs.prim("and", x, y), rest)] if rest else []
        return exprs.make("load", e.dtype, (exprs.prim("add", no.args[0], offset), *guard), no.attr)

    Rewrite(function, rule).block(loop.body)


def _masked(e: Expr) -> bool:
    return e.op == "load" and len(e.args) == 2


def _conditions(mask: Expr) -> list[Expr]:
    """What must hold for a mask to hold."""
    return [c for a in mask.args for c in _conditions(a)] if mask.op == "and" else [mask]


def _fixed_distance(i: Expr, j: Expr, forms: AffineForms) -> int | None:
    """i - j, where that is a number."""
    one, other = forms.split(i), forms.split(j)
    same = dict(one.terms) == dict(other.terms)
    return one.constant - other.constant if same else None


PASS = Pass("borders", "loops over stencils are cut into an interior without conditions and its border",
            lambda function, context: split(function, context.target.masks), requires=("arithmetic", "unplaced"))
