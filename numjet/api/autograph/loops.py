"""Loops: `while` and `for`, of known and of traced values.

A loop runs in Python as long as its test is known. From the first traced test on, its body is traced once, and the rest is a
`while_loop` over the variables that it assigns. Which of their leaves it carries is a fixpoint: arrays, and Python numbers that
the body changes.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from numjet.api.autograph.branches import Get, Set, and_, if_, not_
from numjet.api.autograph.values import (
    RESULT,
    Traced,
    Undefined,
    Variable,
    is_number,
    is_scalar_of_python,
    is_traced,
    same,
    trace,
    truth,
    variable,
)
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.core.aval import ShapedArray
from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes, tree
from numjet.foundation.record import Record
from numjet.lax.elementwise.arithmetic import add, div, mul, sub
from numjet.lax.elementwise.compare import gt, lt, max as maximum
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim
from numjet.lax.tangent import zeros_like_aval

Block = Callable[[], None]
Test = Callable[[], Any]


def while_(test: Test, body: Block, get: Get, set_: Set, names: Sequence[str], where: str) -> None:
    """A `while` statement; the test says, too, whether a `break` or `return` ended it."""
    while True:
        found = truth(test())
        if is_traced(found):
            _stage(test, body, get, set_, names, where)
            return
        if not found:
            return
        body()


class TracedRange(Record):
    """What `range` gives for traced bounds."""

    start: Any
    stop: Any
    step: Any


def range_(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of something named `range`: of Python's own with traced bounds it is a TracedRange."""
    if function is not builtins.range or kwargs or not any(map(is_traced, args)):
        return function(*args, **kwargs)
    start, stop, step = {1: (0, *args, 1), 2: (*args, 1)}.get(len(args), args)
    for x in (start, stop, step):
        if aval_of(x).shape or aval_of(x).dtype.kind not in "iu":
            raise TypeError(f"range() takes integer scalars, got {aval_of(x)}")
    if not is_traced(step) and int(step) == 0:
        raise ValueError("range() arg 3 must not be zero")
    dtype = dtypes.result_type(start, stop, step)
    return TracedRange(*[convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False) for x in (start, stop, step)])


def for_(items: Any, assign: Callable[[Any], None], body: Block, stopped: Test | None, get: Get, set_: Set,
         names: Sequence[str], where: str) -> None:
    """A `for` statement. assign: gives the loop's variables the next item; stopped: whether a `break` or `return` ended it."""
    loop = _For(assign, body, stopped, get, set_, names, where)
    if isinstance(items, TracedRange):
        start, stop, step = items.start, items.stop, items.step
        up = maximum(_ceil(sub(stop, start), step), np.zeros((), aval_of(step).dtype))
        loop.staged(up, lambda k: add(start, mul(step, k)))
    elif isinstance(items, Tracer) and is_traced(items):
        if not aval_of(items).shape:
            raise TypeError(f"{where}: iteration over a 0-d array")
        loop.staged(aval_of(items).shape[0], lambda k: dynamic_index_in_dim(items, k, keepdims=False))
    elif isinstance(items, builtins.range):
        loop.of_range(items)
    else:
        loop.of_any(iter(items))


def _nth(start: int, step: int, k: Any) -> Any:
    return add(mul(k, step), start)


def _ceil(distance: Any, step: Any) -> Any:
    """How many steps lead past a distance: for steps in either direction, as Python counts."""
    one = np.ones((), aval_of(step).dtype)
    toward = convert_element_type_p.bind(gt(step, one - one), new_dtype=aval_of(step).dtype, weak_type=False)
    sign = sub(mul(toward, one + one), one)
    return div(add(mul(distance, sign), sub(mul(step, sign), one)), mul(step, sign))


