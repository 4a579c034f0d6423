"""Tapes of eager derivatives: gradients outside of `jit`, of operations that were met before, run without their rules.

Rules of derivatives depend on types alone. So the second time that an operation is linearized for the same types, its rule is
staged once: what it computes of known values becomes a tape (`api/eager_plans.py`), and its linear equations are written down
from a pattern from then on. A backward pass over the same linear equations is one tape. The bits are those of the rules: tapes
evaluate the same operations, and are compared with them when they are recorded.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet import _native
from numjet.api.eager_plans import static_of, tape_of
from numjet.api.linear_calls import Equation, LinearProgram, LinearStage, Pattern
from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.ir import Jaxpr, JaxprEqn, Literal
from numjet.core.named_axes import checked_axes
from numjet.core.nan_checks import checked_kinds
from numjet.core.op import Op, Undefined, Zero, overridden
from numjet.core.stage import StageTrace, StageTracer, as_evaluated
from numjet.core.trace import EVAL, aval_of, current_trace, set_trace
from numjet.core.walk import eval_jaxpr
from numjet.foundation import lazy_import, source
from numjet.foundation.config import config
from numjet.foundation.tree import tree_flatten, tree_unflatten
from numjet.runtime import dispatch
from numjet.runtime.settings import fast_paths_allowed
from numjet.transforms.jvp import JVPTrace, JVPTracer
from numjet.transforms.linearize import PartialTrace, linearize_flat
from numjet.transforms.transpose import backward_pass

if TYPE_CHECKING:
    from numjet.api import tape_recorder
    from numjet.transforms import inline
else:
    tape_recorder = lazy_import.Module("numjet.api.tape_recorder")
    inline = lazy_import.Module("numjet.transforms.inline")

Array = _native.Array
_exact_items = _native.exact_items
_KEPT = 2048
_MOST_EQUATIONS = 256
_NUMBERS = frozenset((bool, int, float, complex))
_NUMPYS = (np.ndarray, np.generic)
_UNSUITED = object()   # an operation, or program, that goes through its rules every time


def linearize_at(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], **options: Any) -> Any:
    """`transforms.linearize.linearize_flat`, with tapes where values are known. Known scalars are no part of the tangent
    program then: its structure would be another one for each value."""
    if _allowed():
        options = {**options, "trace": TapedTrace, "stage": LinearStage}
    return linearize_flat(fun, primals, **options)


def _allowed() -> bool:
    """Whether operations are evaluated here and now, with nothing looked for in between."""
    return (current_trace() is EVAL and fast_paths_allowed() and not placements_in_use and not checked_axes()
            and not checked_kinds() and not config.check_tracer_leaks and not overridden)


# -- operations
_splits: dict[Any, Any] = {}   # what runs an operation: (known, pattern). None: met once


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
            found = _splits.get(tuple(key))
        except TypeError:   # a parameter without a hash
            return super().process(op, args, params)
        if found is None:
            _remember(_splits, tuple(key), lambda: _of_operation(op, args, params))
        if found is None or found is _UNSUITED:
            return super().process(op, args, params)
        known, pattern = found
        with set_trace(EVAL):
            computed = None if known is None else known(*arrays)
        return pattern(self, arrays, computed, tuple(tangents))


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


def _is_run_one_by_one(eqn: JaxprEqn) -> bool:
    """Whether an equation is evaluated by operations, not as a program of its own, whose bits are its own."""
    return not eqn.effects and (_is_plain(eqn.primitive) or eqn.primitive.name == "custom_jvp_call")


def _of_operation(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What the rule of an operation does, for the types of these arguments: (known, pattern)."""
    if not _is_plain(op):
        return _UNSUITED
    avals = [None if type(a) is Literal else a.aval for a in args]

    def bind(*xs: Any) -> Any:
        rest = iter(xs)
        return op.bind(*[a if aval is None else next(rest) for a, aval in zip(args, avals, strict=True)], **params)
    known_avals = [a for a in avals if a is not None]
    tangents = [a.tangent.aval if type(a) is JVPTracer else None for a in args if type(a) is not Literal]
    try:
        return _Written(bind, known_avals, tangents, op.multiple).split([True] * len(known_avals))
    except Exception:   # the rule says what is wrong each time
        return _UNSUITED


class _Unsuited(Exception):
    """What is no matter of types alone, or is no known array and linear equations."""


