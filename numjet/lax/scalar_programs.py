"""Programs of scalars: the functions that users pass to scatters and reductions, traced once, run on arrays or scalars.

A program holds elementwise operations only, so that it works on scalars of a builder and on whole arrays alike.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Jaxpr, Literal, Var, subjaxprs
from numjet.core.stage import DebugInfo, trace_to_jaxpr
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import CALLS
from numjet.lax.templates import call


@lru_cache(maxsize=256)
def update_program(name: str, dtype: np.dtype) -> Jaxpr:
    """The jaxpr of (old, update) -> `name`(old, update) for scalars of that dtype; always the same object.

    Raises the TypeError of that operation for dtypes that it does not accept.
    """
    scalar = ShapedArray((), dtype)
    return trace_to_jaxpr(lambda old, new: [call(name, old, new)], [scalar, scalar], DebugInfo(name, "scatter"))[0]


def wrong_type(name: str, dtype: np.dtype, found: Any) -> str:
    """The message of the error for an update function whose result has another shape or dtype."""
    return (f"{name}: the function must return a scalar of the array's dtype {dtype.name}, it returned {found}. "
            "Convert the array first (x.astype(...)) or the result.")


def trace_update(func: Callable[[Any], Any], dtype: np.dtype) -> tuple[Jaxpr, tuple[Any, ...]]:
    """The program (old, ignored) -> func(old), and its constants; ValueError unless it returns a scalar of the dtype."""
    scalar = ShapedArray((), dtype)
    jaxpr, consts = trace_to_jaxpr(lambda old, _: [func(old)], [scalar, scalar],
                                   DebugInfo(getattr(func, "__name__", "func"), "scatter_apply"))
    if any(isinstance(c, Tracer) for c in consts):
        raise NotImplementedError("scatter_apply: the function may not close over traced values. Gather the elements, "
                                  "apply the function to them and scatter the result, or use x.at[i].set(func(x[i])).")
    out = jaxpr.outvars[0].aval
    if out.shape != () or out.dtype != dtype:
        raise ValueError(wrong_type("scatter_apply", dtype, out))
    return jaxpr, tuple(consts)


def run_elementwise(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], constant: Callable[[Literal], Any],
                    apply: Callable[..., Any]) -> list[Any]:
    """Runs a program of elementwise operations by `apply(op, *operands, **params)`; inner programs are inlined.

    NotImplementedError names the operations that are not elementwise.
    """
    if not is_elementwise(jaxpr):
        names = sorted({eqn.primitive.name for eqn in jaxpr.eqns if not (eqn.primitive.elementwise or _is_call(eqn))})
        raise NotImplementedError(f"scatter_apply: the function uses operations that are not elementwise: {names}. "
                                  "Write it with arithmetic and lax.select, or use x.at[i].set(func(x[i])).")
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    read = lambda a: constant(a) if isinstance(a, Literal) else env[a]
    for eqn in jaxpr.eqns:
        operands = [read(a) for a in eqn.invars]
        if eqn.primitive.elementwise:
            outs = [apply(eqn.primitive, *operands, **eqn.params)]
        else:
            outs = run_elementwise(next(iter(subjaxprs(eqn.params))), (), operands, constant, apply)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def without_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with the equations of inner elementwise programs (of jitted functions, and those with derivatives of
    their own) in place of their calls; programs that hold other operations stay as they are."""
    if all(eqn.primitive.elementwise for eqn in jaxpr.eqns) or not is_elementwise(jaxpr):
        return jaxpr
    bind = lambda op, *xs, **params: op.bind(*xs, **params)
    run = lambda *args: run_elementwise(jaxpr, (), args, lambda literal: literal, bind)
    return trace_to_jaxpr(run, [v.aval for v in jaxpr.invars], jaxpr.debug_info or DebugInfo("computation", "reduce"))[0]


def run_eager(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Runs an elementwise program on NumPy arrays of one shape, which its results have, too."""
    constant = lambda a: np.asarray(a.val, a.aval.dtype)
    run = lambda op, *xs, **params: np.asarray(op.eager(*xs, **params))
    return [np.broadcast_to(v, args[0].shape)
            for v in run_elementwise(jaxpr, [np.asarray(c) for c in consts], args, constant, run)]


def run_scalars(b: Any, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Runs an elementwise program on scalars of a builder, as cpu rules need it."""
    values = [b.const(np.asarray(c), aval_of(c).dtype) for c in consts]
    return run_elementwise(jaxpr, values, args, lambda a: b.const(a.val, a.aval.dtype),
                           lambda op, *xs, **params: op.cpu(b, *xs, **params))


def is_elementwise(jaxpr: Jaxpr) -> bool:
    """Whether run_elementwise can run the program."""
    return all(eqn.primitive.elementwise or _is_call(eqn) for eqn in jaxpr.eqns)


def _is_call(eqn: Any) -> bool:
    inner = list(subjaxprs(eqn.params))
    if not CALLS <= eqn.primitive.traits or len(inner) != 1:
        return False
    jaxpr = inner[0]
    return len(jaxpr.invars) == len(eqn.invars) and not jaxpr.constvars and is_elementwise(jaxpr)
