"""Functions of programs, for those who walk, edit and make jaxprs."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numjet.core import ir
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from numjet.core.op import Op
from numjet.core.walk import eval_closed
from numjet.foundation import source


def new_jaxpr_eqn(invars: Sequence[Atom], outvars: Sequence[Var], primitive: Op, params: dict[str, Any], effects: Any,
                  source_info: Any = None, ctx: Any = None) -> JaxprEqn:
    """The equation outvars = primitive[params] invars. Its line is the caller's unless source_info gives another; ctx has
    nothing to set."""
    frame = source.user_frame() if source_info is None else source_info
    return JaxprEqn(invars, outvars, primitive, dict(params), frozenset(effects), frame, ctx)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """A program as a function of its arguments, or of those after `args`, that returns its results in a list.

    >>> import numjet as nj
    >>> jaxpr_as_fun(nj.make_jaxpr(lambda x: x + 1)(1.0))(2.0)
    [Array(3., dtype=float32, weak_type=True)]
    """
    return functools.partial(eval_closed, closed_jaxpr, *args)


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs among an equation's parameters."""
    return iter(ir.subjaxprs(params))


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that the equations of a program hold."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def gensym() -> Callable[[ShapedArray], Var]:
    """A function that makes new variables by their types."""
    return Var
