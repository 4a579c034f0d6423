"""Parser of printed jaxprs, the inverse of core.printer.

Text does not hold everything: the caller gives the values of constants, weak types are those that the operations give,
and parameters that are Python functions cannot be read.
"""
from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op, all_ops
from numjet.core.printing_rules import parameter_types, printing_rule
from numjet.foundation import dtypes


def parse_jaxpr(text: str, consts: Sequence[Any] = ()) -> ClosedJaxpr:
    """The program of a printed jaxpr. consts: the values of its constant variables, in order.

    Raises ValueError, with the position, for text that core.printer does not print, for unknown operations, for types that
    contradict the operations, and for parameters that are functions.

    >>> import numjet as nj
    >>> parse_jaxpr("{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }")
    { lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }
    """
    parser = _Parser(text)
    jaxpr = parser.whole()
    if len(consts) != len(jaxpr.constvars):
        raise ValueError(f"parse_jaxpr: the program has {len(jaxpr.constvars)} constants, got {len(consts)} values: "
                         "text does not hold them, pass consts=closed.consts")
    return ClosedJaxpr(jaxpr, consts)


_SPACE = re.compile(r"(?:\s|#[^\n]*)+")
_NAME = re.compile(r"[a-z]+\b|_(?=:)")
_TYPE = re.compile(r"([\w<>]+)\[([\d,]*)\]")
_OPERATION = re.compile(r"[\w-]+")
_WORD = re.compile(r"[\w<>.-]+")
_PROGRAM = re.compile(r"\w+")
_RESULTS = re.compile(r"(?:(?:[a-z]+|_):[\w<>]+\[[\d,]*\] )+= ")  # on one line, unlike literals before them
_NUMBER = re.compile(r"\(?[-+]?(?:\d|inf|nan)[\w.+-]*\)?|True|False|key<0x[0-9a-f]+>|\([-+\w.]+j\)")
_PARAMETER = re.compile(r"(\w+)=")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_VALUE = re.compile(r"[-+]?(?:inf|nan|\d[\w.+-]*)|\([-+\w.]+j\)")


