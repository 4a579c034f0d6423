"""What loops share: carries whose Python scalars adapt to the loop, and fixpoints over flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.bodies import Body
from numjet.control.messages import same_type
from numjet.control.programs import Flags, union
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, tree
from numjet.lax.templates import call


def trace_with_carry(
    trace: Callable[[list[ShapedArray]], Body], init: Sequence[Any], outputs: Callable[[Body], list[ShapedArray]]
) -> tuple[Body, list[Any], list[ShapedArray]]:
    """Traces a loop's body; weakly typed initial values take the dtype that the body returns for them.

    trace: traces the body for a carry of these avals. outputs: avals of the carry that a traced body returns.
    Returns the body, the initial values and their avals. Stops when nothing weak is left to adapt; whether the types
    then agree is for the caller to check.
    """
    init = list(init)
    while True:
        avals = [aval_of(x) for x in init]
        body = trace(avals)
        out = outputs(body)
        if len(out) != len(avals):
            return body, init, avals
        wanted = [_adapted(a, b) for a, b in zip(avals, out, strict=True)]
        if all(w is None for w in wanted):
            return body, init, avals
        init = [
            x if w is None else call("convert_element_type", x, new_dtype=w, weak_type=False)
            for x, w in zip(init, wanted, strict=True)
        ]


def _adapted(before: ShapedArray, after: ShapedArray) -> Any:
    """The dtype that a weakly typed value of the carry should have from the start; None to leave it."""
    if not before.weak_type or before.shape != after.shape or same_type(before, after):
        return None
    dtype = dtypes.result_type(before, after)
    return None if dtype == before.dtype else dtype


def fixpoint(step: Callable[[Flags], tuple[Any, Sequence[bool]]], start: Sequence[bool]) -> tuple[Any, Flags]:
    """Raises flags until step(flags) -> (result, flags) raises none anymore; that result and the flags.

    Ends, as flags are only ever raised.
    """
    flags = tuple(start)
    while True:
        result, out = step(flags)
        raised = union(flags, out)
        if raised == flags:
            return result, flags
        flags = raised


def as_arrays(values: Any) -> Any:
    """A pytree with its Python scalars as (weakly typed) arrays: what a loop's body sees, traced or not."""
    def convert(x: Any) -> Any:
        if type(x) not in (bool, int, float, complex):
            return x
        aval = aval_of(x)
        return call("convert_element_type", x, new_dtype=aval.dtype, weak_type=aval.weak_type)
    return tree.tree_map(convert, values)
