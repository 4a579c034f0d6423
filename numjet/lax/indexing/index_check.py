"""Index checks (the flag numjet_index_checks): an operation that leaves the program with IndexError at an index out of bounds.

Its result is the index, counted from the start of the axis. It stands between an index and the gather that reads there, so it
goes where its result goes: into the branch that is taken, and away with a result that nothing needs. Simplification drops it
where the intervals of integers show that the index is in bounds (`core/intervals.py`). Else it is one reduction, in the loop
that reads the index anyway; which index is out of bounds is found when one is.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, Interval, hull, intersection
from numjet.core.ir import Atom, JaxprEqn
from numjet.core.op import SCALARS, ZERO, Missing, Op, Samples
from numjet.core.traits import CHEAP, CHECKS, EXACT
from numjet.foundation import source
from numjet.lax.templates import INTEGER, elementwise

_INT64 = np.dtype(np.int64)
_LAST = np.iinfo(np.int64).max


def out_of_bounds(low: int, high: int, size: int, axis: int, wrap: bool, where: str = "") -> IndexError | None:
    """The error for indices from `low` to `high` along an axis; None where all are in bounds. wrap: negative ones count from
    the end.

    >>> out_of_bounds(0, 7, 5, 1, True)
    IndexError('index 7 is out of bounds for axis 1 with size 5')
    """
    least = -size if wrap else 0
    if least <= low and high < size:
        return None
    wrong = low if low < least else high
    return IndexError(f"index {wrong} is out of bounds for axis {axis} with size {size}{where}")


def _eager(indices: np.ndarray, *, length: int, axis: int, wrap: bool, where: str) -> np.ndarray:
    if indices.size:
        error = out_of_bounds(int(indices.min()), int(indices.max()), length, axis, wrap, where)
        if error is not None:
            raise error
    if not _counts_from_start(indices.dtype, length, wrap):
        return indices
    return np.where(indices < 0, indices + indices.dtype.type(length), indices)


def _counts_from_start(dtype: np.dtype, length: int, wrap: bool) -> bool:
    """Whether the results count from the start: not where a narrow dtype does not hold all of them, or none are negative."""
    return wrap and dtype.kind == "i" and length - 1 <= np.iinfo(dtype).max


def _cpu(b: Any, indices: Any, *, length: int, axis: int, wrap: bool, where: str) -> Any:
    if not indices.size:
        return indices
    error = partial(_error, length=length, axis=axis, wrap=wrap, where=where)
    narrow = wrap and not _counts_from_start(indices.dtype, length, wrap)
    counted = indices if narrow or not wrap else b.elementwise(partial(_from_start, b, length=length), indices)
    counted = counted if indices.ndim else b.materialize(counted)
    ok, one = b.let(all_inside(b, counted, length, narrow)), None if indices.ndim else b.read(counted)
    passed = b.check(ok, error, deferrable=True, found=partial(_ends, b, indices), value=one)
    if passed is not None:   # it is in bounds, or 0
        passed = passed if narrow or length == 0 else b.bounded(passed, 0, length - 1)
        return b.elementwise(lambda _: passed, indices)
    return counted if narrow else b.elementwise(partial(_moved, b, length - 1), counted)


def _ends(b: Any, indices: Any) -> list[Any]:
    """The least and the greatest index."""
    if not indices.ndim:
        index = b.convert(b.read(indices), _INT64)
        return [index, index]
    flat = b.reshape(indices, (indices.size,))

    def step(i: Any, k: Any, low: Any, high: Any) -> list[Any]:
        x = b.convert(b.read(flat, *k), _INT64)
        return [b.prim("min", low, x), b.prim("max", high, x)]
    inits = [b.const(_LAST, _INT64), b.const(-_LAST - 1, _INT64)]
    return [b.let(b.read(end)) for end in b.fold((), (indices.size,), inits, step)]


def _moved(b: Any, last: int, x: Any) -> Any:
    """An index that is in bounds, for all that lowering knows: any other is moved there, in one step."""
    if not 0 <= last <= np.iinfo(x.dtype).max:
        return x
    unsigned = np.dtype(f"u{x.dtype.str[2:]}" if x.dtype.itemsize > 1 else "u1")
    kept = b.prim("min", b.bitcast(x, unsigned), b.const(last, unsigned))
    return b.bounded(b.bitcast(kept, x.dtype), 0, last)


def _from_start(b: Any, x: Any, *, length: int) -> Any:
    return b.select(b.compare("lt", x, b.const(0, x.dtype)), b.add(x, b.const(length, x.dtype)), x)


def all_inside(b: Any, indices: Any, length: int, wrap: bool) -> Any:
    """Whether all indices are in bounds, as a bool scalar, by one operation for each beside those that find its element: as
    unsigned numbers, indices below 0 are the greatest. wrap: negative ones count from the end.
    """
    if length <= 0:
        return b.const(False, np.bool_)
    last, wide = length - 1, indices.dtype.itemsize == 8 or length > np.iinfo(np.int32).max
    signed, unsigned = (np.dtype(f"{kind}{8 if wide else 4}") for kind in "iu")

    def measured(x: Any) -> Any:
        x = b.convert(x, signed) if x.dtype.itemsize < signed.itemsize else x
        if wrap and x.dtype.kind == "i":
            x = _from_start(b, x, length=length)
        if not wide:
            return b.bitcast(x, unsigned)
        x = b.bitcast(x, signed)   # few CPUs compare unsigned numbers of 64 bits: the sign of either is set outside
        return b.prim("or", x, b.sub(b.const(last, signed), x))
    kind, dtype = ("or", signed) if wide else ("max", unsigned)
    marks = b.elementwise(measured, indices, dtype=dtype)
    found = b.read(b.reduce(kind, marks, tuple(range(marks.ndim))) if marks.ndim else marks)
    return b.compare("ge", found, b.const(0, signed)) if wide else b.compare("le", found, b.const(last, unsigned))


def _error(low: int, high: int, *_: int, length: int, axis: int, wrap: bool, where: str) -> Exception:
    known = out_of_bounds(low, high, length, axis, wrap, where)
    return known or IndexError(f"an index is out of bounds for axis {axis} with size {length}{where}")


def _bounds(length: int, wrap: bool) -> Interval:
    """The indices in bounds."""
    return -length if wrap else 0, length - 1


def _inside(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the indices that the check lets pass."""
    (x,), length, wrap = eqn.invars, eqn.params["length"], eqn.params["wrap"]
    if _counts_from_start(x.aval.dtype, length, wrap):
        return 0, length - 1
    found = known.interval(x)
    return intersection(found, _bounds(length, wrap)) or found


