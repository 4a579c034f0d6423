"""Loops: serial, unrolled, and vector loops as a main loop of whole vectors plus a remainder."""
from __future__ import annotations

from typing import NamedTuple

from numjet.cpu.analysis.vectorize import Lanes, choose_lanes
from numjet.cpu.codegen.cancellation import Countdown
from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.loop_context import LoopContext, UnrolledLoop, VectorLoop
from numjet.cpu.codegen.reductions import combine, neutral, reduce_lanes
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.types import phi, value_type, wide
from numjet.cpu.ir.nodes import Carry, Expr, For, While
from numjet.cpu.ir.traversal import static_trips


class Piece(NamedTuple):
    """A part of a loop's iterations, from `start` to `stop` in steps of as many as there are lanes.

    trips: how many steps, if known; end: for a masked piece, where the lanes of its last step end.
    """

    start: str
    stop: str
    trips: int | None
    step: int = 1
    end: str | None = None


class LoopHeader:
    """The phi nodes at the head of a loop, for its carries and its countdown to the next cancellation check.

    A carry has as many lanes as the value it starts with, or as the vector loop around if it varies from lane to lane.
    """

    def __init__(self, context: LoopContext, stmt: For | While, inits: list[Value]):
        carries = stmt.carries
        self.writer, self._carries, self._inits = context.writer, carries, inits
        inside = context.vector is not None
        self.lanes = [context.lanes if inside and c.var.id in context.varying else v.lanes
                      for c, v in zip(carries, inits, strict=True)]
        self.names = [f"%{self.writer.name('c')}" for _ in carries]
        self._types = [value_type(c.var.dtype, lanes) for c, lanes in zip(carries, self.lanes, strict=True)]
        self._countdown = Countdown(self.writer, stmt.polls) if stmt.polls is not None else None
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


