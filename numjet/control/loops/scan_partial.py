"""Partial evaluation of a scan: a known scan, which runs now and stacks residuals, and a staged scan, which reads them.

Residuals are stacked only if they change from step to step. Values that depend on constants alone are computed once
before the loop; slices of inputs and existing stacked results are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import Flags, Split, cached_by_program, split_program
from numjet.control.checks.size_ops import sizes_bound, sizes_named
from numjet.control.loops.carries import fixpoint, forwards
from numjet.core.ir import ClosedJaxpr, Jaxpr, Literal, Var
from numjet.core.op import Op
from numjet.core.trace import set_trace
from numjet.core.walk import eval_closed
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list, split_list
from numjet.transforms.dce import dce_jaxpr


class Source(Record):
    """The origin of a value of the second scan: an operand of the first ("operand"), a value computed before the loops
    ("hoisted"), or a result of the first scan ("result")."""

    kind: str
    at: int


class Plan(Record):
    """A split scan. Operands of the known one: (*consts, *known operands). `invariant` and `stacked` are the origins of
    the residuals of the unknown one, whose operands are (*invariant, *unknown consts, *carry, *xs, *stacked)."""

    known: ClosedJaxpr
    consts: list[Any]
    hoisted: ClosedJaxpr
    unknown: ClosedJaxpr
    carry_unknown: Flags
    out_unknown: Flags
    invariant: list[Source]
    stacked: list[Source]


def split_body(closed: ClosedJaxpr, unknown_in: Flags, num_consts: int, num_carry: int) -> tuple[Split, Flags]:
    """The split of a scan's body, and which carries are unknown in some step."""
    consts_u, init_u, xs_u = split_list(unknown_in, [num_consts, num_carry])
    ys = len(closed.out_avals) - num_carry

    def step(carry_u: Flags) -> tuple[Split, Sequence[bool]]:
        split = split_program(closed, (*consts_u, *carry_u, *xs_u), (*carry_u, *(False,) * ys))
        return split, split.flags[:num_carry]

    return fixpoint(step, init_u, forwards(closed, num_consts, num_carry))


@cached_by_program
def plan_split(closed: ClosedJaxpr, unknown_in: Flags, num_consts: int, num_carry: int) -> Plan:
    """The split of a scan of `closed` whose operands with a true flag are unknown."""
    split, carry_u = split_body(closed, unknown_in, num_consts, num_carry)
    first_carry = len(split.consts) + unknown_in[:num_consts].count(False)
    residuals = _ResidualSources(split, first_carry, first_carry + carry_u.count(False), carry_u.count(False))
    sources = [residuals.source(r) for r in split.residuals]
    fixed = [i for i, s in enumerate(sources) if not _varies(s, first_carry)]
    varying = [i for i, s in enumerate(sources) if _varies(s, first_carry)]
    invars = split.unknown.jaxpr.invars
    count = len(sources)
    unknown = split.unknown.jaxpr.replace(invars=[*[invars[i] for i in fixed], *invars[count:], *[invars[i] for i in varying]])
    return Plan(residuals.known(), split.consts, residuals.hoisted(), ClosedJaxpr(unknown), carry_u, split.flags,
                [sources[i] for i in fixed], [sources[i] for i in varying])


def _varies(source: Source, first_carry: int) -> bool:
    return source.kind == "result" or (source.kind == "operand" and source.at >= first_carry)


