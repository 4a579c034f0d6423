"""Arrays for lowering rules: implements core.emit.LoopBuilder, control flow excepted (see control.py).

Elementwise operations and data movement only make definitions; memory is written when a rule asks for it
(`materialize`), when a kernel or a loop needs it, or at the end of a block. Arrays of a few elements are kept in
registers, their loops written out.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import (
    CALLBACK,
    INT64,
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Exprs,
    Fill,
    For,
    Function,
    If,
    Let,
    Stmt,
    Store,
)
from numjet.cpu.ir.traversal import nodes
from numjet.cpu.kernels.callbacks import Trampoline
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.read_checks import Reads
from numjet.cpu.lowering.scalars import Scalars
from numjet.cpu.lowering.transpose_tiling import in_squares, read_across
from numjet.cpu.lowering.values import LoweredArray, Pair, Scalar, Storage, delinearize, linear, parts_dtype
from numjet.cpu.remarks import Recorder
from numjet.foundation.config import config

SMALL = 16            # elements of an array that is kept in registers inside of a loop
SMALL_ONCE = 8        # and outside of loops, where written-out code runs once
SHORT_REDUCTION = 8   # terms of a reduction that is written out
MOST_PIECES = 16      # of a concatenation that is stored piece by piece
LONG_PIECE = 16       # elements in a row of such pieces, on average
SHORT_ROW = 8         # elements of last axes that are written out, so that lanes go along the axis before


class Builder(Scalars):
    """State of one function being lowered."""

    def __init__(self, name: str, recorder: Recorder | None = None):
        self.recorder = recorder
        self.function = Function(name, [], [], Exprs())
        super().__init__(self.function.exprs)
        self.blocks: list[list[Stmt]] = [self.function.body]
        self.guards: list[Scalar] = []
        self.live: Callable[[], Iterator[LoweredArray]] = lambda: iter(())
        self.counter = 0
        self.limit = SMALL  # inside of loops, see scalarization.py
        self.trampolines: dict[str, Trampoline] = {}
        self.open_registers: list[LoweredArray] = []
        self.reads = Reads() if config.enable_checks else None

    # ------------------------------------------------------------------------------------------ blocks and buffers
    @property
    def block(self) -> list[Stmt]:
        return self.blocks[-1]

    @property
    def small(self) -> int:
        """How many elements an array may have to be kept in registers here."""
        return self.limit if len(self.blocks) > 1 else SMALL_ONCE

    @property
    def written_out(self) -> int:
        """How many elements a result may have that a rule writes out by itself."""
        return SMALL

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    @contextmanager
    def inside(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to `block`. Writable arrays in registers made there end with it."""
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()
            self.open_registers = [x for x in self.open_registers if x.block is not block]

    def comment(self, text: str, file: str | None = None, line: int = 0) -> None:
        self.emit(Comment(text, file, line))

    def buffer(self, dtype: np.dtype, size: int, kind: str = "temp", hint: str = "t", data: Any = None) -> Buffer:
        """A new buffer for `size` elements of any dtype (compound elements take two)."""
        part = parts_dtype(dtype)
        self.counter += 1
        made = Buffer(f"{hint}{self.counter}", part or dtype, size * (2 if part is not None else 1), kind, data)
        {"temp": self.function.temps, "const": self.function.consts, "input": self.function.inputs,
         "output": self.function.outputs}[kind].append(made)
        if self.recorder is not None:
            self.recorder.buffer(made)
        return made

    def temporary(self, aval: ShapedArray) -> Storage:
        return Storage(self.buffer(aval.dtype, aval.size), self.terms.index(0), True)

    def let(self, x: Any) -> Any:
        """Pins a scalar to this point of the program."""
        if isinstance(x, Pair):
            return Pair(self, self.let(x.parts[0]), self.let(x.parts[1]), x.dtype)
        if x.expr.op in ("const", "var"):
            return x
        var = self.table.var(x.dtype)
        if x.dtype == INT64:
            self.terms.bounds[var] = self.terms.index(x).bounds
        self.emit(Let(var, x.expr))
        return Scalar(self, var)

    # ------------------------------------------------------------------------------------------ reading
    def read(self, x: LoweredArray, *index: Any) -> Any:
        """Element of an array."""
        if self.reads is not None:
            self.reads.read(x)
        index = tuple([i if type(i) is int else self.index(i) for i in index])
        if x.elems is not None:
            return self._read_register(x, linear(x.shape, index))
        if x.storage is not None:
            return self.load(x.storage, x.dtype, linear(x.shape, index))
        return self._define(x, self._key(index), index, False)

    def _key(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a definition's value at an index depends on: the index, and the conditions it is read under."""
        return (*[i if isinstance(i, int) else (i.expr.id,) for i in index], *[-1 - g.expr.id for g in self.guards])

    def read_flat(self, x: LoweredArray, position: Any) -> Any:
        """Element by row-major position; x has storage, registers or a flat definition."""
        if self.reads is not None:
            self.reads.read(x)
        if x.elems is not None:
            return self._read_register(x, position)
        if x.storage is not None:
            return self.load(x.storage, x.dtype, position)
        return self._define(x, ("flat", *self._key((position,))), (position,), True)

    def _define(self, x: LoweredArray, key: Any, index: tuple[Any, ...], flat: bool) -> Any:
        """The value of a definition, remembered. Chains of elementwise definitions are worked off without recursion."""
        found = x.memo.get(key)
        if found is not None:
            return found
        stack = [x]
        while stack:
            a = stack[-1]
            waiting = [p for p in a.parents if p.pointwise and p.lazy and p.shape == x.shape and key not in p.memo] \
                if a.pointwise else ()
            if waiting:
                stack.extend(waiting)
                continue
            if key not in a.memo:
                rule = a.flat if flat else a.fn
                a.memo[key] = self.scalar(rule(*index) if self.reads is None else self.reads.define(a, partial(rule, *index)))
                if self.recorder is not None:
                    self.recorder.defined(a, self.block)
            stack.pop()
        return x.memo[key]

    def flat_ready(self, x: LoweredArray) -> bool:
        return not x.lazy or x.flat is not None

    def load(self, storage: Storage, dtype: np.dtype, position: Any) -> Any:
        """Element of memory by row-major position."""
        if self.reads is not None:
            self.reads.load(storage.buffer)
        part = parts_dtype(dtype)
        if part is None:
            return self._load_word(storage.buffer, storage.base + position)
        first = storage.base + position * 2
        return Pair(self, self._load_word(storage.buffer, first), self._load_word(storage.buffer, first + 1), dtype)

    def _load_word(self, buffer: Buffer, position: Any) -> Scalar:
        if buffer.size == 0:
            return self.const(0, buffer.dtype)
        expr = self.terms.index(position).expr
        if self.guards:
            safe = self.guards[0]
            for g in self.guards[1:]:
                safe = self.prim("and", safe, g)
            if safe.expr.op == "const" and safe.expr.attr:
                return Scalar(self, self.table.load(buffer, expr))
            return Scalar(self, self.table.make("load", buffer.dtype, (expr, safe.expr), buffer))
        return Scalar(self, self.table.load(buffer, expr))

    def _read_register(self, x: LoweredArray, position: Any) -> Any:
        if not x.elems:  # what chooses between this and something else will choose that
            return self.const(0, x.dtype)
        if isinstance(position, int):
            return x.elems[position]
        if not position.terms:
            return x.elems[position.const]
        lo, hi = position.bounds
        lo, hi = max(lo, 0), min(hi, x.size - 1)
        if hi - lo >= SMALL // 2 and not x.mutable and not self.guards:
            self.spill(x)
            return self.load(x.storage, x.dtype, position)
        value = x.elems[hi]
        for k in range(hi - 1, lo - 1, -1):
            value = self.select(self.index_compare("eq", position, k), x.elems[k], value)
        return value

    def spill(self, x: LoweredArray) -> None:
        """Moves an array from registers to memory, in the block where the registers were filled."""
        storage = self.temporary(x.aval)
        with self.inside(x.block):
            for k, value in enumerate(x.elems):
                self._store_word(storage, x.dtype, k, value)
        x.place(storage=storage)

    # ------------------------------------------------------------------------------------------ definitions
    def compute(self, shape: Sequence[int], dtype: Any, fn: Callable[..., Any], *, moves: bool = False,
                parents: Sequence[LoweredArray] = (), reads: Sequence[LoweredArray] = (),
                pieces: tuple[Sequence[LoweredArray], int] | None = None) -> LoweredArray:
        """The array out[i, ...] = fn(i, ...). fn reads the operands of the equation, unless `parents` or `reads` say what it
        reads; of parents, cost and depth go to the result's."""
        aval = ShapedArray(tuple(shape), np.dtype(dtype))
        cost = sum(p.cost for p in parents) if moves else 4.0 + sum(p.cost for p in parents)
        out = LoweredArray(aval, fn, parents=tuple(parents), cost=cost)
        if not parents:
            self.reads_from(out, reads)
        out.pieces = pieces
        return out

    def reads_from(self, x: LoweredArray, reads: Sequence[LoweredArray] = ()) -> None:
        """Notes which arrays a definition may read: those, or else all operands of the equation that is being lowered."""
        x.parents = tuple(reads)
        x.cost = max(x.cost, sum(a.cost for a in reads))

    def elementwise(self, fn: Callable[..., Any], *arrays: LoweredArray, dtype: Any = None, cost: float = 1.0) -> LoweredArray:
        """out[i] = fn(*[x[i]]); arrays of rank 0 are read everywhere."""
        shape = max((a.shape for a in arrays), key=len)
        scalar = [a.ndim < len(shape) for a in arrays]

        def at(*index: Any) -> Any:
            return fn(*[self.read(a) if s else self.read(a, *index) for a, s in zip(arrays, scalar, strict=True)])

        def flat(k: Any) -> Any:
            return fn(*[self.read(a) if s else self.read_flat(a, k) for a, s in zip(arrays, scalar, strict=True)])

        ready = all(s or self.flat_ready(a) for a, s in zip(arrays, scalar, strict=True))
        out = ShapedArray(shape, np.dtype(dtype or arrays[0].dtype))
        made = LoweredArray(out, at, flat=flat if ready else None, parents=arrays, cost=cost + sum(a.cost for a in arrays))
        made.pointwise = True
        made.depth = max((a.depth for a in arrays), default=0)
        return made

    def constant(self, value: Any) -> LoweredArray:
        """An array whose elements are part of the program."""
        value = np.asarray(value, order="C")  # which keeps rank 0
        aval = ShapedArray(np.shape(value), value.dtype)
        if not value.dtype.itemsize:
            return self.empty_elements(aval)
        if value.size <= self.small:
            elems = [self.const(v, value.dtype) for v in value.reshape(-1)]
            return LoweredArray(aval, elems=elems, block=self.function.body)
        part = parts_dtype(value.dtype)
        words = value.reshape(-1).view(part) if part is not None else value.reshape(-1)
        return LoweredArray(aval, storage=Storage(self.buffer(value.dtype, value.size, "const", "c", words),
                                                  self.terms.index(0), False))

    def empty_elements(self, aval: ShapedArray) -> LoweredArray:
        """An array of float0, whose elements have no bytes: nothing is read for it, and nothing stored where it is a result."""
        nothing = lambda *index: self.const(None, aval.dtype)
        return LoweredArray(aval, nothing, flat=nothing)

    def reshape(self, x: LoweredArray, shape: Sequence[int]) -> LoweredArray:
        """Same elements in row-major order; memory and registers are shared."""
        shape = tuple(shape)
        aval = x.aval.update(shape=shape)
        if x.elems is not None:
            return LoweredArray(aval, elems=x.elems, block=x.block)
        if x.storage is not None:
            return LoweredArray(aval, storage=x.storage)
        if x.cost > 0 and _squeezed(x.shape) != _squeezed(shape) and x.flat is None and not self.materialize(x).lazy:
            return self.reshape(x, shape)
        fn = lambda *index: self.read(x, *delinearize(x.shape, self.terms.index(linear(shape, index))))
        flat = (lambda k: self.read_flat(x, k)) if x.flat is not None else None
        return LoweredArray(aval, _reshape_reader(self, x, shape) or fn, flat=flat, parents=(x,), cost=x.cost, source=x)

    def transpose(self, x: LoweredArray, permutation: Sequence[int]) -> LoweredArray:
        """out axis d is axis permutation[d] of x; products see through it to the memory of x."""
        places = [list(permutation).index(d) for d in range(x.ndim)]
        out = self.compute([x.shape[d] for d in permutation], x.dtype, lambda *i: self.read(x, *[i[p] for p in places]),
                           moves=True, parents=(x,))
        base, inner = x.view if x.lazy and x.view is not None else (x, tuple(range(x.ndim)))
        out.view = base, tuple(inner[d] for d in permutation)
        return out

    def if_(self, cond: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """Selects lazily: loads of a side only touch memory where its condition holds."""
        if cond.expr.op == "const":
            return then() if cond.expr.attr else orelse()
        with self._guarded(cond):
            a = then()
        with self._guarded(self.prim("not", cond)):
            b = orelse()
        return self.select(cond, a, b)

    @contextmanager
    def _guarded(self, cond: Scalar) -> Iterator[None]:
        self.guards.append(cond)
        try:
            yield
        finally:
            self.guards.pop()

    # ------------------------------------------------------------------------------------------ memory
    def materialize(self, x: LoweredArray, why: str = "") -> LoweredArray:
        """Stores a definition: in registers when it is small, else in memory."""
        if not x.lazy:
            return x
        if x.source is not None:
            source = self.materialize(x.source, why)
            x.place(elems=source.elems, storage=source.storage, block=source.block)
            return x
        if x.size <= self.small:
            if self.recorder is not None:
                self.recorder.kept_in_registers(x, why)
            elems = [self.let(self.read(x, *i)) for i in product(*map(range, x.shape))]
            x.place(elems=elems, block=self.block)
        else:
            self.store_all([(x, self.temporary(x.aval))], why)
        return x

    def in_memory(self, x: LoweredArray, why: str = "") -> Storage:
        """The memory of an array, written now if need be."""
        if x.lazy and x.source is None:
            self.store_all([(x, self.temporary(x.aval))], why)
        else:
            self.materialize(x, why)
        if x.elems is not None:
            self.spill(x)
        return x.storage

    def store_all(self, items: Sequence[tuple[LoweredArray, Storage]], why: str = "") -> None:
        """Writes definitions of one shape into their storages in one loop nest."""
        with nullcontext() if self.recorder is None else self.recorder.storing(items, why):
            if len(items) == 1:
                self._store_one(*items[0])
            elif items[0][0].size > 0:
                self._store_elements(items)
        for x, storage in items:
            x.place(storage=storage)

    def _store_one(self, x: LoweredArray, storage: Storage) -> None:
        if self._long_pieces(x):
            self._store_pieces(x, storage, x.shape, (0,) * x.ndim)
        elif x.size > 0:
            self._store_elements([(x, storage)])

    def pieces(self, x: LoweredArray) -> tuple[Sequence[LoweredArray], int] | None:
        """The arrays that were joined to x, and along which axis, while it is a definition; None for any other array."""
        return x.pieces

    def _long_pieces(self, x: LoweredArray) -> bool:
        """Whether x is several arrays joined, which have so many elements in a row that each is stored by itself."""
        if x.pieces is None or parts_dtype(x.dtype) is not None:
            return False
        parts, axis = x.pieces
        row = prod(x.shape[axis:])
        return len(parts) <= MOST_PIECES and row >= LONG_PIECE * len(parts) and all(p.size > self.small for p in parts)

    def _store_pieces(self, x: LoweredArray, storage: Storage, whole: tuple[int, ...], corner: tuple[int, ...]) -> None:
        """Writes arrays that are joined where they belong, x beginning at an element of an array of the shape `whole`; those
        of one shape in one loop nest."""
        assert x.pieces is not None
        parts, axis = x.pieces
        starts = [0, *accumulate(p.shape[axis] for p in parts)]
        groups: dict[tuple[int, ...], list[tuple[LoweredArray, tuple[int, ...]]]] = {}
        for part, start in zip(parts, starts, strict=False):
            place = (*corner[:axis], corner[axis] + start, *corner[axis + 1:])
            if self._long_pieces(part):
                self._store_pieces(part, storage, whole, place)
            else:
                groups.setdefault(part.shape, []).append((part, place))
        for shape, group in groups.items():
            def body(*index: Any, group: list[tuple[LoweredArray, tuple[int, ...]]] = group) -> None:
                values = [self.let(self.read(part, *index)) for part, _ in group]
                for (_, place), value in zip(group, values, strict=True):
                    position = linear(whole, tuple(i + at if at else i for i, at in zip(index, place, strict=True)))
                    self._store_word(storage, x.dtype, position, value)
            self.nest(shape, body)

    def _store_elements(self, items: Sequence[tuple[LoweredArray, Storage]]) -> None:
        arrays = [x for x, _ in items]
        shape = arrays[0].shape
        flat = all(x.flat is not None for x in arrays) and prod(shape) > self.small
        nest = (prod(shape),) if flat else shape

        def body(*index: Any) -> None:
            values = [self.read_flat(x, index[0]) if flat else self.read(x, *index) for x in arrays]
            if len(values) > 1 or isinstance(values[0], Pair):  # all that is read, before anything is overwritten
                values = [self.let(v) for v in values]
            position = index[0] if flat else linear(shape, index)
            for (x, storage), value in zip(items, values, strict=True):
                self._store_word(storage, x.dtype, position, value)
        across = None if flat else read_across(arrays)
        if across is None:
            self.nest(nest, body)
        else:
            in_squares(self, arrays, across, body)

    def _store_word(self, storage: Storage, dtype: np.dtype, position: Any, value: Any) -> None:
        if isinstance(value, Pair):
            first = storage.base + position * 2
            for k, part in enumerate(value.parts):
                self.emit(Store(storage.buffer, (first + k).expr, part.expr))
        else:
            self.emit(Store(storage.buffer, (storage.base + position).expr, value.expr))

    def nest(self, shape: Sequence[int], body: Callable[..., None], *, mode: str = "vector",
             in_order: int | None = None) -> None:
        """body(i, j, ...) for every index: innermost loop vectorized; written out when short.

        in_order: the axis along which an iteration needs the one before; along all others, order does not matter.
        """
        if prod(shape) == 0:
            return
        if prod(shape) <= self.small:
            for index in product(*map(range, shape)):
                body(*index)
            return
        self._nest(list(shape), (), body, mode, in_order)

    def _nest(self, shape: list[int], done: tuple[Any, ...], body: Callable[..., None], mode: str,
              in_order: int | None = None) -> None:
        if not shape:
            body(*done)
            return
        n, rest = shape[0], shape[1:]
        if n == 1:
            self._nest(rest, (*done, 0), body, mode, in_order)
            return
        left, ordered = prod(rest), len(done) == in_order
        if left <= SHORT_ROW <= n and not ordered:  # lanes along this axis, the short ones written out
            with self.loop_over(n, mode) as i:
                for index in product(*map(range, rest)):
                    body(*done, i, *index)
                if mode == "vector":
                    _group_stores(self.block)
            return
        with self.loop_over(n, mode if left == 1 and not ordered else "serial") as i:
            self._nest(rest, (*done, i), body, mode, in_order)

    @contextmanager
    def loop_over(self, n: Any, mode: str, carries: list[Carry] | None = None, start: Any = 0) -> Iterator[Index]:
        """A For statement around the statements emitted inside."""
        var = self.table.var(INT64, "i")
        hi = n - 1 if isinstance(n, int) else (1 << 40)
        block: list[Stmt] = []
        with self.inside(block):
            yield self.terms.variable(var, (0, max(hi, 0)))
        if self.recorder is not None:
            self.recorder.loop(var, n)
        stop = self.table.index(n) if isinstance(n, int) else self.terms.index(n).expr
        self.emit(For(var, self.terms.index(start).expr, stop, block, carries or [], mode))

    # ------------------------------------------------------------------------------------------ updates
    def own(self, x: LoweredArray) -> LoweredArray:
        """A writable array with the elements of x: in place when nobody reads x later, else a copy."""
        if x.source is not None:
            self.materialize(x)
        if x.lazy and x.size <= self.small:
            self.materialize(x)
        if x.elems is not None:
            out = LoweredArray(x.aval, elems=list(x.elems), block=self.block)
            out.mutable = True
            self.open_registers.append(out)
            return out
        if x.storage is not None and self._may_overwrite(x):
            self._detach(x)
            return LoweredArray(x.aval, storage=x.storage)
        storage = self.temporary(x.aval)
        self._copy_into(x, storage, _why_copied(x))
        return LoweredArray(x.aval, storage=storage)

    def own_around(self, x: LoweredArray, starts: Sequence[Any], sizes: Sequence[int],
                   new: LoweredArray) -> LoweredArray | None:
        """A new writable array with the elements of x around a window; None where x itself is to be updated."""
        places = [self.terms.index(s) for s in starts]
        if x.storage is None or x.size <= self.small or any(p.terms for p in places) or 2 * prod(sizes) < x.size:
            return None
        first = [p.const for p in places]
        if any(k < 0 or k + n > whole for k, n, whole in zip(first, sizes, x.shape, strict=True)):
            return None
        buffer = x.storage.buffer
        reads = any(p.storage is not None and p.storage.buffer is buffer for p in new.reachable())
        if x.storage.owned and (x.storage.base.terms or not reads and self._may_overwrite(x)):
            return None
        storage = self.temporary(x.aval)
        for axis, (low, n, whole) in enumerate(zip(first, sizes, x.shape, strict=True)):
            for begin, count in ((0, low), (low + n, whole - low - n)):
                self._copy_part(x, storage, (*first[:axis], begin), (*sizes[:axis], count, *x.shape[axis + 1:]))
        return LoweredArray(x.aval, storage=storage)

    def _copy_part(self, x: LoweredArray, storage: Storage, starts: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        """Copies a block of an array to the same place of another one."""
        def body(*index: Any) -> None:
            place = tuple(i + s for i, s in zip(index, (*starts, *[0] * (len(sizes) - len(starts))), strict=True))
            self._store_word(storage, x.dtype, linear(x.shape, place), self.read(x, *place))
        self.nest(sizes, body)

    def _copy_into(self, x: LoweredArray, storage: Storage, why: str = "") -> None:
        """Fills a storage with an array, which stays what it is if it has memory already."""
        if x.storage is None:
            twin = LoweredArray(x.aval, lambda *i: self.read(x, *i), flat=(lambda k: self.read_flat(x,
                    k)) if self.flat_ready(x) else None,
                       parents=(x,))
            self.store_all([(twin, storage)], why)
            return
        words = 2 if parts_dtype(x.dtype) is not None else 1
        copy = Copy(storage.buffer, storage.base.expr, x.storage.buffer, x.storage.base.expr, self.table.index(x.size * words))
        if self.recorder is not None:
            self.recorder.copied(copy, x, why)
        self.emit(copy)

    def _may_overwrite(self, x: LoweredArray) -> bool:
        """Whether the memory of x is ours and no other live array is the same memory."""
        if not x.storage.owned:
            return False
        return not any(a is x or (a.storage is not None and a.storage.buffer is x.storage.buffer) for a in self.live())

    def _detach(self, x: LoweredArray) -> None:
        """Stores the live definitions that read the memory of x, before it is overwritten."""
        for a in list(self.live()):
            if a.lazy and any(p.storage is not None and p.storage.buffer is x.storage.buffer for p in a.reachable()):
                self.materialize(a)

    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray:
        """A writable array with undefined elements."""
        aval = ShapedArray(tuple(shape), np.dtype(dtype))
        return self._registers(aval) if aval.size <= self.small else LoweredArray(aval, storage=self.temporary(aval))

    def _registers(self, aval: ShapedArray) -> LoweredArray:
        """A writable array in registers."""
        out = LoweredArray(aval, elems=[self.const(np.zeros((), aval.dtype)[()], aval.dtype)] * aval.size, block=self.block)
        out.mutable = True
        self.open_registers.append(out)
        return out

    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        """body(i, j, ...) for every index."""
        if ordered and prod(shape) <= self.written_out and len(self.blocks) > 1:
            for index in product(*map(range, shape)):
                body(*index)
            return
        if prod(shape) > self.small:
            self._close_registers()
        self.nest(tuple(shape), body, mode="serial" if ordered else "vector")

    def copies(self, shape: Sequence[int]) -> int:
        """How often `loop` writes its body out."""
        return prod(shape) if prod(shape) <= self.small else 1

    def chunks(self, count: int, body: Callable[[Index], None]) -> None:
        """body(c) for every c, at the same time where threads are free."""
        self._close_registers()
        with self.loop_over(count, "parallel") as c:
            body(c)

    def _close_registers(self) -> None:
        """Writable arrays that a loop may store to must be memory."""
        for x in self.open_registers:
            if x.elems is not None:
                x.mutable = False
                x.block = self.block
                self.spill(x)
        self.open_registers = []

    def finish_registers(self, opened: Sequence[LoweredArray]) -> None:
        """Ends the writing of arrays in registers but those opened before: what an equation made, no other one writes."""
        kept = set(map(id, opened))
        for x in self.open_registers:
            if id(x) not in kept:
                x.mutable = False
        self.open_registers = [x for x in self.open_registers if id(x) in kept]

    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None:
        """x[index] = value, where the conditions of `when` hold."""
        position = linear(x.shape, tuple(self.index(i) for i in index))
        if x.elems is None:
            value = self.let(value) if isinstance(value, Pair) else value  # both parts, before either is overwritten
            block: list[Stmt] = []
            with self.inside(block):
                self._store_word(x.storage, x.dtype, position, value)
            for g in reversed(self.guards):
                block = [If(g.expr, block, [])]
            self.block.extend(block)
            return
        value = self.let(value)
        targets = [position] if isinstance(position, int) else range(x.size)
        for k in targets:
            here = [*self.guards] + ([] if isinstance(position, int) else [self.index_compare("eq", position, k)])
            new = value
            for g in here:
                new = self.select(g, new, x.elems[k])
            x.elems[k] = self.let(new)

    def when(self, cond: Any, then: Callable[[], None]) -> None:
        """Runs `then` (stores) only where cond holds."""
        if cond.expr.op == "const":
            if cond.expr.attr:
                then()
            return
        if any(x.elems is not None for x in self.open_registers):
            with self._guarded(cond):
                then()
            return
        block: list[Stmt] = []
        with self.inside(block):
            then()
        self.emit(If(cond.expr, block, []))

    # ------------------------------------------------------------------------------------------ libraries and errors
    def kernel(self, symbol: str, args: Sequence[Any], outs: Sequence[ShapedArray], *,
               checked: bool = False) -> list[LoweredArray]:
        """Calls a C function: integers by value, arrays as pointers, then pointers to the results."""
        call_args: list[Any] = []
        results, reads, writes = [], [], []
        for a in args:
            if isinstance(a, LoweredArray):
                storage = self.in_memory(a, f"operand of the library call {symbol}")
                reads.append(storage.buffer)
                call_args.append((storage.buffer, storage.base.expr))
            elif isinstance(a, tuple):
                own = self._own_in_memory(a[1])
                results.append(own)
                writes.append(own.storage.buffer)
                call_args.append((own.storage.buffer, own.storage.base.expr))
            else:
                call_args.append(self.scalar(a).expr)
        for aval in outs:
            out = LoweredArray(aval, storage=self.temporary(aval))
            results.append(out)
            writes.append(out.storage.buffer)
            call_args.append((out.storage.buffer, self.table.index(0)))
        self.emit(Call(symbol, call_args, tuple(reads), (*writes,), checked))
        return results

    def callback(self, fun: Callable[..., Sequence[np.ndarray]], args: Sequence[LoweredArray],
                 outs: Sequence[ShapedArray]) -> list[LoweredArray]:
        """Calls a Python function of NumPy arrays, here and now."""
        made = Trampoline(fun, [a.aval for a in args], outs)
        symbol = f"{CALLBACK}{len(self.trampolines)}"
        self.trampolines[symbol] = made
        return self.kernel(symbol, args, outs, checked=True)

    def _own_in_memory(self, x: LoweredArray) -> LoweredArray:
        if x.storage is not None:
            return self.own(x)
        out = LoweredArray(x.aval, storage=self.temporary(x.aval))
        self._copy_into(x, out.storage)
        return out

    def fill(self, storage: Storage, value: Scalar, count: int) -> None:
        self.emit(Fill(storage.buffer, storage.base.expr, value.expr, self.table.index(count)))

    def check(self, ok: Any, error: Callable[..., Exception], *values: Any) -> None:
        """Leaves the program with error(*values) when ok is false."""
        self.function.errors.append(error)
        self.emit(Check(ok.expr, len(self.function.errors), tuple(self.scalar(v).expr for v in values)))


def _group_stores(block: list[Stmt]) -> None:
    """Puts the stores of a written-out row behind all that is computed, buffer by buffer, so that they fill vectors."""
    if not all(isinstance(s, Let | Store | Comment) for s in block):
        return
    stores = [s for s in block if isinstance(s, Store)]
    others = [s for s in block if not isinstance(s, Store)]
    buffers = dict.fromkeys(s.buffer for s in stores)
    values = [s.value for s in block if isinstance(s, Let | Store)]
    if len(buffers) > 1 and not any(e.op == "load" and e.attr in buffers for e in nodes(values)):
        block[:] = [*others, *(s for buffer in buffers for s in stores if s.buffer is buffer)]


def _why_copied(x: LoweredArray) -> str:
    """Why an update cannot be made in place."""
    if x.storage is None:
        return "first value of an array that is updated in place"
    if x.storage.owned:
        return "updated while its old value is still read later"
    if x.storage.buffer.kind == "input":
        return "updates an argument, which belongs to the caller: donate it (donate_argnums), and it is updated in place"
    return "updates memory that is read again: a constant, or a part of an array that stays"


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _reshape_reader(b: Builder, x: LoweredArray, shape: tuple[int, ...]) -> Callable[..., Any] | None:
    """A reader for reshapes that only add or remove axes of size 1: indices pass through."""
    if _squeezed(x.shape) != _squeezed(shape):
        return None
    kept = [k for k, n in enumerate(shape) if n != 1]

    def read(*index: Any) -> Any:
        source = iter(index[k] for k in kept)
        return b.read(x, *[0 if n == 1 else next(source) for n in x.shape])
    return read


