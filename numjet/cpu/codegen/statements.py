"""Statements: the dispatch table, and those that no other module writes: lets, copies, fills, calls, checks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.cpu.codegen.branches import BranchEmitter
from numjet.cpu.codegen.function import BlockEmitter, FunctionEmitter
from numjet.cpu.codegen.gemm_epilogues import epilogue
from numjet.cpu.codegen.interleaved import LARGEST_GROUP
from numjet.cpu.codegen.loops import LoopEmitter
from numjet.cpu.codegen.parallel import OutlinedLoops
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.stores import StoreEmitter
from numjet.cpu.codegen.types import memory_type
from numjet.cpu.ir import nodes as ir
from numjet.cpu.ir.nodes import BOOL, INT64, KERNEL_STATUS, Buffer, Expr
from numjet.cpu.ir.types import kind

INLINE_COPY = 64   # bytes that are moved through registers
_EXTENSION = {"b": " zeroext", "u": " zeroext", "i": " signext"}


def block_emitter(emitter: FunctionEmitter) -> BlockEmitter:
    """What writes the statements of a block."""
    return StatementEmitter(emitter).block


class StatementEmitter:
    """Writes statements."""

    def __init__(self, emitter: FunctionEmitter):
        self.emitter = emitter
        self.writer, self.context, self.value = emitter.writer, emitter.context, emitter.value
        self.addresses = emitter.addresses
        self._stores, self._loops, self._outlined = StoreEmitter(self.addresses), LoopEmitter(emitter), OutlinedLoops(emitter)
        branches = BranchEmitter(emitter)
        self._by_type: dict[type, Callable[[Any], None]] = {
            ir.Let: self._let, ir.Store: self._stores.store, ir.SwapBuffers: self.addresses.swap, ir.Comment: self._comment,
            ir.For: self._for, ir.While: self._loops.while_loop, ir.If: branches.if_, ir.Switch: branches.switch,
            ir.Copy: self._copy, ir.Fill: self._fill,
            ir.Call: self._call, ir.GemmWithEpilogue: self._gemm_with_epilogue, ir.Check: self._check}

    def block(self, stmts: list[ir.Stmt]) -> None:
        """Writes the statements of a block."""
        done = 0
        while done < len(stmts):
            grouped = self._stores.store_group(stmts[done:done + LARGEST_GROUP])
            if not grouped:
                self._by_type[type(stmts[done])](stmts[done])
            done += grouped or 1
            self.writer.split_long_block()

    def _let(self, stmt: ir.Let) -> None:
        value, ranges = self.value(stmt.value), self.context.ranges
        self.context.affine.define(stmt.var, stmt.value)
        if kind(stmt.var.dtype) in "iub":
            ranges.bind(stmt.var, *ranges.of(stmt.value))
        bound = Value(value.text, value.lanes, value.depth, literal=value.literal)
        self.writer.values.define(stmt.var.id, bound, self.writer.scope)

    def _for(self, stmt: ir.For) -> None:
        if not self._outlined.loop(stmt):
            self._loops.for_loop(stmt)

    def _comment(self, stmt: ir.Comment) -> None:
        where = f" {stmt.file}:{stmt.line}" if stmt.file else ""
        self.writer.here()
        self.writer.line("; " + " ".join(f"{stmt.text}{where}".split()))

    # --- whole blocks of memory ---

    def _bytes(self, buffer: Buffer, count: Expr) -> str:
        value, w = self.value(count), self.writer
        w.here()
        size = buffer.dtype.itemsize
        if value.literal:
            return str(max(0, int(value.text)) * size)
        bounded = w.intrinsic("smax.i64", "i64", ("i64", value.text), ("i64", "0"))
        return bounded if size == 1 else w.put(f"mul i64 {bounded}, {size}")

    def _pointer(self, buffer: Buffer, index: Expr) -> str:
        self.addresses.evaluate_terms(index)
        return self.addresses.element(buffer, index).text

    def _copy(self, stmt: ir.Copy) -> None:
        w, count = self.writer, self._bytes(stmt.target, stmt.count)
        target, source = self._pointer(stmt.target, stmt.target_start), self._pointer(stmt.source, stmt.source_start)
        name = "llvm.memmove.p0.p0.i64"
        w.declare(name, "void", ["ptr", "ptr", "i64", "i1"])
        w.here()
        small = count.isdigit() and int(count) <= INLINE_COPY
        # A donated input may be the output already.
        if not small and (stmt.source.kind, stmt.target.kind) == ("input", "output"):
            same = w.put(f"icmp eq ptr {target}, {source}")
            count = w.put(f"select i1 {same}, i64 0, i64 {count}")
        w.line(f"call void @{name}(ptr {target}, ptr {source}, i64 {count}, i1 false)")
        w.values.invalidate([stmt.target])

    def _fill(self, stmt: ir.Fill) -> None:
        value, w = self.value(stmt.value), self.writer
        if not value.literal or value.text not in ("0", "false", "0x0000000000000000"):
            self._fill_by_loop(stmt)
            return
        count, target = self._bytes(stmt.target, stmt.count), self._pointer(stmt.target, stmt.start)
        name = "llvm.memset.p0.i64"
        w.declare(name, "void", ["ptr", "i8", "i64", "i1"])
        w.here()
        w.line(f"call void @{name}(ptr {target}, i8 0, i64 {count}, i1 false)")
        w.values.invalidate([stmt.target])

    def _fill_by_loop(self, stmt: ir.Fill) -> None:
        """The value and the start are those from before the loop, even if they are read from what it fills."""
        exprs = self.emitter.module.exprs
        var, value, start = exprs.var(INT64, "fill"), exprs.var(stmt.value.dtype, "value"), exprs.var(INT64, "start")
        body: list[ir.Stmt] = [ir.Store(stmt.target, exprs.prim("add", start, var), value)]
        loop = ir.For(var, exprs.index(0), stmt.count, body, mode="vector")
        self.block([ir.Let(value, stmt.value), ir.Let(start, stmt.start), loop])

    # --- calls and checks ---

    def _arguments(self, stmt: ir.Call) -> tuple[list[str], list[str]]:
        """The types of a kernel's arguments, and types with values."""
        types, texts = [], []
        for arg in stmt.args:
            if isinstance(arg, tuple):
                types.append("ptr")
                texts.append("ptr null" if arg[0].kind == "tile" else f"ptr {self._pointer(*arg)}")
            else:
                full = memory_type(arg.dtype) + _EXTENSION.get(kind(arg.dtype), "") * (arg.dtype.itemsize < 4)
                types.append(full)
                texts.append(f"{full} {self._by_value(arg)}")
        return types, texts

    def _by_value(self, arg: Expr) -> str:
        value = self.value(arg)
        if arg.dtype != BOOL:
            return value.text
        self.writer.here()
        return self.writer.put(f"zext i1 {value.text} to i8")

    def _gemm_with_epilogue(self, stmt: ir.GemmWithEpilogue) -> None:
        w, (types, texts) = self.writer, self._arguments(stmt)
        name, context = epilogue(self.emitter, stmt)
        w.declare(stmt.symbol, "void", [*types, "i64", "ptr", "ptr"])
        w.here()
        w.line(f'call void @{stmt.symbol}({", ".join(texts)}, i64 {int(stmt.whole)}, ptr @"{name}", ptr {context})')
        w.values.invalidate(w.writes(stmt))

    def _call(self, stmt: ir.Call) -> None:
        w, (types, texts) = self.writer, self._arguments(stmt)
        result = "i64" if stmt.checked else "void"
        w.declare(stmt.symbol, result, types)
        w.here()
        call = f"call {result} @{stmt.symbol}({', '.join(texts)})"
        if stmt.checked:
            status = w.put(call)
            code = f"%{w.name()}"
            exit_lines = [f"{code} = or i64 {status}, {KERNEL_STATUS}", f"ret i64 {code}"]
            self._leave_unless(w.put(f"icmp eq i64 {status}, 0"), exit_lines)
        else:
            w.line(call)
        w.values.invalidate(stmt.writes)

    def _check(self, stmt: ir.Check) -> None:
        ok = self.value(stmt.ok)
        values = [self.value(v).text for v in stmt.values]
        lines = []
        for k, text in enumerate(values, 1):
            slot = f"%{self.writer.name('info')}"
            lines += [f"{slot} = getelementptr i64, ptr %info, i64 {k}", f"store i64 {text}, ptr {slot}, align 8"]
        self._leave_unless(ok.text, [*lines, f"ret i64 {stmt.code}"])

    def _leave_unless(self, ok: str, lines: list[str]) -> None:
        """Continues in a new block if `ok`, else executes `lines`, which return."""
        w = self.writer
        go_on, fail = w.name("ok"), w.name("fail")
        w.here()
        w.line(f"br i1 {ok}, label %{go_on}, label %{fail}, !prof !1")
        w.exit_block(fail, *lines)
        w.label(go_on)
