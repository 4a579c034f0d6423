"""Forward-mode differentiation: jvp rules compute a tangent next to every value."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from numjet.core import hooks, leaks
from numjet.core.aval import explicit, placements_in_use
from numjet.core.ir import Jaxpr
from numjet.core.op import LINEAR, ZERO, Expand, Missing, Op, PerArg, Zero
from numjet.core.primitive import Primitive
from numjet.core.stage import DebugInfo, StageTracer, trace_to_closed
from numjet.core.trace import Array, Trace, Tracer, aval_of, current_trace, set_trace
from numjet.core.walk import eval_jaxpr
from numjet.foundation.config import config
from numjet.lax.operands import full_rank
from numjet.lax.sharding_later import sharding
from numjet.lax.tangent import add_any, instantiate, no_tangent, zero_tangent

_NUMBERS = frozenset((float, complex))


class JVPTracer(Tracer):
    """A primal value with its tangent (never Zero). Both may be numbers of Python, which only users' own rules see as such."""

    __slots__ = ("primal", "tangent")
    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any):
        self._trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = primal.aval if type(primal) is Array else aval_of(primal)

    def __repr__(self) -> str:
        tangent = self.tangent
        if type(tangent) is StageTracer and tangent._trace.partial:  # of a linearization, as in grad
            return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent.aval.str_short()})"
        return f"JVPTracer(primal={self.primal}, tangent={tangent})"

    def lane_parts(self, lanes: Any) -> Sequence[tuple[Any, Any]]:
        return (self.primal, lanes), (self.tangent, lanes)

    def as_array(self) -> Any:
        primal, tangent = _as_array(self.primal), _as_array(self.tangent)
        return self if primal is self.primal and tangent is self.tangent else JVPTracer(self._trace, primal, tangent)

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def numbers(self) -> None:
        """None: outside of the trace the tangent is lost, and the derivative would be 0 without a word."""

    def to_concrete_value(self) -> Any:
        return self.primal.to_concrete_value() if isinstance(self.primal, Tracer) else self.primal

    def origin_text(self) -> str:
        return self.primal.origin_text() if isinstance(self.primal, Tracer) else ""

    def made_at(self) -> Any:
        parts = (x for x in (self.primal, self.tangent) if isinstance(x, Tracer))
        return next((where for x in parts if (where := x.made_at()) is not None), None)


hooks.set_methods(hooks.with_tapes, JVPTracer)


