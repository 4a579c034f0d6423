"""Carry buffer assignment: where new values go at the end of an iteration or a branch, so that no array is copied.

An array that a loop carries is found in one buffer when an iteration begins. The new value may be anywhere by then: in the
buffer of another carry, in memory of its own, or deferred. A deferred one is stored over an old value that it replaces element
by element, or else in other memory. Then the buffers take each other's memory (`SwapBuffers`), so that the next iteration
finds each new value in the carry's buffer.
"""
from __future__ import annotations

import functools
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from numjet.cpu.ir.nodes import Buffer, SwapBuffers
from numjet.cpu.lowering.arrays.materialization import TOGETHER, Item, Materialization
from numjet.cpu.lowering.arrays.values import LoweredArray, Storage, whole_buffer
from numjet.cpu.lowering.liveness import Liveness


class CarryBuffers:
    """Assigns buffers to the new values of carries and to the results of branches."""

    def __init__(self, materialization: Materialization, liveness: Liveness):
        self.materialization, self.liveness, self.ir = materialization, liveness, materialization.ir

    def assign(self, values: Sequence[Item], others: Sequence[Item], why: str, kept: Collection[Buffer] = ()) -> None:
        """Makes each new value the content of its buffer, the whole of which may be overwritten; and stores `others`, which may
        read the old contents. kept: memory that stays where it is."""
        targets, news = [storage.buffer for _, storage in values], [new for new, _ in values]
        sources = self._stored_already(targets, news, kept)
        free = _FreeBuffers([target for target in targets if target not in sources],
                            [*(new for new, source in zip(news, sources, strict=True) if source is None),
                             *(x for x, _ in others)])
        for take in (free.take_own, free.take_first):
            for k, (target, new) in enumerate(zip(targets, news, strict=True)):
                if sources[k] is None:
                    sources[k] = take(new, target)
        chosen = [self.ir.allocation.temporary(new.aval).buffer if b is None else b
                  for b, new in zip(sources, news, strict=True)]
        stored = [(new, Storage(b, self.ir.terms.index(0), True)) for new, b in zip(news, chosen, strict=True)
                  if owned_buffer(new) is not b]
        self.materialization.store_arrays([*others, *stored], why)
        self._swap(targets, chosen)

    def _stored_already(self, targets: Sequence[Buffer], news: Sequence[LoweredArray],
                        kept: Collection[Buffer]) -> list[Buffer | None]:
        """The memory of new values that may stay in it: all of a buffer, which no other array needs."""
        found = [owned_buffer(new) for new in news]
        others = {b for b in found if b is not None and b.kind == "temp"}.difference(targets)
        usable = {*targets, *(others - self.liveness.buffers_read() if others else ())}.difference(kept)
        sources: list[Buffer | None] = []
        for target, buffer in zip(targets, found, strict=True):
            if buffer is not None and buffer in usable and _kind(buffer) == _kind(target):
                usable.remove(buffer)
                sources.append(buffer)
            else:
                sources.append(None)
        return sources

    def _swap(self, targets: Sequence[Buffer], sources: Sequence[Buffer]) -> None:
        """Gives each target the memory of its source; sources that are no targets get the memory that is left over."""
        given = {target: source for target, source in zip(targets, sources, strict=True) if target is not source}
        left: defaultdict[Any, deque[Buffer]] = defaultdict(deque)
        used = set(sources)
        for target in given:
            if target not in used:
                left[_kind(target)].append(target)
        for source in [s for s in given.values() if s not in given]:
            given[source] = left[_kind(source)].popleft()
            self.ir.memory.free.append(source)
        for kind in dict.fromkeys(map(_kind, given)):
            group = {b: source for b, source in given.items() if _kind(b) == kind}
            self.ir.emit(SwapBuffers(tuple(group), tuple(group.values())))


