"""Static memory planning: every temporary gets its place in the scratch arena.

A temporary lives from the first to the last statement that touches it, in the innermost block that holds all of these
statements; a loop counts as one statement for what is touched outside of it too, a parallel loop and the epilogue of a product
for everything inside. Temporaries that live at different times get the same bytes (greedy first fit, largest first). Those that
change places live as long as any of them.
"""
from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush

import numpy as np

from numjet.cpu.ir.nodes import Buffer, Function, Stmt, SwapBuffers
from numjet.cpu.ir.traversal import blocks, side_by_side, touches, walk
from numjet.cpu.passes.manager import Pass

ALIGNMENT = 64
MOST_FITTED = 4096   # temporaries that are compared with one another
Path = tuple[tuple[int, int], ...]


def plan(function: Function) -> int:
    """Sets the offset of every temporary; returns the size of the arena in bytes."""
    if not function.temps:
        function.scratch_bytes = 0
        return 0
    touched: dict[Buffer, list[Path]] = {t: [] for t in function.temps}
    order: dict[Path, tuple[int, int]] = {}
    _collect(function.body, (), touched, order, [0])
    _join_exchanged(function, touched)
    groups = {id(paths): _span(paths, order) for paths in {id(p): p for p in touched.values() if p}.values()}
    spans = {t: groups[id(paths)] for t, paths in touched.items() if paths}
    function.temps[:] = [t for t in function.temps if t in spans]
    place = _first_fit if len(spans) <= MOST_FITTED else _in_time
    function.scratch_bytes = place(spans)
    return function.scratch_bytes


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _first_fit(spans: dict[Buffer, tuple[int, int]]) -> int:
    """Greedy first fit, largest first: the lowest place that is free during the whole life of a temporary."""
    low, high, begin, end = np.zeros((4, len(spans)), np.int64)
    for k, t in enumerate(sorted(spans, key=lambda t: -t.nbytes)):
        first, last = spans[t]
        busy = np.flatnonzero((begin[:k] <= last) & (first <= end[:k]))
        busy = busy[np.argsort(low[busy], kind="stable")]
        ends = np.maximum.accumulate(np.concatenate([[0], high[busy]]))
        gaps = np.flatnonzero(ends[:-1] + t.nbytes <= low[busy])
        t.offset = int(ends[gaps[0] if gaps.size else -1])
        low[k], high[k], begin[k], end[k] = t.offset, t.offset + _aligned(t.nbytes), first, last
    return int(high.max(initial=0))


def _in_time(spans: dict[Buffer, tuple[int, int]]) -> int:
    """Best fit in the order of time, for very many temporaries: each takes the smallest free gap that is large enough, in
    n log n steps."""
    top = 0
    gaps: list[tuple[int, int]] = []          # (bytes, offset), sorted
    starts: dict[int, int] = {}               # bytes of the gap that begins there
    ends: dict[int, int] = {}                 # bytes of the gap that ends there
    living: list[tuple[int, int, int]] = []   # (end of life, offset, bytes)

    def release(offset: int, size: int) -> None:
        after, before = starts.get(offset + size), ends.get(offset)
        if after is not None:
            remove(offset + size, after)
            size += after
        if before is not None:
            remove(offset - before, before)
            offset, size = offset - before, size + before
        insort(gaps, (size, offset))
        starts[offset] = ends[offset + size] = size

    def remove(offset: int, size: int) -> None:
        del gaps[bisect_left(gaps, (size, offset))], starts[offset], ends[offset + size]

    for t, (first, last) in sorted(spans.items(), key=lambda item: (item[1], -item[0].nbytes)):
        while living and living[0][0] < first:
            release(*heappop(living)[1:])
        size, found = _aligned(t.nbytes), bisect_left(gaps, (t.nbytes, 0))
        if found < len(gaps):
            room, t.offset = gaps[found]
            remove(t.offset, room)
            if room > size:
                release(t.offset + size, room - size)
        else:
            t.offset, top = top, top + size
        heappush(living, (last, t.offset, size))
    return top


def _collect(block: list[Stmt], prefix: Path, touched: dict[Buffer, list[Path]], order: dict[Path, tuple[int, int]],
             clock: list[int], shared: Path | None = None) -> None:
    """Records where every temporary is touched, and the time span of every statement. shared: the statement
    around whose blocks run several times at once."""
    for k, stmt in enumerate(block):
        start = clock[0]
        clock[0] += 1
        path = (*prefix, (id(block), k))
        around = path if shared is None and side_by_side(stmt) else shared
        for buffer in touches(stmt):
            if buffer in touched:
                touched[buffer].append(around or path)
        for inner in blocks(stmt):
            _collect(inner, path, touched, order, clock, around)
        order[path] = (start, clock[0] - 1)


def _join_exchanged(function: Function, touched: dict[Buffer, list[Path]]) -> None:
    """Makes buffers that change places, directly or not, share the list of what touches them."""
    groups: dict[Buffer, list[Buffer]] = {}
    for stmt in walk(function.body):
        if isinstance(stmt, SwapBuffers):
            found = {id(group): group for group in (groups.setdefault(b, [b]) for b in stmt.targets)}
            largest, *others = sorted(found.values(), key=len, reverse=True)
            for group in others:
                largest += group
                groups.update(dict.fromkeys(group, largest))
    for group in {id(group): group for group in groups.values()}.values():
        paths = [path for b in group for path in touched[b]]
        touched.update(dict.fromkeys(group, paths))


def _span(paths: list[Path], order: dict[Path, tuple[int, int]]) -> tuple[int, int]:
    """First and last moment of the statements of the innermost common block that hold all paths."""
    depth = 0
    shortest = min(len(p) for p in paths)
    while depth < shortest - 1 and all(p[depth] == paths[0][depth] for p in paths):
        depth += 1
    if any(p[depth][0] != paths[0][depth][0] for p in paths):
        depth -= 1  # different blocks of one statement (branches, a loop's condition and body): the statement as a whole
    heads = {p[:depth + 1] for p in paths}
    return min(order[h][0] for h in heads), max(order[h][1] for h in heads)


PASS = Pass("memory_plan", "places temporaries in the scratch arena", lambda function, _: plan(function),
            ("shared", "unplaced"), ("placed",), ("unplaced",))
