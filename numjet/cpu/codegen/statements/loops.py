"""Loops: serial, unrolled, and vector loops as a main loop of whole vectors plus a remainder."""
from __future__ import annotations

from typing import NamedTuple

from numjet.cpu.analysis.vectorize import Lanes, choose_lanes
from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.loop_context import LoopContext, UnrolledLoop, VectorLoop
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.statements.cancellation import Countdown
from numjet.cpu.codegen.statements.reductions import combine, neutral, reduce_lanes
from numjet.cpu.codegen.types import phi, value_type, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Carry, Expr, For, While
from numjet.cpu.ir.traversal import expressions, loaded, static_trips, written


class Piece(NamedTuple):
    """A part of a loop's iterations, from `start` to `stop` in steps of as many as there are lanes.

    trips: how many steps, if known; end: for a masked piece, where the lanes of its last step end; last: where the last step
    begins at the latest, whose first iterations run again then.
    """

    start: str
    stop: str
    trips: int | None
    step: int = 1
    end: str | None = None
    last: str | None = None


class LoopHeader:
    """The phi nodes at the head of a loop, for its carries and its countdown to the next cancellation check.

    A carry has as many lanes as the value it starts with, or as the vector loop around if it varies from lane to lane.
    """

    def __init__(self, context: LoopContext, stmt: For | While, inits: list[Value]):
        carries = stmt.carries
        self.writer, self._carries, self._inits = context.writer, carries, inits
        inside = context.vector is not None
        self.lanes = [context.lanes if inside and c.var.id in context.varying and c.var.id not in context.narrow else v.lanes
                      for c, v in zip(carries, inits, strict=True)]
        self.names = [f"%{self.writer.name('c')}" for _ in carries]
        self._types = [value_type(c.var.dtype, lanes) for c, lanes in zip(carries, self.lanes, strict=True)]
        self._countdown = Countdown(self.writer, stmt.cancellation_point) if stmt.cancellation_point is not None else None
        self._first: list[str] = []

    def bind(self) -> None:
        """Makes the carries known inside of the loop."""
        for c, name, lanes in zip(self._carries, self.names, self.lanes, strict=True):
            self.writer.bind(c.var, name, lanes)

    def check_cancellation(self) -> None:
        """At the end of an iteration."""
        if self._countdown is not None:
            self._countdown.check()

    def fit_inits(self) -> None:
        """Gives the first values their number of lanes, in front of the loop."""
        self._first = [self.writer.fit(v, c.var, lanes)
                       for c, v, lanes in zip(self._carries, self._inits, self.lanes, strict=True)]

    def merge(self, before: str, latch: str, nexts: list[str]) -> list[str]:
        """The instructions that choose between the first values and those of the last iteration."""
        return [phi(ty, (first, before), (following, latch))
                for ty, first, following in zip(self._types, self._first, nexts, strict=True)]

    def lines(self, before: str, latch: str, nexts: list[str]) -> list[str]:
        """The phi nodes."""
        countdown = [] if self._countdown is None else [self._countdown.phi(before, latch)]
        merged = self.merge(before, latch, nexts)
        return [*countdown, *(f"  {name} = {text}" for name, text in zip(self.names, merged, strict=True))]


def for_loop(emitter: FunctionEmitter, stmt: For) -> None:
    """Writes a `For` and binds its results."""
    trips, context = static_trips(stmt), emitter.context
    start, stop = emitter.value(stmt.start), emitter.value(stmt.stop)
    inits = [emitter.value(c.init) for c in stmt.carries]
    context.ranges.bind(stmt.var, context.ranges.of(stmt.start)[0], context.ranges.of(stmt.stop)[1] - 1)
    plan = choose_lanes(stmt, emitter.module.target, context.affine) if context.vector is None else None
    if plan is not None:
        results = _vector(emitter, stmt, plan, start, stop, inits)
    elif stmt.mode == "unroll" and trips is not None:
        results = _unrolled(emitter, stmt, trips, inits)
    else:
        results = _piece(emitter, stmt, Piece(start.text, stop.text, trips), inits)
    for c, value in zip(stmt.carries, results, strict=True):
        emitter.writer.bind(c.out, value.text, value.lanes, value.literal)


def _unrolled(emitter: FunctionEmitter, stmt: For, trips: int, values: list[Value]) -> list[Value]:
    context, first = emitter.context, int(stmt.start.attr)
    if context.vector is not None:
        context.unrolled.append(UnrolledLoop(stmt.var, trips, emitter.writer.scope.depth))
    for k in range(first, first + trips):
        values = _inline(emitter, stmt, Piece(str(k), str(k + 1), 1), values)
    if context.vector is not None:
        context.unrolled.pop()
    return values


