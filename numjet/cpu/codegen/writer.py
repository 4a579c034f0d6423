"""Text of one LLVM function: instructions, names, basic blocks, and the scopes that they stand in."""
from __future__ import annotations

from collections.abc import Hashable, Iterable

from numjet.cpu.codegen.module import ModuleWriter
from numjet.cpu.codegen.scopes import NO_READS, Code, Scope, Value, ValueTable
from numjet.cpu.codegen.types import scalar_type, splat_literal, wide
from numjet.cpu.ir.nodes import Buffer, Expr, Stmt
from numjet.cpu.ir.traversal import blocks, writes

LONGEST_BLOCK = 300   # lines of straight code


def parameter(kind: str, number: int) -> str:
    """The name of a parameter, without the percent sign. It has a dot, as no fresh name of a function has."""
    return f"{kind}.{number}"


class FunctionWriter:
    """Open scopes and the text written so far. `put` writes into the scope `insertion`, which `hoist` and `here` choose.

    mutable: the buffers that the function may write.
    """

    def __init__(self, module: ModuleWriter, mutable: set[Buffer]):
        self.module, self.mutable, self.declare = module, mutable, module.declare
        self.values = ValueTable()
        self.known = self.values.known
        self.scope = self.insertion = Scope(None, "branch", Code("entry"), mutable, True)
        self._counter = 0
        self._allocas: list[str] = []
        self._exits: list[str] = []    # blocks that leave the function early
        self._splits: list[str] = []   # labels of the blocks that `split_long_block` began
        self._writes: dict[int, tuple[set[Buffer], Stmt]] = {}   # by identity, which the statement kept here holds

    # --- instructions ---

    def name(self, prefix: str = "v") -> str:
        """A fresh name of a value or a label, without the percent sign."""
        self._counter += 1
        return f"{prefix}{self._counter}"

    def put(self, instruction: str) -> str:
        """Adds an instruction with a result; returns the result's name."""
        self._counter += 1
        name = f"%v{self._counter}"
        self.insertion.code.lines.append(f"  {name} = {instruction}")
        return name

    def line(self, text: str) -> None:
        """Adds an instruction without a result."""
        self.insertion.code.lines.append(f"  {text}")

    def alloca(self, prefix: str, ty: str, *first: str) -> str:
        """Memory on the stack, reserved at the function's entry; `first`: values of type `ty` stored there at once."""
        name = f"%{self.name(prefix)}"
        self._allocas.append(f"  {name} = alloca {ty}, align 8")
        self._allocas += (f"  store {ty} {value}, ptr {name}, align 8" for value in first)
        return name

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Calls `llvm.name` with (type, text) pairs; returns the name of its result."""
        full = f"llvm.{name}"
        self.module.declare(full, result, [ty for ty, _ in args])
        return self.put(f"call {result} @{full}({', '.join(f'{ty} {text}' for ty, text in args)})")

    def shuffle(self, element: str, lanes: int, first: str, second: str, order: Iterable[int | str]) -> str:
        """Lanes of two vectors; `order` counts through both, or says "poison"."""
        ty, picked = wide(element, lanes), [f"i32 {k}" for k in order]
        return self.put(f"shufflevector {ty} {first}, {ty} {second}, <{len(picked)} x i32> <{', '.join(picked)}>")

    def select(self, ty: str, lanes: int, cond: str, yes: str, no: str) -> str:
        """`yes` where the condition holds, which has that many lanes, and `no` elsewhere."""
        return self.put(f"select {wide('i1', lanes)} {cond}, {ty} {yes}, {ty} {no}")

    def reverse(self, text: str, element: str, lanes: int) -> str:
        """The lanes in opposite order."""
        return self.shuffle(element, lanes, text, "poison", range(lanes - 1, -1, -1))

    # --- basic blocks ---

    def label(self, name: str) -> None:
        """Begins a basic block."""
        code = self.insertion.code
        code.lines.append(f"{name}:")
        code.block, code.block_start = name, len(code.lines)

    def exit_block(self, label: str, *lines: str) -> None:
        """Adds a block that leaves the function."""
        self._exits += [f"{label}:", *(f"  {line}" for line in lines)]

    def split_long_block(self) -> None:
        """Basic-block splitting: begins another block where the current one has become long, because instruction selection
        and register allocation take quadratic time in the length of a block."""
        code = self.here().code
        if len(code.lines) - code.block_start >= LONGEST_BLOCK:
            following = self.name("next")
            self._splits.append(following)
            self.line(f"br label %{following}")
            self.label(following)

    def text(self, head: str, end: str, name: str) -> str:
        """The text of the whole function `name`; `head` is its signature, `end` its last instruction.

        A table of the addresses of split blocks keeps LLVM from joining them again.
        """
        if self._splits:
            blocks = ", ".join(f'ptr blockaddress(@"{name}", %{label})' for label in self._splits)
            self.module.globals[f"{name}.blocks"] = (
                f'@"{name}.blocks" = internal constant [{len(self._splits)} x ptr] [{blocks}]')
        return "\n".join([f"define {head} {{", "entry:", *self._allocas, *self.scope.code.lines, f"  {end}", *self._exits, "}"])

    # --- scopes ---

    def hoist(self, depth: int) -> Scope:
        """Loop-invariant code motion: points `put` to the outermost scope for an instruction whose deepest operand lives at
        `depth`."""
        self.insertion = self.scope.hoisted(depth)
        return self.insertion

    def here(self) -> Scope:
        """Points `put` to the current scope."""
        self.insertion = self.scope
        return self.scope

    def enter(self, kind: str, code: Code, writes: set[Buffer], certain: bool) -> Scope:
        """Opens a scope in the current one."""
        self.scope = self.insertion = Scope(self.scope, kind, code, writes, certain)
        return self.scope

    def enter_inline(self, writes: set[Buffer], certain: bool = True) -> None:
        """Opens a scope for a part of the current one's code."""
        self.enter("inline", self.scope.code, writes, certain)

    def leave(self) -> Scope:
        """Closes the current scope and forgets its values; returns it."""
        closed = self.scope
        assert closed.parent is not None
        self.values.close(closed)
        self.scope = self.insertion = closed.parent
        return closed

    def writes(self, stmt: Stmt) -> set[Buffer]:
        """The buffers that a statement may write. What the statements inside write is kept, too, as they are asked next."""
        found = self._writes.get(id(stmt))
        if found is None:
            every = set(writes(stmt)).union(*(self.writes(s) for block in blocks(stmt) for s in block))
            found = self._writes[id(stmt)] = every, stmt
        return found[0]

    # --- values ---

    def define(self, key: Hashable, text: str, lanes: int = 1, reads: frozenset[Buffer] = NO_READS,
               literal: bool = False) -> Value:
        """Remembers a value just written into the scope `insertion`."""
        return self.values.define(key, Value(text, lanes, self.insertion.depth, reads, literal), self.insertion)

    def define_in_line(self, key: Hashable, value: Value) -> None:
        """Remembers a value just written into the scope `insertion` for as long as that scope's code goes on."""
        scope = self.insertion
        while scope.kind == "inline" and scope.parent is not None:
            scope = scope.parent
        self.values.define(key, Value(value.text, value.lanes, scope.depth, value.reads, value.literal), scope)

    def find_in_line(self, key: Hashable, depth: int) -> Value | None:
        """Such a value for a reader whose scope is at `depth`, to which `insertion` then points."""
        found = self.known.get(key)
        if found is None:
            return None
        scope = self.hoist(max(found.depth, depth))
        return Value(found.text, found.lanes, scope.depth, found.reads, found.literal)

    def bind(self, var: Expr, text: str, lanes: int = 1, literal: bool = False) -> Value:
        """Makes `var` known in the current scope."""
        return self.values.define(var.id, Value(text, lanes, self.scope.depth, literal=literal), self.scope)

    def fit(self, value: Value, expr: Expr, lanes: int) -> str:
        """The text of `value` (of `expr`) for use in the scope `insertion` with that many lanes."""
        return value.text if value.lanes == lanes else self.splat(value, scalar_type(expr.dtype), lanes)

    def splat(self, value: Value, name: str, lanes: int) -> str:
        """A scalar in all lanes, written into the scope `insertion`: LLVM's code generator hoists it out of loops."""
        if value.literal:
            return splat_literal(name, value.text, lanes)
        key = ("splat", value.text, lanes)
        found = self.known.get(key)
        if found is not None and found.depth <= self.insertion.depth:
            return found.text
        ty = wide(name, lanes)
        single = self.put(f"insertelement {ty} poison, {name} {value.text}, i64 0")
        text = self.put(f"shufflevector {ty} {single}, {ty} poison, <{lanes} x i32> zeroinitializer")
        return self.define(key, text, lanes).text
