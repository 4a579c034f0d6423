"""Blocked summation: a long sum of floats is a sum of sums of blocks, and those of groups of blocks.

A vector loop has a few dozen partial results, each of which takes a rounding error with every element: for equal terms they
all go the same way, and grow with the length. With blocks no partial result is a sum of more than some dozens of terms at any
level, so the error stays near that of one addition. A block is long enough that joining the lanes at its end costs little.

Source: N. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14 (1993), section 3.
"""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.ir.nodes import Carry, Expr, Exprs, For, Function
from numjet.cpu.ir.traversal import blocks
from numjet.cpu.lowering.scalar_folding import fold
from numjet.cpu.passes.manager import Pass

BLOCK = 1024             # elements
GROUP = 32               # blocks
LEAST = 2 * BLOCK        # elements of a sum that is cut


def cut(function: Function) -> None:
    """Cuts the long sums of a function into blocks, in place."""
    left = [function.body]
    while left:
        block = left.pop()
        for k, stmt in enumerate(block):
            if isinstance(stmt, For) and _is_long_sum(stmt):
                block[k] = _in_blocks(stmt, function.exprs)
            else:
                left += blocks(stmt)


def _is_long_sum(loop: For) -> bool:
    trips = _most(loop)
    return loop.mode == "vector" and (trips is None or trips > LEAST) and any(map(_adds, loop.carries))


def _most(loop: For) -> int | None:
    """The most iterations that a loop, or a chunk of one, may have; None if that is not known."""
    for stop in loop.stop.args if loop.stop.op == "min" else (loop.stop,):
        if stop.op == "add" and stop.args[0] is loop.start and stop.args[1].op == "const":
            return int(stop.args[1].attr)
    return most_trips(loop)


def _adds(carry: Carry) -> bool:
    return carry.combine == "add" and carry.var.dtype.kind not in "biu"


def _in_blocks(loop: For, exprs: Exprs) -> For:
    """Groups of blocks of iterations."""
    index, trips = exprs.index, _most(loop)

    def make(op: str, *args: Expr) -> Expr:
        return fold(exprs, op, list(args))

    def block(number: Expr, carries: list[Carry]) -> For:
        first = make("add", loop.start, make("mul", number, index(BLOCK)))
        return loop.replace(start=first, stop=make("min", make("add", first, index(BLOCK)), loop.stop), carries=carries)

    def group(number: Expr, carries: list[Carry]) -> For:
        first = make("mul", number, index(GROUP))
        return _level(carries, exprs, first, make("min", make("add", first, index(GROUP)), count), block)

    count = _ceil_div(exprs, make("sub", loop.stop, loop.start), BLOCK)
    if trips is not None and trips <= BLOCK * GROUP:
        return _level(loop.carries, exprs, index(0), count, block)
    return _level(loop.carries, exprs, index(0), _ceil_div(exprs, count, GROUP), group)


def _ceil_div(exprs: Exprs, x: Expr, by: int) -> Expr:
    if x.op == "const":
        return exprs.index(-(-int(x.attr) // by))
    return fold(exprs, "div", [fold(exprs, "add", [x, exprs.index(by - 1)]), exprs.index(by)])


def _level(carries: list[Carry], exprs: Exprs, start: Expr, stop: Expr, part: Callable[[Expr, list[Carry]], For]) -> For:
    """A loop over parts of a reduction. part: the loop for the part of a number, with these carries."""
    number = exprs.var(start.dtype, "block")
    outer, inner = [], []
    for c in carries:
        whole, done = exprs.var(c.var.dtype, "sum"), exprs.var(c.var.dtype, "part")
        sums = _adds(c)
        inner.append(Carry(c.var, exprs.const(-0.0, c.var.dtype) if sums else whole, c.next, done, c.combine, c.term))
        outer.append(Carry(whole, c.init, exprs.prim("add", whole, done) if sums else done, c.out))
    return For(number, start, stop, [part(number, inner)], outer)


PASS = Pass("blocked_sums", "cuts long sums of floats into blocks", lambda function, _: cut(function), ("arithmetic", "shared"))
