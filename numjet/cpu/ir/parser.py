"""Recursive-descent parser of the text of `printer.show`."""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from numjet.cpu.ir.nodes import (
    ARITHMETIC,
    BOOL,
    INT64,
    MATH,
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Expr,
    Exprs,
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
from numjet.cpu.ir.tables import TABLES
from numjet.cpu.ir.types import usual_dtype

_TOKEN = re.compile(r"""\s*(\#[^\n]*|"(?:[^"\\]|\\.)*"|->|\.\.(?!\d)|0x[0-9a-f]*|-?(?:inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)"""
                    r"""(?![\w.])|\$\d+|[A-Za-z_][\w.]*|[^\s\w])""")
_DTYPES = {name: np.dtype(name) for name in ("bool", "float16", "float32", "float64")}
_DTYPES |= {name: np.dtype(name) for bits in (8, 16, 32, 64) for name in (f"int{bits}", f"uint{bits}")}
_DTYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
_OPERANDS = {**ARITHMETIC, **MATH, **dict.fromkeys([*_DTYPES, "bitcast", "lookup"], 1), "select_rare": 3}


class LoopSyntaxError(ValueError):
    """Text that is not loop IR; the message has the line, the expected token and the actual one."""


def parse(text: str) -> Function:
    """The function with the text of `printer.show`; # begins a comment. Raises LoopSyntaxError.

    Example:
        >>> parse("function f() -> (y: int64[1]) scratch 0 { store y[0] = add(1, 2) }").outputs
        [%y]
    """
    return _Parser(text).function()


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str):
        found = [(m.group(1), m.start(1)) for m in _TOKEN.finditer(text) if not m.group(1).startswith("#")]
        self.text, self.tokens, self.starts = text, [token for token, _ in found], [start for _, start in found]
        self.at = 0
        self.exprs = Exprs()
        self.names: dict[str, Expr] = {}
        self.buffers: dict[str, Buffer] = {}

    # --- tokens ---

    @property
    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else "the end"

    def take(self) -> str:
        token = self.token
        self.at += 1
        return token

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises LoopSyntaxError at the line of a token, by default the last one taken."""
        at = self.at - 1 if at is None else at
        end = self.starts[at] if at < len(self.starts) else len(self.text.rstrip())
        raise LoopSyntaxError(f"line {self.text.count(chr(10), 0, end) + 1}: {message}")

    def accept(self, *tokens: str) -> bool:
        """Consumes `tokens` if they come next, and returns whether they did."""
        found = self.tokens[self.at:self.at + len(tokens)] == list(tokens)
        self.at += len(tokens) if found else 0
        return found

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if self.token != token:
                near = " ".join(self.tokens[max(0, self.at - 8):self.at])
                self.fail(f"expected '{token}', got '{self.token}', after: {near}", self.at)
            self.at += 1

    def number(self) -> int:
        token = self.take()
        if not token.lstrip("-").isdigit():
            self.fail(f"expected a whole number, got '{token}'")
        return int(token)

    def dtype(self) -> np.dtype:
        """The dtype of a name such as "bfloat16"."""
        name = self.take()
        return _DTYPES[name] if name in _DTYPES else self.fail(f"expected a dtype ({', '.join(_DTYPES)}), got '{name}'")

    def many(self, item: Callable[[], Any], end: str = ")") -> list[Any]:
        """Comma-separated items up to the closing token."""
        found = []
        while not self.accept(end):
            if self.at >= len(self.tokens):
                self.fail(f"expected '{end}', got the end", self.at)
            found.append(item())
            if self.token != end:
                self.expect(",")
        return found

    # --- function ---

    def function(self) -> Function:
        self.expect("function")
        name = self.take()
        self.expect("(")
        inputs = self.many(lambda: self._buffer("input"))
        self.expect("->", "(")
        outputs = self.many(lambda: self._buffer("output"))
        self.expect("scratch")
        scratch = self.number()
        self.expect("{")
        function = Function(name, inputs, outputs, self.exprs, scratch_bytes=scratch)
        while self.token in ("temp", "const"):
            self._inner_buffer(function)
        function.body = self.block()
        suffixes = [int(m.group(1)) for n in self.names if (m := re.search(r"(\d+)$", n)) and not n.startswith("$")]
        self.exprs.counter = max(suffixes, default=0)
        return function

    def _buffer(self, kind: str) -> Buffer:
        name = self.take()
        self.expect(":")
        dtype = self.dtype()
        self.expect("[")
        buffer = self.buffers[name] = Buffer(name, dtype, self.number(), kind)
        self.expect("]")
        return buffer

    def _inner_buffer(self, function: Function) -> None:
        if self.accept("temp"):
            buffer = self._buffer("temp")
            buffer.offset = self.number() if self.accept("at") else None
            function.temps.append(buffer)
            return
        self.expect("const")
        buffer = self._buffer("const")
        self.expect("=")
        buffer.data = np.frombuffer(bytes.fromhex(self.take()[2:]), buffer.dtype)
        function.consts.append(buffer)

    # --- expressions ---

    def var(self, dtype: np.dtype | None = None) -> Expr:
        """Binds a name; reads its dtype unless that is given."""
        name = self.take()
        if dtype is None:
            self.expect(":")
            dtype = self.dtype()
        found = self.names[name] = self.exprs.make("var", dtype, (), name)
        return found

    def expr(self) -> Expr:
        """One expression."""
        token = self.take()
        if token in ("true", "false"):
            return self.exprs.const(token == "true", BOOL)
        if token[0] in "-0123456789" or token == "inf":
            return self._number(token)
        if token in self.buffers and self.accept("["):
            args: tuple[Expr, ...] = (self.expr(),)
            args += (self.expr(),) if self.accept("if") else ()
            self.expect("]")
            return self.exprs.make("load", self.buffers[token].dtype, args, self.buffers[token])
        if token in self.names:
            return self.names[token]
        if not self.accept("("):
            self.fail(f"expected an expression, got '{token}'")
        return self._operation(token, tuple(self.many(self.expr)))

    def _number(self, token: str) -> Expr:
        if not self.accept(":"):
            if not token.lstrip("-").isdigit():
                self.fail(f"expected ':' and a dtype after {token}")
            return self.exprs.index(int(token))
        dtype = self.dtype()
        if token.startswith("0x"):
            bits = np.array(int(token, 16), f"u{dtype.itemsize}")
            return self.exprs.make("const", dtype, (), bits.view(dtype)[()])
        return self.exprs.const(int(token) if dtype.kind in "iu" else float(token), dtype)

    def _operation(self, name: str, args: tuple[Expr, ...]) -> Expr:
        op, _, note = name.partition(".")
        count = len(args) if op == "libm" else _OPERANDS.get(op)
        if count is None:
            self.fail(f"expected an operation, got '{name}'")
        if len(args) != count or not args:
            self.fail(f"expected {max(1, count)} operands of '{name}', got {len(args)}")
        if name in _DTYPES:
            return self.exprs.make("convert", _DTYPES[name], args)
        if op == "libm":
            return self.exprs.make("libm", args[0].dtype, args, note)
        if op == "lookup":
            return self._lookup(note, args[0])
        if note and note not in _DTYPES:
            self.fail(f"expected a dtype ({', '.join(_DTYPES)}), got '{note}'")
        return self.exprs.make(op, _DTYPES[note] if note else usual_dtype(op, args), args)

    def _lookup(self, table: str, index: Expr) -> Expr:
        if table not in TABLES:
            self.fail(f"expected a table, one of {', '.join(TABLES)}; got '{table}'")
        return self.exprs.lookup(table, index)

    def _place(self) -> tuple[Buffer, Expr]:
        buffer = self._known_buffer()
        self.expect("[")
        index = self.expr()
        self.expect("]")
        return buffer, index

    def _known_buffer(self) -> Buffer:
        name = self.take()
        return self.buffers[name] if name in self.buffers else self.fail(f"expected a buffer, got '{name}'")

    # --- statements ---

    def block(self, *ends: str) -> list[Stmt]:
        """Statements up to `}`, which is consumed, or up to one of `ends`, which is not."""
        found: list[Stmt] = []
        while self.token not in ends:
            if not ends and self.accept("}"):
                break
            if self.token.startswith("$"):
                name = self.take()
                self.expect("=")
                self.names[name] = self.expr()
                continue
            found.append(self._stmt())
        return found

    def _stmt(self) -> Stmt:
        word = self.take()
        read = getattr(self, f"_{word}", None) if word in _STATEMENTS else None
        if read is None:
            self.fail(f"expected a statement ({', '.join(_STATEMENTS)}), got '{word}'")
        return read()

    def _let(self) -> Stmt:
        var = self.var()
        self.expect("=")
        return Let(var, self.expr())

    def _store(self) -> Stmt:
        buffer, index = self._place()
        self.expect("=")
        return Store(buffer, index, self.expr())

    def _copy(self) -> Stmt:
        target, target_start = self._place()
        self.expect("=")
        source, source_start = self._place()
        self.expect("count")
        return Copy(target, target_start, source, source_start, self.expr())

    def _fill(self) -> Stmt:
        target, start = self._place()
        self.expect("=")
        value = self.expr()
        self.expect("count")
        return Fill(target, start, value, self.expr())

    def _swap(self) -> Stmt:
        self.expect("(")
        targets = self.many(self._known_buffer)
        self.expect("=", "(")
        return SwapBuffers(tuple(targets), tuple(self.many(self._known_buffer)))

    def _call(self) -> Stmt:
        symbol = self.take()
        self.expect("(")
        args = self.many(lambda: self._place() if self.accept("&") else self.expr())
        self.expect("reads", "(")
        reads = tuple(self.many(self._known_buffer))
        self.expect("writes", "(")
        writes = tuple(self.many(self._known_buffer))
        limits: list[tuple[int, Expr]] = []
        while self.accept("limit"):
            limits.append((self.number(), self.expr()))
        return Call(symbol, args, reads, writes, self.accept("checked"), tuple(limits))

    def _gemm(self) -> Stmt:
        if self.accept("of"):
            self._buffer("tile")
        call = self._call()
        assert isinstance(call, Call)
        whole = self.accept("whole")
        bounds = (*self._pair("rows"), *self._pair("columns"))
        self.expect("{")
        parts = (call.symbol, call.args, call.reads, call.writes, call.checked, call.limits)
        return GemmWithEpilogue(*parts, bounds, self.block(), whole)

    def _pair(self, word: str) -> list[Expr]:
        """Two new variables in brackets after a word."""
        self.expect(word, "(")
        names = self.many(self.take)
        for name in names:
            self.names[name] = self.exprs.make("var", INT64, (), name)
        return [self.names[name] for name in names]

    def _check(self) -> Stmt:
        ok = self.expr()
        self.expect("code")
        code = self.number()
        self.expect("values", "(")
        return Check(ok, code, tuple(self.many(self.expr)), self.accept("deferrable"))

    def _note(self) -> Stmt:
        text, file = self._string(), self._string()
        return Comment(text, file or None, self.number())

    def _string(self) -> str:
        token = self.take()
        return json.loads(token) if token.startswith('"') else self.fail(f"expected a string, got '{token}'")

    def _carries(self) -> list[Carry]:
        """The carries in the head of a loop; `next` and `out` are placeholders until `_ends` reads them."""
        self.expect("(")
        pairs = self.many(self._carry)
        self.expect("{")
        carries = []
        for name, dtype, init in pairs:
            var = self.names[name] = self.exprs.make("var", dtype, (), name)
            carries.append(Carry(var, init, var, var))
        return carries

    def _carry(self) -> tuple[str, np.dtype, Expr]:
        name = self.take()
        self.expect(":")
        dtype = self.dtype()
        self.expect("=")
        return name, dtype, self.expr()

    def _ends(self, carries: list[Carry]) -> None:
        """The end of a loop: the next values and the names of the results."""
        for carry in carries:
            self._named_before("next")
            self.expect("next", carry.var.attr, "=")
            carry.next = self.expr()
            if self.accept("combine"):
                carry.combine = self.take()
                carry.term = self.expr()
        self.expect("}", "->", "(")
        for k, carry in enumerate(carries):
            if k:
                self.expect(",")
            carry.out = self.var(carry.var.dtype)
        self.expect(")")

    def _named_before(self, word: str) -> None:
        if self.block(word):
            self.fail(f"expected '{word}' at the end of the block", self.at)

    def _for(self) -> Stmt:
        name = self.take()
        self.expect("in")
        start = self.expr()
        self.expect("..")
        stop = self.expr()
        limit = self.expr() if self.accept("limit") else None
        mode, fused, cancel = self.take(), self.accept("fused"), self._cancellation_point()
        independent = self.accept("independent")
        carries = self._carries()
        var = self.names[name] = self.exprs.make("var", INT64, (), name)
        body = self.block("next", "}")
        self._ends(carries)
        return For(var, start, stop, body, carries, mode, fused, cancel, limit, independent)

    def _while(self) -> Stmt:
        idempotent_after_exit, cancel = self.accept("idempotent_after_exit"), self._cancellation_point()
        carries = self._carries()
        cond_body = self.block("test")
        self.expect("test")
        cond = self.expr()
        body = self.block("next", "}")
        self._ends(carries)
        return While(carries, cond_body, cond, body, idempotent_after_exit, cancel)

    def _cancellation_point(self) -> int | None:
        return self.number() if self.accept("cancellation_point") else None

    def _branch(self) -> tuple[list[Stmt], list[Expr]]:
        body = self.block("yield")
        self.expect("yield", "(")
        values = self.many(self.expr)
        self.expect("}")
        return body, values

    def _if(self) -> Stmt:
        rare, cond = self.accept("rarely"), self.expr()
        self.expect("{")
        then, yes = self._branch()
        self.expect("else", "{")
        orelse, no = self._branch()
        self.expect("->", "(")
        outs = self.many(self.var)
        return If(cond, then, orelse, [(out, *values) for out, values in self._results(outs, [yes, no])], rare)

    def _switch(self) -> Stmt:
        index = self.expr()
        self.expect("{")
        branches, values = [], []
        while not self.accept("}"):
            self._named_before("case")
            self.expect("case", "{")
            branch, results = self._branch()
            branches.append(branch)
            values.append(results)
        self.expect("->", "(")
        outs = self.many(self.var)
        return Switch(index, branches, self._results(outs, values))

    def _results(self, outs: list[Expr], values: list[list[Expr]]) -> list[Any]:
        """The results of branches: each variable with its value in every branch."""
        if any(len(yielded) != len(outs) for yielded in values):
            self.fail(f"expected {len(outs)} results of each branch, got {', '.join(str(len(yielded)) for yielded in values)}")
        return list(zip(outs, zip(*values, strict=True), strict=True)) if outs else []


_STATEMENTS = ("let", "store", "copy", "fill", "swap", "call", "gemm", "check", "note", "for", "while", "if",
               "switch")
