"""How operations that hold programs are simplified: calls are written out, loops lose what does not change in them.

The rules are extensions of the records, called by transforms.simplify. What a loop's body computes from constants alone
moves in front of the loop when it is pure, holds no program (which might not end) and needs little memory.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numjet.control.call import jit_p
from numjet.control.checkpoint import checkpoint_p
from numjet.control.cond_op import cond_p
from numjet.control.custom_jvp import custom_jvp_call_p
from numjet.control.custom_vjp_call import custom_vjp_call_p
from numjet.control.programs import substituted
from numjet.control.scan_op import scan_p
from numjet.control.while_op import while_p
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import extend
from numjet.transforms.simplify import Rewritten, Simplify

ALWAYS_BYTES = 4096         # results this small are always worth keeping
CHEAP_BYTES = 64 * 1024     # above, reading the result costs more than cheap arithmetic on its operands

# Where elements stand, not what they are: free inside a fused loop, so moved only for what needs them.
_MOVES = frozenset({"broadcast_in_dim", "reshape", "transpose", "squeeze", "rev", "slice", "iota", "concatenate", "pad",
                    "tile", "split", "convert_element_type", "real", "imag"})
_CHEAP = frozenset({"add", "add_any", "sub", "mul", "neg", "abs", "max", "min", "and", "or", "xor", "not", "eq", "ne", "lt",
                    "le", "gt", "ge", "select_n", "sign", "square", "clamp", "floor", "ceil", "conj", "complex"})


class Hoisted(NamedTuple):
    """Equations moved out of a body (their variables are the same ones), and the body without them."""
    eqns: list[JaxprEqn]
    body: Jaxpr
    values: list[Var]       # what the body needs of them: its further constants


def hoist(body: Jaxpr, invariant: Sequence[Var]) -> Hoisted:
    """Takes the equations out of a loop's body that depend on `invariant` inputs only and are worth it."""
    fixed: set[Var] = set(invariant)
    makers: dict[Var, JaxprEqn] = {}
    chosen: dict[JaxprEqn, None] = {}
    for eqn in body.eqns:
        if eqn.effects or eqn.primitive.programs or not _within(eqn.invars, fixed):
            continue
        fixed.update(eqn.outvars)
        makers.update((v, eqn) for v in eqn.outvars)
        if _worth(eqn):
            _choose(eqn, makers, chosen)
    moved = [e for e in body.eqns if e in chosen]
    if not moved:
        return Hoisted([], body, [])
    made = {v for e in moved for v in e.outvars}
    rest = [e for e in body.eqns if e not in chosen]
    read = dict.fromkeys(a for a in (*(a for e in rest for a in e.invars), *body.outvars)
                         if isinstance(a, Var) and a in made)
    return Hoisted(moved, body.replace(eqns=rest), list(read))


def _within(atoms: Sequence[Atom], fixed: set[Var]) -> bool:
    return all(isinstance(a, Literal) or a in fixed for a in atoms)


def _worth(eqn: JaxprEqn) -> bool:
    name = eqn.primitive.name
    if name in _MOVES or all(isinstance(a, Literal) for a in eqn.invars):
        return False
    size = sum(v.aval.nbytes for v in eqn.outvars)
    if size <= ALWAYS_BYTES:
        return True
    if name in _CHEAP and size > CHEAP_BYTES:
        return False
    return size <= sum(a.aval.nbytes for a in eqn.invars)


def _choose(eqn: JaxprEqn, makers: dict[Var, JaxprEqn], chosen: dict[JaxprEqn, None]) -> None:
    """Marks an equation and those that make its operands."""
    todo = [eqn]
    while todo:
        now = todo.pop()
        if now not in chosen:
            chosen[now] = None
            todo += [makers[a] for a in now.invars if isinstance(a, Var) and a in makers]


# ------------------------------------------------------------------------------------------------ inputs of a loop

