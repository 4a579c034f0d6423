"""Legalization of mathematical functions: each becomes arithmetic (see `mathlib`), or a call of the C library."""
from __future__ import annotations

from collections import Counter

import numpy as np

from numjet.cpu.ir.nodes import MATH, Expr, Exprs, Function
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import blocks, nodes, operands
from numjet.cpu.mathlib import expand
from numjet.cpu.passes.manager import Pass

FREQUENT = 16   # uses in one block
LONG = 1024     # operations of as many expansions in a block of a loop: fewer are faster than calls, which spill registers

Kind = tuple[str, np.dtype]   # an operation of numbers of a dtype

# Operations that no C library has under one name.
_NOT_IN_C = ("rsqrt", "logistic", "erf_inv", "digamma")


def expand_math(function: Function, exponents: bool = False) -> Function:
    """Rewrites the operations of MATH in place, so that only what `llvm.emit` knows is left; returns the function.

    Operations that a block holds many of are left to it, too: they become calls of one function. exponents: see `expanded`.
    Raises NotImplementedError naming an operation that neither mathlib nor the C library has.
    """
    totals = Counter((e.op, e.dtype) for e in function.exprs.table.values() if e.op in MATH)
    if not totals:
        return function
    left = _frequent(function, {kind for kind, count in totals.items() if count >= FREQUENT}, exponents)

    def rule(expr: Expr) -> Expr:
        return expanded(function.exprs, expr, exponents) if expr.op in MATH and (expr.op, expr.dtype) not in left else expr
    Rewrite(function, rule).block(function.body)
    return function


def expanded(exprs: Exprs, expr: Expr, exponents: bool) -> Expr:
    """An operation of MATH by arithmetic, with the operation `scale` where that may be used, or as a call of the C library."""
    found = expand(exprs, expr.op, *expr.args, exponents=exponents)
    if found is not None:
        return found
    if expr.op in _NOT_IN_C or expr.dtype.kind != "f" or expr.dtype.itemsize not in (4, 8):
        raise NotImplementedError(f"there is no machine code for '{expr.op}' of {expr.dtype}")
    name = expr.op if expr.dtype == np.float64 else f"{expr.op}f"
    return exprs.make("libm", expr.dtype, expr.args, name)


def _frequent(function: Function, candidates: set[Kind], exponents: bool) -> set[Kind]:
    """Those of the candidates that some block holds so many of that calls are better than as many expansions: with these, its
    code would be slow to compile, and in a loop larger than a good part of the cache for instructions."""
    found: set[Kind] = set()
    left = [function.body] if candidates else []
    while left:
        block = left.pop()
        left += [inner for stmt in block for inner in blocks(stmt)]
        inside = nodes([e for stmt in block for e in operands(stmt)])
        counts = Counter((e.op, e.dtype) for e in inside)
        frequent = {kind for kind in candidates - found if counts[kind] >= FREQUENT}
        if block is function.body:
            found |= frequent
            continue
        samples = {(e.op, e.dtype): e for e in inside if (e.op, e.dtype) in frequent}
        found |= {kind for kind in frequent if counts[kind] * _size(function.exprs, samples[kind], exponents) > LONG}
    return found


def _size(exprs: Exprs, expr: Expr, exponents: bool) -> int:
    """How many operations the expansion of an operation takes."""
    return sum(e.op != "const" for e in {*nodes([expanded(exprs, expr, exponents)])}.difference(nodes(expr.args)))


PASS = Pass("legalize_math", "writes mathematical functions as arithmetic",
            lambda function, context: expand_math(function, context.target.exponents), ("math",), ("arithmetic",), ("math",))