class _For(Record):
    """A `for` statement without its items."""

    assign: Callable[[Any], None]
    body: Block
    stopped: Test | None
    get: Get
    set_: Set
    names: Sequence[str]
    where: str

    def _step(self, item: Any) -> None:
        self.assign(item)
        self.body()

    def _goes_on(self) -> Any:
        return self.stopped is None or not_(self.stopped())

    def of_range(self, items: range) -> None:
        """Steps in Python, until a `break` depends on a traced value."""
        for k, item in enumerate(items):
            found = False if self.stopped is None else truth(self.stopped())
            if is_traced(found):
                self.staged(len(items) - k, functools.partial(_nth, item, items.step))
                return
            if found:
                return
            self._step(item)

    def of_any(self, items: Iterator[Any]) -> None:
        """Steps in Python, each under a condition once a `break` depends on a traced value."""
        for item in items:
            found = False if self.stopped is None else truth(self.stopped())
            if not is_traced(found) and found:
                return
            if_(not_(found), functools.partial(self._step, item), lambda: None, self.get, self.set_, self.names, self.where)

    def staged(self, count: Any, item: Callable[[Any], Any]) -> None:
        """A loop of the program, over the number of the step and the variables."""
        at: Any = np.zeros((), aval_of(count).dtype) if is_traced(count) else 0

        def get() -> tuple[Any, ...]:
            return (*self.get(), at)

        def set_(values: Sequence[Any]) -> None:
            nonlocal at
            *own, at = values
            self.set_(own)

        def body() -> None:
            nonlocal at
            self._step(item(at))
            at = add(at, np.ones((), aval_of(at).dtype) if is_traced(count) else 1)

        def test() -> Any:
            return lt(at, count) if self.stopped is None else and_(lt(at, count), self._goes_on, self.where)

        known = None if self.stopped is not None or is_traced(count) else count
        _stage(test, body, get, set_, [*self.names, "the number of the step"], self.where, known)


def _stage(test: Test, body: Block, get: Get, set_: Set, names: Sequence[str], where: str, count: int | None = None) -> None:
    """The loop as part of the program; count: how many steps it takes, if that is known and no `break` ends it."""
    first = get()
    try:
        state = _State([variable(x) for x in first], names, where)
        while (block := state.traced(body, get, set_)) is None:
            pass
        condition = trace(lambda *xs: _tested(test, state, set_, xs), state.avals())
    finally:
        set_(first)
    step = lambda xs: [_as(x, a) for x, a in zip(state.after(block, xs), state.avals(), strict=True)]
    init = [_as(x, a) for x, a in zip(state.carried(), state.avals(), strict=True)]
    if count is not None:
        outs = fori_loop(0, count, lambda _, xs: step(xs), init)
    else:
        known = condition.variables[0].value
        outs = while_loop(lambda xs: condition.run(*xs).get((0, 0), known), step, init)
    set_(state.rebuilt(outs, block))


def _tested(test: Test, state: _State, set_: Set, xs: Sequence[Any]) -> list[Any]:
    set_(state.with_leaves(xs))
    return [truth(test())]


def _as(x: Any, aval: ShapedArray) -> Any:
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


