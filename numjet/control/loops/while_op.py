"""The operation `while`: a loop that runs as long as a condition holds; its transpose is in `while_reverse`.

`cond_jaxpr` maps (*condition's consts, *carry) to a boolean, `body_jaxpr` (*body's consts, *carry) to the next carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.control.branches.masked_checks import masked_checks
from numjet.control.call.jaxpr_transforms import (
    Derived,
    Flags,
    Split,
    batch_program,
    cached_by_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    reordered,
    split_program,
    with_zeros,
    without_consts_cached,
)
from numjet.control.checks.check_op import CHECK
from numjet.control.loops.carries import backwards, fixpoint, forwards
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Var
from numjet.core.op import Missing, Op
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of, set_trace
from numjet.core.traits import Carries, carried
from numjet.core.walk import eval_closed
from numjet.foundation import lazy_import
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list, split_list
from numjet.lax.elementwise.arithmetic import add_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import lt_p, select_n_p
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.reduction.reduce import reduce_or_p
from numjet.lax.tangent import instantiate
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.vmap import move_to, per_lane

loops = lazy_import.Module("numjet.control.simplify.loops")
while_reverse = lazy_import.Module("numjet.control.loops.while_reverse")

COUNT = ShapedArray((), np.dtype(np.int64))  # of steps: a loop may run longer than 2**31 of them


def _abstract(
    *avals: ShapedArray, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int
) -> list[ShapedArray]:
    carry = avals[cond_nconsts + body_nconsts :]
    for got, want in zip(carry, body_jaxpr.in_avals[body_nconsts:], strict=True):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"while: the carry {got} goes into a body that takes {want}")
    return body_jaxpr.out_avals


def _eager(*args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int) -> list[Any]:
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    while np.asarray(eval_closed(cond_jaxpr, *cond_consts, *carry)[0]):
        carry = eval_closed(body_jaxpr, *body_consts, *carry)
    return list(carry)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
         body_jaxpr: ClosedJaxpr, body_nconsts: int) -> tuple[list[Any], list[Any]]:
    _, body_t, carry_t = split_list(tangents, [cond_nconsts, body_nconsts])
    body_nz = nonzero_flags(body_t)

    def step(nz: Flags) -> tuple[Any, Sequence[bool]]:
        made = jvp_program(body_jaxpr, (*body_nz, *nz), nz)
        return made, made.flags

    made, nz = fixpoint(step, nonzero_flags(carry_t), forwards(body_jaxpr, body_nconsts, len(carry_t), differentiated=True))
    head, consts, carry, num_t, carry_num_t = len(made.consts), body_nconsts, len(nz), sum(body_nz), sum(nz)
    t = head + consts + carry
    body = reordered(
        made.jaxpr,
        (*range(head + consts), *range(t, t + num_t), *range(head + consts, t), *range(t + num_t, t + num_t + carry_num_t)),
        tuple(range(carry + carry_num_t)),
    )
    cond = wider(cond_jaxpr, tuple(v.aval for v in body.jaxpr.invars[len(body.jaxpr.invars) - carry_num_t :]))
    cond_consts, body_consts, init = split_list(primals, [cond_nconsts, body_nconsts])
    init_t = [instantiate(x) for x, f in zip(carry_t, nz, strict=True) if f]
    outs = while_p.bind(*cond_consts, *made.consts, *body_consts, *only_nonzero(body_t), *init, *init_t, cond_jaxpr=cond,
                        cond_nconsts=cond_nconsts, body_jaxpr=body, body_nconsts=head + consts + num_t)
    return outs[:carry], with_zeros(nz, outs[carry:], [aval_of(o) for o in outs[:carry]])


@cached_by_program
def wider(cond: ClosedJaxpr, more: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """The condition of a loop with more carried values, which it does not read."""
    if not more:
        return cond
    return ClosedJaxpr(cond.jaxpr.replace(invars=[*cond.jaxpr.invars, *map(Var, more)]))


class KnownLoop(Record):
    """The loop of the carries that depend on nothing unknown; its body takes (*consts, *known consts, *known carry).
    `split`: the whole body."""

    cond: ClosedJaxpr
    body: ClosedJaxpr
    consts: list[Any]
    carry_unknown: Flags
    split: Split


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Runs the loop of the known carries now and counts its steps; the staged loop computes them again beside the unknown ones,
    for as many steps.

    Everything is unknown when the condition is.
    """
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    found = known_loop(params["body_jaxpr"], params["cond_jaxpr"], unknown_in, params["cond_nconsts"], params["body_nconsts"])
    if found is None or all(found.carry_unknown):
        return trace.stage(while_p, args, params)
    cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, init = split_list(args, [cond_n, body_n])
    own_consts = [*found.consts, *partition_list(unknown_in[cond_n : cond_n + body_n], body_consts)[0]]
    known_init = partition_list(found.carry_unknown, init)[0]
    with set_trace(trace.parent):
        zero = step_number(0)
    *known, steps = trace.run_known(
        while_p,
        [*cond_consts, *own_consts, *known_init, zero],
        {"cond_jaxpr": wider(found.cond, (COUNT,)), "cond_nconsts": cond_n, "body_jaxpr": counted(found.body),
         "body_nconsts": len(own_consts)},
    )
    body = params["body_jaxpr"]
    staged = trace.stage(while_p, [steps, *body_consts, *init, zero], {
        "cond_jaxpr": _fewer_steps(body, body_n), "cond_nconsts": 1, "body_jaxpr": counted(body), "body_nconsts": body_n})
    return merge_lists(found.carry_unknown, known, partition_list(found.carry_unknown, staged[:-1])[1])


