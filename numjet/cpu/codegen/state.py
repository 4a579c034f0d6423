"""The state of a code generation: open scopes, known values, names, and the writing of single instructions."""
from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Self

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.codegen.scopes import Code, Memory, Scope, Value
from numjet.cpu.codegen.types import scalar_type, splat_literal, wide
from numjet.cpu.ir.nodes import Buffer, Expr, Function, Stmt
from numjet.cpu.ir.traversal import written
from numjet.cpu.target import Target
from numjet.foundation.record import Fields

LONGEST_BLOCK = 300   # lines of straight code


class Lane(Fields):
    """The loop variable whose consecutive values are the lanes of vectors; `first` is its value in lane 0."""

    var: Expr
    first: Value
    lanes: int


class Unrolled(NamedTuple):
    """An unrolled loop inside of the lanes: its variable, its iterations, and the depth of the scope that it stands in."""

    var: Expr
    trips: int
    depth: int


class State:
    """Open scopes and the text written so far. `put` writes where `place` has pointed to."""

    def __init__(self, function: Function, target: Target, mutable: set[Buffer]):
        self.function, self.target = function, target
        # Where the addresses of inputs and outputs stand in the tables that the program is given.
        self.positions: dict[Buffer, int] = {}
        self.memory = Memory()
        self.known = self.memory.known
        self.sums = AffineForms()
        self.ranges = Ranges()
        self.mutable = mutable
        self.scope = Scope(None, "branch", Code("entry"), self.mutable, True)
        self.out = self.scope
        self.lane: Lane | None = None
        self.mask: Value | None = None
        self.varying: set[int] = set()
        self.unrolled: list[Unrolled] = []  # inside of the current lanes, from the outermost on
        self.declared: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.parts: list[str] = []
        self.part_names: dict[Hashable, str] = {}
        self.allocas: list[str] = []
        self.splits: list[str] = []          # labels of the blocks that `split_long_block` began
        self.cells: dict[Buffer, str] = {}   # where the addresses are noted of buffers that change places
        self.symbols: set[str] = set()
        self.counter = 0
        self.inside_part = False           # of a loop that is shared among threads
        self.failures: list[str] = []      # blocks that end the function early
        self._writes: dict[int, set[Buffer]] = {}

    def another(self, mutable: set[Buffer]) -> Self:
        """The state for writing another function of the same module, which writes the `mutable` buffers."""
        other = type(self)(self.function, self.target, mutable)
        other.positions, other.globals, other.helpers = self.positions, self.globals, self.helpers
        other.declared, other.symbols, other.parts, other.part_names = self.declared, self.symbols, self.parts, self.part_names
        other.inside_part = self.inside_part
        return other

    @property
    def width(self) -> int:
        """The number of lanes of the current vector loop."""
        assert self.lane is not None
        return self.lane.lanes

    # --- writing ---

    def name(self, prefix: str = "v") -> str:
        """A fresh name of a value or a label, without the percent sign."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def put(self, instruction: str) -> str:
        """Adds an instruction with a result; returns the result's name."""
        self.counter += 1
        name = f"%v{self.counter}"
        self.out.code.lines.append(f"  {name} = {instruction}")
        return name

    def line(self, text: str) -> None:
        """Adds an instruction without a result."""
        self.out.code.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begins a basic block."""
        code = self.out.code
        code.lines.append(f"{name}:")
        code.block, code.begun = name, len(code.lines)

    def split_long_block(self) -> None:
        """Basic-block splitting: begins another block where the current one has become long, because instruction selection
        and register allocation take quadratic time in the length of a block."""
        code = self.here().code
        if len(code.lines) - code.begun >= LONGEST_BLOCK:
            following = self.name("next")
            self.splits.append(following)
            self.line(f"br label %{following}")
            self.label(following)

    def keep_splits(self, name: str) -> None:
        """Takes the addresses of the blocks that splitting made in the function `name`: LLVM would join them again."""
        if self.splits:
            blocks = ", ".join(f'ptr blockaddress(@"{name}", %{label})' for label in self.splits)
            self.globals[f"{name}.blocks"] = f'@"{name}.blocks" = internal constant [{len(self.splits)} x ptr] [{blocks}]'

    def declare(self, name: str, result: str, args: list[str]) -> None:
        """Declares an outside function once."""
        if name not in self.declared:
            self.declared[name] = f"declare {result} @{name}({', '.join(args)})"

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Calls `llvm.name` with (type, text) pairs; returns the name of its result."""
        full = f"llvm.{name}"
        self.declare(full, result, [ty for ty, _ in args])
        return self.put(f"call {result} @{full}({', '.join(f'{ty} {text}' for ty, text in args)})")

    # --- scopes ---

    def place(self, depth: int) -> Scope:
        """Points `put` to the best scope for an instruction whose deepest operand lives at `depth`."""
        self.out = self.scope.home(depth)
        return self.out

    def here(self) -> Scope:
        """Points `put` to the current scope."""
        self.out = self.scope
        return self.scope

    def enter(self, kind: str, code: Code, writes: set[Buffer], certain: bool) -> Scope:
        """Opens a scope in the current one."""
        self.scope = Scope(self.scope, kind, code, writes, certain)
        self.out = self.scope
        return self.scope

    def leave(self) -> Scope:
        """Closes the current scope, whose values are no longer known then; returns it."""
        closed = self.scope
        assert closed.parent is not None
        self.memory.close(closed)
        self.scope = self.out = closed.parent
        return closed

    def writes(self, stmt: Stmt) -> set[Buffer]:
        """The buffers that a statement may write."""
        found = self._writes.get(id(stmt))
        if found is None:
            found = self._writes[id(stmt)] = written([stmt])
        return found

    # --- values ---

    def bind(self, var: Expr, text: str, lanes: int = 1, literal: bool = False) -> Value:
        """Makes `var` known in the current scope."""
        return self.memory.define(var.id, Value(text, lanes, self.scope.depth, literal=literal), self.scope)

    def fit(self, value: Value, expr: Expr, lanes: int) -> str:
        """The text of `value` (of `expr`) for use in the scope `out` with that many lanes."""
        return value.text if value.lanes == lanes else self.splat(value, scalar_type(expr.dtype), lanes)

    def splat(self, value: Value, name: str, lanes: int) -> str:
        """A scalar in all lanes, written into the scope `out`: the code generator of LLVM moves it out of loops."""
        if value.literal:
            return splat_literal(name, value.text, lanes)
        key = ("splat", value.text, lanes)
        found = self.known.get(key)
        if found is not None and found.depth <= self.out.depth:
            return found.text
        ty = wide(name, lanes)
        single = self.put(f"insertelement {ty} poison, {name} {value.text}, i64 0")
        text = self.put(f"shufflevector {ty} {single}, {ty} poison, <{lanes} x i32> zeroinitializer")
        self.memory.define(key, Value(text, lanes, self.out.depth), self.out)
        return text
