"""Scopes of dimension variables, with the constraints that the user states about them."""
from __future__ import annotations

from collections.abc import Sequence
from math import inf

from numjet.foundation import source
from numjet.foundation.errors import InconclusiveDimensionOperation
from numjet.foundation.record import Record
from numjet.foundation.symbolic.bounds import Bounds, Interval
from numjet.foundation.symbolic.dims import (
    Monomial,
    Operation,
    Size,
    SymbolicDim,
    Terms,
    operations_of,
    over,
    polynomial,
    terms_of,
    times,
    variables_of,
)
from numjet.foundation.symbolic.parse import parse_constraint

_MOST_REWRITES = 100


class Constraint(Record):
    """left == right, or left >= right, the text that said so, and that of left - right before the constraint held."""
    left: Size
    right: Size
    equal: bool
    text: str
    difference: str


class SymbolicScope:
    """Dimension variables that belong together: equal names in one scope are equal sizes.

    constraints_str: what holds for the variables, which are at least 1 anyway: `"a >= 8"`, `"a <= b"`, `"mod(a, 8) == 0"`,
    `"a * b == c"`. Comparisons that they decide can be made while tracing; calls check that they hold.
    Raises ValueError for other text, and for constraints that contradict each other.

    >>> from numjet import export
    >>> a, = export.symbolic_shape("a", scope=export.SymbolicScope(["mod(a, 2) == 0", "a >= 4"]))
    >>> a % 2, a >= 3, a // 2 >= 2
    (0, True, True)
    """

    computed = False  # whether the values are known only when the program runs

    def __init__(self, constraints_str: Sequence[str] = ()):
        if isinstance(constraints_str, str) or not all(isinstance(c, str) for c in constraints_str):
            raise ValueError(f"The symbolic constraints should be a sequence of strings. Got {constraints_str!r}")
        frame = source.user_frame()
        self._made_at = "" if frame is None else f" created at {frame.file}:{frame.line} ({frame.function})"
        self._rules: list[tuple[Monomial, int, Size]] = []
        self._equal: list[Size] = []  # sizes that are 0 by equalities
        self._bounds = Bounds({}, [])
        self.constraints: list[Constraint] = []
        for text in constraints_str:
            self._add(text)

    def __str__(self) -> str:
        stated = "".join(f"\n  {c.text}" for c in self.constraints)
        return f"scope {id(self)}{self._made_at}{' with constraints:' * bool(stated)}{stated}"

    __repr__ = __str__

    def _add(self, text: str) -> None:
        left, sign, right = parse_constraint(text, self)
        if sign == "<=":
            left, right = right, left
        difference = left - right
        self.constraints.append(Constraint(left, right, sign == "==", text, str(difference)))
        if sign == "==":
            self._equal += [difference, -difference]  # as they are: the rule makes them 0
            self._add_equality(left, right, text)
        facts = [c.left - c.right for c in self.constraints if not c.equal]
        for fact, c in zip(facts, [c for c in self.constraints if not c.equal], strict=True):
            if not isinstance(fact, SymbolicDim) and fact < 0:
                raise ValueError(f"Unsatisfiable explicit constraint: {c.text}. It says {fact} >= 0: leave it out or "
                                 "correct it.")
        for c in self.constraints:
            if c.equal:  # what an operation means holds for the size that it is equal to
                facts += [f for side in (c.left, c.right) for op in operations_of(side).values() for f in self.facts_of(op)]
        symbolic = [f for f in (*facts, *self._equal) if isinstance(f, SymbolicDim)]
        self._bounds = Bounds(_intervals(symbolic), symbolic)
        for name, (low, high) in self._bounds.variables.items():
            if low > high:
                raise ValueError(f"Unsatisfiable symbolic constraints: '{text}' leaves no value for '{name}', which is at "
                                 f"least {low} and at most {high}. Leave one out or correct it.")

    def _add_equality(self, left: Size, right: Size, text: str) -> None:
        if not isinstance(left, SymbolicDim):
            left, right = right, left
        if not isinstance(left, SymbolicDim):
            if left != right:
                raise _unequal(text, left - right)
            return
        if isinstance(left - right, int):
            if left != right:
                raise _unequal(text, left - right)
            return
        if len(left.terms) != 1 and isinstance(right, SymbolicDim) and len(right.terms) == 1:
            left, right = right, left
        if len(left.terms) != 1:
            raise ValueError(f"Invalid equality constraint: '{text}'. The left-hand side must be a single term, such as a, a*b "
                             f"or mod(a, 8), got '{left}'.")
        (monomial, coefficient), = left.terms
        self._rules.append((monomial, coefficient, right))
        for operation in operations_of(left).values():
            if operation.name == "mod" and right == 0 and isinstance(operation.args[1], int):
                whole = Operation("floordiv", operation.args)
                self._rules.append((((whole, 1),), operation.args[1], operation.args[0]))

    def rewritten(self, terms: Terms) -> Terms:
        """Terms with the left sides of equalities replaced by the right ones."""
        for _ in range(_MOST_REWRITES if self._rules else 0):
            found = next(filter(None, (self._rewrite(m, c) for m, c in terms.items())), None)
            if found is None:
                break
            old, new = found
            del terms[old]
            for monomial, coefficient in new.items():
                terms[monomial] = terms.get(monomial, 0) + coefficient
            terms = {m: c for m, c in terms.items() if c}
        return terms

    def _rewrite(self, monomial: Monomial, coefficient: int) -> tuple[Monomial, Terms] | None:
        """What one rule makes of a term; None where none applies."""
        for left, factor, right in self._rules:
            rest = over(monomial, left)
            if rest is not None and coefficient % factor == 0:
                return monomial, {times(rest, m): coefficient // factor * c for m, c in terms_of(right).items()}
        return None

    def facts_of(self, op: Operation) -> list[SymbolicDim]:
        """Expressions that are at least 0 for an operation: what a floor or an extremum means."""
        (a, b), value = op.args, polynomial({((op, 1),): 1}, self)
        if op.name == "max":
            found = [value - a, value - b]
        elif op.name == "min":
            found = [a - value, b - value]
        else:
            low, high = self._bounds.interval(b)
            sign = 1 if low > 0 else -1 if high < 0 else 0  # of the divisor, and of the remainder
            rest = value if op.name == "mod" else a - b * value
            found = [sign * rest, sign * (b - rest) - 1] if sign else []
        return [f for f in found if isinstance(f, SymbolicDim)]

    def expect(self, x: Size) -> None:
        """Is told of an expression that must be at least 0, where computed sizes leave it open."""

    def inconclusive(self, a: Size, b: Size, sign: str) -> InconclusiveDimensionOperation:
        """The error of a comparison whose result depends on the values of the variables."""
        usable = sign if sign in (">=", "<=") else {">": "<=", "<": ">="}.get(sign, ">=")
        told = f"\nUsing symbolic {self}" if self.constraints else ""
        return InconclusiveDimensionOperation(
            f"Symbolic dimension comparison '{a}' {sign} '{b}' is inconclusive.{told}\nThe result depends on the values of the "
            f"variables. If it is the same for all sizes that you use, say so: symbolic_shape(..., constraints="
            f"['{a} {usable} {b}']) or the opposite.")

    def no_number(self, size: Size) -> InconclusiveDimensionOperation:
        """The error of a size that is asked for as a Python number."""
        return InconclusiveDimensionOperation(
            f"Symbolic dimension '{size}' used in a context that requires a constant. A size that a function reads as a Python "
            "number must be fixed: export it with a number in the place of this dimension, or compute with arrays.")

    def is_natural(self, x: SymbolicDim) -> bool | None:
        """Whether x >= 0; None where that depends on the variables."""
        if self._bounds.lower(x) >= 0:
            return True
        return False if self._bounds.upper(x) < 0 else None


def _intervals(facts: Sequence[SymbolicDim]) -> dict[str, Interval]:
    """Intervals of variables, by the facts that speak of one variable alone."""
    found: dict[str, Interval] = {}
    for fact in facts:
        constant = terms_of(fact).get((), 0)
        linear = [(m, c) for m, c in fact.terms if m]
        if len(linear) != 1 or len(linear[0][0]) != 1 or linear[0][0][0][1] != 1:
            continue
        name, coefficient = linear[0][0][0][0], linear[0][1]
        if isinstance(name, Operation):
            continue
        low, high = found.get(name, (1, inf))
        found[name] = (max(low, -(constant // coefficient)), high) if coefficient > 0 else (
            low, min(high, constant // -coefficient))
    return found


def _unequal(text: str, difference: Size) -> ValueError:
    return ValueError(f"Unsatisfiable explicit constraint: {text}. It says {difference} == 0: leave it out or correct it.")


def scope_variables(scope: SymbolicScope) -> set[str]:
    """The variables that the constraints speak of."""
    return {name for c in scope.constraints for name in variables_of(c.left) | variables_of(c.right)}
