"""Programs as data: Var, Literal, JaxprEqn, Jaxpr, ClosedJaxpr."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from numjet.core.aval import ShapedArray

if TYPE_CHECKING:
    from numjet.core.op import Op


class Var:
    """A variable: bound once, by a jaxpr's inputs, its constants or an equation. Equality is identity."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

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

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal
Effects = frozenset


class JaxprEqn:
    """outvars = primitive[params] invars. `source` is a user frame (foundation.source.Frame) or None."""

    __slots__ = ("primitive", "invars", "outvars", "params", "source", "effects")

    def __init__(self, primitive: Op, invars: Sequence[Atom], outvars: Sequence[Var], params: dict[str, Any],
                 source: Any = None, effects: Effects = frozenset()):
        self.primitive, self.params = primitive, params
        self.invars, self.outvars = list(invars), list(outvars)
        self.source, self.effects = source, effects

    def replace(self, **fields: Any) -> JaxprEqn:
        """A copy with some fields changed."""
        kept = {k: getattr(self, k) for k in self.__slots__ if k not in fields}
        return JaxprEqn(**kept, **fields)

    def __repr__(self) -> str:
        return f"{self.outvars} = {self.primitive.name} {self.invars}"


class Jaxpr:
    """lambda constvars; invars. let eqns in outvars."""

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: Effects | None = None, debug: Any = None):
        self.constvars, self.invars, self.outvars = list(constvars), list(invars), list(outvars)
        self.eqns = list(eqns)
        self.effects: Effects = join_effects(self.eqns) if effects is None else effects
        self.debug = debug

    def replace(self, **fields: Any) -> Jaxpr:
        names = ("constvars", "invars", "outvars", "eqns", "debug")
        return Jaxpr(**{k: fields.get(k, getattr(self, k)) for k in names}, effects=fields.get("effects"))

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    def __str__(self) -> str:
        return printer(self)

    __repr__ = __str__


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

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def __str__(self) -> str:
        return printer(self.jaxpr)

    __repr__ = __str__


def join_effects(eqns: Iterable[JaxprEqn]) -> Effects:
    """The effects of a list of equations."""
    found: Effects = frozenset()
    for eqn in eqns:
        if eqn.effects:
            found = found | eqn.effects
    return found


def default_printer(jaxpr: Jaxpr) -> str:
    return f"<jaxpr of {len(jaxpr.eqns)} equations>"


printer = default_printer


def set_printer(fn: Any) -> None:
    """Called by core.printer with the function that prints jaxprs."""
    global printer
    printer = fn


def subjaxprs(params: dict[str, Any]) -> Iterable[Jaxpr]:
    """The jaxprs among an equation's parameters."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, Jaxpr):
                yield item
