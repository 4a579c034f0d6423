"""The operation `jit`: a named call of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import (
    batch_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    split_program,
    transpose_with_refs,
    with_zeros,
    without_consts_cached,
)
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Literal
from numjet.core.op import Missing, Op, Undefined
from numjet.core.printing_rules import PrintingRule
from numjet.core.refs import read, write, written
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation.util import merge_lists, partition_list
from numjet.lax.templates import in_front
from numjet.transforms.dce import dce_jaxpr


def call_program(jaxpr: ClosedJaxpr, args: Sequence[Any], *, op: Op | None = None, **params: Any) -> list[Any]:
    """Calls a program (without constvars) by the operation `op` (default: jit); a program without equations is not called."""
    if _only_passes(jaxpr):
        return eval_closed(jaxpr, *args)
    op = op or jit_p
    return op.bind(*args, jaxpr=jaxpr, **{**params, **_donating_none(op, args)})


def _only_passes(jaxpr: ClosedJaxpr) -> bool:
    """Whether all results are inputs, so that there is nothing to call."""
    return not jaxpr.eqns and not any(isinstance(v, Literal) for v in jaxpr.jaxpr.outvars)


def _per_operand(params: dict[str, Any], new: int, old: Sequence[int], more: int = 0) -> dict[str, Any]:
    """The parameters of a call of a derived program. prevent_cse, where it has an entry per operand, gets True for the `new`
    first operands, the entries of `old` ones, and True for `more` operands at the end."""
    held = params.get("prevent_cse")
    if not isinstance(held, tuple):
        return params
    return {**params, "prevent_cse": (*(True,) * new, *[held[k] for k in old], *(True,) * more)}


def call_transpose(
    op: Op | None, cts: Sequence[Any], args: Sequence[Any], jaxpr: ClosedJaxpr, params: dict[str, Any]
) -> list[Any]:
    """The transpose rule of an operation that calls a program once."""
    linear = tuple(isinstance(a, Undefined) for a in args)
    made = transpose_with_refs(jaxpr, linear, nonzero_flags(cts), False)
    known, unknown = partition_list(linear, args)
    values = [read(t.ref) for t in made.touched]
    real = only_nonzero(cts)
    params = _per_operand(params, len(made.consts), [k for k, f in enumerate(linear) if not f], len(real) + len(values))
    outs = call_program(made.jaxpr, [*made.consts, *known, *real, *values], op=op, **params)
    count = sum(made.flags)
    for ref, value in zip(written(made.touched), outs[count:], strict=True):
        write(ref, value)
    found = with_zeros(made.flags, outs[:count], [u.aval for u in unknown])
    return merge_lists(linear, [None] * len(known), found)


def call_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Drops unread results, and the operands that only they need."""
    jaxpr, used_in = dce_jaxpr(eqn.params["jaxpr"].jaxpr, used)
    params = {**eqn.params, "jaxpr": ClosedJaxpr(jaxpr)}
    if "donated_invars" in params:
        params["donated_invars"] = tuple(d for d, u in zip(params["donated_invars"], used_in, strict=True) if u)
    params = _per_operand(params, 0, [k for k, u in enumerate(used_in) if u])
    return eqn.replace(params=params, invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
                       outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u], effects=jaxpr.effects)


