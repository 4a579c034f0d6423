"""The lowering context: the builder that lowering rules see (`core.emit.LoopBuilder`), composed of parts.

Each part is one idea in one file, and gets the parts that it uses by its constructor: the attributes below are in that order,
so references go upwards only. Methods of the protocol are methods of parts.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.cpu.lowering.arrays.array_reads import ArrayReads
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.arrays.materialization import Materialization
from numjet.cpu.lowering.arrays.memory_access import MemoryAccess
from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.lowering.batch_vectorization import BatchVectorization
from numjet.cpu.lowering.early_stores import EarlyStores
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.library_calls import LibraryCalls
from numjet.cpu.lowering.liveness import Liveness
from numjet.cpu.lowering.loops.branches import Branches
from numjet.cpu.lowering.loops.carry_buffers import CarryBuffers
from numjet.cpu.lowering.loops.loop_nests import LoopNests
from numjet.cpu.lowering.loops.loop_state import LoopStates
from numjet.cpu.lowering.loops.native_loops import Loops
from numjet.cpu.lowering.loops.ring_buffers import RingBuffers
from numjet.cpu.lowering.reductions.cumulative import CumulativeReductions
from numjet.cpu.lowering.reductions.matrix_products import MatrixProducts
from numjet.cpu.lowering.reductions.reduce import Reductions
from numjet.cpu.lowering.reductions.row_reductions import RowReductions
from numjet.cpu.lowering.scalars import Scalars
from numjet.cpu.lowering.walk import JaxprWalk, WholeArrays
from numjet.cpu.remarks import Recorder


class LoweringContext:
    """Lowers one function. notes: with the operations and the user's lines as comments."""

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        ir = self.ir = FunctionBuilder(name, recorder)
        scalars = self.scalars = Scalars(ir.terms)
        self.memory = MemoryAccess(ir, scalars)
        reads = self.reads = ArrayReads(ir, scalars, self.memory)
        self.nests = LoopNests(ir, scalars)
        self.liveness = Liveness(ir)
        self.materialization = Materialization(reads, self.nests)
        deferred = self.deferred = DeferredArrays(self.materialization, self.liveness)
        updates = self.updates = ArrayUpdates(self.materialization, self.liveness)
        calls = self.calls = LibraryCalls(updates)
        reductions = self.reductions = Reductions(deferred, updates, RowReductions(self.materialization.row_tiles))
        products = self.products = MatrixProducts(deferred, updates)
        self.rings = RingBuffers(updates)
        stores = EarlyStores(self.materialization, self.liveness)
        whole = WholeArrays(updates, CumulativeReductions(deferred, calls), stores)
        self.walk = JaxprWalk(self, deferred, stores, self.rings, whole, notes)
        states = LoopStates(CarryBuffers(self.materialization, self.liveness), self.rings)
        self.lanes = BatchVectorization(self.walk, updates, [deferred, calls, products, self.rings])
        loops = Loops(self.walk, states, self.lanes)
        branches = Branches(loops)

        self.asked: list[tuple[LoweredArray, Any]] = []  # arrays of whose rows only the first ones are asked for

        # The builder protocol. Rules call these for every element, so they are methods of parts, and nothing lies between.
        self.const, self.prim, self.math, self.scalar = scalars.const, scalars.prim, scalars.math, scalars.scalar
        self.add, self.sub, self.mul, self.div, self.neg = scalars.add, scalars.sub, scalars.mul, scalars.div, scalars.neg
        self.compare, self.select, self.convert = scalars.compare, scalars.select, scalars.convert
        self.bitcast, self.real, self.imag = scalars.bitcast, scalars.real, scalars.imag
        self.complex, self.pair = scalars.complex, scalars.pair
        self.read, self.let, self.bounded = reads.read, ir.let, scalars.bounded
        self.may_write_out = ir.may_write_out
        self.compute, self.pieces, self.elementwise = deferred.compute, deferred.pieces, deferred.elementwise
        self.constant, self.reshape, self.transpose = deferred.constant, deferred.reshape, deferred.transpose
        self.inside = deferred.inside
        self.if_, self.materialize = deferred.if_, self.materialization.materialize
        self.reduce, self.fold, self.dot = reductions.reduce, reductions.fold, products.dot
        self.own_around, self.chunks, self.when = updates.own_around, updates.chunks, updates.when
        self.kernel, self.callback, self.check = calls.kernel, calls.callback, calls.check
        self.while_loop, self.scan = loops.while_loop, loops.scan
        self.inline, self.cond = branches.inline, branches.cond

    def leading(self, x: LoweredArray, n: LoweredArray, times: int, plus: int) -> LoweredArray:
        """The array, of which a result shows the first n * times + plus rows only."""
        out = self.reshape(x, x.shape)
        self.asked.append((out, (self.read(n).expr, times, plus)))
        return out

    # What depends on the array strategy in force: whole arrays, or those of one lane.
    def own(self, x: LoweredArray) -> LoweredArray:
        return self.walk.arrays.own(x)

    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray:
        return self.walk.arrays.empty(shape, dtype)

    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None:
        self.walk.arrays.store(x, index, value)

    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        self.walk.arrays.loop(shape, body, ordered=ordered)

    def copies(self, shape: Sequence[int]) -> int:
        return self.walk.arrays.copies(shape)

    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray:
        return self.walk.arrays.prefix(kind, x, axis, reverse)
