"""Captures: what an outlined function takes from the code around its call.

That is the info table, the addresses of buffers, and variables. They come as parameters, or in a context, a struct on the
stack of the caller. Constants are written into the function instead of passed.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.types import scalar_type
from numjet.cpu.codegen.writer import parameter
from numjet.cpu.ir.nodes import Buffer, Expr

Fields = list[tuple[str, str]]   # types, with names or values


class Captures:
    """The buffers and variables that an outlined function uses, with the variables' values in the caller."""

    def __init__(self, caller: FunctionEmitter, buffers: Sequence[Buffer], variables: Sequence[Expr]):
        self._caller, self._buffers = caller, buffers
        self._variables = [(var, caller.value(var), caller.context.ranges.of(var)) for var in variables]
        # What is written into the function: constants, and ranges, which code generation relies on.
        self.key: Hashable = tuple((value.text if value.literal else None, interval) for _, value, interval in self._variables)

    def parameters(self) -> Fields:
        """Types and names of what is passed."""
        variables = [(scalar_type(var.dtype), parameter("c", k)) for k, (var, value, _) in enumerate(self._variables)
                     if not value.literal]
        return [("ptr", "info"), *(("ptr", parameter("b", k)) for k in range(len(self._buffers))), *variables]

    def arguments(self) -> Fields:
        """Types and values of what is passed, in the caller."""
        variables = [(scalar_type(var.dtype), value.text) for var, value, _ in self._variables if not value.literal]
        return [("ptr", "%info"), *(("ptr", self._caller.addresses.base(b).text) for b in self._buffers), *variables]

    def bind(self, nested: FunctionEmitter) -> None:
        """Makes known in the function what was passed."""
        for k, buffer in enumerate(self._buffers):
            nested.addresses.bind_base(buffer, "%" + parameter("b", k))
        for k, (var, value, interval) in enumerate(self._variables):
            nested.writer.bind(var, value.text if value.literal else "%" + parameter("c", k), 1, value.literal)
            nested.context.ranges.bind(var, *interval)


def store_context(caller: FunctionEmitter, fields: Fields) -> str:
    """Stores fields in a context; returns its address."""
    w = caller.writer
    context = w.alloca("context", f"[{len(fields)} x i64]")
    w.here()
    for k, (ty, text) in enumerate(fields):
        slot = w.put(f"getelementptr i64, ptr {context}, i64 {k}")
        w.line(f"store {ty} {text}, ptr {slot}, align 8")
    return context


def load_context(nested: FunctionEmitter, fields: Fields) -> None:
    """Loads the fields of a function's parameter %context under their names."""
    for k, (ty, name) in enumerate(fields):
        slot = nested.writer.put(f"getelementptr i64, ptr %context, i64 {k}")
        nested.writer.line(f"%{name} = load {ty}, ptr {slot}, align 8")


def listed(fields: Fields, names: str = "") -> str:
    """Fields as the arguments of a call, or as parameters, whose names begin with a percent sign."""
    return ", ".join(f"{ty} {names}{text}" for ty, text in fields)


def function_text(nested: FunctionEmitter, name: str, parameters: str, result: str = "i64", end: str = "ret i64 0") -> str:
    """The text of an outlined function whose body has been written."""
    return nested.writer.text(f'internal {result} @"{name}"({parameters}) nounwind noinline', end, name)
