"""Calls of native kernels and Python functions, and checks that leave the program with an error."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import BOOL, CALLBACK, RAISES, Call, Check, If, Stmt
from numjet.cpu.kernels.callbacks import Trampoline
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.values import LoweredArray


class LibraryCalls:
    """Writes calls and checks. trampolines: the Python functions that are called, by symbol."""

    STATE = ("trampolines",)

    def __init__(self, updates: ArrayUpdates):
        self.updates, self.materialization = updates, updates.materialization
        self.ir, self.scalars = updates.ir, updates.scalars
        self.trampolines: dict[str, Trampoline] = {}

    def kernel(self, symbol: str, args: Sequence[Any], outs: Sequence[ShapedArray], *,
               checked: bool = False) -> list[LoweredArray]:
        """Calls a C function: integers by value, arrays as pointers, then pointers to the results."""
        self.ir.allocation.require_memory()
        call_args: list[Any] = []
        results, reads, writes = [], [], []
        for a in args:
            if isinstance(a, LoweredArray):
                storage = self.materialization.in_memory(a, f"operand of the library call {symbol}")
                reads.append(storage.buffer)
                call_args.append((storage.buffer, storage.base.expr))
            elif isinstance(a, tuple):
                own = self._own_in_memory(a[1])
                results.append(own)
                writes.append(own.storage.buffer)
                call_args.append((own.storage.buffer, own.storage.base.expr))
            else:
                call_args.append(self.scalars.scalar(a).expr)
        for aval in outs:
            out = LoweredArray(aval, self.ir.allocation.temporary(aval))
            results.append(out)
            writes.append(out.storage.buffer)
            call_args.append((out.storage.buffer, self.ir.table.index(0)))
        self.ir.emit(Call(symbol, call_args, tuple(reads), (*writes,), checked))
        return results

    def _own_in_memory(self, x: LoweredArray) -> LoweredArray:
        if x.storage is not None:
            return self.updates.own(x)
        out = LoweredArray(x.aval, self.ir.allocation.temporary(x.aval))
        self.materialization.copy_into(x, out.storage)
        return out

    def callback(self, fun: Callable[..., Sequence[np.ndarray]], args: Sequence[LoweredArray],
                 outs: Sequence[ShapedArray], raises: bool = False) -> list[LoweredArray]:
        """Calls a Python function of NumPy arrays, here and now. raises: it only raises an error."""
        made = Trampoline(fun, [a.aval for a in args], outs)
        symbol = f"{RAISES if raises else CALLBACK}{len(self.trampolines)}"
        self.trampolines[symbol] = made
        return self.kernel(symbol, args, outs, checked=True)

    def check(self, ok: Any, error: Callable[..., Exception], *values: Any, deferrable: bool = False,
              found: Callable[[], Sequence[Any]] | None = None, value: Any = None) -> Any:
        """Leaves the program with error(*values) when ok is false. deferrable: what follows may run before the check. found:
        more values, computed where the check fails only. value: the result is this scalar, or 0 where the check fails."""
        self.ir.function.errors.append(error)
        code = len(self.ir.function.errors)
        if found is None:
            self.ir.emit(self._check(ok, code, values, deferrable))
            return value
        block: list[Stmt] = []
        with self.ir.inside(block):
            more = found()
            self.ir.emit(self._check(self.scalars.const(False, BOOL), code, [*values, *more], deferrable))
        results = []
        if value is not None:
            out = self.ir.table.var(value.dtype)
            results.append((out, self.scalars.const(0, value.dtype).expr, value.expr))
            value = self.scalars.wrap(out)
        self.ir.emit(If(self.scalars.prim("not", ok).expr, block, [], results, rare=True))
        return value

    def _check(self, ok: Any, code: int, values: Sequence[Any], deferrable: bool) -> Check:
        return Check(ok.expr, code, tuple(self.scalars.scalar(v).expr for v in values), deferrable)
