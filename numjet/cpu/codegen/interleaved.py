"""Interleaved elements (complex numbers, points, short rows): whole vectors and shuffles instead of gathers and scatters.

Lanes that step by 2 to 8 elements take parts of whole groups. A group may be read as a whole where every group that
the loop meets is known to lie inside the buffer. As many vectors as a group has elements hold the groups of all lanes; they are
taken apart, and put together, by halves where that number is even, so that 8 vectors take 24 shuffles.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.affine import Sum
from numjet.cpu.codegen.memory import MemoryEmitter
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, scalar_type, suffix, wide
from numjet.cpu.ir.nodes import BOOL, Buffer, Expr, Stmt, Store
from numjet.cpu.ir.traversal import nodes

LARGEST_GROUP = 8


class StrideEmitter(MemoryEmitter):
    """Writes accesses to interleaved elements."""

    def load_strided(self, buffer: Buffer, index: Expr, step: int) -> Value | None:
        """The elements at index, index + step, ...; None where a gather is needed."""
        first, place = self._group(index, step)
        if not 2 <= step <= LARGEST_GROUP or not self._whole_groups(buffer, first, step, place):
            return None
        lanes = self.width
        address, mask = self.address(buffer, first), self.mask
        home = self._home(max(address.depth, mask.depth if mask else 0), buffer, index)
        element, reads = memory_type(buffer.dtype), self._reads(buffer, address.reads)
        key = ("group", address.text, lanes, step, mask.text if mask else None)
        found = self.known.get((*key, place))
        if found is None or found.depth > home.depth:
            vectors = [self._load_part(address, element, buffer, step, k) for k in range(step)]
            self.out = home
            for k, text in enumerate(self._apart(element, vectors)):
                self.memory.define((*key, k), Value(text, lanes, home.depth, reads), home)
        return Value(self._from_memory(buffer, self.known[(*key, place)].text, lanes), lanes, home.depth, reads)

    def _group(self, index: Expr, step: int) -> tuple[Expr, int]:
        """(index of the group's first element, place of `index` in the group)."""
        exprs = self.function.exprs
        place = self.sums.split(index).constant % step
        return exprs.prim("sub", index, exprs.index(place)), place

    def _whole_groups(self, buffer: Buffer, first: Expr, step: int, place: int) -> bool:
        low, high = self.ranges.of(first)
        return 0 <= low and high + step <= buffer.size

    def _load_part(self, address: Value, element: str, buffer: Buffer, step: int, part: int) -> str:
        """One of the vectors that hold the groups of all lanes."""
        home, lanes, align = self.out, self.width, buffer.dtype.itemsize
        place = self._place_of_part(address, element, part)
        mask = self._mask_of_part(step, part)
        self.out = home
        ty = wide(element, lanes)
        if mask is None:
            return self.put(f"load {ty}, ptr {place}, align {align}")
        return self.intrinsic(f"masked.load.{suffix(element, lanes)}.p0", ty, (f"ptr align {align}", place),
                              (wide("i1", lanes), mask), (ty, "zeroinitializer"))

    def _place_of_part(self, address: Value, element: str, part: int) -> str:
        if part == 0:
            return address.text
        return self._advance(address, element, str(part * self.width), address.depth, address.reads).text

    def _mask_of_part(self, step: int, part: int) -> str | None:
        """Of the mask with each lane repeated `step` times, the part that one of `step` vectors has."""
        if self.mask is None:
            return None
        lanes, key = self.mask.lanes, ("part", self.mask.text, step, part)
        found = self.known.get(key)
        if found is None:
            home = self.place(self.mask.depth)
            order = [(part * lanes + lane) // step for lane in range(lanes)]
            found = self.memory.define(key, Value(self._shuffled("i1", lanes, self.mask.text, "poison", order), lanes,
                                                  home.depth), home)
        return found.text

    def _apart(self, of: str, vectors: list[str]) -> list[str]:
        """The elements of groups, given the vectors that hold the groups one after the other: the first ones of all groups,
        the second ones, ..."""
        lanes, step = self.width, len(vectors)
        if step == 1:
            return vectors
        if step % 2 == 0:
            halves = [self._apart(of, [self._shuffled(of, lanes, a, b, list(range(odd, 2 * lanes, 2)))
                                       for a, b in zip(vectors[::2], vectors[1::2], strict=True)]) for odd in (0, 1)]
            return [one for pair in zip(*halves, strict=True) for one in pair]
        return [self._picked(of, vectors, [place + lane * step for lane in range(lanes)]) for place in range(step)]

    def _together(self, of: str, parts: list[str]) -> list[str]:
        """The inverse of `_apart`."""
        lanes, step = self.width, len(parts)
        if step == 1:
            return parts
        if step % 2 == 0:
            halves = [self._together(of, parts[odd::2]) for odd in (0, 1)]
            order = [lane + k * lanes for lane in range(lanes) for k in range(2)]
            return [self._shuffled(of, lanes, a, b, order[half * lanes:(half + 1) * lanes])
                    for a, b in zip(*halves, strict=True) for half in range(2)]
        return [self._picked(of, parts, [k % step * lanes + k // step for k in range(v * lanes, (v + 1) * lanes)])
                for v in range(step)]

    def _picked(self, of: str, vectors: list[str], places: list[int]) -> str:
        """Elements of vectors, by their places in all vectors together."""
        lanes, found = self.width, vectors[0]
        for k, vector in enumerate(vectors[1:], 1):
            order = [place % lanes + lanes if place // lanes == k else place % lanes if k == 1 else lane
                     for lane, place in enumerate(places)]
            found = self._shuffled(of, lanes, found, vector, order)
        return found

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
        if not self._read_before(stmts[:step]):
            return 0
        values = [self.value(s.value) for s in stores]
        self._store_wide(stores, values, step)
        return step

    def _read_before(self, stores: Sequence[Stmt]) -> bool:
        """Does none of the values that are stored depend on what a store in front of it writes?"""
        done: list[Sum] = []
        for s in stores:
            assert isinstance(s, Store)
            read = [self.sums.split(e.args[0]) for e in nodes([s.value]) if e.op == "load" and e.attr is s.buffer]
            if any(r.terms != place.terms or r.constant == place.constant for r in read for place in done):
                return False
            done.append(self.sums.split(s.index))
        return True

    def _places(self, stores: list[Store]) -> list[int]:
        """Where each store is in the group, from the lowest on."""
        sums = [self.sums.split(s.index) for s in stores]
        lowest = min(total.constant for total in sums)
        same = all(dict(total.terms) == dict(sums[0].terms) for total in sums)
        return [total.constant - lowest for total in sums] if same else []

    def _store_wide(self, stores: list[Store], values: list[Value], step: int) -> None:
        buffer, lanes = stores[0].buffer, self.width
        address = self.address(buffer, stores[0].index)
        element, of = memory_type(buffer.dtype), scalar_type(buffer.dtype)
        masks = [self._mask_of_part(step, k) for k in range(step)]
        places = [self._place_of_part(address, element, k) for k in range(step)]
        self.here()
        texts = [self.fit(v, s.value, lanes) for v, s in zip(values, stores, strict=True)]
        ty, align = wide(element, lanes), buffer.dtype.itemsize
        for text, place, mask in zip(self._together(of, texts), places, masks, strict=True):
            if mask is None:
                self.line(f"store {ty} {text}, ptr {place}, align {align}")
                continue
            bits, name = wide("i1", lanes), f"llvm.masked.store.{suffix(element, lanes)}.p0"
            self.declare(name, "void", [ty, "ptr", bits])
            chosen = self.opaque(mask, lanes, buffer.dtype)
            self.line(f"call void @{name}({ty} {text}, ptr align {align} {place}, {bits} {chosen})")
        self.memory.kill([buffer])

    def _shuffled(self, of: str, lanes: int, one: str, other: str, order: list[int]) -> str:
        ty, numbers = wide(of, lanes), ", ".join(f"i32 {k}" for k in order)
        return self.put(f"shufflevector {ty} {one}, {ty} {other}, <{len(order)} x i32> <{numbers}>")
