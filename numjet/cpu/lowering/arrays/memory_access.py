"""Loads and stores of array elements in memory, compound ones (complex numbers, PRNG keys) as two numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import Buffer, Fill, Store
from numjet.cpu.lowering.arrays.values import Pair, Scalar, Storage, parts_dtype
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.scalars import Scalars


class MemoryAccess:
    """Elements of storages by row-major position."""

    def __init__(self, ir: FunctionBuilder, scalars: Scalars):
        self.ir, self.scalars = ir, scalars

    def load(self, storage: Storage, dtype: np.dtype, position: Any) -> Any:
        """An element, loaded only where the conditions of `if_` and `when` hold."""
        if self.ir.checker is not None:
            self.ir.checker.load(storage.buffer)
        if parts_dtype(dtype) is None:
            return self._load_number(storage.buffer, storage.base + position)
        first = storage.base + position * 2
        return Pair(self._load_number(storage.buffer, first), self._load_number(storage.buffer, first + 1), dtype)

    def _load_number(self, buffer: Buffer, position: Any) -> Scalar:
        ir = self.ir
        if buffer.size == 0:
            return self.scalars.const(0, buffer.dtype)
        expr = ir.terms.index(position).expr
        if ir.guards:
            safe = ir.guards[0]
            for g in ir.guards[1:]:
                safe = self.scalars.prim("and", safe, g)
            if not (safe.expr.op == "const" and safe.expr.attr):
                return Scalar(ir.terms, ir.table.make("load", buffer.dtype, (expr, safe.expr), buffer))
        return Scalar(ir.terms, ir.table.load(buffer, expr))

    def store(self, storage: Storage, position: Any, value: Any) -> None:
        """Writes an element."""
        if isinstance(value, Pair):
            first = storage.base + position * 2
            for k, part in enumerate(value.parts):
                self.ir.emit(Store(storage.buffer, (first + k).expr, part.expr))
        else:
            self.ir.emit(Store(storage.buffer, (storage.base + position).expr, value.expr))

    def fill(self, storage: Storage, value: Scalar, count: int) -> None:
        """Writes one value to the first elements."""
        self.ir.emit(Fill(storage.buffer, storage.base.expr, value.expr, self.ir.table.index(count)))
