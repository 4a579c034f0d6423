"""Index checks (the flag numjet_index_checks): an operation that leaves the program with IndexError at an index out of bounds.

It stands between an index and the gather that reads there, so it goes where its result goes: into the branch that is taken, and
away with a result that nothing needs. It tests the least and the greatest index: two reductions of an array that is read
anyway.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.core.traits import KEEPS_APART
from numjet.foundation import source

_INT64 = np.dtype(np.int64)


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
    return indices


def _cpu(b: Any, indices: Any, *, length: int, axis: int, wrap: bool, where: str) -> Any:
    if not indices.size:
        return indices
    axes = tuple(range(indices.ndim))
    ends = [b.let(b.convert(b.read(b.reduce(kind, indices, axes) if axes else indices), _INT64)) for kind in ("min", "max")]
    least, most = (b.const(n, _INT64) for n in (-length if wrap else 0, length - 1))
    # What an unsigned index of 64 bits holds beyond the signed ones is negative now.
    inside = b.prim("and", b.compare("ge", ends[0], least), b.compare("le", ends[1], most))
    b.check(inside, partial(_error, length=length, axis=axis, wrap=wrap, where=where), *ends, deferrable=True)
    return indices


def _error(low: int, high: int, *_: int, length: int, axis: int, wrap: bool, where: str) -> Exception:
    known = out_of_bounds(low, high, length, axis, wrap, where)
    return known or IndexError(f"an index is out of bounds for axis {axis} with size {length}{where}")


def _abstract(indices: ShapedArray, **_: Any) -> ShapedArray:
    return indices


check_index_p: Op = Op(
    name="check_index", params=("length", "axis", "wrap", "where"), abstract=_abstract, eager=_eager, jvp=ZERO,
    transpose=Missing("integers have no derivative"),
    batch=lambda size, args, dims, **params: (check_index_p.bind(*args, **params), dims[0]), cpu=_cpu,
    hlo=Missing("numjet_index_checks='all' is of programs for the CPU: set it to 'eager' for others"), traits=KEEPS_APART,
    samples=Samples(shapes=((3,), (2, 3), (), (0,)), params=({"length": 50, "axis": 0, "wrap": True, "where": ""},),
                    dtypes=("int32", "int8"), ulps=0, order=0))


def check_index(indices: Any, size: int, axis: int, wrap: bool) -> Any:
    """Traced indices, which are checked when the program runs."""
    frame = source.user_frame()
    where = "" if frame is None else f", at {frame.file}:{frame.line} in {frame.function}"
    return check_index_p.bind(indices, length=size, axis=axis, wrap=wrap, where=where)
