"""Programs as data: Var, Literal, JaxprEqn, Jaxpr, ClosedJaxpr."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.foundation import compute_types, lazy_import, xla_metadata
from numjet.foundation.source import named_scope, names_of
from numjet.foundation.source_info import NameStack, SourceInfo

if TYPE_CHECKING:
    from numjet.core.op import Op

notebook = lazy_import.Module("numjet.core.notebook")
printer = lazy_import.Module("numjet.core.printer")


class Var:
    """A variable: bound once, by a jaxpr's inputs, its constants or an equation. Equality is identity."""

    __slots__ = ("aval", "lanes")

    def __init__(self, aval: ShapedArray, initial_qdd: None = None, final_qdd: None = None):
        if initial_qdd is not None or final_qdd is not None:
            raise NotImplementedError("variables have no types that change: leave out initial_qdd and final_qdd")
        self.aval = aval
        self.lanes: Any = None  # the axes that vmap made, while invalid values are looked for: see core.lanes

    def copy(self) -> Var:
        """Another variable of its type."""
        made = Var(self.aval)
        made.lanes = self.lanes
        return made

    initial_qdd = final_qdd = None

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """Its type; names come with the program around it."""
        return repr(self)

    def __repr__(self) -> str:
        return f"Var:{self.aval.str_short()}"


class DropVar(Var):
    """An unread output of an equation; prints as `_`."""

    __slots__ = ()


class Literal:
    """A scalar constant written in place."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val, self.aval = val, aval

    @property
    def hash(self) -> int:
        """A hash of the value, equal for equal literals."""
        return hash((np.asarray(self.val).tobytes(), self.aval))

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """The value, with its type."""
        return repr(self) if print_dtype else str(self.val)

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal
Effects = frozenset


class JaxprEqnContext:
    """The settings under which an equation was traced: on which part of a device it runs, its attributes for XLA."""

    __slots__ = ("compute_type", "xla_metadata")

    def __init__(self, compute_type: str | None = None, metadata: Any = None):
        self.compute_type, self.xla_metadata = compute_type, metadata

    @property
    def manager(self) -> contextlib.AbstractContextManager[Any]:
        """A block that evaluates the equation under its settings."""
        found = contextlib.ExitStack()
        if self.compute_type is not None:
            found.enter_context(named_scope(compute_types.scope_name(self.compute_type)))
        if self.xla_metadata:
            found.enter_context(named_scope(xla_metadata.scope_name(self.xla_metadata)))
        return found


NO_CONTEXT = JaxprEqnContext()


class JaxprEqn:
    """outvars = primitive[params] invars. source_info: the user's frame (foundation.source.Frame), or a SourceInfo of one;
    it is kept as `source`. ctx has nothing to set."""

    __slots__ = ("primitive", "invars", "outvars", "params", "source", "effects")

    def __init__(self, invars: Sequence[Atom], outvars: Sequence[Var], primitive: Op, params: dict[str, Any],
                 effs: Effects = frozenset(), source_info: Any = None, ctx: JaxprEqnContext | None = None):
        self.primitive, self.params = primitive, params
        self.invars, self.outvars = list(invars), list(outvars)
        self.source, self.effects = frame_of(source_info), effs

    @property
    def source_info(self) -> SourceInfo:
        """The user's line that made it, and the names of the scopes around that."""
        return SourceInfo(self.source, NameStack(names_of(self.source)))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The names of the scopes around the operations of a program that it holds: its own, and that of the operation."""
        scope, names = getattr(self.primitive, "scope", None), names_of(self.source)
        return names if scope is None else (*names, scope.format(**self.params))

    @property
    def ctx(self) -> JaxprEqnContext:
        names = names_of(self.source) if compute_types.in_use or xla_metadata.in_use else ()
        part, metadata = compute_types.of_scopes(names), xla_metadata.of_scopes(names, {})
        return NO_CONTEXT if part is None and not metadata else JaxprEqnContext(part, metadata or None)

    def replace(self, **fields: Any) -> JaxprEqn:
        """A copy with some fields changed; `source_info` or `source` sets `source`, `ctx` has nothing to set."""
        for field, parameter in (("source", "source_info"), ("effects", "effs")):
            if field in fields:
                fields[parameter] = fields.pop(field)
        kept = {"invars": self.invars, "outvars": self.outvars, "primitive": self.primitive, "params": self.params,
                "effs": self.effects, "source_info": self.source}
        return JaxprEqn(**{**kept, **fields})

    def __repr__(self) -> str:
        return f"{self.outvars} = {self.primitive.name} {self.invars}"


def frame_of(source_info: Any) -> Any:
    """The user's frame of a SourceInfo; None for None."""
    return source_info.traceback if isinstance(source_info, SourceInfo) else source_info


