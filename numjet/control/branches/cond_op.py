"""The operation `cond`: one of several programs, chosen by an index."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from numjet.control.branches.masked_checks import masked_checks
from numjet.control.branches.residuals import share_residuals
from numjet.control.call.jaxpr_transforms import (
    Derived,
    Flags,
    batch_program,
    cached_by_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    split_program,
    transpose_program,
    union,
    with_zeros,
    without_consts_cached,
)
from numjet.control.checks.check_op import CHECK
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Missing, Op, Undefined
from numjet.core.trace import aval_of
from numjet.core.traits import BRANCHES
from numjet.core.walk import eval_closed, use_counts
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.elementwise.compare import clamp_p, eq_p, select_n_p
from numjet.lax.templates import in_front
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.simplify import Rewritten, Simplify
from numjet.transforms.vmap import per_lane

Branches = tuple[ClosedJaxpr, ...]


def _abstract(index: ShapedArray, *avals: ShapedArray, branches: Branches) -> list[ShapedArray]:
    if index.shape or index.dtype != np.int32:
        raise TypeError(f"cond: the index must be an int32 scalar, got {index}")
    if not isinstance(branches, tuple) or not all(isinstance(b, ClosedJaxpr) for b in branches):
        raise TypeError(f"invalid cond param branches of type {type(branches).__name__}, tuple of ClosedJaxpr required: "
                        f"{branches}")
    for branch in branches:
        if [(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in branch.in_avals]:
            raise TypeError(f"cond: a branch takes {branch.in_avals}, got operands {list(avals)}")
    return branches[0].out_avals  # over what results vary is said by the branches, whatever their index varies over


def clamped(index: Any, count: int) -> int:
    """A known index as a Python int between 0 and count - 1."""
    return min(max(int(index), 0), count - 1)


def _eager(index: np.ndarray, *args: Any, branches: Branches) -> list[Any]:
    return eval_closed(branches[clamped(index, len(branches))], *args)


def with_common_consts(programs: Sequence[tuple[ClosedJaxpr, list[Any]]]) -> tuple[Branches, list[Any]]:
    """Programs, each with its own first inputs `consts`, as programs with the same first inputs, and their values."""
    values = list({id(c): c for _, consts in programs for c in consts}.values())
    if not values:
        return tuple(closed for closed, _ in programs), []
    branches = []
    for closed, consts in programs:
        own = {id(c): i for i, c in enumerate(consts)}
        branches.append(_with_first(closed, tuple(own.get(id(c), aval_of(c)) for c in values), len(consts)))
    return tuple(branches), values


@cached_by_program
def _with_first(closed: ClosedJaxpr, first: tuple[int | ShapedArray, ...], count: int) -> ClosedJaxpr:
    """The program whose first `count` inputs became those in `first`: its own by index, or unused ones."""
    invars = closed.jaxpr.invars
    placed = [invars[f] if isinstance(f, int) else Var(f) for f in first]
    return ClosedJaxpr(closed.jaxpr.replace(invars=[*placed, *invars[count:]]))


def forwarded(branches: Branches) -> tuple[int | None, ...]:
    """The input that each result is in every branch; None: they differ, or it is computed."""
    sources = zip(*map(_sources, branches), strict=True)
    return tuple(found[0] if len(set(found)) == 1 else None for found in sources)


def _sources(closed: ClosedJaxpr) -> list[int | None]:
    places: dict[Atom, int] = {v: i for i, v in enumerate(closed.jaxpr.invars)}
    return [None if isinstance(out, Literal) else places.get(out) for out in closed.jaxpr.outvars]


@cached_by_program
def without_outs(closed: ClosedJaxpr, passed: tuple[int | None, ...]) -> ClosedJaxpr:
    """The program without the results for which `passed` has an input."""
    if not any(i is not None for i in passed):
        return closed
    kept = [out for out, i in zip(closed.jaxpr.outvars, passed, strict=True) if i is None]
    return ClosedJaxpr(closed.jaxpr.replace(outvars=kept))


def _joined(made: Sequence[Derived]) -> tuple[Branches, list[Any]]:
    return with_common_consts([(m.jaxpr, m.consts) for m in made])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches) -> tuple[list[Any], list[Any]]:
    nonzeros = nonzero_flags(tangents[1:])
    flags = union(*[jvp_program(b, nonzeros, False).flags for b in branches])
    jvps, consts = _joined([jvp_program(b, nonzeros, flags) for b in branches])
    outs = cond_p.bind(primals[0], *consts, *primals[1:], *only_nonzero(tangents[1:]), branches=jvps)
    count = len(flags)
    return outs[:count], with_zeros(flags, outs[count:], branches[0].out_avals)


def _transpose(cts: Sequence[Any], index: Any, *args: Any, branches: Branches) -> list[Any]:
    linear, nonzeros = tuple(isinstance(a, Undefined) for a in args), nonzero_flags(cts)
    flags = union(*[transpose_program(b, linear, nonzeros, False).flags for b in branches])
    made, consts = _joined([transpose_program(b, linear, nonzeros, flags) for b in branches])
    known, unknown = partition_list(linear, args)
    outs = cond_p.bind(index, *consts, *known, *only_nonzero(cts), branches=made)
    found = with_zeros(flags, outs, [u.aval for u in unknown])
    return [None, *merge_lists(linear, [None] * len(known), found)]


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """With a known index, the known parts of the branches run now; their residuals have slots that branches share."""
    index, *operands = args
    branches: Branches = params["branches"]
    if trace.is_unknown(index):
        return trace.stage(cond_p, args, params)
    unknown_in = tuple(trace.is_unknown(a) for a in operands)
    known_args, unknown_args = partition_list(unknown_in, operands)
    halves = _split_branches(branches[0], branches[1:], unknown_in)
    known, consts = with_common_consts(list(zip(halves.known, halves.own_consts, strict=True)))
    outs: list[Any] = []
    if known[0].jaxpr.outvars or holds_effects(branches=known):
        outs = trace.run_known(cond_p, [index, *consts, *known_args], {"branches": known})
    unknown, more = with_common_consts(list(zip(halves.unknown, halves.own_consts, strict=True)))
    kept = halves.flags.count(False)
    found = trace.stage(cond_p, [index, *more, *outs[kept:], *known_args, *unknown_args], {"branches": unknown})
    return merge_lists(halves.flags, outs[:kept], found)


class _Halves(Record):
    known: list[ClosedJaxpr]
    unknown: list[ClosedJaxpr]
    own_consts: list[list[Any]]
    consts: list[Any]
    flags: Flags


@cached_by_program
def _split_branches(first: ClosedJaxpr, others: Branches, unknown_in: Flags) -> _Halves:
    """The known and unknown parts of all branches; see share_residuals."""
    branches = (first, *others)
    flags = union(*[split_program(b, unknown_in, False).flags for b in branches])
    splits = [split_program(b, unknown_in, flags) for b in branches]
    known, unknown = share_residuals(splits, unknown_in.count(False))
    return _Halves(known, unknown, [s.consts for s in splits], [c for s in splits for c in s.consts], flags)


def _batch(
    size: int, args: Sequence[Any], dims: Sequence[int | None], *, branches: Branches, axis_name: Any = None
) -> tuple[list[Any], list[int | None]]:
    if dims[0] is not None:
        return _batch_as_select(size, args, dims, branches, axis_name)
    batched = tuple(d is not None for d in dims[1:])
    flags = union(*[batch_program(b, size, batched, False, axis_name).flags for b in branches])
    made, consts = _joined([batch_program(b, size, batched, flags, axis_name) for b in branches])
    return cond_p.bind(args[0], *consts, *in_front(args[1:], dims[1:]), branches=made), [0 if f else None for f in flags]


def _batch_as_select(
    size: int, args: Sequence[Any], dims: Sequence[int | None], branches: Branches, axis_name: Any
) -> tuple[list[Any], list[int | None]]:
    """With an index per element, all branches run and each element takes its own branch's results."""
    # printing and the like may happen for each branch; checks count only in the branch that an element takes
    refused = holds_effects(branches=branches) - {effects.DEBUG, effects.ORDERED_DEBUG, CHECK} - effects.REPEATABLE
    if refused:
        raise NotImplementedError(
            "IO effect not supported in vmap-of-cond: with a predicate per element all branches run, so branches with "
            f"side effects other than debugging and checks are not supported: {set(refused)}"
        )
    index, *operands = in_front(args, dims)
    index = clamp_p.bind(np.int32(0), index, np.int32(len(branches) - 1))
    batched = tuple(d is not None for d in dims[1:])
    results = []
    for i, branch in enumerate(branches):
        chosen = eq_p.bind(index, np.int32(i))
        own = [_only_where(chosen, a) if f else a for a, f in zip(operands, batched, strict=True)]
        if CHECK in branch.effects:
            made = batch_program(masked_checks(branch), size, (True, *batched), True, axis_name)
            own = [chosen, *own]
        else:
            made = batch_program(branch, size, batched, True, axis_name)
        results.append(eval_closed(made.jaxpr, *made.consts, *own))
    outs = [_choose(index, cases) for cases in zip(*results, strict=True)]
    return outs, [0] * len(outs)


