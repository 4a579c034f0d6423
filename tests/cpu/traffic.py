"""How much a program writes: for tests that say what an iteration of a loop may cost."""
from __future__ import annotations

from typing import NamedTuple

from numjet.api.stages import trace_call
from numjet.cpu.ir.nodes import Call, Copy, Expr, Fill, For, Function, If, Stmt, Store, Switch, While
from numjet.cpu.ir.traversal import blocks, static_trips
from numjet.cpu.lowering.lower import lower
from numjet.cpu.passes import dead_calls, memory_plan
from numjet.transforms.simplify import simplify


class Written(NamedTuple):
    """Elements that stores and kernels write, and elements that are copied."""
    stored: int
    copied: int

    def __add__(self, other):
        return Written(self.stored + other.stored, self.copied + other.copied)

    def __mul__(self, times):
        return Written(self.stored * times, self.copied * times)

    @property
    def total(self):
        return self.stored + self.copied


def lowered(fun, *args, donated=()) -> Function:
    """The loop IR of a program, before loops are shared among threads."""
    function = lower(simplify(trace_call(fun, args, {})[0]), "f", donated).function
    dead_calls.remove(function)
    memory_plan.plan(function)  # which drops temporaries that nothing touches
    return function


def written(fun, *args, trips: int, donated=()) -> Written:
    """What a program writes. Loops with an unknown number of iterations make `trips`; of branches the dearest counts. What
    copies a window back to the beginning of its memory is not counted: that is once in as many shifts as it has rows."""
    return _block(lowered(fun, *args, donated=donated).body, trips)


def _block(block: list[Stmt], trips: int) -> Written:
    found = Written(0, 0)
    for stmt in block:
        found += _stmt(stmt, trips)
    return found


def _stmt(stmt: Stmt, trips: int) -> Written:
    match stmt:
        case Store():
            return Written(1, 0)
        case Copy(count=count) | Fill(count=count):
            return Written(0, _number(count, trips))
        case Call(writes=writes):
            return Written(sum(b.size for b in writes), 0)
        case For():
            return _block(stmt.body, trips) * (_number(stmt.stop, trips) if static_trips(stmt) is None else static_trips(stmt))
        case While():
            return _block([*stmt.cond_body, *stmt.body], trips) * trips
        case If(then=[Copy()], orelse=[]):
            return Written(0, 0)
        case If() | Switch():
            return max((_block(b, trips) for b in blocks(stmt)), key=lambda w: w.total)
    return Written(0, 0)


def _number(bound: Expr, trips: int) -> int:
    if bound.op == "const":
        return int(bound.attr)
    return min([int(a.attr) for a in bound.args if a.op == "const"], default=trips) if bound.op == "min" else trips