class Jaxpr:
    """lambda constvars; invars. let eqns in outvars."""

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: Effects | None = None, debug: Any = None, debug_info: Any = None,
                 is_high: bool = False):
        if is_high:
            raise NotImplementedError("Jaxpr(is_high=True): there are no types that stand for other types")
        self.constvars, self.invars, self.outvars = list(constvars), list(invars), list(outvars)
        self.eqns = list(eqns)
        self.effects: Effects = join_effects(self.eqns) if effects is None else effects
        self.debug = debug if debug_info is None else debug_info

    is_high = False
    @property
    def debug_info(self) -> Any:
        """The function that it was traced of; without the paths of its result where derived programs have other results."""
        paths = getattr(self.debug, "result_paths", None)
        return self.debug if paths is None or len(paths) == len(self.outvars) else self.debug.replace(results=None)


    def replace(self, **fields: Any) -> Jaxpr:
        """A copy with some fields changed; effects, unless given, are those of the equations."""
        names = ("constvars", "invars", "outvars", "eqns", "debug")
        if "debug_info" in fields:
            fields["debug"] = fields.pop("debug_info")
        if unknown := fields.keys() - {*names, "effects"}:
            raise TypeError(f"Jaxpr.replace changes {[*names, 'effects']}, got {sorted(unknown)}")
        return Jaxpr(**{k: fields.get(k, getattr(self, k)) for k in names}, effects=fields.get("effects"))

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    in_aval_qdds = final_aval_qdds = property(lambda self: self.in_avals)  # types do not change

    def pretty_print(self, *, source_info: bool = False, print_shapes: bool = True, custom_pp_eqn_rules: bool = True,
                     name_stack: bool = False, width: int = 80, use_color: bool = False) -> str:
        """The program as text.

        source_info: with the user's line behind every equation; name_stack: with the names of the scopes around it.
        print_shapes: with the types of variables. custom_pp_eqn_rules: operations' own ways to print. use_color: with
        the colors of a terminal.
        """
        return printer.jaxpr_text(self, sources=source_info, stacks=name_stack, shapes=print_shapes, rules=custom_pp_eqn_rules,
                       colors=use_color, width=width)

    def __str__(self) -> str:
        return printer.jaxpr_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return notebook.shown(notebook.program(self.pretty_print(source_info=True)))


class ClosedJaxpr:
    """A jaxpr with the values of its constvars."""

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        assert len(jaxpr.constvars) == len(consts), (len(jaxpr.constvars), len(consts))
        self.jaxpr, self.consts = jaxpr, list(consts)

    in_avals = property(lambda self: self.jaxpr.in_avals)
    out_avals = property(lambda self: self.jaxpr.out_avals)
    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    literals = property(lambda self: self.consts)
    in_aval_qdds = final_aval_qdds = property(lambda self: self.jaxpr.in_avals)
    constvars = property(lambda self: self.jaxpr.constvars)
    invars = property(lambda self: self.jaxpr.invars)
    outvars = property(lambda self: self.jaxpr.outvars)
    debug_info = property(lambda self: self.jaxpr.debug_info)
    is_high = False

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """The program f(jaxpr) with the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def pretty_print(self, **options: Any) -> str:
        """As Jaxpr.pretty_print."""
        return self.jaxpr.pretty_print(**options)

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def __str__(self) -> str:
        return printer.jaxpr_text(self.jaxpr)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.jaxpr._repr_html_()


def join_effects(eqns: Iterable[JaxprEqn]) -> Effects:
    """The effects of a list of equations."""
    found: Effects = frozenset()
    for eqn in eqns:
        if eqn.effects:
            found = found | eqn.effects
    return found


def subjaxprs(params: dict[str, Any]) -> Iterable[Jaxpr]:
    """The jaxprs among an equation's parameters."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, Jaxpr):
                yield item
