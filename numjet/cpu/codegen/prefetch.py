"""Gathers from large arrays: what later lanes will read is fetched ahead, as their indices are known from memory.

The processor has tens of loads under way, of which the gathers of one iteration wait for the slowest. So the index
expression is computed a second time, for iterations that are some way ahead, and a hint given for each address.
"""
from __future__ import annotations

from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.state import Lane
from numjet.cpu.codegen.transposes import SquareEmitter
from numjet.cpu.ir.nodes import INT64, Buffer, Expr

LARGE_BYTES = 2 ** 21    # of the array that is read, from which it pays: a cache of one processor holds less
AHEAD = 128              # iterations
LONG_LOOP = 4096         # iterations
MOST_NODES = 40          # of the index expression


class PrefetchEmitter(SquareEmitter):
    """Writes gathers."""

    def _gather(self, buffer: Buffer, index: Expr, mask: Value | None, guarded: bool) -> Value:
        if mask is None and not guarded and buffer.nbytes >= LARGE_BYTES and self.lane is not None:
            self._fetch_ahead(buffer, index)
        return super()._gather(buffer, index, mask, guarded)

    def _fetch_ahead(self, buffer: Buffer, index: Expr) -> None:
        lane = self.lane
        assert lane is not None
        low, high = self.ranges.of(lane.var)
        if not LONG_LOOP <= high - low < 2 ** 40:
            return
        later = self.function.exprs.var(INT64, "later")
        self.ranges.bind(later, low, high)
        moved = self._moved(index, lane.var, later)
        if moved is None:
            return
        self.enter("inline", self.scope.code, set(), True)
        first = self.put(f"add i64 {lane.first.text}, {AHEAD}")
        first = self.intrinsic("smin.i64", "i64", ("i64", first), ("i64", str(high + 1 - lane.lanes)))
        self.lane = Lane(later, Value(first, 1, self.scope.depth), lane.lanes)
        pointers = self._pointers(buffer, moved, lane.lanes)
        self.here()
        self.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        for k in range(lane.lanes):
            place = self.put(f"extractelement <{lane.lanes} x ptr> {pointers.text}, i64 {k}")
            self.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
        self.lane = lane
        self.leave()

    def _moved(self, index: Expr, var: Expr, later: Expr) -> Expr | None:
        """The expression with another variable; None where it does not depend on memory, is long, or reads memory that may
        not be there, or be written meanwhile."""
        made: dict[int, Expr] = {var.id: later}
        stack, loads = [index], 0
        while stack:
            top = stack[-1]
            missing = [a for a in top.args if a.id not in made]
            if top.id in made or missing:
                stack.extend(missing) if top.id not in made else stack.pop()
                continue
            stack.pop()
            args = tuple(made[a.id] for a in top.args)
            if args == top.args:
                if top.op == "var" and self.known[top.id].lanes > 1:
                    return None
                made[top.id] = top
                continue
            made[top.id] = self.function.exprs.make(top.op, top.dtype, args, top.attr)
            if top.op == "load":
                loads += 1
                if len(args) > 1 or top.attr in self.mutable or not self.ranges.within(args[0], 0, top.attr.size - 1):
                    return None
            if len(made) > MOST_NODES:
                return None
        return made[index.id] if loads else None