def _known_inside(eqn: JaxprEqn, producer: Facts) -> Atom | JaxprEqn | None:
    """No check where the indices are known to be in bounds; none from the end where they are known not to be negative."""
    (x,), length, wrap = eqn.invars, eqn.params["length"], eqn.params["wrap"]
    counted = _counts_from_start(x.aval.dtype, length, wrap)
    if producer.within(x, *((0, length - 1) if counted else _bounds(length, wrap))):
        return x
    if producer.within(x, *_bounds(length, wrap)):
        return eqn.replace(primitive=wrap_index_p, params={"length": length})
    from_start = wrap and producer.interval(x)[0] >= 0
    return eqn.replace(params={**eqn.params, "wrap": False}) if from_start else None


def _abstract(indices: ShapedArray, *, length: int, **_: Any) -> ShapedArray:
    if type(length) is not int or length < 0 or indices.dtype.kind not in "iu":
        raise TypeError(f"check_index takes indices and the length of an axis, got {indices} and {length}")
    return indices


def _wrapped(eqn: JaxprEqn, known: Facts) -> Interval:
    """The interval of the indices that are not negative, and of the others beside it."""
    (low, high), length = known.interval(eqn.invars[0]), eqn.params["length"]
    parts = [(max(low, 0), high)] * (high >= 0) + [(low + length, min(high, -1) + length)] * (low < 0)
    return hull(parts)


wrap_index_p: Op = elementwise(
    "wrap_index", params=("length",), accepts=INTEGER, jvp=ZERO, transpose=Missing("integers have no derivative"),
    eager=lambda x, *, length: np.where(x < 0, x + x.dtype.type(length), x), interval=_wrapped,
    cpu=lambda b, x, *, length: _from_start(b, x, length=length), hlo=SCALARS, traits=EXACT | CHEAP, cost=2.0,
    samples=Samples(dtypes=("int32", "int8"), low=-9, high=9, params=({"length": 9},), ulps=0, order=0))
"""Indices of an axis of a length, counted from its start; negative ones count from the end."""

check_index_p: Op = Op(
    name="check_index", params=("length", "axis", "wrap", "where"), reports=frozenset(("axis", "where")), abstract=_abstract,
    eager=_eager, jvp=ZERO, rewrites=_known_inside, interval=_inside,
    transpose=Missing("integers have no derivative"),
    batch=lambda size, args, dims, **params: (check_index_p.bind(*args, **params), dims[0]), cpu=_cpu,
    hlo=Missing("numjet_index_checks='all' is of programs for the CPU: set it to 'eager' for others"), traits=CHECKS,
    samples=Samples(shapes=((3,), (2, 3), (), (0,)), params=({"length": 50, "axis": 0, "wrap": True, "where": ""},),
                    dtypes=("int32", "int8"), ulps=0, order=0))


def check_index(indices: Any, size: int, axis: int, wrap: bool) -> Any:
    """Traced indices, which are checked when the program runs."""
    frame = source.user_frame()
    where = "" if frame is None else f", at {frame.file}:{frame.line} in {frame.function}"
    return check_index_p.bind(indices, length=size, axis=axis, wrap=wrap, where=where)
