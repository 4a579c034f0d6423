"""Ordinary differential equations: the method of Dormand and Prince, with derivatives by the adjoint equation."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import vjp
from numjet.api.vmap import vmap
from numjet.control.custom.custom_vjp import closure_convert, custom_vjp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import while_loop
from numjet.flatten_util import ravel_pytree
from numjet.foundation import dtypes, tree
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact

# Dormand, Prince 1980, "A family of embedded Runge-Kutta formulae". The last stage is the next step's first one.
_NODES = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_STAGES = np.array([
    [1 / 5, 0, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
])
_SOLUTION = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0])
_ERROR = _SOLUTION - np.array([5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40])
# Shampine 1986, "Some practical Runge-Kutta formulas": the solution in the middle of a step
_MIDDLE = np.array([6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728,
                    187940372067 / 1594534317056, -1776094331 / 19743644256, 11237099 / 235043384]) / 2
# Coefficients, highest first, of the quartic in (t - start) / step with given y0, y1, middle, step f0, step f1
_QUARTIC = np.array([
    [-8, -8, 16, -2, 2],
    [18, 14, -32, 5, -3],
    [-11, -5, 16, -4, 1],
    [0, 0, 0, 1, 0],
    [1, 0, 0, 0, 0],
])
_SAFETY, _GROWTH, _SHRINKAGE, _ORDER = 0.9, 10.0, 0.2, 5.0


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

def _combine(weights: np.ndarray, rows: Any) -> Any:
    return jnp.tensordot(jnp.asarray(weights, rows.dtype), rows, 1, precision="highest")


def _stages(fun: Field, y: Any, slope: Any, t: Any, dt: Any) -> Any:
    """The seven slopes of a step."""
    step = dt.astype(y.dtype)

    def stage(k: Any, part: Any) -> tuple[Any, None]:
        row, node, index = part
        return k.at[index].set(fun(y + step * jnp.tensordot(row, k, 1, precision="highest"), t + dt * node)), None
    k = jnp.zeros((7, y.size), y.dtype).at[0].set(slope)
    return scan(stage, k, (jnp.asarray(_STAGES, y.dtype), jnp.asarray(_NODES, t.dtype), jnp.arange(1, 7)))[0]


def _error_ratio(error: Any, y0: Any, y1: Any, options: _Options) -> Any:
    """The root mean square of the error, each element in units of what is tolerated."""
    tolerated = options.atol + options.rtol * jnp.maximum(abs(y0), abs(y1))
    return jnp.sqrt(jnp.mean(jnp.square(abs(error / tolerated))))


def _next_size(dt: Any, ratio: Any) -> Any:
    """The step with a ratio of _SAFETY; it changes by bounded factors, and does not shrink after a success."""
    shrinkage = jnp.where(ratio < 1, 1.0, _SHRINKAGE)
    factor = jnp.where(ratio == 0, _GROWTH, _SAFETY * jnp.where(ratio == 0, 1, ratio) ** (-1 / _ORDER))
    return dt * jnp.clip(factor, shrinkage, _GROWTH).astype(dt.dtype)


def _first_size(fun: Field, t: Any, y: Any, slope: Any, options: _Options) -> Any:
    """Hairer, Norsett, Wanner, "Solving ordinary differential equations I", section II.4."""
    scale = options.atol + options.rtol * abs(y)
    norm = lambda v: jnp.sqrt(jnp.sum(jnp.square(abs(v / scale))))
    d0, d1 = norm(y), norm(slope)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1)).astype(t.dtype)
    d2 = norm(fun(y + h0.astype(y.dtype) * slope, t + h0) - slope) / h0
    top = jnp.maximum(d1, d2)
    h1 = jnp.where(top <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.where(top == 0, 1, top)) ** (1 / _ORDER))
    return jnp.minimum(100 * h0, h1).astype(t.dtype)


def _step(fun: Field, s: _State, options: _Options) -> _State:
    """A step of size s.dt, or one taken back with a smaller size."""
    dt = jnp.minimum(s.dt, options.hmax).astype(s.t.dtype)
    k = _stages(fun, s.y, s.slope, s.t, dt)
    h = dt.astype(s.y.dtype)
    y = s.y + h * _combine(_SOLUTION, k)
    ratio = _error_ratio(h * _combine(_ERROR, k), s.y, y, options)
    middle = s.y + h * _combine(_MIDDLE, k)
    quartic = _combine(_QUARTIC, jnp.stack([s.y, y, middle, h * k[0], h * k[-1]]))
    size = _next_size(dt, ratio)
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
    start = _State(y0, slope, ts[0], _first_size(fun, ts[0], y0, slope, options), ts[0], quartic)
    _, ys = scan(to_time, start, ts[1:])
    return jnp.concatenate([jnp.expand_dims(y0, 0), ys])


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(fun: Field, options: _Options, y0: Any, ts: Any, *args: Any) -> Any:
    return _integrate(lambda y, t: fun(y, t, *args), options, y0, ts)


def _solve_forward(fun: Field, options: _Options, y0: Any, ts: Any, *args: Any) -> Any:
    ys = _solve(fun, options, y0, ts, *args)
    return ys, (ys, ts, args)


def _solve_backward(fun: Field, options: _Options, saved: Any, cts: Any) -> tuple[Any, ...]:
    """The adjoint equation, backwards in time: Pontryagin et al. 1962; Chen et al. 2018, "Neural ordinary differential
    equations", appendix B and C. Its state: y, the adjoint, minus the derivative by the first time, those by arguments."""
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
        out = odeint(augmented, state, jnp.stack([-t, -before]), *args, rtol=options.rtol, atol=options.atol,
                     mxstep=options.mxstep, hmax=options.hmax)
        _, adjoint, of_start, *of_args = (x[1] for x in out)
        return (adjoint + ct_before, of_start, of_args), of_time

    start = (cts[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(args[i]) for i in smooth])
    (of_y0, of_start, of_args), of_times = scan(interval, start, (ys[1:], ts[1:], ts[:-1], cts[1:], cts[:-1]), reverse=True)
    found: list[Any] = [None] * len(args)
    for i, a in zip(smooth, of_args, strict=True):
        found[i] = a
    return of_y0, jnp.concatenate([jnp.expand_dims(of_start, 0), of_times]), *found


_solve.defvjp(_solve_forward, _solve_backward)


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
    vector, unravel = ravel_pytree(y0)
    converted, constants = closure_convert(func, y0, ts[0], *args)
    leaves, structure = tree.tree_flatten(tuple(args))
    count = len(leaves)

    def field(y: Any, t: Any, *values: Any) -> Any:
        args = tree.tree_unflatten(structure, values[:count])
        return _slope(ravel_pytree(converted(unravel(y), t, *args, *values[count:]))[0], y)
    options = _Options(rtol, atol, mxstep, hmax)
    ys = _solve(field, options, jnp.astype(vector, vector.dtype), ts, *map(jnp.asarray, (*leaves, *constants)))
    return vmap(unravel)(ys)


def _slope(slope: Any, y: Any) -> Any:
    """What func returned, in the dtype of y. ValueError and TypeError when it does not fit."""
    if slope.shape != y.shape:
        raise ValueError(f"odeint: func must return as many numbers as y0 has, got {slope.size} for {y.size}")
    if slope.dtype in dtypes.COMPLEX and y.dtype not in dtypes.COMPLEX:
        raise TypeError("odeint: func returned complex numbers for real y0; give a complex y0")
    return slope.astype(y.dtype)
