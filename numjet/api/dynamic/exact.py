"""Programs of known sizes out of one trace with symbolic ones: what the compiler generalizes from (cpu/generic).

A function with dynamic axes is traced once, with sizes as symbols. `ExactTrace` runs the result with numbers in the place of
these, so that every shape is known, while sizes that are used as values stay inputs of the program.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numjet.api.arguments import flatten_result
from numjet.api.dynamic.program import Program
from numjet.api.dynamic.trace import PaddingTrace, mentions_sizes
from numjet.control.checks.size_ops import bind_size_p, check_sizes_p, expect_size_p
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Op
from numjet.core.stage import StageTrace, trace_to_closed
from numjet.core.trace import Tracer, aval_of, current_trace, set_trace
from numjet.core.walk import eval_closed
from numjet.foundation import tree
from numjet.foundation.dimension import Dimension, computed_sizes, is_symbolic
from numjet.foundation.record import Record
from numjet.foundation.symbolic.dims import operations_of, polynomial, substituted
from numjet.foundation.util import function_name
from numjet.lax.shape.dimension import dim_as_value_p

INT32 = np.dtype(np.int32)


class Symbolic(Record):
    """A function with dynamic axes, traced for symbolic sizes. names: the variables of the sizes that are arguments; derived:
    other sizes that shapes depend on, by operations on those; checks: sizes that are at least 0, with messages."""

    closed: ClosedJaxpr
    names: tuple[str, ...]
    program: Program
    derived: tuple[Any, ...] = ()
    checks: tuple[tuple[Any, str], ...] = ()

    def numbers(self, sizes: Sequence[int]) -> list[int]:
        """The sizes that are arguments, and those derived from them."""
        values = dict(zip(self.names, sizes, strict=True))
        return [*sizes, *(substituted(d, values) for d in self.derived)]

    def check(self, sizes: Sequence[int]) -> None:
        """ValueError if sizes fail a check."""
        values = dict(zip(self.names, sizes, strict=True))
        for size, message in self.checks:
            if substituted(size, values) < 0:
                raise ValueError(message)

    def shapes(self, sizes: Sequence[int]) -> list[tuple[int, ...]]:
        """The shapes of the results."""
        values = dict(zip(self.names, sizes, strict=True))
        return [tuple(substituted(n, values) for n in aval.shape) for aval in self.closed.out_avals]


class Traced(threading.local):
    """What a thread has traced last."""

    last: Symbolic


class NotExact(NotImplementedError):
    """A program that has no form for known sizes: it computes sizes, or checks them while it runs."""


class ExactTrace(PaddingTrace):
    """Runs operations on symbolic arrays as the same operations on arrays of known sizes.

    numbers: by the names of variables; seen: all sizes that were asked for.
    """

    __slots__ = ("numbers", "seen")
    pads = False

    def __init__(self, parent: StageTrace, program: Program, values: dict[str, Any] | None, numbers: Mapping[str, int],
                 seen: set[Any]):
        super().__init__(parent, program, values)
        self.numbers, self.seen = numbers, seen

    def below(self, stage: StageTrace) -> ExactTrace:
        """The trace for the body of a loop or branch."""
        return ExactTrace(stage, self.program, self.values, self.numbers, self.seen)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if op in (bind_size_p, check_sizes_p):
            raise NotExact("sizes that are computed when the program runs")
        if op is expect_size_p or op is dim_as_value_p or op.programs:
            return super().process(op, args, params)
        operands = [self.unpack(a) for a in args]
        if all(a is b for a, b in zip(args, operands, strict=True)) and not mentions_sizes(op, params):
            with set_trace(self.parent):
                return op.bind(*args, **params)
        with set_trace(self.parent):
            made = op.bind(*operands, **{k: self.known(v) for k, v in params.items()})
        if any(is_symbolic(aval_of(x).shape) for x in (made if op.multiple else [made])):   # what no parameter shows
            raise self.no_rule(op, [aval_of(a) for a in args])
        outs = op.abstract(*map(aval_of, args), **params)
        if op.multiple:
            return [self.pack(x, a) for x, a in zip(made, outs, strict=True)]
        return self.pack(made, outs)

    def known(self, value: Any) -> Any:
        """A parameter with numbers in the place of sizes."""
        if isinstance(value, Dimension):
            self.seen.add(value)
            return substituted(value, self.numbers)
        if isinstance(value, ShapedArray):
            return value.update(shape=self.shape(value.shape))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.known, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.known, value))
        return value

    def shape(self, shape: Any) -> tuple[int, ...]:
        return tuple(map(self.known, shape))

    def pack(self, value: Any, aval: ShapedArray) -> Any:
        self.seen.update(n for n in aval.shape if isinstance(n, Dimension))
        return super().pack(value, aval)


# ------------------------------------------------------------------------------------------------ programs

def on_symbolic(fun: Callable[..., Any], found: Traced) -> Callable[..., Any]:
    """The function (sizes, what is static, *arguments) that traces another one for symbolic sizes, and puts it into `found`.
    Its own results are zeros in the place of those."""
    def run(numbers: Any, held: Any, *args: Any, **kwargs: Any) -> Any:
        maker = computed_sizes.maker
        dims = {name: maker.input_size(n, most, name) for (name, most), n in zip(held.capacity, numbers, strict=True)}
        leaves, structure = tree.tree_flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, Tracer)]
        avals = [_symbolic_aval(leaves[k].aval, held.axes[k], dims) for k in places]
        out_tree: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given = list(leaves)
            for k, x in zip(places, xs, strict=True):
                given[k] = x
            args, kwargs = tree.tree_unflatten(structure, given)
            return flatten_result(fun(*args, **kwargs), out_tree, fun)

        closed = trace_to_closed(flat, avals)
        found.last = _completed(Symbolic(closed, tuple(map(str, dims.values())), maker), [n for _, n in held.capacity])
        return tree.tree_unflatten(out_tree[0], [np.int32(0)] * len(closed.out_avals))

    run.__name__ = run.__qualname__ = function_name(fun)
    return run


def _symbolic_aval(aval: ShapedArray, axes: Sequence[tuple[int, str]], dims: Mapping[str, Any]) -> ShapedArray:
    shape = list(aval.shape)
    for axis, name in axes:
        shape[axis] = dims[name]
    return ShapedArray(tuple(shape), aval.dtype, aval.weak_type)


def _completed(traced: Symbolic, most: Sequence[int]) -> Symbolic:
    """With the sizes that shapes depend on, and the checks of sizes."""
    seen: set[Any] = set()
    before, traced.program.given_checks = traced.program.given_checks, []
    try:
        specialized(traced, most, seen)
        checks = tuple(traced.program.given_checks)
    except NotImplementedError:   # which is told again when the program is asked for
        checks = ()
    finally:
        traced.program.given_checks = before
    operations = {text: op for n in seen for text, op in operations_of(n).items()}
    derived = tuple(polynomial({((operations[text], 1),): 1}, traced.program.scope) for text in sorted(operations))
    return traced.replace(derived=derived, checks=checks)


def specialized(traced: Symbolic, sizes: Sequence[int], seen: set[Any] | None = None) -> ClosedJaxpr:
    """The program for known sizes: its first inputs are these and the derived ones, as int32. NotExact where there is none."""
    numbers = dict(zip(traced.names, sizes, strict=True))

    def flat(*xs: Any) -> list[Any]:
        stage = current_trace()
        assert isinstance(stage, StageTrace)
        given = dict(zip(traced.names, xs, strict=False))
        program: Any = traced.program
        trace = ExactTrace(stage, program, given, numbers, set() if seen is None else seen)
        kept = program.trace, program.outermost
        program.trace = program.outermost = trace
        try:
            with set_trace(trace):
                arrays = xs[len(sizes) + len(traced.derived):]
                packed = [trace.pack(x, a) for x, a in zip(arrays, traced.closed.in_avals, strict=True)]
                outs = eval_closed(traced.closed, *packed)
                if trace.codes:
                    raise NotExact("checks while the program runs")
                return [trace.unpack(x) for x in outs]
        finally:
            program.trace, program.outermost = kept
            trace.valid = False

    scalars = [ShapedArray((), INT32)] * (len(sizes) + len(traced.derived))
    avals = [a.update(shape=tuple(substituted(n, numbers) for n in a.shape)) for a in traced.closed.in_avals]
    return trace_to_closed(flat, [*scalars, *avals])
