"""Outlined loops: parallel ones, whose iterations threads share, and those that occur repeatedly.

    define internal void @f.part0(ptr %info, ptr %b.0, ptr %b.1, i64 %c.0)  ; a whole loop
    define internal i64 @f.part1(ptr %info, ptr %b.0)                       ; a whole loop that can be cancelled
    define internal i64 @f.part2(ptr %context, i64 %begin, i64 %end)       ; iterations begin ... end - 1, in order

`nj_parallel_until_stopped` of the native core calls the last kind for every chunk of the loop, in any thread. A status is 0, or
that with which the function around has to leave before it uses what the loop should have written: a program can be cancelled
in every parallel loop, and in loops with cancellation checks. Loops of equal structure share one
function, so that a network of many layers costs the code generator no more than one.
"""
from __future__ import annotations

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.statements.captures import Captures, function_text, listed, load_context, store_context
from numjet.cpu.codegen.statements.outlining import Structure, outlinable
from numjet.cpu.ir.nodes import INT64, For, Stmt, While
from numjet.cpu.ir.traversal import swapped, walk, written

PARALLEL_FOR = "nj_parallel_until_stopped"


def outlined_loop(emitter: FunctionEmitter, stmt: For) -> bool:
    """Writes a loop as a function of its own, if it is to be one; whether it is."""
    if emitter.context.vector is not None:
        return False
    if stmt.mode == "parallel" and not emitter.in_parallel and outlinable(stmt):
        leave_with(emitter, _parallel(emitter, stmt, emitter.apart.repeated.get(id(stmt)) or Structure([stmt])))
    elif id(stmt) in emitter.apart.repeated and stmt is not emitter.whole:
        _repeated(emitter, stmt, emitter.apart.repeated[id(stmt)])
    else:
        return False
    emitter.writer.values.invalidate(emitter.writer.writes(stmt))
    return True


def leave_with(emitter: FunctionEmitter, status: str) -> None:
    """Leaves this function, too, if a loop did not do all of its work."""
    w = emitter.writer
    leave, go_on = w.name("leave"), w.name("go")
    w.line(f"br i1 {w.put(f'icmp ne i64 {status}, 0')}, label %{leave}, label %{go_on}, !prof !0")
    w.label(go_on)
    w.exit_block(leave, f"ret i64 {status}")


def may_stop(stmt: Stmt) -> bool:
    """Whether a loop may end before it has done all of its work."""
    return any(isinstance(s, For | While) and (s.cancellation_point is not None or isinstance(s, For) and s.mode == "parallel")
               for s in walk([stmt]))


def _repeated(emitter: FunctionEmitter, stmt: For, structure: Structure) -> None:
    """Calls the function of a loop."""
    captures, stops = Captures(emitter, structure.passed, structure.captured), may_stop(stmt)
    function = emitter.module.outlined((structure.key, captures.key, stops),
                                       lambda name: _whole_loop(emitter, name, stmt, captures, stops))
    arguments = listed(captures.arguments())
    emitter.writer.here()
    if stops:
        leave_with(emitter, emitter.writer.put(f'call i64 @"{function}"({arguments})'))
    else:
        emitter.writer.line(f'call void @"{function}"({arguments})')


def _whole_loop(emitter: FunctionEmitter, name: str, stmt: For, captures: Captures, stops: bool) -> str:
    nested = emitter.nested(written([stmt]), whole=stmt)
    captures.bind(nested)
    nested.block([stmt])
    parameters = listed(captures.parameters(), "%")
    return function_text(nested, name, parameters, *(("i64", "ret i64 0") if stops else ("void", "ret void")))


def _parallel(emitter: FunctionEmitter, stmt: For, structure: Structure) -> str:
    """Has the iterations of a loop executed by several threads; the status."""
    w = emitter.writer
    start, stop = emitter.value(stmt.start), emitter.value(stmt.stop)
    captures = Captures(emitter, structure.passed, structure.captured)
    first = (start.text if start.literal else None, emitter.context.ranges.of(stmt.start))
    function = emitter.module.outlined((structure.key, captures.key, first),
                                       lambda name: _iterations(emitter, name, stmt, captures, start))
    context = store_context(emitter, [*captures.arguments(), *([] if start.literal else [("i64", start.text)])])
    count = w.put(f"sub i64 {stop.text}, {start.text}")
    w.declare(PARALLEL_FOR, "i64", ["i64", "ptr", "ptr"])
    return w.put(f'call i64 @{PARALLEL_FOR}(i64 {count}, ptr @"{function}", ptr {context})')


def _iterations(emitter: FunctionEmitter, name: str, stmt: For, captures: Captures, start: Value) -> str:
    """The text of a function for some of the iterations; it counts them from 0."""
    nested, ranges = emitter.nested(written([stmt]), in_parallel=True), emitter.context.ranges
    load_context(nested, [*captures.parameters(), *([] if start.literal else [("i64", "start")])])
    captures.bind(nested)
    nested.addresses.make_cells(swapped([stmt]))
    first = start.text if start.literal else "%start"
    begin, end = (nested.module.exprs.var(INT64, hint) for hint in ("begin", "end"))
    for var, argument in ((begin, "%begin"), (end, "%end")):
        nested.writer.bind(var, argument if first == "0" else nested.writer.put(f"add i64 {argument}, {first}"))
        nested.context.ranges.bind(var, ranges.of(stmt.start)[0], ranges.of(stmt.stop)[1])
    nested.block([For(stmt.var, begin, end, stmt.body, [], "serial")])
    return function_text(nested, name, "ptr %context, i64 %begin, i64 %end")
