"""Prints jaxprs as JAX users know them; core.parse reads them back.

    { lambda ; a:f32[3]. let b:f32[3] = add a 1.0:f32[] in (b,) }

Variables are named in the order in which they are printed, across the programs inside; a program called more than once
is printed once, in front. A record's extension "printing" (`PrintingRule`) says how its parameters print.
"""
from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from numjet.core.printing_rules import PLAIN, PrintingRule, printing_rule
from numjet.core.walk import use_counts
from numjet.foundation import dtypes, pretty, source
from numjet.foundation.pretty import Doc, brk, concat, group, join, line, nest, text
from numjet.foundation.record import Record

WIDTH = 80


class Style(Record):
    """What is printed. sources: the user's line behind every equation; stacks: the names of the scopes around it, behind
    that. shapes: types of variables. rules: operations' printing rules apply. colors: those of a terminal."""
    sources: bool = False
    stacks: bool = False
    shapes: bool = True
    rules: bool = True
    colors: bool = False

    def text(self, string: str, color: str) -> Doc:
        """`string`, in a color if there are colors."""
        return pretty.colored(string, color) if self.colors and string else text(string)

    def rule(self, op: Any) -> PrintingRule:
        """How an operation's parameters print."""
        return printing_rule(op) if self.rules else PLAIN

    def typed(self, name: str, aval: ShapedArray) -> Doc:
        """A name with its type."""
        if not self.shapes:
            return text(name)
        kind = f":{aval.str_short(True)}"
        return concat((text(name), pretty.colored(kind, pretty.TYPE))) if self.colors else text(name + kind)

    def note(self, eqn: JaxprEqn) -> str:
        """The comment behind an equation."""
        where = source.summarize(eqn.source) if self.sources and eqn.source is not None else ""
        stack = str(eqn.source_info.name_stack) if self.stacks else ""
        found = " ".join(filter(None, (where, f"[{stack}]" if stack else "")))
        return f"  # {found}" if found else ""


DEFAULT_STYLE = Style()


class Names:
    """Names of variables, in the order in which they appear: a, b, ... z, ba, bb, ...; and of shared programs."""

    def __init__(self, style: Style = DEFAULT_STYLE) -> None:
        self.style = style
        self.names: dict[Var, str] = {}
        self.programs: dict[int, str] = {}
        self.count = 0

    def __getitem__(self, var: Var) -> str:
        if isinstance(var, DropVar):
            return "_"
        if var not in self.names:
            self.names[var] = letters(self.count)
            self.count += 1
        return self.names[var]

    def forget(self, jaxpr: Jaxpr) -> None:
        """Lets the variables of a program that is printed again have new names, as a reader would give them."""
        for v in (*jaxpr.constvars, *jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars)):
            self.names.pop(v, None)


def letters(n: int) -> str:
    """The n-th variable name."""
    out = ""
    while True:
        n, rest = divmod(n, 26)
        out = chr(ord("a") + rest) + out
        if n == 0:
            return out


def jaxpr_text(jaxpr: Jaxpr | ClosedJaxpr, *, width: int = WIDTH, **style: bool) -> str:
    """A jaxpr as text, with the fields of `Style` as options."""
    inner, names = program_of(jaxpr), Names(Style(**style))
    heads = [shared_doc(j, name, names) for j, name in _shared(inner, names)]
    return pretty.render(concat((*heads, jaxpr_doc(inner, names))), width)


def excerpt(jaxpr: Jaxpr, eqn: JaxprEqn | None, width: int = WIDTH) -> tuple[str, str, Names]:
    """A program and one of its equations ("" for None) as text, with the names that both use."""
    names = Names()
    whole = pretty.render(jaxpr_doc(jaxpr, names), width)
    equation = "" if eqn is None else pretty.render(eqn_doc(eqn, names, use_counts(Jaxpr([], [], eqn.outvars, []))), width)
    return whole, equation, names