class _Written:
    """What a function of arrays does for the types of its arguments: a program of known values, and a linear one."""

    def __init__(self, fun: Callable[..., Any], avals: Sequence[ShapedArray], tangents: Sequence[ShapedArray | None],
                 many: bool):
        """tangents: the type of each argument's tangent, or None. many: whether the result is a pytree, else one array."""
        self.known, self.unknown = StageTrace(), StageTrace(partial=True)
        trace = JVPTrace(PartialTrace(self.known, self.unknown))
        primals = [self.known.new_input(a) for a in avals]
        args = [x if t is None else JVPTracer(trace, x, self.unknown.new_input(t))
                for x, t in zip(primals, tangents, strict=True)]
        try:
            with source.unnamed(), as_evaluated(), set_trace(trace):
                out = fun(*args)
            leaves, tree = tree_flatten(out) if many else ([out], None)
            self.treedef = tree
            pairs = [trace.unpack(x) for x in leaves]
        finally:
            trace.valid = trace.parent.valid = self.known.valid = self.unknown.valid = False
        self.outs = [x for x, _ in pairs]
        self.tangents = [t for _, t in pairs]
        if not all(type(t) is Zero or (type(t) is StageTracer and t._trace is self.unknown) for t in self.tangents):
            raise _Unsuited
        self.linear, self.residuals = self.unknown.finish([t for t in self.tangents if type(t) is not Zero])
        if not all(_is_plain(e.primitive) and not e.effects for e in self.linear.eqns):
            raise _Unsuited

    def split(self, as_they_are: Sequence[bool]) -> tuple[Any, Pattern]:
        """What computes known values, or None, and the pattern. as_they_are: which arguments are Arrays, which may be results
        and residuals themselves; others are converted."""
        numbers: dict[Any, int] = {id(v): n for n, v in enumerate(self.known.invars) if as_they_are[n]}
        constants: list[Any] = []
        computed: list[StageTracer] = []
        wanted = [*self.outs, *self.residuals]
        for x in wanted:
            if not self._is_computed(x) and id(x) not in numbers:
                numbers[id(x)] = len(as_they_are) + len(constants)
                constants.append(_constant(x))
        for x in wanted:
            if self._is_computed(x) and id(x._var) not in numbers:
                numbers[id(x._var)] = len(as_they_are) + len(constants) + len(computed)
                computed.append(x)
        known = tape_of(_program(*self._known_program(computed)), numbers=True) if computed else None
        number = lambda x: numbers[id(x._var if self._is_computed(x) else x)]
        return known, self._pattern(list(map(number, self.outs)), list(map(number, self.residuals)), constants)

    def _is_computed(self, x: Any) -> bool:
        return type(x) is StageTracer and x._trace is self.known

    def _known_program(self, computed: Sequence[Any]) -> tuple[Jaxpr, Sequence[Any]]:
        """The operations that compute these known values. Functions with rules of their own are run one by one, too."""
        jaxpr, consts = self.known.finish(computed)
        if not all(map(_is_run_one_by_one, jaxpr.eqns)):
            raise _Unsuited
        jaxpr, consts = inline.write_out_calls(jaxpr, consts)
        if not all(_is_plain(e.primitive) and not e.effects for e in jaxpr.eqns):
            raise _Unsuited
        return jaxpr, consts

    def _pattern(self, outs: Sequence[int], residuals: Sequence[int], constants: Sequence[Any]) -> Pattern:
        """The linear program as a pattern of these results and residuals."""
        places: dict[Any, int] = {v: n for n, v in enumerate((*self.linear.constvars, *self.linear.invars))}
        equations = []
        for e in self.linear.eqns:
            ins = tuple(a if isinstance(a, Literal) else places[a] for a in e.invars)
            for v in e.outvars:
                places[v] = len(places)
            equations.append(Equation(e.primitive, ins, e.params, tuple(v.aval for v in e.outvars)))
        found = iter(self.linear.outvars)
        tangents = [None if type(t) is Zero else next(found) for t in self.tangents]
        if any(isinstance(t, Literal) for t in tangents):
            raise _Unsuited
        numbers = [None if t is None else places[t] for t in tangents]
        return Pattern(outs, residuals, equations, numbers, len(self.linear.invars), self.treedef, constants)


def _constant(x: Any) -> Any:
    """An array that a rule makes of nothing but types. Raises _Unsuited for other values."""
    if type(x) is not Array and type(x) is not np.ndarray:
        raise _Unsuited
    return dispatch.as_array(x)


def _program(jaxpr: Jaxpr, consts: Sequence[Any]) -> Callable[..., list[Any]]:
    avals = jaxpr.in_avals

    def known(*arrays: Any) -> list[Any]:
        found = [_number(x, a) if type(x) in _NUMBERS else x for x, a in zip(arrays, avals, strict=True)]
        return [dispatch.as_array(x) if isinstance(x, _NUMPYS) else x for x in eval_jaxpr(jaxpr, consts, *found)]
    return known


def _number(x: Any, aval: ShapedArray) -> Any:
    """A number of Python as an array of its type. Raises OverflowError for an integer that does not fit."""
    with np.errstate(over="ignore"):
        return dispatch.host_array(np.asarray(x, aval.dtype), aval)


# -- library functions
def _record(function: Any, trace: TapedTrace, args: tuple[Any, ...], kwargs: dict[str, Any], values: tuple[Any, ...]) -> Any:
    """The result of a library function's call, and what runs later ones of its types, (known, pattern), or None.

    values: the arrays and numbers among the arguments. What is written down without values has to be what was done with them.
    """
    stage = trace.parent.unknown
    before = len(stage.eqns)
    result = function.__wrapped__(*args, **kwargs)
    done = stage.eqns[before:]
    try:
        return result, _of_call(function, trace, args, kwargs, values, result, done)
    except Exception:   # it depends on values, or is refused when it is traced
        return result, None


