"""Statements: the dispatch table, and those that no other module writes: lets, copies, fills, calls, checks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.cpu.analysis.neighbours import LARGEST_GROUP
from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.memory.instructions import to_memory
from numjet.cpu.codegen.memory.interleaved import store_group
from numjet.cpu.codegen.memory.stores import store
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.statements.branches import if_, switch
from numjet.cpu.codegen.statements.cancellation import ENTER_PYTHON, INTERRUPTED, LEAVE_PYTHON
from numjet.cpu.codegen.statements.gemm_epilogues import epilogue
from numjet.cpu.codegen.statements.loops import for_loop, while_loop
from numjet.cpu.codegen.statements.parallel import outlined_loop
from numjet.cpu.codegen.statements.segment_calls import segment
from numjet.cpu.codegen.types import memory_type
from numjet.cpu.ir import nodes as ir
from numjet.cpu.ir.nodes import INT64, KERNEL_STATUS, Buffer, Expr
from numjet.cpu.ir.types import kind, narrow

INLINE_COPY = 64   # bytes that are moved through registers
_EXTENSION = {"b": " zeroext", "u": " zeroext", "i": " signext"}


def block(emitter: FunctionEmitter, stmts: list[ir.Stmt]) -> None:
    """Writes the statements of a block."""
    done = 0
    while done < len(stmts):
        grouped = segment(emitter, stmts[done]) or store_group(emitter.addresses, stmts[done:done + LARGEST_GROUP])
        if not grouped:
            _STATEMENTS[type(stmts[done])](emitter, stmts[done])
        done += grouped or 1
        emitter.writer.split_long_block()


def _let(emitter: FunctionEmitter, stmt: ir.Let) -> None:
    value, ranges = emitter.value(stmt.value), emitter.context.ranges
    emitter.context.affine.define(stmt.var, stmt.value)
    if not narrow(stmt.var.dtype) and kind(stmt.var.dtype) in "iub":
        ranges.bind(stmt.var, *ranges.of(stmt.value))
    bound = Value(value.text, value.lanes, value.depth, literal=value.literal)
    emitter.writer.values.define(stmt.var.id, bound, emitter.writer.scope)
    if emitter.context.vector is not None:
        emitter.context.vector.bound[stmt.var.id] = stmt.value


def _store(emitter: FunctionEmitter, stmt: ir.Store) -> None:
    store(emitter.addresses, stmt)
    if emitter.context.vector is not None:
        emitter.context.vector.stored[stmt.buffer, stmt.index.id] = stmt.value


def _for(emitter: FunctionEmitter, stmt: ir.For) -> None:
    if not outlined_loop(emitter, stmt):
        for_loop(emitter, stmt)


def _comment(emitter: FunctionEmitter, stmt: ir.Comment) -> None:
    where = f" {stmt.file}:{stmt.line}" if stmt.file else ""
    emitter.writer.here()
    emitter.writer.line("; " + " ".join(f"{stmt.text}{where}".split()))


def _bytes(emitter: FunctionEmitter, buffer: Buffer, count: Expr) -> str:
    value, w = emitter.value(count), emitter.writer
    w.here()
    size = buffer.dtype.itemsize
    if value.literal:
        return str(max(0, int(value.text)) * size)
    bounded = w.intrinsic("smax.i64", "i64", ("i64", value.text), ("i64", "0"))
    return bounded if size == 1 else w.put(f"mul i64 {bounded}, {size}")


def _pointer(emitter: FunctionEmitter, buffer: Buffer, index: Expr) -> str:
    emitter.addresses.evaluate_terms(index)
    return emitter.addresses.element(buffer, index).text


def _copy(emitter: FunctionEmitter, stmt: ir.Copy) -> None:
    w, count = emitter.writer, _bytes(emitter, stmt.target, stmt.count)
    target, source = _pointer(emitter, stmt.target, stmt.target_start), _pointer(emitter, stmt.source, stmt.source_start)
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


def _fill(emitter: FunctionEmitter, stmt: ir.Fill) -> None:
    value, w = emitter.value(stmt.value), emitter.writer
    if not value.literal or value.text not in ("0", "false", "0x0000000000000000"):
        _fill_by_loop(emitter, stmt)
        return
    count, target = _bytes(emitter, stmt.target, stmt.count), _pointer(emitter, stmt.target, stmt.start)
    name = "llvm.memset.p0.i64"
    w.declare(name, "void", ["ptr", "i8", "i64", "i1"])
    w.here()
    w.line(f"call void @{name}(ptr {target}, i8 0, i64 {count}, i1 false)")
    w.values.invalidate([stmt.target])


def _fill_by_loop(emitter: FunctionEmitter, stmt: ir.Fill) -> None:
    """The value and the start are those from before the loop, even if they are read from what it fills."""
    exprs = emitter.module.exprs
    var, value, start = exprs.var(INT64, "fill"), exprs.var(stmt.value.dtype, "value"), exprs.var(INT64, "start")
    body: list[ir.Stmt] = [ir.Store(stmt.target, exprs.prim("add", start, var), value)]
    loop = ir.For(var, exprs.index(0), stmt.count, body, mode="vector")
    block(emitter, [ir.Let(value, stmt.value), ir.Let(start, stmt.start), loop])


def _arguments(emitter: FunctionEmitter, stmt: ir.Call) -> tuple[list[str], list[str]]:
    """The types of a kernel's arguments, and types with values."""
    w, types, texts = emitter.writer, [], []
    nowhere = stmt.result if isinstance(stmt, ir.GemmWithEpilogue) and stmt.result.kind == "tile" else None
    for arg in stmt.args:
        if isinstance(arg, tuple):
            types.append("ptr")
            texts.append("ptr null" if arg[0] is nowhere else f"ptr {_pointer(emitter, *arg)}")
        else:
            text = emitter.value(arg).text
            w.here()
            types.append(memory_type(arg.dtype) + _EXTENSION.get(kind(arg.dtype), "") * (arg.dtype.itemsize < 4))
            texts.append(f"{types[-1]} {to_memory(w, arg.dtype, text, 1)}")
    return types, texts


