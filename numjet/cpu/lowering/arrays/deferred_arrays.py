"""Deferred arrays: elementwise operations and data movement become functions of an index, and write no code."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm, prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.lowering.arrays.materialization import Materialization
from numjet.cpu.lowering.arrays.values import (
    MOST_COST,
    Deferred,
    LoweredArray,
    Registers,
    Storage,
    delinearize,
    linear,
    parts_dtype,
)
from numjet.cpu.lowering.liveness import Liveness


class DeferredArrays:
    """Makes deferred arrays, and arrays of constants."""

    STATE = ("_embedded",)

    def __init__(self, materialization: Materialization, liveness: Liveness):
        self.materialization, self.liveness = materialization, liveness
        self.reads = materialization.reads
        self.ir, self.scalars = self.reads.ir, self.reads.scalars
        self._embedded: dict[int, tuple[Any, LoweredArray]] = {}   # constants of the program by id, kept alive

    def compute(self, shape: Sequence[int], dtype: Any, fn: Callable[..., Any], *, moves: bool = False, finds: float = 0.0,
                parents: Sequence[LoweredArray] = (), reads: Sequence[LoweredArray] = (),
                pieces: tuple[Sequence[LoweredArray], int] | None = None,
                view: tuple[LoweredArray, tuple[int, ...]] | None = None,
                row: LoweredArray | None = None, dilation: tuple[int, int] | None = None) -> LoweredArray:
        """The array out[i, ...] = fn(i, ...). fn reads the operands of the equation, unless `parents` or `reads` name what it
        reads; the result inherits cost and depth of parents. row: an array of its last axes that it repeats."""
        out = LoweredArray(ShapedArray(tuple(shape), np.dtype(dtype)),
                           Deferred(fn, parents=tuple(parents), own_cost=0.0 if moves else 4.0, finds=finds, pieces=pieces,
                                    view=view, row=row, period=0 if row is None else row.size, dilation=dilation,
                                    tile=None if row is None else lambda k, place: self.reads.read_row(row, place)))
        if not parents:
            self.set_reads(out, reads)
        return out

    def set_reads(self, x: LoweredArray, reads: Sequence[LoweredArray] = ()) -> None:
        """Names the arrays that a deferred array may read: those, or else all operands of the current equation."""
        content: Any = x.content
        content.count_readers(-1)
        content.parents = tuple(reads or self.liveness.operands)
        content.count_readers(1)
        content.cost = min(MOST_COST, max(content.cost, sum(a.cost for a in content.parents)))
        content.most_work += sum(a.content.most_work for a in content.parents)
        content.finds += sum(a.content.finds for a in content.parents)

    def elementwise(self, fn: Callable[..., Any], *arrays: LoweredArray, dtype: Any = None, cost: float = 1.0) -> LoweredArray:
        """out[i] = fn(*[x[i]]); arrays of rank 0 are read everywhere."""
        shape = max((a.shape for a in arrays), key=len)
        read, read_flat = self.reads.read, self.reads.read_flat
        operands = [(a, a.ndim < len(shape)) for a in arrays]

        def at(*index: Any) -> Any:
            return fn(*[read(a) if scalar else read(a, *index) for a, scalar in operands])

        def flat(k: Any) -> Any:
            return fn(*[read(a) if scalar else read_flat(a, k) for a, scalar in operands])

        def tile(k: Any, place: Any) -> Any:
            return fn(*[read(a) if scalar else self.reads.read_tile(a, k, place) for a, scalar in operands])

        period = lcm(*[a.content.period for a, scalar in operands if not scalar])   # 0 if one has none
        dilation = next((a.content.dilation for a, scalar in operands if not scalar and a.content.dilation is not None), None)
        return LoweredArray(ShapedArray(shape, np.dtype(dtype or arrays[0].dtype)),
                            Deferred(at, flat=flat if period == 1 else None, tile=tile if period > 1 else None, period=period,
                                     dilation=dilation,
                                     parents=arrays, pointwise=True, own_cost=cost))

    def in_registers(self, fn: Callable[..., Any], arrays: Sequence[LoweredArray], aval: ShapedArray) -> LoweredArray:
        """As `elementwise`, of arrays in registers with a result that is kept there, too: each element is evaluated here, and
        no deferred array is made for it."""
        elems = [a.content.elems * aval.size if a.ndim < aval.ndim else a.content.elems   # type: ignore[attr-defined]
                 for a in arrays]
        let, scalar = self.ir.let, self.scalars.scalar
        return LoweredArray(aval, Registers([let(scalar(fn(*xs))) for xs in zip(*elems, strict=True)], self.ir.block))

    def converted(self, x: LoweredArray, dtype: np.dtype) -> LoweredArray:
        """x in another dtype."""
        return x if x.dtype == dtype else self.elementwise(lambda v: self.scalars.convert(v, dtype), x, dtype=dtype)

    # ------------------------------------------------------------------------------------------ constants
    def constant(self, value: Any) -> LoweredArray:
        """An array whose elements are part of the program."""
        value = np.asarray(value, order="C")  # which keeps rank 0
        aval = ShapedArray(np.shape(value), value.dtype)
        if not value.dtype.itemsize:
            return self.empty_elements(aval)
        if value.size <= self.ir.small:
            elems = [self.scalars.const(v, value.dtype) for v in value.reshape(-1)]
            return LoweredArray(aval, Registers(elems, self.ir.function.body))
        part = parts_dtype(value.dtype)
        numbers = value.reshape(-1).view(part) if part is not None else value.reshape(-1)
        buffer = self.ir.memory.buffer(value.dtype, value.size, "const", "c", numbers)
        return LoweredArray(aval, Storage(buffer, self.ir.terms.index(0), False))

    def embedded(self, value: Any) -> LoweredArray:
        """A constant array of the program, made once."""
        found = self._embedded.get(id(value))
        if found is None:
            array = value._value if hasattr(value, "_value") else np.asarray(value)
            found = self._embedded[id(value)] = (value, self.constant(array))
        return found[1]

    def full(self, value: Any, aval: ShapedArray) -> LoweredArray:
        """An array of equal elements."""
        const, dtype = self.scalars.const, aval.dtype
        return LoweredArray(aval, Deferred(lambda *index: const(value, dtype), flat=lambda k: const(value, dtype)))

    def inside(self, n: LoweredArray, shape: Sequence[int], axis: int) -> LoweredArray:
        """Where the index along an axis is below n (int32). By position, too, if the axis is the first."""
        scalars, read = self.scalars, self.reads.read
        row = prod(shape[axis + 1:])
        by_position = prod(shape[:axis]) == 1 and prod(shape) < 2 ** 31

        def below(place: Any, limit: Any) -> Any:
            return scalars.compare("lt", scalars.convert(place, n.dtype), limit)

        def flat(place: Any) -> Any:
            return below(place, read(n) if row == 1 else scalars.mul(read(n), scalars.const(row, n.dtype)))

        return LoweredArray(ShapedArray(tuple(shape), np.dtype(np.bool_)), Deferred(
            lambda *index: below(index[axis], read(n)), flat=flat if by_position else None, parents=(n,)))

    def empty_elements(self, aval: ShapedArray) -> LoweredArray:
        """An array of float0, whose elements have no bytes: nothing is read for it, and nothing stored where it is a result."""
        return self.full(None, aval)

    # ------------------------------------------------------------------------------------------ data movement
    def reshape(self, x: LoweredArray, shape: Sequence[int]) -> LoweredArray:
        """Same elements in row-major order; memory and registers are shared."""
        shape = tuple(shape)
        aval = x.aval.update(shape=shape)
        content = x.content
        if isinstance(content, Registers):
            return LoweredArray(aval, Registers(content.elems, content.block))
        if isinstance(content, Storage):
            return LoweredArray(aval, content)
        reads, terms = self.reads, self.ir.terms
        same_axes = _long_axes(x.shape) == _long_axes(shape)
        if x.cost > 0 and not same_axes and content.flat is None and not self.materialization.materialize(x).lazy:
            return self.reshape(x, shape)
        flat = (lambda k: reads.read_flat(x, k)) if content.flat is not None else None
        pieces = self._reshaped_pieces(x, shape) if same_axes else None
        if same_axes:
            kept = [k for k, n in enumerate(shape) if n != 1]

            def at(*index: Any) -> Any:
                source = iter(index[k] for k in kept)
                return reads.read(x, *[0 if n == 1 else next(source) for n in x.shape])
        else:
            def at(*index: Any) -> Any:
                return reads.read(x, *delinearize(x.shape, terms.index(linear(shape, index))))
        return LoweredArray(aval, Deferred(at, flat=flat, parents=(x,), source=x, pieces=pieces))

    def _reshaped_pieces(self, x: LoweredArray, shape: tuple[int, ...]) -> tuple[Sequence[LoweredArray], int] | None:
        """The pieces of a joined array whose axes of length 1 go or come."""
        if x.content.pieces is None or x.shape[x.content.pieces[1]] == 1:
            return None
        parts, axis = x.content.pieces
        number = len(_long_axes(x.shape[:axis]))   # the axis is the so many-th long one
        place = [d for d, n in enumerate(shape) if n != 1][number]
        return [self.reshape(p, (*shape[:place], p.shape[axis], *shape[place + 1:])) for p in parts], place

    def transpose(self, x: LoweredArray, permutation: Sequence[int]) -> LoweredArray:
        """out axis d is axis permutation[d] of x; products see through it to the memory of x."""
        inverse = [list(permutation).index(d) for d in range(x.ndim)]
        base, inner = x.content.view if x.content.view is not None else (x, tuple(range(x.ndim)))
        joined = x.content.pieces
        if joined is not None:
            joined = [self.transpose(piece, permutation) for piece in joined[0]], list(permutation).index(joined[1])
        return self.compute([x.shape[d] for d in permutation], x.dtype, lambda *i: self.reads.read(x, *[i[p] for p in inverse]),
                            moves=True, parents=(x,), view=(base, tuple(inner[d] for d in permutation)), pieces=joined)

    def pieces(self, x: LoweredArray) -> tuple[Sequence[LoweredArray], int] | None:
        """The arrays that were joined to x, and along which axis, while it is deferred; None for any other array."""
        return x.content.pieces

    def if_(self, cond: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """Selects lazily: loads of a side only touch memory where its condition holds."""
        if cond.expr.op == "const":
            return then() if cond.expr.attr else orelse()
        with self.ir.guarded(cond):
            a = then()
        with self.ir.guarded(self.scalars.prim("not", cond)):
            b = orelse()
        return self.scalars.select(cond, a, b)


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