def program_of(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


# ------------------------------------------------------------------------------------------------ shared programs

def _shared(jaxpr: Jaxpr, names: Names) -> list[tuple[Jaxpr, str]]:
    """Programs that are called more than once, inner ones first, with the names they get."""
    counts: Counter[int] = Counter()
    found: dict[int, tuple[Jaxpr, str]] = {}

    def visit(program: Jaxpr) -> None:
        for eqn in program.eqns:
            called = names.style.rule(eqn.primitive).called
            for inner in subjaxprs(eqn.params):
                counts[id(inner)] += 1
                if counts[id(inner)] == 1:
                    visit(inner)
                if called is not None and program_of(eqn.params[called]) is inner:
                    found.setdefault(id(inner), (inner, _clean(str(eqn.params.get("name", called)))))
    visit(jaxpr)
    repeated = [(j, name) for key, (j, name) in found.items() if counts[key] > 1]
    taken: Counter[str] = Counter()
    for j, name in repeated:
        names.programs[id(j)] = name + (str(taken[name]) if taken[name] else "")
        taken[name] += 1
    return [(j, names.programs[id(j)]) for j, _ in repeated]


def _clean(name: str) -> str:
    """A name of which `<lambda>` is no part."""
    return "".join(c for c in name if c.isalnum() or c == "_") or "program"


def shared_doc(jaxpr: Jaxpr, name: str, names: Names) -> Doc:
    return concat((text(f"let {name} = "), jaxpr_doc(jaxpr, names), text(" in"), line()))


# ------------------------------------------------------------------------------------------------ programs

def jaxpr_doc(jaxpr: Jaxpr, names: Names) -> Doc:
    """The document of a jaxpr."""
    keyword = lambda word: names.style.text(word, pretty.KEYWORD)
    head = concat((text("{ "), keyword("lambda "), binders(jaxpr.constvars, names), text("; "), binders(jaxpr.invars, names),
                   text(". "), keyword("let")))
    read = use_counts(jaxpr)
    eqns = [eqn_doc(e, names, read) for e in jaxpr.eqns]
    results = concat((keyword("in "), text("(" + ", ".join(atom(a, names) for a in jaxpr.outvars)
                                           + ("," if len(jaxpr.outvars) == 1 else "") + ") }")))
    if not eqns:
        return concat((head, text("  "), results))
    if len(eqns) == 1 and not names.style.note(jaxpr.eqns[0]):
        return group(concat((head, nest(4, concat((brk(), eqns[0]))), nest(2, concat((brk(), results))))))
    body = nest(4, concat([part for e in eqns for part in (line(), e)]))
    return concat((head, body, nest(2, concat((line(), results)))))


def binders(variables: Sequence[Var], names: Names) -> Doc:
    """Variables with their types, as many on a line as fit."""
    items = [names.style.typed(names[v], v.aval) for v in variables]
    return nest(4, concat([x if n == 0 else group(concat((brk(), x))) for n, x in enumerate(items)]))


def atom(a: Atom, names: Names) -> str:
    """A variable's name, or a literal with its type."""
    if isinstance(a, Literal):
        return f"{literal_text(a)}:{a.aval.str_short(True)}"
    return names[a]


def literal_text(a: Literal) -> str:
    """The exact value of a literal: that of a float32 is written as the double it equals."""
    value = np.asarray(a.val).astype(a.aval.dtype, copy=False)
    if dtypes.kind(value.dtype) == "V":
        return f"key<{int.from_bytes(value.tobytes(), 'little'):#0{2 + 2 * value.itemsize}x}>"
    if dtypes.kind(value.dtype) == "f" and value.dtype.itemsize < 8:
        value = value.astype(np.float64)
    if dtypes.kind(value.dtype) == "c":
        value = value.astype(np.complex128)
    return str(value.tolist())


def eqn_doc(eqn: JaxprEqn, names: Names, read: Any) -> Doc:
    """One equation: results = operation[parameters] operands."""
    outs = [names.style.typed("_" if isinstance(v, DropVar) or v not in read else names[v], v.aval) for v in eqn.outvars]
    operands = "".join(" " + atom(a, names) for a in eqn.invars)
    return concat((join(text(" "), outs), text(f" = {eqn.primitive.name}" if outs else eqn.primitive.name),
                   params_doc(eqn, names), text(operands or " "), names.style.text(names.style.note(eqn), pretty.COMMENT)))


# ------------------------------------------------------------------------------------------------ parameters

def params_doc(eqn: JaxprEqn, names: Names) -> Doc:
    """The parameters that follow neither from types nor from defaults, in brackets."""
    how = names.style.rule(eqn.primitive)
    kept = {k: v for k, v in eqn.params.items() if k not in how.implied or not _left_out(how, eqn, k, v)}
    order = [*(k for k in how.first if k in kept), *(k for k in sorted(kept) if k not in how.first)]
    if not order:
        return pretty.nothing()
    items = [concat((text(f"{k}="), _param_doc(how, eqn, k, kept[k], names))) for k in order]
    return group(concat((text("["), nest(2, concat((brk(""), join(brk(), items)))), brk(""), text("]"))))


def _left_out(how: PrintingRule, eqn: JaxprEqn, name: str, value: Any) -> bool:
    default = how.default(name, [a.aval for a in eqn.invars], [v.aval for v in eqn.outvars])
    return type(value) is type(default) and value == default


def _param_doc(how: PrintingRule, eqn: JaxprEqn, name: str, value: Any, names: Names) -> Doc:
    if name == how.called:
        return _called_doc(eqn, value, names)
    return value_doc(_as_lists(value) if name in how.lists else value, names)


def _as_lists(value: Any) -> Any:
    """Nested tuples with the innermost ones as lists."""
    return tuple(map(_as_lists, value)) if any(isinstance(v, tuple) for v in value) else list(value)


def _called_doc(eqn: JaxprEqn, value: Any, names: Names) -> Doc:
    """A program called on the operands: printed in front when it is shared, else in terms of their names."""
    program = program_of(value)
    if id(program) in names.programs:
        return text(names.programs[id(program)])
    names.forget(program)
    taken = set()
    pairs = [*zip(program.invars, eqn.invars, strict=True), *zip(program.outvars, eqn.outvars, strict=True)]
    for inner, outer in pairs:
        name = names.names.get(outer) if isinstance(outer, Var) else None
        if name is not None and name not in taken and isinstance(inner, Var) and inner not in names.names:
            names.names[inner] = name
            taken.add(name)
    return jaxpr_doc(program, names)


def value_doc(value: Any, names: Names) -> Doc:
    """A parameter's value; programs are written in place."""
    if isinstance(value, (ClosedJaxpr, Jaxpr)):
        names.forget(program_of(value))
        return jaxpr_doc(program_of(value), names)
    if isinstance(value, tuple) and any(isinstance(v, (ClosedJaxpr, Jaxpr)) for v in value):
        body = [part for v in value for part in (line(), value_doc(v, names))]
        return concat((text("("), nest(2, concat(body)), line(), text(")")))
    return text(plain(value))


def plain(value: Any) -> str:
    """The text of a parameter that is no program."""
    if isinstance(value, np.dtype):
        return dtypes.long_name(value)
    if isinstance(value, enum.Enum):
        return str(int(value)) if isinstance(value, enum.IntEnum) else f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        inside = ", ".join(f"{k}={plain(v)}" for k, v in zip(value._fields, value, strict=True))
        return f"{type(value).__name__}({inside})"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_item, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_item, value)) + "]"
    if isinstance(value, np.generic):
        return plain(value.item()) if dtypes.kind(value.dtype) in "biufc" else str(value)
    if isinstance(value, str):
        return value if _bare(value) else repr(value)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


def _item(value: Any) -> str:
    """As plain, of an entry of a tuple or list, where strings have quotes."""
    return repr(value) if isinstance(value, str) else plain(value)


_WORDS = frozenset({"", "True", "False", "None", "nan", "inf"})


def _bare(value: str) -> bool:
    """Whether a string reads as itself without quotes."""
    first_is_letter = bool(value) and (value[0].isalpha() or value[0] in "_<")
    return value not in _WORDS and first_is_letter and all(c.isalnum() or c in "_<>.-" for c in value)
