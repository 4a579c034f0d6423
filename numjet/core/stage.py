"""Staging: a Python function runs on tracers, which record its jaxpr."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks, leaks
from numjet.core.aval import ShapedArray, explicit, placements_in_use
from numjet.core.check import check_if_enabled
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.named_axes import checked_axes
from numjet.core.snapshots import is_writable, snapshot
from numjet.core.trace import EVAL, Trace, Tracer, aval_of, current_trace, escaped, set_trace, type_text
from numjet.foundation import source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import is_symbolic
from numjet.foundation.record import Record


class ResultTree(list[Any]):
    """The structure of the result of a function that is traced: at most one, which is there once the function has returned."""
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


class DebugInfo(Record):
    """The function being traced, for messages and profiles."""
    name: str
    kind: str = "jit"
    file: str | None = None
    line: int = 0
    arg_names: tuple[str, ...] = ()
    hint: str = ""  # what to do about arguments whose values Python needs
    results: ResultTree | None = None

    func_name = property(lambda self: self.name)
    traced_for = property(lambda self: self.kind)
    func_src_info = property(lambda self: self.where())

    @property
    def result_paths(self) -> tuple[str, ...] | None:
        """`result['a']`: the path of every leaf of the function's result. None while it is not known."""
        if not self.results:
            return None
        return tuple(f"result{tree.keystr(path)}" for path in tree.treedef_paths(self.results[0]))

    def where(self) -> str:
        return f"{self.name} at {self.file}:{self.line}" if self.file else self.name


def _on_host(x: Any) -> bool:
    """Whether a value is known and on the host: values on other devices are not fetched."""
    return not isinstance(x, Tracer) and (type(x) is not _native.Array or x._remote is None)


def _as_literal(x: Any, aval: ShapedArray) -> Literal | None:
    """A number on the host as a literal; None for all else."""
    if aval.shape or aval.dtype.kind not in "biufcV" or aval.dtype.names is not None or not _on_host(x):
        return None
    value = x._value if isinstance(x, _native.Array) else np.asarray(x)
    return Literal(value.astype(aval.dtype)[()], aval)


def _for_many_sizes(eqn: JaxprEqn) -> bool:
    """Whether an equation has symbolic dimensions, so that it has no value yet."""
    return is_symbolic(eqn.params.values()) or any(is_symbolic(v.aval.shape) for v in eqn.outvars)


class Touched(Record):
    """A mutable reference of an outer trace that a program reads, through one more input, and perhaps writes."""
    ref: Any
    written: bool


class Varying(Record):
    """What an operation is where types say what varies over axes of a mesh, from its rule varying(axes over which an operand
    varies, **params): the operation with its parameters, the axes over which operands have to vary, and those of results."""
    op: Any
    params: dict[str, Any]
    operands: frozenset[Any]
    results: frozenset[Any]


class _State:
    """The value of a captured reference at some point of a program."""

    __slots__ = ("value", "written")

    def __init__(self, value: Any):
        self.value, self.written = value, False


class StageTracer(Tracer):
    """A variable of the jaxpr that is being written, or a number that the traced function made."""

    __slots__ = ("_var",)
    _trace: StageTrace

    def __init__(self, trace: StageTrace, var: Atom):
        self._trace, self._var, self.aval = trace, var, var.aval

    def concrete(self) -> Any:
        known, shards = self._trace.value_of(self._var), self._trace.shards
        if known is None and shards is not None:
            return shards.value(self._trace, self._var)
        return hooks.literal_array(known) if isinstance(known, Literal) else known

    def given(self) -> Any:
        return hooks.literal_array(self._var) if isinstance(self._var, Literal) else self._trace._values.get(self._var)

    def _type_repr(self) -> str:
        return f"JitTracer({type_text(self.aval)})"

    def __repr__(self) -> str:
        trace = self._trace
        known = trace.shards.text(trace, self._var) if trace.shards is not None and trace.valid else None
        return self._type_repr() if known is None else known

    def origin_text(self) -> str:
        return self._trace.explain(self._var)

    def made_at(self) -> Any:
        eqn = self._trace.producer(self._var)
        return None if eqn is None else eqn.source


