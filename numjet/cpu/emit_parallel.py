"""Loops shared among threads: the body becomes a function of its own, which gets what it reads through a struct.

    define internal void @f.part0(ptr %context, i64 %begin, i64 %end)   ; iterations begin ... end - 1, in order

`nj_parallel_for` of the native core calls it for every part of the loop, in any thread.
"""
from __future__ import annotations

from .emit_loop import LoopEmitter
from .emit_scope import Value
from .emit_types import scalar_type
from .independence import bound_variables, nodes
from .loop_ir import INT64, Call, Check, Expr, For, walk
from .loop_show import own_expressions

PARALLEL_FOR = "nj_parallel_for"
_ARGUMENTS = ("ins", "outs", "scratch", "info")


class ParallelEmitter(LoopEmitter):
    """Writes parallel loops."""

    inside_part = False

    def loop(self, stmt: For) -> None:
        """Writes a `For` and binds its results."""
        if stmt.mode == "parallel" and self.lane is None and not self.inside_part and _shareable(stmt):
            self._shared(stmt)
        else:
            super().loop(stmt)

    def _shared(self, stmt: For) -> None:
        start, stop = self.value(stmt.start), self.value(stmt.stop)
        captured = [(var, self.value(var)) for var in captured_variables(stmt)]
        name = f"{self.function.name}.part{len(self.parts)}"
        self.parts.append("")  # the place of this part
        self.parts[-1] = self._part_function(stmt, name, start, captured)
        fields = [("ptr", f"%{a}") for a in _ARGUMENTS]
        fields += [(scalar_type(var.dtype), value.text) for var, value in [(stmt.start, start), *captured]]
        context = f"%{self.name('context')}"
        self.allocas.append(f"  {context} = alloca [{len(fields)} x i64], align 8")
        self.here()
        for k, (ty, text) in enumerate(fields):
            slot = self.put(f"getelementptr i64, ptr {context}, i64 {k}")
            self.line(f"store {ty} {text}, ptr {slot}, align 8")
        count = self.put(f"sub i64 {stop.text}, {start.text}")
        self.declare(PARALLEL_FOR, "void", ["i64", "ptr", "ptr"])
        self.symbols.add(PARALLEL_FOR)
        self.line(f'call void @{PARALLEL_FOR}(i64 {count}, ptr @"{name}", ptr {context})')
        self.memory.kill(self.writes(stmt))

    def _part_function(self, stmt: For, name: str, start: Value, captured: list[tuple[Expr, Value]]) -> str:
        """The text of the function that goes through some of the iterations."""
        part = type(self)(self.function, self.target)
        part.inside_part = True
        part.declared, part.globals = self.declared, self.globals
        part.helpers, part.symbols = self.helpers, self.symbols
        for k, argument in enumerate(_ARGUMENTS):
            part._field(argument, "ptr", k)
        first = len(_ARGUMENTS)
        base = start.text if start.literal else part._field("start", "i64", first)
        for k, (var, value) in enumerate(captured, first + 1):
            text = value.text if value.literal else part._field(f"captured{k}", scalar_type(var.dtype), k)
            part.bind(var, text, 1, value.literal)
            part.ranges.bind(var, *self.ranges.of(var))
        begin, end = (self.function.exprs.var(INT64, hint) for hint in ("begin", "end"))
        for var, argument in ((begin, "%begin"), (end, "%end")):
            part.bind(var, argument if base == "0" else part.put(f"add i64 {argument}, {base}"))
            part.ranges.bind(var, self.ranges.of(stmt.start)[0], self.ranges.of(stmt.stop)[1])
        part.block([For(stmt.var, begin, end, stmt.body, [], "serial")])
        head = f'define internal void @"{name}"(ptr %context, i64 %begin, i64 %end) nounwind {{'
        return "\n".join([head, "entry:", *part.scope.code.lines, "  ret void", "}"])

    def _field(self, name: str, ty: str, place: int) -> str:
        """Loads a field of the context."""
        slot = self.put(f"getelementptr i64, ptr %context, i64 {place}")
        self.line(f"%{name} = load {ty}, ptr {slot}, align 8")
        return f"%{name}"


def _shareable(stmt: For) -> bool:
    """A part returns nothing: no carries, and no way to leave the function."""
    leaves = any(isinstance(s, Check) or (isinstance(s, Call) and s.checked) for s in walk(stmt.body))
    return not stmt.carries and not leaves


def captured_variables(stmt: For) -> list[Expr]:
    """The variables of the code around that the body of a loop reads, in the order of their ids."""
    inside = {stmt.var.id} | {var.id for s in walk(stmt.body) for var in bound_variables(s)}
    roots = [e for s in walk(stmt.body) for e in own_expressions(s)]
    found = {e.id: e for e in nodes(roots) if e.op == "var" and e.id not in inside}
    return [found[k] for k in sorted(found)]
