"""Reference interpreter of loop IR, with NumPy; it defines the semantics of functions.

Independent loops with simple bodies are computed for all iterations at once, unless `lanes` is False.
Every access is checked against the size of its buffer.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numjet.cpu.ir import semantics
from numjet.cpu.ir.nodes import (
    KERNEL_STATUS,
    Buffer,
    Call,
    Carry,
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
from numjet.cpu.ir.tables import TABLES
from numjet.cpu.ir.traversal import lazy_postorder, walk
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels.c_library import c_function
from numjet.cpu.kernels.products import SIZES
from numjet.foundation.record import Fields


class Result(Fields):
    """status: 0 or that of the failed check; outputs: one array per output; info: the values of the check."""

    status: int
    outputs: list[np.ndarray]
    info: np.ndarray


class _Leave(Exception):
    """The function returns early with a status."""


def interpret(function: Function, inputs: Sequence[np.ndarray], calls: Mapping[str, Callable[..., Any]] | None = None,
              lanes: bool = True) -> Result:
    """Runs `function` on flat arrays of its inputs' dtypes.

    calls: Python functions for the symbols of `Call` statements; pointers arrive as array views from their offset on.
    Raises IndexError when an access is outside its buffer, ValueError when an input does not fit.
    """
    run = _Run(function, inputs, dict(calls or {}), lanes)
    status = 0
    with np.errstate(all="ignore"):
        try:
            run.block(function.body)
        except _Leave as leave:
            status = leave.args[0]
    return Result(status, [run.memory[b] for b in function.outputs], run.info)


class _Run:
    """Memory and variables of one execution."""

    def __init__(self, function: Function, inputs: Sequence[np.ndarray], calls: dict[str, Callable[..., Any]],
                 lanes: bool):
        self.calls, self.lanes = calls, lanes
        self.values: dict[int, Any] = {}
        self.info = np.zeros(8, np.int64)
        self.memory: dict[Buffer, np.ndarray] = {}
        for buffer, array in zip(function.inputs, inputs, strict=True):
            flat = np.asarray(array).reshape(-1)
            if flat.dtype != buffer.dtype or flat.size != buffer.size:
                raise ValueError(f"input {buffer!r} is {buffer.dtype}[{buffer.size}], got {flat.dtype}[{flat.size}]")
            self.memory[buffer] = flat
        arena = np.zeros(function.scratch_bytes, np.uint8)
        for buffer in function.temps:
            start = arena.size if buffer.offset is None else buffer.offset
            placed = start + buffer.nbytes <= arena.size
            self.memory[buffer] = (arena[start:start + buffer.nbytes].view(buffer.dtype) if placed
                                   else np.zeros(buffer.size, buffer.dtype))
        self.memory.update({b: np.zeros(b.size, b.dtype) for b in function.outputs})
        self.memory.update({b: np.asarray(b.data).reshape(-1) for b in function.consts})

    # --- expressions ---

    def value(self, expr: Expr) -> Any:
        """The value of an expression now."""
        now: dict[int, Any] = {}
        for e in lazy_postorder(expr, now, lambda e: self._operands(e, now)):
            now[e.id] = self._evaluate(e, [now.get(a.id) for a in e.args])
        return now[expr.id]

    @staticmethod
    def _operands(expr: Expr, now: dict[int, Any]) -> tuple[Expr, ...]:
        """The operands to evaluate: a `rare` value only if some lane needs it."""
        if expr.op == "select_rare":
            cond, _, usual = expr.args
            if cond.id not in now:
                return (cond,)
            if not np.any(now[cond.id]):
                return (cond, usual)
        return expr.args

    def _evaluate(self, expr: Expr, args: list[Any]) -> Any:
        match expr.op:
            case "const":
                return expr.attr
            case "var":
                return self.values[expr.id]
            case "load":
                return self._at(expr.attr, *args)
            case "convert":
                return semantics.convert(np.asarray(args[0]), expr.dtype)[()]
            case "bitcast":
                return semantics.bitcast(np.asarray(args[0]), expr.dtype)[()]
            case "select_rare":
                return np.where(args[0], args[2] if args[1] is None else args[1], args[2])[()]
            case "libm":
                return _libm(expr.attr, args)[()]
            case "lookup":
                return TABLES[expr.attr][args[0] % len(TABLES[expr.attr])]
        return np.asarray(semantics.apply(expr.op, *map(np.asarray, args)))[()]

    def _at(self, buffer: Buffer, index: Any, guard: Any = True) -> Any:
        if not np.all(guard):
            index = np.broadcast_to(index, np.broadcast_shapes(np.shape(index), np.shape(guard)))
            found = np.zeros(index.shape, buffer.dtype)
            wanted = np.broadcast_to(guard, index.shape)
            self._inside(buffer, index[wanted])
            found[wanted] = self.memory[buffer][index[wanted]]
            return found[()]
        self._inside(buffer, index)
        return self.memory[buffer][index]

    def _inside(self, buffer: Buffer, index: Any) -> None:
        if np.any((np.asarray(index) < 0) | (np.asarray(index) >= buffer.size)):
            raise IndexError(f"index {index} is outside of {buffer!r} with {buffer.size} elements")

    # --- statements ---

    def block(self, stmts: list[Stmt]) -> None:
        """Executes statements in order."""
        for stmt in stmts:
            _EXECUTE[type(stmt)](self, stmt)

    def _let(self, stmt: Let) -> None:
        self.values[stmt.var.id] = self.value(stmt.value)

    def _store(self, stmt: Store) -> None:
        index = self.value(stmt.index)
        self._inside(stmt.buffer, index)
        self.memory[stmt.buffer][index] = self.value(stmt.value)

    def _for(self, stmt: For) -> None:
        start, stop = int(self.value(stmt.start)), int(self.value(stmt.stop))
        carried = [self.value(c.init) for c in stmt.carries]
        if self.lanes and stop - start > 1 and _simple(stmt):
            results = self._all_at_once(stmt, start, stop, carried)
        else:
            for position in range(start, stop):
                self.values[stmt.var.id] = np.int64(position)
                carried = self._step(stmt.carries, stmt.body, carried)
            results = carried
        self._bind([c.out for c in stmt.carries], results)

    def _step(self, carries: list[Carry], body: list[Stmt], carried: list[Any]) -> list[Any]:
        self._bind([c.var for c in carries], carried)
        self.block(body)
        return [self.value(c.next) for c in carries]

    def _all_at_once(self, stmt: For, start: int, stop: int, carried: list[Any]) -> list[Any]:
        """Each iteration is a lane; a carry is combined over the lanes' terms."""
        self.values[stmt.var.id] = np.arange(start, stop)
        neutral = [identity(str(c.combine), c.var.dtype) for c in stmt.carries]
        terms = self._step(stmt.carries, stmt.body, neutral)
        self.values[stmt.var.id] = np.int64(stop - 1)
        return [_reduce(c, init, np.broadcast_to(term, stop - start))
                for c, init, term in zip(stmt.carries, carried, terms, strict=True)]

    def _while(self, stmt: While) -> None:
        carried = [self.value(c.init) for c in stmt.carries]
        while True:
            self._bind([c.var for c in stmt.carries], carried)
            self.block(stmt.cond_body)
            if not self.value(stmt.cond):
                break
            self.block(stmt.body)
            carried = [self.value(c.next) for c in stmt.carries]
        self._bind([c.out for c in stmt.carries], carried)

    def _if(self, stmt: If) -> None:
        chosen = bool(self.value(stmt.cond))
        self.block(stmt.then if chosen else stmt.orelse)
        self._bind([r[0] for r in stmt.results], [self.value(r[1] if chosen else r[2]) for r in stmt.results])

    def _switch(self, stmt: Switch) -> None:
        which = int(self.value(stmt.index))
        self.block(stmt.branches[which])
        self._bind([r[0] for r in stmt.results], [self.value(r[1][which]) for r in stmt.results])

    def _bind(self, variables: list[Expr], values: list[Any]) -> None:
        for var, value in zip(variables, values, strict=True):
            self.values[var.id] = value

    def _range(self, buffer: Buffer, start: Expr, count: int) -> slice:
        first = int(self.value(start))
        if count > 0:
            self._inside(buffer, np.array([first, first + count - 1]))
        return slice(first, first + max(count, 0))

    def _copy(self, stmt: Copy) -> None:
        count = int(self.value(stmt.count))
        source = self.memory[stmt.source][self._range(stmt.source, stmt.source_start, count)].copy()
        self.memory[stmt.target][self._range(stmt.target, stmt.target_start, count)] = source

    def _swap(self, stmt: SwapBuffers) -> None:
        self.memory.update(zip(stmt.targets, [self.memory[b] for b in stmt.sources], strict=True))

    def _fill(self, stmt: Fill) -> None:
        place = self._range(stmt.target, stmt.start, int(self.value(stmt.count)))
        self.memory[stmt.target][place] = self.value(stmt.value)

    def _call(self, stmt: Call) -> None:
        if stmt.symbol not in self.calls:
            raise KeyError(f"no Python function was given for the symbol '{stmt.symbol}'")
        args = [self.memory[a[0]][int(self.value(a[1])):] if isinstance(a, tuple) else self.value(a) for a in stmt.args]
        status = self.calls[stmt.symbol](*args)
        if stmt.checked and status:
            raise _Leave(int(status) | KERNEL_STATUS)

    def _gemm_with_epilogue(self, stmt: GemmWithEpilogue) -> None:
        """All of the result is one part."""
        self.memory.setdefault(stmt.result, np.zeros(stmt.result.size, stmt.result.dtype))
        self._call(stmt)
        batch, m, n, _ = (int(self.value(a)) for a in stmt.args[SIZES])  # type: ignore[arg-type]
        self._bind(list(stmt.bounds), [0, batch * m, 0, n])
        self.block(stmt.body)

    def _check(self, stmt: Check) -> None:
        if not self.value(stmt.ok):
            self.info[1:1 + len(stmt.values)] = [self.value(v) for v in stmt.values]
            raise _Leave(stmt.code)

    def _comment(self, stmt: Comment) -> None:
        pass


