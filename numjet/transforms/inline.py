"""Inlining of calls: the programs that equations call, written out in their place."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Literal, Var
from numjet.foundation import source


def write_out_calls(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """A program and its constants with all calls written out that have a rule for it (`Op.inline`), however deep.

    >>> import numjet as nj
    >>> from numjet.core.ir import ClosedJaxpr
    >>> closed = nj.make_jaxpr(nj.jit(lambda x: x + 1))(2.0)
    >>> [e.primitive.name for e in write_out_calls(closed.jaxpr, closed.consts)[0].eqns]
    ['add']
    """
    out = _Flat(dict(zip(jaxpr.constvars, consts, strict=True)))
    env: dict[Var, Atom] = {}
    out.write(jaxpr, env)
    flat = jaxpr.replace(constvars=list(out.constants), eqns=out.eqns, outvars=[_find(env, a) for a in jaxpr.outvars])
    return flat, list(out.constants.values())


def _find(env: dict[Var, Atom], atom: Atom) -> Atom:
    return atom if isinstance(atom, Literal) else env.get(atom, atom)


class _Flat:
    """Equations in one row, and the constants that they read."""

    def __init__(self, constants: dict[Var, Any]):
        self.constants, self.eqns = constants, list[JaxprEqn]()

    def write(self, jaxpr: Jaxpr, env: dict[Var, Atom], names: tuple[str, ...] = ()) -> None:
        """names: of the scopes around the program, outermost first."""
        for eqn in jaxpr.eqns:
            eqn = eqn.replace(invars=[_find(env, a) for a in eqn.invars], source=source.within(eqn.source, names))
            call = None if eqn.primitive.inline is None else eqn.primitive.inline(eqn)
            if call is None:
                made = [v.copy() for v in eqn.outvars]
                self.eqns.append(eqn.replace(outvars=made))
                env.update(zip(eqn.outvars, made, strict=True))
                continue
            closed, operands = call
            scope = dict(zip(closed.jaxpr.invars, operands, strict=True))
            for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
                scope[var] = own = var.copy()
                self.constants[own] = value
            self.write(closed.jaxpr, scope, eqn.scopes)
            env.update(zip(eqn.outvars, [_find(scope, a) for a in closed.jaxpr.outvars], strict=True))