def _inline(emitter: FunctionEmitter, stmt: For, piece: Piece, values: list[Value]) -> list[Value]:
    """The single step of a piece, in line."""
    w = emitter.writer
    w.enter_inline(w.writes(stmt))
    _enter_mask(emitter, piece, piece.start)
    _bind_variable(emitter, stmt.var, piece.start)
    for c, value in zip(stmt.carries, values, strict=True):
        w.bind(c.var, value.text, value.lanes, value.literal)
    emitter.block(stmt.body)
    narrow = emitter.context.narrow if emitter.context.vector is not None else ()
    nexts = [Value(_next_narrow(emitter, c, v.lanes), v.lanes, emitter.writer.scope.depth) if c.var.id in narrow
             else emitter.value(c.next) for c, v in zip(stmt.carries, values, strict=True)]
    nexts = [Value(v.text, v.lanes, v.depth, literal=v.literal) for v in nexts]   # carries outlive what they have read
    nexts = [v if c.var.id in narrow else _in_active_lanes(emitter, stmt.var, c, v)
             for c, v in zip(stmt.carries, nexts, strict=True)]
    if piece.end is not None:
        emitter.context.mask = None
    w.leave()
    return nexts


def _bind_variable(emitter: FunctionEmitter, var: Expr, position: str) -> None:
    """Makes a loop's variable known; a vector loop's only by its value in the first lane."""
    vector, literal = emitter.context.vector, position.lstrip("-").isdigit()
    if vector is not None and vector.var is var:
        vector.first = Value(position, 1, emitter.writer.scope.depth, literal=literal)
    else:
        emitter.writer.bind(var, position, 1, literal)


def _piece(emitter: FunctionEmitter, stmt: For, piece: Piece, inits: list[Value]) -> list[Value]:
    """A loop over the steps of a piece."""
    w, guarded = emitter.writer, piece.trips is None
    if piece.trips == 0:
        return inits
    if piece.trips == 1:
        return _inline(emitter, stmt, piece, inits)
    w.values.invalidate(w.writes(stmt))
    head, exit_label = w.name("loop"), w.name("exit")
    counter = f"%{w.name('i')}"
    header = LoopHeader(emitter.context, stmt, inits)
    inner = w.enter("loop", Code(head), w.writes(stmt), not guarded)
    position = counter if piece.last is None else w.intrinsic("smin.i64", "i64", ("i64", counter), ("i64", piece.last))
    _bind_variable(emitter, stmt.var, position)
    header.bind()
    _enter_mask(emitter, piece, counter)
    emitter.block(stmt.body)
    nexts = [_next(emitter, stmt.var, c, lanes) for c, lanes in zip(stmt.carries, header.lanes, strict=True)]
    header.check_cancellation()
    w.here()
    after = w.put(f"add nsw i64 {counter}, {piece.step}")
    w.line(f"br i1 {w.put(f'icmp slt i64 {after}, {piece.stop}')}, label %{head}, label %{exit_label}")
    if piece.end is not None:
        emitter.context.mask = None
    w.leave()
    header.fit_inits()
    if guarded:
        w.line(f"br i1 {w.put(f'icmp slt i64 {piece.start}, {piece.stop}')}, label %{head}, label %{exit_label}")
    else:
        w.line(f"br label %{head}")
    lines, before, latch = w.scope.code.lines, w.scope.code.block, inner.code.block
    lines += [f"{head}:", f"  {counter} = {phi('i64', (piece.start, before), (after, latch))}",
              *header.lines(before, latch, nexts), *inner.code.lines]
    w.label(exit_label)
    outs = [w.put(text) for text in header.merge(before, latch, nexts)] if guarded else nexts
    return [Value(text, lanes, w.scope.depth) for text, lanes in zip(outs, header.lanes, strict=True)]


def _next(emitter: FunctionEmitter, var: Expr | None, carry: Carry, lanes: int) -> str:
    """A carry's value for the next iteration of the loop over `var`."""
    if carry.var.id in emitter.context.narrow and emitter.context.vector is not None:
        return _next_narrow(emitter, carry, lanes)
    value = _in_active_lanes(emitter, var, carry, emitter.value(carry.next))
    emitter.writer.here()
    return emitter.writer.fit(value, carry.next, lanes)


