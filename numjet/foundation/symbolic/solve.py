"""Values of dimension variables from the shapes of a call, by substitution of linear equations in one variable."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.foundation.record import Record
from numjet.foundation.symbolic.dims import Size, SymbolicDim, compare, substituted, variables_of
from numjet.foundation.symbolic.scope import SymbolicScope

_DOCS = "Please see https://docs.jax.dev/en/latest/export/shape_poly.html#{} for more details."
Values = dict[str, Size]


class Axis(Record):
    """One axis of an argument: where it is, the size that it was exported for, and its size in a call."""
    where: str
    spec: Size
    size: Size


class Solution:
    """The values found so far, with where they come from."""

    def __init__(self, axes: Sequence[Axis], shapes: str):
        self.axes, self.shapes = axes, shapes
        self.values: Values = {}
        self.sources: list[str] = []

    def error(self, why: str) -> ValueError:
        found = "".join(f"{s}, " for s in self.sources)
        return ValueError(
            f"Input shapes do not match the polymorphic shapes specification. {why}. Using the following polymorphic shapes "
            f"specifications: {self.shapes}. Obtained dimension variables: {found}. "
            + _DOCS.format("shape-assertion-errors"))

    def take(self, axis: Axis) -> bool:
        """Solves the equation of an axis for its one unknown variable; False where it has several or is not linear."""
        unknown = variables_of(axis.spec) - self.values.keys()
        if not unknown:
            return self._check(axis, substituted(axis.spec, self.values))
        name = unknown.pop()
        if unknown or not _linear(axis.spec, name):
            return False
        constant, one = (substituted(axis.spec, {**self.values, name: n}) for n in (0, 1))
        factor = one - constant
        if not isinstance(factor, int) or not factor:
            return False
        self._set(name, axis, axis.size - constant, factor)
        return True

    def _set(self, name: str, axis: Axis, product: Size, factor: int) -> None:
        rest = product % factor
        if rest != 0:
            raise self.error(f"Division had remainder {rest} when computing the value of '{name}'")
        value = self.values[name] = product // factor
        self.sources.append(f"'{name}' = {value} from specification '{axis.spec}' for dimension {axis.where} (= {axis.size})")
        if not compare(value, 1, ">="):
            raise self.error(f"Expected value >= 1 for dimension variable '{name}'")

    def _check(self, axis: Axis, value: Size) -> bool:
        if value != axis.size:
            raise self.error(f"Found inconsistency between dimension size {axis.where} (= {axis.size}) and the specification "
                             f"'{axis.spec}' (= {value})")
        return True

    def check_constraints(self, scope: SymbolicScope) -> None:
        """Raises where a constraint of the user does not hold for the values."""
        for c in scope.constraints:
            if c.equal and not variables_of(c.left) <= self.values.keys() and isinstance(c.left, SymbolicDim):
                continue  # the constraint was the definition of its left side
            if missing := sorted((variables_of(c.left) | variables_of(c.right)) - self.values.keys()):
                raise ValueError(unexpected_variable(missing[0], self.values))
            left, right = (substituted(side, self.values) for side in (c.left, c.right))
            if not (left == right if c.equal else compare(left, right, ">=")):
                relation = "equal" if c.equal else "greater or equal"
                raise self.error(f"Expected '{c.difference}' to be {relation} to 0, but found {left - right}: the "
                                 f"constraint '{c.text}' does not hold")


def _linear(x: Size, name: str) -> bool:
    """Whether a size is linear in a variable, given the others."""
    powers = [power for monomial, _ in x.terms for power in monomial] if isinstance(x, SymbolicDim) else []
    return all(exponent == 1 if factor == name else isinstance(factor, str) or not any(name in variables_of(arg)
                                                                                     for arg in factor.args)
               for factor, exponent in powers)


def unexpected_variable(name: str, values: Values) -> str:
    """The message for a variable that no shape of an argument determines."""
    return (f"Encountered dimension variable '{name}' that is not appearing in the shapes of the function arguments. The "
            f"following dimension variables are appearing in the shapes of the function arguments: {sorted(values)}. "
            + _DOCS.format("dimension-variables-must-be-solvable-from-the-input-shapes"))


def solve(axes: Sequence[Axis], scope: SymbolicScope | None, shapes: str) -> Values:
    """The values of all variables. ValueError where they cannot be found, or contradict a size or a constraint.

    shapes: the shapes that the function was exported for, as text for messages.
    """
    found = Solution(axes, shapes)
    pending = list(axes)
    while pending:
        left = [axis for axis in pending if not found.take(axis)]
        if len(left) == len(pending):
            raise _unsolvable(found, left)
        pending = left
    if scope is not None:
        found.check_constraints(scope)
    return found.values


def _unsolvable(found: Solution, left: Sequence[Axis]) -> ValueError:
    unknown = set().union(*(variables_of(axis.spec) for axis in left)) - found.values.keys()
    names = ", ".join(f"'{name}'" for name in sorted(unknown))
    unused = ", ".join(f"'{axis.spec}' for dimension size {axis.where}" for axis in left)
    return ValueError(
        f"Cannot solve for values of dimension variables {{{names}}}. We can only solve linear uni-variate constraints. Using "
        f"the following polymorphic shapes specifications: {found.shapes}. Unprocessed specifications: {unused}. "
        + _DOCS.format("dimension-variables-must-be-solvable-from-the-input-shapes"))
