"""Loops with a function of their own: those shared among threads, and those that occur repeatedly.

    define internal i64 @f.part0(ptr %info, ptr %b0, ptr %b1, i64 %c0)      ; a whole loop
    define internal i64 @f.part1(ptr %context, i64 %begin, i64 %end)        ; iterations begin ... end - 1, in order

The buffers and the variables of the code around come as arguments, or through a struct. `nj_parallel_until_stopped` of the
native core calls the second kind for every part of the loop, in any thread. All of them return 0, or the status with which
the function around has to leave before it uses what the loop should have written: whoever waits for the program may stop it
in every parallel loop, and in those loops that ask (see `polls`). Loops of equal form (see `alike`) share one
function, so that a network of many layers costs the code generator no more than one.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from numjet.cpu.codegen.loops import LoopEmitter
from numjet.cpu.codegen.outlining import Form, separable
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import scalar_type
from numjet.cpu.ir.nodes import INT64, Buffer, For, Function, Stmt
from numjet.cpu.ir.traversal import swapped, written
from numjet.cpu.target import Target

PARALLEL_FOR = "nj_parallel_until_stopped"


class ParallelEmitter(LoopEmitter):
    """Writes parallel and repeated loops."""

    def __init__(self, function: Function, target: Target, mutable: set[Buffer]):
        super().__init__(function, target, mutable)
        self.forms: dict[int, Form] = {}   # of the loops that get a function, by the identity of the statement

    def separate(self, body: list[Stmt]) -> None:
        """Finds the loops of a function's body that occur repeatedly."""
        self.forms = {id(stmt): Form(stmt) for stmt in body if separable(stmt)}
        times = Counter(form.key for form in self.forms.values())
        self.forms = {number: form for number, form in self.forms.items() if times[form.key] > 1}

    def loop(self, stmt: For) -> None:
        """Writes a `For` and binds its results."""
        if self.lane is None and stmt.mode == "parallel" and not self.inside_part and separable(stmt):
            self._shared(stmt)
        elif self.lane is None and id(stmt) in self.forms:
            self._repeated_loop(stmt)
        else:
            super().loop(stmt)

    def _repeated_loop(self, stmt: For) -> None:
        """Calls the function of a loop."""
        form = self.forms[id(stmt)]
        captured = [self.value(var) for var in form.captured]
        part = self._function_of(stmt, form, captured, None)
        fields = self._fields(form, captured)
        self.here()
        self._leave_early(self.put(f'call i64 @"{part}"({", ".join(f"{ty} {text}" for ty, text in fields)})'))
        self.memory.kill(self.writes(stmt))

    def _shared(self, stmt: For) -> None:
        """Has the iterations of a loop executed by several threads."""
        form = self.forms.get(id(stmt)) or Form(stmt)
        start, stop = self.value(stmt.start), self.value(stmt.stop)
        captured = [self.value(var) for var in form.captured]
        part = self._function_of(stmt, form, captured, start)
        context = self.context([*self._fields(form, captured), *([] if start.literal else [("i64", start.text)])])
        count = self.put(f"sub i64 {stop.text}, {start.text}")
        self.declare(PARALLEL_FOR, "i64", ["i64", "ptr", "ptr"])
        self.symbols.add(PARALLEL_FOR)
        self._leave_early(self.put(f'call i64 @{PARALLEL_FOR}(i64 {count}, ptr @"{part}", ptr {context})'))
        self.memory.kill(self.writes(stmt))

    def context(self, fields: list[tuple[str, str]]) -> str:
        """A struct of values, given by types and texts; its address."""
        context = f"%{self.name('context')}"
        self.allocas.append(f"  {context} = alloca [{len(fields)} x i64], align 8")
        self.here()
        for k, (ty, text) in enumerate(fields):
            slot = self.put(f"getelementptr i64, ptr {context}, i64 {k}")
            self.line(f"store {ty} {text}, ptr {slot}, align 8")
        return context

    def _fields(self, form: Form, captured: list[Value]) -> list[tuple[str, str]]:
        """What the function of a loop is given: types and texts."""
        pointers = [("ptr", self.pointer(buffer).text) for buffer in form.buffers]
        values = [(scalar_type(var.dtype), v.text) for var, v in zip(form.captured, captured, strict=True) if not v.literal]
        return [("ptr", "%info"), *pointers, *values]

    def _function_of(self, stmt: For, form: Form, captured: list[Value], start: Value | None) -> str:
        """The name of the function for loops of this form, written when it is first asked for; with `start`, of the one
        that goes through some of the iterations of a loop that starts there."""
        given = [(v.text if v.literal else None, self.ranges.of(var)) for var, v in zip(form.captured, captured, strict=True)]
        first = None if start is None else (start.text if start.literal else None, self.ranges.of(stmt.start))
        key: Hashable = (form.key, tuple(given), first)
        if key not in self.part_names:
            name = self.part_names[key] = f"{self.function.name}.part{len(self.part_names)}"
            other = self.another(written([stmt]))
            self.parts.append(other.whole(stmt, form, captured, self, name) if start is None else
                              other.some(stmt, form, captured, self, name, start))
        return self.part_names[key]

    def _leave_early(self, status: str) -> None:
        """Leaves this function, too, if a part did not do all of its work."""
        leave, go_on = self.name("leave"), self.name("go")
        stopped = self.put(f"icmp ne i64 {status}, 0")
        self.line(f"br i1 {stopped}, label %{leave}, label %{go_on}, !prof !0")
        self.label(go_on)
        self.failures += [f"{leave}:", f"  ret i64 {status}"]

    def whole(self, stmt: For, form: Form, captured: list[Value], caller: ParallelEmitter, name: str) -> str:
        """The text of a function that is a whole loop."""
        parameters = [("ptr", "%info"), *(("ptr", f"%b{k}") for k in range(len(form.buffers)))]
        texts = []
        for k, (var, value) in enumerate(zip(form.captured, captured, strict=True)):
            texts.append(value.text if value.literal else f"%c{k}")
            if not value.literal:
                parameters.append((scalar_type(var.dtype), texts[-1]))
        self._receive(stmt, form, captured, [f"%b{k}" for k in range(len(form.buffers))], texts, caller)
        self.block([stmt])
        return self.part_text(name, ", ".join(f"{ty} {text}" for ty, text in parameters))

    def some(self, stmt: For, form: Form, captured: list[Value], caller: ParallelEmitter, name: str, start: Value) -> str:
        """The text of a function that goes through some of the iterations of a loop."""
        self.inside_part = True
        place = iter(range(2**31))
        self.given("info", "ptr", next(place))
        pointers = [self.given(f"b{k}", "ptr", next(place)) for k in range(len(form.buffers))]
        texts = [value.text if value.literal else self.given(f"c{k}", scalar_type(var.dtype), next(place))
                 for k, (var, value) in enumerate(zip(form.captured, captured, strict=True))]
        self._receive(stmt, form, captured, pointers, texts, caller)
        base = start.text if start.literal else self.given("start", "i64", next(place))
        begin, end = (self.function.exprs.var(INT64, hint) for hint in ("begin", "end"))
        for var, argument in ((begin, "%begin"), (end, "%end")):
            self.bind(var, argument if base == "0" else self.put(f"add i64 {argument}, {base}"))
            self.ranges.bind(var, caller.ranges.of(stmt.start)[0], caller.ranges.of(stmt.stop)[1])
        self.block([For(stmt.var, begin, end, stmt.body, [], "serial")])
        return self.part_text(name, "ptr %context, i64 %begin, i64 %end")

    def _receive(self, stmt: For, form: Form, captured: list[Value], pointers: list[str], texts: list[str],
                 caller: ParallelEmitter) -> None:
        """Makes known what a function is given."""
        for buffer, text in zip(form.buffers, pointers, strict=True):
            self.memory.define(("buffer", buffer), Value(text), self.scope)
        self.note_places(swapped([stmt]))
        for var, value, text in zip(form.captured, captured, texts, strict=True):
            self.bind(var, text, 1, value.literal)
            self.ranges.bind(var, *caller.ranges.of(var))

    def given(self, name: str, ty: str, place: int) -> str:
        """Loads a field of the context."""
        slot = self.put(f"getelementptr i64, ptr %context, i64 {place}")
        self.line(f"%{name} = load {ty}, ptr {slot}, align 8")
        return f"%{name}"

    def part_text(self, name: str, parameters: str, result: str = "i64", end: str = "ret i64 0") -> str:
        """The text of a function whose body has been written."""
        self.keep_splits(name)
        head = f'define internal {result} @"{name}"({parameters}) nounwind noinline {{'
        return "\n".join([head, "entry:", *self.allocas, *self.scope.code.lines, f"  {end}", *self.failures, "}"])
