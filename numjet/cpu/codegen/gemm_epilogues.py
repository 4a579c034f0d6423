"""Matrix products with something to do for each part of the result: that becomes a function which the kernel calls.

    define internal void @f.part0(ptr %context, ptr %tile, i64 %row, i64 %row_end, i64 %column, i64 %column_end)
"""
from __future__ import annotations

from collections.abc import Hashable

from numjet.cpu.codegen.outlining import Form
from numjet.cpu.codegen.parallel import ParallelEmitter
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import scalar_type
from numjet.cpu.ir.nodes import Buffer, Expr, GemmWithEpilogue
from numjet.cpu.ir.traversal import written

_BOUNDS = ("row", "row_end", "column", "column_end")
_PARAMETERS = ", ".join(["ptr %context", "ptr %tile", *(f"i64 %{name}" for name in _BOUNDS)])


class TilesEmitter(ParallelEmitter):
    """Writes the functions that are called for parts of products."""

    def epilogue(self, stmt: GemmWithEpilogue) -> tuple[str, str]:
        """The name of the function for the parts of a product, and its context."""
        form = Form(stmt.body[0])
        own = set(stmt.bounds)
        captured = {var: self.value(var) for var in form.captured if var not in own}
        buffers = [b for b in form.buffers if b.kind != "tile"]
        key: Hashable = (form.key, tuple(b.kind == "tile" for b in form.buffers), tuple(
            stmt.bounds.index(var) if var in own else (captured[var].literal and captured[var].text, self.ranges.of(var))
            for var in form.captured))
        if key not in self.part_names:
            name = self.part_names[key] = f"{self.function.name}.part{len(self.part_names)}"
            self.parts.append(self.another(written(stmt.body)).each(stmt, buffers, captured, self, name))
        values = [(scalar_type(var.dtype), v.text) for var, v in captured.items() if not v.literal]
        pointers = [("ptr", self.pointer(b).text) for b in buffers]
        return self.part_names[key], self.context([("ptr", "%info"), *pointers, *values])

    def each(self, stmt: GemmWithEpilogue, buffers: list[Buffer], captured: dict[Expr, Value], caller: TilesEmitter,
             name: str) -> str:
        """The text of the function that is called for each part."""
        self.inside_part = True
        place = iter(range(2**31))
        self.given("info", "ptr", next(place))
        for k, buffer in enumerate(buffers):
            self.memory.define(("buffer", buffer), Value(self.given(f"b{k}", "ptr", next(place))), self.scope)
        self.memory.define(("buffer", stmt.result), Value("%tile"), self.scope)
        for k, (var, value) in enumerate(captured.items()):
            text = value.text if value.literal else self.given(f"c{k}", scalar_type(var.dtype), next(place))
            self.bind(var, text, 1, value.literal)
            self.ranges.bind(var, *caller.ranges.of(var))
        for bound, text in zip(stmt.bounds, _BOUNDS, strict=True):
            self.bind(bound, f"%{text}")
            self.ranges.bind(bound, 0, stmt.result.size)
        self.block(stmt.body)
        return self.part_text(name, _PARAMETERS, "void", "ret void")