class _ResidualSources:
    """Finds an origin for every residual, and adds results to the known program."""

    def __init__(self, split: Split, first_carry: int, first_xs: int, carries: int):
        self.jaxpr: Jaxpr = split.known.jaxpr
        self.first_carry, self.first_xs, self.carries = first_carry, first_xs, carries
        self.outvars = list(self.jaxpr.outvars[: split.known_count])
        self.results = {v: i for i, v in enumerate(self.outvars) if i >= carries and isinstance(v, Var)}
        self.fixed = invariant(self.jaxpr, self.jaxpr.invars[:first_carry])
        self.invariants: dict[Var, int] = {}

    def source(self, residual: Any) -> Source:
        if residual.from_input and not self.first_carry <= residual.at < self.first_xs:
            return Source("operand", residual.at)
        var = self.jaxpr.invars[residual.at] if residual.from_input else self.jaxpr.outvars[residual.at]
        if var in self.fixed:
            return Source("hoisted", self.invariants.setdefault(var, len(self.invariants)))
        if var not in self.results:
            self.results[var] = len(self.outvars)
            self.outvars.append(var)
        return Source("result", self.results[var])

    def known(self) -> ClosedJaxpr:
        thin, _ = dce_jaxpr(self.jaxpr.replace(outvars=self.outvars))
        return ClosedJaxpr(thin.replace(invars=self.jaxpr.invars))

    def hoisted(self) -> ClosedJaxpr:
        pure = [e for e in self.jaxpr.eqns if not e.effects]
        thin, _ = dce_jaxpr(self.jaxpr.replace(eqns=pure, outvars=list(self.invariants)))
        return ClosedJaxpr(thin.replace(invars=self.jaxpr.invars[: self.first_carry]))


def invariant(jaxpr: Jaxpr, consts: Sequence[Var]) -> set[Var]:
    """The variables of a scan's body that are computed from constants alone."""
    found = set(consts)
    own = sizes_bound(jaxpr)
    for eqn in jaxpr.eqns:
        if eqn.effects or not all(isinstance(a, Literal) or a in found for a in eqn.invars):
            continue
        if not own or not own & sizes_named(eqn):
            found.update(eqn.outvars)
    return found


class Rest(Record):
    """The unknown scan: operands, parameters, and their positions in the original scan."""

    operands: list[Any]
    params: dict[str, Any]
    positions: list[int | None]
    results: list[int]

    def spread(self, values: Sequence[Any], count: int) -> list[Any]:
        """Values of the operands at their positions in the original scan; None elsewhere."""
        out: list[Any] = [None] * count
        for position, value in zip(self.positions, values, strict=True):
            if position is not None:
                out[position] = value
        return out


def run_known_scan(op: Op, unknown_in: Flags, args: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], Flags, Rest]:
    """Runs the known part under the current trace. Returns its results, which results are unknown, and the rest."""
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    plan = plan_split(params["jaxpr"], unknown_in, num_consts, num_carry)
    flags = (*unknown_in[:num_consts], *plan.carry_unknown, *unknown_in[num_consts + num_carry :])
    known, _ = partition_list(flags, args)
    operands = [*plan.consts, *known]
    first_carry = len(plan.consts) + flags[:num_consts].count(False)
    hoisted = eval_closed(plan.hoisted, *operands[:first_carry])
    outs: list[Any] = []
    if plan.known.jaxpr.outvars or plan.known.effects:
        outs = op.bind(
            *operands,
            **{**params, "jaxpr": plan.known, "num_consts": first_carry, "num_carry": plan.carry_unknown.count(False)},
        )
    find = {"operand": operands, "hoisted": hoisted, "result": outs}
    rest = _rest(plan, flags, [[find[s.kind][s.at] for s in part] for part in (plan.invariant, plan.stacked)], args, params)
    return outs[: plan.out_unknown.count(False)], plan.out_unknown, rest


def _rest(plan: Plan, flags: Flags, residuals: Sequence[list[Any]], args: Sequence[Any], params: dict[str, Any]) -> Rest:
    positions = [i for i, f in enumerate(flags) if f]
    invariant, stacked = residuals
    operands = [*invariant, *[args[i] for i in positions], *stacked]
    num_consts = params["num_consts"]
    own = {
        **params,
        "jaxpr": plan.unknown,
        "num_consts": len(invariant) + sum(flags[:num_consts]),
        "num_carry": sum(plan.carry_unknown),
    }
    return Rest(operands, own, [*[None] * len(invariant), *positions, *[None] * len(stacked)],
                [i for i, f in enumerate(plan.out_unknown) if f])


def scan_partial_eval(op: Op, trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The partial_eval rule of scan."""
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    with set_trace(trace.parent):
        outs, flags, rest = run_known_scan(op, unknown_in, args, params)
    return merge_lists(flags, outs, trace.stage(op, rest.operands, rest.params))
