"""The operation `note_index`: checkify's state behind an index that may be out of bounds.

The state is the number of the first error, or -1, and of an index out of bounds that index and its axis. While all is well it
stays as it is, after one operation per index and one branch, for a whole batch: which index it was is searched when there is
one. The last result is the indices, moved into bounds, for operations that would move them: of a single index that is no work
while all is well. So a check costs what one that leaves the program costs, in loops and under vmap, too. Simplification drops
checks that cannot find anything.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from numjet.control.branches.cond import cond
from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts
from numjet.core.ir import Atom, ClosedJaxpr, JaxprEqn
from numjet.core.op import ZERO, Expand, Missing, Op, Samples
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT
from numjet.lax.elementwise.bitwise import and_p, or_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, max_p, min_p, select_n_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim
from numjet.lax.indexing.index_check import all_inside
from numjet.lax.reduction.reduce import reduce_max_p, reduce_min_p, reduce_or_p
from numjet.lax.shape.create import iota
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim, reshape
from numjet.lax.templates import leading_batch

_INT32 = np.dtype(np.int32)
_CHAIN = 16   # checks in front of one that are looked at
Ints = tuple[int, ...]


def _abstract(code: ShapedArray, index: ShapedArray, axis: ShapedArray, indices: ShapedArray, *, number: int, limits: Ints,
              axes: Ints) -> list[ShapedArray]:
    batch, columns = code.shape, indices.shape[code.ndim:][-1:]
    state = [a for a in (code, index, axis) if a.shape == batch and a.dtype == _INT32]
    fits = columns and indices.shape[:code.ndim] == batch and len(limits) == len(axes) == columns[0]
    if len(state) < 3 or not fits or indices.dtype not in (_INT32, np.dtype(np.int64), np.dtype(np.uint64)):
        raise TypeError(f"note_index takes a state of int32 of one shape, and indices of that shape and more, the last axis of "
                        f"which has a limit and an axis for each; got {code}, {index}, {axis}, {indices}, {limits} and {axes}")
    if not all(type(n) is int for n in (number, *limits, *axes)):
        raise TypeError(f"note_index takes integers, got {number}, {limits} and {axes}")
    return [code, index, axis, indices]


def _eager(code: np.ndarray, index: np.ndarray, axis: np.ndarray, indices: np.ndarray, *, number: int, limits: Ints,
           axes: Ints) -> list[np.ndarray]:
    bad = (indices < 0) | (indices > np.asarray(limits))
    if not bad.any():
        return [code, index, axis, indices]
    bad = bad.reshape(*code.shape, -1)
    where = bad.argmax(-1)[..., None]
    found = np.take_along_axis(indices.reshape(bad.shape), where, -1)[..., 0].astype(_INT32)
    first = bad.any(-1) & (code < 0)
    news = np.int32(number), found, np.asarray(axes, _INT32)[where[..., 0] % len(axes)]
    state = [np.where(first, new, old) for new, old in zip(news, (code, index, axis), strict=True)]
    return [*state, np.clip(indices, 0, np.asarray(limits, indices.dtype))]


def _noted(code: Any, index: Any, axis: Any, indices: Any, *, number: int, limits: Ints, axes: Ints) -> list[Any]:
    """The state behind the indices, searched for the first one out of bounds of each element of the batch."""
    batch, shape, dtype = aval_of(code).shape, aval_of(indices).shape, aval_of(indices).dtype
    count, ends = prod(shape[len(batch):]), (len(batch),)
    along = lambda values, dtype: broadcast_in_dim(np.asarray(values, dtype), shape, (len(shape) - 1,))
    everywhere = lambda value: broadcast_in_dim(value, (*batch, count), ())
    bad = or_p.bind(lt_p.bind(indices, np.zeros((), dtype)), gt_p.bind(indices, along(limits, dtype)))
    bad, values, numbers = (reshape(x, (*batch, count)) for x in (bad, indices, along(axes, _INT32)))
    position = np.dtype(np.int32 if count <= np.iinfo(np.int32).max else np.int64)
    places = broadcast_in_dim(iota(position, count), (*batch, count), ends)
    where = reduce_min_p.bind(select_n_p.bind(bad, everywhere(position.type(count)), places), axes=ends)
    there = eq_p.bind(places, broadcast_in_dim(where, (*batch, count), tuple(range(len(batch)))))

    def value(x: Any) -> Any:
        if not batch:
            return cast(dynamic_index_in_dim(x, where, 0, keepdims=False), _INT32)
        least = aval_of(x).dtype.type(np.iinfo(aval_of(x).dtype).min)
        return cast(reduce_max_p.bind(select_n_p.bind(there, everywhere(least), x), axes=ends), _INT32)
    known = broadcast_in_dim(np.int32(axes[0]), batch, ()) if len(set(axes)) == 1 else None
    first = and_p.bind(lt_p.bind(where, position.type(count)), lt_p.bind(code, np.int32(0)))
    news = broadcast_in_dim(np.int32(number), batch, ()), value(values), value(numbers) if known is None else known
    state = [select_n_p.bind(first, old, new) for old, new in zip((code, index, axis), news, strict=True)]
    return [*state, min_p.bind(max_p.bind(indices, np.zeros((), dtype)), along(limits, dtype))]


@lru_cache(256)
def _programs(avals: tuple[ShapedArray, ...], number: int, limits: Ints, axes: Ints) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The results where all indices are in bounds, and those of `_noted`; the indices of single windows only."""
    count = 4 if len(avals[3].shape) == 1 else 3
    search = lambda *args: _noted(*args, number=number, limits=limits, axes=axes)[:count]
    return trace_to_closed(lambda *args: args[:count], avals), trace_to_closed(search, avals)


