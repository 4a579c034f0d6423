"""Jaxpr transforms for the programs that operations hold: differentiation, splitting, transposition, batching; cached.

Derived programs have no constvars: values that rules closed over are the first inputs, given as `consts`. A second
request returns the same object, so that it is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray, explicit
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, Var
from numjet.core.op import Undefined, Zero
from numjet.core.stage import Touched, hoist_consts, trace_with_refs, unsupported_refs
from numjet.core.trace import Tracer
from numjet.foundation.record import Record
from numjet.foundation.util import partition_list, weakref_lru_cache
from numjet.lax.tangent import instantiate_cotangent, summed_cotangent_aval, zero_tangent
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.jvp import jvp_jaxpr
from numjet.transforms.linearize import partial_eval_jaxpr
from numjet.transforms.scatter_rewrites import write_updates
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_jaxpr

Flags = tuple[bool, ...]


class Derived(Record):
    """A derived program, the values of its first inputs, and which results are nonzero (or batched)."""

    jaxpr: ClosedJaxpr
    consts: list[Any]
    flags: Flags
    touched: Sequence[Touched] = ()


class Residual(Record):
    """The origin of a value that the unknown program needs: an input or a result of the known program."""

    from_input: bool
    at: int


class Split(Record):
    """A split program: known(*consts, *known inputs) -> known results and residuals, unknown(*residuals, *unknown
    inputs) -> unknown results. The first `known_count` results of `known` are those of the program."""

    known: ClosedJaxpr
    consts: list[Any]
    unknown: ClosedJaxpr
    flags: Flags
    residuals: list[Residual]
    known_count: int

    def pick(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The residuals, given inputs (with consts) and results of the known program."""
        return [inputs[r.at] if r.from_input else outputs[r.at] for r in self.residuals]


