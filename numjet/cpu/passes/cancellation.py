"""Cancellation points: long loops check periodically whether they were cancelled, so that Ctrl-C can end them.

A loop whose end depends on data may never end, and others take long. Both are marked with `cancellation_point`, the number of
iterations before the first check. Their code counts iterations and calls `nj_poll` of the native core about ten times a
second.
"""
from __future__ import annotations

import math

from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.ir.nodes import For, Function, GemmWithEpilogue, Stmt, While
from numjet.cpu.ir.traversal import blocks, static_trips, walk
from numjet.cpu.passes.manager import Pass
from numjet.cpu.target import Target

LONG_NS = 1e9
_FIRST_NS = 5e7                # until the first check of a loop
_MOST_ITERATIONS = 1 << 16     # as the estimate may be wrong


def open_ended(function: Function) -> bool:
    """Whether the end of a loop of the function depends on data, which makes the duration of a call unknown."""
    return may_go_on(function.body)


def may_go_on(block: list[Stmt]) -> bool:
    """Whether the end of a loop of a block depends on data."""
    return any(isinstance(s, While) or _unknown(s) for s in walk(block))


def mark(function: Function, target: Target, nanoseconds: float = math.inf) -> None:
    """Sets, in place, `cancellation_point` of every loop that has to check for cancellation.

    nanoseconds: no loop is estimated to take longer.
    """
    _mark(function.body, target, True, nanoseconds > LONG_NS)


def _mark(block: list[Stmt], target: Target, outside: bool, long: bool) -> None:
    """outside: all loops around the block, if any, are cancellable or parallel; long: some loops may take long."""
    for stmt in block:
        inside = outside
        if isinstance(stmt, For):
            asks = outside and (_unknown(stmt) or (long and _takes_long(stmt, target)))
            stmt.cancellation_point = _period(stmt, target) if asks else None
            inside = asks or (outside and stmt.mode == "parallel")
        elif isinstance(stmt, While):
            stmt.cancellation_point, inside = _period(stmt, target), True
        if not isinstance(stmt, GemmWithEpilogue):   # which is made to its end
            for inner in blocks(stmt):
                _mark(inner, target, inside, long)


def _unknown(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.mode == "serial" and static_trips(stmt) is None and not _bounded(stmt)


def _bounded(loop: For) -> bool:
    """Whether this is a part of a loop, of a known size at most."""
    start, stop = loop.start, loop.stop
    while stop.op in ("div", "sub") or (stop.op == "add" and stop.args[1].op == "const" and stop.args[0] is not start):
        stop = stop.args[0]     # the number of blocks of a part
    return stop.op == "min" or most_trips(loop) is not None or (
        stop.op == "add" and stop.args[0] is start and stop.args[1].op == "const")


def _takes_long(stmt: For, target: Target) -> bool:
    return stmt.mode == "serial" and block_ns([stmt], target, 2 * LONG_NS) > LONG_NS


def _period(stmt: For | While, target: Target) -> int:
    iteration = max(block_ns(stmt.body, target, _FIRST_NS), 1.0)
    return max(1, min(_MOST_ITERATIONS, int(_FIRST_NS / iteration)))


PASS = Pass("cancellation", "makes loops that may take long check for cancellation",
            lambda function, context: mark(function, context.target, context.nanoseconds), ("arithmetic", "shared"))
