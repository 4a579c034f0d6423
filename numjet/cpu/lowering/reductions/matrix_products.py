"""Matrix products (dot_general): the kernel for large ones, loops for others, deferred arrays for those of few terms.

Operands are read where they lie: a transpose is a stride of the kernel, or decides which axis the vector lanes follow.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import Call
from numjet.cpu.kernels import products
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Registers, Storage, parts_dtype
from numjet.cpu.lowering.loops.loop_nests import SHORT_ROW
from numjet.cpu.lowering.reductions.reduce import LANES, SHORT_REDUCTION
from numjet.cpu.lowering.scalars import FLOAT32, HALVES
from numjet.foundation import dtypes

GEMM_SIZE = 32 ** 3       # multiply-adds from which the kernel pays for packing its operands
FLOAT_SIZE = 12 ** 3      # the same for floats: loops are as fast only as code of the second tier;
FLOAT_SIZE_INSIDE = 20 ** 3   # in a loop, where each call counts and the second tier soon runs;
FLOAT_SIDE = 8            # with so many rows and columns
COMPLEX_ROWS = 32 ** 2    # the same for complex rows by a vector, whose real and imaginary parts loops take apart at each load
WRITTEN_OUT = 64          # multiply-adds of a product that is kept in registers: code size
READ_AGAIN = 16.0         # cost up to which the operands of a product of few terms are computed again
LONG_SUM = 200.0          # cost from which an operand is stored even if each element is read once: code size
FEW_SUMS = 256            # bytes of a product of rows whose sums are
VERY_LONG = 4096          # so long, which is done vector by vector
FEW_COLUMNS = 2           # that are written out, each with a loop over its terms; more are lanes of one loop
CHAINS = 4                # partial sums of an element of a product inside of a loop: latency over throughput of fma

Axes = tuple[Sequence[int], Sequence[int]]   # of the left and the right operand
Operand = tuple[LoweredArray, bool]          # a stack of matrices, and whether they are transposed
Strided = tuple[Storage, int, int, int]      # a stack of matrices in memory: steps from one to the next, of rows, of columns
Factor = Callable[[Any, Any, Any], Any]      # an element of a stack of matrices


class MatrixProducts:
    """Products of two arrays. _transposed: transposes of operands of the program, made in front of all loops."""

    STATE = ("_transposed",)

    def __init__(self, deferred: DeferredArrays, updates: ArrayUpdates):
        self.deferred, self.updates, self.materialization = deferred, updates, deferred.materialization
        self.reads, self.memory, self.nests = updates.reads, updates.memory, updates.nests
        self.ir, self.scalars = updates.ir, updates.scalars
        self._transposed: dict[Any, Storage] = {}

    def dot(self, x: LoweredArray, y: LoweredArray, contract: Axes, batch: Axes, dtype: Any) -> LoweredArray:
        """dot_general: batch axes first, then the free axes of x, then those of y."""
        dtype = np.dtype(dtype)
        wide = FLOAT32 if dtype in HALVES else dtype
        if 0 < prod(x.shape[d] for d in contract[0]) <= SHORT_REDUCTION:
            return self.deferred.converted(self._few_terms(x, y, contract, batch, wide), dtype)
        left, right = self._canonical(x, batch[0], contract[0], True), self._canonical(y, batch[1], contract[1], False)
        out = self.deferred.converted(self._product(left, right, wide), dtype)
        free = _free_axes(x, y, contract, batch)
        shape = [x.shape[d] for d in batch[0]] + [x.shape[d] for d in free[0]] + [y.shape[d] for d in free[1]]
        return self.deferred.reshape(out, tuple(shape))

    # ------------------------------------------------------------------------------------------ few terms
    def _few_terms(self, x: LoweredArray, y: LoweredArray, contract: Axes, batch: Axes, dtype: np.dtype) -> LoweredArray:
        """A product of few terms per element: a deferred array that adds them up, so that what follows fuses with it."""
        free = _free_axes(x, y, contract, batch)
        sizes = [prod(a.shape[d] for d in f) for a, f in zip((x, y), free, strict=True)]
        x = self._prepared(x, free[0], sizes[1], not free[1])
        y = self._prepared(y, free[1], sizes[0], True)
        shape = [x.shape[d] for d in batch[0]] + [x.shape[d] for d in free[0]] + [y.shape[d] for d in free[1]]
        over = [x.shape[d] for d in contract[0]]
        outer = (len(batch[0]), len(batch[0]) + len(free[0]))

        def factor(a: LoweredArray, k: int, index: Sequence[Any], inner: Sequence[int]) -> Any:
            groups = index[:outer[0]], index[outer[0]:outer[1]] if k == 0 else index[outer[1]:], inner
            at = dict(zip((*batch[k], *free[k], *contract[k]), (i for g in groups for i in g), strict=True))
            return self.scalars.convert(self.reads.read(a, *[at[d] for d in range(a.ndim)]), dtype)

        def element(*index: Any) -> Any:
            total = None
            for inner in np.ndindex(*over):
                p, q = factor(x, 0, index, inner), factor(y, 1, index, inner)
                total = self.scalars.mul(p, q) if total is None else self.scalars.fused(p, q, total)
            return total
        terms = prod(over)
        out = LoweredArray(ShapedArray(tuple(shape), dtype),
                           Deferred(element, own_cost=2.0 * terms, parents=(x, y)))
        if out.size <= self.ir.allocation.written_out and out.size * terms <= WRITTEN_OUT:
            out.content = Registers([self.ir.let(element(*i)) for i in np.ndindex(*shape)], self.ir.block)
        return out

    def _prepared(self, x: LoweredArray, free: Sequence[int], reads: int, lanes: bool) -> LoweredArray:
        """An operand whose elements are read so many times each: stored if it is expensive, and with its last free axis last in
        memory if lanes go along it."""
        materialize, transpose = self.materialization.materialize, self.deferred.transpose
        if x.works_more_than(READ_AGAIN) and (reads > 1 or x.cost > LONG_SUM):
            materialize(x)
        if not lanes or x.storage is None or not free or free[-1] == x.ndim - 1 or reads <= SHORT_ROW \
                or x.shape[free[-1]] <= SHORT_ROW:
            return x
        order = [*(d for d in range(x.ndim) if d != free[-1]), free[-1]]
        moved = materialize(transpose(x, order))
        return transpose(moved, [order.index(d) for d in range(x.ndim)])

    # ------------------------------------------------------------------------------------------ stacks of matrices
    def _canonical(self, x: LoweredArray, batch: Sequence[int], contract: Sequence[int], left: bool) -> Operand:
        """x as [batch, free, contract] (left) or [batch, contract, free], or transposed (True) where it lies so."""
        free = [d for d in range(x.ndim) if d not in (*contract, *batch)]
        groups = [list(batch), free, list(contract)] if left else [list(batch), list(contract), free]
        view = x.content.view
        if view is not None and (not view[0].lazy or view[0].cost > 0):
            x, permutation = view
            groups = [[permutation[d] for d in g] for g in groups]
        self.materialization.materialize_if_costly(x, "operand of a matrix product")
        return self._grouped(x, groups)

    def _grouped(self, x: LoweredArray, groups: list[list[int]]) -> Operand:
        """x with its axes merged into three groups; (array, True) when the last two are the other way round in memory."""
        size = lambda dims: prod(x.shape[d] for d in dims)
        flipped = [groups[0], groups[2], groups[1]]
        significant = lambda gs: [d for g in gs for d in g if x.shape[d] != 1]
        present = [d for d in range(x.ndim) if x.shape[d] != 1]
        for order, transposed in ((groups, False), (flipped, True)):
            if significant(order) == present:
                return self.deferred.reshape(x, tuple(size(g) for g in order)), transposed
        moved = self.materialization.materialize(self.deferred.transpose(x, [d for g in groups for d in g]))
        return self.deferred.reshape(moved, tuple(size(g) for g in groups)), False

    def _product(self, left: Operand, right: Operand, dtype: np.dtype) -> LoweredArray:
        (x, tx), (y, ty) = left, right
        size, m, k = (x.shape[0], x.shape[2], x.shape[1]) if tx else x.shape
        n = y.shape[1] if ty else y.shape[2]
        at_x, at_y = self._factor(x, tx, dtype), self._factor(y, ty, dtype)
        aval = ShapedArray((size, m, n), dtype)
        if k == 0 or aval.size == 0:
            return self.deferred.full(0, aval)
        least = COMPLEX_ROWS if dtype.kind == "c" and n == 1 and not tx else GEMM_SIZE
        if min(m, n) >= FLOAT_SIDE and dtype.kind == "f" and _alike(x, y, dtype):
            least = FLOAT_SIZE_INSIDE if self.ir.in_loop else FLOAT_SIZE
        long = k >= VERY_LONG and (n > 1 or tx) and _alike(x, y, dtype)   # the kernel adds up long columns in parts
        if m * n * k >= least and dtype.name in products.CODES and (min(m, n) > 1 or long or _stored(x, y, dtype)):
            few = 1 < min(m, n) and m * n * dtype.itemsize <= FEW_SUMS
            if ty and not tx and size == 1 and few and k >= VERY_LONG and _alike(x, y, dtype):
                return self._by_vectors(x, y, dtype)
            return self._by_kernel(left, right, aval, (size, m, n, k))
        if k <= self.ir.small and m * n * k <= self.ir.small ** 2:
            return self._written_out(aval, k, at_x, at_y)
        if n == 1 and not tx and size == 1 and (transposed := self._transpose_once(x, m, k)) is not None:
            return self._lanes_along_columns(aval, k, self._transposed_factor(transposed, x.dtype, m, dtype), at_y)
        if ty and size == 1 and (transposed := self._transpose_once(y, n, k)) is not None:
            at_column = self._transposed_factor(transposed, y.dtype, n, dtype)
            return self._lanes_along_columns(aval, k, at_x, lambda b, r, j: at_column(b, j, r))
        if n == 1 and tx and m >= SHORT_ROW:
            return self._lanes_along_columns(aval, k, at_x, at_y)
        if ty and n > 1 and (_turning_pays(m, n, k) or tx):
            return self._lanes_along_columns(aval, k, at_x, self._factor(self._turned(y), False, dtype))
        if ty and not tx and 1 < n <= SHORT_ROW and k < 2 * LANES and size == 1 and self._transpose_once(x, m, k) is not None:
            return self.deferred.transpose(self._product((y, False), (x, True), dtype), (0, 2, 1))
        if n == 1 or (ty and not tx and k >= SHORT_REDUCTION):
            return self._lanes_along_terms(aval, k, at_x, at_y)
        return self._lanes_along_columns(aval, k, at_x, at_y)

    def _turned(self, y: LoweredArray) -> LoweredArray:
        """A stack of matrices with the other axis last in memory."""
        return self.materialization.materialize(self.deferred.transpose(y, (0, 2, 1)))

    def _factor(self, x: LoweredArray, transposed: bool, dtype: np.dtype) -> Factor:
        """An element of a stack of matrices, in the dtype of the product."""
        read, convert = self.reads.read, self.scalars.convert
        if transposed:
            return lambda b, i, j: convert(read(x, b, j, i), dtype)
        return lambda b, i, j: convert(read(x, b, i, j), dtype)

    def _transposed_factor(self, storage: Storage, stored: np.dtype, rows: int, dtype: np.dtype) -> Factor:
        """An element of a matrix whose transpose is stored."""
        load, convert, index = self.memory.load, self.scalars.convert, self.scalars.index
        return lambda b, i, r: convert(load(storage, stored, index(r) * rows + i), dtype)

    def _transpose_once(self, x: LoweredArray, rows: int, columns: int) -> Storage | None:
        """The transpose of a matrix that is an operand of the program, made once in front of all loops; None outside of loops
        and for other matrices."""
        storage = x.storage
        if not self.ir.in_loop or rows < LANES or storage is None or storage.owned or storage.base.terms \
                or storage.buffer.kind not in ("input", "const") or parts_dtype(x.dtype) is not None:
            return None
        key = (storage.buffer, storage.base.const, rows, columns)
        if key not in self._transposed:
            matrix = LoweredArray(ShapedArray((rows, columns), x.dtype), storage)
            with self.ir.inside(self.ir.function.body):
                self._transposed[key] = self.materialization.in_memory(self.deferred.transpose(matrix, (1, 0)))
        return self._transposed[key]

    # ------------------------------------------------------------------------------------------ ways to compute
    def _written_out(self, aval: ShapedArray, k: int, at_x: Factor, at_y: Factor) -> LoweredArray:
        """All products of a small matrix by scalars."""
        def element(b: Any, i: Any, j: Any) -> Any:
            total = self.scalars.mul(at_x(b, i, 0), at_y(b, 0, j))
            for r in range(1, k):
                total = self.scalars.fused(at_x(b, i, r), at_y(b, r, j), total)
            return total
        return self.materialization.materialize(LoweredArray(aval, Deferred(element, own_cost=2.0 * k)))

    def _lanes_along_terms(self, aval: ShapedArray, k: int, at_x: Factor, at_y: Factor) -> LoweredArray:
        """Contiguous in the contracted axis: vector accumulators along it."""
        zero = self.scalars.const(0, aval.dtype)

        def value(b: Any, i: Any, j: Any) -> Any:
            term = lambda r: [self.scalars.mul(at_x(b, i, r[0]), at_y(b, r[0], j))]
            return self.nests.accumulate(["add"], [zero], (k,), term)[0]
        return self._store_elements(aval, value, "serial")

    def _lanes_along_columns(self, aval: ShapedArray, k: int, at_x: Factor, at_y: Factor) -> LoweredArray:
        """Contiguous in the columns of y: lanes are columns, the contracted axis is the inner loop."""
        zero = self.scalars.const(0, aval.dtype)
        chains = CHAINS if k >= 2 * CHAINS and self.ir.in_loop else 1

        def value(b: Any, i: Any, j: Any) -> Any:
            add_term = lambda r, total: self.scalars.fused(at_x(b, i, r), at_y(b, r, j), total)
            sums = self.nests.carry_loop((k // chains,), [zero] * chains, lambda r, accs: [
                add_term(self.ir.terms.index(r[0]) * chains + c, acc) for c, acc in enumerate(accs)])
            for r in range(k // chains * chains, k):
                sums[r % chains] = add_term(r, sums[r % chains])
            while len(sums) > 1:
                sums = [self.scalars.add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
            return sums[0]
        return self._store_elements(aval, value, "vector")

    def _store_elements(self, aval: ShapedArray, value: Factor, mode: str) -> LoweredArray:
        """The array of value(b, i, j)."""
        out = self.updates.empty(aval.shape, aval.dtype)
        if aval.size > self.ir.small:
            self.updates.close_registers()
        short = FEW_COLUMNS if mode == "vector" else SHORT_ROW
        self.nests.nest(aval.shape, lambda *index: self.updates.store(out, index, value(*index)), mode=mode, short=short)
        return out

    def _by_kernel(self, left: Operand, right: Operand, aval: ShapedArray, dims: tuple[int, ...]) -> LoweredArray:
        """The kernel of matrix products, which reads operands of any layout and widens narrow ones itself."""
        (x, tx), (y, ty), (_, m, n, k) = left, right, dims
        wide = dtypes.int32 if aval.dtype.name in products.NARROW else aval.dtype
        if x.dtype != y.dtype or products.result(x.dtype) != wide:
            x, y = self._widened(x, wide), self._widened(y, wide)
        why = "operand of a matrix product"
        sx, sy = self.materialization.in_memory(x, why), self.materialization.in_memory(y, why)
        out = LoweredArray(ShapedArray(aval.shape, wide), self.ir.allocation.temporary(ShapedArray(aval.shape, wide)))
        steps_x, steps_y = (1, m) if tx else (k, 1), (1, k) if ty else (n, 1)
        self._gemm(x.dtype, dims, (sx, m * k, *steps_x), (sy, k * n, *steps_y), out.storage)
        return self.deferred.converted(out, aval.dtype)

    def _gemm(self, dtype: np.dtype, dims: Sequence[int], x: Strided, y: Strided, out: Storage) -> None:
        """The call of the kernel. dims: how many products, rows, columns and terms."""
        numbers = lambda *values: [self.ir.table.index(v) for v in values]
        (sx, *steps_x), (sy, *steps_y) = x, y
        self.ir.emit(Call(products.GEMM, [
            *numbers(products.CODES[dtype.name], *dims), (sx.buffer, sx.base.expr), *numbers(*steps_x),
            (sy.buffer, sy.base.expr), *numbers(*steps_y), (out.buffer, out.base.expr), *numbers(0)],
            (sx.buffer, sy.buffer), (out.buffer,)))

    def _by_vectors(self, x: LoweredArray, y: LoweredArray, dtype: np.dtype) -> LoweredArray:
        """Rows by rows: one product of a matrix and a vector for each row of y, where the kernel would pack panels of a few
        columns, mostly empty ones."""
        (m, k), n = x.shape[1:], y.shape[1]
        why = "operand of a matrix product"
        sx, sy = self.materialization.in_memory(x, why), self.materialization.in_memory(y, why)
        turned = ShapedArray((1, n, m), dtype)
        out = LoweredArray(turned, self.ir.allocation.temporary(turned))
        self._gemm(dtype, (n, m, 1, k), (sx, 0, k, 1), (sy, k, 1, 1), out.storage)
        return self.deferred.transpose(out, (0, 2, 1))

    def _widened(self, x: LoweredArray, dtype: np.dtype) -> LoweredArray:
        """x in the dtype of the product, stored."""
        return x if x.dtype == dtype else self.materialization.materialize(self.deferred.converted(x, dtype))


def _free_axes(x: LoweredArray, y: LoweredArray, contract: Axes, batch: Axes) -> list[list[int]]:
    """The axes of each operand that are neither contracted nor batch axes."""
    return [[d for d in range(a.ndim) if d not in (*c, *g)] for a, c, g in zip((x, y), contract, batch, strict=True)]


def _turning_pays(m: int, n: int, k: int) -> bool:
    """Whether columns as lanes are worth a transpose where both operands have the contracted axis last: sums along it would be
    short beside the addition of a vector's lanes. As measured for 900 shapes."""
    return m >= LANES // 2 and n > SHORT_ROW and k < (LANES if n < 2 * LANES else 2 * LANES)


def _alike(x: LoweredArray, y: LoweredArray, dtype: np.dtype) -> bool:
    """Whether operands are floats of the dtype that the kernel gives."""
    return dtype.kind in "fc" and x.dtype == y.dtype and products.result(x.dtype) == dtype


def _stored(x: LoweredArray, y: LoweredArray, dtype: np.dtype) -> bool:
    """Whether a product with a vector finds its operands in memory, as floats; others are read as they are computed."""
    return _alike(x, y, dtype) and all(a.storage is not None for a in (x, y))
