"""Slices of programs for rematerialization: the equations that compute values again, from inputs and from values that a policy
keeps.

The policy sees every operation: calls are written out, and of loops of known length and branches the bodies are sliced in
turn. The first computation of such an operation gets the values kept inside of it as further results, which the second one
reads: a scan stacks them step by step, the branches of a conditional share slots for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.branches.cond_op import cond_p
from numjet.control.branches.residuals import share_residuals
from numjet.control.call.call import jit_p
from numjet.control.call.jaxpr_transforms import Residual, Split
from numjet.control.checks.size_ops import bind_size_p
from numjet.control.custom.checkpoint_policies import Offloadable
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.scan_partial import invariant
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.sharding.memory import known_kind, space_of
from numjet.foundation.record import Record
from numjet.lax.device_put import device_put_p


class Slice(Record):
    """recomputed: equations that compute values again, from inputs and the `kept` values. forward: the equations of the
    program, with the values kept inside of them as further results."""

    recomputed: list[JaxprEqn]
    kept: list[Var]
    forward: list[JaxprEqn]


class _Twice(Record):
    """An equation as it runs first, with more results; as it runs again, None if nothing is left to do; and which of the
    results that it has anyway are kept. offload: in which memory these wait for the second computation, if not in their own."""

    first: JaxprEqn
    again: JaxprEqn | None
    direct: list[Var]
    offload: Offloadable | None = None


def inlined(jaxpr: Jaxpr) -> Jaxpr:
    """The program with its calls written out, so that the policy sees every operation."""
    env: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []
    _write_out(jaxpr, env, eqns)
    return jaxpr.replace(eqns=eqns, outvars=[_find(env, v) for v in jaxpr.outvars])


def _write_out(jaxpr: Jaxpr, env: dict[Var, Atom], eqns: list[JaxprEqn]) -> None:
    for eqn in jaxpr.eqns:
        args = [_find(env, a) for a in eqn.invars]
        if eqn.primitive is not jit_p:
            outvars = [v.copy() for v in eqn.outvars]
            env.update(zip(eqn.outvars, outvars, strict=True))
            eqns.append(eqn.replace(invars=args, outvars=outvars))
            continue
        inner = eqn.params["jaxpr"].jaxpr
        scope = dict(zip(inner.invars, args, strict=True))
        _write_out(inner, scope, eqns)
        env.update(zip(eqn.outvars, [_find(scope, v) for v in inner.outvars], strict=True))


def _find(env: dict[Var, Atom], atom: Atom) -> Atom:
    return atom if isinstance(atom, Literal) else env.get(atom, atom)


def slice_of(jaxpr: Jaxpr, wanted: Sequence[Atom], policy: Any, never: frozenset[Var] = frozenset()) -> Slice:
    """The equations of an inlined program that recompute `wanted`. never: values that are not kept, whatever the policy."""
    needed = {v for v in wanted if isinstance(v, Var)}
    recomputed: list[JaxprEqn] = []
    kept: list[Var] = []
    forward: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in needed for v in eqn.outvars]
        if eqn.primitive is bind_size_p:  # both computations have arrays of this size
            twice = _Twice(eqn, eqn, [])
        else:
            twice = _run_twice(eqn, used, policy, never) if any(used) else _Twice(eqn, None, [])
        if twice.offload is not None:
            moves = [_moved(v, twice.offload) for v in twice.direct]
            forward += [out for _, out, _ in moves]
            recomputed += [back for _, _, back in moves]
            kept += [there for there, _, _ in moves]
        else:
            kept += twice.direct
        forward.append(twice.first)
        if twice.again is None:
            continue
        recomputed.append(twice.again)
        inside = twice.first.outvars[len(eqn.outvars):]
        read = {a for a in twice.again.invars if isinstance(a, Var)}
        kept += [v for v in inside if v in read]
        needed |= read.difference(inside)
    return Slice(recomputed[::-1], kept[::-1], forward[::-1])


def _run_twice(eqn: JaxprEqn, used: list[bool], policy: Any, never: frozenset[Var]) -> _Twice:
    inside = {scan_p: _scan_twice, cond_p: _cond_twice}.get(eqn.primitive)
    if policy is not None and inside is not None:
        return inside(eqn, used, policy)
    own = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
    asked = policy is not None and not never.issuperset(own)
    answer = policy(eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params) if asked else False
    if answer:
        return _Twice(eqn, None, own, answer if isinstance(answer, Offloadable) else None)
    return _Twice(eqn, _thinned(eqn, used), [])


def _moved(v: Var, offload: Offloadable) -> tuple[Var, JaxprEqn, JaxprEqn]:
    """A kept value in the memory where it waits, and the moves there and back."""
    there, back = (space_of(known_kind(kind)) for kind in (offload.dst, offload.src))
    waiting = Var(v.aval.update(memory_space=there))
    returned = JaxprEqn([waiting], [v], device_put_p, {"sharding": back, "src": None})
    return waiting, JaxprEqn([v], [waiting], device_put_p, {"sharding": there, "src": None}), returned


def _thinned(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """The equation without results that are not used."""
    thin = eqn.primitive.dce(eqn, used) if eqn.primitive.dce is not None and not all(used) else None
    return eqn if thin is None else thin


def _twice(eqn: JaxprEqn, used: list[bool], kept: Sequence[bool], first: JaxprEqn, again: JaxprEqn) -> _Twice:
    """kept: which results the policy keeps as they are."""
    direct = [v for v, u, k in zip(eqn.outvars, used, kept, strict=True) if u and k]
    rest = [u and not k for u, k in zip(used, kept, strict=True)]
    return _Twice(first, _thinned(again, rest) if any(rest) else None, direct)


def _scan_twice(eqn: JaxprEqn, used: list[bool], policy: Any) -> _Twice:
    """The scan with stacks of the values kept in each step, and the one that reads them. What does not change from step to
    step is not stacked."""
    params = eqn.params
    body, count = inlined(params["jaxpr"].jaxpr), params["num_carry"]
    own = slice_of(body, body.outvars, policy, frozenset(invariant(body, body.invars[: params["num_consts"]])))
    stacks = [Var(v.aval.update(shape=(params["length"], *v.aval.shape))) for v in own.kept]
    forward = body.replace(eqns=own.forward, outvars=[*body.outvars, *own.kept])
    again = body.replace(eqns=own.recomputed, invars=[*body.invars, *own.kept])
    stays = [False] * count + [v in own.kept for v in body.outvars[count:]]
    return _twice(
        eqn, used, stays,
        eqn.replace(params={**params, "jaxpr": ClosedJaxpr(forward)}, outvars=[*eqn.outvars, *stacks]),
        eqn.replace(params={**params, "jaxpr": ClosedJaxpr(again)}, invars=[*eqn.invars, *stacks]),
    )


def _cond_twice(eqn: JaxprEqn, used: list[bool], policy: Any) -> _Twice:
    """The conditional with the values kept in its branches, and the one that reads them."""
    index, *operands = eqn.invars
    bodies = [inlined(b.jaxpr) for b in eqn.params["branches"]]
    own = [slice_of(b, b.outvars, policy) for b in bodies]
    known, unknown = share_residuals([_as_split(b, s) for b, s in zip(bodies, own, strict=True)], len(operands))
    slots = [Var(a) for a in known[0].out_avals[len(eqn.outvars):]]
    stays = [all(v in s.kept for v, s in zip(column, own, strict=True))
             for column in zip(*[b.outvars for b in bodies], strict=True)]
    return _twice(
        eqn, used, stays,
        eqn.replace(params={"branches": tuple(known)}, outvars=[*eqn.outvars, *slots]),
        eqn.replace(params={"branches": tuple(unknown)}, invars=[index, *slots, *operands]),
    )


def _as_split(body: Jaxpr, own: Slice) -> Split:
    """A sliced branch: the second program reads the kept values, and the operands of the first."""
    count = len(body.outvars)
    known = body.replace(eqns=own.forward, outvars=[*body.outvars, *own.kept])
    unknown = body.replace(eqns=own.recomputed, invars=[*own.kept, *body.invars])
    residuals = [Residual(False, count + i) for i in range(len(own.kept))]
    residuals += [Residual(True, i) for i in range(len(body.invars))]
    return Split(ClosedJaxpr(known), [], ClosedJaxpr(unknown), (), residuals, count)
