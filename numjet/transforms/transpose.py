"""Transposition of linear programs by a backward pass over cotangents. Reverse mode is linearization, then transposition."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core import lanes, nan_checks
from numjet.core.aval import explicit, placements_in_use
from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Missing, Op, Undefined, Zero
from numjet.core.traits import USERS_TRANSPOSE
from numjet.foundation import source
from numjet.lax.sharding_later import sharding
from numjet.lax.tangent import add_any, instantiate, zero_cotangent


def backward_pass(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the linear inputs of a program, under the current trace.

    args: a value per invar, or Undefined for those in which the program is linear.
    cts: a cotangent per result; Zero where there is none. Returns per invar a cotangent, or Zero.
    """
    if not placements_in_use:
        return _backward_pass(jaxpr, consts, args, cts)
    with explicit.lenient():
        return _backward_pass(jaxpr, consts, args, cts)


def _backward_pass(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear = {v for v, a in zip(jaxpr.invars, args, strict=True) if isinstance(a, Undefined)}
    env.update((v, a) for v, a in zip(jaxpr.invars, args, strict=True) if not isinstance(a, Undefined))
    totals: dict[Var, Any] = {}
    backward: list[JaxprEqn] = []
    checked = bool(nan_checks.checked_kinds())
    names = source.name_stack()
    with source.replaying() as outer:
        for eqn in jaxpr.eqns:
            source.replay(source.within(eqn.source, names), outer)
            if not _run_if_known(eqn, env, linear):
                backward.append(eqn)
        for v, ct in zip(jaxpr.outvars, cts, strict=True):
            if isinstance(v, Var) and v in linear:
                _accumulate(totals, v, ct)
        for eqn in _reached(backward, jaxpr.outvars):
            if checked:
                source.replay(source.within(source.backward(eqn.source), names), outer)
                _transpose_checked(eqn, env, linear, totals)
            else:
                source.replay(source.within(eqn.source, names), outer)
                _transpose_eqn(eqn, env, linear, totals)
    return [totals.get(v, zero_cotangent(v.aval)) for v in jaxpr.invars]


def _reached(eqns: Sequence[JaxprEqn], outs: Sequence[Any]) -> Sequence[JaxprEqn]:
    """Equations from the last to the first, without those that no result depends on: users' transposes run even where no
    cotangent comes."""
    if not any(USERS_TRANSPOSE <= e.primitive.traits for e in eqns):
        return eqns[::-1]
    found, wanted = [], {v for v in outs if isinstance(v, Var)}
    for eqn in reversed(eqns):
        if not wanted.isdisjoint(eqn.outvars):
            found.append(eqn)
            wanted.update(a for a in eqn.invars if isinstance(a, Var))
    return found


def _run_if_known(eqn: JaxprEqn, env: dict[Var, Any], linear: set[Var]) -> bool:
    """Computes an equation that touches no linear variable; else marks its results linear."""
    if any(isinstance(a, Var) and a in linear for a in eqn.invars):
        linear.update(eqn.outvars)
        return False
    out = eqn.primitive.replay(*[_read(env, a) for a in eqn.invars], **eqn.params)
    outs = out if eqn.primitive.multiple else [out]
    env.update(zip(eqn.outvars, outs, strict=True))
    lanes.keep(eqn.outvars, outs)
    return True


def _read(env: dict[Var, Any], atom: Any) -> Any:
    return atom if isinstance(atom, Literal) else env[atom]


def _accumulate(totals: dict[Var, Any], var: Var, ct: Any) -> None:
    if ct is None or type(ct) is Zero:
        return
    if placements_in_use:
        ct = sharding.as_typed(ct, var.aval)
    totals[var] = add_any(totals[var], ct) if var in totals else ct


def _transpose_eqn(eqn: JaxprEqn, env: dict[Var, Any], linear: set[Var], totals: dict[Var, Any]) -> None:
    for a, ct in _cotangents(eqn, env, linear, totals):
        _accumulate(totals, a, ct)


def _transpose_checked(eqn: JaxprEqn, env: dict[Var, Any], linear: set[Var], totals: dict[Var, Any]) -> None:
    """As _transpose_eqn, where invalid values are looked for: a cotangent has the lanes of its variable."""
    with nan_checks.postponed() as outermost:
        found = _cotangents(eqn, env, linear, totals)
    for a, ct in found:
        if ct is not None and type(ct) is not Zero:
            lanes.note(ct, a.lanes or ())
            lanes.note_steps(ct, eqn.outvars[0])
            if outermost:
                nan_checks.check_parts(ct, eqn.primitive.name, a.lanes or ())
        _accumulate(totals, a, ct)
        if a in totals and a.lanes:
            lanes.note(totals[a], a.lanes)


def _cotangents(eqn: JaxprEqn, env: dict[Var, Any], linear: set[Var], totals: dict[Var, Any]) -> list[tuple[Var, Any]]:
    """The cotangents that one equation gives its linear operands."""
    cts = [totals.pop(v, None) for v in eqn.outvars]
    if all(ct is None for ct in cts) and not USERS_TRANSPOSE <= eqn.primitive.traits:
        return []
    args = [Undefined(a.aval) if isinstance(a, Var) and a in linear else _read(env, a) for a in eqn.invars]
    given: Any = cts[0]
    if eqn.primitive.multiple:
        given = [zero_cotangent(v.aval) if ct is None else ct for ct, v in zip(cts, eqn.outvars, strict=True)]
    found = apply_transpose(eqn.primitive, given, args, eqn.params)
    return [(a, ct) for a, ct in zip(eqn.invars, found, strict=True) if isinstance(a, Var) and a in linear]


def apply_transpose(op: Op, ct: Any, args: Sequence[Any], params: dict[str, Any], rule: Any = None) -> Sequence[Any]:
    """A cotangent per operand of one operation, None where there is none; ct: that of its result, or of all in a list. rule: by
    default the one in its slot."""
    rule = op.transpose if rule is None else rule
    if isinstance(rule, Missing):
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{op.name}' "
                                  f"not implemented: {rule.why}")
    out = rule(ct, *args, **params)
    return out if isinstance(out, (list, tuple)) else (out,)


def transpose_flat(jaxpr: Jaxpr, consts: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents, zeros as arrays, of all inputs of a program that is linear in all of them."""
    args = [Undefined(v.aval) for v in jaxpr.invars]
    return [instantiate(ct) for ct in backward_pass(jaxpr, consts, args, cts)]
