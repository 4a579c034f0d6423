"""The operation by which loops report how far they are: a Python function of counts, called once for a whole batch.

Lanes of a batch that differ run together until the last is done, so the largest count is how far the loop is. The operation
has no derivative, and is not removed: its effect `PROGRESS` says that steps may be computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.custom.custom_vmap import custom_vmap
from numjet.control.host.python_calls import HostFunction, arguments_of, called, lowered, run
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Zero
from numjet.core.traits import EXACT
from numjet.lax.reduction.reduce import reduce_max_p

COUNT = np.dtype(np.int32)


def _abstract(*avals: ShapedArray, callback: HostFunction) -> list[ShapedArray]:
    return list(callback.outs)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: HostFunction) -> tuple[list[Any], list[Any]]:
    outs = progress_p.bind(*primals, callback=callback)
    return outs, [Zero(aval.to_tangent_aval()) for aval in callback.outs]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: HostFunction
           ) -> tuple[list[Any], list[None]]:
    counts = [a if d is None else _largest(a) for a, d in zip(args, dims, strict=True)]
    return progress_p.bind(*counts, callback=callback), [None] * len(callback.outs)


progress_p = Op(name="progress", params=("callback",), multiple=True, abstract=_abstract, eager=run, jvp=_jvp,
                transpose=lambda cts, *args, **_: [None] * len(args), batch=_batch, cpu=lowered, hlo=called(),
                samples=Missing("calls Python"), traits=EXACT, effects=lambda **_: frozenset({effects.PROGRESS}))


def _largest(counts: Any) -> Any:
    return reduce_max_p.bind(counts, axes=(0,))


@custom_vmap
def of_all_lanes(count: Any) -> Any:
    """A count that is the same for all elements of a batch: the largest."""
    return count


@of_all_lanes.def_vmap
def _of_batch(size: int, batched: Sequence[bool], count: Any) -> tuple[Any, bool]:
    return of_all_lanes(_largest(count)) if batched[0] else of_all_lanes(count), False


def reporter(fun: Callable[..., Any], operands: int, results: int) -> Callable[..., list[Any]]:
    """An operation that calls a Python function of as many counts, which returns a list of counts."""
    _, _, in_tree = arguments_of([COUNT.type(0)] * operands, {})
    host = HostFunction("progress", fun, in_tree, [ShapedArray((), COUNT)] * results)
    return lambda *counts: progress_p.bind(*counts, callback=host)