def _next_narrow(emitter: FunctionEmitter, carry: Carry, lanes: int) -> str:
    """The same for bools in fewer lanes than the loop has: those of this iteration are combined first."""
    w, context = emitter.writer, emitter.context
    assert carry.term is not None
    before = w.known[carry.var.id]
    value, full = emitter.value(carry.term), context.lanes
    w.here()
    text = w.fit(value, carry.term, full)
    if context.mask is not None:
        text = w.select(value_type(carry.var.dtype, full), full, context.mask.text, text, neutral(carry, full).text)
    found = reduce_lanes(w, carry, Value(text, full, w.scope.depth), lanes)
    return combine(w, carry, w.fit(before, carry.var, lanes), found.text, lanes)


def _narrow_lanes(carry: Carry, plan: Lanes) -> int:
    """In how many lanes a carry is kept: masks of comparisons, whose registers are joined to longer masks with effort, in one
    register's, and those of all others in all."""
    term = carry.term
    if term is None or carry.var.dtype.kind != "b" or carry.combine not in ("or", "and") or not term.args:
        return plan.lanes
    own = max(2, 64 // max(term.args[0].dtype.itemsize, 4))
    return min(own, plan.rest if plan.rest > 1 else plan.lanes)


def _vector(emitter: FunctionEmitter, stmt: For, plan: Lanes, start: Value, stop: Value, inits: list[Value]) -> list[Value]:
    """Whole vectors, then the remainder; carries are partial results by lane until they are combined at the end.

    A remainder without masks is one more vector that ends with the loop, and computes some elements again, where that does no
    harm: as many scalar iterations as there are bytes in a vector cost more than a short loop's whole vectors. The body of a
    long loop is written once.
    """
    w, context = emitter.writer, emitter.context
    context.varying = set(plan.varying)
    position, total = start.text, static_trips(stmt)
    few = [_narrow_lanes(c, plan) for c in stmt.carries]
    context.narrow = {c.var.id for c, n in zip(stmt.carries, few, strict=True) if n < plan.lanes}
    partial, lanes = [neutral(c, n) for c, n in zip(stmt.carries, few, strict=True)], plan.lanes
    single = _single_piece(w, stmt, plan, position, stop.text, total)
    widths = [(plan.lanes, False)]
    if single is None and (plan.masked or plan.rest < plan.lanes):
        widths.append((plan.rest, plan.masked))
    if single is None and not plan.masked:
        widths.append((1, False))
    for width, masked in widths:
        piece = single or _next_piece(w, position, stop.text, total, width, masked)
        if width == 1 and total is not None and total > 1 and _repeatable(stmt):
            width = plan.rest
            piece = Piece(str(int(stop.text) - width), stop.text, 1, width)
        if piece.trips == 0:
            continue
        if total is not None and piece.trips is not None:
            total = max(0, total - piece.trips * width)
        if width < lanes:
            partial = [reduce_lanes(w, c, v, min(width, v.lanes)) for c, v in zip(stmt.carries, partial, strict=True)]
            lanes = width
        context.vector = VectorLoop(stmt.var, Value(position), width, stmt.body) if width > 1 else None
        partial = _piece(emitter, stmt, piece, partial)
        context.vector, position = None, piece.stop
    context.varying, context.narrow = set(), set()
    merged = [reduce_lanes(w, c, v, 1) for c, v in zip(stmt.carries, partial, strict=True)]
    w.here()
    return [Value(combine(w, c, init.text, v.text), 1, w.scope.depth)
            for c, init, v in zip(stmt.carries, inits, merged, strict=True)]


def _single_piece(w: FunctionWriter, stmt: For, plan: Lanes, start: str, stop: str, total: int | None) -> Piece | None:
    """All iterations of a long body, in vectors: the last one begins where it ends with the loop, if iterations may run again,
    or has masked lanes."""
    if not plan.long:
        return None
    if total is not None and total > plan.lanes and _repeatable(stmt):
        return Piece(start, stop, -(-total // plan.lanes), plan.lanes, None, str(int(stop) - plan.lanes))
    if plan.masked and plan.rest == plan.lanes:
        return _next_piece(w, start, stop, total, plan.lanes, True)
    return None


def _repeatable(stmt: For) -> bool:
    """Whether iterations may run again: they read nothing that the loop writes, and carry nothing."""
    return not stmt.carries and written(stmt.body).isdisjoint(loaded(expressions(stmt.body)))


def _next_piece(w: FunctionWriter, start: str, stop: str, total: int | None, width: int, masked: bool) -> Piece:
    """The vectors of one width in the elements from `start`, of which there are `total`, if known."""
    end = stop if masked else None
    if total is not None:
        trips = -(-total // width) if masked else total // width
        return Piece(start, str(int(start) + trips * width), trips, width, end)
    if width > 1 and not masked:
        w.here()
        count = w.intrinsic("smax.i64", "i64", ("i64", w.put(f"sub i64 {stop}, {start}")), ("i64", "0"))
        stop = w.put(f"add i64 {start}, {w.put(f'and i64 {count}, {-width}')}")
    return Piece(start, stop, None, width, end)


def _enter_mask(emitter: FunctionEmitter, piece: Piece, position: str) -> None:
    """Masks the lanes beyond the end of a masked piece. Compared in a type no wider than needed."""
    if piece.end is None:
        return
    w, lanes = emitter.writer, emitter.context.lanes
    w.here()
    name = "i16" if lanes > 64 else f"i{max(8, min(32, 512 // lanes))}"
    if position.isdigit() and piece.end.isdigit():
        left = Value(str(min(int(piece.end) - int(position), lanes)), literal=True)
        known = w.find_in_line(("lanes below", left.text, lanes), w.scope.depth)
        if known is not None:
            emitter.context.mask = known
            return
    else:
        count = w.put(f"sub i64 {piece.end}, {position}")
        bounded = w.intrinsic("smin.i64", "i64", ("i64", count), ("i64", str(lanes)))
        left = Value(w.put(f"trunc i64 {bounded} to {name}"), 1, w.scope.depth)
    numbers = ", ".join(f"{name} {lane}" for lane in range(lanes))
    text = w.put(f"icmp ult {wide(name, lanes)} <{numbers}>, {w.splat(left, name, lanes)}")
    emitter.context.mask = Value(text, lanes, w.scope.depth)
    if left.literal:
        w.define_in_line(("lanes below", left.text, lanes), emitter.context.mask)


def _in_active_lanes(emitter: FunctionEmitter, var: Expr | None, carry: Carry, value: Value) -> Value:
    """The next value of a carry of the loop over `var`, which stays as it is in masked lanes of a vector loop."""
    w, mask, vector = emitter.writer, emitter.context.mask, emitter.context.vector
    if mask is None or vector is None or vector.var is not var:
        return value
    w.here()
    before, lanes = w.known[carry.var.id], mask.lanes
    yes, no = w.fit(value, carry.next, lanes), w.fit(before, carry.var, lanes)
    return Value(w.select(value_type(carry.var.dtype, lanes), mask.lanes, mask.text, yes, no), lanes, w.scope.depth)


def while_loop(emitter: FunctionEmitter, stmt: While) -> None:
    """Writes a `While` and binds its results."""
    w = emitter.writer
    inits = [emitter.value(c.init) for c in stmt.carries]
    writes = w.writes(stmt)
    w.values.invalidate(writes)
    head, body, exit_label = w.name("while"), w.name("body"), w.name("exit")
    header = LoopHeader(emitter.context, stmt, inits)
    outer = w.enter("loop", Code(head), writes, True)
    header.bind()
    emitter.block(stmt.cond_body)
    again = _any_active_lane(emitter, emitter.value(stmt.cond))
    inner = w.enter("branch", Code(body), writes, False)
    emitter.block(stmt.body)
    nexts = [_next(emitter, None, c, lanes) for c, lanes in zip(stmt.carries, header.lanes, strict=True)]
    header.check_cancellation()
    w.leave()
    w.here()
    w.line(f"br i1 {again}, label %{body}, label %{exit_label}")
    w.leave()
    header.fit_inits()
    w.line(f"br label %{head}")
    lines, before, latch = w.scope.code.lines, w.scope.code.block, inner.code.block
    lines += [f"{head}:", *header.lines(before, latch, nexts), *outer.code.lines,
              f"{body}:", *inner.code.lines, f"  br label %{head}"]
    w.label(exit_label)
    for c, name, lanes in zip(stmt.carries, header.names, header.lanes, strict=True):
        w.bind(c.out, name, lanes)


def _any_active_lane(emitter: FunctionEmitter, cond: Value) -> str:
    """Whether a condition holds in some lane of the mask."""
    w, mask = emitter.writer, emitter.context.mask
    w.here()
    if cond.lanes > 1 and mask is not None:
        cond = Value(w.put(f"and {wide('i1', cond.lanes)} {cond.text}, {mask.text}"), cond.lanes)
    return emitter.context.any_lane(cond)