def step_number(x: Any) -> Any:
    """A number as one of steps, which are 64-bit integers whether or not programs may have such."""
    return convert_element_type_p.bind(x, new_dtype=COUNT.dtype, weak_type=False)


@cached_by_program
def counted(body: ClosedJaxpr) -> ClosedJaxpr:
    """The body of a loop with the number of its steps as the last carried value."""
    def step(*args: Any) -> list[Any]:
        return [*eval_closed(body, *args[:-1]), add_p.bind(args[-1], step_number(1))]

    return trace_to_closed(step, [*body.in_avals, COUNT], body.jaxpr.debug)


@cached_by_program
def _fewer_steps(body: ClosedJaxpr, body_nconsts: int) -> ClosedJaxpr:
    """The condition of a counted loop: its steps are fewer than its constant."""
    carry = body.in_avals[body_nconsts:]
    return trace_to_closed(lambda steps, *values: [lt_p.bind(values[-1], steps)], [COUNT, *carry, COUNT], body.jaxpr.debug)


@cached_by_program
def known_loop(
    body_jaxpr: ClosedJaxpr, cond_jaxpr: ClosedJaxpr, unknown_in: Flags, cond_nconsts: int, body_nconsts: int
) -> KnownLoop | None:
    """The loop of the carries that depend on nothing unknown; None when the condition depends on an unknown value."""
    cond_u, body_u, init_u = split_list(unknown_in, [cond_nconsts, body_nconsts])

    def step(carry_u: Flags) -> tuple[Any, Sequence[bool]]:
        split = split_program(body_jaxpr, (*body_u, *carry_u), carry_u)
        return split, split.flags

    split, carry_u = fixpoint(step, init_u, forwards(body_jaxpr, body_nconsts, len(init_u)))
    read = dce_jaxpr(cond_jaxpr.jaxpr)[1]
    if any(r and u for r, u in zip(read, [*cond_u, *carry_u], strict=True)):
        return None
    known = split.known.jaxpr.replace(outvars=split.known.jaxpr.outvars[: split.known_count])
    thin, _ = dce_jaxpr(known)
    cond_vars = cond_jaxpr.jaxpr.invars
    kept = [v for v, u in zip(cond_vars, [*[False] * len(cond_u), *carry_u], strict=True) if not u]
    return KnownLoop(ClosedJaxpr(cond_jaxpr.jaxpr.replace(invars=kept)), ClosedJaxpr(thin.replace(invars=known.invars)),
                      split.consts, carry_u, split)


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    return while_reverse.transposed(cts, args, **params)


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
           body_jaxpr: ClosedJaxpr, body_nconsts: int, axis_name: Any = None) -> tuple[list[Any], list[int | None]]:
    cond_b, body_b, init_b = split_list([d is not None for d in dims], [cond_nconsts, body_nconsts])
    constant = _passed_on(body_jaxpr, body_nconsts)

    def step(carry_b: Flags) -> tuple[Any, Sequence[bool]]:
        body = batch_program(body_jaxpr, size, (*body_b, *carry_b), carry_b, axis_name)
        cond = batch_program(cond_jaxpr, size, (*cond_b, *carry_b), False, axis_name)
        # Where lanes stop at different times, all changed carries differ from lane to lane.
        return (cond, body), [f or (cond.flags[0] and not c) for f, c in zip(body.flags, constant, strict=True)]

    (cond, body), carry_b = fixpoint(step, init_b, forwards(body_jaxpr, body_nconsts, len(init_b)))
    operands = [move_to(a, d, 0, size) if b else a for a, d, b in zip(args, dims, [*cond_b, *body_b, *carry_b], strict=True)]
    cond_consts, body_consts, init = split_list(operands, [cond_nconsts, body_nconsts])
    refused = holds_effects(cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr) & {effects.IO, effects.ORDERED_IO}
    if cond.flags[0] and refused:
        raise NotImplementedError(
            "IO effect not supported in while_loop with batched predicate: steps run for all elements until the last has "
            f"finished, so loops with side effects other than debugging are not supported: {set(refused)}"
        )
    if not cond.flags[0]:
        outs = _plain_loop(cond, body, cond_consts, body_consts, init)
    elif CHECK in body_jaxpr.effects:
        body = batch_program(masked_checks(body_jaxpr), size, (True, *body_b, *carry_b), tuple(carry_b), axis_name)
        outs = _masked_loop(cond, _mask_before_carry(body, body_nconsts), cond_consts, body_consts, init, True)
    else:
        outs = _masked_loop(cond, body, cond_consts, body_consts, init, False)
    return outs, [0 if b else None for b in carry_b]


