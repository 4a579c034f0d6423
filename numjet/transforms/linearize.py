"""Linearization: forward mode that records the tangent program instead of running it.

A PartialTrace splits operations in two: those on known values run in the parent trace, those that touch an unknown
value are staged. Linearizing is running a JVPTrace whose tangents are unknown.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core import leaks
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.op import Op, Zero
from numjet.core.stage import DebugInfo, StageTrace, StageTracer, hoist_consts
from numjet.core.trace import Trace, aval_of, current_trace, set_trace
from numjet.core.walk import eval_jaxpr
from numjet.foundation import source
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.transforms.jvp import JVPTrace, run_jvp


class PartialTrace(Trace):
    """Known operations go to `parent`, those on tracers of `unknown` are staged there."""

    __slots__ = ("parent", "unknown")

    def __init__(self, parent: Trace, unknown: StageTrace):
        super().__init__()
        self.parent, self.unknown = parent, unknown

    def is_unknown(self, x: Any) -> bool:
        return type(x) is StageTracer and x._trace is self.unknown

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if not any(type(a) is StageTracer and a._trace is self.unknown for a in args):
            return self.run_known(op, args, params)
        if op.partial_eval is not None:
            return op.partial_eval(self, args, params)
        return self.unknown.process(op, args, params)

    def run_known(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Runs an operation on known values in the parent trace."""
        with set_trace(self.parent):
            return op.bind(*args, **params)

    def stage(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Writes an operation into the unknown program."""
        return self.unknown.process(op, args, params)


class Linear(Record):
    """The tangent program of a linearized function: jaxpr(consts)(*nonzero tangents) -> nonzero result tangents."""
    jaxpr: Jaxpr
    consts: list[Any]
    in_nonzero: list[bool]
    out_nonzero: list[bool]
    in_avals: list[ShapedArray]


def linearize_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], nonzeros: Sequence[bool] | None = None,
                   debug: DebugInfo | None = None, wanted: int | Callable[[], int] | None = None, inlines: bool = True,
                   trace: Callable[[PartialTrace], JVPTrace] = JVPTrace,
                   stage: Callable[..., StageTrace] = StageTrace) -> tuple[list[Any], Linear]:
    """Results of `fun` at flat primals (under the current trace) and its tangent program.

    nonzeros: primals with respect to which to linearize (default: those of inexact dtype).
    wanted: how many of the results, from the first, get tangents (default: all; a function is asked after the run).
    inlines: known scalar arrays become literals of the tangent program, else constants as others.
    trace: what applies the rules of derivatives. stage: what holds the tangent program.
    """
    unknown = stage(debug, partial=True, inlines=inlines)
    avals = [aval_of(p).to_tangent_aval() for p in primals]
    flags = [a.dtype.names is None for a in avals] if nonzeros is None else list(nonzeros)
    tangents = [unknown.new_input(a) if f else Zero(a) for a, f in zip(avals, flags, strict=True)]
    above = trace(PartialTrace(current_trace(), unknown))
    with source.transformed("jvp"):
        outs, outs_t = run_jvp(above, fun, primals, tangents, debug)
    outs_t = outs_t[:wanted() if callable(wanted) else wanted]
    out_nonzero = [type(t) is not Zero for t in outs_t]
    jaxpr, consts = unknown.finish([t for t in outs_t if type(t) is not Zero])
    unknown.valid = above.parent.valid = False
    if config.check_tracer_leaks:
        del tangents, outs_t
        leaks.check(unknown, debug)
    return outs, Linear(jaxpr, consts, flags, out_nonzero, [aval_of(p) for p in primals])


def partial_eval_jaxpr(jaxpr: Jaxpr, unknown_in: Sequence[bool], instantiate: bool | Sequence[bool] = False,
                       ) -> tuple[ClosedJaxpr, Jaxpr, list[bool], int]:
    """Splits a jaxpr (without constvars) by which inputs are known.

    Returns (known, unknown, out_unknown, residuals): known(*known inputs) -> (*known results, *residuals), closed;
    unknown(*residuals, *unknown inputs) -> unknown results. instantiate: results to be made unknown in any case.
    A residual that is a known input stands among known's outvars as that input.
    """
    force = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else list(instantiate)
    with source.unnamed():
        known_trace, unknown_trace = StageTrace(jaxpr.debug), StageTrace(jaxpr.debug, partial=True)
        trace = PartialTrace(known_trace, unknown_trace)
        args = [(unknown_trace if u else known_trace).new_input(v.aval)
                for v, u in zip(jaxpr.invars, unknown_in, strict=True)]
        with set_trace(trace):
            outs = eval_jaxpr(jaxpr, (), *args)
    out_unknown = [trace.is_unknown(o) or f for o, f in zip(outs, force, strict=True)]
    unknown, residuals = unknown_trace.finish([o for o, u in zip(outs, out_unknown, strict=True) if u])
    known_outs = [o for o, u in zip(outs, out_unknown, strict=True) if not u]
    known = ClosedJaxpr(*known_trace.finish([*known_outs, *residuals]))
    for t in (trace, known_trace, unknown_trace):
        t.valid = False
    return known, hoist_consts(unknown), out_unknown, len(residuals)
