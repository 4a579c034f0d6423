"""Residuals of a function: the values that its forward pass keeps for the backward pass, and where each comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.arguments import as_values, check_callable, debug_info, flat_function, path_names
from numjet.control.call.call import jit_p
from numjet.control.custom.checkpoint_policies import name_p
from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var
from numjet.core.stage import hoist_consts, trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.foundation.tree import tree_flatten
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.linearize import linearize_flat


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """Type and origin of every residual of `fun` at these arguments.

    >>> from numjet import lax
    >>> saved_residuals(lambda x: lax.mul(x, 3.0), 2.0)
    []
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten((args, kwargs))
    names = path_names(fun, args, kwargs)
    flat, _ = flat_function(lambda args, kwargs: fun(*args, **kwargs), in_tree)
    debug = debug_info("saved_residuals", fun, args, kwargs)
    avals = [aval_of(x) for x in as_values(leaves, lambda: names, "print_saved_residuals")]
    jaxpr, _ = trace_to_jaxpr(lambda *xs: _residuals(flat, xs), avals, debug)
    makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    place: dict[Any, int] = {v: k for k, v in enumerate(jaxpr.invars)}
    ordered = sorted(dict.fromkeys(jaxpr.outvars), key=lambda v: place.get(v, len(place) + (v in makers)))
    return [(v.aval, _origin(v, jaxpr, makers, names)) for v in ordered]


def _residuals(flat: Callable[..., list[Any]], xs: tuple[Any, ...]) -> list[Any]:
    """The constants of the tangent program that it needs."""
    _, linear = linearize_flat(flat, xs)
    _, used = dce_jaxpr(hoist_consts(linear.jaxpr))
    return [c for c, u in zip(linear.consts, used, strict=False) if u]


def _origin(v: Atom, jaxpr: Jaxpr, makers: dict[Var, JaxprEqn], names: tuple[str, ...]) -> str:
    if not isinstance(v, Var) or v in jaxpr.constvars:
        return "from a constant"
    if v in jaxpr.invars:
        return f"from the argument {names[jaxpr.invars.index(v)]}"
    eqn = makers[v]
    frame = eqn.source
    where = f" from {frame.file}:{frame.line} ({frame.function.rpartition('.')[2]})" if frame is not None else ""
    if eqn.primitive is name_p:
        return f"named {eqn.params['name']!r}{where}"
    if eqn.primitive is jit_p:
        return f"output of jitted function {eqn.params['name']!r}{where}"
    return f"output of {eqn.primitive.name}{where}"


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints, one a line, the type and origin of the values that the forward pass of `f` keeps for the backward pass.

    Args:
      f: the function; under `checkpoint` or a policy, one sees what is kept nevertheless.
      args, kwargs: its arguments, pytrees of arrays.

    >>> from numjet import lax
    >>> from numjet.control import checkpoint
    >>> print_saved_residuals(checkpoint(lambda x: lax.sin(lax.cos(x))), 2.0)
    f32[] from the argument x
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {origin}")
