"""Tapes of eager derivatives: gradients outside of `jit`, of operations that were met before, run without their rules.

Rules of derivatives depend on types alone. So the second time that an operation is linearized for the same types, its rule is
staged once: what it computes of known values becomes a tape (`api/eager_plans.py`), and its linear equations are written down
from a pattern from then on. A backward pass over the same linear equations is one tape. The bits are those of the rules: tapes
evaluate the same operations, and are compared with them when they are recorded.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.eager_plans import tape_of
from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.ir import Jaxpr, JaxprEqn, Literal, Var
from numjet.core.named_axes import checked_axes
from numjet.core.nan_checks import checked_kinds
from numjet.core.op import Op, Undefined, Zero, overridden
from numjet.core.stage import StageTrace, StageTracer
from numjet.core.trace import EVAL, current_trace, set_trace
from numjet.core.walk import eval_jaxpr
from numjet.foundation import source
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.lax.tangent import no_tangent
from numjet.runtime import dispatch
from numjet.runtime.settings import fast_paths_allowed
from numjet.transforms.jvp import JVPTrace, JVPTracer, apply_jvp
from numjet.transforms.linearize import PartialTrace, linearize_flat
from numjet.transforms.transpose import backward_pass

Array = _native.Array
_exact_items = _native.exact_items
_KEPT = 2048
_MOST_EQUATIONS = 256
_UNSUITED = object()   # an operation, or program, that goes through its rules every time


def linearize_at(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], **options: Any) -> Any:
    """`transforms.linearize.linearize_flat`, with tapes where values are known. Known scalars are no part of the tangent
    program then: its structure would be another one for each value."""
    if _allowed():
        options = {**options, "trace": TapedTrace, "inlines": False}
    return linearize_flat(fun, primals, **options)


def _allowed() -> bool:
    """Whether operations are evaluated here and now, with nothing looked for in between."""
    return (current_trace() is EVAL and fast_paths_allowed() and not placements_in_use and not checked_axes()
            and not checked_kinds() and not config.check_tracer_leaks and not overridden)


# -- operations
class _Equation(Record):
    """A linear equation of a pattern. ins: numbers of values (residuals, tangents, results of earlier ones), or Literals."""

    op: Op
    ins: tuple[Any, ...]
    params: dict[str, Any]
    avals: tuple[ShapedArray, ...]


class _Split(Record):
    """The rule of an operation, for some types: what it computes of arrays, and its linear equations.

    known: from arrays to a list of results. outs, residuals: numbers of values, arrays first, then these results.
    tangents: a number of a linear value for each result, or None.
    """

    known: Callable[..., list[Any]] | None
    outs: tuple[int, ...]
    residuals: tuple[int, ...]
    equations: tuple[_Equation, ...]
    tangents: tuple[int | None, ...]


_splits: dict[Any, Any] = {}   # None: met once


class TapedTrace(JVPTrace):
    """A JVPTrace over known arrays and staged tangents that remembers what the rules of operations do."""

    __slots__ = ()
    parent: PartialTrace

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        arrays: list[Any] = []
        tangents: list[StageTracer] = []
        key: list[Any] = [op, config.token]
        for a in args:
            kind = type(a)
            if kind is JVPTracer and a._trace is self and type(a.primal) is Array and type(a.tangent) is StageTracer:
                arrays.append(a.primal)
                tangents.append(a.tangent)
                key += a.primal.aval, a.tangent.aval
            elif kind is Array:
                arrays.append(a)
                key += a.aval, None
            elif kind is Literal:
                key.append(_of_literal(a))
            else:
                return super().process(op, args, params)
        if not tangents:
            return super().process(op, args, params)
        try:
            key += _exact_items(params)
            split = _splits.get(tuple(key))
        except TypeError:   # a parameter without a hash
            return super().process(op, args, params)
        if type(split) is _Split:
            return self.follow(split, op, arrays, tangents)
        if split is None:
            _remember(_splits, tuple(key), lambda: _split(op, args, params))
        return super().process(op, args, params)

    def follow(self, split: _Split, op: Op, arrays: list[Any], tangents: list[StageTracer]) -> Any:
        """Does what the rule would do."""
        values = arrays
        if split.known is not None:
            with set_trace(EVAL):
                values = arrays + split.known(*arrays)
        unknown = self.parent.unknown
        atoms: list[Any] = [unknown.atom(values[n]) for n in split.residuals]
        atoms += [t._var for t in tangents]
        where = source.beyond(source.operation_frame(), unknown._depth)
        for e in split.equations:
            outvars = [Var(a) for a in e.avals]
            ins = [atoms[n] if type(n) is int else n for n in e.ins]
            unknown.eqns.append(JaxprEqn(ins, outvars, e.op, dict(e.params), _NONE, where))   # users may edit parameters
            atoms += outvars
        outs = [values[n] if t is None else JVPTracer(self, values[n], StageTracer(unknown, atoms[t]))
                for n, t in zip(split.outs, split.tangents, strict=True)]
        return outs if op.multiple else outs[0]


_NONE: frozenset[Any] = frozenset()


def _of_literal(x: Literal) -> Any:
    return x.aval, np.asarray(x.val).tobytes()


def _remember(table: dict[Any, Any], key: Any, make: Callable[[], Any]) -> None:
    """Notes what was met once; makes what runs it the second time."""
    if key not in table:
        if len(table) >= _KEPT:
            table.clear()
        table[key] = None
        return
    table[key] = _UNSUITED
    table[key] = make()


def _is_plain(op: Any) -> bool:
    """Whether an operation is one of numjet's that computes, and nothing else."""
    return (type(op) is Op and not op.programs and not op.compiled and not op.functions and op.effects is None
            and op.collective is None and op.mesh is None and op.places is None)