def _only_where(chosen: Any, x: Any) -> Any:
    """Masked identity: derivatives of x flow only for the elements that take this branch. Elsewhere the branch may have an
    infinite derivative, which times a zero cotangent would be NaN."""
    if aval_of(x).to_tangent_aval().dtype.names is not None:
        return x
    return select_n_p.bind(per_lane(chosen, aval_of(x).shape), stop_gradient(x), x)


def _choose(index: Any, cases: Sequence[Any]) -> Any:
    which = index if len(cases) > 2 else eq_p.bind(index, np.int32(1))
    if len(cases) == 1:
        return cases[0]
    return select_n_p.bind(per_lane(which, aval_of(cases[0]).shape), *cases)


def _dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    branches: Branches = eqn.params["branches"]
    thin = [dce_jaxpr(b.jaxpr, used, keep_inputs=True)[0] for b in branches]
    read = [_reads(j) for j in thin]
    kept = [
        any(v in r for v, r in zip(column, read, strict=True))
        for column in zip(*[b.jaxpr.invars for b in branches], strict=True)
    ]
    made = tuple(
        ClosedJaxpr(j.replace(invars=[v for v, k in zip(b.jaxpr.invars, kept, strict=True) if k]))
        for j, b in zip(thin, branches, strict=True)
    )
    return eqn.replace(params={"branches": made}, effects=holds_effects(branches=made),
                       invars=[eqn.invars[0], *[a for a, k in zip(eqn.invars[1:], kept, strict=True) if k]],
                       outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u])