class StageTrace(Trace):
    """Writes every operation down as an equation."""

    __slots__ = ("eqns", "invars", "consts", "debug", "inlines", "outer", "partial", "refs", "shards", "_depth",
                 "_producers", "_seen", "_values")

    def __init__(self, debug: DebugInfo | None = None, partial: bool = False, outer: Trace | None = None, inlines: bool = True):
        """partial: its inputs are the unknown values of a partial evaluation. outer: the trace around a function that is
        traced to a program of its own. inlines: known scalar arrays are written into the program."""
        super().__init__()
        self.inlines = inlines
        self.partial, self.outer = partial, outer
        self._depth = len(source.name_stack()) if partial else 0  # scopes of the caller, which the program is not in
        self.refs: dict[Any, _State] = {}  # captured: see core.refs
        self.shards: Any = None  # what computes values that Python asks for, in a function of shards that runs outside of jit
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.consts: dict[int, tuple[Var, Any]] = {}
        self.debug = debug
        self._producers: dict[Var, JaxprEqn] = {}
        self._values: dict[Var, Any] = {}
        self._seen = 0

    def new_input(self, aval: ShapedArray) -> StageTracer:
        var = Var(aval)
        self.invars.append(var)
        return StageTracer(self, var)

    def new_arg(self, aval: ShapedArray, source_info: Any = None) -> StageTracer:
        """One more input of the program, behind the arguments: libraries give it the state that a function is seen to read.

        source_info: a place, as JAX's method takes it; inputs keep none.
        """
        return self.new_input(aval)

    known_as = property(lambda self: "DynamicJaxprTrace")
    captures = property(lambda self: self.outer is not None)

    def capture(self, ref: Any, aval: ShapedArray) -> None:
        """Makes the value of a reference one more input."""
        self.refs[ref] = _State(self.new_input(aval))

    def lend(self, ref: Any, value: Any) -> None:
        """Gives a reference a value, until the caller takes it out of `refs` again."""
        self.refs[ref] = _State(value)

    def hold(self, x: Any) -> Any:
        if self.partial:
            return x
        atom = _as_literal(x, aval_of(x)) or self._const(x)
        if isinstance(atom, Var):
            self._values[atom] = x
        return StageTracer(self, atom)

    def atom(self, x: Any) -> Atom:
        """The variable of a tracer of this trace, a literal for scalars, a constant variable for all else."""
        if type(x) is StageTracer and x._trace is self:
            return x._var
        kind = type(x)
        if kind is Literal:
            return x
        if kind is float or kind is int or kind is bool or kind is complex:
            return Literal(x, aval_of(x))
        return self._const(x)

    def _const(self, x: Any) -> Atom:
        known = self.consts.get(id(x))
        if known is not None:
            return known[0]
        if isinstance(x, Tracer):
            if not x._trace.valid:
                raise escaped(x)
        elif hasattr(x, "__jax_array__"):
            return self.atom(x.__jax_array__())
        aval = aval_of(x)
        if self.inlines or not isinstance(x, _native.Array):
            literal = _as_literal(x, aval)
            if literal is not None:
                return literal
        if is_writable(x):
            return self.atom(snapshot(x))
        var = Var(aval)
        self.consts[id(x)] = (var, x)
        return var

    def process(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        atoms = [self.atom(a) for a in args]
        if checked_axes() and not getattr(op, "programs", False):
            op, atoms, params, varying = self._varied(op, atoms, params)
        else:
            varying = None
        avals = [a.aval for a in atoms]
        if not placements_in_use:
            out = op.abstract(*avals, **params)
        else:
            out, known = explicit.abstract_or_auto(op, avals, params)
            if not known:
                atoms = [self._left_to_compiler(a) for a in atoms]
        if varying is not None:
            out = [a.update(vma=varying) for a in out] if op.multiple else out.update(vma=varying)
        effects = frozenset() if op.effects is None else op.effects_of(avals, params)
        if not op.multiple:
            var = Var(out)
            self.eqns.append(JaxprEqn(atoms, (var,), op, params, effects, source.beyond(source.operation_frame(), self._depth)))
            return StageTracer(self, var)
        outvars = [Var(a) for a in out]
        self.eqns.append(JaxprEqn(atoms, outvars, op, params, effects, source.beyond(source.operation_frame(), self._depth)))
        return [StageTracer(self, v) for v in outvars]

    def _varied(self, op: Any, atoms: list[Atom], params: dict[str, Any]) -> tuple[Any, list[Atom], dict[str, Any], frozenset]:
        """The operation with operands that vary over the same axes of the mesh, and the axes over which its results do."""
        found = frozenset().union(*[a.aval.vma for a in atoms])
        rule = getattr(op, "varying", None)
        if rule is None and not config.auto_pcast and any(a.aval.vma != found for a in atoms):
            raise _unlike(op, atoms, found)
        change = Varying(op, params, found, found) if rule is None else rule(found & checked_axes(), **params)
        atoms = [self._vary(a, change.operands) for a in atoms]
        if placements_in_use and not getattr(op, "typed", False):
            atoms = self._reduce_alike(atoms)
        return change.op, atoms, change.params, change.results

    def _vary(self, a: Atom, axes: frozenset[Any]) -> Atom:
        missing = axes - a.aval.vma
        if placements_in_use and missing:
            unreduced, reduced = explicit.sums_of(a.aval)
            a, missing = self._cast("reduced to varying", a, missing & reduced), missing - reduced - unreduced
        return self._cast("varying", a, missing)

    def _reduce_alike(self, atoms: list[Atom]) -> list[Atom]:
        """Operands beside such over whose axes cotangents are summands: theirs are, too."""
        reduced = frozenset().union(*[explicit.sums_of(a.aval)[1] & checked_axes() for a in atoms])
        if not reduced:
            return atoms
        return [a if isinstance(a, Literal) else self._cast("reduced", a, reduced - frozenset().union(
            a.aval.vma, *explicit.sums_of(a.aval))) for a in atoms]

    def _cast(self, to: str, a: Atom, axes: frozenset[Any]) -> Atom:
        """A value whose type says something else of axes of the mesh."""
        if not axes:
            return a
        value = a if isinstance(a, Literal) else StageTracer(self, a)
        return self.process(hooks.cast(to), [value], {"axes": tuple(sorted(axes, key=str))})._var

    def _left_to_compiler(self, a: Atom) -> Atom:
        """A value whose type does not say how it is divided."""
        if a.aval.placement is None:
            return a
        with set_trace(self):
            return hooks.left_to_compiler(StageTracer(self, a))._var

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr that returns `outs`, and the values of its constvars (only those that it reads)."""
        outvars = [self.atom(o) for o in outs]
        used = {v for e in self.eqns for v in e.invars if type(v) is Var} | {v for v in outvars if type(v) is Var}
        kept = [(v, x) for v, x in self.consts.values() if v in used]
        jaxpr = Jaxpr([v for v, _ in kept], self.invars, outvars, self.eqns, debug=self.debug)
        return jaxpr, [x for _, x in kept]

    # -- values known while tracing ------------------------------------------------------------------------------
    def producer(self, var: Atom) -> JaxprEqn | None:
        """The equation that made a variable; None for arguments and constants."""
        while self._seen < len(self.eqns):
            eqn = self.eqns[self._seen]
            self._producers.update((v, eqn) for v in eqn.outvars)
            self._seen += 1
        return None if isinstance(var, Literal) else self._producers.get(var)

    def constant(self, var: Var) -> Any:
        """The value of a constant variable; None for other variables."""
        return next((x for v, x in self.consts.values() if v is var), None)

    def value_of(self, atom: Atom) -> Any:
        """The value of a variable that depends on no input, computed now; None if it depends on one."""
        if isinstance(atom, Literal):
            return atom
        if atom in self._values:
            return self._values[atom]
        self._values[atom] = value = self._compute(atom)
        return value

    def _compute(self, var: Var) -> Any:
        known = self.constant(var)
        if known is not None:
            return known.concrete() if isinstance(known, Tracer) else known
        eqn = self.producer(var)
        if eqn is None or eqn.effects or _for_many_sizes(eqn) or getattr(eqn.primitive, "collective", None) is not None:
            return None
        inputs = [self.value_of(a) for a in eqn.invars]
        if any(x is None for x in inputs):
            return None
        with set_trace(EVAL):
            out = EVAL.process(eqn.primitive, inputs, eqn.params)
        outs = out if eqn.primitive.multiple else [out]
        self._values.update(zip(eqn.outvars, outs, strict=True))
        return self._values[var]

    def explain(self, var: Atom) -> str:
        """Names the arguments that a variable depends on."""
        stack: list[Atom] = [var]
        found: set[int] = set()
        seen: set[Atom] = set()
        while stack:
            v = stack.pop()
            if v in seen or isinstance(v, Literal):
                continue
            seen.add(v)
            if v in self.invars:
                found.add(self.invars.index(v))
            elif (eqn := self.producer(v)) is not None:
                stack.extend(eqn.invars)
        return _explain_arguments(self.debug, sorted(found))


def _unlike(op: Any, atoms: Sequence[Atom], axes: frozenset[Any]) -> ValueError:
    """The error for operands that vary over different axes of the mesh, where they are not made to vary alike."""
    k, missing = next((k, axes - a.aval.vma) for k, a in enumerate(atoms) if a.aval.vma != axes)
    return ValueError(f"Primitive {op.name} requires varying manual axes to match, but got {[set(a.aval.vma) for a in atoms]}. "
                      f"Apply jax.lax.pcast(..., {tuple(sorted(missing, key=str))}, to='varying') to operand {k}, or leave the "
                      "flag jax_auto_pcast on, which does so.")


def _explain_arguments(debug: DebugInfo | None, indices: list[int]) -> str:
    if debug is None:
        return ""
    head = f"The error occurred while tracing the function {debug.where()} for {debug.kind}."
    names = [debug.arg_names[i] if i < len(debug.arg_names) else f"#{i}" for i in indices]
    hint = debug.hint and f" {debug.hint}"
    if not names:
        return head + hint
    what = f"value of the argument {names[0]}" if len(names) == 1 else (
        f"values of the arguments {', '.join(names[:-1])} and {names[-1]}")
    return f"{head} This concrete value was not available in Python because it depends on the {what}.{hint}"


def trace_to_jaxpr(fun: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray],
                   debug: DebugInfo | None = None) -> tuple[Jaxpr, list[Any]]:
    """The jaxpr of `fun` (flat arguments to a flat sequence of results) and the values of its constvars.

    The values may be tracers of outer traces. NotImplementedError for a function that uses mutable references of outer traces.
    """
    jaxpr, consts, touched = trace_with_refs(fun, avals, debug)
    if touched:
        raise unsupported_refs(touched, debug)
    return jaxpr, consts


def unsupported_refs(touched: Sequence[Touched], debug: DebugInfo | None) -> NotImplementedError:
    """The error for a function that uses references where nobody passes their values."""
    what = f" {debug.where()}, traced for {debug.kind}," if debug is not None else ""
    return NotImplementedError(
        f"The function{what} or a derivative rule in it {'writes' if any(t.written for t in touched) else 'reads'} the mutable "
        f"reference of type {touched[0].ref.aval} that it closes over, which is not supported here. Pass its value, ref[...], "
        "as an argument, and return what is to be written.")


def trace_with_refs(fun: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], debug: DebugInfo | None = None,
                    inlines: bool = True) -> tuple[Jaxpr, list[Any], list[Touched]]:
    """As trace_to_jaxpr; the references of outer traces that the program uses, in the order of its last inputs. The new values
    of those that it writes are its last results. inlines: scalar arrays that it closes over become literals."""
    trace = StageTrace(debug, outer=current_trace(), inlines=inlines)
    tracers = [trace.new_input(a) for a in avals]
    try:
        with set_trace(trace), source.unnamed(), _native.rare_collections:
            outs = fun(*tracers)
            touched = [Touched(ref, state.written) for ref, state in trace.refs.items()]
            jaxpr, consts = trace.finish([*outs, *[state.value for state in trace.refs.values() if state.written]])
    finally:
        trace.valid = False
    if config.check_tracer_leaks:
        del tracers, outs
        leaks.check(trace, debug)
    check_if_enabled(jaxpr)
    return jaxpr, consts, touched


def trace_to_closed(fun: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray],
                    debug: DebugInfo | None = None) -> ClosedJaxpr:
    """As trace_to_jaxpr, closed over the constants."""
    jaxpr, consts, touched = trace_with_refs(fun, avals, debug)   # as few frames as possible, for calls of calls of calls
    if touched:
        raise unsupported_refs(touched, debug)
    return ClosedJaxpr(jaxpr, consts)


def hoist_consts(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr whose constvars became its first inputs."""
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


class _Recording(threading.local):
    active = False


_recording = _Recording()


def staging() -> bool:
    """Whether operations become equations of a program that is compiled, whatever transformations they go through before."""
    trace: Any = _native.current_trace()
    while (parent := getattr(trace, "parent", None)) is not None:
        trace = parent
    return isinstance(trace, StageTrace) and not _recording.active


@contextlib.contextmanager
def as_evaluated() -> Iterator[None]:
    """A block in which functions are traced to be run one operation after the other, as if they were evaluated."""
    before, _recording.active = _recording.active, True
    try:
        yield
    finally:
        _recording.active = before
