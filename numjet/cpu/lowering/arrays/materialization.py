"""Materialization: deferred arrays become registers or memory.

Deferred arrays that are stored at the same time share one loop nest. An array of joined pieces is stored piece by piece, each
where it belongs.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import accumulate, product
from math import prod
from typing import Any

from numjet.cpu.ir.nodes import Copy
from numjet.cpu.lowering.arrays.array_reads import ArrayReads
from numjet.cpu.lowering.arrays.row_tiles import RowTiles
from numjet.cpu.lowering.arrays.transpose_tiling import strided_axis, tiled_nest
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Pair, Registers, Storage, linear, parts_dtype, words_of
from numjet.cpu.lowering.loops.loop_nests import SHORT_ROW, LoopNests, is_short_row, longest_short_row
from numjet.foundation.decisions import quotient

FEW_PIECES = 8        # of a concatenation: an element of more is seldom found by comparing its index with all of them
MANY_PIECES = 64      # whose code is longer as a search in each iteration than as a loop for each of them
LONG_PIECE = 16       # elements in a row of few pieces, on average, which pay for a loop of their own
COSTLY_PIECES = 16.0  # operations per element of all pieces, from which computing and finding them all for each does not pay
WRITTEN_OUT = 2048    # elements of many small pieces that are stored one by one, without loops
SHORT_PIECE = 4       # elements whose stores are no longer than a loop
LONGEST_RESIDUES = 400.0   # operations for one element of each residue
TOGETHER = 8          # unrelated results that are stored in one loop nest: hundreds are slow to compile and to run

Item = tuple[LoweredArray, Storage]   # an array and the memory that it is stored in


class Materialization:
    """Stores deferred arrays."""

    def __init__(self, reads: ArrayReads, nests: LoopNests):
        self.ir, self.reads, self.memory, self.nests = reads.ir, reads, reads.memory, nests
        self.row_tiles = RowTiles(reads, nests)

    def materialize(self, x: LoweredArray, why: str = "") -> LoweredArray:
        """Stores a deferred array: in registers when it is small, else in memory."""
        if not x.lazy or not self.ir.allocation.may_store(x.size):
            return x
        source = x.content.source
        if source is not None:
            content = self.materialize(source, why).content
            x.content = Registers(content.elems, content.block) if isinstance(content, Registers) else content
        elif x.size <= self.ir.small:
            if self.ir.recorder is not None:
                self.ir.recorder.kept_in_registers(x, why)
            self.keep_in_registers(x)
        else:
            self.store_all([(x, self.ir.allocation.temporary(x.aval))], why)
        return x

    def keep_in_registers(self, x: LoweredArray) -> None:
        """Evaluates all elements of a deferred array here."""
        read = self.reads.evaluation(x)
        elems = [self.ir.let(read(*i)) for i in (product(*map(range, x.shape)) if x.size else ())]
        x.content = Registers(elems, self.ir.block)

    def materialize_if_costly(self, x: LoweredArray, why: str = "its elements are read several times") -> LoweredArray:
        """Stores a deferred array that computes something, before a rule that reads its elements more than once."""
        if x.lazy and x.cost > 0:
            self.materialize(x, why)
        return x

    def in_memory(self, x: LoweredArray, why: str = "") -> Storage:
        """The memory of an array, written now if it is not there yet."""
        if x.storage is None:
            self.ir.allocation.require_memory()
        if x.lazy and x.content.source is None:
            self.store_all([(x, self.ir.allocation.temporary(x.aval))], why)
        else:
            self.materialize(x, why)
        return x.storage or self.reads.spill(x)

    def store_all(self, items: Sequence[Item], why: str = "") -> None:
        """Writes deferred arrays of one shape into their storages, in one loop nest."""
        with nullcontext() if self.ir.recorder is None else self.ir.recorder.storing(items, why):
            if len(items) == 1 and self.goes_by_pieces(items[0][0]):
                x, storage = items[0]
                self._store_pieces(x, storage)
            elif items[0][0].size > 0:
                self._store_elements(items)
        for x, storage in items:
            x.content = storage

    def store_arrays(self, items: Sequence[Item], why: str = "") -> None:
        """Writes arrays into storages: related deferred arrays of one shape in one loop nest, memory by copies."""
        groups: dict[tuple, list[Item]] = {}
        seen: set[int] = set()
        stored = [(x, storage) for x, storage in items if not x.lazy]
        for x, storage in items:
            if x.lazy:
                again = id(x) in seen or x.content.source is not None
                seen.add(id(x))
                item = self.reads.alias(_with_fewest_divisions(x)) if again else x
                groups.setdefault((item.shape, item.content.flat is not None), []).append((item, storage))
        for group in groups.values():
            for part in _related(group):
                self.store_all(part, why)
        for x, storage in stored:
            if x.storage is not storage:
                self.copy_into(x, storage, why and f"{why}, which is in other memory already")

    def copy_into(self, x: LoweredArray, storage: Storage, why: str = "") -> None:
        """Fills a storage with an array, whose own state does not change."""
        if x.storage is None:
            flat = (lambda k: self.reads.read_flat(x, k)) if self.reads.has_positions(x) else None
            copied = LoweredArray(x.aval, Deferred(lambda *i: self.reads.read(x, *i), flat=flat, parents=(x,)))
            self.store_all([(copied, storage)], why)
            return
        copy = Copy(storage.buffer, storage.base.expr, x.storage.buffer, x.storage.base.expr,
                    self.ir.table.index(words_of(x.aval)))
        if self.ir.recorder is not None:
            self.ir.recorder.copied(copy, x, why)
        self.ir.emit(copy)

    # ------------------------------------------------------------------------------------------ loop nests
    def goes_by_pieces(self, x: LoweredArray) -> bool:
        """Whether an array consists of pieces which are stored by themselves: of many, of few with many elements in a row, or
        of costly ones, as a loop over all elements would compute all pieces for each of them and choose one."""
        if x.content.pieces is None or parts_dtype(x.dtype) is not None:
            return False
        pieces, axis = x.content.pieces
        small = [p.size for p in pieces if p.size <= self.ir.small]
        if len(pieces) > FEW_PIECES:
            return len(pieces) > MANY_PIECES or sum(small) <= WRITTEN_OUT
        return not small and (prod(x.shape[axis:]) >= LONG_PIECE * len(pieces) or self._computes_all_pieces(x))

    def _computes_all_pieces(self, x: LoweredArray) -> bool:
        """Whether a loop nest over all elements of joined pieces computes costly ones to throw them away. It does not where it
        writes out the last axes. Elements of a piece that is joined itself are found by a few comparisons more."""
        shape = [n for n in x.shape if n != 1]
        tail = [prod(shape[k:]) for k in range(len(shape) + 1)]
        if any(is_short_row(tail[k + 1], shape[k]) for k in range(len(shape)) if tail[k + 1] > 1):
            return False
        pieces, _ = x.content.pieces   # type: ignore[misc]
        return sum(p.cost + (p.content.finds if p.content.pieces is None else 0) for p in pieces) > COSTLY_PIECES

    def _leaves(self, x: LoweredArray, corner: tuple[int, ...]) -> Iterator[tuple[LoweredArray, tuple[int, ...]]]:
        """The pieces of x, which begins at `corner` of an array, and those of pieces among them, with where they begin."""
        pieces, axis = x.content.pieces   # type: ignore[misc]
        starts = [0, *accumulate(p.shape[axis] for p in pieces)]
        for piece, start in zip(pieces, starts, strict=False):
            first = (*corner[:axis], corner[axis] + start, *corner[axis + 1:])
            if self.goes_by_pieces(piece):
                yield from self._leaves(piece, first)
            else:
                yield piece, first

    def _store_pieces(self, x: LoweredArray, storage: Storage) -> None:
        """Writes the pieces of x; related ones of one shape together."""
        groups: dict[tuple[int, ...], list[Item]] = {}
        corners: dict[int, tuple[int, ...]] = {}   # by item
        for piece, first in self._leaves(x, (0,) * x.ndim):
            item = (piece, storage)
            corners[id(item)] = first
            groups.setdefault(piece.shape, []).append(item)
        sizes = [piece.size for items in groups.values() for piece, _ in items]
        crowded = sum(n for n in sizes if n <= self.ir.small) > WRITTEN_OUT
        for shape, items in groups.items():
            nest = self.nests.rolled if crowded and prod(shape) > SHORT_PIECE else self.nests.nest
            for group in _related(items):
                def body(*index: Any, group: list[Item] = group) -> None:
                    values = [self.ir.let(self.reads.read(piece, *index)) for piece, _ in group]
                    for item, value in zip(group, values, strict=True):
                        first = corners[id(item)]
                        position = linear(x.shape, tuple(i + at if at else i for i, at in zip(index, first, strict=True)))
                        self.memory.store(storage, position, value)
                nest(shape, body, short=_short_row([piece for piece, _ in group]))

    def _store_elements(self, items: Sequence[Item]) -> None:
        arrays = [x for x, _ in items]
        shape, size = arrays[0].shape, arrays[0].size
        if size > self.ir.small and all(x.content.flat is not None for x in arrays):
            self.nests.nest((size,), lambda k: self._store_values(items, k, [self.reads.read_flat(x, k) for x in arrays]))
            return
        tile = self.row_tiles.tile(arrays)
        if tile:
            with self.row_tiles.written(arrays, tile):
                self.row_tiles.nest(size, tile, lambda k, place: self._store_values(
                    items, k, [self.reads.read_tile(x, k, place) for x in arrays]))
            return

        dilation = _common_dilation(arrays)
        if dilation is not None:
            self._store_by_residues(items, *dilation)
            return

        def body(*index: Any) -> None:
            self._store_values(items, linear(shape, index), [self.reads.read(x, *index) for x in arrays])
        strided = strided_axis(arrays)
        if strided is None:
            self.nests.nest(shape, body, short=_short_row(arrays))
        else:
            tiled_nest(self.nests, arrays, strided, body)

    def _store_by_residues(self, items: Sequence[Item], axis: int, step: int) -> None:
        """Writes arrays of which every step-th element along an axis comes from somewhere else: one iteration stores `step`
        elements, for each of which it is known where it comes from. Short rows are no longer written out: that is much code."""
        arrays, shape = [x for x, _ in items], items[0][0].shape
        whole = quotient(shape[axis], step)
        rest = type(shape[axis])(shape[axis] - whole * step)

        def body(index: Sequence[Any], first: Any, count: int) -> None:
            places = [(*index[:axis], first + k, *index[axis + 1:]) for k in range(count)]
            values = [[self.ir.let(self.reads.read(x, *place)) for x in arrays] for place in places]
            for place, row in zip(places, values, strict=True):
                for (_, storage), value in zip(items, row, strict=True):
                    self.memory.store(storage, linear(shape, place), value)
        self.nests.nest((*shape[:axis], whole, *shape[axis + 1:]), lambda *i: body(i, i[axis] * step, step), short=0)
        self.nests.nest((*shape[:axis], rest, *shape[axis + 1:]), lambda *i: body(i, i[axis] + whole * step, 1))

    def _store_values(self, items: Sequence[Item], position: Any, values: list[Any]) -> None:
        """Stores one element of each array."""
        if len(values) > 1 or isinstance(values[0], Pair):  # all that is read, before anything is overwritten
            values = [self.ir.let(v) for v in values]
        for (_, storage), value in zip(items, values, strict=True):
            self.memory.store(storage, position, value)


def _short_row(arrays: Sequence[LoweredArray]) -> int:
    """Elements of last axes up to which they are written out where these arrays are stored together."""
    if any(parts_dtype(x.dtype) is not None for x in arrays):
        return SHORT_ROW
    return longest_short_row(min(x.dtype.itemsize for x in arrays), sum(x.cost for x in arrays))


def _common_dilation(arrays: Sequence[LoweredArray]) -> tuple[int, int] | None:
    """The axis and step by which arrays are dilated, where one is common to all; None where code for each
    residue would be long."""
    found = {x.content.dilation for x in arrays} - {None}
    if len(found) != 1:
        return None
    axis, step = found.pop()   # type: ignore[misc]
    long = step * sum(x.cost + x.content.finds for x in arrays) > LONGEST_RESIDUES
    return None if long else (axis, step)


def _with_fewest_divisions(x: LoweredArray) -> LoweredArray:
    """The array of which x joins the last axes, whose own index needs no division."""
    source = x.content.source
    while source is not None and x.content.flat is None and prod(source.shape[-1:]) < prod(x.shape[-1:]):
        x, source = source, source.content.source
    return x


def _related(group: Sequence[Item]) -> list[list[Item]]:
    """Connected components of a group of deferred arrays that read arrays of their size in common, small ones joined: a loop
    over hundreds of arrays is slow to compile and to run. One component if an array reads what another one overwrites."""
    if len(group) <= TOGETHER:
        return [list(group)]
    written = {s.buffer for _, s in group}
    reader_of: dict[int, int] = {}   # by array: the first item that reads it
    joined = list(range(len(group)))
    for number, (x, own) in enumerate(group):
        read = list(x.reachable())
        if any(a.storage is not None and a.storage.buffer in written and a.storage.buffer is not own.buffer for a in read):
            return [list(group)]
        for a in read:
            if a.size == x.size:
                joined[_root(joined, number)] = _root(joined, reader_of.setdefault(id(a), number))
    parts: dict[int, list[Item]] = {}
    for number, item in enumerate(group):
        parts.setdefault(_root(joined, number), []).append(item)
    return _packed(list(parts.values()))


def _root(joined: list[int], number: int) -> int:
    """The representative of an item's component (union-find)."""
    while joined[number] != number:
        joined[number] = joined[joined[number]]
        number = joined[number]
    return number


def _packed(parts: Sequence[list[Item]]) -> list[list[Item]]:
    """Small parts joined, in their order."""
    packed: list[list[Item]] = [[]]
    for part in parts:
        if packed[-1] and len(packed[-1]) + len(part) > TOGETHER:
            packed.append([])
        packed[-1] += part
    return packed
