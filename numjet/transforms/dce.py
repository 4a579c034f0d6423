"""Dead code elimination: a backward pass keeps the equations that a used result or an effect needs."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.core.check import check_if_enabled
from numjet.core.ir import Jaxpr, JaxprEqn, Var, subjaxprs


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None,
              keep_inputs: bool = False) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr without the equations that its used results don't need, and which inputs it still reads.

    Equations with effects stay. Unused inputs go, unless keep_inputs. Loops and calls are thinned by their `dce` rule.
    """
    flags = [True] * len(jaxpr.outvars) if used_outputs is None else list(used_outputs)
    outvars = [v for v, u in zip(jaxpr.outvars, flags, strict=True) if u]
    live = {v for v in outvars if isinstance(v, Var)}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        kept = _thin(eqn, live)
        if kept is not None:
            eqns.append(kept)
            live.update(a for a in kept.invars if isinstance(a, Var))
    used = [v in live or keep_inputs for v in jaxpr.invars]
    invars = [v for v, u in zip(jaxpr.invars, used, strict=True) if u]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1]), used


def _thin(eqn: JaxprEqn, live: set[Var]) -> JaxprEqn | None:
    used = [v in live for v in eqn.outvars]
    if not any(used) and not eqn.effects:
        return None
    if eqn.primitive.dce is not None and not all(used):
        thin = eqn.primitive.dce(eqn, used)
        if thin is not None:
            check_if_enabled(*subjaxprs(thin.params))
        return thin
    return eqn