def _split(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What the rule of an operation does, for the types of these arguments."""
    if not _is_plain(op):
        return _UNSUITED
    known, unknown = StageTrace(), StageTrace(partial=True)
    trace = PartialTrace(known, unknown)
    primals, tangents = [], []
    for a in args:
        primals.append(a if type(a) is Literal else known.new_input(a.aval))
        tangents.append(unknown.new_input(a.tangent.aval) if type(a) is JVPTracer else no_tangent(a))
    try:
        with source.unnamed(), set_trace(trace):
            out, out_t = apply_jvp(op, primals, tangents, params)
    except Exception:   # the rule says what is wrong each time
        return _UNSUITED
    finally:
        trace.valid = known.valid = unknown.valid = False
    outs, outs_t = (out, out_t) if op.multiple else ([out], [out_t])
    if not all(type(t) is Zero or (type(t) is StageTracer and t._trace is unknown) for t in outs_t):
        return _UNSUITED
    return _written(known, unknown, outs, outs_t)


def _written(known: StageTrace, unknown: StageTrace, outs: Sequence[Any], outs_t: Sequence[Any]) -> Any:
    """The pattern of what a rule staged in two programs."""
    linear, residuals = unknown.finish([t for t in outs_t if type(t) is not Zero])
    wanted = [*outs, *residuals]
    if not all(type(x) is StageTracer and x._trace is known for x in wanted):
        return _UNSUITED   # a constant of the rule's
    if not all(_is_plain(e.primitive) and not e.effects for e in (*known.eqns, *linear.eqns)):
        return _UNSUITED
    numbers = {v: n for n, v in enumerate(known.invars)}
    computed = []
    for x in wanted:
        if x._var not in numbers:
            numbers[x._var] = len(numbers)
            computed.append(x)
    run = tape_of(_program(*known.finish(computed))) if computed else None
    places: dict[Any, int] = {v: n for n, v in enumerate((*linear.constvars, *linear.invars))}
    equations = []
    for e in linear.eqns:
        ins = tuple(a if isinstance(a, Literal) else places[a] for a in e.invars)
        for v in e.outvars:
            places[v] = len(places)
        equations.append(_Equation(e.primitive, ins, e.params, tuple(v.aval for v in e.outvars)))
    found = iter(linear.outvars)
    tangents = [None if type(t) is Zero else next(found) for t in outs_t]
    if any(isinstance(t, Literal) for t in tangents):
        return _UNSUITED
    return _Split(run, tuple(numbers[x._var] for x in outs), tuple(numbers[x._var] for x in residuals), tuple(equations),
                  tuple(None if t is None else places[t] for t in tangents))


def _program(jaxpr: Jaxpr, consts: Sequence[Any]) -> Callable[..., list[Any]]:
    def known(*arrays: Any) -> list[Any]:
        return eval_jaxpr(jaxpr, consts, *arrays)
    return known


# -- backward passes
_passes: dict[Any, Any] = {}   # None: met once


def backward(jaxpr: Jaxpr, consts: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """`transforms.transpose.backward_pass` of a program that is linear in all of its inputs, by a tape where there is one."""
    key = _structure(jaxpr, cts) if _allowed() and _are_arrays(consts) and _are_arrays(cts) else None
    run = None if key is None else _passes.get(key)
    if run is not None and run is not _UNSUITED:
        found = run(*consts, *[ct for ct in cts if type(ct) is Array])
        return [Zero(v.aval.to_tangent_aval()) if x is None else x for v, x in zip(jaxpr.invars, found, strict=True)]
    if key is not None and run is None:
        _remember(_passes, key, lambda: tape_of(_pass(jaxpr, cts)))
    return backward_pass(jaxpr, consts, [Undefined(v.aval) for v in jaxpr.invars], cts)


def _are_arrays(values: Sequence[Any]) -> bool:
    return all(type(x) is Array or type(x) is Literal for x in values)


def _structure(jaxpr: Jaxpr, cts: Sequence[Any]) -> Any:
    """A linear program and the types of its cotangents, as a key; None where operations do more than to compute."""
    if len(jaxpr.eqns) > _MOST_EQUATIONS:
        return None
    numbers: dict[Any, int] = {}
    key: list[Any] = [config.token, len(jaxpr.constvars)]
    for v in (*jaxpr.constvars, *jaxpr.invars):
        numbers[v] = len(numbers)
        key.append(v.aval)
    try:
        for e in jaxpr.eqns:
            if e.effects or not _is_plain(e.primitive):
                return None
            key.append((e.primitive, *[_of_literal(a) if isinstance(a, Literal) else numbers[a] for a in e.invars]))
            if e.params:
                key.append(_exact_items(e.params))
            for v in e.outvars:
                numbers[v] = len(numbers)
                key.append(v.aval)
        key += [_of_literal(a) if isinstance(a, Literal) else numbers[a] for a in jaxpr.outvars]
        key += [_of_literal(ct) if type(ct) is Literal else ct.aval for ct in cts]
        hash(found := tuple(key))
    except (TypeError, KeyError):   # a parameter without a hash
        return None
    return found


def _pass(jaxpr: Jaxpr, cts: Sequence[Any]) -> Callable[..., list[Any]]:
    """The backward pass as a function of the arrays that it reads: constants, then cotangents."""
    count, literals = len(jaxpr.constvars), [ct if type(ct) is Literal else None for ct in cts]

    def run(*arrays: Any) -> list[Any]:
        rest = iter(arrays[count:])
        given = [next(rest) if x is None else x for x in literals]
        found = backward_pass(jaxpr, arrays[:count], [Undefined(v.aval) for v in jaxpr.invars], given)
        return [None if type(x) is Zero else dispatch.as_array(x) if type(x) is Literal else x for x in found]
    return run


dispatch.forgetters.append(_splits.clear)
dispatch.forgetters.append(_passes.clear)
