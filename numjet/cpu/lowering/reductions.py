"""Reductions, folds and matrix products for lowering rules."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.analysis.affine import in_order
from numjet.cpu.ir.nodes import INT64, Call, Carry, Stmt
from numjet.cpu.ir.traversal import nodes
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels import products
from numjet.cpu.lowering.builder import SHORT_REDUCTION, SHORT_ROW
from numjet.cpu.lowering.cumulative import HALVES, Prefixes
from numjet.cpu.lowering.scalars import FLOAT32
from numjet.cpu.lowering.values import LoweredArray, Scalar, Storage, linear, parts_dtype
from numjet.cpu.remarks import Recorder
from numjet.foundation import dtypes

GEMM_SIZE = 32 ** 3       # multiply-adds from which the kernel of matrix products is called
PAIRWISE_WORK = 4.0       # cost of a term from which lanes are results rather than terms
LANES = 16                # results from which that pays
LONGEST_IN_ORDER = 4096   # terms that are added one by one: longer sums would lose accuracy
LONGEST_TERMS = 100.0     # cost of all the terms of a sum that are computed where it is read
LONG_ROW = 4096           # terms of each of a few sums, from which they are made one after the other, row by row
LONGEST_ROW = 800.0       # cost of a row of a few elements that is written out in a loop over rows
WRITTEN_OUT = 64          # multiply-adds of a product that is kept in registers
READ_AGAIN = 16.0         # cost up to which the operands of a product of few terms are computed again
LONG_SUM = 200.0          # cost from which an operand is stored even if each element is read once
CHAINS = 4                # partial sums of an element of a product inside of a loop, which need not wait for each other


class Reductions(Prefixes):
    """Adds reductions to the array builder."""

    def __init__(self, name: str, recorder: Recorder | None = None):
        super().__init__(name, recorder)
        self.turned: dict[Any, Storage] = {}

    def combine(self, kind: str, x: Any, y: Any) -> Any:
        """One step of a reduction."""
        if kind == "logaddexp":
            top, low = self.prim("max", x, y), self.prim("min", x, y)
            gap = self.sub(low, top)
            gap = self.select(self.compare("eq", top, low), self.const(0, gap.dtype), gap)
            return self.add(top, self.math("log1p", self.math("exp", gap)))
        if x.dtype.kind == "b" and kind in ("min", "max", "mul", "add"):
            kind = {"min": "and", "mul": "and", "max": "or", "add": "or"}[kind]
        return self.prim(kind, x, y)

    def reduce(self, kind: str, x: LoweredArray, axes: Sequence[int], dtype: Any = None) -> LoweredArray:
        """Reduction over axes by add, mul, max, min, and, or, xor."""
        axes = tuple(sorted(axes))
        dtype = np.dtype(dtype or x.dtype)
        wide = FLOAT32 if dtype in HALVES else dtype
        kept = tuple(d for d in range(x.ndim) if d not in axes)
        over = tuple(x.shape[d] for d in axes)
        shape = tuple(x.shape[d] for d in kept)

        def element(outer: Sequence[Any], inner: Sequence[Any]) -> Any:
            index: list[Any] = [0] * x.ndim
            for d, i in [*zip(kept, outer, strict=True), *zip(axes, inner, strict=True)]:
                index[d] = i
            return self.convert(self.read(x, *index), wide)
        out = self._reduce(kind, x, shape, over, element, wide, kept, axes)
        return self.elementwise(lambda v: self.convert(v, dtype), out, dtype=dtype) if wide != dtype else out

    def _reduce(self, kind: str, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Callable[..., Any],
                dtype: np.dtype, kept: tuple[int, ...], axes: tuple[int, ...]) -> LoweredArray:
        start = self.const(0 if kind == "add" else identity(kind, dtype), dtype)   # a sum of nothing is 0.0, never -0.0
        if prod(over) <= SHORT_REDUCTION:
            return self._short(kind, x, shape, over, element, dtype, start)
        if parts_dtype(dtype) is not None or prod(shape) <= self.small or not _keeps_last(x.shape, kept):
            return self._by_carries(kind, x, shape, over, element, dtype, start, axes)
        tail = prod(x.shape[axes[-1] + 1:])
        if tail <= SHORT_REDUCTION:
            return self._by_short_rows(kind, x, shape, over, element, dtype, start, x.ndim - 1 - axes[-1])
        return self.reduce_rows(kind, x, element, start, kept, axes)

    def _short(self, kind: str, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Callable[..., Any],
               dtype: np.dtype, start: Any) -> LoweredArray:
        """Few terms: a definition that reads them all, unless its code were too long."""
        if x.lazy and x.cost * prod(over) > LONGEST_TERMS:
            self.materialize(x)

        def at(*outer: Any) -> Any:
            total = None
            for inner in np.ndindex(*over):
                term = element(outer, inner)
                total = term if total is None else self.combine(kind, total, term)
            return start if total is None else total
        out = self.compute(shape, dtype, at, parents=(x,))
        out.cost = (x.cost + 1) * prod(over)
        return self.materialize(out) if out.size <= self.small else out

    def _by_carries(self, kind: str, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Callable[...,
                                                                                                                       Any],
                    dtype: np.dtype, start: Any, axes: tuple[int, ...]) -> LoweredArray:
        """Accumulates in registers: one loop nest per element of the result, or one for all of a small result."""
        aval = ShapedArray(shape, dtype)
        trailing = axes == tuple(range(x.ndim - len(axes), x.ndim))
        flat = trailing and self.flat_ready(x)
        dims = (prod(over),) if flat else over[:_looped(x, over)] if trailing else over

        def terms(outer: tuple[Any, ...], inner: tuple[Any, ...]) -> Any:
            if flat:
                position = linear(shape, outer) * prod(over) + inner[0]
                return self.convert(self.read_flat(x, self.terms.index(position)), dtype)
            row = [element(outer, (*inner, *last)) for last in np.ndindex(*over[len(dims):])]
            return functools.reduce(lambda a, b: self.combine(kind, a, b), row)
        if aval.size <= self.small and not (trailing and aval.size > 1 and prod(over) >= LONG_ROW):
            outers = list(np.ndindex(*shape))
            values = self.accumulate([kind] * len(outers), [start] * len(outers), dims,
                                     lambda inner: [terms(o, inner) for o in outers])
            return LoweredArray(aval, elems=values, block=self.block)
        storage = self.temporary(aval)
        side_by_side = self._side_by_side(x, shape, over, element)
        accumulate = self._accumulate_any if side_by_side else self.accumulate

        def body(*outer: Any) -> None:
            term = element if side_by_side else terms
            (value,) = accumulate([kind], [start], over if side_by_side else dims, lambda inner: [term(outer, inner)])
            self._store_word(storage, dtype, linear(shape, outer), value)
        mode = "vector" if side_by_side else "serial"
        if aval.size > self.small:
            self.nest(shape, body, mode=mode)
        else:
            self._nest(list(shape), (), body, mode)
        return LoweredArray(aval, storage=storage)

    def _side_by_side(self, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Callable[...,
                                                                                                              Any]) -> bool:
        """Whether lanes should be results, each adding up its terms in order, and not terms of one result: where terms are
        computed from what lies in order along the results, as all pairs of two lists of points are."""
        if not shape or not x.lazy or x.work() < PAIRWISE_WORK or shape[-1] < LANES or prod(over) > LONGEST_IN_ORDER:
            return False
        place = self.table.var(INT64, "lane")
        bounds = lambda n: (0, n - 1)
        outer = [self.terms.variable(self.table.var(INT64, "i"), bounds(n)) for n in shape[:-1]]
        inner = [self.terms.variable(self.table.var(INT64, "r"), bounds(n)) for n in over]
        known = [(a, dict(a.memo)) for a in x.reachable()]
        statements: list[Stmt] = []
        with self.inside(statements):
            term = element([*outer, self.terms.variable(place, bounds(shape[-1]))], inner)
        for a, memo in known:
            a.memo = memo
        loads = [e for e in nodes([w.expr for w in words(term)]) if e.op == "load"]
        return not statements and all(in_order(e.args[0], place) for e in loads)

    def _by_short_rows(self, kind: str, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Callable[...,
                                                                                                                          Any],
                       dtype: np.dtype, start: Any, width: int) -> LoweredArray:
        """A few last axes are kept: their elements are accumulated side by side."""
        out = LoweredArray(ShapedArray(shape, dtype), storage=self.temporary(ShapedArray(shape, dtype)))
        lead, tail = shape[:len(shape) - width], shape[len(shape) - width:]
        rows = list(np.ndindex(*tail))
        side_by_side = self._side_by_side(x, lead, over, lambda outer, inner: element((*outer, *rows[0]), inner))
        accumulate = self._accumulate_any if side_by_side else self.accumulate

        def body(*outer: Any) -> None:
            values = accumulate([kind] * len(rows), [start] * len(rows), over,
                                     lambda inner: [element((*outer, *row), inner) for row in rows])
            for row, value in zip(rows, values, strict=True):
                self._store_word(out.storage, dtype, linear(shape, (*outer, *row)), value)
        self.nest(lead, body, mode="vector" if side_by_side else "serial")
        return out

    def accumulate(self, kinds: Sequence[str], starts: Sequence[Any], dims: Sequence[int],
                   terms: Callable[[tuple[Any, ...]], Sequence[Any]]) -> list[Any]:
        """Reduces several terms at once over a loop nest; results in registers. Compound elements only by add and mul."""
        if any(parts_dtype(s.dtype) is not None for s in starts):
            return self._accumulate_any(kinds, starts, dims, terms)
        return self._accumulate(kinds, list(starts), list(dims), (), terms)

    def _accumulate(self, kinds: Sequence[str], accs: list[Any], dims: list[int], done: tuple[Any, ...],
                    terms: Any) -> list[Any]:
        if dims and dims[0] == 1:
            return self._accumulate(kinds, accs, dims[1:], (*done, 0), terms)
        if not dims:
            return [self.combine(k, a, t) for k, a, t in zip(kinds, accs, terms(done), strict=True)]
        last = all(n == 1 for n in dims[1:])
        inner = [self.wrap(self.table.var(a.dtype, "acc")) for a in accs]
        outs = [self.wrap(self.table.var(a.dtype, "acc")) for a in accs]
        carries: list[Carry] = []
        with self.loop_over(dims[0], "vector" if last else "serial", carries) as i:
            index = (*done, i, *[0] * (len(dims) - 1))
            if last:
                new_terms = terms(index)
                nexts = [self._next(k, v, t) for k, v, t in zip(kinds, inner, new_terms, strict=True)]
            else:
                new_terms = [None] * len(kinds)
                nexts = self._accumulate(kinds, inner, dims[1:], (*done, i), terms)
            for v, a, n, o, k, t in zip(inner, accs, nexts, outs, kinds, new_terms, strict=True):
                kind = _carry_kind(k, v.dtype) if last else None
                carries.append(Carry(v.expr, a.expr, n.expr, o.expr, kind, t.expr if last else None))
        return outs

    def _next(self, kind: str, acc: Any, term: Any) -> Any:
        """The next value of an accumulator. Limits look whether their first operand is NaN, which need not wait for acc."""
        return self.combine(kind, term, acc) if kind in ("min", "max") else self.combine(kind, acc, term)

    def _accumulate_any(self, kinds: Sequence[str], starts: Sequence[Any], dims: Sequence[int], terms: Any) -> list[Any]:
        """Serial accumulation of compound elements."""
        return self.carry_loop(dims, list(starts), lambda index, accs: [
            self.combine(k, a, t) for k, a, t in zip(kinds, accs, terms(index), strict=True)])

    def carry_loop(self, dims: Sequence[int], inits: list[Any], step: Callable[..., Sequence[Any]],
                   done: tuple[Any, ...] = ()) -> list[Any]:
        """A serial loop nest that hands scalars from one iteration to the next."""
        if not dims:
            return list(step(done, inits))
        if dims[0] == 1:
            return self.carry_loop(dims[1:], inits, step, (*done, 0))
        inner, outs = [self._variable(a.dtype) for a in inits], [self._variable(a.dtype) for a in inits]
        carries: list[Carry] = []
        with self.loop_over(dims[0], "serial", carries) as i:
            nexts = self.carry_loop(dims[1:], inner, step, (*done, i))
            for v, a, n, o in zip(inner, inits, nexts, outs, strict=True):
                for ev, ea, en, eo in zip(words(v), words(a), words(n), words(o), strict=True):
                    carries.append(Carry(ev.expr, ea.expr, en.expr, eo.expr))
        return outs

    def _variable(self, dtype: np.dtype) -> Any:
        """A fresh variable of any dtype, compound ones by their halves."""
        part = parts_dtype(dtype)
        if part is None:
            return self.wrap(self.table.var(dtype, "c"))
        return self.pair(self.wrap(self.table.var(part, "c")), self.wrap(self.table.var(part, "c")), dtype)

    def fold(self, shape: Sequence[int], over: Sequence[int], inits: Sequence[Any], step: Callable[...,
            Sequence[Any]]) -> list[LoweredArray]:
        """out[i] = the carries after step(i, r, *carry) for every r in range(over), in order."""
        shape, over = tuple(shape), tuple(over)
        outs = [self.empty(shape, s.dtype) for s in inits]
        if prod(shape) > self.small:
            self._close_registers()

        def body(*index: Any) -> None:
            if prod(over) == 0:
                values = list(inits)
            else:
                values = self.carry_loop(over, list(inits), lambda r, accs: step(index, r, *accs))
            for out, value in zip(outs, values, strict=True):
                self.store(out, index, value)
        self.nest(shape, body)
        return outs

    # ------------------------------------------------------------------------------------------ products
    def dot(self, x: LoweredArray, y: LoweredArray, contract: tuple[Sequence[int], Sequence[int]],
            batch: tuple[Sequence[int], Sequence[int]], dtype: Any) -> LoweredArray:
        """dot_general: batch axes first, then the free axes of x, then those of y."""
        dtype = np.dtype(dtype)
        wide = FLOAT32 if dtype in HALVES else dtype
        if 0 < prod(x.shape[d] for d in contract[0]) <= SHORT_REDUCTION:
            out = self._short_dot(x, y, contract, batch, wide)
            return out if wide == dtype else self.elementwise(lambda v: self.convert(v, dtype), out, dtype=dtype)
        out = self._dot(self._canonical(x, batch[0], contract[0], True), self._canonical(y, batch[1], contract[1], False), wide)
        free = [[d for d in range(a.ndim) if d not in (*c, *g)] for a, c, g in zip((x, y), contract, batch, strict=True)]
        shape = [x.shape[d] for d in batch[0]] + [x.shape[d] for d in free[0]] + [y.shape[d] for d in free[1]]
        if wide != dtype:
            out = self.elementwise(lambda v: self.convert(v, dtype), out, dtype=dtype)
        return self.reshape(out, tuple(shape))

    def _short_dot(self, x: LoweredArray, y: LoweredArray, contract: tuple[Sequence[int], Sequence[int]],
                   batch: tuple[Sequence[int], Sequence[int]], dtype: np.dtype) -> LoweredArray:
        """A product of few terms per element: a definition that adds them up, so that what follows fuses with it."""
        free = [[d for d in range(a.ndim) if d not in (*c, *g)] for a, c, g in zip((x, y), contract, batch, strict=True)]
        sizes = [prod(a.shape[d] for d in f) for a, f in zip((x, y), free, strict=True)]
        x = self._for_short_dot(x, free[0], sizes[1], not free[1])
        y = self._for_short_dot(y, free[1], sizes[0], True)
        shape = [x.shape[d] for d in batch[0]] + [x.shape[d] for d in free[0]] + [y.shape[d] for d in free[1]]
        over = [x.shape[d] for d in contract[0]]
        outer = (len(batch[0]), len(batch[0]) + len(free[0]))

        def factor(a: LoweredArray, k: int, index: Sequence[Any], inner: Sequence[int]) -> Any:
            groups = index[:outer[0]], index[outer[0]:outer[1]] if k == 0 else index[outer[1]:], inner
            place = dict(zip((*batch[k], *free[k], *contract[k]), (i for g in groups for i in g), strict=True))
            return self.convert(self.read(a, *[place[d] for d in range(a.ndim)]), dtype)

        def at(*index: Any) -> Any:
            total = None
            for inner in np.ndindex(*over):
                p, q = factor(x, 0, index, inner), factor(y, 1, index, inner)
                total = self.mul(p, q) if total is None else self.fused(p, q, total)
            return total
        terms = prod(over)
        out = LoweredArray(ShapedArray(tuple(shape), dtype), at, cost=2.0 * terms + x.cost + y.cost, parents=(x, y))
        if out.size <= self.written_out and out.size * terms <= WRITTEN_OUT:
            out.place(elems=[self.let(at(*i)) for i in np.ndindex(*shape)], block=self.block)
        return out

    def _for_short_dot(self, x: LoweredArray, free: Sequence[int], reads: int, lanes: bool) -> LoweredArray:
        """An operand as it is best read, each element so many times: stored if it is no simple definition, and with its
        last free axis last in memory if lanes go along it."""
        if x.lazy and x.work() > READ_AGAIN and (reads > 1 or x.cost > LONG_SUM):
            self.materialize(x)
        if not lanes or x.lazy or x.storage is None or not free or free[-1] == x.ndim - 1 or reads <= SHORT_ROW \
                or x.shape[free[-1]] <= SHORT_ROW:
            return x
        order = [*(d for d in range(x.ndim) if d != free[-1]), free[-1]]
        moved = self.materialize(self.transpose(x, order))
        return self.transpose(moved, [order.index(d) for d in range(x.ndim)])

    def _canonical(self, x: LoweredArray, batch: Sequence[int], contract: Sequence[int], left: bool) -> tuple[LoweredArray,
                                                                                                              bool]:
        """x as [batch, free, contract] (left) or [batch, contract, free], or transposed (True) where it lies so."""
        free = [d for d in range(x.ndim) if d not in (*contract, *batch)]
        groups = [list(batch), free, list(contract)] if left else [list(batch), list(contract), free]
        if x.lazy and x.view is not None and (not x.view[0].lazy or x.view[0].cost > 0):
            x, permutation = x.view
            groups = [[permutation[d] for d in g] for g in groups]
        self.materialize_for_rereading(x, "operand of a matrix product")
        return self._grouped(x, groups)

    def _grouped(self, x: LoweredArray, groups: list[list[int]]) -> tuple[LoweredArray, bool]:
        """x with its axes merged into three groups; (array, True) when the last two are the other way round in memory."""
        size = lambda dims: prod(x.shape[d] for d in dims)
        flipped = [groups[0], groups[2], groups[1]]
        significant = lambda gs: [d for g in gs for d in g if x.shape[d] != 1]
        present = [d for d in range(x.ndim) if x.shape[d] != 1]
        for order, trans in ((groups, False), (flipped, True)):
            if significant(order) == present:
                return self.reshape(x, tuple(size(g) for g in order)), trans
        moved = self.materialize(self.transpose(x, [d for g in groups for d in g]))
        return self.reshape(moved, tuple(size(g) for g in groups)), False

    def _dot(self, left: tuple[LoweredArray, bool], right: tuple[LoweredArray, bool], dtype: np.dtype) -> LoweredArray:
        (x, tx), (y, ty) = left, right
        size, m, k = (x.shape[0], x.shape[2], x.shape[1]) if tx else x.shape
        n = y.shape[1] if ty else y.shape[2]
        at_x = lambda b, i, r: self.convert(self.read(x, b, r, i) if tx else self.read(x, b, i, r), dtype)
        at_y = lambda b, r, j: self.convert(self.read(y, b, j, r) if ty else self.read(y, b, r, j), dtype)
        aval = ShapedArray((size, m, n), dtype)
        if k == 0 or aval.size == 0:
            return self.broadcast_constant(0, aval)
        if m * n * k >= GEMM_SIZE and dtype.name in products.CODES and (min(m, n) > 1 or _stored(x, y, dtype)):
            return self._gemm(x, tx, y, ty, aval, (size, m, n, k))
        if k <= self.small and m * n * k <= self.small ** 2:
            return self._dot_written_out(aval, k, at_x, at_y)
        if n == 1 and not tx and size == 1 and (turned := self._turned(x, m, k)) is not None:
            return self._dot_by_lanes(aval, k, lambda b, i, r: self.convert(
                self.load(turned, x.dtype, self.index(r) * m + i), dtype), at_y)
        if ty and size == 1 and (turned := self._turned(y, n, k)) is not None:
            return self._dot_by_lanes(aval, k, at_x, lambda b, r, j: self.convert(
                self.load(turned, y.dtype, self.index(r) * n + j), dtype))
        if n == 1 or (ty and not tx and k >= SHORT_REDUCTION):
            return self._dot_by_rows(aval, k, at_x, at_y)
        return self._dot_by_lanes(aval, k, at_x, at_y)

    def _turned(self, x: LoweredArray, rows: int, columns: int) -> Storage | None:
        """The transpose of a matrix that is an operand of the program, made once in front of the loop that is being written;
        None for other matrices."""
        if len(self.blocks) == 1 or rows < LANES or x.storage is None or x.storage.owned or x.storage.base.terms \
                or x.storage.buffer.kind not in ("input", "const") or parts_dtype(x.dtype) is not None:
            return None
        key = (x.storage.buffer, x.storage.base.const, rows, columns)
        if key not in self.turned:
            source = LoweredArray(ShapedArray((rows, columns), x.dtype), storage=x.storage)
            with self.inside(self.function.body):
                made = self.transpose(source, (1, 0))
                self.turned[key] = self.in_memory(made)
        return self.turned[key]

    def _widened(self, x: LoweredArray, dtype: np.dtype) -> LoweredArray:
        """x in the dtype of the product, stored."""
        if x.dtype == dtype:
            return x
        return self.materialize(self.elementwise(lambda v: self.convert(v, dtype), x, dtype=dtype))

    def broadcast_constant(self, value: Any, aval: ShapedArray) -> LoweredArray:
        scalar = self.const(value, aval.dtype)
        return LoweredArray(aval, lambda *i: scalar, flat=lambda k: scalar)

    def _dot_written_out(self, aval: ShapedArray, k: int, at_x: Any, at_y: Any) -> LoweredArray:
        def at(*index: Any) -> Any:
            b, i, j = index
            total = self.mul(at_x(b, i, 0), at_y(b, 0, j))
            for r in range(1, k):
                total = self.fused(at_x(b, i, r), at_y(b, r, j), total)
            return total
        return self.materialize(LoweredArray(aval, at, cost=2.0 * k))

    def fused(self, x: Any, y: Any, total: Any) -> Any:
        """x * y + total, in one rounding for floats."""
        if isinstance(x, Scalar) and x.dtype.kind == "f":
            return self.prim("fma", x, y, total)
        return self.add(self.mul(x, y), total)

    def _dot_by_rows(self, aval: ShapedArray, k: int, at_x: Any, at_y: Any) -> LoweredArray:
        """Contiguous in the contracted axis: vector accumulators along it."""
        zero = self.const(0, aval.dtype)
        out = self.empty(aval.shape, aval.dtype)

        def body(*index: Any) -> None:
            b, i, j = index
            (value,) = self.accumulate(["add"], [zero], (k,), lambda r: [self.mul(at_x(b, i, r[0]), at_y(b, r[0], j))])
            self.store(out, index, value)
        if aval.size > self.small:
            self._close_registers()
        self.nest(aval.shape, body, mode="serial")
        return out

    def _dot_by_lanes(self, aval: ShapedArray, k: int, at_x: Any, at_y: Any) -> LoweredArray:
        """Contiguous in the columns of y: lanes are columns, the contracted axis is the inner loop."""
        zero = self.const(0, aval.dtype)
        chains = CHAINS if k >= 2 * CHAINS and len(self.blocks) > 1 else 1
        out = self.empty(aval.shape, aval.dtype)

        def more(index: Sequence[Any], r: Any, total: Any) -> Any:
            return self.fused(at_x(index[0], index[1], r), at_y(index[0], r, index[2]), total)

        def body(*index: Any) -> None:
            sums = self.carry_loop((k // chains,), [zero] * chains, lambda r, accs: [
                more(index, self.terms.index(r[0]) * chains + c, acc) for c, acc in enumerate(accs)])
            for r in range(k // chains * chains, k):
                sums[r % chains] = more(index, r, sums[r % chains])
            while len(sums) > 1:
                sums = [self.add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
            self.store(out, index, sums[0])
        if aval.size > self.small:
            self._close_registers()
        self.nest(aval.shape, body)
        return out

    def _gemm(self, x: LoweredArray, tx: bool, y: LoweredArray, ty: bool, aval: ShapedArray, dims: tuple[int,
                                                                                                         ...]) -> LoweredArray:
        """The kernel of matrix products, which reads operands of any layout and widens narrow ones itself."""
        size, m, n, k = dims
        wide = dtypes.int32 if aval.dtype.name in products.NARROW else aval.dtype
        if x.dtype != y.dtype or products.result(x.dtype) != wide:
            x, y = self._widened(x, wide), self._widened(y, wide)
        why = "operand of a matrix product"
        sx, sy = self.in_memory(x, why), self.in_memory(y, why)
        out = LoweredArray(ShapedArray(aval.shape, wide), storage=self.temporary(ShapedArray(aval.shape, wide)))
        numbers = lambda *values: [self.table.index(v) for v in values]
        self.emit(Call(products.GEMM, [
            *numbers(products.CODES[x.dtype.name], size, m, n, k),
            (sx.buffer, sx.base.expr), *numbers(m * k, *((1, m) if tx else (k, 1))),
            (sy.buffer, sy.base.expr), *numbers(k * n, *((1, k) if ty else (n, 1))),
            (out.storage.buffer, out.storage.base.expr), *numbers(0)], (sx.buffer, sy.buffer), (out.storage.buffer,)))
        return out if wide == aval.dtype else self.elementwise(lambda v: self.convert(v, aval.dtype), out, dtype=aval.dtype)


def words(x: Any) -> tuple[Any, ...]:
    """The real halves of a scalar."""
    return (x,) if isinstance(x, Scalar) else x.parts


def _stored(x: LoweredArray, y: LoweredArray, dtype: np.dtype) -> bool:
    """Whether a product with a vector finds its operands in memory, as numbers that are not integers; others are read as they
    are computed."""
    return dtype.kind in "fc" and x.dtype == y.dtype and products.result(x.dtype) == dtype \
        and all(a.storage is not None for a in (x, y))


def _looped(x: LoweredArray, over: tuple[int, ...]) -> int:
    """How many of the axes that a definition is reduced over, its last ones, become loops: short rows at the end are written
    out, so that lanes go along the axis before, as where they are stored."""
    axes = len(over)
    while axes > 1 and prod(over[axes - 1:]) <= SHORT_ROW:
        axes -= 1
    return axes if x.cost * prod(over[axes:]) <= LONGEST_ROW and prod(over[:axes]) > SHORT_ROW else len(over)


def _keeps_last(shape: tuple[int, ...], kept: tuple[int, ...]) -> bool:
    """Whether the innermost axis longer than 1 is kept."""
    long = [d for d, n in enumerate(shape) if n > 1]
    return bool(long) and long[-1] in kept


def _carry_kind(kind: str, dtype: np.dtype) -> str:
    if dtype.kind == "b" and kind in ("min", "max", "mul", "add"):
        return {"min": "and", "mul": "and", "max": "or", "add": "or"}[kind]
    return kind
