"""Cost model: rough run times, to decide what runs in line or on the execution queue, and which loops are worth threads.

Operations are counted once per iteration of the loop that they cannot leave, vector code by its lanes.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.analysis.scalar_costs import scalar_cost
from numjet.cpu.ir.nodes import (
    BOOL,
    CALLBACK,
    INT64,
    MATH,
    RAISES,
    Call,
    Copy,
    Expr,
    Fill,
    For,
    Function,
    If,
    Let,
    Stmt,
    Store,
    Switch,
    While,
)
from numjet.cpu.ir.traversal import blocks, operands, postorder, static_trips, walk
from numjet.cpu.kernels.products import CONVOLUTIONS, GEMM, multiply_adds
from numjet.cpu.target import Target

UNKNOWN_TRIPS = 1000
_MULTIPLY_ADD = 1.28            # of all lanes in a product of matrices, with its loads; in operations, as all that follows
_ITERATION = 1.2
_COPIED = 0.4                   # an element of a copy
_IN_FUNCTIONS = 2.0             # an operation of a mathematical function, as their steps wait for each other
_ADDRESS = 0.2                  # index arithmetic, which is mostly part of addresses
_WEIGHTS = {"load": 2.0, "store": 2.0, "const": 0.0, "var": 0.0, "bitcast": 0.0}
_NOTHING = frozenset(op for op, weight in _WEIGHTS.items() if not weight)
_LIBRARY = 60.0                 # a function of the C library
_KERNEL, _TOUCHED = 400.0, 20.0   # a call of another kernel, and each element that it touches
_VECTOR = ("vector", "parallel")
CALLBACK_NS = 1e8               # a callback may take long
SHORT_NS = 100e3                # as execute.cpp's inline_limit_ns


def estimate_ns(function: Function, target: Target, aliases: Sequence[tuple[int, int]] = ()) -> float:
    """Nanoseconds of one thread of a CPU, within an order of magnitude; loops with unknown trip counts count as 1000.

    aliases: results that take over a donated input's memory, as (output, input) pairs; the copy between the two is not
    counted. At least CALLBACK_NS for what calls into Python.
    """
    calls = any(isinstance(s, Call) and _calls_back(s) for s in walk(function.body))
    same = [(function.outputs[out], function.inputs[given]) for out, given in aliases]
    body = [s for s in function.body if not (isinstance(s, Copy) and (s.target, s.source) in same)]
    return max(block_ns(body, target), CALLBACK_NS if calls else 0.0)


def mostly_python(function: Function, target: Target) -> bool:
    """Whether a program calls into Python and takes little time beside that, where a loop that may end at any time counts once.

    Such programs run in the caller's thread, as in JAX: once the call returns, what they print is there, and what they raise
    was raised.
    """
    if not any(isinstance(s, Call) and _calls_back(s) for s in walk(function.body)):
        return False
    return _Estimate(target, math.inf, callback_ns=0.0, unknown_trips=1).inside(function.body, [], 1.0) < SHORT_NS


def _calls_back(call: Call) -> bool:
    """Whether a call runs a Python function that may take long."""
    return call.symbol.startswith(CALLBACK) and not call.symbol.startswith(RAISES)


def block_ns(block: list[Stmt], target: Target, enough: float = math.inf) -> float:
    """Nanoseconds for statements that are executed once. enough: where it is certain to be that long, this number is returned,
    without a look at the rest; so asking for each loop of a deep nest stays cheap."""
    try:
        return _Estimate(target, enough).inside(block, [], 1.0)
    except _Enough:
        return enough


def _most_trips(loop: For, unknown_trips: int) -> int:
    """As many iterations as a bound such as min(n, 32) allows; of what follows from sizes, the most."""
    found = None if loop.stop.op in ("min", "load", "var", "convert") else most_trips(loop)
    if found is not None:
        return found
    limits = [int(a.attr) for a in loop.stop.args if a.op == "const"] if loop.stop.op == "min" else []
    return min([*limits, unknown_trips])


class _Enough(Exception):
    """An estimate has reached what it was asked for."""


class _Frame:
    """An open loop or branch: nanoseconds per iteration, which part of them a lane takes, what is known inside, and how often
    it is executed in all."""

    __slots__ = ("known", "scale", "times", "total")

    def __init__(self, scale: float, times: float):
        self.scale, self.times, self.total = scale, times, 0.0
        self.known: list[int] = []


class _Estimate:
    """`depth` tells for every expression known now in which of the frames it is computed."""

    def __init__(self, target: Target, enough: float, callback_ns: float = CALLBACK_NS,
                 unknown_trips: int = UNKNOWN_TRIPS) -> None:
        self.callback_ns, self.unknown_trips = callback_ns, unknown_trips
        self.lanes, self.operation_ns, self.enough = target.lanes, target.operation_ns, enough
        self.holds_vectors: dict[int, bool] = {}   # by the identity of a statement
        self.frames: list[_Frame] = []
        self.depth: dict[int, int] = {}

    def inside(self, block: list[Stmt], variables: list[Expr], scale: float, results: Iterable[Expr] = (),
               trips: float = 1.0) -> float:
        """Nanoseconds for executing a block once and evaluating `results`, without what can be computed before it. trips: how
        often the block around executes it."""
        self.frames.append(_Frame(scale, trips * (self.frames[-1].times if self.frames else 1.0)))
        for var in variables:
            self._bind(var, len(self.frames) - 1)
        for stmt in block:
            self._stmt(stmt)
        for result in results:
            self._expr(result)
        frame = self.frames.pop()
        for known in frame.known:
            self.depth.pop(known, None)
        return frame.total

    def _bind(self, var: Expr, depth: int) -> None:
        self.depth[var.id] = depth
        self.frames[depth].known.append(var.id)

    def _add(self, nanoseconds: float) -> None:
        frame = self.frames[-1]
        frame.total += nanoseconds
        if frame.total * frame.times >= self.enough:
            raise _Enough

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case For() | While():
                self._loop(stmt)
                return
            case Let(var=var, value=value):
                self._bind(var, self._expr(value))
                return
            case If(then=then, orelse=orelse, results=results):
                self._expr(stmt.cond)
                first = 2 if stmt.rare else 1   # what is hardly ever run takes no time
                self._branches([then, orelse][first - 1:], [r[first:] for r in results], [r[0] for r in results])
                return
            case Switch(branches=branches, results=results):
                self._expr(stmt.index)
                self._branches(branches, [r[1] for r in results], [r[0] for r in results])
                return
            case Copy(count=count) | Fill(count=count):
                self._add(_COPIED * self.operation_ns * (float(count.attr) if count.op == "const" else UNKNOWN_TRIPS))
            case Call():
                self._add(self._call(stmt))
            case Store(value=value):
                self._add(self._weight("store", value, len(self.frames) - 1))
        for expr in operands(stmt):
            self._expr(expr)

    def _branches(self, blocks: list[list[Stmt]], values: list[tuple[Expr, ...]], outs: list[Expr]) -> None:
        scale = self.frames[-1].scale
        self._add(max(self.inside(b, [], scale, [v[k] for v in values]) for k, b in enumerate(blocks)))
        for out in outs:
            self._bind(out, len(self.frames) - 1)

    def _loop(self, stmt: For | While) -> None:
        variables = [c.var for c in stmt.carries]
        trips: float = self.unknown_trips
        block, scale, results = stmt.body, self.frames[-1].scale, [c.next for c in stmt.carries]
        for c in stmt.carries:
            self._expr(c.init)
        if isinstance(stmt, For):
            variables.append(stmt.var)
            found = static_trips(stmt)
            trips = _most_trips(stmt, self.unknown_trips) if found is None else found
            if scale == 1.0 and stmt.mode in _VECTOR and not any(map(self._holds_vectors, stmt.body)):
                scale = 1 / self.lanes
        else:
            block = [*stmt.cond_body, *stmt.body]
            results.append(stmt.cond)
        inside = self.inside(block, variables, scale, results, trips)
        self._add(trips * (inside + _ITERATION * self.operation_ns * scale))
        for c in stmt.carries:
            self._bind(c.out, len(self.frames) - 1)

    def _holds_vectors(self, stmt: Stmt) -> bool:
        """Whether a statement is, or has inside, a loop whose iterations are lanes. The lanes of a nest are those of its
        innermost such loop."""
        found = self.holds_vectors.get(id(stmt))
        if found is None:
            found = isinstance(stmt, For) and stmt.mode in _VECTOR or any(
                self._holds_vectors(s) for block in blocks(stmt) for s in block)
            self.holds_vectors[id(stmt)] = found
        return found

    def _expr(self, expr: Expr) -> int:
        """Counts what is not known yet, rare values not at all; returns the depth of the frame that the value lives in."""
        depth = self.depth
        if expr.id not in depth:
            for e in postorder([expr], depth, usual=True):
                home = max([depth[a.id] for a in _usual_operands(e)], default=0)
                if e.op not in _NOTHING:
                    self.frames[home].total += self._weight(e.op, e, home)
                self._bind(e, home)
        return depth[expr.id]

    def _weight(self, op: str, expr: Expr, home: int) -> float:
        """Nanoseconds of one operation."""
        scale = self.frames[home].scale
        if op == "libm":
            return _LIBRARY * self.operation_ns
        if expr.dtype == INT64 and op in ("add", "sub", "mul"):
            return _ADDRESS * self.operation_ns * scale
        size = 1.0 if scale == 1.0 or expr.dtype == BOOL else expr.dtype.itemsize / 4
        weight = _WEIGHTS[op] if op in _WEIGHTS else scalar_cost(op)
        return weight * (_IN_FUNCTIONS if op in MATH else 1.0) * self.operation_ns * scale * size

    def _call(self, stmt: Call) -> float:
        """Products by their size; other kernels by what they touch."""
        if stmt.symbol in (GEMM, *CONVOLUTIONS):
            return _MULTIPLY_ADD * self.operation_ns / self.lanes * multiply_adds(stmt)
        if _calls_back(stmt):
            return self.callback_ns
        each = _COPIED if stmt.symbol.startswith("nj_prefix") else _TOUCHED
        return self.operation_ns * (_KERNEL + each * sum(b.size for b in (*stmt.reads, *stmt.writes)))


def _usual_operands(expr: Expr) -> Sequence[Expr]:
    """The operands that are computed in any case: a rare value hardly ever is."""
    return (expr.args[0], expr.args[2]) if expr.op == "select_rare" else expr.args
