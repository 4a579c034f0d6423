"""Arrays during lowering, in one of three states: deferred, in registers, or stored in memory."""
from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import Buffer, Stmt
from numjet.cpu.lowering.index import Index, Scalar

MOST_COST = 1e12  # the costs of arrays that read others twice double with each: they stay numbers that can be compared


def parts_dtype(dtype: np.dtype) -> np.dtype | None:
    """The dtype of the two halves of a compound element: complex numbers and PRNG keys; None for real scalars."""
    if dtype.kind == "c":
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    if dtype.names is not None:
        return np.dtype(np.uint64 if dtype.itemsize == 16 else np.uint32)
    return None


class Pair:
    """One compound element (complex number or PRNG key) as its two halves."""

    __slots__ = ("dtype", "parts")

    def __init__(self, first: Scalar, second: Scalar, dtype: np.dtype):
        self.parts, self.dtype = (first, second), dtype


class Content:
    """The state of an array. These are the facts that all states answer; a stored array costs nothing and reads no other."""

    __slots__ = ()

    cost: float = 0.0
    own_cost: float = 0.0
    most_work: float = 0.0
    finds: float = 0.0
    parents: tuple[LoweredArray, ...] = ()
    source: LoweredArray | None = None
    flat: Callable[[Any], Any] | None = None
    view: tuple[LoweredArray, tuple[int, ...]] | None = None
    pieces: tuple[Sequence[LoweredArray], int] | None = None
    period: int = 1
    row: LoweredArray | None = None
    dilation: tuple[int, int] | None = None
    pointwise = False
    depth = 0
    keeps: tuple[Buffer, ...] = ()

    @property
    def sources(self) -> tuple[LoweredArray, ...]:
        """All arrays that it reads."""
        return self.parents if self.source is None else (*self.parents, self.source)


class Deferred(Content):
    """A function from an index to a scalar, written out wherever an element is read.

    fn: by index; flat: by row-major position, where that is known; tile: by position and place in a tile (row_tiles.py), where
    what it reads repeats after `period` elements, 0 where that is not known. row: the array of one row that this one repeats.
    cost: operations per element, with those of the parents wherever these are read; own_cost: without them. most_work: a bound
    of what `work` gives.
    finds: operations that it takes to find the memory of an element, as a joined array compares its index; with those of the
    parents. parents: the arrays that fn reads. source: the array of which this one is a reshape.
    pointwise: element i of the result reads element i of parents of its shape only.
    depth: nested deferred arrays that move data. view: of a transpose, (array, permutation).
    pieces: of a concatenation, (arrays, axis). dilation: (axis, step), if elements come from somewhere else at every step-th
    index of an axis than in between. keeps: large buffers that stay allocated because this array reads them.
    memo: elements evaluated so far, by index and conditions.
    """

    __slots__ = ("cost", "depth", "dilation", "finds", "flat", "fn", "keeps", "memo", "most_work", "own_cost", "parents",
                 "period", "pieces", "pointwise", "row", "source", "tile", "view")

    def __init__(self, fn: Callable[..., Any], *, flat: Callable[[Any], Any] | None = None, own_cost: float = 0.0,
                 finds: float = 0.0, parents: tuple[LoweredArray, ...] = (),
                 source: LoweredArray | None = None, pointwise: bool = False,
                 view: tuple[LoweredArray, tuple[int, ...]] | None = None,
                 pieces: tuple[Sequence[LoweredArray], int] | None = None,
                 tile: Callable[[Any, Any], Any] | None = None, period: int = 0, row: LoweredArray | None = None,
                 dilation: tuple[int, int] | None = None):
        self.tile, self.period, self.row = tile, 1 if flat is not None else period, row
        self.dilation = dilation
        self.fn, self.flat, self.parents, self.source = fn, flat, parents, source
        self.pointwise, self.view, self.pieces = pointwise, view, pieces
        self.finds = min(MOST_COST, finds + sum(p.content.finds for p in parents))
        self.own_cost = own_cost
        self.cost = min(MOST_COST, own_cost + sum(p.content.cost for p in parents))
        self.most_work = self.own_cost + _most_work(self.sources)
        self.depth = max((p.content.depth for p in parents), default=0) + (not pointwise)
        self.keeps = ()
        self.memo: dict[Any, Any] = {}
        self.count_readers(1)

    def count_readers(self, change: int) -> None:
        """Tells the arrays that it reads of one reader more, or less."""
        for p in self.sources:
            p.readers += change

    def __del__(self) -> None:
        self.count_readers(-1)


def _most_work(parents: Sequence[LoweredArray]) -> float:
    """A bound of the work of several arrays together. Those that another one of them reads are a part of its work."""
    if len(parents) == 1:
        return parents[0].content.most_work
    read = {id(p) for parent in parents for p in parent.content.parents}
    return sum(p.content.most_work for p in dict.fromkeys(parents) if id(p) not in read)