def _of_call(function: Any, trace: TapedTrace, args: tuple[Any, ...], kwargs: dict[str, Any], values: tuple[Any, ...],
             result: Any, done: Sequence[JaxprEqn]) -> tuple[Any, Pattern]:
    """(known, pattern) of a call that was made, and of its linear equations. Raises _Unsuited."""
    leaves, put_back = _taken_apart(function, args, kwargs)
    primals = [x.primal if type(x) is JVPTracer else x for x in leaves]
    if len(primals) != len(values) or any(x is not y for x, y in zip(primals, values, strict=True)):
        raise _Unsuited
    avals = [aval_of(x) for x in primals]
    tangents = [x.tangent.aval if type(x) is JVPTracer else None for x in leaves]

    def call(*xs: Any) -> Any:
        again, named = put_back(xs)
        return function.__wrapped__(*again, **named)
    outs, tree = tree_flatten(result)
    single = len(outs) == 1 and outs[0] is result
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = _Written(call, avals, tangents, not single)
    if written.treedef != (None if single else tree) or not _same_equations(written.linear.eqns, done):
        raise _Unsuited
    known, pattern = written.split([type(x) is Array for x in primals])
    computed = None if known is None else _evaluated(known, primals)
    _check_results(trace, outs, pattern.all_values(primals, computed), pattern)
    return known, pattern


def _taken_apart(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                 ) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[list[Any], dict[str, Any]]]]:
    """The leaves of a call's arguments that are no part of its signature by value, and what makes arguments of others."""
    positions, names, numbers = static_of(function)
    if any(map(tape_recorder.is_function, (*args, *kwargs.values()))):
        raise _Unsuited   # it may read anything
    places = [k for k in range(len(args)) if k not in positions]
    leaves, tree = tree_flatten(([args[k] for k in places], {k: x for k, x in kwargs.items() if k not in names}))
    if not numbers and any(type(x) in _NUMBERS for x in leaves):
        raise _Unsuited   # its value may decide what is done

    def put_back(xs: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        values, named = tree_unflatten(tree, xs)
        found = dict(zip(places, values, strict=True))
        return [found.get(k, x) for k, x in enumerate(args)], {**kwargs, **named}
    return leaves, put_back


def _evaluated(known: Callable[..., list[Any]], primals: Sequence[Any]) -> list[Any]:
    with set_trace(EVAL):
        return known(*primals)


def _same_equations(written: Sequence[JaxprEqn], done: Sequence[JaxprEqn]) -> bool:
    return len(written) == len(done) and all(
        e.primitive is d.primitive and _exact_items(e.params) == _exact_items(d.params)
        and [v.aval for v in e.outvars] == [v.aval for v in d.outvars] for e, d in zip(written, done, strict=True))


def _check_results(trace: TapedTrace, outs: Sequence[Any], values: Sequence[Any], pattern: Pattern) -> None:
    """Raises _Unsuited unless these are the results of a call, bit by bit."""
    for out, n, t in zip(outs, pattern.outs, pattern.tangents, strict=True):
        traced = type(out) is JVPTracer and out._trace is trace
        primal, other = out.primal if traced else out, values[n]
        if traced != (t is not None) or type(primal) is not Array or primal.aval != other.aval:
            raise _Unsuited
        if primal is not other and primal.tobytes() != other.tobytes():
            raise _Unsuited


_native.set_linear_calls(TapedTrace, JVPTracer, StageTracer, _record)


# -- backward passes
_passes: dict[Any, Any] = {}   # None: met once


def backward(jaxpr: Jaxpr, consts: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """`transforms.transpose.backward_pass` of a program that is linear in all of its inputs, by a tape where there is one."""
    key = _structure(jaxpr, cts) if _allowed() and _are_arrays(consts) and _are_arrays(cts) else None
    if key is not None and _passes.get(key) is None:
        _remember(_passes, key, lambda: tape_of(_pass(jaxpr, cts)))
    run = None if key is None else _passes.get(key)
    if run is None or run is _UNSUITED:
        return backward_pass(jaxpr, consts, [Undefined(v.aval) for v in jaxpr.invars], cts)
    found = run(*consts, *[ct for ct in cts if type(ct) is Array])
    return [Zero(v.aval.to_tangent_aval()) if x is None else x for v, x in zip(jaxpr.invars, found, strict=True)]


def _are_arrays(values: Sequence[Any]) -> bool:
    return all(type(x) is Array or type(x) is Literal for x in values)


def _structure(jaxpr: Jaxpr, cts: Sequence[Any]) -> Any:
    """A linear program and the types of its cotangents, as a key; None where operations do more than to compute."""
    given = [_of_literal(ct) if type(ct) is Literal else ct.aval for ct in cts]
    if type(jaxpr) is LinearProgram:
        return (*jaxpr.structure(), None, *given) if len(jaxpr.calls) <= _MOST_EQUATIONS else None
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
        key += given
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