def _mask_before_carry(body: Derived, body_nconsts: int) -> Derived:
    """A body whose first argument, after the consts of its derivation, says which lanes run: that argument after all consts."""
    head, last = len(body.consts), len(body.consts) + 1 + body_nconsts
    order = (*range(head), *range(head + 1, last), head, *range(last, len(body.jaxpr.in_avals)))
    return body.replace(jaxpr=reordered(body.jaxpr, order, tuple(range(len(body.jaxpr.out_avals)))))


def _passed_on(body: ClosedJaxpr, body_nconsts: int) -> list[bool]:
    """The carries that the body returns unchanged."""
    return [v is w for v, w in zip(body.jaxpr.invars[body_nconsts:], body.jaxpr.outvars, strict=True)]


def _plain_loop(cond: Derived, body: Derived, cond_consts: list[Any], body_consts: list[Any], init: list[Any]) -> list[Any]:
    return while_p.bind(*cond.consts, *cond_consts, *body.consts, *body_consts, *init, cond_jaxpr=cond.jaxpr,
                        cond_nconsts=len(cond.consts) + len(cond_consts), body_jaxpr=body.jaxpr,
                        body_nconsts=len(body.consts) + len(body_consts))


def _masked_loop(cond: Derived, body: Derived, cond_consts: list[Any], body_consts: list[Any], init: list[Any],
                 reads_mask: bool) -> list[Any]:
    """Masked loop: it runs while any lane's condition holds; finished lanes keep their values. The conditions are carried,
    so that each is computed once per step."""
    cond_args, body_args = [*cond.consts, *cond_consts], [*body.consts, *body_consts]
    masked = masked_program(body.jaxpr, cond.jaxpr, len(body_args), len(cond_args), reads_mask)
    running = eval_closed(cond.jaxpr, *cond_args, *init)[0]
    outs = while_p.bind(*body_args, *cond_args, running, *init, cond_jaxpr=masked.jaxpr.cond, cond_nconsts=0,
                        body_jaxpr=masked.jaxpr.body, body_nconsts=len(body_args) + len(cond_args))
    return outs[1:]


class _Masked(Record):
    cond: ClosedJaxpr
    body: ClosedJaxpr


class _MaskedProgram(Record):
    jaxpr: _Masked
    consts: list[Any]


@cached_by_program
def masked_program(body: ClosedJaxpr, cond: ClosedJaxpr, body_consts: int, cond_consts: int,
                   reads_mask: bool = False) -> _MaskedProgram:
    """The loop over (running lanes, *carry); its body's consts are (*body's, *condition's). Its form shows that a finished
    lane stays finished and keeps its values, so backends may run lanes independently. reads_mask: the body takes the running
    lanes before its carry, for its checks."""
    carry = body.in_avals[body_consts + reads_mask :]
    running = cond.out_avals[0]

    def step(*args: Any) -> list[Any]:
        own, conds, (mask, *old) = split_list(args, [body_consts, cond_consts])
        made = eval_closed(body, *own, *([mask] if reads_mask else []), *old)
        new = [_keep_finished(mask, a, b) for a, b in zip(old, made, strict=True)]
        return [and_p.bind(mask, eval_closed(cond, *conds, *new)[0]), *new]

    in_avals = [*body.in_avals[:body_consts], *cond.in_avals[:cond_consts], running, *carry]
    made_body = trace_to_closed(step, in_avals, body.jaxpr.debug)
    made_cond = trace_to_closed(lambda mask, *_: [reduce_or_p.bind(mask, axes=(0,))], [running, *carry], cond.jaxpr.debug)
    assert not made_body.consts and not made_cond.consts
    return _MaskedProgram(_Masked(made_cond, made_body), [])


