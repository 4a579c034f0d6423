"""Loop nests over the elements of an array, and loops that carry scalars.

The innermost loop is vectorized. Nests over few elements are written out, and so are short last axes, whose vector lanes go
along the axis before.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import BOOL, Carry, Comment, Let, Stmt, Store
from numjet.cpu.ir.traversal import nodes
from numjet.cpu.lowering.arrays.values import parts_dtype
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.scalars import Scalars, reduction_of, words
from numjet.foundation.decisions import Varying

BYTE = np.dtype(np.uint8)

SHORT_ROW = 7      # elements of last axes that are written out: fewer lanes would leave most of a vector register empty
CHEAP = 4.0        # operations per element up to which few lanes beat loads and stores of elements that lie apart:
SHORT_CHEAP = 3    # of 4 bytes or more; narrower ones are
SHORT_NARROW = 8   # best written out
ROWS = 8           # from which lanes go along the axis before


def is_short_row(elements: int, rows: int, short: int = SHORT_ROW) -> bool:
    """Whether rows of so many elements are written out, as lanes go along the axis before."""
    return elements <= short and (rows >= ROWS or rows > elements > 1)


def longest_short_row(itemsize: int, cost: float) -> int:
    """Elements of rows that are written out where they are stored, by the bytes of an element and the operations it takes."""
    if cost > CHEAP:
        return SHORT_ROW
    return SHORT_CHEAP if itemsize >= 4 else SHORT_NARROW


class LoopNests:
    """Writes loop nests whose bodies are Python functions of indices."""

    def __init__(self, ir: FunctionBuilder, scalars: Scalars):
        self.ir, self.scalars = ir, scalars

    def nest(self, shape: Sequence[int], body: Callable[..., None], *, mode: str = "vector",
             in_order: int | None = None, short: int = SHORT_ROW) -> None:
        """body(i, j, ...) for every index: innermost loop vectorized; written out when short.

        in_order: the axis along which an iteration needs the one before; along all others, order does not matter.
        short: elements of last axes up to which they are written out.
        """
        varies = any(type(n) is Varying for n in shape)
        if prod(shape) == 0 and not varies:
            return
        if prod(shape) <= self.ir.small and not varies:
            for index in product(*map(range, shape)):
                body(*index)
            return
        self.loops(list(shape), (), body, mode, in_order, short)

    def rolled(self, shape: Sequence[int], body: Callable[..., None], *, short: int = SHORT_ROW) -> None:
        """As `nest`, with loops however few the elements are."""
        if prod(shape):
            self.loops(list(shape), (), body, "vector", None, short)

    def loops(self, shape: list[int], done: tuple[Any, ...], body: Callable[..., None], mode: str,
              in_order: int | None = None, short: int = SHORT_ROW) -> None:
        """As `nest`, with loops however few the elements are; done: the outer indices."""
        if not shape:
            body(*done)
            return
        n, rest = shape[0], shape[1:]
        if n == 1 and type(n) is not Varying:
            self.loops(rest, (*done, 0), body, mode, in_order, short)
            return
        left, ordered = prod(rest), len(done) == in_order
        if is_short_row(left, n, short) and type(n) is not Varying and not ordered:  # lanes go along this axis
            with self.ir.loop(n, mode) as i:
                for index in product(*map(range, rest)):
                    body(*done, i, *index)
                if mode == "vector":
                    _group_stores(self.ir.block)
            return
        with self.ir.loop(n, mode if left == 1 and not ordered else "serial") as i:
            self.loops(rest, (*done, i), body, mode, in_order, short)

    # ------------------------------------------------------------------------------------------ carried scalars
    def carry_loop(self, dims: Sequence[int], inits: list[Any], step: Callable[..., Sequence[Any]]) -> list[Any]:
        """A serial loop nest that hands scalars from one iteration to the next: step(index, carries) -> carries.

        Truth values are handed on as bytes, which have lanes of a register of their own.
        """
        convert = self.scalars.convert
        dtypes = [a.dtype for a in inits]

        def stored(values: Sequence[Any]) -> list[Any]:
            return [convert(a, BYTE) if dtype == BOOL else a for a, dtype in zip(values, dtypes, strict=True)]

        def read(values: Sequence[Any]) -> list[Any]:
            return [convert(a, BOOL) if dtype == BOOL else a for a, dtype in zip(values, dtypes, strict=True)]
        return read(self._carry_loop(dims, stored(inits), lambda index, accs: stored(step(index, read(accs))), ()))

    def _carry_loop(self, dims: Sequence[int], inits: list[Any], step: Callable[..., Sequence[Any]],
                    done: tuple[Any, ...]) -> list[Any]:
        if not dims:
            return list(step(done, inits))
        if dims[0] == 1:
            return self._carry_loop(dims[1:], inits, step, (*done, 0))
        variable = self.scalars.variable
        inner, outs = [variable(a.dtype) for a in inits], [variable(a.dtype) for a in inits]
        carries: list[Carry] = []
        with self.ir.loop(dims[0], "serial", carries) as i:
            carries += carries_of(inner, inits, self._carry_loop(dims[1:], inner, step, (*done, i)), outs)
        return outs

    def accumulate(self, kinds: Sequence[str], starts: Sequence[Any], dims: Sequence[int],
                   terms: Callable[[tuple[Any, ...]], Sequence[Any]]) -> list[Any]:
        """Reduces several terms at once over a loop nest; results in registers. Compound elements only by add and mul."""
        if all(parts_dtype(s.dtype) is None for s in starts):
            return self._accumulate(kinds, list(starts), list(dims), (), terms)
        if any(kind != "add" for kind in kinds):
            return self.accumulate_in_order(kinds, starts, dims, terms)
        parts = [part for s in starts for part in words(s)]
        sums = iter(self._accumulate(["add"] * len(parts), parts, list(dims), (),
                                     lambda index: [part for t in terms(index) for part in words(t)]))
        return [next(sums) if len(words(s)) == 1 else self.scalars.pair(next(sums), next(sums), s.dtype) for s in starts]

    def accumulate_in_order(self, kinds: Sequence[str], starts: Sequence[Any], dims: Sequence[int], terms: Any) -> list[Any]:
        """As `accumulate`, one term after the other, for elements of any dtype."""
        return self.carry_loop(dims, list(starts), lambda index, accs: [
            self.scalars.combine(k, a, t) for k, a, t in zip(kinds, accs, terms(index), strict=True)])

    def _accumulate(self, kinds: Sequence[str], accs: list[Any], dims: list[int], done: tuple[Any, ...],
                    terms: Any) -> list[Any]:
        scalars = self.scalars
        if dims and dims[0] == 1:
            return self._accumulate(kinds, accs, dims[1:], (*done, 0), terms)
        if not dims:
            return [scalars.combine(k, a, t) for k, a, t in zip(kinds, accs, terms(done), strict=True)]
        last = all(n == 1 for n in dims[1:])
        inner = [scalars.wrap(self.ir.table.var(a.dtype, "acc")) for a in accs]
        outs = [scalars.wrap(self.ir.table.var(a.dtype, "acc")) for a in accs]
        carries: list[Carry] = []
        with self.ir.loop(dims[0], "vector" if last else "serial", carries) as i:
            if not last:
                nexts = self._accumulate(kinds, inner, dims[1:], (*done, i), terms)
                carries += carries_of(inner, accs, nexts, outs)
            else:
                new_terms = terms((*done, i, *[0] * (len(dims) - 1)))
                nexts = [self._next(k, v, t) for k, v, t in zip(kinds, inner, new_terms, strict=True)]
                carries += [Carry(v.expr, a.expr, n.expr, o.expr, reduction_of(k, v.dtype), t.expr) for v, a, n, o, k, t
                            in zip(inner, accs, nexts, outs, kinds, new_terms, strict=True)]
        return outs

    def _next(self, kind: str, acc: Any, term: Any) -> Any:
        """The next value of an accumulator. Limits test their first operand for NaN, which need not wait for acc."""
        combine = self.scalars.combine
        return combine(kind, term, acc) if kind in ("min", "max") else combine(kind, acc, term)


def carries_of(inner: Sequence[Any], inits: Sequence[Any], nexts: Sequence[Any], outs: Sequence[Any]) -> list[Carry]:
    """The carries of a loop that hands on scalars of any dtype: their variables inside, first and next values, and results."""
    return [Carry(v.expr, i.expr, n.expr, o.expr) for one in zip(inner, inits, nexts, outs, strict=True)
            for v, i, n, o in zip(*map(words, one), strict=True)]


def _group_stores(block: list[Stmt]) -> None:
    """Moves the stores of a written-out row behind all that is computed, buffer by buffer, so that they fill vectors."""
    if not all(isinstance(s, Let | Store | Comment) for s in block):
        return
    stores = [s for s in block if isinstance(s, Store)]
    others = [s for s in block if not isinstance(s, Store)]
    buffers = dict.fromkeys(s.buffer for s in stores)
    values = [s.value for s in block if isinstance(s, Let | Store)]
    if len(buffers) > 1 and not any(e.op == "load" and e.attr in buffers for e in nodes(values)):
        block[:] = [*others, *(s for buffer in buffers for s in stores if s.buffer is buffer)]
