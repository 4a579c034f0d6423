"""Loop sharing: which loop of a nest threads may share, and in what chunks.

The number of chunks follows from the estimated run time, never from the number of threads, so results are the same, bit by bit,
however many threads there are.
"""
from __future__ import annotations

from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.analysis.dependence import independent
from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.ir.nodes import Comment, For, Stmt
from numjet.cpu.ir.traversal import static_trips
from numjet.cpu.target import Target

WORTH_NS = 20e3          # estimated time from which a loop is shared: it takes some microseconds to wake threads
CHUNK_NS = 10e3          # estimated time of the smallest chunks: few enough to hand out, enough for threads to end together
MOST_CHUNKS = 256
RUN = 64                 # a chunk of a vector loop is a multiple of this many iterations
FEW_TRIPS = 8            # of a loop with so few iterations the loops inside are shared, if they can be


def worth(stmt: Stmt, target: Target) -> bool:
    """Whether a statement takes long enough for threads."""
    return block_ns([stmt], target, WORTH_NS) >= WORTH_NS


def few_trips(loop: For) -> bool:
    """Whether a loop has too few iterations to be shared before the loops inside are."""
    trips = most_trips(loop)
    return trips is not None and trips < FEW_TRIPS


def chunks_of(loop: For, target: Target) -> tuple[int, int] | None:
    """The level of a nest, 0 being `loop`, whose iterations threads can share, and how many make a chunk; None without one.

    Of a loop that is not independent an inner one may be, as when rows are summed: each thread goes through the whole nest for
    some iterations of that one.
    """
    if loop.mode not in ("serial", "vector") or (static_trips(loop) is None and not loop.independent):
        return None
    most = min(MOST_CHUNKS, int(block_ns([loop], target, MOST_CHUNKS * CHUNK_NS) / CHUNK_NS))
    if loop.independent:
        trips = most_trips(loop) or 0
        size = chunk_size(trips, RUN if loop.mode == "vector" else 1, most)
        return (0, size) if size < trips else None
    nest = perfect_nest(loop)
    for level, one in enumerate([loop, *nest[1:]]):
        trips = static_trips(one) or 0
        size = chunk_size(trips, RUN if one.mode == "vector" else 1, most)
        if size < trips and independent(loop if level == 0 else around(one, [*nest[:level], *nest[level + 1:]], nest[-1].body)):
            return level, size
    return None


def chunk_size(trips: int, unit: int, most: int) -> int:
    """Iterations per chunk, a multiple of `unit`, for at most `most` chunks."""
    size = -(-trips // max(1, most))
    return -(-size // unit) * unit


def perfect_nest(loop: For) -> list[For]:
    """A loop and those inside, as long as there is nothing but one loop in the other, each with known bounds."""
    nest: list[For] = []
    block: list[Stmt] = [loop]
    while True:
        found = [s for s in block if not isinstance(s, Comment)]
        if len(found) != 1 or not isinstance(found[0], For) or found[0].carries or static_trips(found[0]) is None:
            return nest
        nest.append(found[0])
        block = found[0].body


def around(outer: For, inner: list[For], body: list[Stmt]) -> For:
    """Copies of loops, one inside the other, around a body."""
    for loop in reversed(inner):
        body = [loop.replace(body=body, carries=[])]
    return outer.replace(body=body, carries=[], mode="serial" if inner else outer.mode)
