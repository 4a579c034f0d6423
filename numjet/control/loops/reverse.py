"""Binomial checkpointing: the reverse sweep over a loop whose states are computed again from a bounded number of stored ones.

Stored states form a stack, in rows of buffers. To reverse the last step that is left, the state in front of it is computed
from the row on top, and states on the way are stored in free rows. With s free rows, C(s + 1 + r, r) steps are reversed while
none is repeated more than r times: A. Griewank and A. Walther, "Algorithm 799: revolve" (2000). The number of steps is a value
of the program here, so the schedule is computed as the loop goes. Where all states fit, each is computed once and stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from numjet.control.call.jaxpr_transforms import Derived, Flags, Split
from numjet.control.loops.carries import backwards, fixpoint
from numjet.control.loops.while_loop import while_loop
from numjet.control.loops.while_op import COUNT, step_number
from numjet.core.aval import ShapedArray
from numjet.core.effects import REPEATABLE
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.stage import hoist_consts, trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension, computed_sizes
from numjet.foundation.record import Record
from numjet.lax.elementwise.arithmetic import add, div, mul, sub
from numjet.lax.elementwise.compare import eq, gt, lt, max as maximum, min as minimum, select
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from numjet.lax.tangent import zeros_like_aval
from numjet.transforms.dce import dce_jaxpr

_FEWEST, _MOST = 8, 1024     # rows

Forward = Callable[[Any, list[Any]], list[Any]]         # (step, state) -> next state
Backward = Callable[[Any, list[Any], list[Any]], list[Any]]  # (step, state in front of it, cotangents) -> cotangents


def default_rows(state: Sequence[ShapedArray]) -> int:
    """How many states are stored within the memory that the flag loop_checkpoint_bytes allows; never fewer than a few."""
    size = sum(a.size * a.dtype.itemsize for a in state)
    if isinstance(size, Dimension):
        if computed_sizes.maker is None:
            return _FEWEST
        size = computed_sizes.maker.bound(size)
    return min(max(config.loop_checkpoint_bytes // max(size, 1), _FEWEST), _MOST)


def reverse_steps(count: Any, state: Sequence[Any], cts: Sequence[Any], forward: Forward, backward: Backward,
                  rows: int) -> list[Any]:
    """The cotangents after `backward` of the steps count - 1, ..., 0, with at most `rows` stored states of the loop."""
    if not state:
        return _without_state(count, cts, backward)
    zero, one = step_number(0), step_number(1)
    stack = [put(_rows_like(x, rows + 1), x, np.int32(0)) for x in state]  # the last row is overwritten when none is free
    starts = zeros_like_aval(ShapedArray((rows + 1,), COUNT.dtype))

    def steps_back(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        left, top, starts, stack, cts = carry
        last = sub(left, one)
        top, starts, stack, before = _reach(last, top, starts, stack, forward, rows)
        cts = backward(last, before, cts)
        used = eq(row(starts, top), last)
        return last, sub(top, convert_element_type(used, np.int32)), starts, stack, cts

    start = (count, np.int32(0), starts, stack, list(cts))
    return while_loop(lambda carry: gt(carry[0], zero), steps_back, start)[4]


def _without_state(count: Any, cts: Sequence[Any], backward: Backward) -> list[Any]:
    """The sweep over a loop whose steps differ by their number only."""
    zero, one = step_number(0), step_number(1)

    def steps_back(carry: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
        last = sub(carry[0], one)
        return last, backward(last, [], carry[1])

    return while_loop(lambda carry: gt(carry[0], zero), steps_back, (count, list(cts)))[1]


def _reach(last: Any, top: Any, starts: Any, stack: list[Any], forward: Forward,
           rows: int) -> tuple[Any, Any, list[Any], list[Any]]:
    """The state in front of the step `last`, from the row on top; states on the way are stored in free rows."""
    def advance(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        at, top, starts, stack, state = carry
        free = sub(np.int32(rows - 1), top)
        end = add(at, _distance(add(sub(last, at), step_number(1)), free))
        state = _run(at, end, state, forward)
        above = add(top, np.int32(1))
        stack = [put(rows_of, x, above) for rows_of, x in zip(stack, state, strict=True)]
        return end, minimum(above, np.int32(rows - 1)), put(starts, end, above), stack, state

    at = row(starts, top)
    state = [row(rows_of, top) for rows_of in stack]
    _, top, starts, stack, state = while_loop(lambda carry: lt(carry[0], last), advance, (at, top, starts, stack, state))
    return top, starts, stack, state


def _run(at: Any, end: Any, state: list[Any], forward: Forward) -> list[Any]:
    """The state after the steps at, ..., end - 1."""
    def body(carry: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
        return add(carry[0], step_number(1)), forward(*carry)

    return while_loop(lambda carry: lt(carry[0], end), body, (at, state))[1]


def _distance(steps: Any, free: Any) -> Any:
    """After how many of the steps, of which the last is to be reversed, to store the next state; all but one if no row is free.

    With r the smallest number of repetitions that suffices, the steps in front of the stored state and those behind it both
    suffice with their rows and at most r - 1 and r repetitions. Binomial coefficients are computed in float32: an inexact one
    costs a little time, no more.
    """
    f32 = lambda x: convert_element_type(x, np.float32)
    s, wanted, one = f32(free), f32(steps), np.float32(1)
    start = select(gt(free, np.int32(0)), add(s, np.float32(2)), wanted)

    def repeat_more(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        r = add(carry[0], one)
        return r, div(mul(carry[1], add(add(s, one), r)), r)

    r, reach = while_loop(lambda carry: lt(carry[1], wanted), repeat_more, (one, start))
    in_front = div(mul(mul(reach, r), sub(r, one)), mul(add(add(s, one), r), add(s, r)))  # with r - 2 repetitions
    behind = div(mul(reach, add(s, one)), add(add(s, one), r))                            # with a row less
    most = sub(steps, step_number(1))
    found = maximum(step_number(maximum(in_front, sub(wanted, behind))), step_number(1))
    return select(gt(free, np.int32(0)), minimum(found, most), most)


def _rows_like(x: Any, rows: int) -> Any:
    aval = aval_of(x)
    return zeros_like_aval(ShapedArray((rows, *aval.shape), aval.dtype))


def put(rows_of: Any, x: Any, index: Any) -> Any:
    """The array with a new row."""
    return dynamic_update_index_in_dim(rows_of, x, index, 0, allow_negative_indices=False)


def row(rows_of: Any, index: Any) -> Any:
    """A row of an array."""
    return dynamic_index_in_dim(rows_of, index, keepdims=False, allow_negative_indices=False)


def check_repeatable(name: str, effects: frozenset[Any]) -> None:
    """NotImplementedError for a loop with side effects, which computing steps again would repeat."""
    effects = effects - REPEATABLE
    if effects:
        raise NotImplementedError(f"Reverse-mode differentiation of a {name} computes its steps again, which would repeat the "
                                  f"side effects in them: {sorted(map(repr, effects))}. Take callbacks and prints out of the "
                                  "loop, or use lax.scan, which computes each step once.")


def linear_only(leads: Callable[[], list[int]], linear: Flags) -> Callable[[], list[int]]:
    """For every carry, the linear ones among those that it leads to, as bits; see `fixpoint`."""
    mask = sum(1 << k for k, u in enumerate(linear) if u)
    return lambda: [bits & mask for bits in leads()]


class Back(Record):
    """A step backwards: (*consts, *operands of the known body, *nonzero cotangents) -> nonzero cotangents."""

    jaxpr: Jaxpr
    consts: list[Any]


def stepping_back(split: Split, transposed: Derived) -> Back:
    """The known part of a body, whose residuals go to the transposed linear part."""
    def back(*args: Any) -> list[Any]:
        known = args[: len(split.known.in_avals)]
        found = split.pick(known, eval_closed(split.known, *known))
        return eval_closed(transposed.jaxpr, *transposed.consts, *found, *args[len(known) :])

    cts = transposed.jaxpr.in_avals[len(transposed.consts) + len(split.residuals) :]
    program = trace_to_closed(back, [*split.known.in_avals, *cts], split.known.jaxpr.debug)
    return Back(hoist_consts(program.jaxpr), program.consts)


class KnownSteps:
    """The known body of a loop, (*constants, *carry, *slices) -> (*carry, ...), as far as steps backwards need it.

    read: the carries that they read. `stored`: those that they need and that change from step to step.
    """

    def __init__(self, body: ClosedJaxpr, consts: int, carries: int, read: Sequence[bool]):
        jaxpr = body.jaxpr
        own = jaxpr.invars[consts : consts + carries]
        fixed = [v is w for v, w in zip(own, jaxpr.outvars, strict=False)]
        rest = [False] * (len(jaxpr.outvars) - carries)

        def needed(flags: Flags) -> tuple[Any, Sequence[bool]]:
            found = dce_jaxpr(jaxpr, [*[f and not same for f, same in zip(flags, fixed, strict=True)], *rest])
            return found, found[1][consts : consts + carries]

        (thin, self._read), flags = fixpoint(needed, read[:carries], backwards(body, consts, carries))
        self.stored = tuple(f and not same for f, same in zip(flags, fixed, strict=True))
        self._program = ClosedJaxpr(thin.replace(invars=list(compress(jaxpr.invars, self._read))))

    def spread(self, state: Sequence[Any], first: Sequence[Any]) -> list[Any]:
        """The whole carry. Where nothing is stored, the first value stands: it stays, or nobody reads it."""
        found = iter(state)
        return [next(found) if f else x for f, x in zip(self.stored, first, strict=True)]

    def step(self, consts: Sequence[Any], carry: Sequence[Any], slices: Sequence[Any] = ()) -> list[Any]:
        """The next stored state."""
        return eval_closed(self._program, *compress([*consts, *carry, *slices], self._read))
