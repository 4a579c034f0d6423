"""Padded programs of the bodies of loops and branches.

A body that mentions sizes is traced again with a PaddingTrace of its own, which knows the sizes around it. What it returns is
followed by the numbers of those sizes that it computes itself and that shapes of its results mention, and by a code: 0, or the
number of the check that failed.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.dynamic.trace import PaddedTracer, PaddingTrace
from numjet.control.call.jaxpr_transforms import without_consts
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.stage import DebugInfo, StageTrace, trace_to_closed
from numjet.core.trace import current_trace, set_trace
from numjet.core.walk import eval_closed
from numjet.foundation.dimension import variables_in
from numjet.foundation.record import Record


class Staged(Record):
    """A padded program, (*consts, *operands) -> results, and the values of its first inputs."""

    jaxpr: ClosedJaxpr
    consts: list[Any]


def staged(trace: PaddingTrace, fun: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray],
           debug: DebugInfo | None) -> Staged:
    """The program of fun(padding trace, *padded operands), whose results are arrays of the program below that trace."""
    program = trace.program

    def flat(*xs: Any) -> Sequence[Any]:
        stage = current_trace()
        assert isinstance(stage, StageTrace)
        inner = trace.below(stage)
        before, program.trace = program.trace, inner
        try:
            with set_trace(inner):
                return fun(inner, *xs)
        finally:
            program.trace, inner.valid = before, False

    with set_trace(trace.parent):
        closed = trace_to_closed(flat, avals, debug)
    return Staged(without_consts(closed), list(closed.consts))


def padded_avals(trace: PaddingTrace, avals: Sequence[ShapedArray]) -> list[ShapedArray]:
    """The types of padded arrays."""
    return [a.update(shape=trace.shape(a.shape)) for a in avals]


def run(trace: PaddingTrace, closed: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """The padded results of a program with sizes, of padded operands."""
    packed = [trace.pack(x, a) for x, a in zip(operands, closed.in_avals, strict=True)]
    outs = eval_closed(closed, *packed)
    return [trace.unpack(x) if type(x) is PaddedTracer else x for x in outs]


def own_sizes(inner: PaddingTrace, outer: PaddingTrace, avals: Sequence[ShapedArray]) -> list[str]:
    """The variables in shapes of results whose numbers only the body knows."""
    named = set().union(*[variables_in(a.shape) for a in avals])
    return sorted(n for n in named if n in inner.values and inner.values[n] is not outer.values.get(n))
