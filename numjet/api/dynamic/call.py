"""Calls of functions with data-dependent shapes: what their programs return besides the results, and what is made of it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.dynamic import rules as rules
from numjet.api.dynamic.program import Program
from numjet.api.dynamic.trace import PaddedTracer, PaddingTrace
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.core import nan_checks
from numjet.core.aval import ShapedArray
from numjet.core.stage import StageTrace
from numjet.core.trace import current_trace, set_trace
from numjet.foundation.dimension import Dimension, computed_sizes
from numjet.foundation.record import Record
from numjet.foundation.symbolic.dims import substituted
from numjet.lax.shape.leading import leading_p
from numjet.runtime import dispatch


class Trimming(Record):
    """What follows the padded results of a program: the values of its sizes, then the number of the check that failed.

    shapes: those of the results, with sizes as expressions. sizes: the expressions whose values are returned. given: the
    variables whose values are arguments, and given_checks the expressions of these that must be at least 0, with messages.
    """
    shapes: tuple[tuple[Any, ...], ...]
    sizes: tuple[Any, ...]
    messages: tuple[str, ...]
    given: tuple[str, ...] = ()
    given_checks: tuple[tuple[Any, str], ...] = ()

    def check(self, numbers: Sequence[int]) -> None:
        """ValueError if the sizes that are arguments fail a check."""
        values = dict(zip(self.given, numbers, strict=True))
        for size, message in self.given_checks:
            if substituted(size, values) < 0:
                raise ValueError(message)

    def known_shapes(self, numbers: Sequence[int]) -> list[tuple[int, ...]] | None:
        """The shapes of the results for sizes that are arguments; None where the program computes more, or fails."""
        values = dict(zip(self.given, numbers, strict=True))
        return None if self.sizes or self.messages else [tuple(substituted(n, values) for n in s) for s in self.shapes]

    def trimmed(self, outs: Sequence[Any], numbers: Sequence[int] = ()) -> list[Any]:
        """The results with their true shapes. ValueError if a check failed. numbers: the sizes that are arguments."""
        count = len(self.shapes)
        if self.messages and (failed := int(outs[-1])):
            raise ValueError(self.messages[failed - 1])
        values = {size: int(n) for size, n in zip(self.sizes, outs[count:], strict=False)}
        given = dict(zip(self.given, numbers, strict=True))
        for size in (n for s in self.shapes for n in s if isinstance(n, Dimension) and n not in values):
            values[size] = substituted(size, given)
        return [_cut(x, shape, values) for x, shape in zip(outs[:count], self.shapes, strict=True)]

    def why_not_nested(self, name: str) -> str:
        """Why the program cannot be part of another one; empty if it can."""
        if self.sizes:
            return (f"{name} returns an array whose size is computed when the program runs, and is called in another "
                    "transformation, which must know it. Make the outermost function jit(..., dynamic_shapes=True), which the "
                    "functions that it calls follow, or return a result of known size (a sum, nonzero(size=...)).")
        return (f"{name} has sizes that are checked when the program runs, and is called in another transformation, where "
                f"nobody looks at the checks: {self.messages[0]} Bound the size, jnp.minimum(n, 1000), or make the outermost "
                "function jit(..., dynamic_shapes=True).")


def _cut(x: Any, shape: tuple[Any, ...], values: dict[Any, int]) -> Any:
    """A padded result without its padding."""
    if not any(isinstance(n, Dimension) for n in shape):
        return x
    true = tuple(values[n] if isinstance(n, Dimension) else n for n in shape)
    if true[1:] == x.aval.shape[1:] and x._remote is None and 4 * true[0] >= x.aval.shape[0]:  # else much memory would be held
        return _native.resized(x, ShapedArray(true, x.aval.dtype, x.aval.weak_type))
    part = np.asarray(x)[tuple(slice(n) for n in true)]
    return dispatch.owned_array(np.array(part), ShapedArray(true, x.aval.dtype, x.aval.weak_type))


def why_not_tested(name: str) -> str:
    """Why a program with padded arrays cannot be part of one whose values are tested."""
    return (f"{name} may have sizes that are computed when it runs, and is called in a function whose values checkify tests: "
            "it would test the padding of arrays, too. Give checkify the function with dynamic_shapes itself, "
            "checkify(jit(f, dynamic_shapes=True)), or make what checkify returns one: jit(checkify(f), dynamic_shapes=True).")


def active() -> bool:
    """Whether a function with data-dependent shapes is being traced."""
    return computed_sizes.maker is not None


def padded(fun: Callable[..., Sequence[Any]], limit: int | None, found: list[Trimming]) -> Callable[..., list[Any]]:
    """A flat function whose arrays may have computed sizes as one whose results are padded, followed by what `Trimming` says.

    limit: the bound of sizes that have none. found: gets a Trimming, if something follows.
    """
    def run(*args: Any) -> list[Any]:
        parent = current_trace()
        assert isinstance(parent, StageTrace)
        program = Program(limit)
        program.trace = program.outermost = trace = PaddingTrace(parent, program)
        try:
            with set_trace(trace), _native.Scope(computed_sizes, "maker", program):
                outs = fun(*args)
        finally:
            trace.valid = False
        shapes = tuple(x.aval.shape if isinstance(x, PaddedTracer) else () for x in outs)
        symbolic = [n for s in shapes for n in s if isinstance(n, Dimension)]
        sizes = tuple(dict.fromkeys(n for n in symbolic if not program.is_given(n)))
        extra = [trace.size(n) for n in sizes] + [trace.code()] * bool(program.messages)
        if extra or symbolic or program.given_checks:
            found.append(Trimming(shapes, sizes, tuple(program.messages), tuple(program.inputs),
                                  tuple(program.given_checks)))
        return [*(_not_derived(_asked(trace, x)) if program.scope.abouts else x for x in outs), *extra]
    return run


def _asked(trace: PaddingTrace, x: Any) -> Any:
    """A padded result. Of a dynamic axis in front, the compiler is told that only the rows in it are asked for."""
    value = trace.unpack(x)
    if isinstance(x, PaddedTracer) and nan_checks.checked_kinds() and x.aval.dtype.names is None:
        with set_trace(trace.parent):
            return trace.masked(value, x.aval, 0)  # a NaN in the padding is no mistake
    rows = x.aval.shape[0] if isinstance(x, PaddedTracer) else None
    found = _linear(rows, trace.program.inputs) if isinstance(rows, Dimension) else None
    if found is None:
        return value
    name, times, plus = found
    with set_trace(trace.parent):
        return leading_p.bind(value, trace.values[name], times=times, plus=plus)


def _linear(size: Any, inputs: Sequence[str]) -> tuple[str, int, int] | None:
    """(n, times, plus) of a size n * times + plus, where n is an argument."""
    plus = sum(c for monomial, c in size.terms if not monomial)
    rest = [(monomial, c) for monomial, c in size.terms if monomial]
    if len(rest) != 1 or rest[0][1] < 1 or len(rest[0][0]) != 1:
        return None
    (((name, exponent),), times), = rest
    return (name, times, plus) if name in inputs and exponent == 1 else None


@custom_jvp
def _not_derived(x: Any) -> Any:
    """A result of a padded program. Its derivative would see the padding, so it is taken of the function inside."""
    return x


@_not_derived.defjvp
def _refused(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError("Differentiation of a compiled function with computed sizes: its arrays have padding, on which a "
                              "derivative may be infinite. Differentiate inside of jit: jit(grad(f), dynamic_shapes=True).")