class Registers(Content):
    """Scalars of the program, one per element, valid in `block` and the blocks inside it. mutable: they are being updated."""

    __slots__ = ("block", "elems", "mutable")

    def __init__(self, elems: list[Any], block: list[Stmt], mutable: bool = False):
        self.elems, self.block, self.mutable = elems, block, mutable


class Storage(Content):
    """Memory that holds an array in row-major order: a buffer from element `base` on.

    `owned`: the program may overwrite it once nobody reads it (temporaries, donated inputs, loop state).
    """

    __slots__ = ("base", "buffer", "owned")

    def __init__(self, buffer: Buffer, base: Index, owned: bool):
        self.buffer, self.base, self.owned = buffer, base, owned

    def same(self, other: Storage | None) -> bool:
        """Whether both begin at the same element of the same buffer."""
        return other is not None and other.buffer is self.buffer and other.base.expr is self.base.expr


class LoweredArray:
    """An array during lowering: its abstract value, and its content in one of three states, which changes when it is stored.

    readers: how many deferred arrays read it. block: that in which an equation made it, if that is known.
    """

    __slots__ = ("aval", "block", "content", "readers")

    def __init__(self, aval: ShapedArray, content: Content):
        self.aval, self.content, self.readers = aval, content, 0
        self.block: list[Stmt] | None = None

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    cost = property(lambda self: self.content.cost)
    parents = property(lambda self: self.content.parents)
    pointwise = property(lambda self: self.content.pointwise)

    @property
    def lazy(self) -> bool:
        """Whether it is deferred."""
        return type(self.content) is Deferred

    @property
    def registers(self) -> Registers | None:
        """Its registers, if it is in registers."""
        return self.content if type(self.content) is Registers else None

    @property
    def storage(self) -> Any:
        """Its memory, if it is stored; else None."""
        return self.content if type(self.content) is Storage else None

    def uses(self, buffer: Buffer) -> bool:
        """Whether it is stored in a buffer."""
        content = self.content
        return type(content) is Storage and content.buffer is buffer

    def reads(self, buffer: Buffer) -> bool:
        """Whether it is stored in a buffer or computed from what is."""
        return any(a.uses(buffer) for a in self.reachable())

    def reachable(self) -> Iterator[LoweredArray]:
        """This array and all from which it is computed."""
        return reachable((self,))

    def work(self, stored: Collection[int] = ()) -> float:
        """The cost per element where each deferred array is evaluated once, however many read it. stored: arrays, by id, that
        cost nothing."""
        total, found = 0.0, {id(self), *stored}
        stack: list[LoweredArray] = [self]
        for a in stack:   # which grows meanwhile: written out, as it is asked of every long chain
            content = a.content
            total += content.own_cost
            for p in content.parents if content.source is None else (*content.parents, content.source):
                if id(p) not in found:
                    found.add(id(p))
                    stack.append(p)
        return total

    def works_more_than(self, limit: float) -> bool:
        """Whether `work` gives more. That is asked along a chain of arrays, each of which reads the one before: they are gone
        through only where the sum over the parents, in which a shared one counts again, says too little."""
        content = self.content
        if type(content) is not Deferred or content.most_work <= limit:
            return False
        content.most_work = self.work()
        return content.most_work > limit

    def __repr__(self) -> str:
        storage = self.storage
        how = "deferred" if self.lazy else "registers" if storage is None else f"in {storage.buffer}"
        return f"LoweredArray({self.aval}, {how})"


def reachable(arrays: Iterable[LoweredArray]) -> Iterator[LoweredArray]:
    """Arrays and all from which they are computed, each once."""
    seen, stack = set(), list(arrays)
    while stack:
        a = stack.pop()
        if id(a) in seen:
            continue
        seen.add(id(a))
        yield a
        stack.extend(a.content.parents)
        if a.content.source is not None:
            stack.append(a.content.source)


def words_of(aval: ShapedArray) -> int:
    """How many numbers an array has in memory."""
    return aval.size * (2 if parts_dtype(aval.dtype) is not None else 1)


def whole_buffer(x: LoweredArray) -> Buffer | None:
    """The buffer of which an array is all; None for parts of buffers, and for arrays that are not stored."""
    s = x.storage
    if s is None or s.base.terms or s.base.const or x.size <= 0 or s.buffer.size != words_of(x.aval):
        return None
    return s.buffer


@functools.lru_cache(maxsize=4096)
def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def linear(shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    """Row-major position of a multi-index."""
    total: Any = 0
    for i, s in zip(index, strides(shape), strict=True):
        total = total + i * s if s != 1 else total + i
    return total


def delinearize(shape: tuple[int, ...], position: Any) -> tuple[Any, ...]:
    """Multi-index of a row-major position (int or Index)."""
    out = []
    for n in reversed(shape[1:]):
        position, rest = divmod(position, n) if isinstance(position, int) else position.divmod(n)
        out.append(rest)
    return (position, *reversed(out)) if shape else ()
