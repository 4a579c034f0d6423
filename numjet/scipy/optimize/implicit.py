"""Implicit differentiation: derivatives of what an equation defines, whatever method has solved it.

Where residual(x, parameters) = 0, the implicit function theorem gives dx = -(d residual / dx)^-1 d residual.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.api.grad import jacfwd, jvp
from numjet.control.custom.custom_calls import zero_from_primal
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.custom.custom_vjp import closure_convert

Function = Callable[[Any], Any]


def implicit(fun: Function, x0: Any, given: Any, solve: Callable[[Function, Any, Any], tuple[Any, Any]],
             residual: Callable[[Function, Any, Any], Any], elementwise: bool = False) -> tuple[Any, Any]:
    """(x, more) = solve(fun, x0, given), where x has the derivatives of the root of residual(fun, x, given).

    They are with respect to what fun closes over, and `given`, a pytree of arrays; there are none by x0, nor of `more`.
    elementwise: element i of the residual depends on element i of x only; otherwise its Jacobian is dense.
    """
    converted, values = closure_convert(fun, x0)

    def run(start: Any, given: Any, values: list[Any]) -> tuple[Any, Any]:
        return solve(lambda x: converted(x, *values), start, given)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        x, more = solution(*primals)
        left = lambda y, given, values: residual(lambda z: converted(z, *values), y, given)
        change = jvp(lambda given, values: left(x, given, values), primals[1:], tangents[1:])[1]
        slope = (lambda y: left(y, *primals[1:]))
        return (x, more), (-_divided(slope, x, change, elementwise), zero_from_primal(more))

    solution = custom_jvp(run)
    solution.defjvp(rule)
    return solution(x0, given, values)


def _divided(fun: Function, x: Any, change: Any, elementwise: bool) -> Any:
    """The change by the derivative of fun at x."""
    if elementwise or not x.ndim:
        return change / jvp(fun, (x,), (jnp.ones_like(x),))[1]
    return jnp.linalg.solve(jacfwd(fun)(x), change)
