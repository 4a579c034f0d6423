"""Partial evaluation and dead code elimination of programs, for those who write transformations.

A `PartialVal` is a known value, or the type of an unknown one. Rules of `dce_rules` map (used results, equation) to
(used operands, smaller equation or None).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from numjet.core.primitive import Primitive
from numjet.core.stage import StageTrace, StageTracer as DynamicJaxprTracer, trace_to_jaxpr
from numjet.core.trace import aval_of, current_trace, set_trace
from numjet.interpreters.rules import RefusedTable, RuleTable
from numjet.transforms.dce import dce_jaxpr as _dce_jaxpr
from numjet.transforms.linearize import PartialTrace

__all__ = [
    "DynamicJaxprTracer", "JaxprTracer", "PartialVal", "custom_partial_eval_rules", "dce_jaxpr", "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule", "dce_jaxpr_consts", "dce_rules", "partial_eval_jaxpr_custom_rules",
    "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]


class _UnknownTracer(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is DynamicJaxprTracer and instance._trace.partial


class JaxprTracer(metaclass=_UnknownTracer):
    """An unknown value of a partial evaluation; for isinstance."""


class PartialVal(tuple):
    """(type, None) of an unknown value, (None, value) of a known one.

    >>> PartialVal.known(2.0).is_known(), PartialVal.unknown(ShapedArray((), "float32")).is_known()
    (True, False)
    """

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value; None for an unknown one."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> ShapedArray:
        """The type of the value."""
        return aval_of(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[ShapedArray], *, keep_inputs: Sequence[bool] | None = None,
                           lower: bool = False, auto_dce: bool = False) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """(jaxpr, types of results, constants) of a function of flat arguments that gives a list.

    keep_inputs: which inputs stay inputs of the program; the function gets all. auto_dce: without dead code.
    """
    call = getattr(fun, "call_wrapped", fun)
    jaxpr, consts = trace_to_jaxpr(lambda *xs: list(call(*xs)), list(in_avals), getattr(fun, "debug_info", None))
    if auto_dce:
        jaxpr, kept, _ = dce_jaxpr_consts(jaxpr, [True] * len(jaxpr.outvars), True)
        consts = [c for c, k in zip(consts, kept, strict=True) if k]
    if keep_inputs is not None and not all(keep_inputs):
        jaxpr = jaxpr.replace(invars=[v for v, keep in zip(jaxpr.invars, keep_inputs, strict=True) if keep])
    return jaxpr, jaxpr.out_avals, consts


def trace_to_jaxpr_nounits(fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False,
                           ) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """(jaxpr, results, constants) of a function of flat arguments, of which some are known: what depends on known values only
    is computed now, the rest is the jaxpr from unknown arguments to unknown results. instantiate: results to be unknown in
    any case."""
    call = getattr(fun, "call_wrapped", fun)
    unknown = StageTrace(getattr(fun, "debug_info", None), partial=True)
    trace = PartialTrace(current_trace(), unknown)
    args = [pval.get_known() if pval.is_known() else unknown.new_input(pval.get_aval()) for pval in pvals]
    try:
        with set_trace(trace):
            outs = list(call(*args))
        force = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
        flags = [trace.is_unknown(o) or f for o, f in zip(outs, force, strict=True)]
        jaxpr, consts = unknown.finish([o for o, u in zip(outs, flags, strict=True) if u])
    finally:
        trace.valid = unknown.valid = False
    results = [PartialVal.unknown(aval_of(o)) if u else PartialVal.known(o) for o, u in zip(outs, flags, strict=True)]
    return jaxpr, results, consts


# ------------------------------------------------------------------------------------------------ dead code elimination

def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False,
              ) -> tuple[Jaxpr, list[bool]]:
    """The program of the used results, and which inputs it kept: those it reads, and those that `instantiate` names.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> dce_jaxpr(nj.make_jaxpr(lambda x, y: (jnp.sin(x), y * 2))(1.0, 2.0).jaxpr, [False, True])
    ({ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }, [False, True])
    """
    thin, read = _dce_jaxpr(jaxpr, list(used_outputs))
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    kept = [r or k for r, k in zip(read, keep, strict=True)]
    return thin.replace(invars=[v for v, k in zip(jaxpr.invars, kept, strict=True) if k]), kept


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False,
                     ) -> tuple[Jaxpr, list[bool], list[bool]]:
    """As dce_jaxpr, also without unread constants: (program, which constants it kept, which inputs it kept)."""
    thin, kept = dce_jaxpr(jaxpr, used_outputs, instantiate)
    read = {a for e in thin.eqns for a in e.invars if isinstance(a, Var)} | {a for a in thin.outvars if isinstance(a, Var)}
    flags = [v in read for v in jaxpr.constvars]
    return thin.replace(constvars=[v for v in jaxpr.constvars if v in read]), flags, kept


def _call_rule(used_outputs: Sequence[bool], eqn: JaxprEqn, name: str) -> tuple[list[bool], JaxprEqn | None]:
    held = eqn.params[name]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    inner = held.jaxpr if isinstance(held, ClosedJaxpr) else held
    thin, kept = dce_jaxpr(inner, used_outputs)
    program = ClosedJaxpr(thin, held.consts) if isinstance(held, ClosedJaxpr) else thin
    return kept, eqn.replace(params={**eqn.params, name: program}, effects=thin.effects,
                             invars=[a for a, k in zip(eqn.invars, kept, strict=True) if k],
                             outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u])


def dce_jaxpr_call_rule(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """The rule of primitives that call the program in their parameter `call_jaxpr` on their operands."""
    return _call_rule(used_outputs, eqn, "call_jaxpr")


dce_jaxpr_closed_call_rule = dce_jaxpr_call_rule


def _dce_slot(rule: Callable[..., Any], primitive: Primitive, eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    _, thin = rule(list(used), eqn)
    return thin


dce_rules = RuleTable("partial_eval.dce_rules", "dce", _dce_slot)
_STAGED = ("equations with unknown operands are staged whole, and their primitives' JVP and transpose rules do the rest; write "
           "the rule's known part with other operations inside of the JVP rule")
custom_partial_eval_rules = RefusedTable("partial_eval.custom_partial_eval_rules", _STAGED)
partial_eval_jaxpr_custom_rules = RefusedTable("partial_eval.partial_eval_jaxpr_custom_rules", _STAGED)