class LoopEmitter:
    """Writes loops."""

    def __init__(self, emitter: FunctionEmitter):
        self.emitter = emitter
        self.writer, self.context, self.value = emitter.writer, emitter.context, emitter.value

    def for_loop(self, stmt: For) -> None:
        """Writes a `For` and binds its results."""
        trips, context = static_trips(stmt), self.context
        start, stop = self.value(stmt.start), self.value(stmt.stop)
        inits = [self.value(c.init) for c in stmt.carries]
        context.ranges.bind(stmt.var, context.ranges.of(stmt.start)[0], context.ranges.of(stmt.stop)[1] - 1)
        plan = choose_lanes(stmt, self.emitter.module.target, context.affine) if context.vector is None else None
        if plan is not None:
            results = self._vector(stmt, plan, start, stop, inits)
        elif stmt.mode == "unroll" and trips is not None:
            results = self._unrolled(stmt, trips, inits)
        else:
            results = self._piece(stmt, Piece(start.text, stop.text, trips), inits)
        for c, value in zip(stmt.carries, results, strict=True):
            self.writer.bind(c.out, value.text, value.lanes, value.literal)

    # --- iterations in line ---

    def _unrolled(self, stmt: For, trips: int, values: list[Value]) -> list[Value]:
        context, first = self.context, int(stmt.start.attr)
        if context.vector is not None:
            context.unrolled.append(UnrolledLoop(stmt.var, trips, self.writer.scope.depth))
        for k in range(first, first + trips):
            values = self._inline(stmt, str(k), values)
        if context.vector is not None:
            context.unrolled.pop()
        return values

    def _inline(self, stmt: For, position: str, values: list[Value]) -> list[Value]:
        """One iteration in line."""
        w = self.writer
        w.enter_inline(w.writes(stmt))
        self._bind_variable(stmt.var, position)
        for c, value in zip(stmt.carries, values, strict=True):
            w.bind(c.var, value.text, value.lanes, value.literal)
        self.emitter.block(stmt.body)
        nexts = [self.value(c.next) for c in stmt.carries]
        nexts = [Value(v.text, v.lanes, v.depth, literal=v.literal) for v in nexts]   # carries outlive what they have read
        nexts = [self._in_active_lanes(stmt.var, c, v) for c, v in zip(stmt.carries, nexts, strict=True)]
        w.leave()
        return nexts

    def _bind_variable(self, var: Expr, position: str) -> None:
        """Makes a loop's variable known; a vector loop's only by its value in the first lane."""
        vector, literal = self.context.vector, position.lstrip("-").isdigit()
        if vector is not None and vector.var is var:
            vector.first = Value(position, 1, self.writer.scope.depth, literal=literal)
        else:
            self.writer.bind(var, position, 1, literal)

    # --- a loop of one width ---

    def _piece(self, stmt: For, piece: Piece, inits: list[Value]) -> list[Value]:
        """A loop over the steps of a piece."""
        w, guarded = self.writer, piece.trips is None
        if piece.trips == 0:
            return inits
        if piece.trips == 1:
            return self._single_step(stmt, piece, inits)
        w.values.invalidate(w.writes(stmt))
        head, exit_label = w.name("loop"), w.name("exit")
        counter = f"%{w.name('i')}"
        header = LoopHeader(self.context, stmt, inits)
        inner = w.enter("loop", Code(head), w.writes(stmt), not guarded)
        self._bind_variable(stmt.var, counter)
        header.bind()
        self._enter_mask(piece, counter)
        self.emitter.block(stmt.body)
        nexts = [self._next(stmt.var, c, lanes) for c, lanes in zip(stmt.carries, header.lanes, strict=True)]
        header.check_cancellation()
        w.here()
        after = w.put(f"add nsw i64 {counter}, {piece.step}")
        w.line(f"br i1 {w.put(f'icmp slt i64 {after}, {piece.stop}')}, label %{head}, label %{exit_label}")
        self._leave_mask(piece)
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

    def _single_step(self, stmt: For, piece: Piece, inits: list[Value]) -> list[Value]:
        if piece.end is None:
            return self._inline(stmt, piece.start, inits)
        self.writer.enter_inline(self.writer.writes(stmt))
        self._enter_mask(piece, piece.start)
        results = self._inline(stmt, piece.start, inits)
        self._leave_mask(piece)
        self.writer.leave()
        return results

    def _next(self, var: Expr | None, carry: Carry, lanes: int) -> str:
        """A carry's value for the next iteration of the loop over `var`."""
        value = self._in_active_lanes(var, carry, self.value(carry.next))
        self.writer.here()
        return self.writer.fit(value, carry.next, lanes)

    # --- vector loops ---

    def _vector(self, stmt: For, plan: Lanes, start: Value, stop: Value, inits: list[Value]) -> list[Value]:
        """Whole vectors, then the remainder; carries are partial results by lane until they are combined at the end."""
        w, context = self.writer, self.context
        context.varying = set(plan.varying)
        position, total = start.text, static_trips(stmt)
        partial, lanes = [neutral(c, plan.lanes) for c in stmt.carries], plan.lanes
        widths = [(plan.lanes, False)]
        if plan.masked or plan.rest < plan.lanes:
            widths.append((plan.rest, plan.masked))
        if not plan.masked:
            widths.append((1, False))
        for width, masked in widths:
            piece = self._next_piece(position, stop.text, total, width, masked)
            if piece.trips == 0:
                continue
            if total is not None and piece.trips is not None:
                total = max(0, total - piece.trips * width)
            if width < lanes:
                partial = [reduce_lanes(w, c, v, width) for c, v in zip(stmt.carries, partial, strict=True)]
                lanes = width
            context.vector = VectorLoop(stmt.var, Value(position), width) if width > 1 else None
            partial = self._piece(stmt, piece, partial)
            context.vector, position = None, piece.stop
        context.varying = set()
        merged = [reduce_lanes(w, c, v, 1) for c, v in zip(stmt.carries, partial, strict=True)]
        w.here()
        return [Value(combine(w, c, init.text, v.text), 1, w.scope.depth)
                for c, init, v in zip(stmt.carries, inits, merged, strict=True)]

    def _next_piece(self, start: str, stop: str, total: int | None, width: int, masked: bool) -> Piece:
        """The vectors of one width in the elements from `start`, of which there are `total`, if known."""
        end = stop if masked else None
        if total is not None:
            trips = -(-total // width) if masked else total // width
            return Piece(start, str(int(start) + trips * width), trips, width, end)
        return Piece(start, stop if masked or width == 1 else self._end_of_whole(start, stop, width), None, width, end)

    def _end_of_whole(self, start: str, stop: str, width: int) -> str:
        """Where the whole vectors between start and stop end."""
        w = self.writer
        w.here()
        count = w.put(f"sub i64 {stop}, {start}")
        count = w.intrinsic("smax.i64", "i64", ("i64", count), ("i64", "0"))
        return w.put(f"add i64 {start}, {w.put(f'and i64 {count}, {-width}')}")

    def _enter_mask(self, piece: Piece, position: str) -> None:
        """Masks the lanes beyond the end of a masked piece. Compared in a type no wider than needed."""
        if piece.end is None:
            return
        w, lanes = self.writer, self.context.lanes
        w.here()
        name = "i16" if lanes > 64 else f"i{max(8, min(32, 512 // lanes))}"
        if position.isdigit() and piece.end.isdigit():
            left = Value(str(min(int(piece.end) - int(position), lanes)), literal=True)
        else:
            count = w.put(f"sub i64 {piece.end}, {position}")
            bounded = w.intrinsic("smin.i64", "i64", ("i64", count), ("i64", str(lanes)))
            left = Value(w.put(f"trunc i64 {bounded} to {name}"), 1, w.scope.depth)
        numbers = ", ".join(f"{name} {lane}" for lane in range(lanes))
        text = w.put(f"icmp ult {wide(name, lanes)} <{numbers}>, {w.splat(left, name, lanes)}")
        self.context.mask = Value(text, lanes, w.scope.depth)

    def _leave_mask(self, piece: Piece) -> None:
        if piece.end is not None:
            self.context.mask = None

    def _in_active_lanes(self, var: Expr | None, carry: Carry, value: Value) -> Value:
        """The next value of a carry of the loop over `var`, which stays as it is in masked lanes of a vector loop."""
        w, mask, vector = self.writer, self.context.mask, self.context.vector
        if mask is None or vector is None or vector.var is not var:
            return value
        w.here()
        before, lanes = w.known[carry.var.id], mask.lanes
        yes, no = w.fit(value, carry.next, lanes), w.fit(before, carry.var, lanes)
        return Value(w.select(value_type(carry.var.dtype, lanes), mask.lanes, mask.text, yes, no), lanes, w.scope.depth)

    # --- while ---

    def while_loop(self, stmt: While) -> None:
        """Writes a `While` and binds its results."""
        w = self.writer
        inits = [self.value(c.init) for c in stmt.carries]
        writes = w.writes(stmt)
        w.values.invalidate(writes)
        head, body, exit_label = w.name("while"), w.name("body"), w.name("exit")
        header = LoopHeader(self.context, stmt, inits)
        outer = w.enter("loop", Code(head), writes, True)
        header.bind()
        self.emitter.block(stmt.cond_body)
        again = self._any_active_lane(self.value(stmt.cond))
        inner = w.enter("branch", Code(body), writes, False)
        self.emitter.block(stmt.body)
        nexts = [self._next(None, c, lanes) for c, lanes in zip(stmt.carries, header.lanes, strict=True)]
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

    def _any_active_lane(self, cond: Value) -> str:
        """Whether a condition holds in some lane of the mask."""
        w, mask = self.writer, self.context.mask
        w.here()
        if cond.lanes > 1 and mask is not None:
            cond = Value(w.put(f"and {wide('i1', cond.lanes)} {cond.text}, {mask.text}"), cond.lanes)
        return self.context.any_lane(cond)