def _cpu(b: Any, code: Any, index: Any, axis: Any, indices: Any, *, number: int, limits: Ints, axes: Ints) -> list[Any]:
    if not indices.size:
        return [code, index, axis, indices]
    ok = b.const(True, np.bool_)
    for k, limit in enumerate(limits):
        column = b.compute(indices.shape[:-1], indices.dtype, lambda *at, k=k: b.read(indices, *at, k), moves=True,
                           reads=(indices,))
        ok = b.prim("and", ok, all_inside(b, column, limit + 1, False))
    ok = b.let(ok)
    failed = b.compute((), _INT32, lambda: b.convert(b.prim("not", ok), _INT32))
    programs = _programs((code.aval, index.aval, axis.aval, indices.aval), number, limits, axes)
    found = list(b.cond(failed, programs, [code, index, axis, indices], rare=True))
    if len(found) == 3:
        return [*found, b.compute(indices.shape, indices.dtype, lambda *at: _moved(b, b.read(indices, *at), at[-1], limits),
                                  reads=(indices,))]
    for k, limit in enumerate(limits):
        if limit >= 0:
            b.bounded(b.read(found[3], k), 0, limit)
    return found


def _moved(b: Any, x: Any, column: Any, limits: Ints) -> Any:
    """An index along the axis of a column, moved into bounds."""
    limits = limits[column:column + 1] if isinstance(column, int) else limits
    most = b.const(limits[0], x.dtype)
    for k, limit in enumerate(limits[1:] if len(set(limits)) > 1 else (), 1):
        most = b.select(b.compare("eq", b.scalar(column), b.const(k, np.int64)), b.const(limit, x.dtype), most)
    inside = b.prim("min", b.prim("max", x, b.const(0, x.dtype)), most)
    return inside if min(limits) < 0 else b.bounded(inside, 0, max(limits))


def _hlo(code: Any, index: Any, axis: Any, indices: Any, *, number: int, limits: Ints, axes: Ints) -> list[Any]:
    aval = aval_of(indices)
    if not aval.size:
        return [code, index, axis, indices]
    most = broadcast_in_dim(np.asarray(limits, aval.dtype), aval.shape, (aval.ndim - 1,))
    bad = or_p.bind(lt_p.bind(indices, np.zeros((), aval.dtype)), gt_p.bind(indices, most))
    search = lambda *args: _noted(*args, number=number, limits=limits, axes=axes)
    return cond(reduce_or_p.bind(bad, axes=tuple(range(aval.ndim))), search, lambda *args: list(args),
                code, index, axis, indices)


def _columns(indices: Atom, facts: Facts) -> list[Any]:
    """What the indices along each axis are within."""
    eqn, count = facts(indices), indices.aval.shape[-1]
    last = indices.aval.ndim - 1
    if eqn is not None and eqn.primitive is concatenate_p and eqn.params["dimension"] == last and len(eqn.invars) == count:
        return list(map(facts.interval, eqn.invars))
    return [facts.interval(indices)] * count


def _known(eqn: JaxprEqn, facts: Facts) -> Sequence[Atom] | None:
    """The operands, where all indices are known to be in bounds or a check in front of this one finds all it would."""
    state, indices, limits = eqn.invars[:3], eqn.invars[3], eqn.params["limits"]
    if all(0 <= low and high <= limit for (low, high), limit in zip(_columns(indices, facts), limits, strict=True)):
        return eqn.invars
    before = facts(state[0])
    for _ in range(_CHAIN):
        if before is None or before.primitive is not note_index_p:
            return None
        if before.invars[3] is indices and before.params["limits"] == limits:
            return [*state, before.outvars[3]]
        before = facts(before.invars[0])
    return None


def _operands(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    batch, shape = shapes
    return [np.where(rng.uniform(size=batch) < 0.7, -1, 7).astype(_INT32), rng.integers(0, 9, batch, _INT32),
            rng.integers(0, 2, batch, _INT32), rng.integers(-1, 9, (*batch, *shape)).astype(dtype)]


note_index_p: Op = Op(
    name="note_index", params=("number", "limits", "axes"), multiple=True, abstract=_abstract, eager=_eager, jvp=ZERO,
    transpose=Missing("integers have no derivative"), batch=leading_batch(lambda: note_index_p), cpu=_cpu,
    hlo=Expand(_hlo), traits=EXACT, rewrites=_known, samples=Samples(
        shapes=([(), (3, 2)], [(), (2,)], [(4,), (2,)], [(3,), (2, 2)], [(), (0, 2)], [(), (40, 2)], [(2,), (5, 1)]),
        params=tuple({"number": 5, "limits": limits, "axes": (0, 2)[:len(limits)]}
                     for limits in ((8, 8), (6, 8), (7, 7), (8, 7), (4, 4), (8, 8), (7,))),
        dtypes=("int32", "int64"), order=0, ulps=0, make=_operands))