class _Parser:
    """A position in the text."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.programs: dict[str, Jaxpr] = {}

    # -- tokens
    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def error(self, expected: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        rest = self.text[self.at:self.at + 40].split("\n")[0]
        return ValueError(f"cannot read jaxpr: expected {expected} at line {line}, found {rest or 'the end'!r}")

    def accept(self, word: str) -> bool:
        self.skip()
        if not self.text.startswith(word, self.at):
            return False
        self.at += len(word)
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.error(repr(word))

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = self.maybe(pattern)
        if found is None:
            raise self.error(what)
        return found

    def maybe(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    # -- programs
    def whole(self) -> Jaxpr:
        while self.accept("let "):
            name = self.match(_PROGRAM, "a program's name").group()
            self.expect("=")
            self.programs[name] = self.jaxpr()
            self.expect("in")
        made = self.jaxpr()
        self.skip()
        if self.at < len(self.text):
            raise self.error("nothing more")
        return made

    def jaxpr(self) -> Jaxpr:
        self.expect("{")
        self.expect("lambda")
        scope: dict[str, Var] = {}
        constvars = self.binders(scope)
        self.expect(";")
        invars = self.binders(scope)
        self.expect(".")
        self.expect("let")
        eqns: list[JaxprEqn] = []
        while not self.accept("in ("):
            eqns.append(self.equation(scope))
        outvars: list[Atom] = []
        while not self.accept(")"):
            outvars.append(self.atom(scope))
            self.accept(",")
        self.expect("}")
        return Jaxpr(constvars, invars, outvars, eqns)

    def binders(self, scope: dict[str, Var]) -> list[Var]:
        made: list[Var] = []
        while True:
            start = self.at
            found = self.maybe(_NAME)
            if found is None or not self.text.startswith(":", self.at):
                self.at = start
                return made
            made.append(Var(self.type()))
            self.put(scope, found.group(), made[-1])

    def put(self, scope: dict[str, Var], name: str, var: Var) -> None:
        if name == "_":
            return
        if name in scope:
            raise self.error(f"a new variable ({name!r} is bound already)")
        scope[name] = var

    def type(self) -> ShapedArray:
        self.expect(":")
        dtype, sizes = self.match(_TYPE, "a type").groups()
        return ShapedArray(tuple(int(n) for n in sizes.split(",") if n), self.dtype(dtype))

    def dtype(self, name: str) -> np.dtype:
        for read in (dtypes.from_short_name, dtypes.as_dtype):
            try:
                return read(name)
            except (ValueError, TypeError):
                continue
        raise self.error(f"a dtype before this (not {name!r})")

    def atom(self, scope: dict[str, Var]) -> Atom:
        found = self.maybe(_NUMBER)
        if found is not None and self.text.startswith(":", self.at):
            return _literal(found.group(), self.type())
        self.at = found.start() if found is not None else self.at
        name = self.match(_NAME, "a variable or literal").group()
        if name not in scope:
            raise self.error(f"a bound variable (not {name!r})")
        return scope[name]

    # -- equations
    def equation(self, scope: dict[str, Var]) -> JaxprEqn:
        outs: list[tuple[str, ShapedArray]] = []
        self.skip()
        if _RESULTS.match(self.text, self.at):
            while not self.accept("="):
                label = self.match(_NAME, "a variable").group()
                outs.append((label, self.type()))
        name = self.match(_OPERATION, "an operation").group()
        op = all_ops().get(name)
        if op is None:
            raise self.error(f"an operation of the registry before this (not {name!r})")
        params = self.parameters(op) if self.text.startswith("[", self.at) else {}
        operands = self.operands(scope)
        avals = [a for _, a in outs]
        self.implied(op, params, [a.aval for a in operands], avals)
        outvars = [Var(a) for a in self.typed(op, operands, params, avals)]
        for (label, _), v in zip(outs, outvars, strict=True):
            self.put(scope, label, v)
        effects = op.effects_of([a.aval for a in operands], params)
        return JaxprEqn(operands, outvars, op, params, effects)

    def operands(self, scope: dict[str, Var]) -> list[Atom]:
        """Atoms up to the next equation or the results."""
        found: list[Atom] = []
        while True:
            self.skip()
            start = self.at
            if self.text.startswith("in (", start) or _RESULTS.match(self.text, start) or self.starts_operation(scope):
                self.at = start
                return found
            found.append(self.atom(scope))

    def starts_operation(self, scope: dict[str, Var]) -> bool:
        """Whether the next word is the operation of an equation without results."""
        found = _OPERATION.match(self.text, self.at)
        return found is not None and found.group() in all_ops() and found.group() not in scope

    def implied(self, op: Op, params: dict[str, Any], ins: list[ShapedArray], outs: list[ShapedArray]) -> None:
        """Fills in the parameters that the text leaves out."""
        how = printing_rule(op)
        for name in how.implied:
            if name in op.params and name not in params:
                params[name] = how.default(name, ins, outs)
        missing = [p for p in op.params if p not in params]
        if missing:
            raise self.error(f"parameters {missing} of {op.name} before this")

    def typed(self, op: Op, operands: list[Atom], params: dict[str, Any], outs: list[ShapedArray]) -> list[ShapedArray]:
        """The result types that the operation gives, which must be those of the text but for weak types."""
        given = op.abstract(*[a.aval for a in operands], **params)
        avals = list(given) if op.multiple else [given]
        if [(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in outs]:
            raise self.error(f"{op.name} before this to have results of type {', '.join(a.str_short() for a in avals)} "
                             f"(not {', '.join(a.str_short() for a in outs)})")
        return avals

    # -- parameters
    def parameters(self, op: Op) -> dict[str, Any]:
        params: dict[str, Any] = {}
        self.expect("[")
        while not self.accept("]"):
            name = self.match(_PARAMETER, "a parameter").group(1)
            if name in op.functions:
                raise ValueError(f"cannot read jaxpr: parameter {name!r} of {op.name} is a Python function, which text does "
                                 "not hold. Simplify the program first: calls with rules of their own are then written out.")
            params[name] = self.value(name, op)
        return params

    def value(self, name: str, op: Op) -> Any:
        """A parameter's value. Its name says whether a word is a dtype."""
        self.skip()
        if self.text.startswith("{", self.at):
            return self.held(self.jaxpr(), op)
        quoted = self.maybe(_QUOTED)
        if quoted is not None:
            return _unquoted(quoted.group())
        number = self.maybe(_VALUE)
        if number is not None:
            return _number(number.group())
        for opening, closing in ("()", "[]"):
            if self.accept(opening):
                return self.sequence(name, op, closing)
        return self.word(self.match(_WORD, "a parameter's value").group(), name, op)

    def sequence(self, name: str, op: Op, closing: str) -> tuple[Any, ...]:
        found = []
        while not self.accept(closing):
            found.append(self.value(name, op))
            self.accept(",")
        return tuple(found)

    def held(self, jaxpr: Jaxpr, op: Op) -> Any:
        return ClosedJaxpr(jaxpr) if op.programs else jaxpr

    def word(self, word: str, name: str, op: Op) -> Any:
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if name == printing_rule(op).called and word in self.programs:
            return self.held(self.programs[word], op)
        if name.endswith(("dtype", "element_type")):
            return self.dtype(word)
        cls, _, member = word.partition(".")
        known = parameter_types.get(cls)
        if known is not None and issubclass(known, enum.Enum):
            return known[member]
        if known is not None and self.accept("("):
            return known(*self.fields(op, known))
        if self.text.startswith("(", self.at):
            raise self.error(f"a value of a class that was registered for parameters (not {word!r})")
        return word

    def fields(self, op: Op, cls: Any) -> list[Any]:
        found: dict[str, Any] = {}
        while not self.accept(")"):
            name = self.match(_PARAMETER, "a field").group(1)
            found[name] = self.value(name, op)
            self.accept(",")
        return [found[f] for f in cls._fields]


_CONSTANTS = {"True": True, "False": False, "None": None}


def _number(text: str) -> Any:
    for make in (int, float, complex):
        try:
            return make(text)
        except ValueError:
            continue
    return text


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), text[1:-1])


def _literal(text: str, aval: ShapedArray) -> Literal:
    if text.startswith("key<"):
        words = int(text[4:-1], 16).to_bytes(aval.dtype.itemsize, "little")
        return Literal(np.frombuffer(words, aval.dtype)[0], aval)
    value: Any = text == "True" if text in ("True", "False") else _number(text)
    return Literal(np.asarray(value).astype(aval.dtype)[()], aval)
