"""Ordinary differential equations: the method of Dormand and Prince, with derivatives by the adjoint equation."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import tree
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.integrate import adjoint
from numjet.scipy.integrate.step_control import error_ratio, first_size, next_size
from numjet.scipy.integrate.steps import QUARTIC, RK45, weighted

__all__ = ["odeint"]

_SOLUTION = RK45.stages[-1]  # the last stage is the next step's first one
_ORDER = 5


class _Options(NamedTuple):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


class _State(NamedTuple):
    """After a step: the solution y at t and its slope, the next step's size, the start of the last step and the quartic
    that interpolates it."""

    y: Any
    slope: Any
    t: Any
    dt: Any
    last_t: Any
    quartic: Any


Field = Callable[..., Any]


# -------------------------------------------------------------------------------------------- one step

def _stages(fun: Field, y: Any, slope: Any, t: Any, dt: Any) -> Any:
    """The seven slopes of a step."""
    step = dt.astype(y.dtype)

    def stage(k: Any, part: Any) -> tuple[Any, None]:
        row, node, index = part
        return k.at[index].set(fun(y + step * jnp.tensordot(row, k, 1, precision="highest"), t + dt * node)), None
    k = jnp.zeros((7, y.size), y.dtype).at[0].set(slope)
    return scan(stage, k, (jnp.asarray(RK45.stages, y.dtype), jnp.asarray(RK45.nodes, t.dtype), jnp.arange(1, 7)))[0]


def _step(fun: Field, s: _State, options: _Options) -> _State:
    """A step of size s.dt, or one taken back with a smaller size."""
    dt = jnp.minimum(s.dt, options.hmax).astype(s.t.dtype)
    k = _stages(fun, s.y, s.slope, s.t, dt)
    h = dt.astype(s.y.dtype)
    y = s.y + h * weighted(_SOLUTION, k)
    ratio = error_ratio(h * weighted(RK45.error, k), s.y, y, options.rtol, options.atol)
    middle = s.y + h * weighted(RK45.middle, k)
    quartic = weighted(QUARTIC, jnp.stack([s.y, y, middle, h * k[0], h * k[-1]]))
    size = next_size(dt, ratio, _ORDER)
    accepted = _State(y, k[-1], s.t + dt, size, s.t, quartic)
    return tree.tree_map(lambda new, old: jnp.where(ratio <= 1, new, old), accepted, s._replace(dt=size))


def _horner(quartic: Any, x: Any) -> Any:
    return functools.reduce(lambda value, k: value * x + quartic[k], range(1, 5), quartic[0])


# -------------------------------------------------------------------------------------------- all steps

def _integrate(fun: Field, options: _Options, y0: Any, ts: Any) -> Any:
    """The solution at all times."""
    slope = fun(y0, ts[0])

    def to_time(s: _State, t: Any) -> tuple[_State, Any]:
        def unfinished(state: tuple[_State, Any]) -> Any:
            s, steps = state
            return (s.t < t) & (steps < options.mxstep) & (s.dt > 0)
        s, _ = while_loop(unfinished, lambda state: (_step(fun, state[0], options), state[1] + 1), (s, 0))
        length = s.t - s.last_t
        part = jnp.where(length == 0, 0, (t - s.last_t) / jnp.where(length == 0, 1, length))
        return s, _horner(s.quartic, part.astype(y0.dtype))

    quartic = jnp.zeros((5, y0.size), y0.dtype).at[4].set(y0)
    start = _State(y0, slope, ts[0], first_size(fun, ts[0], y0, slope, options.rtol, options.atol, _ORDER), ts[0], quartic)
    _, ys = scan(to_time, start, ts[1:])
    return jnp.concatenate([jnp.expand_dims(y0, 0), ys])


# -------------------------------------------------------------------------------------------- public

def _checked_arrays(what: str, values: Any) -> None:
    for x in tree.tree_leaves(values):
        try:
            array_arg("odeint", x)
        except TypeError as error:
            raise TypeError(f"The contents of odeint {what} must be arrays or scalars, but got {x!r} of type "
                            f"{type(x).__name__}; let func close over other values") from error


def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
           mxstep: float = np.inf, hmax: float = np.inf) -> Any:
    """The solution of dy/dt = func(y, t, *args), y(t[0]) = y0, at the times t: like y0, with a first axis of len(t).

    func: gives slopes in the structure of y0. y0: array or pytree of arrays. t: increasing times, at least one. args:
    arrays, or pytrees of arrays. rtol, atol: tolerated error of a step, relative and absolute. mxstep: steps for each time.
    hmax: largest step. Reverse-mode derivatives with respect to y0, t, args and what func closes over solve the adjoint
    equation with the same tolerances; there is no forward mode (TypeError). TypeError and ValueError for other arguments.

    >>> import numjet.numpy as jnp
    >>> [round(y, 4) for y in odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0])).tolist()]
    [1.0, 0.3679]
    """
    _checked_arrays("arguments", (y0, args))
    ts = promote_dtypes_inexact(array_arg("odeint", t))[0]
    if ts.ndim != 1 or not ts.size:
        raise ValueError(f"odeint: expected times of shape (n,) with n > 0, got {ts.shape}")
    y0 = tree.tree_map(lambda x: promote_dtypes_inexact(array_arg("odeint", x))[0], y0)
    options = _Options(rtol, atol, mxstep, hmax)
    return adjoint.solve("odeint", func, lambda fun, y0, ts: _integrate(fun, options, y0, ts), y0, ts, args)