class _FreeBuffers:
    """Buffers whose old values may be overwritten, in classes by the arrays that may be stored in them.

    A deferred array may be written over an old value that others read only element by element, in the same loop nest. So the
    class of a buffer is the loop nest of its readers, where that is not too large to be one loop; or its only reader; or
    that it has none. A stored array is copied after all deferred ones: to any buffer in which no array is stored.
    """

    def __init__(self, free: Sequence[Buffer], arrays: Sequence[LoweredArray]):
        self.order = {b: k for k, b in enumerate(free)}
        self.classes: dict[Buffer, list[Any]] = {b: [] for b in free}
        self.members: dict[Any, dict[Buffer, None]] = {}
        reads = _BufferReads(free)
        nests = Counter(_loop_nest(x) for x in arrays if x.lazy)
        readers: dict[Buffer, dict[int, LoweredArray]] = {b: {} for b in free}
        for x in arrays:
            for b in reads.buffers([reads.of(x)[0]]):
                readers[b][id(x)] = x
        elsewhere = set(reads.buffers(reads.of(x)[1] for x in arrays))
        stored = {x.storage.buffer for x in arrays if x.storage is not None}
        for b in free:
            if b not in stored:
                self._add(b, _STORED)
            found = {_loop_nest(x) for x in readers[b].values()}
            if not found:
                self._add(b, _UNREAD)
            elif b not in elsewhere and len(found) == 1:
                (nest,) = found
                if nests[nest] <= TOGETHER:
                    self._add(b, nest)
                elif len(readers[b]) == 1:
                    self._add(b, next(iter(readers[b])))

    def _add(self, b: Buffer, which: Any) -> None:
        self.classes[b].append((*_kind(b), which))
        self.members.setdefault((*_kind(b), which), {})[b] = None

    def _open_to(self, new: LoweredArray, like: Buffer) -> list[dict[Buffer, None]]:
        """The free buffers like another one in which an array may be stored."""
        classes = (_UNREAD, _loop_nest(new), id(new)) if new.lazy else (_STORED,)
        return [self.members.get((*_kind(like), which), {}) for which in classes]

    def take_own(self, new: LoweredArray, target: Buffer) -> Buffer | None:
        """The target itself, if the array may be stored there."""
        return self._take([target for found in self._open_to(new, target) if target in found])

    def take_first(self, new: LoweredArray, target: Buffer) -> Buffer | None:
        """The first free buffer like the target in which the array may be stored."""
        return self._take([next(iter(found)) for found in self._open_to(new, target) if found])

    def _take(self, found: Sequence[Buffer]) -> Buffer | None:
        buffer = min(found, key=self.order.__getitem__, default=None)
        if buffer is not None:
            for which in self.classes[buffer]:
                del self.members[which][buffer]
        return buffer


_UNREAD, _STORED = "unread", "stored"


class _BufferReads:
    """The buffers that arrays read, as bit masks: each array that is reachable from any is visited once."""

    def __init__(self, buffers: Sequence[Buffer]):
        self.all = list(buffers)
        self.bits = {b: 1 << k for k, b in enumerate(buffers)}
        self.masks: dict[int, tuple[int, int]] = {}

    def buffers(self, masks: Iterable[int]) -> list[Buffer]:
        """The buffers in any of several masks."""
        found, buffers = functools.reduce(operator.or_, masks, 0), []
        while found:
            last = found.bit_length() - 1
            buffers.append(self.all[last])
            found ^= 1 << last
        return buffers

    def of(self, x: LoweredArray) -> tuple[int, int]:
        """The buffers that an array reads, and those of which an element reads more than the one at its own index."""
        stack = [x]
        while stack:
            a = stack[-1]
            waiting = [p for p in _operands(a) if id(p) not in self.masks]
            if waiting:
                stack += waiting
            else:
                self.masks[id(stack.pop())] = self._mask(a)
        return self.masks[id(x)]

    def _mask(self, a: LoweredArray) -> tuple[int, int]:
        """The same, from those of an array's operands."""
        read = self.bits.get(a.storage.buffer, 0) if a.storage is not None else 0
        elsewhere = 0
        for p in _operands(a):
            inner = self.masks[id(p)]
            read |= inner[0]
            if p.pointwise and p.shape == a.shape:
                elsewhere |= inner[1]
            elif p.shape != a.shape or owned_buffer(p) is None:
                elsewhere |= inner[0]
        return read, elsewhere if a.pointwise else read


def _operands(x: LoweredArray) -> Sequence[LoweredArray]:
    source = x.content.source
    return x.parents if source is None else (*x.parents, source)


def owned_buffer(x: LoweredArray) -> Buffer | None:
    """The buffer of which an array is all and that may be overwritten, if there is one."""
    return whole_buffer(x) if x.storage is not None and x.storage.owned else None


def _kind(b: Buffer) -> tuple[Any, int]:
    """Buffers of one kind can take each other's memory."""
    return b.dtype, b.size


def _loop_nest(x: LoweredArray) -> tuple[tuple[int, ...], bool]:
    """Deferred arrays that agree in this and are stored at the same time share a loop nest."""
    return x.shape, x.content.flat is not None
