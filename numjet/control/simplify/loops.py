"""Loop-invariant code motion; imported with the first loop.

Equations of a body that depend on constants alone move in front of the loop when they are pure, hold no program (which
might not end) and need little memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numjet.control.call.jaxpr_transforms import substituted
from numjet.control.simplify.horizontal_fusion import pack
from numjet.control.simplify.induction import results_of, scan_inputs, while_inputs
from numjet.control.simplify.loop_products import ScanParts, move_products
from numjet.core.intervals import Interval, counts, hull, largest
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import CHEAP, FREE, MOVES, SUMS_PRODUCTS
from numjet.core.walk import use_counts
from numjet.foundation.util import split_list
from numjet.lax.elementwise.compare import select_n_p
from numjet.transforms.fold import calls_python
from numjet.transforms.simplify import Rewritten, Simplify

ALWAYS_BYTES = 4096  # results this small are always worth keeping
CHEAP_BYTES = 64 * 1024  # above, reading the result costs more than cheap arithmetic on its operands


class Hoisted(NamedTuple):
    """Equations moved out of a body (their variables are the same ones), and the body without them."""

    eqns: list[JaxprEqn]
    body: Jaxpr
    values: list[Var]  # their results that the body needs: its further constants


def hoist(body: Jaxpr, invariant: Sequence[Var]) -> Hoisted:
    """Moves out of a loop's body the profitable equations that depend on `invariant` inputs only."""
    fixed: set[Var] = set(invariant)
    stored = _operands_of_products(body)
    makers: dict[Var, JaxprEqn] = {}
    chosen: dict[JaxprEqn, None] = {}
    for eqn in body.eqns:
        if eqn.effects or eqn.primitive.programs or calls_python(eqn) or not _within(eqn.invars, fixed):
            continue
        fixed.update(eqn.outvars)
        makers.update((v, eqn) for v in eqn.outvars)
        if _worth(eqn, stored):
            _choose(eqn, makers, chosen)
    moved = [e for e in body.eqns if e in chosen]
    if not moved:
        return Hoisted([], body, [])
    made = {v for e in moved for v in e.outvars}
    rest = [e for e in body.eqns if e not in chosen]
    read = dict.fromkeys(a for a in (*(a for e in rest for a in e.invars), *body.outvars) if isinstance(a, Var) and a in made)
    return Hoisted(moved, body.replace(eqns=rest), list(read))


def _within(atoms: Sequence[Atom], fixed: set[Var]) -> bool:
    return all(isinstance(a, Literal) or a in fixed for a in atoms)


def _operands_of_products(body: Jaxpr) -> set[Var]:
    """What products of a body read, themselves or moved: they want it in memory, so that every step would store it again."""
    found: set[Var] = set()
    for eqn in reversed(body.eqns):
        traits = eqn.primitive.traits
        if SUMS_PRODUCTS <= traits or (MOVES <= traits and not found.isdisjoint(eqn.outvars)):
            found.update(a for a in eqn.invars if isinstance(a, Var))
    return found


def _worth(eqn: JaxprEqn, stored: set[Var]) -> bool:
    traits = eqn.primitive.traits
    if MOVES <= traits or FREE <= traits or all(isinstance(a, Literal) for a in eqn.invars):
        return False
    size = sum(v.aval.nbytes for v in eqn.outvars)
    if size <= ALWAYS_BYTES:
        return True
    if CHEAP <= traits and size > CHEAP_BYTES and not _is_index(eqn) and stored.isdisjoint(eqn.outvars):
        return False
    return size <= sum(a.aval.nbytes for a in eqn.invars)


def _is_index(eqn: JaxprEqn) -> bool:
    """Whether this selects between integers, as for indices from the end: the result replaces its operands."""
    return eqn.primitive is select_n_p and eqn.outvars[0].aval.dtype.kind in "iu"


def _choose(eqn: JaxprEqn, makers: dict[Var, JaxprEqn], chosen: dict[JaxprEqn, None]) -> None:
    """Marks an equation and those that make its operands."""
    todo = [eqn]
    while todo:
        now = todo.pop()
        if now not in chosen:
            chosen[now] = None
            todo += [makers[a] for a in now.invars if isinstance(a, Var) and a in makers]


