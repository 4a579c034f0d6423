"""Epilogues of matrix products: what is done with each part of the result becomes a function that the kernel calls.

    define internal void @f.part0(ptr %context, ptr %tile, i64 %row, i64 %row_end, i64 %column, i64 %column_end)
"""
from __future__ import annotations

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.statements.captures import Captures, function_text, load_context, store_context
from numjet.cpu.codegen.statements.outlining import Structure
from numjet.cpu.ir.nodes import GemmWithEpilogue
from numjet.cpu.ir.traversal import written

_BOUNDS = ("row", "row_end", "column", "column_end")
_PARAMETERS = ", ".join(["ptr %context", "ptr %tile", *(f"i64 %{name}" for name in _BOUNDS)])


def epilogue(caller: FunctionEmitter, stmt: GemmWithEpilogue) -> tuple[str, str]:
    """The name of the function for the parts of a product, and its context."""
    structure = Structure(stmt.body[:1])
    bounds = {var: k for k, var in enumerate(stmt.bounds)}
    captures = Captures(caller, structure.passed, [var for var in structure.captured if var not in bounds])
    places = tuple(bounds.get(var) for var in structure.captured)
    function = caller.module.outlined((structure.key, places, captures.key),
                                      lambda name: _function(caller, name, stmt, captures))
    return function, store_context(caller, captures.arguments())


def _function(caller: FunctionEmitter, name: str, stmt: GemmWithEpilogue, captures: Captures) -> str:
    nested = caller.nested(written(stmt.body), in_parallel=True)
    load_context(nested, captures.parameters())
    captures.bind(nested)
    nested.addresses.bind_base(stmt.result, "%tile")
    for bound, text in zip(stmt.bounds, _BOUNDS, strict=True):
        nested.writer.bind(bound, f"%{text}")
        nested.context.ranges.bind(bound, 0, stmt.result.size)
    nested.block(stmt.body)
    return function_text(nested, name, _PARAMETERS, "void", "ret void")