def _reads(jaxpr: Any) -> set[Var]:
    atoms = [a for e in jaxpr.eqns for a in e.invars] + jaxpr.outvars
    return {a for a in atoms if not isinstance(a, Literal)}


def _hlo(b: Any, index: Any, *args: Any, branches: Branches) -> list[Any]:
    if index.known is not None:  # chosen by platform_dependent: the others need no lowering
        return b.inline(branches[min(max(int(index.known), 0), len(branches) - 1)], args)
    last = b.constant(len(branches) - 1, np.int32)
    number = b.op("stablehlo.clamp", [b.constant(0, np.int32), b.convert(index, np.int32), last], last.aval)
    each = [lambda branch=branch, n=n: b.inline(branch, args, f"cond/branch_{n}_fun") for n, branch in enumerate(branches)]
    ordered = any(effects.ordered(branch.effects) for branch in branches)
    return b.case(number, each, branches[0].out_avals, ordered=ordered)


def _known_branch(eqn: JaxprEqn) -> tuple[ClosedJaxpr, list[Atom]] | None:
    """The branch chosen by a known index."""
    index, *operands = eqn.invars
    branches = eqn.params["branches"]
    return (branches[clamped(index.val, len(branches))], operands) if isinstance(index, Literal) else None


def _simplify(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Drops the operands that no branch reads."""
    operands = list(map(simplify.facts.interval, eqn.invars[1:]))
    branches = [simplify(b, operands) for b in eqn.params["branches"]]
    counts = [use_counts(b.jaxpr) for b in branches]
    read = [any(v in c for v, c in zip(inputs, counts, strict=True))
            for inputs in zip(*(b.jaxpr.invars for b in branches), strict=True)]
    thin = tuple(ClosedJaxpr(b.jaxpr.replace(invars=list(compress(b.jaxpr.invars, read))), b.consts) for b in branches)
    made = eqn.replace(params={**eqn.params, "branches": thin}, invars=[eqn.invars[0], *compress(eqn.invars[1:], read)])
    return Rewritten(made, eqn.outvars)


def _take_consts(args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    branches = params["branches"]
    if not any(b.consts for b in branches):
        return args, params
    same, consts = with_common_consts([(without_consts_cached(b), b.consts) for b in branches])
    return [args[0], *consts, *args[1:]], {"branches": same}


cond_p = Op(name="cond", params=("branches",), multiple=True, compiled=True, programs=True, abstract=_abstract, eager=_eager,
            jvp=_jvp, transpose=_transpose, batch=_batch, partial_eval=_partial_eval, dce=_dce, inline=_known_branch,
            simplify=_simplify, effects=holds_effects, cpu=lambda b, index, *args, branches: b.cond(index, branches, args),
            hlo=_hlo, traits=BRANCHES, in_place=lambda eqn: range(1, len(eqn.invars)),
            take_consts=_take_consts, samples=Missing("holds programs"))
