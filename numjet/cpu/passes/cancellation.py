"""Which loops ask from time to time whether they are still wanted, so that Ctrl-C can end them.

Loops that end when values say so may never end, and others take long. They count iterations and call `nj_poll` of the
native core about ten times a second.
"""
from __future__ import annotations

import math

from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.ir.nodes import For, Function, If, Stmt, Switch, While
from numjet.cpu.ir.traversal import static_trips, walk

LONG_NS = 1e9
_FIRST_NS = 5e7                # until a loop asks for the first time
_MOST_ITERATIONS = 1 << 16     # as the estimate may be wrong


def open_ended(function: Function) -> bool:
    """Whether values decide when a loop of the function ends: nothing here knows then how long a call will take."""
    return may_go_on(function.body)


def may_go_on(block: list[Stmt]) -> bool:
    """Whether values decide when a loop of a block ends."""
    return any(isinstance(s, While) or _unknown(s) for s in walk(block))


def polling_loops(function: Function, nanoseconds: float = math.inf) -> dict[int, int]:
    """For every loop that has to ask, by the identity of its statement: after how many iterations the first time.

    nanoseconds: no loop is estimated to take longer.
    """
    found: dict[int, int] = {}
    _find(function.body, True, nanoseconds > LONG_NS, found)
    return found


def _find(block: list[Stmt], outside: bool, long: bool, found: dict[int, int]) -> None:
    """outside: all loops around the block, if any, ask themselves or are shared among threads; long: some may take long."""
    for stmt in block:
        match stmt:
            case For():
                asks = outside and (_unknown(stmt) or (long and _takes_long(stmt)))
                _add(stmt, asks, found)
                _find(stmt.body, asks or (outside and stmt.mode == "parallel"), long, found)
            case While():
                _add(stmt, True, found)
                _find(stmt.cond_body, True, long, found)
                _find(stmt.body, True, long, found)
            case If():
                _find(stmt.then, outside, long, found)
                _find(stmt.orelse, outside, long, found)
            case Switch():
                for branch in stmt.branches:
                    _find(branch, outside, long, found)


def _unknown(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.mode == "serial" and static_trips(stmt) is None and not _bounded(stmt)


def _bounded(loop: For) -> bool:
    """Is this a part of a loop, of a known size at most?"""
    start, stop = loop.start, loop.stop
    return stop.op == "min" or (stop.op == "add" and stop.args[0] is start and stop.args[1].op == "const")


def _takes_long(stmt: For) -> bool:
    return stmt.mode == "serial" and block_ns([stmt]) > LONG_NS


def _add(stmt: For | While, asks: bool, found: dict[int, int]) -> None:
    if asks:
        iteration = max(block_ns(stmt.body), 1.0)
        found[id(stmt)] = max(1, min(_MOST_ITERATIONS, int(_FIRST_NS / iteration)))
