"""Addresses, loads and stores: contiguous, reversed, strided by gathers, and masked."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numjet.cpu.codegen.scopes import NO_READS, Scope, Value
from numjet.cpu.codegen.state import State
from numjet.cpu.codegen.types import memory_type, scalar_type, suffix, wide
from numjet.cpu.ir.nodes import BOOL, Buffer, Expr, SwapBuffers
from numjet.cpu.ir.traversal import written

EMBEDDED_BYTES = 4096


def constant_symbol(function_name: str, buffer: Buffer) -> str:
    """The symbol under which a constant too large for the text is found."""
    return f"{function_name}.{buffer.name}"


class MemoryEmitter(State):
    """Writes accesses to buffers."""

    def value(self, expr: Expr) -> Value:
        """The value of an expression, computed at most once per scope."""
        raise NotImplementedError

    # --- addresses ---

    def pointer(self, buffer: Buffer) -> Value:
        """Where a buffer starts: known since the function's entry, or read from its cell, in front of loops in which it
        stays in place."""
        key = ("buffer", buffer)
        found = self.known.get(key)
        if found is not None:
            return found
        if buffer in self.cells:
            assert buffer.cell is not None
            home = self._home(0, buffer.cell, self.function.exprs.index(0))
            value = Value(self.put(f"load ptr, ptr {self.cells[buffer]}, align 8"), 1, home.depth, frozenset([buffer.cell]))
            return self.memory.define(key, value, home)
        root = self.place(0)
        return self.memory.define(key, Value(self._pointer(buffer), 1, root.depth), root)

    def note_places(self, buffers: Sequence[Buffer]) -> None:
        """Makes cells for the addresses of buffers that will change places; at a function's entry."""
        for buffer in buffers:
            text, cell = self.pointer(buffer).text, f"%{self.name('cell')}"
            del self.known["buffer", buffer]
            self.cells[buffer] = cell
            self.allocas.append(f"  {cell} = alloca ptr, align 8")
            self.line(f"store ptr {text}, ptr {cell}, align 8")

    def swap(self, stmt: SwapBuffers) -> None:
        """Notes for each buffer the address that another one had."""
        pairs = [(b, self.pointer(source).text) for b, source in zip(stmt.targets, stmt.sources, strict=True)]
        self.here()
        for buffer, text in pairs:
            self.line(f"store ptr {text}, ptr {self.cells[buffer]}, align 8")
        self.memory.kill(written([stmt]))

    def _pointer(self, buffer: Buffer) -> str:
        if buffer.kind == "temp":
            if buffer.offset is None:
                raise ValueError(f"{buffer!r} has no place in the scratch arena: run the memory plan before codegen")
            return self.put(f"getelementptr i8, ptr %scratch, i64 {buffer.offset}")
        if buffer.kind == "const":
            return self._constant_data(buffer)
        table = "%ins" if buffer.kind == "input" else "%outs"
        slot = self.put(f"getelementptr ptr, ptr {table}, i64 {self.positions[buffer]}")
        return self.put(f"load ptr, ptr {slot}, align 8")

    def _constant_data(self, buffer: Buffer) -> str:
        name = constant_symbol(self.function.name, buffer)
        if buffer.nbytes > EMBEDDED_BYTES:
            self.globals[name] = f'@"{name}" = external global i8'
        else:
            data = "".join(f"\\{byte:02X}" for byte in np.asarray(buffer.data).tobytes())
            kind = "private unnamed_addr constant"
            self.globals[name] = f'@"{name}" = {kind} [{buffer.nbytes} x i8] c"{data}", align 64'
        return f'@"{name}"'

    def address(self, buffer: Buffer, index: Expr) -> Value:
        """A pointer to the element at `index` (in lane 0). Each part of the sum is added in the outermost scope
        where it is known, so that inner loops are left with one addition, which the CPU does while loading."""
        total = self.sums.split(index)
        constant, reads, floor = total.constant, NO_READS, 0
        groups: dict[int, list[tuple[str, int]]] = {}
        for term, coefficient in total.terms:
            value = self.first_lane(term)
            if value.literal:
                constant += coefficient * int(value.text)
                floor = max(floor, value.depth)
            else:
                groups.setdefault(value.depth, []).append((value.text, coefficient))
                reads = reads | value.reads if value.reads else reads
        result = self.pointer(buffer)
        element = memory_type(buffer.dtype)
        for depth in sorted(groups):
            result = self._advance(result, element, self._sum(groups[depth], depth), max(depth, result.depth), reads)
        if constant:
            result = self._advance(result, element, str(constant), result.depth, reads)
        # A variable that is a number for now must keep what depends on it in its own scope.
        return result if floor <= result.depth else Value(result.text, 1, floor, reads)

    def first_lane(self, term: Expr) -> Value:
        """The scalar that a term of an index is in lane 0."""
        if self.lane is not None and term is self.lane.var:
            return self.lane.first
        return self.known[term.id] if term.id in self.known else self.value(term)

    def _sum(self, parts: list[tuple[str, int]], depth: int) -> str:
        key = ("sum", *parts)
        found = self.known.get(key)
        if found is not None:
            return found.text
        home = self.place(depth)
        texts = [text if factor == 1 else self.put(f"mul i64 {text}, {factor}") for text, factor in parts]
        text = texts[0]
        for other in texts[1:]:
            text = self.put(f"add i64 {text}, {other}")
        return self.memory.define(key, Value(text, 1, home.depth), home).text

    def _advance(self, base: Value, element: str, amount: str, depth: int, reads: frozenset[Buffer]) -> Value:
        key = ("advance", base.text, element, amount)
        found = self.known.get(key)
        if found is not None:
            return found
        home = self.place(depth)
        text = self.put(f"getelementptr {element}, ptr {base.text}, i64 {amount}")
        return self.memory.define(key, Value(text, 1, home.depth, reads), home)

    # --- how an index moves with the lane ---

    def stride(self, index: Expr) -> int | None:
        """By how much an index grows from lane to lane; None when it does so unevenly."""
        if self.lane is None:
            return 0
        step = 0
        for term, coefficient in self.sums.split(index).terms:
            if term is self.lane.var:
                step = coefficient
            elif self.known[term.id].lanes > 1:
                return None
        return step

    # --- loads ---

    def load(self, expr: Expr) -> Value:
        """The value of a load, in the outermost scope where memory is sure to be the same."""
        buffer, index = expr.attr, expr.args[0]
        guard = self.known[expr.args[1].id] if len(expr.args) > 1 else None
        step = self.stride(index)
        if guard is not None and guard.text == "true":
            guard = None
        if step != 0:
            value = self._load_lanes(buffer, index, step, guard)
        elif guard is None or guard.lanes == 1:
            value = self._load_scalar(buffer, index, guard)
        else:
            value = self._load_one_guarded(buffer, index, guard)
        return self.memory.define(expr.id, value, self.out)

    def _load_lanes(self, buffer: Buffer, index: Expr, step: int | None, guard: Value | None) -> Value:
        mask = self._both(guard, self.mask)
        if step == 1 or step == -1:
            return self._load_run(buffer, index, step, mask, guard is not None)
        strided = None if step is None or guard else self.load_strided(buffer, index, step)
        return strided or self._gather(buffer, index, mask, guard is not None)

    def _both(self, guard: Value | None, mask: Value | None) -> Value | None:
        """The lanes that a guard and the mask leave."""
        if guard is None:
            return mask
        lanes, depth = self.width, max(guard.depth, mask.depth if mask else 0)
        key = ("both", guard.text, lanes, mask.text if mask else None)
        found = self.known.get(key)
        if found is not None:
            return found
        home = self.place(depth)
        text = guard.text if guard.lanes == lanes else self.splat(guard, "i1", lanes)
        if mask is not None:
            text = self.put(f"and {wide('i1', lanes)} {text}, {mask.text}")
        return self.memory.define(key, Value(text, lanes, home.depth, guard.reads), home)

    def _load_one_guarded(self, buffer: Buffer, index: Expr, guard: Value) -> Value:
        """One element for the lanes that want it, read if there is such a lane."""
        lanes, mask = self.width, self._both(guard, self.mask)
        assert mask is not None
        self.place(mask.depth)
        wanted = Value(self.any_lane(mask), 1, self.out.depth, guard.reads)
        single = self._load_scalar(buffer, index, wanted)
        ty = wide(scalar_type(buffer.dtype), lanes)
        text = self.splat(single, scalar_type(buffer.dtype), lanes)
        text = self.put(f"select {wide('i1', lanes)} {mask.text}, {ty} {text}, {ty} zeroinitializer")
        return Value(text, lanes, self.out.depth, single.reads)

    def any_lane(self, cond: Value) -> str:
        """Is the condition true in some lane?"""
        if cond.lanes == 1 or cond.literal:
            return cond.text
        bits = self.put(f"bitcast <{cond.lanes} x i1> {cond.text} to i{cond.lanes}")
        return self.put(f"icmp ne i{cond.lanes} {bits}, 0")

    def load_strided(self, buffer: Buffer, index: Expr, step: int) -> Value | None:
        """The elements at index, index + step, ...; None where a gather is needed."""
        raise NotImplementedError

    def _home(self, depth: int, buffer: Buffer, index: Expr, guarded: bool = False) -> Scope:
        """How far out a load may move: not out of a loop that writes the buffer, and not to where it might not
        have been executed, unless its index is known to be in range, or guarded."""
        scope = self.scope
        if scope.depth <= depth:
            self.out = scope
            return scope
        safe = guarded or self.ranges.within(index, 0, buffer.size - 1)
        while scope.depth > depth and buffer not in scope.written and (scope.certain or safe):
            assert scope.parent is not None
            scope = scope.parent
        self.out = scope
        return scope

    def _reads(self, buffer: Buffer, more: frozenset[Buffer]) -> frozenset[Buffer]:
        return more | {buffer} if buffer in self.mutable else more

    def _load_scalar(self, buffer: Buffer, index: Expr, guard: Value | None) -> Value:
        """One element. With a guard that does not hold, something else that is there is read, and 0 taken."""
        address = self.address(buffer, index)
        depth, reads = address.depth, self._reads(buffer, address.reads)
        if guard is not None:
            depth, reads = max(depth, guard.depth), reads | guard.reads
        home = self._home(depth, buffer, index, guard is not None)
        element, pointer = memory_type(buffer.dtype), address.text
        if guard is not None:
            pointer = self.put(f"select i1 {guard.text}, ptr {pointer}, ptr %info")
        text = self.put(f"load {element}, ptr {pointer}, align {buffer.dtype.itemsize}")
        if guard is not None:
            zero = "0.0" if element in ("float", "double") else "0"
            text = self.put(f"select i1 {guard.text}, {element} {text}, {element} {zero}")
        return Value(self._from_memory(buffer, text, 1), 1, home.depth, reads)

    def _load_run(self, buffer: Buffer, index: Expr, step: int, mask: Value | None, guarded: bool) -> Value:
        """Neighbouring elements, in rising or falling order."""
        lanes = self.width
        address = self._lowest(buffer, self.address(buffer, index), step, lanes)
        mask = self._in_order(mask, step)
        reads = self._reads(buffer, address.reads) | (mask.reads if mask else NO_READS)
        home = self._home(max(address.depth, mask.depth if mask else 0), buffer, index, guarded)
        element, align = memory_type(buffer.dtype), buffer.dtype.itemsize
        ty = wide(element, lanes)
        if mask is None:
            text = self.put(f"load {ty}, ptr {address.text}, align {align}")
        else:
            text = self.intrinsic(f"masked.load.{suffix(element, lanes)}.p0", ty, (f"ptr align {align}", address.text),
                                  (wide("i1", lanes), mask.text), (ty, "zeroinitializer"))
        if step < 0:
            text = self.reverse(text, element, lanes)
        return Value(self._from_memory(buffer, text, lanes), lanes, home.depth, reads)

    def _lowest(self, buffer: Buffer, address: Value, step: int, lanes: int) -> Value:
        """Where a run starts in memory: at its last lane when it falls."""
        if step > 0:
            return address
        return self._advance(address, memory_type(buffer.dtype), str(1 - lanes), address.depth, address.reads)

    def _in_order(self, mask: Value | None, step: int) -> Value | None:
        """A mask in the order of memory."""
        if mask is None or step > 0:
            return mask
        self.place(mask.depth)
        return Value(self.reverse(mask.text, "i1", mask.lanes), mask.lanes, self.out.depth, mask.reads)

    def reverse(self, text: str, element: str, lanes: int) -> str:
        """The lanes in opposite order."""
        order = ", ".join(f"i32 {lane}" for lane in range(lanes - 1, -1, -1))
        ty = wide(element, lanes)
        return self.put(f"shufflevector {ty} {text}, {ty} poison, <{lanes} x i32> <{order}>")

    def _gather(self, buffer: Buffer, index: Expr, mask: Value | None, guarded: bool) -> Value:
        lanes = self.width
        pointers = self._pointers(buffer, index, lanes)
        reads = self._reads(buffer, pointers.reads) | (mask.reads if mask else NO_READS)
        home = self._home(max(pointers.depth, mask.depth if mask else 0), buffer, index, guarded)
        element = memory_type(buffer.dtype)
        ty = wide(element, lanes)
        chosen = mask.text if mask else "splat (i1 true)"
        text = self.intrinsic(f"masked.gather.{suffix(element, lanes)}.{suffix('p0', lanes)}", ty,
                              (f"<{lanes} x ptr> align {buffer.dtype.itemsize}", pointers.text),
                              (wide("i1", lanes), chosen), (ty, "zeroinitializer"))
        return Value(self._from_memory(buffer, text, lanes), lanes, home.depth, reads)

    def _pointers(self, buffer: Buffer, index: Expr, lanes: int) -> Value:
        base, offsets = self.pointer(buffer), self.value(index)
        home = self.place(max(base.depth, offsets.depth))
        text = self.put(f"getelementptr {memory_type(buffer.dtype)}, ptr {base.text}, <{lanes} x i64> {offsets.text}")
        return Value(text, lanes, home.depth, offsets.reads)

    def _from_memory(self, buffer: Buffer, text: str, lanes: int) -> str:
        if buffer.dtype != BOOL:
            return text
        zero = "0" if lanes == 1 else "zeroinitializer"
        return self.put(f"icmp ne {wide('i8', lanes)} {text}, {zero}")

    # --- stores ---

    def store(self, buffer: Buffer, index: Expr, expr: Expr) -> None:
        """Writes a value now; afterwards it is known as the load of that place."""
        value = self.value(expr)
        step = self.index_stride(index)
        if step == 0:
            self._store_scalar(buffer, index, value)
        elif step == 1 or step == -1:
            self._store_run(buffer, index, expr, value, step)
        else:
            self._scatter(buffer, index, expr, value)
        self.memory.kill([buffer])
        if self.mask is None:
            forwarded = Value(value.text, value.lanes, self.scope.depth, frozenset([buffer]), value.literal)
            self.memory.define(self.function.exprs.load(buffer, index).id, forwarded, self.scope)

    def index_stride(self, index: Expr) -> int | None:
        """`stride`, after evaluating the terms of the index."""
        for term, _ in self.sums.split(index).terms:
            if self.lane is None or term is not self.lane.var:
                self.value(term)
        return self.stride(index)

    def _store_scalar(self, buffer: Buffer, index: Expr, value: Value) -> None:
        if value.lanes > 1 or self.mask is not None:
            raise ValueError(f"the lanes of a vector loop all store to {buffer!r}[{index!r}]: they are not independent")
        address = self.address(buffer, index)
        self.here()
        text = self._to_memory(buffer, value.text, 1)
        self.line(f"store {memory_type(buffer.dtype)} {text}, ptr {address.text}, align {buffer.dtype.itemsize}")

    def _store_run(self, buffer: Buffer, index: Expr, expr: Expr, value: Value, step: int) -> None:
        lanes = self.width
        address = self._lowest(buffer, self.address(buffer, index), step, lanes)
        mask = self._in_order(self.mask, step)
        self.here()
        text = self._to_memory(buffer, self.fit(value, expr, lanes), lanes)
        element, align = memory_type(buffer.dtype), buffer.dtype.itemsize
        if step < 0:
            text = self.reverse(text, element, lanes)
        ty = wide(element, lanes)
        if mask is None:
            self.line(f"store {ty} {text}, ptr {address.text}, align {align}")
            return
        name = f"llvm.masked.store.{suffix(element, lanes)}.p0"
        self.declare(name, "void", [ty, "ptr", wide("i1", lanes)])
        chosen = self.opaque(mask.text, lanes, buffer.dtype)
        self.line(f"call void @{name}({ty} {text}, ptr align {align} {address.text}, {wide('i1', lanes)} {chosen})")

    def opaque(self, mask: str, lanes: int, dtype: np.dtype) -> str:
        """A mask of a store that LLVM does not know, where it might be a constant.

        LLVM 22 stores a truncated vector under a constant mask that leaves one lane as one wide number: it writes behind it.
        """
        if dtype.itemsize == 8 or self.lane is None or not self.lane.first.literal:
            return mask
        bits = wide("i1", lanes)
        true = self.splat(Value(self.put("icmp ne ptr %info, null"), 1, self.out.depth), "i1", lanes)
        return self.put(f"and {bits} {mask}, {true}")

    def _scatter(self, buffer: Buffer, index: Expr, expr: Expr, value: Value) -> None:
        lanes = self.width
        pointers = self._pointers(buffer, index, lanes)
        self.here()
        text = self._to_memory(buffer, self.fit(value, expr, lanes), lanes)
        element = memory_type(buffer.dtype)
        ty, many = wide(element, lanes), f"<{lanes} x ptr>"
        chosen = self.mask.text if self.mask else "splat (i1 true)"
        name = f"llvm.masked.scatter.{suffix(element, lanes)}.{suffix('p0', lanes)}"
        self.declare(name, "void", [ty, many, wide("i1", lanes)])
        self.line(f"call void @{name}({ty} {text}, {many} align {buffer.dtype.itemsize} {pointers.text}, "
                  f"{wide('i1', lanes)} {chosen})")

    def _to_memory(self, buffer: Buffer, text: str, lanes: int) -> str:
        if buffer.dtype != BOOL:
            return text
        return self.put(f"zext {wide('i1', lanes)} {text} to {wide('i8', lanes)}")
