"""Transposition of a scan: a reversed scan that carries the cotangents of the carry and of the constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import (
    Derived,
    Flags,
    cached_by_program,
    nonzero_flags,
    only_nonzero,
    transpose_with_refs,
    with_zeros,
)
from numjet.control.loops.carries import backwards, fixpoint
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from numjet.core.op import Op, Undefined
from numjet.core.refs import read, write
from numjet.core.stage import Touched
from numjet.core.trace import aval_of
from numjet.foundation.util import partition_list, split_list
from numjet.lax.tangent import add_any_p, instantiate_cotangent, summed_cotangent_aval, zeros_like_aval


@cached_by_program
def transposed_step(closed: ClosedJaxpr, linear: Flags, carry_nz: Flags, ys_nz: Flags, num_consts: int) -> Derived:
    """One step of the transposed scan, with its fixpoint of nonzero carries solved.

    (*consts, *known consts, *sums, *values of mutable references that rules of the user's touch, *nonzero carry cotangents,
    *nonzero cotangents of results, *known slices) -> (*sums, *values, *carry cotangents, *cotangents of slices). flags: which
    linear operands have a cotangent.
    """
    num_carry = len(carry_nz)
    lin_consts, lin_xs = sum(linear[:num_consts]), sum(linear[num_consts + num_carry :])

    def step(nonzero: Flags) -> tuple[Derived, Sequence[bool]]:
        made = transpose_with_refs(closed, linear, (*nonzero, *ys_nz), (*(False,) * lin_consts, *nonzero, *(False,) * lin_xs))
        return made, made.flags[lin_consts : lin_consts + num_carry]

    made, carry = fixpoint(step, carry_nz, backwards(closed, num_consts, num_carry))
    known_consts = len(made.consts) + num_consts - lin_consts
    jaxpr = made.jaxpr.jaxpr
    known_xs = len(jaxpr.invars) - known_consts - sum(carry) - sum(ys_nz) - len(made.touched)
    consts, xs, cts, states = split_list(jaxpr.invars, [known_consts, known_xs, sum(carry) + sum(ys_nz)])
    sums, eqns, totals = _accumulators(jaxpr, sum(made.flags[:lin_consts]))
    found, new_states = split_list(jaxpr.outvars, [sum(made.flags)])
    body = jaxpr.replace(
        invars=[*consts, *sums, *states, *cts, *xs], eqns=[*jaxpr.eqns, *eqns],
        outvars=[*totals, *_passed_on(made.touched, states, new_states), *found[len(sums) :]]
    )
    return Derived(ClosedJaxpr(body), made.consts, made.flags, made.touched)


def _passed_on(touched: Sequence[Touched], states: Sequence[Var], new_states: Sequence[Atom]) -> list[Atom]:
    """The values of the mutable references after a step: those that it does not write stay."""
    new = iter(new_states)
    return [next(new) if t.written else v for t, v in zip(touched, states, strict=True)]


def _accumulators(jaxpr: Jaxpr, count: int) -> tuple[list[Var], list[JaxprEqn], list[Var]]:
    """Inputs for the sums so far, the equations that add the first results to them, and the sums."""
    sums, totals = ([v.copy() if isinstance(v, Var) else Var(v.aval) for v in jaxpr.outvars[:count]] for _ in range(2))
    eqns = [JaxprEqn((s, v), (t,), add_any_p, {}) for s, v, t in zip(sums, jaxpr.outvars[:count], totals, strict=True)]
    return sums, eqns, totals


def transposed(op: Op, cts: Sequence[Any], args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Cotangents of the linear operands of a scan with linear carries only; None for the others.

    The initial value of a carry may still be known (a zero): its cotangent is unused.
    """
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    linear = tuple(isinstance(a, Undefined) or num_consts <= i < num_consts + num_carry for i, a in enumerate(args))
    ct_carry, ct_ys = split_list(cts, [num_carry])
    made = transposed_step(params["jaxpr"], linear, nonzero_flags(ct_carry), nonzero_flags(ct_ys), num_consts)
    lin_consts = sum(linear[:num_consts])
    const_nz, carry_nz, _ = split_list(made.flags, [lin_consts, num_carry])
    consts, xs = split_list(args, [num_consts])[0], args[num_consts + num_carry :]
    known_consts, unknown_consts = partition_list(linear[:num_consts], consts)
    known_xs, _ = partition_list(linear[num_consts + num_carry :], xs)
    sums = [zeros_like_aval(summed_cotangent_aval(a.aval)) for a, nz in zip(unknown_consts, const_nz, strict=True) if nz]
    carry_avals = params["jaxpr"].in_avals[num_consts:][:num_carry]
    carry = [instantiate_cotangent(c, a) for c, a, nz in zip(ct_carry, carry_avals, carry_nz, strict=True) if nz]
    values = [read(t.ref) for t in made.touched]
    outs = op.bind(
        *made.consts,
        *known_consts,
        *sums,
        *values,
        *carry,
        *only_nonzero(ct_ys),
        *known_xs,
        **{
            **params,
            "jaxpr": made.jaxpr,
            "num_consts": len(made.consts) + len(known_consts),
            "num_carry": len(sums) + len(values) + len(carry),
            "reverse": not params["reverse"],
        },
    )
    totals, states, rest = split_list(outs, [len(sums), len(values)])
    for t, value in zip(made.touched, states, strict=True):
        if t.written:
            write(t.ref, value)
    outs = [*totals, *rest]
    avals = [aval_of(a) if not isinstance(a, Undefined) else a.aval for a, lin in zip(args, linear, strict=True) if lin]
    found = iter(with_zeros(made.flags, outs, avals))
    spread = [next(found) if lin else None for lin in linear]
    return [ct if isinstance(a, Undefined) else None for ct, a in zip(spread, args, strict=True)]