def _keep_finished(mask: Any, old: Any, new: Any) -> Any:
    if old is new or aval_of(new).shape == ():
        return new
    return select_n_p.bind(per_lane(mask, aval_of(new).shape), old, new)


def _dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    params = eqn.params
    cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
    body, cond = params["body_jaxpr"].jaxpr, params["cond_jaxpr"].jaxpr
    live_cond, cond_reads = dce_jaxpr(cond)

    def step(carry: Flags) -> tuple[Any, Sequence[bool]]:
        thin, read = dce_jaxpr(body, carry)
        return (thin, read), read[body_n:]

    start = [u or r for u, r in zip(used, cond_reads[cond_n:], strict=True)]
    (thin, read), carry = fixpoint(step, start, backwards(params["body_jaxpr"], body_n, len(start)))
    kept_body = [*read[:body_n], *carry]
    kept_cond = [*cond_reads[:cond_n], *carry]
    thin = thin.replace(invars=[v for v, k in zip(body.invars, kept_body, strict=True) if k])
    thin_cond = live_cond.replace(invars=[v for v, k in zip(cond.invars, kept_cond, strict=True) if k])
    kept = [*cond_reads[:cond_n], *kept_body]
    return eqn.replace(
        params={
            "cond_jaxpr": ClosedJaxpr(thin_cond),
            "cond_nconsts": sum(cond_reads[:cond_n]),
            "body_jaxpr": ClosedJaxpr(thin),
            "body_nconsts": sum(read[:body_n]),
        },
        invars=[a for a, k in zip(eqn.invars, kept, strict=True) if k],
        outvars=[v for v, k in zip(eqn.outvars, carry, strict=True) if k],
        effects=thin.effects | thin_cond.effects,
    )


def _cpu(
    b: Any, *args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int
) -> list[Any]:
    cond_consts, body_consts, init = split_list(args, [cond_nconsts, body_nconsts])
    return b.while_loop(cond_jaxpr, cond_consts, body_jaxpr, body_consts, init)


def _hlo(
    b: Any, *args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int
) -> list[Any]:
    cond_consts, body_consts, init = split_list(args, [cond_nconsts, body_nconsts])
    ordered = effects.ordered(cond_jaxpr.effects | body_jaxpr.effects)
    return b.while_loop(lambda *state: b.inline(cond_jaxpr, [*cond_consts, *state], "while/cond")[0],
                        lambda *state: b.inline(body_jaxpr, [*body_consts, *state], "while/body"), init,
                        ordered=ordered)


def _carries(eqn: JaxprEqn) -> Carries:
    inside, outside = eqn.params["body_nconsts"], eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
    return Carries(eqn.params["body_jaxpr"].jaxpr, inside, outside, len(eqn.invars) - outside)


def _take_consts(args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    if not cond.consts and not body.consts:
        return args, params
    count = params["cond_nconsts"]
    return [*cond.consts, *args[:count], *body.consts, *args[count:]], {
        "cond_jaxpr": without_consts_cached(cond), "cond_nconsts": len(cond.consts) + count,
        "body_jaxpr": without_consts_cached(body), "body_nconsts": len(body.consts) + params["body_nconsts"]}


while_p = Op(name="while", params=("cond_jaxpr", "cond_nconsts", "body_jaxpr", "body_nconsts"), multiple=True, compiled=True,
             programs=True, abstract=_abstract, eager=_eager, jvp=_jvp, transpose=_transpose, batch=_batch,
             partial_eval=_partial_eval, dce=_dce, simplify=lambda eqn, simplify: loops.simplify_while(eqn, simplify),
             effects=holds_effects, cpu=_cpu, hlo=_hlo, in_place=carried, carries=_carries, take_consts=_take_consts,
             samples=Missing("holds programs"))