# ------------------------------------------------------------------------------------------------ bodies


class _Body:
    """The program of a loop under rewriting; its first inputs are constants."""

    def __init__(self, closed: ClosedJaxpr, consts: Sequence[Atom], simplify: Simplify, inputs: Sequence[Interval]):
        self.consts = list(consts)
        intervals = dict(zip(closed.jaxpr.invars, inputs, strict=True))
        given = self._with_literals(closed)
        within = [intervals[v] for v in given.jaxpr.invars]
        made = simplify(given, within)
        self.results = results_of(made, within)
        lifted = [simplify.constant(x, v.copy()) for x, v in zip(made.consts, made.jaxpr.constvars, strict=True)]
        self.consts = [*lifted, *self.consts]
        self.jaxpr = made.jaxpr.replace(constvars=[], invars=[*made.jaxpr.constvars, *made.jaxpr.invars])
        self.before: list[JaxprEqn] = []

    def _with_literals(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """The program with numeric constants as literals, and equal constants merged."""
        env: dict[Var, Atom] = {}
        first: dict[Atom, Var] = {}
        for v, a in zip(closed.jaxpr.invars, self.consts, strict=False):
            if isinstance(a, Literal):
                env.update({v: a} if a.aval is v.aval else {})
            elif first.setdefault(a, v) is not v and first[a].aval is v.aval:
                env[v] = first[a]
        if not env:
            return closed
        inputs = closed.jaxpr.invars
        self.consts = [a for v, a in zip(inputs, self.consts, strict=False) if v not in env]
        return ClosedJaxpr(substituted(closed.jaxpr, env, [v for v in inputs if v not in env]))

    @property
    def carries(self) -> list[Var]:
        """The inputs that are no constants: carries, then slices."""
        return self.jaxpr.invars[len(self.consts) :]

    def fix(self, same: Sequence[bool], values: Sequence[Atom]) -> None:
        """Turns unchanged carries into constants, and drops them from the results."""
        count, more = len(same), self.carries[len(same) :]
        consts = self.jaxpr.invars[: len(self.consts)]
        carries = self.carries[:count]
        self.jaxpr = self.jaxpr.replace(invars=[*consts, *_only(carries, same), *_except(carries, same), *more])
        self.consts += _only(values, same)

    def drop_results(self, same: Sequence[bool]) -> None:
        outs = self.jaxpr.outvars
        self.jaxpr = self.jaxpr.replace(outvars=[*_except(outs[: len(same)], same), *outs[len(same) :]])

    def move_out(self) -> None:
        """Hoists equations that depend on constants only, with new variables."""
        names = self.jaxpr.invars[: len(self.consts)]
        found = hoist(self.jaxpr, names)
        if not found.eqns:
            return
        env: dict[Var, Atom] = dict(zip(names, self.consts, strict=True))
        for eqn in found.eqns:
            outvars = [v.copy() for v in eqn.outvars]
            self.before.append(
                eqn.replace(invars=[a if isinstance(a, Literal) else env[a] for a in eqn.invars], outvars=outvars)
            )
            env.update(zip(eqn.outvars, outvars, strict=True))
        rest = self.carries
        self.consts += [env[v] for v in found.values]
        self.jaxpr = found.body.replace(invars=[*names, *found.values, *rest])

    def drop_unread(self, parts: ScanParts) -> None:
        """Drops unread stacked inputs of a scan."""
        counts, first = use_counts(self.jaxpr), len(self.jaxpr.invars) - len(parts.xs)
        slices = self.jaxpr.invars[first:]
        read = [v in counts for v in slices]
        parts.xs[:] = _only(parts.xs, read)
        self.jaxpr = self.jaxpr.replace(invars=[*self.jaxpr.invars[:first], *_only(slices, read)])

    def closed(self) -> ClosedJaxpr:
        """The program, without the constants that it does not read."""
        jaxpr, count = self.jaxpr, len(self.consts)
        read = use_counts(jaxpr)
        used = [v in read for v in jaxpr.invars[:count]]
        self.consts = _only(self.consts, used)
        return ClosedJaxpr(jaxpr.replace(invars=[*_only(jaxpr.invars[:count], used), *jaxpr.invars[count:]]))


def _only(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(values, flags, strict=True) if f]


def _except(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, f in zip(values, flags, strict=True) if not f]


def _unchanged(body: _Body, init: Sequence[Atom]) -> list[bool]:
    """The carries that the body returns unchanged."""
    return [v is w and v.aval is a.aval for v, w, a in zip(body.carries, body.jaxpr.outvars, init, strict=False)]


# ------------------------------------------------------------------------------------------------ rules


def _bind(simplify: Simplify, eqn: JaxprEqn, results: Sequence[Interval], init: Sequence[Interval]) -> None:
    """Says what the results of a loop are within: a carry may be its first value, if there is no step."""
    for k, (v, found) in enumerate(zip(eqn.outvars, results, strict=True)):
        if counts(v.aval.dtype):
            simplify.facts.bind(v, hull([found, init[k]]) if k < len(init) else found)


def simplify_scan(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Simplification of `scan`: unchanged carries become constants; numbers and invariant equations leave the loop."""
    params, (consts, init, xs) = eqn.params, split_list(eqn.invars, [eqn.params["num_consts"], eqn.params["num_carry"]])
    operands = list(map(simplify.facts.interval, eqn.invars))
    inputs = scan_inputs(params["jaxpr"], operands, len(consts), len(init), largest(params["length"]))
    body = _Body(params["jaxpr"], consts, simplify, inputs)
    _bind(simplify, eqn, body.results, operands[len(consts) :][: len(init)])
    same = _unchanged(body, init)[: len(init)]
    body.fix(same, init)
    body.drop_results(same)
    body.move_out()
    carries, ys = eqn.outvars[: len(init)], eqn.outvars[len(init) :]
    parts = ScanParts(
        params["length"], body.consts, _except(init, same), list(xs), _except(carries, same), list(ys), body.jaxpr
    )
    move_products(parts)
    pack(parts, simplify.facts)
    body.jaxpr, body.consts = parts.body, parts.consts
    body.drop_unread(parts)
    made = eqn.replace(
        params={
            **params,
            "jaxpr": body.closed(),
            "num_consts": len(body.consts),
            "num_carry": len(parts.carries),
        },
        invars=[*body.consts, *parts.init, *parts.xs],
        outvars=[*parts.carries, *parts.ys],
    )
    results = [a if s else parts.results.get(v, v) for a, v, s in zip(init, carries, same, strict=True)]
    return Rewritten(made, [*results, *ys], [*body.before, *parts.before], parts.after)


def simplify_while(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """As for scan, in both of its programs. A loop without changes stays: it may be meant not to end."""
    params, (cond_consts, body_consts, init) = (
        eqn.params,
        split_list(eqn.invars, [eqn.params["cond_nconsts"], eqn.params["body_nconsts"]]),
    )
    intervals = [list(map(simplify.facts.interval, part)) for part in (cond_consts, body_consts, init)]
    asked, inside = while_inputs(params["cond_jaxpr"], intervals[0], params["body_jaxpr"], *intervals[1:])
    cond = _Body(params["cond_jaxpr"], cond_consts, simplify, asked)
    body = _Body(params["body_jaxpr"], body_consts, simplify, inside)
    _bind(simplify, eqn, body.results, intervals[2])
    same = [s and v.aval is a.aval for s, v, a in zip(_unchanged(body, init), cond.carries, init, strict=True)]
    if all(same):
        same = [False] * len(init)
    body.drop_results(same)
    for half in (cond, body):
        half.fix(same, init)
        half.move_out()
    made = eqn.replace(
        params={
            "cond_jaxpr": cond.closed(),
            "cond_nconsts": len(cond.consts),
            "body_jaxpr": body.closed(),
            "body_nconsts": len(body.consts),
        },
        invars=[*cond.consts, *body.consts, *_except(init, same)],
        outvars=_except(eqn.outvars, same),
    )
    results = [a if s else v for a, v, s in zip(init, eqn.outvars, same, strict=True)]
    return Rewritten(made, results, [*cond.before, *body.before])