_EXECUTE: dict[type, Callable[[_Run, Any], None]] = {
    Let: _Run._let, Store: _Run._store, For: _Run._for, While: _Run._while, If: _Run._if, Switch: _Run._switch,
    Copy: _Run._copy, Fill: _Run._fill, SwapBuffers: _Run._swap, Call: _Run._call, GemmWithEpilogue: _Run._gemm_with_epilogue,
    Check: _Run._check, Comment: _Run._comment,
}


def _simple(loop: For) -> bool:
    """Whether NumPy may compute all iterations at once."""
    independent = loop.mode in ("vector", "parallel") and all(c.combine for c in loop.carries)
    return independent and all(isinstance(s, Let | Store | Comment) for s in walk(loop.body))


def _reduce(carry: Carry, init: Any, terms: np.ndarray) -> Any:
    """The combination of all lanes and the value before the loop."""
    while len(terms) > 1:
        half = len(terms) // 2
        pairs = semantics.apply(str(carry.combine), terms[:half], terms[half:2 * half])
        terms = np.concatenate([pairs, terms[2 * half:]])
    return semantics.apply(str(carry.combine), np.asarray(init), terms[0])[()]


def _libm(name: str, args: list[Any]) -> Any:
    function = c_function(name)
    if function is None:
        raise NotImplementedError(f"the C library has no function '{name}'")
    dtype = np.asarray(args[0]).dtype
    kind = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    function.restype, function.argtypes = kind, [kind] * len(args)
    return np.vectorize(function, otypes=[dtype])(*args)