class _Body:
    """The program of a loop while operands become part of it, or leave it."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Atom]):
        count = len(consts)
        self.jaxpr, self.rest = jaxpr, list(jaxpr.invars[count:])
        self.consts = list(zip(jaxpr.invars[:count], consts, strict=True))
        self.before: list[JaxprEqn] = []

    def write_literals(self) -> None:
        """Constants that are numbers become part of the program."""
        env: dict[Var, Atom] = {v: a for v, a in self.consts if isinstance(a, Literal) and a.aval is v.aval}
        # One value twice is one constant.
        first: dict[Atom, Var] = {}
        for v, a in self.consts:
            if v not in env and first.setdefault(a, v) is not v and first[a].aval is v.aval:
                env[v] = first[a]
        self.consts = [(v, a) for v, a in self.consts if v not in env]
        if env:
            self.jaxpr = substituted(self.jaxpr, env, self.invars())

    def move_out(self) -> None:
        """What depends on constants only is computed before the loop, under fresh names."""
        found = hoist(self.jaxpr, [v for v, _ in self.consts])
        if not found.eqns:
            return
        env: dict[Var, Atom] = dict(self.consts)
        for eqn in found.eqns:
            fresh = [Var(v.aval) for v in eqn.outvars]
            operands = [a if isinstance(a, Literal) else env[a] for a in eqn.invars]
            self.before.append(eqn.replace(invars=operands, outvars=fresh))
            env.update(zip(eqn.outvars, fresh, strict=True))
        self.consts += [(v, env[v]) for v in found.values]
        self.jaxpr = found.body.replace(invars=self.invars())

    def invars(self) -> list[Var]:
        return [*[v for v, _ in self.consts], *self.rest]

    def closed(self) -> ClosedJaxpr:
        return ClosedJaxpr(self.jaxpr.replace(invars=self.invars()))

    def operands(self) -> list[Atom]:
        return [a for _, a in self.consts]


def _unchanged(body: Jaxpr, first: int, count: int) -> list[bool]:
    """Which of the carries, whose inputs start at `first`, the body returns as they came."""
    return [v is w for v, w in zip(body.invars[first:first + count], body.outvars[:count], strict=True)]


def _select(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(values, flags, strict=True) if f]


# ------------------------------------------------------------------------------------------------ rules

def _scan(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Carries that do not change become constants; numbers and constant computations leave the operands."""
    params, jaxpr = eqn.params, simplify(eqn.params["jaxpr"]).jaxpr
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, init, xs = eqn.invars[:num_consts], eqn.invars[num_consts:num_consts + num_carry], eqn.invars[num_consts + num_carry:]
    same = [s and a.aval is v.aval for s, a, v in
            zip(_unchanged(jaxpr, num_consts, num_carry), init, jaxpr.invars[num_consts:], strict=False)]
    changed = [not s for s in same]
    carries = jaxpr.invars[num_consts:num_consts + num_carry]
    inputs = [*jaxpr.invars[:num_consts], *_select(carries, same), *_select(carries, changed),
              *jaxpr.invars[num_consts + num_carry:]]
    outs = [*_select(jaxpr.outvars[:num_carry], changed), *jaxpr.outvars[num_carry:]]
    body = _Body(jaxpr.replace(invars=inputs, outvars=outs), [*consts, *_select(init, same)])
    body.write_literals()
    body.move_out()
    made = eqn.replace(
        params={**params, "jaxpr": body.closed(), "num_consts": len(body.consts), "num_carry": sum(changed)},
        invars=[*body.operands(), *_select(init, changed), *xs],
        outvars=[*_select(eqn.outvars[:num_carry], changed), *eqn.outvars[num_carry:]])
    known = dict(zip(_select(eqn.outvars[:num_carry], same), _select(init, same), strict=True))
    return Rewritten(made, body.before, known)


def _while(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    params = eqn.params
    cond, body = simplify(params["cond_jaxpr"]).jaxpr, simplify(params["body_jaxpr"]).jaxpr
    cond_n, body_n = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, init = eqn.invars[:cond_n], eqn.invars[cond_n:cond_n + body_n], eqn.invars[cond_n + body_n:]
    same = [s and a.aval is v.aval and w.aval is v.aval for s, a, v, w in
            zip(_unchanged(body, body_n, len(init)), init, body.invars[body_n:], cond.invars[cond_n:], strict=True)]
    halves = [_Body(*_fixed_carries(j, n, same, consts, init, results)) for j, n, consts, results in
              ((cond, cond_n, cond_consts, cond.outvars), (body, body_n, body_consts, _changing(body.outvars, same)))]
    for half in halves:
        half.write_literals()
        half.move_out()
    first, second = halves
    changed = [not s for s in same]
    made = eqn.replace(
        params={**params, "cond_jaxpr": first.closed(), "cond_nconsts": len(first.consts),
                "body_jaxpr": second.closed(), "body_nconsts": len(second.consts)},
        invars=[*first.operands(), *second.operands(), *_select(init, changed)],
        outvars=_select(eqn.outvars, changed))
    known = dict(zip(_select(eqn.outvars, same), _select(init, same), strict=True))
    return Rewritten(made, [*first.before, *second.before], known)


def _changing(values: Sequence[Any], same: Sequence[bool]) -> list[Any]:
    return _select(values, [not s for s in same])


def _fixed_carries(jaxpr: Jaxpr, nconsts: int, same: Sequence[bool], consts: Sequence[Atom], init: Sequence[Atom],
                   results: Sequence[Atom]) -> tuple[Jaxpr, list[Atom]]:
    """A half of a while loop whose unchanged carries are constants, and the values of its constants."""
    carries = jaxpr.invars[nconsts:]
    inputs = [*jaxpr.invars[:nconsts], *_select(carries, same), *_changing(carries, same)]
    return jaxpr.replace(invars=inputs, outvars=list(results)), [*consts, *_select(init, same)]


def _cond(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    branches = tuple(simplify(b) for b in eqn.params["branches"])
    return Rewritten(eqn.replace(params={**eqn.params, "branches": branches}))


def _known_branch(params: dict[str, Any]) -> ClosedJaxpr | None:
    """A choice of one."""
    return None


def _checkpoint(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """What is computed again on purpose is not merged with its first computation, so the call stays."""
    return Rewritten(eqn.replace(params={**eqn.params, "jaxpr": simplify(eqn.params["jaxpr"])}))


extend(jit_p, "inline", lambda params: params["jaxpr"])
extend(custom_jvp_call_p, "inline", lambda params: params["call_jaxpr"])
extend(custom_vjp_call_p, "inline", lambda params: params["call_jaxpr"])
extend(checkpoint_p, "inline", lambda params: None if params["prevent_cse"] else params["jaxpr"])
extend(checkpoint_p, "simplify", _checkpoint)
extend(scan_p, "simplify", _scan)
extend(while_p, "simplify", _while)
extend(cond_p, "simplify", _cond)