def calling_op(name: str, params: tuple[str, ...], rest: Callable[[dict[str, Any]], dict[str, Any]], through: Op | None = None,
               **slots: Any) -> Op:
    """The record of an operation that calls the program in its parameter `jaxpr` once.

    Its derivatives and batches call derived programs by the operation `through` (None: by itself), whose other parameters
    are `rest(parameters but jaxpr)`. slots: replacements of slots of the record.
    """

    def caller() -> Op:
        return record if through is None else through

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
        nonzeros = nonzero_flags(tangents)
        made = jvp_program(jaxpr, nonzeros, False)
        operands = [*range(len(primals)), *[k for k, f in enumerate(nonzeros) if f]]
        params = _per_operand(rest(params), len(made.consts), operands)
        outs = call_program(made.jaxpr, [*made.consts, *primals, *only_nonzero(tangents)], op=caller(), **params)
        count = len(jaxpr.out_avals)
        return outs[:count], with_zeros(made.flags, outs[count:], jaxpr.out_avals)

    def transpose(cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return call_transpose(caller(), cts, args, jaxpr, rest(params))

    def batch(size: int, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, axis_name: Any = None, **params: Any) -> Any:
        made = batch_program(jaxpr, size, tuple(d is not None for d in dims), False, axis_name)
        params = _per_operand(rest(params), len(made.consts), range(len(args)))
        outs = call_program(made.jaxpr, [*made.consts, *in_front(args, dims)], op=caller(), **params)
        return outs, [0 if f else None for f in made.flags]

    def take_consts(args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        consts = params["jaxpr"].consts
        if not consts:
            return args, params
        params = {**params, "jaxpr": without_consts_cached(params["jaxpr"])}
        if "donated_invars" in params:
            params["donated_invars"] = (*[False] * len(consts), *params["donated_invars"])
        return [*consts, *args], params

    usual = {
        "take_consts": take_consts,
        "dce": call_dce,
        "effects": holds_effects,
        "traits": CALLS,
        "inline": lambda eqn: (eqn.params["jaxpr"], eqn.invars),
        "hlo": lambda b, *args, jaxpr, **_: b.inline(jaxpr, args),
    }
    record = Op(name=name, params=params, multiple=True, programs=True, abstract=lambda *avals, jaxpr, **_: jaxpr.out_avals,
                eager=lambda *args, jaxpr, **_: eval_closed(jaxpr, *args), jvp=jvp, transpose=transpose, batch=batch,
                cpu=lambda b, *args, jaxpr, **_: b.inline(jaxpr, args), samples=Missing("holds a program"),
                **{**usual, **slots})
    return record


def split_call(op: Op, trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Partial evaluation of an operation that calls a program: the known part is called in the parent trace, the unknown part
    is staged."""
    rest = {k: v for k, v in params.items() if k not in ("jaxpr", "donated_invars")}
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    known, unknown = partition_list(unknown_in, args)
    split = split_program(params["jaxpr"], unknown_in, False)
    inputs = [*split.consts, *known]
    outs = run_known_program(trace, split.known, inputs, op, **rest)
    staged = [*split.pick(inputs, outs), *unknown]
    found = trace.stage(op, staged, {**rest, "jaxpr": split.unknown, **_donating_none(op, staged)})
    return merge_lists(split.flags, outs[: split.known_count], found)


def _donating_none(op: Op, args: Sequence[Any]) -> dict[str, Any]:
    return {"donated_invars": (False,) * len(args)} if "donated_invars" in op.params else {}


def run_known_program(trace: Any, jaxpr: ClosedJaxpr, args: Sequence[Any], op: Op | None = None, **params: Any) -> list[Any]:
    """Calls a program in the parent of a PartialTrace, by the operation `op` (default: jit)."""
    if _only_passes(jaxpr):
        return eval_closed(jaxpr, *args)
    op = op or jit_p
    return trace.run_known(op, args, {**params, "jaxpr": jaxpr, **_donating_none(op, args)})


jit_p: Op = calling_op(
    "jit",
    ("name", "jaxpr", "inline", "donated_invars", "keep_unused"),
    lambda params: {k: v for k, v in params.items() if k != "donated_invars"},
    compiled=True,
    partial_eval=lambda *given: split_call(jit_p, *given),
    scope="jit({name})",
    printing=PrintingRule(first=("name", "donated_invars", "jaxpr"),
                          implied={"inline": False, "keep_unused": False,
                                   "donated_invars": lambda ins, outs: (False,) * len(ins)},
                          called="jaxpr"),
)


def named_call(jaxpr: ClosedJaxpr, consts: Sequence[Any], args: Sequence[Any], name: str, *, inline: bool = False,
               donated: Sequence[bool] | None = None, keep_unused: bool = False) -> list[Any]:
    """Applies `jit` to a program whose first inputs are `consts`.

    donated: one flag per operand of `args`: whether its memory may be reused.
    """
    flags = (False,) * len(consts) + tuple(donated if donated is not None else (False,) * len(args))
    return jit_p.bind(*consts, *args, name=name, jaxpr=jaxpr, inline=inline, donated_invars=flags, keep_unused=keep_unused)
