"""Walks over jaxprs: evaluation, substitution, use counts."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from numjet.core import hooks, lanes
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from numjet.foundation import source


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Applies every equation to values (arrays or tracers) under the current trace. Results that are literals are Arrays.

    propagate_source_info is a hint: new equations always keep the lines of the old ones.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for v, x in env.items():
        if v.lanes is not None:
            lanes.note_argument(x, v.lanes)
    read = lambda a: a if type(a) is Literal else env[a]
    names = source.name_stack()
    with source.replaying() as outer:
        for eqn in jaxpr.eqns:
            source.replay(source.within(eqn.source, names), outer)
            out = eqn.primitive.replay(*[read(a) for a in eqn.invars], **eqn.params)
            outs = out if eqn.primitive.multiple else (out,)
            for v, x in zip(eqn.outvars, outs, strict=True):
                env[v] = x
                if v.lanes is not None:
                    lanes.note(x, v.lanes)
    return [hooks.literal_array(a) if isinstance(a, Literal) else env[a] for a in jaxpr.outvars]


def eval_closed(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def use_counts(jaxpr: Jaxpr) -> Counter[Var]:
    """How often each variable is read, by equations or as a result."""
    counts: Counter[Var] = Counter(a for e in jaxpr.eqns for a in e.invars if isinstance(a, Var))
    counts.update(a for a in jaxpr.outvars if isinstance(a, Var))
    return counts


def all_eqns(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """Every equation, those of inner jaxprs included."""
    stack = list(jaxpr.eqns[::-1])
    while stack:
        eqn = stack.pop()
        yield eqn
        for inner in list(subjaxprs(eqn.params))[::-1]:
            stack += inner.eqns[::-1]


def first_mesh(jaxpr: Jaxpr) -> Any:
    """The mesh of the first operation that names devices; None if there is none."""
    for eqn in all_eqns(jaxpr):
        found = eqn.primitive.mesh(**eqn.params) if getattr(eqn.primitive, "mesh", None) is not None else None
        if found is not None:
            return found
    return None
