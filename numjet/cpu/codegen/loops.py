"""Loops: serial, unrolled, and vector loops as a main loop of whole vectors plus a rest."""
from __future__ import annotations

from numjet.cpu.analysis.vectorize import Lanes, choose_lanes
from numjet.cpu.codegen.cancellation import PollEmitter
from numjet.cpu.codegen.operations import RULES
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.state import Lane, Unrolled
from numjet.cpu.codegen.types import literal, scalar_type, splat_literal, suffix, value_type, wide
from numjet.cpu.ir.nodes import Carry, For, Stmt, While
from numjet.cpu.ir.traversal import static_trips
from numjet.cpu.ir.types import identity, kind


class LoopEmitter(PollEmitter):
    """Writes loops."""

    def block(self, stmts: list[Stmt]) -> None:
        """Writes the statements of a block."""
        raise NotImplementedError

    def loop(self, stmt: For) -> None:
        """Writes a `For` and binds its results."""
        trips = static_trips(stmt)
        start, stop = self.value(stmt.start), self.value(stmt.stop)
        inits = [self.value(c.init) for c in stmt.carries]
        self.ranges.bind(stmt.var, self.ranges.of(stmt.start)[0], self.ranges.of(stmt.stop)[1] - 1)
        plan = choose_lanes(stmt, self.target, self.sums) if self.lane is None else None
        if plan is not None:
            results = self._vector(stmt, plan, start, stop, inits)
        elif stmt.mode == "unroll" and trips is not None:
            results = self._unroll(stmt, trips, inits)
        else:
            results = self._piece(stmt, start.text, stop.text, trips, inits, 1, None)
        for c, value in zip(stmt.carries, results, strict=True):
            self.bind(c.out, value.text, value.lanes, value.literal)

    # --- unrolled ---

    def _unroll(self, stmt: For, trips: int, inits: list[Value]) -> list[Value]:
        values, first = inits, int(stmt.start.attr)
        if self.lane is not None:
            self.unrolled.append(Unrolled(stmt.var, trips, self.scope.depth))
        for k in range(trips):
            values = self._once(stmt, Value(str(first + k), literal=True), values)
        if self.lane is not None:
            self.unrolled.pop()
        return values

    def _once(self, stmt: For, position: Value, values: list[Value]) -> list[Value]:
        """One iteration in line."""
        self.enter("inline", self.scope.code, self.writes(stmt), True)
        if self.lane is not None and self.lane.var is stmt.var:
            self.lane.first = Value(position.text, 1, self.scope.depth, literal=position.literal)
        else:
            self.bind(stmt.var, position.text, 1, position.literal)
        for c, value in zip(stmt.carries, values, strict=True):
            self.bind(c.var, value.text, value.lanes, value.literal)
        self.block(stmt.body)
        values = [self._copy(self.value(c.next)) for c in stmt.carries]
        values = [self._only_active(stmt, c, v) for c, v in zip(stmt.carries, values, strict=True)]
        self.leave()
        return values

    @staticmethod
    def _copy(value: Value) -> Value:
        return Value(value.text, value.lanes, value.depth, literal=value.literal)

    # --- one loop ---

    def _piece(self, stmt: For, start: str, stop: str, trips: int | None, inits: list[Value], step: int,
               mask_count: str | None) -> list[Value]:
        """A loop from start to stop in steps; its carries have as many lanes as the values they start with.
        mask_count: where lanes end, in a loop whose last iteration is partial."""
        if trips == 0:
            return inits
        if trips == 1:
            return self._single(stmt, start, inits, mask_count)
        self.memory.kill(self.writes(stmt))
        head, exit_label, guarded = self.name("loop"), self.name("exit"), trips is None
        lanes = [self._carry_lanes(c, v) for c, v in zip(stmt.carries, inits, strict=True)]
        counter = f"%{self.name('i')}"
        names = [f"%{self.name('c')}" for _ in inits]
        polled = self.open_counter(stmt)
        inner = self.enter("loop", Code(head), self.writes(stmt), not guarded)
        self._bind_counter(stmt, counter)
        for c, name, width in zip(stmt.carries, names, lanes, strict=True):
            self.bind(c.var, name, width)
        if mask_count is not None:
            self._mask_rest(counter, mask_count)
        self.block(stmt.body)
        nexts = [self._next(stmt, c, width) for c, width in zip(stmt.carries, lanes, strict=True)]
        self.ask(polled)
        self.here()
        after = self.put(f"add nsw i64 {counter}, {step}")
        again = self.put(f"icmp slt i64 {after}, {stop}")
        self.line(f"br i1 {again}, label %{head}, label %{exit_label}")
        if mask_count is not None:
            self.mask = None
        self.leave()
        first = [self.fit(v, c.var, width) for c, v, width in zip(stmt.carries, inits, lanes, strict=True)]
        before, latch = self._open_loop(start, stop, guarded, head, exit_label), inner.code.block
        types = [value_type(c.var.dtype, width) for c, width in zip(stmt.carries, lanes, strict=True)]
        lines = self.scope.code.lines
        lines += [f"{head}:", f"  {counter} = phi i64 [ {start}, %{before} ], [ {after}, %{latch} ]"]
        lines += self.phi(polled, before, latch)
        lines += [f"  {name} = phi {ty} [ {init}, %{before} ], [ {last}, %{latch} ]"
                  for name, ty, init, last in zip(names, types, first, nexts, strict=True)]
        lines += inner.code.lines
        self.label(exit_label)
        outs = nexts
        if guarded:
            outs = [self.put(f"phi {ty} [ {init}, %{before} ], [ {last}, %{latch} ]")
                    for ty, init, last in zip(types, first, nexts, strict=True)]
        return [Value(text, width, self.scope.depth) for text, width in zip(outs, lanes, strict=True)]

    def _open_loop(self, start: str, stop: str, guarded: bool, head: str, exit_label: str) -> str:
        """Ends the block in front of a loop; returns its label."""
        if guarded:
            enters = self.put(f"icmp slt i64 {start}, {stop}")
            self.line(f"br i1 {enters}, label %{head}, label %{exit_label}")
        else:
            self.line(f"br label %{head}")
        return self.scope.code.block

    def _single(self, stmt: For, start: str, inits: list[Value], mask_count: str | None) -> list[Value]:
        literal = start.lstrip("-").isdigit()
        if mask_count is None:
            return self._once(stmt, Value(start, literal=literal), inits)
        self.enter("inline", self.scope.code, self.writes(stmt), True)
        self._mask_rest(start, mask_count)
        results = self._once(stmt, Value(start, literal=literal), inits)
        self.mask = None
        self.leave()
        return results

    def _bind_counter(self, stmt: For, counter: str) -> None:
        if self.lane is not None and self.lane.var is stmt.var:
            self.lane.first = Value(counter, 1, self.scope.depth)
        else:
            self.bind(stmt.var, counter)

    def _carry_lanes(self, carry: Carry, init: Value) -> int:
        inside = self.lane is not None and carry.var.id in self.varying
        return self.width if inside else init.lanes

    def _next(self, stmt: For, carry: Carry, lanes: int) -> str:
        value = self._only_active(stmt, carry, self.value(carry.next))
        self.here()
        return self.fit(value, carry.next, lanes)

    # --- vector loops ---

    def _vector(self, stmt: For, plan: Lanes, start: Value, stop: Value, inits: list[Value]) -> list[Value]:
        """Whole vectors, then the rest; carries are partial results by lane until they are combined at the end."""
        self.varying = set(plan.varying)
        position, total = start.text, static_trips(stmt)
        partial, lanes = [self._identity(c, plan.lanes) for c in stmt.carries], plan.lanes
        pieces = [(plan.lanes, False)]
        if plan.masked or plan.rest < plan.lanes:
            pieces.append((plan.rest, plan.masked))
        if not plan.masked:
            pieces.append((1, False))
        for width, masked in pieces:
            trips, end = self._part(position, stop.text, total, width, masked)
            if trips == 0:
                continue
            if total is not None and trips is not None:
                total = max(0, total - trips * width)
            if width < lanes:
                partial = [self._narrow(c, v, width) for c, v in zip(stmt.carries, partial, strict=True)]
                lanes = width
            if width > 1:
                self.lane = Lane(stmt.var, Value(position), width)
            partial = self._piece(stmt, position, end, trips, partial, width, stop.text if masked else None)
            self.lane, position = None, end
        self.varying = set()
        merged = [self._narrow(c, v, 1) for c, v in zip(stmt.carries, partial, strict=True)]
        return [self._combine(c, init, v) for c, init, v in zip(stmt.carries, inits, merged, strict=True)]

    def _part(self, start: str, stop: str, total: int | None, width: int, masked: bool) -> tuple[int | None, str]:
        """(iterations, end) of a loop over the vectors of one width in the `total` elements from `start`."""
        if total is not None:
            trips = -(-total // width) if masked else total // width
            return trips, str(int(start) + trips * width)
        return None, stop if masked or width == 1 else self._whole(start, stop, width)

    def _whole(self, start: str, stop: str, width: int) -> str:
        """Where the whole vectors between start and stop end."""
        self.here()
        count = self.put(f"sub i64 {stop}, {start}")
        count = self.intrinsic("smax.i64", "i64", ("i64", count), ("i64", "0"))
        return self.put(f"add i64 {start}, {self.put(f'and i64 {count}, {-width}')}")

    def _mask_rest(self, position: str, stop: str) -> None:
        """Sets the mask of lanes below `stop`. Compared in a type no wider than needed."""
        self.here()
        lanes = self.width
        name = "i16" if lanes > 64 else f"i{max(8, min(32, 512 // lanes))}"
        if position.isdigit() and stop.isdigit():
            left = Value(str(min(int(stop) - int(position), lanes)), literal=True)
        else:
            count = self.put(f"sub i64 {stop}, {position}")
            bounded = self.intrinsic("smin.i64", "i64", ("i64", count), ("i64", str(lanes)))
            left = Value(self.put(f"trunc i64 {bounded} to {name}"), 1, self.scope.depth)
        numbers = ", ".join(f"{name} {lane}" for lane in range(lanes))
        text = self.put(f"icmp ult {wide(name, lanes)} <{numbers}>, {self.splat(left, name, lanes)}")
        self.mask = Value(text, lanes, self.scope.depth)

    def _only_active(self, stmt: For, carry: Carry, value: Value) -> Value:
        """A carry of a vector loop keeps its value in lanes beyond the end."""
        if self.mask is None or self.lane is None or self.lane.var is not stmt.var:
            return value
        self.here()
        before = self.known[carry.var.id]
        lanes = self.mask.lanes
        ty = value_type(carry.var.dtype, lanes)
        text = self.put(f"select {wide('i1', lanes)} {self.mask.text}, {ty} {self.fit(value, carry.next, lanes)}, "
                        f"{ty} {self.fit(before, carry.var, lanes)}")
        return Value(text, lanes, self.scope.depth)

    # --- combining ---

    def _identity(self, carry: Carry, lanes: int) -> Value:
        """The value that a combination leaves as it is, in all lanes."""
        dtype = carry.var.dtype
        return Value(splat_literal(scalar_type(dtype), literal(identity(str(carry.combine), dtype)), lanes), lanes)

    def _narrow(self, carry: Carry, value: Value, lanes: int) -> Value:
        """Combines the lanes of a partial result until `lanes` are left."""
        dtype = carry.var.dtype
        of = scalar_type(dtype)
        self.here()
        if kind(dtype) == "b" and lanes == 1 and value.lanes > 1:
            return self._narrow_bool(carry, value)
        text, width = value.text, value.lanes
        while width > max(lanes, 2):
            ty, half = wide(of, width), width // 2
            low, high = (self.put(f"shufflevector {ty} {text}, {ty} poison, <{half} x i32> <{order}>")
                         for order in (_order(0, half), _order(half, half)))
            text = self._combined(carry, low, high, half)
            width = half
        if lanes == 1 and width == 2:
            low, high = (self.put(f"extractelement {wide(of, 2)} {text}, i64 {lane}") for lane in range(2))
            text = self._combined(carry, low, high, 1)
        return Value(text, lanes, self.scope.depth)

    def _narrow_bool(self, carry: Carry, value: Value) -> Value:
        name = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(str(carry.combine), carry.combine)
        ty = wide("i1", value.lanes)
        text = self.intrinsic(f"vector.reduce.{name}.{suffix('i1', value.lanes)}", "i1", (ty, value.text))
        return Value(text, 1, self.scope.depth)

    def _combine(self, carry: Carry, init: Value, value: Value) -> Value:
        self.here()
        return Value(self._combined(carry, init.text, value.text, 1), 1, self.scope.depth)

    def _combined(self, carry: Carry, a: str, b: str, lanes: int) -> str:
        dtype = carry.var.dtype
        return RULES[str(carry.combine), kind(dtype)](self, dtype, lanes, a, b)

    # --- while ---

    def repeat(self, stmt: While) -> None:
        """Writes a `While` and binds its results."""
        inits = [self.value(c.init) for c in stmt.carries]
        writes = self.writes(stmt)
        self.memory.kill(writes)
        head, body, exit_label = self.name("while"), self.name("body"), self.name("exit")
        names = [f"%{self.name('c')}" for _ in inits]
        lanes = [self._carry_lanes(c, v) for c, v in zip(stmt.carries, inits, strict=True)]
        polled = self.open_counter(stmt)
        outer = self.enter("loop", Code(head), writes, True)
        for c, name, width in zip(stmt.carries, names, lanes, strict=True):
            self.bind(c.var, name, width)
        self.block(stmt.cond_body)
        again = self._some_lane(self.value(stmt.cond))
        inner = self.enter("branch", Code(body), writes, False)
        self.block(stmt.body)
        nexts = [self._in_body(c, width) for c, width in zip(stmt.carries, lanes, strict=True)]
        self.ask(polled)
        self.leave()
        self.here()
        self.line(f"br i1 {again}, label %{body}, label %{exit_label}")
        self.leave()
        first = [self.fit(v, c.var, width) for c, v, width in zip(stmt.carries, inits, lanes, strict=True)]
        self.line(f"br label %{head}")
        lines, before, latch = self.scope.code.lines, self.scope.code.block, inner.code.block
        types = [value_type(c.var.dtype, width) for c, width in zip(stmt.carries, lanes, strict=True)]
        lines += [f"{head}:", *self.phi(polled, before, latch)]
        lines += [f"  {name} = phi {ty} [ {init}, %{before} ], [ {last}, %{latch} ]"
                  for name, ty, init, last in zip(names, types, first, nexts, strict=True)]
        lines += [*outer.code.lines, f"{body}:", *inner.code.lines, f"  br label %{head}"]
        self.label(exit_label)
        for c, name, width in zip(stmt.carries, names, lanes, strict=True):
            self.bind(c.out, name, width)

    def _in_body(self, carry: Carry, lanes: int) -> str:
        value = self.value(carry.next)
        self.here()
        return self.fit(value, carry.next, lanes)

    def _some_lane(self, cond: Value) -> str:
        """Whether a condition holds in some lane that counts."""
        self.here()
        if cond.lanes > 1 and self.mask is not None:
            cond = Value(self.put(f"and {wide('i1', cond.lanes)} {cond.text}, {self.mask.text}"), cond.lanes)
        return self.any_lane(cond)


def _order(start: int, count: int) -> str:
    return ", ".join(f"i32 {lane}" for lane in range(start, start + count))
