"""Induction over loops: what integers that a loop carries are within, in each step and behind the loop.

The first rule that applies: a carry to which each step adds a number between p and q is between its first value + k p and + k q
in step k; while a condition holds that bounds it, that bounds it too. Any other is its first value or what some step makes of
any state. So a loop's counter is known to index an array of as many elements. Each body is looked at once, without those of
the loops in it.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import inf

from numjet.core.intervals import Facts, Interval, counts, hull, limits, plus, times
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, Literal, Var
from numjet.lax.elementwise.arithmetic import add_p, sub_p
from numjet.lax.elementwise.compare import implied, select_n_p
from numjet.transforms.inline import write_out_calls

_DEPTH = 8   # equations between a carry and its next value


def facts_of(closed: ClosedJaxpr, inputs: Sequence[Interval]) -> tuple[Facts, Jaxpr]:
    """What is known of a program for inputs within intervals, and the program with its calls written out."""
    jaxpr, consts = write_out_calls(closed.jaxpr, closed.consts)
    return _facts(jaxpr, dict(zip(jaxpr.constvars, consts, strict=True)), inputs), jaxpr


def _facts(jaxpr: Jaxpr, constants: dict[Var, object], inputs: Sequence[Interval]) -> Facts:
    facts = Facts({v: e for e in jaxpr.eqns for v in e.outvars}.get, constants.get)
    for v, interval in zip(jaxpr.invars, inputs, strict=True):
        facts.bind(v, interval)
    return facts


def results_of(closed: ClosedJaxpr, inputs: Sequence[Interval]) -> list[Interval]:
    """The intervals of a program's results; its calls are written out already."""
    jaxpr = closed.jaxpr
    facts = _facts(jaxpr, dict(zip(jaxpr.constvars, closed.consts, strict=True)), inputs)
    return list(map(facts.interval, jaxpr.outvars))


def scan_inputs(body: ClosedJaxpr, inputs: Sequence[Interval], first: int, count: int, length: float) -> list[Interval]:
    """The intervals of the inputs of a scan's body; inputs: those of its operands. The carries begin at `first`."""
    made = list(inputs)
    carries = body.jaxpr.invars[first : first + count]
    if not any(counts(v.aval.dtype) for v in carries):
        return made
    facts, jaxpr = _any_state(body, inputs, first, count)
    for k, (v, out) in enumerate(zip(jaxpr.invars[first:], jaxpr.outvars[:count], strict=False), first):
        if counts(v.aval.dtype):
            made[k] = _in_steps(v, out, inputs[k], facts, length)
    return made


def _any_state(body: ClosedJaxpr, inputs: Sequence[Interval], first: int, count: int) -> tuple[Facts, Jaxpr]:
    """What is known of a body whatever its carries are."""
    free = [limits(v.aval.dtype) for v in body.jaxpr.invars[first : first + count]]
    return facts_of(body, [*inputs[:first], *free, *inputs[first + count :]])


def _in_steps(carry: Var, out: Atom, init: Interval, facts: Facts, length: float) -> Interval:
    """What a carry is within in each of some steps."""
    change = _change(carry, out, facts)
    if change is not None:
        found = hull([init, plus(init, times(change, (length - 1, length - 1)))]) if length < inf or change == (0, 0) else None
        least, most = limits(carry.aval.dtype)
        if found is not None and least <= found[0] <= found[1] <= most:
            return found
    return hull([init, facts.interval(out)])


def _change(carry: Var, out: Atom, facts: Facts, depth: int = _DEPTH) -> Interval | None:
    """What a step adds to a carry, if its next value is a sum with it."""
    if out is carry:
        return 0, 0
    eqn = facts(out)
    if eqn is None or depth == 0:
        return None
    if eqn.primitive is select_n_p:
        found = [_change(carry, case, facts, depth - 1) for case in eqn.invars[1:]]
        known = [c for c in found if c is not None]
        return hull(known) if len(known) == len(found) else None
    if eqn.primitive not in (add_p, sub_p):
        return None
    x, y = eqn.invars
    for a, b in ((x, y), (y, x)) if eqn.primitive is add_p else ((x, y),):
        inner = None if isinstance(a, Literal) else _change(carry, a, facts, depth - 1)
        if inner is not None:
            low, high = facts.interval(b)
            return plus(inner, (low, high) if eqn.primitive is add_p else (-high, -low))
    return None


def while_inputs(cond: ClosedJaxpr, cond_consts: Sequence[Interval], body: ClosedJaxpr, body_consts: Sequence[Interval],
                 init: Sequence[Interval]) -> tuple[list[Interval], list[Interval]]:
    """The intervals of the inputs of a loop's condition, and of its body."""
    before, inside = list(init), list(init)
    if any(counts(v.aval.dtype) for v in body.jaxpr.outvars):
        facts, jaxpr = _any_state(body, [*body_consts, *init], len(body_consts), len(init))
        carries = jaxpr.invars[len(body_consts) :]
        free = [limits(v.aval.dtype) for v in carries]
        same = [i if v is out else f for v, out, i, f in zip(carries, jaxpr.outvars, init, free, strict=True)]
        test, asked = facts_of(cond, [*cond_consts, *same])
        for k, (v, out) in enumerate(zip(carries, jaxpr.outvars, strict=True)):
            if counts(v.aval.dtype):
                allowed = implied(asked.invars[len(cond_consts) + k], asked.outvars[0], True, test)
                inside[k], before[k] = _while_allowed(v, out, init[k], facts, allowed)
    return [*cond_consts, *before], [*body_consts, *inside]


def _while_allowed(carry: Var, out: Atom, init: Interval, facts: Facts, allowed: Interval) -> tuple[Interval, Interval]:
    """What a carry is within where a condition holds that says what is allowed, and where it is asked."""
    change, (least, most) = _change(carry, out, facts), limits(carry.aval.dtype)
    low, high = max(least, allowed[0]), min(most, allowed[1])
    if change is not None and low <= high:
        if change[0] >= 0 and high + change[1] <= most:   # it grows, and does not wrap
            return (max(init[0], low), max(high, init[0])), (init[0], max(init[1], high + change[1]))
        if change[1] <= 0 and low + change[0] >= least:
            return (min(low, init[1]), min(init[1], high)), (min(init[0], low + change[0]), init[1])
    found = hull([init, facts.interval(out)])
    return found, found
