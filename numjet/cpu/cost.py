"""A rough estimate of the run time of a function, to decide what runs in line and what on the execution queue."""
from __future__ import annotations

from math import prod

from numjet.cpu.loop_ir import CALLBACK, Call, Copy, Expr, Fill, For, Function, If, Stmt, Store, Switch, While, walk

_NS_PER_ELEMENT = {"vector": 0.2, "parallel": 0.2, "serial": 1.0, "unroll": 1.0}
_UNKNOWN_TRIPS = 1000
_GEMM_SIZES = slice(3, 6)       # m, n, k among the arguments of cblas_?gemm
_FLOPS_PER_NS = 50.0
CALLBACK_NS = 100_000.0         # enough to be queued: a callback may take long, and must not hold up the caller


def estimate_ns(function: Function) -> float:
    """Nanoseconds, within an order of magnitude; loops with unknown trip counts count as 1000.

    At least CALLBACK_NS for what calls into Python.
    """
    calls = any(isinstance(s, Call) and s.symbol.startswith(CALLBACK) for s in walk(function.body))
    return max(_block(function.body), CALLBACK_NS if calls else 0.0)


def _block(block: list[Stmt]) -> float:
    return sum(_stmt(s) for s in block)


def _stmt(stmt: Stmt) -> float:
    match stmt:
        case For():
            trips = stmt.stop.attr - stmt.start.attr if stmt.stop.op == stmt.start.op == "const" else _UNKNOWN_TRIPS
            inner = _block(stmt.body) + 0.5 * len(stmt.carries)
            return float(trips) * inner * _NS_PER_ELEMENT[stmt.mode]
        case While():
            return _UNKNOWN_TRIPS * (_block(stmt.cond_body) + _block(stmt.body))
        case If():
            return max(_block(stmt.then), _block(stmt.orelse))
        case Switch():
            return max(_block(b) for b in stmt.branches)
        case Copy(count=count) | Fill(count=count):
            return 0.1 * count.attr if count.op == "const" else _UNKNOWN_TRIPS
        case Call():
            return _call(stmt)
        case Store():
            return 2.0
    return 0.5


def _call(stmt: Call) -> float:
    """Matrix products by their size; other kernels by what they touch."""
    if stmt.symbol.startswith("cblas_") and stmt.symbol.endswith("gemm"):
        sizes = [float(a.attr) for a in stmt.args[_GEMM_SIZES] if isinstance(a, Expr)]
        return 2.0 * prod(sizes) / _FLOPS_PER_NS
    if stmt.symbol.startswith(CALLBACK):
        return CALLBACK_NS
    return 100.0 + 5.0 * sum(b.size for b in (*stmt.reads, *stmt.writes))