def _gemm_with_epilogue(emitter: FunctionEmitter, stmt: ir.GemmWithEpilogue) -> None:
    w, (types, texts) = emitter.writer, _arguments(emitter, stmt)
    name, context = epilogue(emitter, stmt)
    w.declare(stmt.symbol, "void", [*types, "i64", "ptr", "ptr"])
    w.here()
    w.line(f'call void @{stmt.symbol}({", ".join(texts)}, i64 {int(stmt.whole)}, ptr @"{name}", ptr {context})')
    w.values.invalidate(w.writes(stmt))


def _call(emitter: FunctionEmitter, stmt: ir.Call) -> None:
    w, (types, texts) = emitter.writer, _arguments(emitter, stmt)
    result = "i64" if stmt.checked else "void"
    w.declare(stmt.symbol, result, types)
    w.here()
    call = f"call {result} @{stmt.symbol}({', '.join(texts)})"
    if stmt.checked:
        status = _put_inside_python(emitter, call) if stmt.symbol.startswith(ir.CALLBACK) else w.put(call)
        code = f"%{w.name()}"
        exit_lines = [f"{code} = or i64 {status}, {KERNEL_STATUS}", f"ret i64 {code}"]
        _leave_unless(emitter, w.put(f"icmp eq i64 {status}, 0"), exit_lines)
    else:
        w.line(call)
    w.values.invalidate(stmt.writes)


def _put_inside_python(emitter: FunctionEmitter, call: str) -> str:
    """The result of a call into Python, which the native core opens, and leaves the function where Python has ended."""
    w = emitter.writer
    w.declare(ENTER_PYTHON, "i64", [])
    w.declare(LEAVE_PYTHON, "void", ["i64"])
    entered = w.put(f"call i64 @{ENTER_PYTHON}()")
    _leave_unless(emitter, w.put(f"icmp sge i64 {entered}, 0"), [f"ret i64 {INTERRUPTED}"])
    result = w.put(call)
    w.line(f"call void @{LEAVE_PYTHON}(i64 {entered})")
    return result


def _check(emitter: FunctionEmitter, stmt: ir.Check) -> None:
    ok = emitter.value(stmt.ok)
    values = [emitter.value(v).text for v in stmt.values]
    lines = []
    for k, text in enumerate(values, 1):
        slot = f"%{emitter.writer.name('info')}"
        lines += [f"{slot} = getelementptr i64, ptr %info, i64 {k}", f"store i64 {text}, ptr {slot}, align 8"]
    _leave_unless(emitter, ok.text, [*lines, f"ret i64 {stmt.code}"])


def _leave_unless(emitter: FunctionEmitter, ok: str, lines: list[str]) -> None:
    """Continues in a new block if `ok`, else executes `lines`, which return."""
    w = emitter.writer
    go_on, fail = w.name("ok"), w.name("fail")
    w.here()
    w.line(f"br i1 {ok}, label %{go_on}, label %{fail}, !prof !1")
    w.exit_block(fail, *lines)
    w.label(go_on)


_STATEMENTS: dict[type, Callable[[FunctionEmitter, Any], None]] = {
    ir.Let: _let, ir.Store: _store, ir.Comment: _comment,
    ir.SwapBuffers: lambda emitter, stmt: emitter.addresses.swap(stmt),
    ir.For: _for, ir.While: while_loop, ir.If: if_, ir.Switch: switch, ir.Copy: _copy, ir.Fill: _fill,
    ir.Call: _call, ir.GemmWithEpilogue: _gemm_with_epilogue, ir.Check: _check}
