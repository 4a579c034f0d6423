"""Type checker of jaxprs: every variable is bound once and in scope, every equation has its operation's types.

It runs after tracing and before compilation when the flag jax_enable_checks is on, and between passes in tests.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, join_effects, subjaxprs
from numjet.foundation import dtypes, lazy_import, source
from numjet.foundation.config import config
from numjet.foundation.errors import JaxprTypeError, compose

printer = lazy_import.Module("numjet.core.printer")


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raises JaxprTypeError, with the equation and the user's line, if a program is not well formed.

    Checked are: inputs, constants and results are bound once; a variable is read after it is bound; literals are scalars
    of their type; results have the types, weakness and what varies over axes of a mesh aside, that the operation gives for
    operands and parameters; effects are those of the equations; constants have the types of their variables; all of this
    for inner programs, too.

    >>> import numjet as nj
    >>> check_jaxpr(nj.make_jaxpr(lambda x: x + 1)(2.0))
    """
    if isinstance(jaxpr, ClosedJaxpr):
        _check_consts(jaxpr)
        jaxpr = jaxpr.jaxpr
    if not isinstance(jaxpr, Jaxpr):
        raise JaxprTypeError(f"check_jaxpr takes a Jaxpr or ClosedJaxpr, got {type(jaxpr).__name__}")
    _Checker(jaxpr).run()


def check_if_enabled(*jaxprs: Jaxpr | ClosedJaxpr) -> None:
    """`check_jaxpr` of programs that were just made, where the flag jax_enable_checks is on."""
    if config.enable_checks:
        for jaxpr in jaxprs:
            check_jaxpr(jaxpr)

# What a rule raises for wrong operands. An exception of a signal handler is none of them, and goes to the caller as it is.
_RULE_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError, NotImplementedError)


def _check_consts(closed: ClosedJaxpr) -> None:
    for v, c in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        try:
            check_constant(c, v.aval)
        except JaxprTypeError as error:
            raise JaxprTypeError(f"{error}, in\n\n{printer.jaxpr_text(closed)}") from None


def check_constant(value: Any, aval: ShapedArray) -> None:
    """Raises JaxprTypeError where the value of a constant does not have its variable's type.

    Backends check every constant before compilation: code reads as many bytes as the type says.
    """
    shape, dtype = np.shape(value), getattr(value, "dtype", None)
    if shape != aval.shape or dtype != aval.dtype:
        raise JaxprTypeError(f"a constant of type {dtype}{list(shape)} stands for a variable of type {aval}")


