"""Simplification of programs before they are compiled: calls inlined, known values folded, repetitions removed.

One forward pass rewrites each equation with what is known of its operands, the intervals of integers included, and keeps the
first of equal equations (value numbering); dead code goes last. The pass is linear in the program's size with calls written
out; the program of a loop or branch is simplified once, however often it occurs with the same intervals. Operations say how
they take part in their record:

  "inline": rule(eqn) -> (program, operands) to write in place of the equation, or None to leave it
  "simplify": rule(eqn, simplify) -> Rewritten, for operations that hold programs; `simplify` maps a closed program
      without constants to a simpler one with the same inputs and results, given the intervals of integer inputs, if it says so

Programs in parameters of other operations are left alone. Equations with effects stay, in their order.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numjet.core.intervals import Facts, Interval, counts
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import CHECKS, KEEPS_APART, NAMED_CALL
from numjet.foundation.record import Record
from numjet.foundation.source import within
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.fold import as_literal, fold, foldable
from numjet.transforms.narrow_updates import narrow_updates
from numjet.transforms.scatter_rewrites import write_updates
from numjet.transforms.transpose_folding import fold_transposes
from numjet.transforms.truth_products import select_truth_products
from numjet.transforms.value_numbering import equation_key


class Simplify(Protocol):
    """The argument of rules of operations that hold programs."""

    def __call__(self, closed: ClosedJaxpr, inputs: Sequence[Interval] | None = None) -> ClosedJaxpr:
        """A program without constants, simplified, with the same inputs and results; operations whose definitions hold arrays
        give it constants. inputs: what its inputs are within."""

    def constant(self, value: Any, var: Var) -> Atom:
        """A constant of the program around it, as a literal or under the name `var`."""

    @property
    def facts(self) -> Facts:
        """What is known of the operands of the operation."""


class Rewritten(Record):
    """The rewritten form of an equation that holds programs, its former results, equations to run before and after it."""
    eqn: JaxprEqn
    results: Sequence[Atom]
    before: Sequence[JaxprEqn] = ()
    after: Sequence[JaxprEqn] = ()


def simplify(closed: ClosedJaxpr, keeps_names: bool = False) -> ClosedJaxpr:
    """An equal program with the same inputs and results, for a backend to compile faster. keeps_names: programs that have
    names by which other compilers know them are not inlined.

    Results are bit for bit those of the program's operations one by one, up to the accuracy of folded functions (the
    reference implementation computes them, not compiled code), to the order in which terms of matrix products add up, and to
    products with bools, which are selections (`truth_products`).

    >>> import numjet as nj
    >>> f = nj.jit(lambda x: x * 1.0 + x * 1.0)
    >>> simplify(nj.make_jaxpr(f)(2.0))
    { lambda ; a:f32[]. let b:f32[] = add a a in (b,) }
    """
    return _simplified(closed, {}, keeps_names=keeps_names)


_Memo = dict[Any, tuple[ClosedJaxpr, ClosedJaxpr]]


def _simplified(closed: ClosedJaxpr, memo: _Memo, inner: bool = False, keeps_names: bool = False,
                inputs: Sequence[Interval] = ()) -> ClosedJaxpr:
    """inputs: the intervals of those inputs that are integers."""
    scope = _Scope(memo, inner, keeps_names)
    jaxpr = closed.jaxpr
    for v, interval in zip([v for v in jaxpr.invars if counts(v.aval.dtype)], inputs, strict=False):
        scope.facts.bind(v, interval)
    scope.constants.update(zip(jaxpr.constvars, closed.consts, strict=True))
    for eqn in jaxpr.eqns:
        scope.add(eqn, eqn.outvars)
    outvars = [scope.read(a) for a in jaxpr.outvars]
    made = Jaxpr(list(scope.constants), jaxpr.invars, outvars, scope.eqns, debug=jaxpr.debug)
    made = select_truth_products(write_updates(narrow_updates(fold_transposes(made))))
    thin, _ = dce_jaxpr(made, keep_inputs=True)
    read = {a for e in thin.eqns for a in e.invars if isinstance(a, Var)} | {a for a in outvars if isinstance(a, Var)}
    kept = {v: c for v, c in scope.constants.items() if v in read}
    return ClosedJaxpr(thin.replace(constvars=list(kept)), list(kept.values()))


def _simpler(eqn: JaxprEqn, facts: Facts) -> Sequence[Atom] | JaxprEqn | None:
    """A replacement of an equation, or its results, by the identities of its operation; None when none applies."""
    rule = eqn.primitive.rewrites
    found = None if rule is None else rule(eqn, facts)
    if isinstance(found, JaxprEqn) or found is None:
        return found
    results = found if eqn.primitive.multiple else [found]
    # Weak types reach results and the types of loops, so they must not change.
    return results if all(a.aval is v.aval for a, v in zip(results, eqn.outvars, strict=True)) else None


class _Scope:
    """One program while it is rewritten."""

    def __init__(self, memo: _Memo, inner: bool, keeps_names: bool):
        self.memo, self.inner, self.keeps_names = memo, inner, keeps_names
        self.eqns: list[JaxprEqn] = []
        self.env: dict[Var, Atom] = {}
        self.constants: dict[Var, Any] = {}
        self.producers: dict[Var, JaxprEqn] = {}
        self.facts = Facts(self.producers.get, self.constants.get)
        self.seen: dict[Any, Sequence[Atom]] = {}

    def read(self, a: Atom) -> Atom:
        return a if isinstance(a, Literal) else self.env.get(a, a)

    def add(self, eqn: JaxprEqn, outvars: Sequence[Var], names: tuple[str, ...] = ()) -> None:
        """Rewrites one equation. outvars: the variables of its results, new ones when it was inlined. names: of the scopes
        around the call that held it."""
        op, where = eqn.primitive, within(eqn.source, names)
        eqn = JaxprEqn([self.read(a) for a in eqn.invars], outvars, op, eqn.params, eqn.effects, where)
        if not op.programs:
            self.bind(outvars, self.value(eqn))
            return
        kept = op.inline is None or self.keeps_names and NAMED_CALL <= op.traits
        call = None if kept else op.inline(eqn)
        if call is None:
            self.bind(outvars, self.holder(eqn))
        else:
            program, operands = call
            self.bind(outvars, self.inline(program, operands, eqn.scopes))

    def bind(self, outvars: Sequence[Var], values: Sequence[Atom]) -> None:
        for v, value in zip(outvars, values, strict=True):
            if v is not value:
                self.env[v] = value

    def emit(self, eqn: JaxprEqn) -> None:
        self.eqns.append(eqn)
        self.producers.update((v, eqn) for v in eqn.outvars)

    def value(self, eqn: JaxprEqn) -> Sequence[Atom]:
        """The results of an equation: known values, those of an equal equation, or its own after it is written down."""
        if eqn.effects or (KEEPS_APART <= eqn.primitive.traits and not CHECKS <= eqn.primitive.traits):
            self.emit(eqn)
            return eqn.outvars
        simpler = _simpler(eqn, self.facts) or self.decided(eqn)
        if isinstance(simpler, JaxprEqn):
            eqn = simpler
        elif simpler is not None:
            return simpler
        key = equation_key(eqn, eqn.invars)
        found = self.seen.get(key)
        if found is None:
            found = self.seen[key] = self.folded(eqn) or eqn.outvars
            if found is eqn.outvars:
                self.emit(eqn)
        return found

    # -- known values
    def decided(self, eqn: JaxprEqn) -> Sequence[Atom] | None:
        """The result of an equation that can have one value only, as the intervals of its operands tell."""
        if eqn.primitive.multiple or eqn.outvars[0].aval.shape != ():
            return None
        number = self.facts.number(eqn)
        literal = None if number is None else as_literal(number, eqn.outvars[0].aval)
        return None if literal is None else [literal]

    def folded(self, eqn: JaxprEqn) -> list[Atom] | None:
        """The values of the results, if all operands are known and folding pays; inner programs hold scalars only."""
        if not all(isinstance(a, Literal) or a in self.constants for a in eqn.invars) or not foldable(eqn, eqn.invars):
            return None
        if self.inner and any(v.aval.shape != () for v in eqn.outvars):
            return None
        values = fold(eqn, [a if isinstance(a, Literal) else self.constants[a] for a in eqn.invars])
        return [self.constant(x, v) for x, v in zip(values, eqn.outvars, strict=True)]

    def constant(self, value: Any, var: Var) -> Atom:
        """A constant, as a literal or under the name `var`."""
        literal = as_literal(value, var.aval)
        if literal is not None:
            return literal
        self.constants[var] = value
        return var

    # -- programs
    def inline(self, program: ClosedJaxpr, operands: Sequence[Atom], names: tuple[str, ...] = ()) -> list[Atom]:
        """Writes a called program down here, with new variables, in scopes of these names; its results."""
        outer, jaxpr = self.env, program.jaxpr
        consts = [v.copy() for v in jaxpr.constvars]
        self.constants.update(zip(consts, program.consts, strict=True))
        self.env = dict(zip(jaxpr.invars, operands, strict=True)) | dict(zip(jaxpr.constvars, consts, strict=True))
        for eqn in jaxpr.eqns:
            own = [v.copy() for v in eqn.outvars]
            self.add(eqn, own, names)
            self.env.update((v, self.read(f)) for v, f in zip(eqn.outvars, own, strict=True))
        results = [self.read(a) for a in jaxpr.outvars]
        self.env = outer
        return results

    def holder(self, eqn: JaxprEqn) -> Sequence[Atom]:
        """The results of an equation that holds programs."""
        if eqn.effects or KEEPS_APART <= eqn.primitive.traits:
            return self.rewritten(eqn)
        key = equation_key(eqn, eqn.invars)
        if key not in self.seen:
            self.seen[key] = self.rewritten(eqn)
        return self.seen[key]

    def rewritten(self, eqn: JaxprEqn) -> list[Atom]:
        """Writes down the form that the operation's rule gives an equation; its results."""
        rule = eqn.primitive.simplify
        made = Rewritten(eqn, eqn.outvars) if rule is None else rule(eqn, self)
        for earlier in made.before:
            self.add(earlier, earlier.outvars)
        self.emit(made.eqn.replace(invars=[self.read(a) for a in made.eqn.invars]))
        for later in made.after:
            self.add(later, later.outvars)
        return [self.read(a) for a in made.results]

    def __call__(self, closed: ClosedJaxpr, inputs: Sequence[Interval] | None = None) -> ClosedJaxpr:
        """A program that an operation holds, simplified once per pass for inputs within the same intervals."""
        if closed.consts:
            return closed
        given = () if inputs is None else tuple(i for i, v in zip(inputs, closed.jaxpr.invars, strict=True)
                                                if counts(v.aval.dtype))
        known = self.memo.get((id(closed), given))
        if known is None:
            simple = _simplified(closed, self.memo, True, self.keeps_names, given)
            known = self.memo[id(closed), given] = closed, simple
        return known[1]
