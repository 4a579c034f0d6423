"""Printer of loop IR. `parser.parse` reads the text back; only `Function.errors` and object identities are lost.

    function scale(x: float32[8]) -> (y: float32[8]) scratch 0 {
      for i1 in 0 .. 8 vector {
        store y[i1] = mul(x[i1], 2.0:float32)
      }
    }

Constants without a dtype are int64 or bool. `$1 = ...` names an expression that is used more than once. It is not a
statement: the expression is evaluated where it is used.
"""
from __future__ import annotations

from collections import Counter

import numpy as np

from numjet.cpu.ir.nodes import (
    BOOL,
    INT64,
    Buffer,
    Call,
    Check,
    Comment,
    Copy,
    Expr,
    Fill,
    For,
    Function,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.traversal import expressions, nodes, postorder
from numjet.cpu.ir.types import usual_dtype
from numjet.foundation import lazy_import

json = lazy_import.Module("json")

DEEPEST = 6


def show(function: Function) -> str:
    """The text of a function."""
    return _Show(expressions(function.body)).function(function)


def show_statement(stmt: Stmt) -> str:
    """The text of one statement."""
    text = _Show(expressions([stmt]))
    text.block([stmt], 0)
    return "\n".join(text.lines)


def show_expr(expr: Expr) -> str:
    """The text of one expression, preceded by the names of shared subexpressions."""
    text = _Show([expr])
    result = text.expr(expr)
    return "\n".join([*text.pending, result])


class _Show:
    """Collects lines. Expressions that are used twice or nested too deeply get names."""

    def __init__(self, roots: list[Expr]):
        self.lines: list[str] = []
        self.pending: list[str] = []
        self.texts: dict[int, str] = {}
        self.depths: dict[int, int] = {}
        self.names = 0
        self.uses = Counter(e.id for e in (*roots, *(arg for node in nodes(roots) for arg in node.args)))

    def line(self, level: int, text: str) -> None:
        """Adds a line, after the names that it introduces."""
        self.lines += ["  " * level + name for name in self.pending] + ["  " * level + text]
        self.pending.clear()

    def function(self, function: Function) -> str:
        """The whole text."""
        inputs, outputs = (", ".join(map(_typed, bs)) for bs in (function.inputs, function.outputs))
        self.line(0, f"function {function.name}({inputs}) -> ({outputs}) scratch {function.scratch_bytes} {{")
        for temp in function.temps:
            self.line(1, f"temp {_typed(temp)}" + (f" at {temp.offset}" if temp.offset is not None else ""))
        for const in function.consts:
            self.line(1, f"const {_typed(const)} = 0x{np.asarray(const.data).tobytes().hex()}")
        self.block(function.body, 1)
        self.line(0, "}")
        return "\n".join(self.lines) + "\n"

    # --- expressions ---

    def expr(self, expr: Expr) -> str:
        """The text for a use of an expression."""
        for top in postorder([expr], self.texts):
            self._write(top)
        return self.texts[expr.id]

    def _write(self, expr: Expr) -> None:
        text = _operation(expr, [self.texts[a.id] for a in expr.args])
        depth = 1 + max((self.depths[a.id] for a in expr.args), default=-1)
        if expr.args and (self.uses[expr.id] > 1 or depth >= DEEPEST):
            self.names += 1
            self.pending.append(f"${self.names} = {text}")
            text, depth = f"${self.names}", 0
        self.texts[expr.id], self.depths[expr.id] = text, depth

    def _many(self, exprs: list[Expr] | tuple[Expr, ...]) -> str:
        return ", ".join(map(self.expr, exprs))

    def _place(self, buffer: Buffer, index: Expr) -> str:
        return f"{buffer.name}[{self.expr(index)}]"

    # --- statements ---

    def block(self, stmts: list[Stmt], level: int) -> None:
        """The lines of a block."""
        for stmt in stmts:
            self._stmt(stmt, level)

    def _stmt(self, stmt: Stmt, level: int) -> None:
        match stmt:
            case For() | While():
                self._loop(stmt, level)
            case If():
                self._if(stmt, level)
            case Switch():
                self._switch(stmt, level)
            case GemmWithEpilogue():
                self._gemm_with_epilogue(stmt, level)
            case _:
                self.line(level, self._plain(stmt))

    def _plain(self, stmt: Stmt) -> str:
        match stmt:
            case Let(var=var, value=value):
                return f"let {var.attr}: {var.dtype} = {self.expr(value)}"
            case Store():
                return f"store {self._place(stmt.buffer, stmt.index)} = {self.expr(stmt.value)}"
            case Copy():
                target = self._place(stmt.target, stmt.target_start)
                return f"copy {target} = {self._place(stmt.source, stmt.source_start)} count {self.expr(stmt.count)}"
            case Fill():
                return (f"fill {self._place(stmt.target, stmt.start)} = {self.expr(stmt.value)} "
                        f"count {self.expr(stmt.count)}")
            case SwapBuffers(targets=targets, sources=sources):
                return f"swap ({', '.join(b.name for b in targets)}) = ({', '.join(b.name for b in sources)})"
            case Call():
                return self._call(stmt)
            case Check():
                values = f"values ({self._many(stmt.values)}){' deferrable' * stmt.deferrable}"
                return f"check {self.expr(stmt.ok)} code {stmt.code} {values}"
            case Comment():
                return f"note {json.dumps(stmt.text)} {json.dumps(stmt.file or '')} {stmt.line}"
        raise TypeError(f"not a statement of loop IR: {stmt!r}")

    def _call(self, stmt: Call) -> str:
        args = ", ".join(f"&{self._place(*a)}" if isinstance(a, tuple) else self.expr(a) for a in stmt.args)
        reads, writes = (", ".join(b.name for b in buffers) for buffers in (stmt.reads, stmt.writes))
        limits = "".join(f" limit {place} {self.expr(limit)}" for place, limit in stmt.limits)
        return f"call {stmt.symbol}({args}) reads ({reads}) writes ({writes}){limits}{' checked' * stmt.checked}"

    def _gemm_with_epilogue(self, stmt: GemmWithEpilogue, level: int) -> None:
        tile = f" of {_typed(stmt.result)}" if stmt.result.kind == "tile" else ""
        names = [var.attr for var in stmt.bounds]
        parts = f"rows ({', '.join(names[:2])}) columns ({', '.join(names[2:])})"
        self.line(level, f"gemm{tile} {self._call(stmt)[5:]} {'whole ' * stmt.whole}{parts} {{")
        self.block(stmt.body, level + 1)
        self.line(level, "}")

    def _loop(self, stmt: For | While, level: int) -> None:
        carries = ", ".join(f"{c.var.attr}: {c.var.dtype} = {self.expr(c.init)}" for c in stmt.carries)
        cancel = "" if stmt.cancellation_point is None else f" cancellation_point {stmt.cancellation_point}"
        if isinstance(stmt, For):
            limit = "" if stmt.limit is None else f" limit {self.expr(stmt.limit)}"
            bounds = f"{self.expr(stmt.start)} .. {self.expr(stmt.stop)}{limit}"
            notes = f"{' fused' * stmt.fused}{cancel}{' independent' * stmt.independent}"
            self.line(level, f"for {stmt.var.attr} in {bounds} {stmt.mode}{notes} ({carries}) {{")
        else:
            self.line(level, f"while{' idempotent_after_exit' * stmt.idempotent_after_exit}{cancel} ({carries}) {{")
            self.block(stmt.cond_body, level + 1)
            self.line(level + 1, f"test {self.expr(stmt.cond)}")
        self.block(stmt.body, level + 1)
        for c in stmt.carries:
            combine = f" combine {c.combine} {self.expr(c.term)}" if c.combine and c.term is not None else ""
            self.line(level + 1, f"next {c.var.attr} = {self.expr(c.next)}{combine}")
        self.line(level, f"}} -> ({', '.join(c.out.attr for c in stmt.carries)})")

    def _if(self, stmt: If, level: int) -> None:
        self.line(level, f"if {'rarely ' * stmt.rare}{self.expr(stmt.cond)} {{")
        self.block(stmt.then, level + 1)
        self.line(level + 1, f"yield ({self._many([yes for _, yes, _ in stmt.results])})")
        self.line(level, "} else {")
        self.block(stmt.orelse, level + 1)
        self.line(level + 1, f"yield ({self._many([no for _, _, no in stmt.results])})")
        self._results([out for out, _, _ in stmt.results], level)

    def _switch(self, stmt: Switch, level: int) -> None:
        self.line(level, f"switch {self.expr(stmt.index)} {{")
        for k, branch in enumerate(stmt.branches):
            self.line(level, "case {")
            self.block(branch, level + 1)
            self.line(level + 1, f"yield ({self._many([values[k] for _, values in stmt.results if k < len(values)])})")
            self.line(level, "}")
        self._results([out for out, _ in stmt.results], level)

    def _results(self, outs: list[Expr], level: int) -> None:
        self.line(level, f"}} -> ({', '.join(f'{out.attr}: {out.dtype}' for out in outs)})")


def _typed(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.dtype}[{buffer.size}]"


def _operation(expr: Expr, args: list[str]) -> str:
    match expr.op:
        case "const":
            return constant_text(expr.attr)
        case "var":
            return expr.attr
        case "load":
            return f"{expr.attr.name}[{' if '.join(args)}]"
        case "convert":
            return f"{expr.dtype}({args[0]})"
        case "bitcast":
            return f"bitcast.{expr.dtype}({args[0]})"
        case "libm":
            return f"libm.{expr.attr}({', '.join(args)})"
        case "lookup":
            return f"lookup.{expr.attr}({args[0]})"
    note = "" if expr.dtype == usual_dtype(expr.op, expr.args) else f".{expr.dtype}"
    return f"{expr.op}{note}({', '.join(args)})"


def constant_text(value: np.generic) -> str:
    """A constant, without its dtype for int64 and bool. NaN is printed as its bits."""
    if value.dtype == BOOL:
        return "true" if value else "false"
    if value.dtype == INT64:
        return str(int(value))
    if value.dtype.kind in "iu":
        return f"{int(value)}:{value.dtype}"
    if value != value:
        return f"0x{int(value.view(f'u{value.dtype.itemsize}')):x}:{value.dtype}"
    return f"{float(value)!r}:{value.dtype}"
