"""Transposition of a while loop: its steps in reverse order, with the states in front of them computed again.

Linearized, the loop carries tangents next to the values of the loop that was differentiated. The condition reads values only,
so the loop of the values can run alone, with its states stored as `reverse` says. A step backwards is the transposed body at
such a state: it carries the cotangents of the carry, and sums those of the constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from numjet.control.call.jaxpr_transforms import (
    Derived,
    Flags,
    cached_by_program,
    nonzero_flags,
    transpose_program,
    with_zeros,
)
from numjet.control.loops.carries import backwards, fixpoint
from numjet.control.loops.reverse import (
    Back,
    KnownSteps,
    check_repeatable,
    default_rows,
    linear_only,
    reverse_steps,
    stepping_back,
)
from numjet.control.loops.while_op import COUNT, KnownLoop, counted, known_loop, step_number, while_p, wider
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Undefined
from numjet.core.stage import hoist_consts, trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list, split_list
from numjet.lax.tangent import add_any, instantiate, zeros_like_aval
from numjet.transforms.dce import dce_jaxpr


def transposed(cts: Sequence[Any], args: Sequence[Any], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr,
               body_nconsts: int) -> list[Any]:
    """Cotangents of the linear operands of a loop; None for the others."""
    linear_in = tuple(isinstance(a, Undefined) for a in args)
    check_repeatable("while_loop", cond_jaxpr.effects | body_jaxpr.effects)
    loop = known_loop(body_jaxpr, cond_jaxpr, linear_in, cond_nconsts, body_nconsts)
    if loop is None:
        raise ValueError("A while_loop cannot be transposed with respect to a value that its condition depends on.")
    made = _reverse_program(body_jaxpr, cond_jaxpr, linear_in, nonzero_flags(cts), cond_nconsts, body_nconsts)
    carry_cts = [instantiate(c) for c, f in zip(cts, made.carry, strict=True) if f]
    found = iter(eval_closed(made.jaxpr, *made.consts, *[a for a in args if not isinstance(a, Undefined)], *carry_cts))
    positions = [*[False] * cond_nconsts, *made.sums, *made.carry]
    spread = [next(found) if f else None for f in positions]
    avals = [a.aval if isinstance(a, Undefined) else aval_of(a) for a in args]
    zeros = with_zeros([False] * len(args), [], avals)
    return [None if not lin else z if ct is None else ct for lin, ct, z in zip(linear_in, spread, zeros, strict=True)]


class _Reverse(Record):
    """(*consts, *known operands, *nonzero cotangents of the carry) -> (*sums for constants, *cotangents of the carry); which
    constants of the body and which carries have one."""

    jaxpr: ClosedJaxpr
    consts: list[Any]
    sums: Flags
    carry: Flags


@cached_by_program
def _reverse_program(body: ClosedJaxpr, cond: ClosedJaxpr, linear_in: Flags, ct_nz: Flags, cond_n: int,
                     body_n: int) -> _Reverse:
    loop = known_loop(body, cond, linear_in, cond_n, body_n)
    assert loop is not None
    const_linear = linear_in[cond_n : cond_n + body_n]
    step = _transposed_body(body, loop, const_linear, ct_nz)
    back, carries = step.program, loop.carry_unknown.count(False)
    first = len(loop.body.in_avals) - carries
    forward = KnownSteps(loop.body, first, carries, dce_jaxpr(back.jaxpr)[1][len(back.consts) + first :])
    rows = default_rows(list(compress(loop.body.in_avals[first:], forward.stored)))

    def run(*args: Any) -> list[Any]:
        operands, cts = split_list(args, [linear_in.count(False)])
        values = merge_lists(linear_in, operands, [None] * sum(linear_in))
        cond_consts, consts, init = split_list(values, [cond_n, body_n])
        own = [*loop.consts, *partition_list(const_linear, consts)[0]]
        carry = partition_list(loop.carry_unknown, init)[0]
        count = _steps(loop, cond_consts, own, carry)
        sums = [zeros_like_aval(v.aval.to_ct_aval()) for v, f in zip(body.jaxpr.invars, step.sums, strict=False) if f]

        def backward(_: Any, state: list[Any], totals: list[Any]) -> list[Any]:
            before, after = split_list(totals, [len(sums)])
            found = eval_closed(ClosedJaxpr(back.jaxpr), *back.consts, *own, *forward.spread(state, carry), *after)
            new, after = split_list(found, [len(sums)])
            return [*[add_any(a, b) for a, b in zip(before, new, strict=True)], *after]

        def on(_: Any, state: list[Any]) -> list[Any]:
            return forward.step(own, forward.spread(state, carry))

        return reverse_steps(count, list(compress(carry, forward.stored)), [*sums, *cts], on, backward, rows)

    avals = [a for a, f in zip([*cond.in_avals[:cond_n], *body.in_avals], linear_in, strict=True) if not f]
    ct_avals = [v.aval.to_ct_aval().strip_weak_type() for v, f in zip(body.jaxpr.outvars, step.carry, strict=True) if f]
    made = trace_to_closed(run, [*avals, *ct_avals], body.jaxpr.debug)
    thin = dce_jaxpr(made.jaxpr, keep_inputs=True)[0]  # so that a counted loop is not run to count its steps
    return _Reverse(ClosedJaxpr(hoist_consts(thin)), made.consts, step.sums, step.carry)


class _Step(Record):
    """A step backwards, and which constants of the body and which carries have a cotangent."""

    program: Back
    sums: Flags
    carry: Flags


def _transposed_body(body: ClosedJaxpr, loop: KnownLoop, const_linear: Flags, ct_nz: Flags) -> _Step:
    """The known part of the body, and its transposed linear part, with the fixpoint of nonzero cotangents solved."""
    split, carry_linear, consts = loop.split, loop.carry_unknown, sum(const_linear)
    linear = (*(False,) * len(split.residuals), *(True,) * (consts + sum(carry_linear)))

    def step(flags: Flags) -> tuple[Derived, Sequence[bool]]:
        nonzero = tuple(compress(flags, carry_linear))
        made = transpose_program(split.unknown, linear, nonzero, (*(False,) * consts, *nonzero))
        return made, merge_lists(carry_linear, [False] * carry_linear.count(False), made.flags[consts:])

    start = [f and u for f, u in zip(ct_nz, carry_linear, strict=True)]
    made, flags = fixpoint(step, start, linear_only(backwards(body, len(const_linear), len(carry_linear)), carry_linear))

    program = stepping_back(split, made)
    sums = merge_lists(const_linear, [False] * const_linear.count(False), made.flags[:consts])
    return _Step(program, tuple(sums), flags)


def _steps(loop: KnownLoop, cond_consts: Sequence[Any], consts: Sequence[Any], carry: Sequence[Any]) -> Any:
    """How many steps the loop takes."""
    return while_p.bind(*cond_consts, *consts, *carry, step_number(0), cond_jaxpr=wider(loop.cond, (COUNT,)),
                        cond_nconsts=len(cond_consts), body_jaxpr=counted(loop.body), body_nconsts=len(consts))[-1]