class _State:
    """The variables of a loop, and which of their leaves it carries, with their types."""

    def __init__(self, variables: list[Variable], names: Sequence[str], where: str):
        self.variables, self.names, self.where = variables, names, where
        self.types: dict[tuple[int, int], ShapedArray] = {
            (k, i): aval_of(leaf) for k, v in enumerate(variables) for i, leaf in enumerate(v.leaves)
            if is_number(leaf) and not is_scalar_of_python(leaf)}

    def avals(self) -> list[ShapedArray]:
        return list(self.types.values())

    def carried(self) -> list[Any]:
        return [self.variables[k].leaves[i] for k, i in self.types]

    def with_leaves(self, xs: Sequence[Any]) -> list[Any]:
        """The values of all variables, given those of the carried leaves."""
        new = dict(zip(self.types, xs, strict=True))
        return [tree.tree_unflatten(v.structure, [new.get((k, i), leaf) for i, leaf in enumerate(v.leaves)]) if v.defined
                else v.value for k, v in enumerate(self.variables)]

    def traced(self, body: Block, get: Get, set_: Set) -> Traced | None:
        """The body, traced; None when the state had to change for it."""
        def run(*xs: Any) -> tuple[Any, ...]:
            set_(self.with_leaves(xs))
            body()
            return get()

        block = trace(run, self.avals())
        changed = [self._adapt(k, before, after) for k, (before, after) in
                   enumerate(zip(self.variables, block.variables, strict=True))]
        return None if any(changed) else block

    def _adapt(self, k: int, before: Variable, after: Variable) -> bool:
        """Carries more of a variable where the body changes it; whether it did."""
        name = self.names[k]
        if not before.defined:
            return name == RESULT and after.defined and self._fill(k, after)
        if not after.defined:
            raise UnboundLocalError(f"{self.where}: {_quoted(name)} may have no value after a step of a loop with a traced "
                                    f"condition: {after.value._why}")
        if before.structure != after.structure:
            raise TypeError(f"{self.where}: a loop with a traced condition must keep the structure of {_quoted(name)}, got "
                            f"{before.structure} in front of a step and {after.structure} after it")
        pairs = enumerate(zip(before.leaves, after.leaves, strict=True))
        changed = [self._adapt_leaf((k, i), x, y) for i, (x, y) in pairs]
        return any(changed)

    def _adapt_leaf(self, key: tuple[int, int], x: Any, y: Any) -> bool:
        name, known = self.names[key[0]], self.types.get(key)
        if known is None and same(x, y):
            return False
        if not is_number(x) or not is_number(y):
            raise TypeError(f"{self.where}: in a loop with a traced condition, {_quoted(name)} changes from {x!r} to {y!r}: "
                            "these are no numbers or arrays, so the program cannot carry them")
        old = aval_of(x) if known is None else known
        wanted = self._common(name, old, aval_of(y))
        if wanted == known:
            return False
        self.types[key] = wanted
        return True

    def _common(self, name: str, old: ShapedArray, new: ShapedArray) -> ShapedArray:
        """The type that a leaf is carried with; weakly typed ones adapt."""
        if old.shape != new.shape:
            raise TypeError(f"{self.where}: a loop with a traced condition must keep the shape of {_quoted(name)}, got "
                            f"{old.shape} in front of a step and {new.shape} after it")
        dtype = dtypes.result_type(old, new)
        if dtype != old.dtype and not old.weak_type:
            raise TypeError(f"{self.where}: a loop with a traced condition must keep the type of {_quoted(name)}, got {old} in "
                            f"front of a step and {new} after it. Convert it to {dtype.name} in front of the loop.")
        return ShapedArray(old.shape, dtype, old.weak_type and new.weak_type)

    def _fill(self, k: int, after: Variable) -> bool:
        """Gives the result of a `return` in the loop zeros to start with: it is read only where the loop has returned."""
        leaves = [zeros_like_aval(aval_of(x)) if is_number(x) else x for x in after.leaves]
        self.variables[k] = Variable(tree.tree_unflatten(after.structure, leaves), leaves, after.structure)
        self.types.update({(k, i): aval_of(x).strip_weak_type() for i, x in enumerate(leaves) if is_number(x)})
        return True

    def after(self, block: Traced, xs: Sequence[Any]) -> list[Any]:
        """The carried leaves after a step."""
        found = block.run(*xs)
        return [found.get(key, block.variables[key[0]].leaves[key[1]]) for key in self.types]

    def rebuilt(self, outs: Sequence[Any], block: Traced) -> list[Any]:
        """The variables after the loop. One without a value in front of it may have none after it."""
        why = f"{self.where}: a loop with a traced condition may take no step, and only its steps assign it"
        values = self.with_leaves(outs)
        return [v if not isinstance(v, Undefined) or not after.defined else Undefined(name, why)
                for v, after, name in zip(values, block.variables, self.names, strict=True)]


def _quoted(name: str) -> str:
    return name if name == RESULT or " " in name else f"the variable '{name}'"
