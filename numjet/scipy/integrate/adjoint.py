"""The adjoint equation: reverse-mode derivatives of solutions, by another equation that is solved backwards in time.

Pontryagin et al. 1962; Chen et al. 2018, "Neural ordinary differential equations", appendix B and C.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.api.grad import vjp
from numjet.api.vmap import vmap
from numjet.control.custom.custom_vjp import closure_convert, custom_vjp
from numjet.control.loops.scan import scan
from numjet.flatten_util import ravel_pytree
from numjet.foundation import dtypes, tree

Field = Callable[..., Any]
Integrate = Callable[[Field, Any, Any], Any]  # (field(y, t), y0, times) -> the solution at all times


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(fun: Field, integrate: Integrate, y0: Any, ts: Any, *args: Any) -> Any:
    return integrate(lambda y, t: fun(y, t, *args), y0, ts)


def _forward(fun: Field, integrate: Integrate, y0: Any, ts: Any, *args: Any) -> Any:
    ys = _solve(fun, integrate, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(fun: Field, integrate: Integrate, saved: Any, cts: Any) -> tuple[Any, ...]:
    """Its state: y, the adjoint, minus the derivative by the first time, those by arguments."""
    ys, ts, args = saved
    smooth = [i for i, a in enumerate(args) if a.dtype in (*dtypes.FLOATING, *dtypes.COMPLEX)]

    def augmented(state: Any, negative_t: Any, *args: Any) -> Any:
        y, adjoint = state[:2]
        def of_smooth(y: Any, t: Any, *some: Any) -> Any:
            full = list(args)
            for i, a in zip(smooth, some, strict=True):
                full[i] = a
            return fun(y, t, *full)
        slope, back = vjp(of_smooth, y, -negative_t, *(args[i] for i in smooth))
        return (-slope, *back(adjoint))

    def interval(carry: Any, part: Any) -> tuple[Any, Any]:
        adjoint, of_start, of_args = carry
        y, t, before, ct, ct_before = part
        of_time = jnp.real(jnp.sum(fun(y, t, *args) * ct)).astype(ts.dtype)
        state = (y, adjoint, of_start - of_time, *of_args)
        out = solve("the adjoint equation", augmented, integrate, state, jnp.stack([-t, -before]), args)
        _, adjoint, of_start, *of_args = (x[1] for x in out)
        return (adjoint + ct_before, of_start, of_args), of_time

    start = (cts[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(args[i]) for i in smooth])
    (of_y0, of_start, of_args), of_times = scan(interval, start, (ys[1:], ts[1:], ts[:-1], cts[1:], cts[:-1]), reverse=True)
    found: list[Any] = [None] * len(args)
    for i, a in zip(smooth, of_args, strict=True):
        found[i] = a
    return of_y0, jnp.concatenate([jnp.expand_dims(of_start, 0), of_times]), *found


_solve.defvjp(_forward, _backward)


def solve(name: str, func: Field, integrate: Integrate, y0: Any, ts: Any, args: tuple[Any, ...]) -> Any:
    """The solution of dy/dt = func(y, t, *args) at all times, like the pytree y0 with a first axis.

    Its derivatives with respect to y0, ts, args and what func closes over are those of the adjoint equation."""
    vector, unravel = ravel_pytree(y0)
    converted, constants = closure_convert(func, y0, ts[0], *args)
    leaves, structure = tree.tree_flatten(tuple(args))
    count = len(leaves)

    def field(y: Any, t: Any, *values: Any) -> Any:
        args = tree.tree_unflatten(structure, values[:count])
        return _slope(name, ravel_pytree(converted(unravel(y), t, *args, *values[count:]))[0], y)
    ys = _solve(field, integrate, jnp.astype(vector, vector.dtype), ts, *map(jnp.asarray, (*leaves, *constants)))
    return vmap(unravel)(ys)


def _slope(name: str, slope: Any, y: Any) -> Any:
    """What func returned, in the dtype of y. ValueError and TypeError when it does not fit."""
    if slope.shape != y.shape:
        raise ValueError(f"{name}: func must return as many numbers as y0 has, got {slope.size} for {y.size}")
    if slope.dtype in dtypes.COMPLEX and y.dtype not in dtypes.COMPLEX:
        raise TypeError(f"{name}: func returned complex numbers for real y0; give a complex y0")
    return slope.astype(y.dtype)
