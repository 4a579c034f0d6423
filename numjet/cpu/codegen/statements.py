"""Statements other than loops: lets, stores, branches, copies, calls, checks."""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu.codegen.gemm_epilogues import TilesEmitter
from numjet.cpu.codegen.interleaved import LARGEST_GROUP
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.types import memory_type, value_type, wide
from numjet.cpu.ir.nodes import (
    BOOL,
    INT64,
    KERNEL_STATUS,
    Buffer,
    Call,
    Check,
    Comment,
    Copy,
    Expr,
    Fill,
    For,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.types import kind

INLINE_COPY = 64   # bytes that are moved through registers
_EXTENSION = {"b": " zeroext", "u": " zeroext", "i": " signext"}


class StmtEmitter(TilesEmitter):
    """Writes statements."""

    def block(self, stmts: list[Stmt]) -> None:
        """Writes the statements of a block."""
        done = 0
        while done < len(stmts):
            together = self.store_group(stmts[done:done + LARGEST_GROUP])
            if not together:
                _STATEMENTS[type(stmts[done])](self, stmts[done])
            done += together or 1
            self.split_long_block()

    def _let(self, stmt: Let) -> None:
        value = self.value(stmt.value)
        self.sums.define(stmt.var, stmt.value)
        if kind(stmt.var.dtype) in "iub":
            self.ranges.bind(stmt.var, *self.ranges.of(stmt.value))
        bound = Value(value.text, value.lanes, value.depth, literal=value.literal)
        self.memory.define(stmt.var.id, bound, self.scope)

    def _store(self, stmt: Store) -> None:
        self.store(stmt.buffer, stmt.index, stmt.value)

    def _comment(self, stmt: Comment) -> None:
        where = f" {stmt.file}:{stmt.line}" if stmt.file else ""
        self.here()
        self.line("; " + " ".join(f"{stmt.text}{where}".split()))

    # --- branches ---

    def _if(self, stmt: If) -> None:
        cond = self.value(stmt.cond)
        if cond.lanes > 1:
            self._if_by_lane(stmt, cond)
            return
        labels = [self.name("then"), self.name("else")]
        join = self.name("join")
        ends = [self._branch(block, label, [result[1 + which] for result in stmt.results])
                for which, (block, label) in enumerate(zip((stmt.then, stmt.orelse), labels, strict=True))]
        self.here()
        self.line(f"br i1 {cond.text}, label %{labels[0]}, label %{labels[1]}")
        self._join([out for out, _, _ in stmt.results], labels, ends, join)
        self.memory.kill(self.writes(stmt))  # what one branch has read in front of them, another one may have written

    def _switch(self, stmt: Switch) -> None:
        index = self.value(stmt.index)
        labels = [self.name("case") for _ in stmt.branches]
        join = self.name("join")
        ends = [self._branch(block, label, [values[which] for _, values in stmt.results])
                for which, (block, label) in enumerate(zip(stmt.branches, labels, strict=True))]
        self.here()
        cases = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(labels[1:], 1))
        self.line(f"switch i64 {index.text}, label %{labels[0]} [ {cases} ]")
        self._join([out for out, _ in stmt.results], labels, ends, join)
        self.memory.kill(self.writes(stmt))

    def _branch(self, block: list[Stmt], label: str, results: list[Expr]) -> tuple[Code, list[Value]]:
        writes = {buffer for stmt in block for buffer in self.writes(stmt)}
        scope = self.enter("branch", Code(label), writes, False)
        self.block(block)
        values = [self.value(e) for e in results]
        self.leave()
        return scope.code, values

    def _join(self, outs: list[Expr], labels: list[str], ends: list[tuple[Code, list[Value]]], join: str) -> None:
        """Ends branches and binds what they result in."""
        lines = self.scope.code.lines
        widths = [max(values[k].lanes for _, values in ends) for k in range(len(outs))]
        texts: list[list[str]] = []
        for label, (code, values) in zip(labels, ends, strict=True):
            lines.append(f"{label}:")
            lines += code.lines
            texts.append([self._fit_in_line(v, out, width) for v, out, width in zip(values, outs, widths, strict=True)])
            lines.append(f"  br label %{join}")
        self.here()
        self.label(join)
        for k, (out, width) in enumerate(zip(outs, widths, strict=True)):
            pairs = ", ".join(f"[ {text[k]}, %{code.block} ]" for text, (code, _) in zip(texts, ends, strict=True))
            self.bind(out, self.put(f"phi {value_type(out.dtype, width)} {pairs}"), width)

    def _fit_in_line(self, value: Value, expr: Expr, lanes: int) -> str:
        """As `fit`, but forgets the splat, which other branches do not see."""
        self.here()
        text = self.fit(value, expr, lanes)
        self.known.pop(("splat", value.text, lanes), None)
        return text

    def _if_by_lane(self, stmt: If, cond: Value) -> None:
        """Computes both branches, with loads and stores masked, and selects by lane."""
        self.here()
        ones = "splat (i1 true)"
        opposite = self.put(f"xor {wide('i1', cond.lanes)} {cond.text}, {ones}")
        outer, pairs = self.mask, []
        for which, (block, chosen) in enumerate(((stmt.then, cond.text), (stmt.orelse, opposite))):
            self.enter("inline", self.scope.code, self.writes(stmt), False)
            if outer is not None:
                chosen = self.put(f"and {wide('i1', cond.lanes)} {outer.text}, {chosen}")
            self.mask = Value(chosen, cond.lanes, self.scope.depth)
            self.block(block)
            pairs.append([self.value(result[1 + which]) for result in stmt.results])
            self.leave()
        self.mask = outer
        for (out, _, _), yes, no in zip(stmt.results, *pairs, strict=True):
            self.here()
            ty = value_type(out.dtype, cond.lanes)
            text = self.put(f"select {wide('i1', cond.lanes)} {cond.text}, {ty} {self.fit(yes, out, cond.lanes)}, "
                            f"{ty} {self.fit(no, out, cond.lanes)}")
            self.bind(out, text, cond.lanes)

    # --- whole blocks of memory ---

    def _bytes(self, buffer: Buffer, count: Expr) -> str:
        value = self.value(count)
        self.here()
        size = buffer.dtype.itemsize
        if value.literal:
            return str(max(0, int(value.text)) * size)
        bounded = self.intrinsic("smax.i64", "i64", ("i64", value.text), ("i64", "0"))
        return bounded if size == 1 else self.put(f"mul i64 {bounded}, {size}")

    def _place(self, buffer: Buffer, index: Expr) -> str:
        self.index_stride(index)
        return self.address(buffer, index).text

    def _copy_block(self, stmt: Copy) -> None:
        count = self._bytes(stmt.target, stmt.count)
        target, source = self._place(stmt.target, stmt.target_start), self._place(stmt.source, stmt.source_start)
        name = "llvm.memmove.p0.p0.i64"
        self.declare(name, "void", ["ptr", "ptr", "i64", "i1"])
        self.here()
        small = count.isdigit() and int(count) <= INLINE_COPY
        # A donated input may be the output already.
        if not small and (stmt.source.kind, stmt.target.kind) == ("input", "output"):
            same = self.put(f"icmp eq ptr {target}, {source}")
            count = self.put(f"select i1 {same}, i64 0, i64 {count}")
        self.line(f"call void @{name}(ptr {target}, ptr {source}, i64 {count}, i1 false)")
        self.memory.kill([stmt.target])

    def _fill(self, stmt: Fill) -> None:
        value = self.value(stmt.value)
        if not value.literal or value.text not in ("0", "false", "0x0000000000000000"):
            self._fill_by_loop(stmt)
            return
        count, target = self._bytes(stmt.target, stmt.count), self._place(stmt.target, stmt.start)
        name = "llvm.memset.p0.i64"
        self.declare(name, "void", ["ptr", "i8", "i64", "i1"])
        self.here()
        self.line(f"call void @{name}(ptr {target}, i8 0, i64 {count}, i1 false)")
        self.memory.kill([stmt.target])

    def _fill_by_loop(self, stmt: Fill) -> None:
        """The value and the start are those from before the loop, even if they are read from what it fills."""
        exprs = self.function.exprs
        var, value, start = exprs.var(INT64, "fill"), exprs.var(stmt.value.dtype, "value"), exprs.var(INT64, "start")
        body: list[Stmt] = [Store(stmt.target, exprs.prim("add", start, var), value)]
        loop = For(var, exprs.index(0), stmt.count, body, mode="vector")
        self.block([Let(value, stmt.value), Let(start, stmt.start), loop])

    # --- calls and checks ---

    def _arguments(self, stmt: Call) -> tuple[list[str], list[str]]:
        """The types of what a kernel is given, and types with values."""
        types, texts = [], []
        for arg in stmt.args:
            if isinstance(arg, tuple):
                types.append("ptr")
                texts.append("ptr null" if arg[0].kind == "tile" else f"ptr {self._place(*arg)}")
            else:
                full = memory_type(arg.dtype) + _EXTENSION.get(kind(arg.dtype), "") * (arg.dtype.itemsize < 4)
                types.append(full)
                texts.append(f"{full} {self._as_byte(arg)}")
        return types, texts

    def _gemm_with_epilogue(self, stmt: GemmWithEpilogue) -> None:
        types, texts = self._arguments(stmt)
        name, context = self.epilogue(stmt)
        self.declare(stmt.symbol, "void", [*types, "i64", "ptr", "ptr"])
        self.symbols.add(stmt.symbol)
        self.here()
        self.line(f'call void @{stmt.symbol}({", ".join(texts)}, i64 {int(stmt.whole)}, ptr @"{name}", ptr {context})')
        self.memory.kill(self.writes(stmt))

    def _call(self, stmt: Call) -> None:
        types, texts = self._arguments(stmt)
        result = "i64" if stmt.checked else "void"
        self.declare(stmt.symbol, result, types)
        self.symbols.add(stmt.symbol)
        self.here()
        call = f"call {result} @{stmt.symbol}({', '.join(texts)})"
        if stmt.checked:
            status = self.put(call)
            code = f"%{self.name()}"
            leave = [f"  {code} = or i64 {status}, {KERNEL_STATUS}", f"  ret i64 {code}"]
            self._leave_unless(self.put(f"icmp eq i64 {status}, 0"), leave)
        else:
            self.line(call)
        self.memory.kill(stmt.writes)

    def _as_byte(self, arg: Expr) -> str:
        value = self.value(arg)
        if arg.dtype != BOOL:
            return value.text
        self.here()
        return self.put(f"zext i1 {value.text} to i8")

    def _check(self, stmt: Check) -> None:
        ok = self.value(stmt.ok)
        values = [self.value(v).text for v in stmt.values]
        lines = []
        for k, text in enumerate(values, 1):
            slot = f"%{self.name('info')}"
            lines += [f"  {slot} = getelementptr i64, ptr %info, i64 {k}", f"  store i64 {text}, ptr {slot}, align 8"]
        self._leave_unless(ok.text, [*lines, f"  ret i64 {stmt.code}"])

    def _leave_unless(self, ok: str, lines: list[str]) -> None:
        """Continues in a new block if `ok`, else executes `lines`, which return."""
        go_on, fail = self.name("ok"), self.name("fail")
        self.here()
        self.line(f"br i1 {ok}, label %{go_on}, label %{fail}, !prof !1")
        self.failures += [f"{fail}:", *lines]
        self.label(go_on)


_STATEMENTS: dict[type, Callable] = {
    Let: StmtEmitter._let, Store: StmtEmitter._store, For: TilesEmitter.loop, While: TilesEmitter.repeat,
    If: StmtEmitter._if, Switch: StmtEmitter._switch, Copy: StmtEmitter._copy_block, Fill: StmtEmitter._fill,
    SwapBuffers: StmtEmitter.swap, Call: StmtEmitter._call, GemmWithEpilogue: StmtEmitter._gemm_with_epilogue,
    Check: StmtEmitter._check,
    Comment: StmtEmitter._comment,
}
