"""Where new values go at the end of an iteration or a branch, so that no array is copied from one place to another.

An array that a loop carries is found under one name, its buffer, when an iteration begins. What the next one begins with
may be anywhere by then: in the buffer of another carry, in memory of its own, or not computed yet. The last is stored over
an old value that it replaces element by element, or else in other memory. Then the buffers take each other's memory
(`SwapBuffers`), so that each new value is found under the name where the next iteration looks for it.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import Buffer, SwapBuffers
from numjet.cpu.lowering.batch_vectorization import Lanewise
from numjet.cpu.lowering.builder import SMALL
from numjet.cpu.lowering.context import TOGETHER
from numjet.cpu.lowering.values import LoweredArray, Storage, parts_dtype
from numjet.cpu.remarks import Recorder

LEAST = 2 * SMALL   # words of memory that is used again; less may be registers' that were moved out of a loop


class Settling(Lanewise):
    """Adds the end of iterations and branches.

    spare: memory inside of loops that nobody wants any more. made: the temporaries that were made inside of loops.
    """

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, notes, recorder)
        self.spare: list[Buffer] = []
        self.made: list[Buffer] = []

    def temporary(self, aval: ShapedArray) -> Storage:
        if self.lane is not None or self.block is self.function.body:
            return super().temporary(aval)
        kind, size = parts_dtype(aval.dtype) or aval.dtype, words_of(aval)
        found = next((b for b in self.spare if (b.dtype, b.size) == (kind, size)), None) if size > LEAST else None
        if found is not None:
            self.spare.remove(found)
            return Storage(found, self.terms.index(0), True)
        storage = super().temporary(aval)
        self.made.append(storage.buffer)
        return storage

    def unwanted(self, buffer: Buffer) -> bool:
        """Whether no array is wanted later that is in this memory or computed from it."""
        return not any(p.storage is not None and p.storage.buffer is buffer
                       for frame in self.frames for a in frame.live() for p in a.reachable())

    def settle(self, places: Sequence[Storage], news: Sequence[LoweredArray], items: Sequence[tuple[LoweredArray, Storage]],
               why: str,
               kept: Collection[Buffer] = ()) -> None:
        """Makes arrays what is at `places`, each a whole buffer whose old value may be lost; and stores `items`, which may
        read the old values. kept: memory that stays where it is."""
        names = [place.buffer for place in places]
        sources = self._already_stored(names, news, kept)
        readers = [*(new for new, source in zip(news, sources, strict=True) if source is None), *(x for x, _ in items)]
        free = [name for name in names if name not in sources]
        for others in (False, True):
            for k, (name, new) in enumerate(zip(names, news, strict=True)):
                if sources[k] is None:
                    sources[k] = next((b for b in (free if others else [name]) if b in free and _fits(b, name)
                                       and _may_replace(new, b, readers)), None)
                    free = [b for b in free if b is not sources[k]]
        chosen = [self.temporary(new.aval).buffer if b is None else b for b, new in zip(sources, news, strict=True)]
        stored = [(new, Storage(b, self.terms.index(0), True)) for new, b in zip(news, chosen, strict=True)
                  if whole(new) is not b]
        self.put_all([*items, *stored], why)
        self._swap(names, chosen)

    def _already_stored(self, names: Sequence[Buffer], news: Sequence[LoweredArray],
                        kept: Collection[Buffer]) -> list[Buffer | None]:
        """The memory of new values that may stay in it: all of a buffer, which nobody else wants."""
        sources: list[Buffer | None] = []
        for name, new in zip(names, news, strict=True):
            buffer = whole(new)
            mine = (buffer is not None and buffer not in sources and buffer not in kept and _fits(buffer, name)
                    and (buffer in names or buffer.kind == "temp" and self.unwanted(buffer)))
            sources.append(buffer if mine else None)
        return sources

    def _swap(self, names: Sequence[Buffer], sources: Sequence[Buffer]) -> None:
        """Lets each name be the memory of its source, and the sources that are no such names what is left over."""
        given = {name: source for name, source in zip(names, sources, strict=True) if name is not source}
        left = [name for name in given if name not in sources]
        for source in [s for s in given.values() if s not in given]:
            given[source] = next(name for name in left if _fits(name, source))
            left.remove(given[source])
            self.spare.append(source)
        for kind in dict.fromkeys((b.dtype, b.size) for b in given):
            group = {b: source for b, source in given.items() if (b.dtype, b.size) == kind}
            self.emit(SwapBuffers(tuple(group), tuple(group.values())))


def words_of(aval: ShapedArray) -> int:
    """How many numbers an array has in memory."""
    return aval.size * (2 if parts_dtype(aval.dtype) is not None else 1)


def whole(x: LoweredArray) -> Buffer | None:
    """The buffer that an array is all of and that may be overwritten, if there is one."""
    s = x.storage
    if s is None or not s.owned or s.base.terms or s.base.const or s.buffer.size != words_of(x.aval):
        return None
    return s.buffer


def _fits(a: Buffer, b: Buffer) -> bool:
    return (a.dtype, a.size) == (b.dtype, b.size)


def _may_replace(new: LoweredArray, old: Buffer, readers: Sequence[LoweredArray]) -> bool:
    """Whether `new` may be written over an old value that `readers`, which are stored at the same time, may read: only
    element by element, in the same loop."""
    if not new.lazy:
        return not any(x.storage is not None and x.storage.buffer is old for x in readers)
    if not all(reads_in_place(x, old) for x in readers):
        return False
    reading = [x for x in readers if x is not new and _reads(x, old)]
    together = [x for x in readers if x.lazy and _nest(x) == _nest(new)]
    return all(any(x is t for t in together) for x in reading) and (not reading or len(together) <= TOGETHER)


def _nest(x: LoweredArray) -> tuple[tuple[int, ...], bool]:
    """Definitions that are wanted together and agree in this are stored in one loop nest."""
    return x.shape, x.flat is not None


def _reads(x: LoweredArray, buffer: Buffer) -> bool:
    return any(p.storage is not None and p.storage.buffer is buffer for p in x.reachable())


def reads_in_place(x: LoweredArray, buffer: Buffer) -> bool:
    """Whether a definition reads nothing from a buffer, or for each of its elements only the one in the same place."""
    if not x.pointwise:
        return not _reads(x, buffer)
    seen, stack = {id(x)}, [x]
    while stack:
        for p in _unseen(stack.pop().parents, seen):
            if p.lazy and p.pointwise and p.shape == x.shape:
                stack.append(p)
            elif not (p.storage is not None and p.shape == x.shape and whole(p) is buffer) and _reads(p, buffer):
                return False
    return True


def _unseen(arrays: Iterable[LoweredArray], seen: set[int]) -> Iterable[LoweredArray]:
    for a in arrays:
        if id(a) not in seen:
            seen.add(id(a))
            yield a