class JVPTrace(Trace):
    """Applies every operation to primals and tangents; both live in the parent trace."""

    __slots__ = ("numbers", "parent")

    def __init__(self, parent: Trace, numbers: bool = False):
        """numbers: whether primals and tangents may be numbers of Python."""
        super().__init__()
        self.parent, self.numbers = parent, numbers

    def unpack(self, x: Any) -> tuple[Any, Any]:
        """(primal, tangent) of any value; the tangent of values of other traces is Zero."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, no_tangent(x)

    def pack(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        pairs = [self.unpack(a) for a in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if self.numbers and type(op) is not Primitive:   # users' rules get numbers as they are
            primals, tangents = list(map(_as_array, primals)), list(map(_as_array, tangents))
        with set_trace(self.parent):
            if all(type(t) is Zero for t in tangents):
                return op.bind(*primals, **params)
            if placements_in_use:
                outs, outs_t = _apply_typed(op, primals, tangents, params)
            else:
                rule: Any = op.jvp
                outs, outs_t = (rule(primals, tangents, **params) if type(rule) is FunctionType
                                else apply_jvp(op, primals, tangents, params))
        if op.multiple:
            return [self.pack(p, t) for p, t in zip(outs, outs_t, strict=True)]
        return self.pack(outs, outs_t)


def _as_array(x: Any) -> Any:
    """A number of Python as an array, which rules of operations compute with; anything else as it is."""
    if type(x) not in _NUMBERS:
        return x.as_array() if type(x) is JVPTracer else x
    aval = aval_of(x)
    return hooks.host_array(np.asarray(x, aval.dtype), aval)


def _apply_typed(op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """As apply_jvp: users see the errors of the operation that they wrote, and its rule writes what it likes."""
    if not explicit.is_lenient():
        explicit.abstract(op, [aval_of(p) for p in primals], params)
    with explicit.lenient():
        return apply_jvp(op, primals, tangents, params)


def apply_jvp(op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any],
              rule: Any = None) -> tuple[Any, Any]:
    """Result and tangent of one operation, by a rule or marker: by default the one in its jvp slot."""
    rule = op.jvp if rule is None else rule
    if type(rule) is PerArg:
        return _per_arg(op, rule, primals, tangents, params)
    if rule is LINEAR:
        return op.bind(*primals, **params), op.bind(*map(instantiate, tangents), **params)
    if rule is ZERO:
        out = op.bind(*primals, **params)
        return out, [no_tangent(o) for o in out] if op.multiple else no_tangent(out)
    if isinstance(rule, Expand):
        return _expand(rule.fn, op.multiple, primals, tangents, params)
    if isinstance(rule, Missing):
        raise NotImplementedError(f"Differentiation rule for '{op.name}' not implemented: {rule.why}")
    return rule(primals, tangents, **params)


def _per_arg(op: Op, rule: PerArg, primals: Sequence[Any], tangents: Sequence[Any],
             params: dict[str, Any]) -> tuple[Any, Any]:
    out = op.bind(*primals, **params)
    total = None
    for f, t in zip(rule.rules, tangents, strict=True):
        if f is None or type(t) is Zero:
            continue
        term = full_rank(f(t, out, *primals, **params), aval_of(out))
        total = term if total is None else add_any(total, term)
    return out, no_tangent(out) if total is None else total


def _expand(fn: Callable[..., Any], multiple: bool, primals: Sequence[Any], tangents: Sequence[Any],
            params: dict[str, Any]) -> tuple[Any, Any]:
    flat = lambda *xs: list(fn(*xs, **params)) if multiple else [fn(*xs, **params)]
    outs, outs_t = jvp_flat(flat, primals, tangents)
    return (outs, outs_t) if multiple else (outs[0], outs_t[0])


def jvp_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
             tangents: Sequence[Any], debug: DebugInfo | None = None) -> tuple[list[Any], list[Any]]:
    """Results and tangents (perhaps Zero) of a function of flat arguments, under the current trace."""
    trace = JVPTrace(current_trace(), any(type(t) in _NUMBERS for t in tangents))
    return run_jvp(trace, fun, primals, tangents, debug)


def run_jvp(trace: JVPTrace, fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
            tangents: Sequence[Any], debug: DebugInfo | None = None) -> tuple[list[Any], list[Any]]:
    """As jvp_flat, with a trace that the caller made."""
    if placements_in_use:
        tangents = [t if type(t) is Zero else sharding.as_tangent(t, aval_of(p))
                    for p, t in zip(primals, tangents, strict=True)]
    args = [trace.pack(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        with set_trace(trace):
            outs = fun(*args)
    finally:
        trace.valid = False
    pairs = [trace.unpack(o) for o in outs]
    if config.check_tracer_leaks:
        del args, outs
        leaks.check(trace, debug)
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate_out: bool | Sequence[bool] = False,
              debug: DebugInfo | None = None) -> tuple[Any, list[bool]]:
    """The program (*primals, *nonzero tangents) -> (*results, *nonzero result tangents), closed, and which are nonzero.

    `jaxpr` has no constvars. instantiate_out: results whose tangent is wanted even if zero.
    """
    wanted = [instantiate_out] * len(jaxpr.outvars) if isinstance(instantiate_out, bool) else list(instantiate_out)
    count = len(jaxpr.invars)
    nonzero_out: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        ts = iter(args[count:])
        tangents = [next(ts) if nz else zero_tangent(v.aval) for nz, v in zip(nonzeros, jaxpr.invars, strict=True)]
        outs, outs_t = run_jvp(JVPTrace(current_trace()), functools.partial(eval_jaxpr, jaxpr, ()), args[:count], tangents)
        flags = [type(t) is not Zero or (w and _differentiable(t)) for t, w in zip(outs_t, wanted, strict=True)]
        nonzero_out[:] = flags
        return [*outs, *[instantiate(t) for t, nz in zip(outs_t, flags, strict=True) if nz]]

    tangent_avals = [v.aval.to_tangent_aval() for v, nz in zip(jaxpr.invars, nonzeros, strict=True) if nz]
    closed = trace_to_closed(fun, [*jaxpr.in_avals, *tangent_avals], debug or jaxpr.debug)
    return closed, nonzero_out


def _differentiable(t: Any) -> bool:
    return t.aval.dtype.names is None