class _Checker:
    """Walks one program with the variables in scope."""

    def __init__(self, jaxpr: Jaxpr):
        self.jaxpr = jaxpr
        self.bound: set[Var] = set()

    def run(self) -> None:
        self.bind((*self.jaxpr.constvars, *self.jaxpr.invars), None)
        for eqn in self.jaxpr.eqns:
            self.equation(eqn)
        for a in self.jaxpr.outvars:
            self.read(a, None)
        found = join_effects(self.jaxpr.eqns)
        if self.jaxpr.effects != found:
            raise self.error(f"the program says its effects are {set(self.jaxpr.effects)}, its equations have {set(found)}")

    def bind(self, variables: Iterable[Var], eqn: JaxprEqn | None) -> None:
        for v in variables:
            if not isinstance(v, Var):
                raise self.error(f"{v!r} is bound, but is no variable", eqn)
            if v in self.bound:
                raise self.error(f"a variable of type {v.aval} is bound twice", eqn)
            self.bound.add(v)

    def read(self, a: Atom, eqn: JaxprEqn | None) -> None:
        if isinstance(a, Literal):
            self.literal(a, eqn)
        elif not isinstance(a, Var):
            raise self.error(f"{a!r} of type {type(a).__name__} is read, but is neither variable nor literal", eqn)
        elif a not in self.bound:
            raise self.error(lambda name: f"Variable '{name(a)}' not defined", eqn,
                             f"A variable of type {a.aval} is read, but nothing before binds it.")

    def literal(self, a: Literal, eqn: JaxprEqn | None) -> None:
        problem = _literal_problem(a)
        if problem is not None:
            raise self.error(f"literal {a.val!r} of type {a.aval}: {problem}", eqn)

    def equation(self, eqn: JaxprEqn) -> None:
        for a in eqn.invars:
            self.read(a, eqn)
        for inner in subjaxprs(eqn.params):
            check_jaxpr(inner)
        self.compare(eqn, self.abstract(eqn))
        op = eqn.primitive
        effects = op.effects_of([a.aval for a in eqn.invars], eqn.params)
        if eqn.effects != effects:
            raise self.error(f"the equation says its effects are {set(eqn.effects)}, the operation's are {set(effects)}", eqn)
        self.bind(eqn.outvars, eqn)

    def abstract(self, eqn: JaxprEqn) -> Sequence[ShapedArray]:
        try:
            out = eqn.primitive.abstract(*[a.aval for a in eqn.invars], **eqn.params)
        except JaxprTypeError:
            raise
        except _RULE_ERRORS as error:
            raise self.error(f"{type(error).__name__}: {error}", eqn) from error
        return out if eqn.primitive.multiple else [out]

    def compare(self, eqn: JaxprEqn, want: Sequence[ShapedArray]) -> None:
        got = [v.aval for v in eqn.outvars]
        if len(got) != len(want):
            raise self.error(f"the equation has {len(got)} results, the operation gives {len(want)}", eqn)
        for n, (g, w) in enumerate(zip(got, want, strict=True)):
            if g is not w and _compared(g) != _compared(w):
                raise self.mismatch(eqn, n, w)

    def mismatch(self, eqn: JaxprEqn, n: int, want: Any) -> JaxprTypeError:
        """The error for result n of an equation, which is bound with another type."""
        v = eqn.outvars[n]
        return self.error(lambda name: f"Value for variable '{name(v)}' inconsistently typed as {_short(want)} for "
                                       f"let-binder of type {_short(v.aval)}", eqn,
                          f"There result {n} is bound as {v.aval!r}, but the operation gives {want!r}.")

    def error(self, what: str | Callable[[Callable[[Var], str]], str], eqn: JaxprEqn | None = None,
              more: str = "") -> JaxprTypeError:
        """The error for an equation, or for the program's inputs and results.

        `what` is wrong, as text or as a function of the function that gives variables their names in the text below.
        """
        whole, equation, names = printer.excerpt(self.jaxpr, eqn)
        debug: Any = self.jaxpr.debug
        place = source.summarize(eqn.source) if eqn is not None and eqn.source is not None else ""
        return JaxprTypeError(compose(
            f"Ill-typed program: {what if isinstance(what, str) else what(names.__getitem__)}",
            f"in equation:\n\n{equation}" if equation else "",
            f"from source: {place}" if place else "",
            more,
            f"The program was traced from {debug.where()}." if debug is not None else "",
            f"while checking jaxpr:\n\n{_first_lines(whole)}"))


def _short(aval: Any) -> str:
    """The type as jaxprs show it."""
    return aval.str_short(True) if isinstance(aval, ShapedArray) else str(aval)


def _first_lines(text: str, limit: int = 60) -> str:
    """A program's text, the end left out where it is long."""
    lines = text.split("\n")
    return text if len(lines) <= limit else "\n".join([*lines[:limit], f"... ({len(lines) - limit} more lines)"])


def _compared(aval: Any) -> Any:
    """The type without what only matters to what is traced next, and is not told by operations' rules: its weakness, and the
    axes of a mesh over which it varies, or along which it is divided."""
    return aval.update(weak_type=False, vma=frozenset(), placement=None) if isinstance(aval, ShapedArray) else aval


def _literal_problem(a: Literal) -> str | None:
    """What is wrong with a literal; None for a good one."""
    value, dtype = np.asarray(a.val), a.aval.dtype
    if value.shape != () or a.aval.shape != ():
        return "literals are scalars"
    if isinstance(a.val, (bool, int, float, complex)) and not isinstance(a.val, np.generic):
        if "biufc".index(value.dtype.kind if value.dtype.kind != "u" else "i") > "biufc".index(_order(dtype)):
            return f"a Python {type(a.val).__name__} cannot stand for {dtypes.long_name(dtype)}"
        return None
    return None if value.dtype == dtype else f"its value has dtype {dtypes.long_name(value.dtype)}"


def _order(dtype: np.dtype) -> str:
    """The kind of a dtype among b < i < u < f < c."""
    kind = dtypes.kind(dtype)
    return kind if kind in "biufc" else "c"
