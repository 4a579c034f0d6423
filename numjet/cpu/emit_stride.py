"""Interleaved elements (complex numbers, points): one wide access and shuffles instead of a gather or scatter.

Lanes that step by 2, 3 or 4 elements take parts of whole groups. A group may be read as a whole where every group that
the loop meets is known to lie inside the buffer.
"""
from __future__ import annotations

from .emit_memory import MemoryEmitter
from .emit_scope import Value
from .emit_types import memory_type, scalar_type, suffix, wide
from .loop_ir import BOOL, Buffer, Expr, Stmt, Store

LARGEST_GROUP = 4


class StrideEmitter(MemoryEmitter):
    """Writes accesses to interleaved elements."""

    def load_strided(self, buffer: Buffer, index: Expr, step: int) -> Value | None:
        """The elements at index, index + step, ...; None where a gather is needed."""
        first, place = self._group(index, step)
        if not 2 <= step <= LARGEST_GROUP or not self._whole_groups(buffer, first, step, place):
            return None
        lanes = self.width
        address, mask = self.address(buffer, first), self.mask and self._repeated(self.mask, step)
        home = self._home(max(address.depth, mask.depth if mask else 0), buffer, index)
        element, reads = memory_type(buffer.dtype), self._reads(buffer, address.reads)
        key = ("group", address.text, lanes * step, mask.text if mask else None)
        group = self.known.get(key)
        if group is None or group.depth > home.depth:
            text = self._load_wide(address.text, element, lanes * step, buffer.dtype.itemsize, mask)
            group = self.memory.define(key, Value(text, lanes * step, home.depth, reads), home)
        order = ", ".join(f"i32 {place + lane * step}" for lane in range(lanes))
        ty = wide(element, lanes * step)
        text = self.put(f"shufflevector {ty} {group.text}, {ty} poison, <{lanes} x i32> <{order}>")
        return Value(self._from_memory(buffer, text, lanes), lanes, home.depth, reads)

    def _group(self, index: Expr, step: int) -> tuple[Expr, int]:
        """(index of the group's first element, place of `index` in the group)."""
        exprs = self.function.exprs
        place = self.sums.split(index).constant % step
        return exprs.prim("sub", index, exprs.index(place)), place

    def _whole_groups(self, buffer: Buffer, first: Expr, step: int, place: int) -> bool:
        low, high = self.ranges.of(first)
        return 0 <= low and high + step <= buffer.size

    def _repeated(self, mask: Value, times: int) -> Value:
        """Each lane of a mask several times."""
        key = ("repeated", mask.text, times)
        found = self.known.get(key)
        if found is not None:
            return found
        home = self.place(mask.depth)
        order = ", ".join(f"i32 {lane}" for lane in range(mask.lanes) for _ in range(times))
        ty, lanes = wide("i1", mask.lanes), mask.lanes * times
        text = self.put(f"shufflevector {ty} {mask.text}, {ty} poison, <{lanes} x i32> <{order}>")
        return self.memory.define(key, Value(text, lanes, home.depth), home)

    def _load_wide(self, address: str, element: str, lanes: int, align: int, mask: Value | None) -> str:
        ty = wide(element, lanes)
        if mask is None:
            return self.put(f"load {ty}, ptr {address}, align {align}")
        return self.intrinsic(f"masked.load.{suffix(element, lanes)}.p0", ty, (f"ptr align {align}", address),
                              (wide("i1", lanes), mask.text), (ty, "zeroinitializer"))

    # --- stores ---

    def store_group(self, stmts: list[Stmt]) -> int:
        """Writes the stores that `stmts` begins with as one, if they fill whole groups; returns how many these were."""
        head = stmts[0]
        if self.lane is None or not isinstance(head, Store) or head.buffer.dtype == BOOL:
            return 0
        step = self.index_stride(head.index)
        if step is None or not 2 <= step <= LARGEST_GROUP or len(stmts) < step:
            return 0
        stores = [s for s in stmts[:step] if isinstance(s, Store) and s.buffer is head.buffer]
        places = self._places(stores)
        if sorted(places) != list(range(step)):
            return 0
        stores = [stores[places.index(k)] for k in range(step)]
        values = [self.value(s.value) for s in stores]
        if any(head.buffer in value.reads for value in values):
            return 0
        self._store_wide(stores, values, step)
        return step

    def _places(self, stores: list[Store]) -> list[int]:
        """Where each store is in the group, from the lowest on."""
        sums = [self.sums.split(s.index) for s in stores]
        lowest = min(total.constant for total in sums)
        same = all(dict(total.terms) == dict(sums[0].terms) for total in sums)
        return [total.constant - lowest for total in sums] if same else []

    def _store_wide(self, stores: list[Store], values: list[Value], step: int) -> None:
        buffer, lanes = stores[0].buffer, self.width
        address = self.address(buffer, stores[0].index)
        mask = self.mask and self._repeated(self.mask, step)
        self.here()
        element, of = memory_type(buffer.dtype), scalar_type(buffer.dtype)
        texts = [self.fit(v, s.value, lanes) for v, s in zip(values, stores, strict=True)]
        if step > 2:
            pairs = [texts[:2], [*texts[2:], "poison"][:2]]
            texts = [self._shuffled(of, lanes, pair, list(range(2 * lanes))) for pair in pairs]
        width = lanes if step == 2 else 2 * lanes
        text = self._shuffled(of, width, texts, [k * lanes + lane for lane in range(lanes) for k in range(step)])
        ty, align = wide(element, lanes * step), buffer.dtype.itemsize
        if mask is None:
            self.line(f"store {ty} {text}, ptr {address.text}, align {align}")
        else:
            bits, name = wide("i1", lanes * step), f"llvm.masked.store.{suffix(element, lanes * step)}.p0"
            self.declare(name, "void", [ty, "ptr", bits])
            self.line(f"call void @{name}({ty} {text}, ptr align {align} {address.text}, {bits} {mask.text})")
        self.memory.kill([buffer])

    def _shuffled(self, of: str, lanes: int, pair: list[str], order: list[int]) -> str:
        ty, numbers = wide(of, lanes), ", ".join(f"i32 {k}" for k in order)
        return self.put(f"shufflevector {ty} {pair[0]}, {ty} {pair[1]}, <{len(order)} x i32> <{numbers}>")
