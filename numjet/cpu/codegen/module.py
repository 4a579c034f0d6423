"""The LLVM module of one program: what the functions in it share (declarations, globals, helper functions)."""
from __future__ import annotations

from collections.abc import Callable, Hashable

from numjet.cpu.ir.nodes import Function
from numjet.cpu.target import Target

# Branch weights: `!prof !0` marks a branch that is rarely taken, `!prof !1` one that is nearly always taken.
_METADATA = ['!0 = !{!"branch_weights", i32 1, i32 10000}', '!1 = !{!"branch_weights", i32 10000, i32 1}']


class ModuleWriter:
    """Collects the parts of a module, each once.

    table_slots: position of each input and output in the pointer tables that the program gets.
    """

    def __init__(self, function: Function, target: Target):
        self.function, self.target = function, target
        self.exprs = function.exprs
        self.table_slots = {b: k for buffers in (function.inputs, function.outputs) for k, b in enumerate(buffers)}
        self.globals: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self._declarations: dict[str, str] = {}
        self._outlined: list[str] = []
        self._outlined_names: dict[Hashable, str] = {}

    def declare(self, name: str, result: str, args: list[str]) -> None:
        """Declares an external function."""
        if name not in self._declarations:
            self._declarations[name] = f"declare {result} @{name}({', '.join(args)})"

    def outlined(self, key: Hashable, emit: Callable[[str], str]) -> str:
        """The name of the outlined function with this structural key; `emit(name)` writes its text on first use."""
        name = self._outlined_names.get(key)
        if name is None:
            name = self._outlined_names[key] = f"{self.function.name}.part{len(self._outlined_names)}"
            self._outlined.append(emit(name))
        return name

    def text(self, main: str) -> str:
        """The whole module, given the text of its main function."""
        triple = [f'target triple = "{self.target.triple}"'] if self.target.triple else []
        return "\n".join([*triple, *self.globals.values(), *self._declarations.values(), *self.helpers.values(),
                          *self._outlined, main, *_METADATA, ""])
