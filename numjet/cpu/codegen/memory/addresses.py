"""Address computation: base pointers of buffers, sums of index terms, and how far out of loops a load may be hoisted."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from numjet.cpu.codegen.loop_context import LoopContext
from numjet.cpu.codegen.scopes import NO_READS, Scope, Value
from numjet.cpu.codegen.types import memory_type
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Buffer, Expr, SwapBuffers
from numjet.cpu.ir.traversal import written

EMBEDDED_BYTES = 4096


def constant_symbol(function_name: str, buffer: Buffer) -> str:
    """The symbol of a constant that is too large for the text."""
    return f"{function_name}.{buffer.name}"


class StridedLoad(NamedTuple):
    """The elements at `start`, `start + step`, ... (step None: `start` varies from lane to lane) in the lanes of `mask`.

    guarded: the index may be out of range in other lanes. uniform: the guard, if it is the same for all lanes.
    """

    buffer: Buffer
    start: Expr
    step: int | None
    mask: Value | None
    guarded: bool
    uniform: Value | None = None


class Addresses:
    """Writes pointers; the state that expressions, loads and stores share. `evaluate` writes an expression.

    Buffers that a `SwapBuffers` names have a cell, a variable on the stack that holds their present address.
    """

    def __init__(self, writer: FunctionWriter, evaluate: Callable[[Addresses, Expr], Value]):
        self.writer, self.context, self._evaluate = writer, LoopContext(writer), evaluate
        self._cells: dict[Buffer, str] = {}

    def value(self, expr: Expr) -> Value:
        """The value of an expression, computed at most once per scope."""
        found = self.writer.known.get(expr.id)
        return found if found is not None else self._evaluate(self, expr)

    # --- where buffers start ---

    def base(self, buffer: Buffer) -> Value:
        """Where a buffer starts: known since the function's entry, or read from its cell, in front of loops in which it
        stays in place."""
        w, key = self.writer, ("buffer", buffer)
        found = w.known.get(key)
        if found is not None:
            return found
        if buffer in self._cells:
            assert buffer.cell is not None
            self.hoist_load(0, buffer.cell, w.module.exprs.index(0))
            return w.define(key, w.put(f"load ptr, ptr {self._cells[buffer]}, align 8"), 1, frozenset([buffer.cell]))
        w.hoist(0)
        return w.define(key, self._base_text(buffer))

    def bind_base(self, buffer: Buffer, text: str) -> None:
        """Makes the start of a buffer known, at a function's entry."""
        self.writer.values.define(("buffer", buffer), Value(text), self.writer.scope)

    def make_cells(self, buffers: Sequence[Buffer]) -> None:
        """Makes cells for buffers that will change places, at a function's entry."""
        for buffer in buffers:
            text = self.base(buffer).text
            cell = self._cells[buffer] = self.writer.alloca("cell", "ptr")
            del self.writer.known["buffer", buffer]
            self.writer.line(f"store ptr {text}, ptr {cell}, align 8")

    def swap(self, stmt: SwapBuffers) -> None:
        """Stores the address of each source in the cell of its target."""
        pairs = [(b, self.base(source).text) for b, source in zip(stmt.targets, stmt.sources, strict=True)]
        self.writer.here()
        for buffer, text in pairs:
            self.writer.line(f"store ptr {text}, ptr {self._cells[buffer]}, align 8")
        self.writer.values.invalidate(written([stmt]))

    def _base_text(self, buffer: Buffer) -> str:
        w = self.writer
        if buffer.kind == "temp":
            if buffer.offset is None:
                raise ValueError(f"{buffer!r} has no place in the scratch arena: run the memory plan before codegen")
            return w.put(f"getelementptr i8, ptr %scratch, i64 {buffer.offset}")
        if buffer.kind == "const":
            return self._constant_data(buffer)
        table = "%ins" if buffer.kind == "input" else "%outs"
        slot = w.put(f"getelementptr ptr, ptr {table}, i64 {w.module.table_slots[buffer]}")
        return w.put(f"load ptr, ptr {slot}, align 8")

    def _constant_data(self, buffer: Buffer) -> str:
        module = self.writer.module
        name = constant_symbol(module.function.name, buffer)
        if buffer.nbytes > EMBEDDED_BYTES:
            module.globals[name] = f'@"{name}" = external global i8'
        else:
            data = "".join(f"\\{byte:02X}" for byte in np.asarray(buffer.data).tobytes())
            kind = "private unnamed_addr constant"
            module.globals[name] = f'@"{name}" = {kind} [{buffer.nbytes} x i8] c"{data}", align 64'
        return f'@"{name}"'

    # --- elements ---

    def evaluate_terms(self, index: Expr) -> None:
        """Makes the terms of an index known, which `element`, `elements` and `LoopContext.stride` take for granted."""
        for term in self.context.invariant_terms(index):
            self.value(term)

    def element(self, buffer: Buffer, index: Expr) -> Value:
        """A pointer to the element at `index` (in lane 0). Each part of the sum is added in the outermost scope
        where it is known, so that inner loops are left with one addition, which the CPU does while loading."""
        total = self.context.affine.split(index)
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
        result = self.base(buffer)
        for depth in sorted(groups):
            amount = self.sum(groups[depth], depth)
            result = self._advance(result, buffer, amount, max(depth, result.depth), reads)
        if constant:
            result = self._advance(result, buffer, str(constant), result.depth, reads)
        # The variable of an unrolled loop is a literal, but what depends on it must stay in its scope.
        return result if floor <= result.depth else Value(result.text, 1, floor, reads)

    def run(self, buffer: Buffer, index: Expr, step: int) -> Value:
        """A pointer to the lowest of the elements of all lanes, which are consecutive (`step` is 1 or -1)."""
        address = self.element(buffer, index)
        return address if step > 0 else self.advance(address, buffer, 1 - self.context.lanes)

    def run_key(self, buffer: Buffer, address: Value, step: int, mask: Value | None) -> Hashable:
        """Names the elements from a pointer on that a vector loop writes or reads, in the lanes of `mask`."""
        return "run", address.text, memory_type(buffer.dtype), self.context.lanes, step, mask.text if mask is not None else None

    def elements(self, buffer: Buffer, index: Expr) -> Value:
        """A vector of pointers to the elements of all lanes."""
        base, offsets = self.base(buffer), self.value(index)
        scope, lanes = self.writer.hoist(max(base.depth, offsets.depth)), self.context.lanes
        text = self.writer.put(f"getelementptr {memory_type(buffer.dtype)}, ptr {base.text}, <{lanes} x i64> {offsets.text}")
        return Value(text, lanes, scope.depth, offsets.reads)

    def first_lane(self, term: Expr) -> Value:
        """The scalar value of a term of an index in lane 0."""
        vector = self.context.vector
        if vector is not None and term is vector.var:
            return vector.first
        known = self.writer.known
        return known[term.id] if term.id in known else self.value(term)

    def sum(self, parts: list[tuple[str, int]], depth: int) -> str:
        """The sum of scalars with coefficients."""
        w, key = self.writer, ("sum", *parts)
        found = w.known.get(key)
        if found is not None:
            return found.text
        w.hoist(depth)
        texts = [text if factor == 1 else w.put(f"mul i64 {text}, {factor}") for text, factor in parts]
        text = texts[0]
        for other in texts[1:]:
            text = w.put(f"add i64 {text}, {other}")
        return w.define(key, text).text

    def advance(self, address: Value, buffer: Buffer, amount: int) -> Value:
        """The pointer `amount` elements further on."""
        return self._advance(address, buffer, str(amount), address.depth, address.reads)

    def _advance(self, address: Value, buffer: Buffer, amount: str, depth: int, reads: frozenset[Buffer]) -> Value:
        w, element = self.writer, memory_type(buffer.dtype)
        key = ("advance", address.text, element, amount)
        found = w.known.get(key)
        if found is not None:
            return found
        w.hoist(depth)
        return w.define(key, w.put(f"getelementptr {element}, ptr {address.text}, i64 {amount}"), 1, reads)

    # --- hoisting of loads ---

    def hoist_load(self, depth: int, buffer: Buffer, index: Expr, guarded: bool = False) -> Scope:
        """Points the writer to the outermost scope for a load: not out of a loop that writes the buffer, and not to a place
        where it might not have been executed, unless its index is known to be in range, or guarded."""
        w = self.writer
        scope = w.scope
        if scope.depth > depth:
            safe = guarded or self.context.ranges.within(index, 0, buffer.certain - 1)
            while scope.depth > depth and buffer not in scope.written and (scope.certain or safe):
                assert scope.parent is not None
                scope = scope.parent
        w.insertion = scope
        return scope

    def hoist_masked_load(self, buffer: Buffer, index: Expr, address: Value, mask: Value | None,
                          guarded: bool) -> frozenset[Buffer]:
        """Points the writer to the outermost scope for a load with a mask; returns what the load has read."""
        self.hoist_load(max(address.depth, mask.depth) if mask else address.depth, buffer, index, guarded)
        reads = self.reads(buffer, address.reads)
        return reads | mask.reads if mask else reads

    def reads(self, buffer: Buffer, more: frozenset[Buffer]) -> frozenset[Buffer]:
        """What a load has read: its buffer, if that may change, and what its operands have read."""
        return more | {buffer} if buffer in self.writer.mutable else more
