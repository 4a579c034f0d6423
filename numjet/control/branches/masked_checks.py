"""Checks of programs that a batch runs for all its elements, branches and steps of loops: they count for those that need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import cached_by_program
from numjet.control.checks.check_op import CHECK, check_p
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.stage import trace_to_closed
from numjet.core.traits import CALLS
from numjet.lax.elementwise.bitwise import not_p, or_p

_TAKEN = ShapedArray((), bool)


@cached_by_program
def masked_checks(branch: ClosedJaxpr) -> ClosedJaxpr:
    """The branch, or step, as a program of one more value in front, whether it is taken; where it is not, its checks hold."""
    return trace_to_closed(lambda taken, *args: _run(branch.jaxpr, branch.consts, args, not_p.bind(taken)),
                           [_TAKEN, *branch.in_avals], branch.jaxpr.debug)


def _run(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], skipped: Any) -> list[Any]:
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        ins = [_array(a, env) for a in eqn.invars]
        env.update(zip(eqn.outvars, _apply(eqn, ins, skipped), strict=True))
    return [_array(a, env) for a in jaxpr.outvars]


def _array(atom: Var | Literal, env: dict[Var, Any]) -> Any:
    return hooks.literal_array(atom) if isinstance(atom, Literal) else env[atom]


def _apply(eqn: JaxprEqn, ins: Sequence[Any], skipped: Any) -> list[Any]:
    op, params = eqn.primitive, eqn.params
    if op is check_p:
        return list(op.bind(or_p.bind(skipped, ins[0]), *ins[1:], **params))
    if CHECK in eqn.effects:
        return _apply_programs(eqn, ins, skipped)
    out = op.bind(*ins, **params)
    return list(out) if op.multiple else [out]


def _apply_programs(eqn: JaxprEqn, ins: Sequence[Any], skipped: Any) -> list[Any]:
    """An operation whose programs have checks."""
    op, params = eqn.primitive, eqn.params
    if "branches" in params:
        index, *operands = ins
        return list(op.bind(index, not_p.bind(skipped), *operands, branches=tuple(map(masked_checks, params["branches"]))))
    if op.name in ("scan", "checkpoint_scan"):
        own = {**params, "jaxpr": masked_checks(params["jaxpr"]), "num_consts": params["num_consts"] + 1}
        return list(op.bind(not_p.bind(skipped), *ins, **own))
    if op.name == "while":
        taken, tests = not_p.bind(skipped), params["cond_nconsts"]
        own = {"cond_jaxpr": masked_checks(params["cond_jaxpr"]), "cond_nconsts": tests + 1,
               "body_jaxpr": masked_checks(params["body_jaxpr"]), "body_nconsts": params["body_nconsts"] + 1}
        return list(op.bind(taken, *ins[:tests], taken, *ins[tests:], **own))
    called = [v for v in params.values() if isinstance(v, ClosedJaxpr)]
    if len(called) != 1 or op.functions or not op.traits >= CALLS:
        raise NotImplementedError(
            f"vmap of a cond with a predicate per element: the checks inside of the operation {op.name} in a branch are "
            "not supported. Check after what it stands for, or take the vmap outside of checkify.")
    return _run(called[0].jaxpr, called[0].consts, ins, skipped)
