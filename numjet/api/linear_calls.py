"""Linear programs of eager derivatives, call by call: equations that are written down once, for all calls of the same types.

A call adds the number of its pattern, its residuals and tangents to the program; its equations are written out only where
somebody reads them. So a backward pass that was met before costs no equation.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var
from numjet.core.op import Op
from numjet.core.stage import DebugInfo, StageTrace, StageTracer
from numjet.foundation import source
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef, tree_unflatten
from numjet.transforms.jvp import JVPTrace, JVPTracer

_exact_items = _native.exact_items
_NO_EFFECTS: frozenset[Any] = frozenset()


class Equation(Record):
    """A linear equation of a pattern. ins: numbers of values (residuals, tangents, results of earlier ones), or Literals."""

    op: Op
    ins: tuple[Any, ...]
    params: dict[str, Any]
    avals: tuple[ShapedArray, ...]


class Pattern:
    """What an operation or a library function does to values and tangents of some types.

    outs, residuals: numbers of values: arguments, constants, what was computed of the arguments. tangents: the number of a
    linear value for each result (residuals first, then tangents of arguments, then results of equations), or None. treedef: the
    structure of the results; None for a single one.
    """

    __slots__ = ("constants", "equations", "made", "outs", "residuals", "results", "tangents", "treedef")

    def __init__(self, outs: Sequence[int], residuals: Sequence[int], equations: Sequence[Equation],
                 tangents: Sequence[int | None], given: int, treedef: PyTreeDef | None, constants: Sequence[Any] = ()):
        """given: the number of tangents of arguments."""
        self.constants = tuple(constants)
        self.outs, self.residuals, self.equations, self.treedef = tuple(outs), tuple(residuals), tuple(equations), treedef
        first = len(self.residuals) + given
        avals = [a for e in equations for a in e.avals]
        self.made = tuple(dict.fromkeys(n for n in tangents if n is not None and n >= first))
        places = {n: given + k for k, n in enumerate(self.made)}
        self.tangents = tuple([None if n is None else places.get(n, n - len(self.residuals)) for n in tangents])
        self.results = tuple([avals[n - first] for n in self.made])

    def __call__(self, trace: JVPTrace, values: Sequence[Any], computed: Sequence[Any] | None,
                 tangents: tuple[StageTracer, ...]) -> Any:
        """The results of a call, as tracers where they have tangents."""
        values = self.all_values(values, computed)
        stage: LinearStage = trace.parent.unknown  # type: ignore[attr-defined]
        made = [Var(a) for a in self.results]
        stage.add(self, [values[n] for n in self.residuals], [t._var for t in tangents], made)
        linear = (*tangents, *[StageTracer(stage, v) for v in made])
        outs = [values[n] if t is None else JVPTracer(trace, values[n], linear[t])
                for n, t in zip(self.outs, self.tangents, strict=True)]
        return outs[0] if self.treedef is None else tree_unflatten(self.treedef, outs)

    def all_values(self, values: Sequence[Any], computed: Sequence[Any] | None) -> Sequence[Any]:
        """The values that have numbers."""
        return (*values, *self.constants, *(computed or ()))

    def write(self, residuals: Sequence[Atom], tangents: Sequence[Atom], made: Sequence[Var], where: Any) -> list[JaxprEqn]:
        """The equations of a call. made: the variables of its results."""
        atoms: list[Any] = [*residuals, *tangents]
        own = dict(zip(self.made, made, strict=True))
        eqns = []
        for e in self.equations:
            outvars = [own.get(len(atoms) + k) or Var(a) for k, a in enumerate(e.avals)]
            ins = [atoms[n] if type(n) is int else n for n in e.ins]
            eqns.append(JaxprEqn(ins, outvars, e.op, dict(e.params), _NO_EFFECTS, where))   # users may edit parameters
            atoms += outvars
        return eqns


class _Call:
    """One entry of a linear program. residuals: their numbers among the program's constants."""

    __slots__ = ("made", "pattern", "residuals", "tangents", "where")

    def __init__(self, pattern: Pattern, residuals: list[int], tangents: list[Atom], made: list[Var], where: Any):
        self.pattern, self.residuals, self.tangents, self.made, self.where = pattern, residuals, tangents, made, where

    def write(self, constvars: Sequence[Atom]) -> list[JaxprEqn]:
        return self.pattern.write([constvars[n] for n in self.residuals], self.tangents, self.made, self.where)


class LinearStage(StageTrace):
    """A tangent program that is being written, by calls where these have patterns."""

    __slots__ = ("calls", "values", "_eqns", "_numbers")

    def __init__(self, debug: DebugInfo | None = None, partial: bool = True, inlines: bool = False):
        self.calls: list[_Call] = []
        self.values: list[Any] = []   # that calls read
        self._numbers: dict[int, int] = {}   # of these, by identity
        super().__init__(debug, partial, inlines=inlines)

    def add(self, pattern: Pattern, residuals: list[Any], tangents: list[Atom], made: list[Var]) -> None:
        """Adds a call."""
        numbers, values = [], self.values
        for x in residuals:
            n = self._numbers.setdefault(id(x), len(values))
            if n == len(values):
                values.append(x)
            numbers.append(n)
        where = source.beyond(source.operation_frame(), self._depth)
        self.calls.append(_Call(pattern, numbers, tangents, made, where))

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations, those of calls written out."""
        if self.calls:
            constvars = [self._const(x) for x in self.values]
            for call in self.calls:
                self._eqns += call.write(constvars)
            self.calls.clear()
        return self._eqns

    @eqns.setter
    def eqns(self, eqns: list[JaxprEqn]) -> None:
        self._eqns = eqns

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        if self._eqns or self.consts or not self.calls:
            return super().finish(outs)
        return LinearProgram(self.invars, [self.atom(o) for o in outs], self.calls, self.values, self.debug), self.values


class LinearProgram(Jaxpr):
    """A tangent program of calls, whose equations are written out when somebody reads them."""

    __slots__ = ("calls", "_avals", "_constvars", "_eqns")

    def __init__(self, invars: Sequence[Var], outvars: Sequence[Atom], calls: list[_Call], consts: Sequence[Any],
                 debug: Any = None):
        self.invars, self.outvars, self.effects, self.debug = list(invars), list(outvars), _NO_EFFECTS, debug
        self.calls = calls
        self._avals = [x.aval for x in consts]
        self._constvars: list[Var] | None = None
        self._eqns: list[JaxprEqn] | None = None

    @property
    def constvars(self) -> list[Var]:   # type: ignore[override]
        if self._constvars is None:
            self._constvars = [Var(a) for a in self._avals]
        return self._constvars

    @property
    def eqns(self) -> list[JaxprEqn]:   # type: ignore[override]
        if self._eqns is None:
            self._eqns = [eqn for call in self.calls for eqn in call.write(self.constvars)]
        return self._eqns

    def structure(self) -> tuple[Any, ...]:
        """The program as a key: equal for programs of the same equations."""
        numbers: dict[Any, int] = {v: n for n, v in enumerate(self.invars)}
        key: list[Any] = [config.token, *[v.aval for v in self.invars], None]
        for call in self.calls:
            key.append(call.pattern)
            key += call.residuals
            key += [numbers[v] for v in call.tangents]
            for v in call.made:
                numbers[v] = len(numbers)
        key += [numbers[v] for v in self.outvars]
        return tuple(key)
