"""Prints jaxprs as JAX users know them.

    { lambda ; a:f32[3]. let b:f32[3] = add a 1.0:f32[] in (b,) }
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.ir import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, set_printer
from numjet.core.walk import use_counts
from numjet.foundation import dtypes, pretty, source
from numjet.foundation.pretty import Doc, brk, concat, group, join, line, nest, text

WIDTH = 80


class Names:
    """Names of variables, in the order in which they appear: a, b, ... z, ba, bb, ..."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}

    def __getitem__(self, var: Var) -> str:
        if isinstance(var, DropVar):
            return "_"
        if var not in self.names:
            self.names[var] = letters(len(self.names))
        return self.names[var]


def letters(n: int) -> str:
    """The n-th variable name."""
    out = ""
    while True:
        n, rest = divmod(n, 26)
        out = chr(ord("a") + rest) + out
        if n == 0:
            return out


def jaxpr_text(jaxpr: Jaxpr | ClosedJaxpr, *, sources: bool = False, width: int = WIDTH) -> str:
    """A jaxpr as text. sources: with the user's line behind every equation."""
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return pretty.render(jaxpr_doc(inner, Names(), sources), width)


def jaxpr_doc(jaxpr: Jaxpr, names: Names, sources: bool = False) -> Doc:
    """The document of a jaxpr."""
    consts, inputs = binders(jaxpr.constvars, names), binders(jaxpr.invars, names)
    head = concat((text("{ lambda "), consts, text("; "), inputs, text(". let")))
    read = use_counts(jaxpr)
    eqns = [eqn_doc(e, names, read, sources) for e in jaxpr.eqns]
    results = text("in (" + ", ".join(atom(a, names) for a in jaxpr.outvars) + ("," if len(jaxpr.outvars) == 1 else "") + ") }")
    if not eqns:
        return concat((head, text("  "), results))
    if len(eqns) == 1:
        return group(concat((head, nest(4, concat((brk(), eqns[0]))), nest(2, concat((brk(), results))))))
    body = nest(4, concat([part for e in eqns for part in (line(), e)]))
    return concat((head, body, nest(2, concat((line(), results)))))


def binders(variables: Sequence[Var], names: Names) -> Doc:
    return text(" ".join(f"{names[v]}:{v.aval.str_short()}" for v in variables))


def atom(a: Atom, names: Names) -> str:
    """A variable's name, or a literal with its type."""
    if isinstance(a, Literal):
        return f"{literal_text(a)}:{a.aval.str_short()}"
    return names[a]


def literal_text(a: Literal) -> str:
    value = np.asarray(a.val)
    if dtypes.kind(value.dtype) == "f":
        value = value.astype(np.float64) if value.dtype.itemsize < 4 or value.dtype.kind != "f" else value
    return str(value.item() if value.dtype.names is None and value.dtype != np.float32 else value[()])


def eqn_doc(eqn: JaxprEqn, names: Names, read: Any, sources: bool) -> Doc:
    """One equation: results = operation[parameters] operands."""
    outs = " ".join("_" + ":" + v.aval.str_short() if isinstance(v, DropVar) or v not in read
                    else f"{names[v]}:{v.aval.str_short()}" for v in eqn.outvars)
    operands = "".join(" " + atom(a, names) for a in eqn.invars)
    where = f"  # {source.summarize(eqn.source)}" if sources and eqn.source is not None else ""
    params = {k: v for k, v in eqn.params.items() if (eqn.primitive.name, k) not in _TOLD_BY_TYPES}
    return concat((text(f"{outs} = {eqn.primitive.name}" if outs else eqn.primitive.name), params_doc(params, names),
                   text((operands or " ") + where)))


def params_doc(params: dict[str, Any], names: Names) -> Doc:
    shown = [(k, v) for k, v in sorted(params.items()) if v is not None or k in _SHOWN_NONE]
    if not shown:
        return pretty.nothing()
    items = [concat((text(f"{k}="), value_doc(_as_lists(v) if k == "dimension_numbers" else v, names))) for k, v in shown]
    return group(concat((text("["), nest(2, concat((brk(""), join(brk(), items)))), brk(""), text("]"))))


def _as_lists(numbers: Any) -> Any:
    """dot_general's dimension numbers with their innermost tuples as lists, as JAX prints them."""
    if type(numbers) is not tuple:
        return numbers
    return tuple(_as_lists(n) if n and type(n[0]) is tuple or n == ((), ()) else list(n) for n in numbers)


_TOLD_BY_TYPES = frozenset({("broadcast_in_dim", "shape")})
_SHOWN_NONE = frozenset({"strides", "dimensions", "fill_value"})


def value_doc(value: Any, names: Names) -> Doc:
    """A parameter's value; programs are written in place."""
    if isinstance(value, (ClosedJaxpr, Jaxpr)):
        inner = Names()
        return jaxpr_doc(value.jaxpr if isinstance(value, ClosedJaxpr) else value, inner)
    if isinstance(value, tuple) and any(isinstance(v, (ClosedJaxpr, Jaxpr)) for v in value):
        body = [part for v in value for part in (line(), value_doc(v, names))]
        return concat((text("("), nest(2, concat(body)), line(), text(")")))
    return text(plain(value))


def plain(value: Any) -> str:
    """The text of a parameter that is no program."""
    if isinstance(value, np.dtype):
        return dtypes.long_name(value)
    if isinstance(value, tuple) and type(value) is tuple:
        return "(" + ", ".join(map(plain, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(plain, value)) + "]"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)




set_printer(jaxpr_text)