def cached_by_program(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: caches by the identity of the program, unless the result holds tracers, which die with their trace."""
    return weakref_lru_cache(fn, keeps=_outlives_its_trace)


def _outlives_its_trace(result: Any) -> bool:
    return not any(isinstance(c, Tracer) for c in getattr(result, "consts", ())) and not getattr(result, "touched", None)


def without_consts(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program whose constants became its first inputs."""
    return ClosedJaxpr(hoist_consts(closed.jaxpr)) if closed.consts else closed


without_consts_cached = cached_by_program(without_consts)  # for programs of users, which are applied time and again


@cached_by_program
def jvp_program(closed: ClosedJaxpr, nonzeros: Flags, wanted: bool | Flags) -> Derived:
    """(*consts, *primals, *nonzero tangents) -> (*results, *nonzero tangents of results)."""
    made, flags = jvp_jaxpr(write_updates(closed.jaxpr), nonzeros, wanted)
    return Derived(without_consts(made), made.consts, tuple(flags))


@weakref_lru_cache(keeps=_outlives_its_trace, state=explicit.mapped)
def batch_program(closed: ClosedJaxpr, size: int, batched: Flags, wanted: bool | Flags, axis_name: Any) -> Derived:
    """(*consts, *operands) -> results, with the batch in axis 0 of those that have one."""
    made, flags = batch_jaxpr(closed.jaxpr, size, batched, wanted, axis_name)
    return Derived(without_consts(made), made.consts, tuple(flags))


def transpose_program(closed: ClosedJaxpr, linear: Flags, nonzeros: Flags, wanted: bool | Flags) -> Derived:
    """(*consts, *operands that are not linear, *nonzero cotangents) -> nonzero cotangents of the linear operands."""
    made = transpose_with_refs(closed, linear, nonzeros, wanted)
    if made.touched:
        raise unsupported_refs(made.touched, closed.jaxpr.debug)
    return made


@cached_by_program
def transpose_with_refs(closed: ClosedJaxpr, linear: Flags, nonzeros: Flags, wanted: bool | Flags) -> Derived:
    """As transpose_program, for rules of the user's that may use mutable references: their values are the last operands,
    the new ones the last results."""
    jaxpr = closed.jaxpr
    lin_vars, rest_vars = ([v for v, f in zip(jaxpr.invars, linear, strict=True) if f], partition_list(linear, jaxpr.invars)[0])
    want = [wanted] * len(lin_vars) if isinstance(wanted, bool) else list(wanted)
    ct_avals = [summed_cotangent_aval(v.aval) if f else v.aval.to_ct_aval()
                for v, f in zip(jaxpr.outvars, nonzeros, strict=True)]
    flags: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        rest, cts = iter(args[: len(rest_vars)]), iter(args[len(rest_vars) :])
        operands = [Undefined(v.aval) if f else next(rest) for v, f in zip(jaxpr.invars, linear, strict=True)]
        out_cts = [next(cts) if f else Zero(a) for f, a in zip(nonzeros, ct_avals, strict=True)]
        found = [c for c, f in zip(backward_pass(jaxpr, (), operands, out_cts), linear, strict=True) if f]
        flags[:] = [type(c) is not Zero or w for c, w in zip(found, want, strict=True)]
        return [instantiate_cotangent(c, v.aval) for c, v, f in zip(found, lin_vars, flags, strict=True) if f]

    avals = [v.aval for v in rest_vars] + [a for a, f in zip(ct_avals, nonzeros, strict=True) if f]
    made, consts, touched = trace_with_refs(fun, avals, jaxpr.debug)
    return Derived(ClosedJaxpr(hoist_consts(made)), consts, tuple(flags), touched)


@cached_by_program
def split_program(closed: ClosedJaxpr, unknown_in: Flags, wanted: bool | Flags) -> Split:
    """Partial evaluation: splits a program by its known inputs; see Split. wanted: results to be made unknown in any case."""
    known, unknown, out_unknown, count = partial_eval_jaxpr(closed.jaxpr, unknown_in, wanted)
    hoisted = hoist_consts(known.jaxpr)
    unknown, used = _thin_unknown(unknown, count)
    known_count = len(hoisted.outvars) - count
    residuals, outvars = _place(hoisted, known_count, used)
    thin, _ = dce_jaxpr(hoisted.replace(outvars=outvars), keep_inputs=True)
    thin = thin.replace(invars=hoisted.invars)
    return Split(ClosedJaxpr(thin), known.consts, ClosedJaxpr(unknown), tuple(out_unknown), residuals, known_count)


def _thin_unknown(unknown: Jaxpr, count: int) -> tuple[Jaxpr, list[bool]]:
    """Drops dead equations of the unknown program, and residuals that only they read; keeps all unknown inputs."""
    thin, used = dce_jaxpr(unknown)
    kept = [v for v, u in zip(unknown.invars[:count], used, strict=False) if u]
    return thin.replace(invars=[*kept, *unknown.invars[count:]]), used[:count]


def _place(known: Jaxpr, known_count: int, used: Sequence[bool]) -> tuple[list[Residual], list[Any]]:
    """The origin of each used residual; each variable is given out once."""
    outvars = list(known.outvars[:known_count])
    inputs = {v: i for i, v in enumerate(known.invars)}
    outputs = {v: i for i, v in reversed(list(enumerate(outvars))) if isinstance(v, Var)}
    residuals: list[Residual] = []
    for v, u in zip(known.outvars[known_count:], used, strict=True):
        if not u:
            continue
        assert isinstance(v, Var)
        if v in inputs:
            residuals.append(Residual(True, inputs[v]))
            continue
        if v not in outputs:
            outputs[v] = len(outvars)
            outvars.append(v)
        residuals.append(Residual(False, outputs[v]))
    return residuals, outvars


def nonzero_flags(tangents: Sequence[Any]) -> Flags:
    """Which tangents or cotangents are not symbolic zeros."""
    return tuple(type(t) is not Zero for t in tangents)


def only_nonzero(tangents: Sequence[Any]) -> list[Any]:
    """The tangents that are not symbolic zeros."""
    return [t for t in tangents if type(t) is not Zero]


def with_zeros(flags: Sequence[bool], values: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """Values where flags are true, symbolic zeros of the avals' tangents elsewhere."""
    found = iter(values)
    return [next(found) if f else zero_tangent(a) for f, a in zip(flags, avals, strict=True)]


def union(*flags: Sequence[bool]) -> Flags:
    """Elementwise or of the flags."""
    return tuple(any(column) for column in zip(*flags, strict=True))


@cached_by_program
def reordered(closed: ClosedJaxpr, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> ClosedJaxpr:
    """The program with permuted inputs and results: its i-th input is the old one's inputs[i]-th."""
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in inputs], outvars=[jaxpr.outvars[i] for i in outputs]))


def substituted(jaxpr: Jaxpr, env: dict[Var, Atom], invars: Sequence[Var]) -> Jaxpr:
    """The program with variables replaced by others, which are bound among the new inputs."""

    def swap(atom: Atom) -> Atom:
        return env.get(atom, atom) if isinstance(atom, Var) else atom

    eqns = [e.replace(invars=[swap(a) for a in e.invars]) for e in jaxpr.eqns]
    return jaxpr.replace(invars=list(invars), eqns=eqns, outvars=[swap(v) for v in jaxpr.outvars])


def holds_effects(**params: Any) -> frozenset:
    """The effects of the programs among an operation's parameters: the `effects` slot of operations here."""
    found: frozenset = frozenset()
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ClosedJaxpr):
                found = found | item.effects
    return found
