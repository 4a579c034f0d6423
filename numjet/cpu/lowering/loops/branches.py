"""Native branches: cond becomes If or Switch, whose branches are lowered in place and leave their results in one location.

Each result is joined by a strategy, chosen by `Branches._choose`. Large results that are stored go through the assignment of
carry buffers, as at the end of a loop's iteration.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.cpu.ir.nodes import INT64, Buffer, Expr, If, Stmt, Switch
from numjet.cpu.lowering.arrays.allocation import MemoryAllocation
from numjet.cpu.lowering.arrays.materialization import Item
from numjet.cpu.lowering.arrays.values import LoweredArray, Registers, Storage
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.loops.carry_buffers import owned_buffer
from numjet.cpu.lowering.loops.checked_loops import CheckedBranch
from numjet.cpu.lowering.loops.loop_state import LoopStates
from numjet.cpu.lowering.loops.native_loops import Loops
from numjet.cpu.lowering.scalars import words

Join = tuple[Expr, tuple[Expr, ...]]   # a variable after the branches, and its value at the end of each


class JoinedResult:
    """How one result of all branches is joined. buffer: the one that it occupies, if it is in memory; stays: the branches
    have it there already."""

    buffer: Buffer | None = None
    stays = False

    def leave(self, x: LoweredArray, assigned: list[Item]) -> None:
        """Takes the value of the next branch, at its end; appends it to `assigned` if it is to be stored."""
        raise NotImplementedError

    def joins(self) -> list[Join]:
        """The variables that the branches define."""
        return []

    def result(self, block: list[Stmt]) -> LoweredArray:
        """The value after the branches."""
        raise NotImplementedError


class JoinedRegisters(JoinedResult):
    """A small result: its elements are variables."""

    def __init__(self, states: LoopStates, aval: ShapedArray):
        self.states, self.aval = states, aval
        self.ends: list[list[Any]] = []
        self.elems: list[Any] = []

    def leave(self, x: LoweredArray, assigned: list[Item]) -> None:
        self.ends.append(self.states.in_registers(x))

    def joins(self) -> list[Join]:
        self.elems = [self.states.scalars.variable(self.aval.dtype) for _ in range(self.aval.size)]
        return [(word.expr, tuple(words(end[n])[p].expr for end in self.ends))
                for n, elem in enumerate(self.elems) for p, word in enumerate(words(elem))]

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Registers(self.elems, block))


class JoinedBuffer(JoinedResult):
    """A large result in one storage. stays: all branches have it there, as an operand that they return, perhaps updated."""

    def __init__(self, aval: ShapedArray, storage: Storage, stays: bool):
        self.aval, self.storage, self.stays = aval, storage, stays
        self.buffer = storage.buffer

    def leave(self, x: LoweredArray, assigned: list[Item]) -> None:
        if not self.stays:
            assigned.append((x, self.storage))

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, self.storage)


class JoinedWindow(JoinedResult):
    """A large result in a ring buffer, whose window begins elsewhere at the end of each branch: its start is a variable."""

    stays = True

    def __init__(self, aval: ShapedArray, buffer: Buffer, start: Index):
        self.aval, self.window = aval, Storage(buffer, start, True)
        self.buffer = buffer
        self.ends: list[Expr] = []

    def leave(self, x: LoweredArray, assigned: list[Item]) -> None:
        self.ends.append(x.storage.base.expr)

    def joins(self) -> list[Join]:
        return [(self.window.base.expr, tuple(self.ends))]

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, self.window)


class _BranchMemory:
    """The free buffers while branches are lowered. Only one branch runs, so each may use memory that others made.

    _left: by branch, what it left free, and how many buffers there were by then.
    """

    def __init__(self, memory: MemoryAllocation):
        self.memory, self.before, self.first = memory, memory.free, len(memory.loop_buffers)
        self._left: list[tuple[list[Buffer], int]] = []
        self._after: list[Buffer] = []

    @contextmanager
    def branch(self) -> Iterator[None]:
        """While one branch is lowered."""
        self.memory.free = [*self.before, *self.memory.loop_buffers[self.first:]]
        yield
        self._left.append((self.memory.free, len(self.memory.loop_buffers)))

    def use_common(self) -> None:
        """Frees what all branches have left free."""
        self.memory.free = [b for b in self.before if all(b in free for free, _ in self._left)]

    @contextmanager
    def end_of_branch(self, number: int, occupied: Collection[Buffer]) -> Iterator[None]:
        """While a branch moves its results to where they are joined."""
        free, count = self._left[number]
        self.memory.free = _without([*free, *self.memory.loop_buffers[count:]], occupied)
        yield
        self._after += self.memory.free

    def join(self, occupied: Collection[Buffer]) -> None:
        """Frees what any branch has left free, as none of it is read any more."""
        self.memory.free = _without(self._after, occupied)


class Branches:
    """Lowers branches."""

    def __init__(self, loops: Loops):
        self.loops, self.walk, self.states = loops, loops.walk, loops.states
        self.ir, self.liveness, self.scalars, self.rings = loops.ir, loops.liveness, loops.states.scalars, loops.states.rings

    def inline(self, jaxpr: ClosedJaxpr, args: Sequence[LoweredArray]) -> list[LoweredArray]:
        """The results of a program, lowered here."""
        with self.liveness.operands_consumed():
            return self.walk.run(jaxpr, args)

    def cond(self, index: LoweredArray, branches: Sequence[ClosedJaxpr],
             operands: Sequence[LoweredArray], rare: bool = False) -> list[LoweredArray]:
        """The results of the branch with that number, clamped to those that there are. rare: the second of two is hardly ever
        taken."""
        ir, last = self.ir, self.scalars.const(len(branches) - 1, INT64)
        wide = self.scalars.convert(self.walk.reads.read(index), INT64)
        clamped = self.scalars.prim("min", self.scalars.prim("max", wide, self.scalars.const(0, INT64)), last)
        if clamped.expr.op == "const":
            return self.inline(branches[int(clamped.expr.attr)], operands)
        operands = self.loops.invariant(operands, rare)
        choice = ir.let(clamped).expr
        memory = _BranchMemory(ir.memory)
        blocks: list[list[Stmt]] = [[] for _ in branches]
        ends: list[list[LoweredArray]] = []
        checks = [CheckedBranch(self.walk.nans) for _ in branches]
        for branch, block, checked in zip(branches, blocks, checks, strict=True):
            with memory.branch(), self.liveness.operands_consumed(), ir.inside(block), checked.body():
                ends.append(self.walk.run(branch, checked.operands([self.walk.reads.alias(x) for x in operands], operands),
                                          barrier=True))
                checked.end(ends[-1])
        memory.use_common()
        with self.liveness.operands_consumed(), ir.inside(blocks[-1]):
            joined = self._choose(list(zip(*ends, strict=True)), operands)
        occupied = {j.buffer for j in joined if j.buffer is not None}
        kept = {j.buffer for j in joined if j.buffer is not None and j.stays}
        for number, block in enumerate(blocks):
            with memory.end_of_branch(number, occupied), self.liveness.operands_consumed(), ir.inside(block):
                assigned: list[Item] = []
                for j, x in zip(joined, ends[number], strict=True):
                    j.leave(x, assigned)
                self.states.buffers.assign(assigned, [], "result of a branch", kept)
        memory.join(occupied)
        joins = [join for j in joined for join in j.joins()]
        self._emit(choice, blocks, joins, rare)
        return [j.result(ir.block) for j in joined]

    def _choose(self, results: Sequence[Sequence[LoweredArray]], operands: Sequence[LoweredArray]) -> list[JoinedResult]:
        """The strategy for each result. Up to the register limit: registers. In memory: the storage of an operand in which all
        branches leave it, else the ring buffer of which it is a window in all, else a buffer that holds it in one branch and
        nothing that is read later, else a new one."""
        limit = self.ir.memory.register_limit
        in_place = [_common_storage(ends, operands) if ends[0].size > limit else None for ends in results]
        unavailable = {storage.buffer for storage in in_place if storage is not None} | self.liveness.buffers_read()
        chosen: list[JoinedResult] = []
        for ends, storage in zip(results, in_place, strict=True):
            aval = ends[0].aval
            if aval.size <= limit:
                chosen.append(JoinedRegisters(self.states, aval))
            elif storage is not None:
                chosen.append(JoinedBuffer(aval, storage, True))
            elif (ring := self.rings.common_buffer(ends)) is not None:
                chosen.append(JoinedWindow(aval, ring, self.rings.unknown_start(ring, aval)))
            else:
                usable = (x.storage for x in ends if (b := owned_buffer(x)) is not None and b not in unavailable)
                chosen.append(JoinedBuffer(aval, next(usable, None) or self.ir.allocation.temporary(aval), False))
            if chosen[-1].buffer is not None:
                unavailable.add(chosen[-1].buffer)
        return chosen

    def _emit(self, choice: Expr, blocks: list[list[Stmt]], joins: list[Join], rare: bool) -> None:
        if len(blocks) == 2:
            test = self.scalars.compare("ne", self.scalars.wrap(choice), self.scalars.const(0, INT64)).expr
            self.ir.emit(If(test, blocks[1], blocks[0], [(v, c[1], c[0]) for v, c in joins], rare))
        else:
            self.ir.emit(Switch(choice, blocks, joins))


def _common_storage(ends: Sequence[LoweredArray], operands: Sequence[LoweredArray]) -> Storage | None:
    """The storage of an operand in which all branches leave their result, as it was or updated in place."""
    found = ends[0].storage
    if found is None or not all(found.same(end.storage) for end in ends):
        return None
    return next((x.storage for x in operands if found.same(x.storage)), None)


def _without(free: Sequence[Buffer], occupied: Collection[Buffer]) -> list[Buffer]:
    """Free buffers, each once, except those that results occupy."""
    return [b for b in dict.fromkeys(free) if b not in occupied]
