"""Binary serialization of programs: a table of jaxprs, those inside others first, then the whole with its constants.

What is read is checked: variables and types by core.check, so that bytes which are no program raise an error.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet import _native
from numjet.api.export.codec import FIRST_PROGRAM_TAG, Corrupt, Reader, Writer, read_value, write_value
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op, all_ops
from numjet.runtime.dispatch import host_array

_JAXPR, _CLOSED = FIRST_PROGRAM_TAG, FIRST_PROGRAM_TAG + 1


def write_program(w: Writer, closed: ClosedJaxpr) -> None:
    """Appends a program. ValueError if it calls Python functions, which bytes cannot hold."""
    table = _Table()
    whole = Writer()
    table.closed(whole, closed)
    w.count(len(table.written))
    for one in table.written:
        w.raw(one)
    w.raw(bytes(whole.data))


def program_bytes(closed: ClosedJaxpr) -> bytes:
    """A program as bytes, the same for equal programs. ValueError if it calls Python functions."""
    w = Writer()
    write_program(w, closed)
    return bytes(w.data)


def read_program(r: Reader) -> ClosedJaxpr:
    """The program at the reader's position, checked. Corrupt, or an error of a rule, for what is no program."""
    found = _Found()
    for _ in range(r.count()):
        found.jaxprs.append(found.jaxpr(Reader(r.raw(), r.scope)))
    closed = found.closed(Reader(r.raw(), r.scope))
    check_jaxpr(closed)
    return closed


class _Table:
    """Programs written so far, each once."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.numbers: dict[int, int] = {}

    def number(self, jaxpr: Jaxpr) -> int:
        if id(jaxpr) not in self.numbers:
            w = Writer()
            self.jaxpr(w, jaxpr)
            self.numbers[id(jaxpr)] = len(self.written)
            self.written.append(bytes(w.data))
        return self.numbers[id(jaxpr)]

    def closed(self, w: Writer, closed: ClosedJaxpr) -> None:
        w.count(self.number(closed.jaxpr))
        w.count(len(closed.consts))
        for value, var in zip(closed.consts, closed.jaxpr.constvars, strict=True):
            w.array(np.asarray(value._value if isinstance(value, _native.Array) else value, var.aval.dtype))

    def jaxpr(self, w: Writer, jaxpr: Jaxpr) -> None:
        names: dict[Var, int] = {}
        for group in (jaxpr.constvars, jaxpr.invars):
            self.bind(w, group, names)
        w.count(len(jaxpr.eqns))
        for eqn in jaxpr.eqns:
            self.equation(w, eqn, names)
        self.atoms(w, jaxpr.outvars, names)

    def bind(self, w: Writer, variables: list[Var], names: dict[Var, int]) -> None:
        w.count(len(variables))
        for v in variables:
            names[v] = len(names)
            w.aval(v.aval)

    def atoms(self, w: Writer, atoms: list[Any], names: dict[Var, int]) -> None:
        w.count(len(atoms))
        for a in atoms:
            w.data.append(isinstance(a, Literal))
            if isinstance(a, Literal):
                w.data.append(a.aval.weak_type)
                w.array(np.asarray(a.val).astype(a.aval.dtype, copy=False))
            else:
                w.count(names[a])

    def equation(self, w: Writer, eqn: JaxprEqn, names: dict[Var, int]) -> None:
        w.text(eqn.primitive.name)
        self.atoms(w, eqn.invars, names)
        w.count(len(eqn.params))
        for name in sorted(eqn.params):
            w.text(name)
            self.parameter(w, eqn.primitive, name, eqn.params[name])
        self.bind(w, eqn.outvars, names)

    def parameter(self, w: Writer, op: Op, name: str, value: Any) -> None:
        def program(value: Any) -> bool:
            if isinstance(value, Jaxpr):
                w.data.append(_JAXPR)
                w.count(self.number(value))
            elif isinstance(value, ClosedJaxpr):
                w.data.append(_CLOSED)
                self.closed(w, value)
            return isinstance(value, (Jaxpr, ClosedJaxpr))
        try:
            write_value(w, value, program)
        except TypeError as error:
            raise ValueError(f"cannot serialize the operation {op.name}: its parameter {name} is {error}. An exported program "
                             "holds numbers, text and programs: leave out callbacks into Python and debugging.") from None


class _Found:
    """Programs read so far."""

    def __init__(self) -> None:
        self.jaxprs: list[Jaxpr] = []
        self.without_consts: dict[int, ClosedJaxpr] = {}

    def one(self, r: Reader) -> tuple[int, Jaxpr]:
        n = r.count()
        if n >= len(self.jaxprs):
            raise Corrupt(f"program {n} of {len(self.jaxprs)}")
        return n, self.jaxprs[n]

    def closed(self, r: Reader) -> ClosedJaxpr:
        n, jaxpr = self.one(r)
        values = r.several(r.array)
        if len(values) != len(jaxpr.constvars):
            raise Corrupt(f"{len(values)} constants for {len(jaxpr.constvars)} variables")
        if not values:
            return self.without_consts.setdefault(n, ClosedJaxpr(jaxpr))
        return ClosedJaxpr(jaxpr, [host_array(x, ShapedArray(x.shape, x.dtype)) for x in values])

    def jaxpr(self, r: Reader) -> Jaxpr:
        scope: list[Var] = []
        constvars, invars = self.bind(r, scope), self.bind(r, scope)
        eqns = [self.equation(r, scope) for _ in range(r.count())]
        made = Jaxpr(constvars, invars, self.atoms(r, scope), eqns)
        if r.at != len(r.data):
            raise Corrupt(f"{len(r.data) - r.at} bytes too many in a program")
        return made

    def bind(self, r: Reader, scope: list[Var]) -> list[Var]:
        made = [Var(aval) for aval in r.several(r.aval)]
        scope.extend(made)
        return made

    def atoms(self, r: Reader, scope: list[Var]) -> list[Atom]:
        return r.several(lambda: self.literal(r) if r.flag() else self.variable(r, scope))

    def literal(self, r: Reader) -> Literal:
        weak, value = r.flag(), r.array()
        return Literal(value[()], ShapedArray(value.shape, value.dtype, weak))

    def variable(self, r: Reader, scope: list[Var]) -> Var:
        n = r.count()
        if n >= len(scope):
            raise Corrupt(f"variable {n} of {len(scope)}")
        return scope[n]

    def equation(self, r: Reader, scope: list[Var]) -> JaxprEqn:
        op = all_ops().get(r.text())
        if op is None:
            raise Corrupt(f"an operation that this version does not have, before byte {r.at}")
        operands = self.atoms(r, scope)
        params = {r.text(): read_value(r, lambda tag: self.program(r, tag)) for _ in range(r.count())}
        if set(params) != set(op.params):
            raise Corrupt(f"{op.name} takes the parameters {sorted(op.params)}, found {sorted(params)}")
        effects = op.effects_of([a.aval for a in operands], params)
        return JaxprEqn(operands, self.bind(r, scope), op, params, effects)

    def program(self, r: Reader, tag: int) -> Any:
        if tag == _JAXPR:
            return self.one(r)[1]
        if tag == _CLOSED:
            return self.closed(r)
        raise Corrupt(f"unknown kind {tag} of a value at {r.at - 1}")
