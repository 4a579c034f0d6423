"""Index checks of `x[idx]`: IndexError, where the index would be clipped otherwise. `x.at[idx].get()` clips, as its modes say.

Outside of `jit` the values of the indices are looked at ("eager"); in programs an operation is put behind the index ("all").
Where the name `jax` means numjet, "eager" checks nothing: programs for JAX may rely on indices being clipped.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.trace import EVAL, Array, ArrayBase, Tracer, aval_of, current_trace
from numjet.foundation.config import config
from numjet.foundation.dimension import is_symbolic
from numjet.lax.indexing.index_check import check_index, out_of_bounds
from numjet.lax.operands import UNSIGNED_OF
from numjet.numpy.indexing.plan import Advanced, Plan, is_mask, plan_index


def check(x: Any, idx: Any) -> Any:
    """The index of x, after a check that its integers are in bounds. Raises IndexError."""
    everywhere = config.index_checks == "all"
    if not everywhere and (isinstance(x, Tracer) or current_trace() is not EVAL):
        return idx
    entries = idx if type(idx) is tuple else (idx,)
    if all(isinstance(e, slice) or e is None or e is Ellipsis or is_mask(e) for e in entries):
        return idx
    if type(x) is Array and _surely_inside(x.shape, entries):
        return idx
    plan = plan_index(aval_of(x).shape, idx)
    traced = {}
    for e in plan.advanced:
        if plan.masked or is_symbolic((plan.shape[e.axis],)):
            continue
        if isinstance(e.index, Tracer):
            traced[id(e.index)] = e
        else:
            _check_known(e, plan)
    if not everywhere or not traced:
        return idx

    def behind(entry: Any) -> Any:
        e = traced.get(id(entry))
        return entry if e is None else check_index(entry, plan.shape[e.axis], _axis(e, plan), True)
    return tuple(map(behind, idx)) if type(idx) is tuple else behind(idx)


def _surely_inside(shape: tuple[int, ...], entries: Sequence[Any]) -> bool:
    """Whether the index has but slices, None, `...`, and integers that are within bounds, counted from the start."""
    axis = 0
    for k, e in enumerate(entries):
        if e is Ellipsis:
            axis = len(shape) - sum(rest is not None for rest in entries[k + 1:])
        elif e is not None:
            if not 0 <= axis < len(shape) or not (type(e) is slice or _is_below(e, shape[axis])):
                return False
            axis += 1
    return True


def _is_below(index: Any, size: int) -> bool:
    """Whether integers are from 0 to below a size: as unsigned numbers, negative ones are large."""
    if type(index) is int:
        return 0 <= index < size
    value = index._value if type(index) is Array else index
    if type(value) is not np.ndarray or value.dtype.kind not in "iu" or not value.dtype.isnative:
        return False
    return not value.size or bool(value.view(UNSIGNED_OF[value.dtype.itemsize]).max() < size)


def _axis(e: Advanced, plan: Plan) -> int:
    """The axis of the user's array: the plan counts the new ones, too."""
    return e.axis - sum(k < e.axis for k in plan.expanded)


def _check_known(e: Advanced, plan: Plan) -> None:
    index = np.asarray(e.index)
    if index.size:
        error = out_of_bounds(int(index.min()), int(index.max()), plan.shape[e.axis], _axis(e, plan), True)
        if error is not None and (config.index_checks == "all" or not _imported_as_jax()):
            raise error


def _imported_as_jax() -> bool:
    """Whether this process imported numjet under JAX's name, by numjet.as_jax or otherwise."""
    return getattr(sys.modules.get("jax"), "Array", None) is ArrayBase
