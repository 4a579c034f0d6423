"""Dependence of a program's results on its input, found by propagating sets of input elements through its equations.

Abstract interpretation: a value is a known array (computed, so that constant indices, masks and matrices are seen), unknown, or
a table of the input elements that each of its elements depends on. Loops with known bounds are followed step by step.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.branches.cond_op import clamped, cond_p
from numjet.control.custom.checkpoint import checkpoint_p
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_op import while_p
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import lookup
from numjet.core.trace import Tracer, aval_of
from numjet.experimental.sparse_derivatives import rules
from numjet.experimental.sparse_derivatives.values import Value, depends, element, equal, stacked, union
from numjet.foundation.util import split_list

_MOST_STEPS = 10_000  # of a `while` that are followed one by one
_PROGRAMS: dict[Any, Callable[[JaxprEqn, Sequence[Value]], list[Value]]] = {}


def evaluate(jaxpr: Jaxpr, consts: Sequence[Value], args: Sequence[Value]) -> list[Value]:
    """The results of a program."""
    env: dict[Var, Value] = {**dict(zip(jaxpr.constvars, consts, strict=True)), **dict(zip(jaxpr.invars, args, strict=True))}
    read = lambda a: np.asarray(a.val, a.aval.dtype) if isinstance(a, Literal) else env[a]
    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _results(eqn, [read(a) for a in eqn.invars]), strict=True))
    return [read(a) for a in jaxpr.outvars]


def known(x: Any) -> Value:
    """A constant of a program: its value, unless that is traced."""
    return None if isinstance(x, Tracer) or not isinstance(aval_of(x).dtype, np.dtype) else np.asarray(x)


def _closed(closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    return evaluate(closed.jaxpr, list(map(known, closed.consts)), args)


def _results(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    op = eqn.primitive
    if op in _PROGRAMS:
        return _PROGRAMS[op](eqn, values)
    inlined = op.inline(eqn) if getattr(op, "inline", None) else None
    if inlined is not None:
        program, operands = inlined
        given = dict(zip(eqn.invars, values, strict=True))
        return _closed(program, [np.asarray(a.val, a.aval.dtype) if isinstance(a, Literal) else given[a] for a in operands])
    if any(map(depends, values)):
        return rules.whole(eqn, values) if getattr(op, "programs", True) else rules.apply(eqn, values)
    return _computed(eqn, values)


def _computed(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Results that do not depend on the input, if they can be computed without calling what the user wrote."""
    op = eqn.primitive
    opaque = getattr(op, "programs", True) or eqn.effects or "callback" in op.params or op.name.startswith("rng")
    if opaque or any(v is None for v in values):
        return [None] * len(eqn.outvars)
    found = op.eager(*values, **eqn.params)
    return [np.asarray(x) for x in (found if op.multiple else [found])]


# ------------------------------------------------------------------------------------------------ programs in operations

def _rule(op: Any) -> Callable[..., Any]:
    def decorate(rule: Callable[[JaxprEqn, Sequence[Value]], list[Value]]) -> Any:
        _PROGRAMS[op] = rule
        return rule
    return decorate


@_rule(checkpoint_p)
def _checkpoint(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    return _closed(eqn.params["jaxpr"], values)


@_rule(cond_p)
def _cond(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    index, *operands = values
    branches = eqn.params["branches"]
    if isinstance(index, np.ndarray):
        return _closed(branches[clamped(index, len(branches))], operands)
    first, *others = (_closed(b, operands) for b in branches)
    for more in others:
        first = list(map(union, first, more))
    return first


@_rule(lookup("checkpoint_scan"))
@_rule(scan_p)
def _scan(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    params = eqn.params
    consts, carry, xs = split_list(values, [params["num_consts"], params["num_carry"]])
    program, length = params["jaxpr"], params["length"]
    sizes = [v.aval.size for v in program.jaxpr.invars[len(consts) + len(carry):]]
    outs: list[Any] = [None] * length
    for i in reversed(range(length)) if params["reverse"] else range(length):
        found = _closed(program, [*consts, *carry, *(element(x, i, size) for x, size in zip(xs, sizes, strict=True))])
        carry, outs[i] = split_list(found, [params["num_carry"]])
    avals = [v.aval for v in program.jaxpr.outvars[params["num_carry"]:]]
    return [*carry, *(stacked([row[k] for row in outs], a.shape, a.dtype) for k, a in enumerate(avals))]


@_rule(while_p)
def _while(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Steps while the condition is known, then what is true after any number of steps."""
    params = eqn.params
    test_consts, consts, carry = split_list(values, [params["cond_nconsts"], params["body_nconsts"]])
    test = lambda carry: _closed(params["cond_jaxpr"], [*test_consts, *carry])[0]
    step = lambda carry: _closed(params["body_jaxpr"], [*consts, *carry])
    for _ in range(_MOST_STEPS):
        more = test(carry)
        if not isinstance(more, np.ndarray):
            break
        if not more:
            return list(carry)
        carry = step(carry)
    while True:
        wider = list(map(union, carry, step(carry)))
        if all(map(equal, carry, wider)):
            return wider
        carry = wider
