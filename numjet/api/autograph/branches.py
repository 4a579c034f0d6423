"""Choices: `if`, conditional expressions, `and`, `or`, `not` and chained comparisons, of known and of traced values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.autograph.values import (
    FLAG,
    RESULT,
    VALUE,
    Traced,
    Undefined,
    Variable,
    is_number,
    is_traced,
    same,
    trace,
    truth,
)
from numjet.control.branches.cond import cond
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, tree
from numjet.foundation.record import Record
from numjet.lax.elementwise.bitwise import bitwise_and, bitwise_not, bitwise_or
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.tangent import zeros_like_aval

Get = Callable[[], tuple[Any, ...]]
Set = Callable[[Sequence[Any]], None]


def if_(test: Any, then: Callable[[], None], orelse: Callable[[], None], get: Get, set_: Set, names: Sequence[str],
        where: str) -> None:
    """Runs one of two blocks; with a traced test, both are traced, and the variables that they assign are results of a cond."""
    test = truth(test)
    if not is_traced(test):
        (then if test else orelse)()
        return
    before = get()

    def traced(block: Callable[[], None]) -> Traced:
        def run() -> Sequence[Any]:
            set_(before)
            block()
            return get()
        return trace(run)

    try:
        blocks = traced(then), traced(orelse)
    finally:
        set_(before)
    set_(_merged(test, blocks, names, where))


def _merged(test: Any, blocks: tuple[Traced, Traced], names: Sequence[str], where: str) -> list[Any]:
    """The variables after the branches."""
    jumped = [_jumps(block, names) for block in blocks]
    plans = [_plan(a, b, jumped, name, where)
             for a, b, name in zip(blocks[0].variables, blocks[1].variables, names, strict=True)]
    wanted = [(k, i, leaf) for k, plan in enumerate(plans) for i, leaf in enumerate(plan.leaves) if isinstance(leaf, _Merge)]
    if not wanted:
        return [plan.rebuilt(plan.leaves) for plan in plans]

    def branch(block: Traced) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            found = block.run()
            return [_typed(found.get((k, i), block.variables[k].leaves[i] if block.variables[k].defined else None), merge)
                    for k, i, merge in wanted]
        return run

    chosen = iter(cond(test, branch(blocks[0]), branch(blocks[1])))
    return [plan.rebuilt([next(chosen) if isinstance(leaf, _Merge) else leaf for leaf in plan.leaves]) for plan in plans]


def _jumps(block: Traced, names: Sequence[str]) -> bool:
    """Whether a block ends in a jump, so that nobody reads what it leaves in variables."""
    return any(name.startswith(FLAG) and v.value is True for name, v in zip(names, block.variables, strict=True))


class _Merge(Record):
    """A leaf that differs from branch to branch, and its type."""

    aval: ShapedArray


def _typed(x: Any, merge: _Merge) -> Any:
    if x is None:
        return zeros_like_aval(merge.aval)
    return convert_element_type_p.bind(x, new_dtype=merge.aval.dtype, weak_type=merge.aval.weak_type)


class _Plan(Record):
    """A variable after the branches: leaves, `_Merge` where they are chosen, and their structure; or the value itself."""

    leaves: list[Any]
    structure: Any
    value: Any = None

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        return self.value if self.structure is None else tree.tree_unflatten(self.structure, leaves)


def _plan(a: Variable, b: Variable, jumped: Sequence[bool], name: str, where: str) -> _Plan:
    if not a.defined or not b.defined:
        return _half_defined(a, b, name == RESULT or jumped[int(a.defined)], name, where)
    if a.structure != b.structure:
        raise TypeError(f"{where}: after a traced condition, both branches must leave {_quoted(name)} with the same structure, "
                        f"got {a.structure} and {b.structure}")
    return _Plan([_merge(x, y, name, where) for x, y in zip(a.leaves, b.leaves, strict=True)], a.structure)


def _half_defined(a: Variable, b: Variable, unread: bool, name: str, where: str) -> _Plan:
    """Of a variable that a branch leaves undefined; zeros stand for it where nobody reads it: after a jump, or as the result
    before a return."""
    given = a if a.defined else b
    if unread and given.defined:
        return _Plan([_Merge(aval_of(x)) if is_number(x) else x for x in given.leaves], given.structure)
    why = f"{where}: only one branch of a traced condition assigns it" if given.defined else given.value._why
    return _Plan([], None, Undefined(name, why))


def _merge(x: Any, y: Any, name: str, where: str) -> Any:
    if same(x, y):
        return x
    if not is_number(x) or not is_number(y):
        raise TypeError(f"{where}: after a traced condition, {_quoted(name)} would be {x!r} or {y!r}: these are no numbers or "
                        "arrays, so the program cannot choose")
    shapes = aval_of(x).shape, aval_of(y).shape
    if shapes[0] != shapes[1]:
        raise TypeError(f"{where}: after a traced condition, both branches must leave {_quoted(name)} with the same shape, got "
                        f"{shapes[0]} and {shapes[1]}")
    weak = aval_of(x).weak_type and aval_of(y).weak_type
    return _Merge(ShapedArray(shapes[0], dtypes.result_type(x, y), weak))


def _quoted(name: str) -> str:
    return name if name in (RESULT, VALUE) else f"the variable '{name}'"


def if_expression(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], where: str) -> Any:
    """The value of `a if test else b`."""
    test = truth(test)
    if not is_traced(test):
        return then() if test else orelse()
    blocks = trace(lambda: [then()]), trace(lambda: [orelse()])
    return _merged(test, blocks, [VALUE], where)[0]


def and_(first: Any, rest: Callable[[], Any], where: str) -> Any:
    """The value of `first and rest`: `rest` is computed only if it is needed."""
    known = truth(first)
    if not is_traced(known):
        return rest() if known else first
    return _joined(known, first, rest, bitwise_and, where, lambda then, kept: (then, kept))


def or_(first: Any, rest: Callable[[], Any], where: str) -> Any:
    """The value of `first or rest`."""
    known = truth(first)
    if not is_traced(known):
        return first if known else rest()
    return _joined(known, first, rest, bitwise_or, where, lambda then, kept: (kept, then))


def _joined(test: Any, first: Any, rest: Callable[[], Any], join: Callable[[Any, Any], Any], where: str,
            order: Callable[[Traced, Traced], tuple[Traced, Traced]]) -> Any:
    """A conjunction or disjunction: of booleans without side effects as an operation, else as a choice."""
    block, kept = trace(lambda: [rest()]), trace(lambda: [first])
    value = block.variables[0].value
    if test is first and _is_bool(value) and not any(e.effects or e.primitive.programs for e in block.jaxpr.eqns):
        return join(first, block.run().get((0, 0), value))
    return _merged(test, order(block, kept), [VALUE], where)[0]


def _is_bool(value: Any) -> bool:
    return is_number(value) and aval_of(value).dtype.kind == "b" and not aval_of(value).shape


def not_(x: Any) -> Any:
    """The value of `not x`."""
    known = truth(x)
    return bitwise_not(known) if is_traced(known) else not known


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Is": operator.is_, "IsNot": operator.is_not, "In": lambda x, y: x in y, "NotIn": lambda x, y: x not in y,
}


def chain(first: Any, steps: Sequence[tuple[str, Callable[[], Any]]], where: str) -> Any:
    """The value of `a < b < c`: each operand is computed at most once."""
    (kind, operand), *rest = steps
    second = operand()
    found = _COMPARISONS[kind](first, second)
    return and_(found, lambda: chain(second, rest, where), where) if rest else found


def result(value: Any, returned: Any, always: bool, where: str) -> Any:
    """What the function returns. always: every path ends in a return."""
    if is_traced(returned) and not always:
        raise TypeError(f"{where}: with a traced condition, a function that returns a value on one path must return one on all "
                        "paths; the end of the function is reached without")
    return None if isinstance(value, Undefined) else value


