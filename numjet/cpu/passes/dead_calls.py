"""Dead call elimination: kernels whose results nobody reads are not called, and what only they read is not computed.

A rule emits all results of its operation; a program that wants R of a QR factorization pays nothing for Q.
"""
from __future__ import annotations

from collections import Counter

from numjet.cpu.ir.nodes import CALLBACK, Buffer, Call, Comment, Copy, Fill, For, Function, Let, Stmt, Store
from numjet.cpu.ir.traversal import blocks, expressions, loaded, swapped, walk
from numjet.cpu.passes.manager import Pass


def remove(function: Function) -> None:
    """Removes such calls from the body, the last one first, then the stores and loops for them alone."""
    calls = [s for s in walk(function.body) if isinstance(s, Call)]
    temps = set(function.temps)
    candidates = [c for c in calls if not c.symbol.startswith(CALLBACK) and c.writes and temps.issuperset(c.writes)]
    if not candidates:
        return
    read = _read(function.body)
    used = Counter(b for c in calls for b in {*c.reads, *c.writes})
    removed: set[int] = set()
    for call in reversed(candidates):
        if not any(b in read or used[b] > 1 for b in call.writes):
            used.subtract({*call.reads, *call.writes})
            removed.add(id(call))
    if removed:
        kept = read.union(b for b, count in used.items() if count > 0)
        function.body[:] = _without(function.body, removed, temps - kept)


def _read(block: list[Stmt]) -> set[Buffer]:
    """The buffers that expressions load from, that are copied from, and that may be read under another name."""
    copied = (s.source for s in walk(block) if isinstance(s, Copy))
    return loaded(expressions(block)).union(swapped(block), copied)


def _without(block: list[Stmt], calls: set[int], dead_buffers: set[Buffer]) -> list[Stmt]:
    kept: list[Stmt] = []
    for stmt in block:
        for inner in blocks(stmt):
            inner[:] = _without(inner, calls, dead_buffers)
        match stmt:
            case Call():
                dead = id(stmt) in calls
            case Store(buffer=b) | Fill(target=b) | Copy(target=b):
                dead = b in dead_buffers
            case For(body=body, carries=[]):
                dead = all(isinstance(s, Let | Comment) for s in body)
            case _:
                dead = False
        if not dead:
            kept.append(stmt)
    return kept


PASS = Pass("dead_calls", "removes kernel calls whose results are not read", lambda function, _: remove(function), ("serial",))
