"""Adaptive quadrature: the rule of Gauss and Kronrod on intervals that are halved where the error is largest.

R. Piessens, E. de Doncker-Kapenga, C. W. Uberhuber and D. K. Kahaner, "QUADPACK" (1983): the 21-point rule and its estimate of
the error. Infinite intervals are mapped to finite ones. There is no extrapolation.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import jvp
from numjet.api.vmap import vmap
from numjet.control.custom.custom_calls import zero_from_primal
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.custom.custom_vjp import closure_convert
from numjet.control.loops.while_loop import while_loop
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact

# The positive nodes of Kronrod's rule; every second one is of Gauss's rule with 10 nodes.
_HALF = [0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
         0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
         0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
         0.148874338981631210884826001129720]
_KRONROD = [0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
            0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
            0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
            0.147739104901338491374841515972068, 0.149445554002916905664936468389821]
_GAUSS = [0.066671344308688137593568809893332, 0.149451349150580593145863396957658, 0.219086362515982043995534934228163,
          0.269266719309996355091226921569469, 0.295524224714752870173815619188769]
NODES = np.array([*(-x for x in _HALF), 0.0, *_HALF[::-1]])
WEIGHTS = np.array([*_KRONROD, *_KRONROD[-2::-1]])
GAUSS_WEIGHTS = np.zeros(21)
GAUSS_WEIGHTS[1::2] = [*_GAUSS, *_GAUSS[::-1]]

Function = Callable[[Any], Any]


class _State(NamedTuple):
    """Intervals of [0, 1], the integrals over them and their errors: arrays of `limit` elements, of which `count` are used."""

    left: Any
    right: Any
    values: Any
    errors: Any
    count: Any


def _places(u: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The point of [a, b] that belongs to u in [0, 1], and the derivative by u.

    Half lines by a + u / (1 - u), the whole line by t / (1 - t^2) with t = 2 u - 1."""
    from_left, to_right = jnp.isfinite(a), jnp.isfinite(b)
    start, end = jnp.where(from_left, a, 0), jnp.where(to_right, b, 0)
    both, neither = from_left & to_right, ~from_left & ~to_right
    v = jnp.where(from_left, u, 1 - u)
    half, half_slope = v / (1 - v), 1 / (1 - v) ** 2
    t = 2 * u - 1
    square = (1 - t) * (1 + t)
    sign = jnp.where(jnp.where(from_left, b, a) < 0, -1, 1)
    ray = jnp.where(from_left, start + sign * half, end + sign * half)
    ray_slope = jnp.where(from_left, sign, -sign) * half_slope
    x = jnp.where(both, start + (end - start) * u, jnp.where(neither, jnp.where(a < b, 1, -1) * t / square, ray))
    slope = jnp.where(both, end - start, jnp.where(neither, jnp.where(a < b, 2, -2) * (1 + t * t) / square ** 2, ray_slope))
    return x, jnp.where(a == b, 0, slope)


def _at_nodes(fun: Function, a: Any, b: Any, left: Any, right: Any) -> Any:
    """The integrand of [0, 1] at the nodes of an interval, times half its length."""
    half = 0.5 * (right - left)
    x, slope = _places(0.5 * (left + right) + half * jnp.asarray(NODES, left.dtype), a, b)
    return vmap(fun)(x) * slope * half


def _rule(fun: Function, a: Any, b: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The integral over an interval, and QUADPACK's estimate of its error."""
    values = _at_nodes(fun, a, b, left, right)
    weights = jnp.asarray(WEIGHTS, left.dtype)
    total = jnp.sum(weights * values)
    error = abs(total - jnp.sum(jnp.asarray(GAUSS_WEIGHTS, left.dtype) * values))
    size, spread = jnp.sum(weights * abs(values)), jnp.sum(weights * abs(values - 0.5 * total))
    scaled = spread * jnp.minimum(1, (200 * error / jnp.where(spread == 0, 1, spread)) ** 1.5)
    error = jnp.where((spread != 0) & (error != 0), scaled, error)
    return total, jnp.maximum(error, 50 * jnp.finfo(left.dtype).eps * size)


def _adapted(fun: Function, a: Any, b: Any, epsabs: Any, epsrel: Any, limit: int) -> _State:
    """Halves the interval with the largest error until the sum is tolerated, or all places are used."""
    zero, one = jnp.zeros((), a.dtype), jnp.ones((), a.dtype)
    value, error = _rule(fun, a, b, zero, one)
    fill = lambda x, rest=0: jnp.full(limit, rest, x.dtype).at[0].set(x)
    start = _State(fill(zero, 0.5), fill(one, 0.5), fill(value), fill(error), 1)

    def unfinished(s: _State) -> Any:
        tolerated = jnp.maximum(epsabs, epsrel * abs(jnp.sum(s.values)))
        return (jnp.sum(s.errors) > tolerated) & (s.count < limit)

    def step(s: _State) -> _State:
        worst = jnp.argmax(s.errors)
        left, right = s.left[worst], s.right[worst]
        middle = 0.5 * (left + right)
        both = vmap(lambda left, right: _rule(fun, a, b, left, right))
        (first, second), (first_error, second_error) = both(jnp.stack([left, middle]), jnp.stack([middle, right]))
        put = lambda array, old, new: array.at[worst].set(old).at[s.count].set(new)
        return _State(put(s.left, left, middle), put(s.right, middle, right), put(s.values, first, second),
                      put(s.errors, first_error, second_error), s.count + 1)
    return while_loop(unfinished, step, start)


def _on_intervals(fun: Function, a: Any, b: Any, s: _State) -> Any:
    """The rule on the intervals that were found; unused ones have no length."""
    values = vmap(lambda left, right: _at_nodes(fun, a, b, left, right))(s.left, s.right)
    return jnp.sum(jnp.asarray(WEIGHTS, a.dtype)[None] * values)


def quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), full_output: bool = False, epsabs: Any = 1.49e-8,
         epsrel: Any = 1.49e-8, limit: int = 50) -> tuple[Any, ...]:
    """Adaptive quadrature: the integral of func(x, *args) from a to b, and an estimate of its error.

    The 21-point rule of Gauss and Kronrod, on intervals of which that with the largest error is halved (QUADPACK's QAG).

    Args:
      func: a function of a real scalar that returns a real or complex one, and can be batched.
      a, b: the limits, scalars, which may be infinite, also where they are traced.
      args: other arguments of func, pytrees.
      full_output: return a dictionary, too: 'last', the number of intervals, and 'neval', that of evaluations.
      epsabs, epsrel: the absolute and the relative error that are tolerated; one of them suffices. epsrel counts as no less
        than 100 times the dtype's precision.
      limit: the most intervals.

    Returns:
      (integral, error), in the dtype of the limits. An error above the tolerance tells that `limit` was reached, or that
      rounding hides what is left. Derivatives with respect to args, limits and what func closes over are those of the rule on
      the intervals found: forward, reverse, of any order. It works under jit and vmap.

    Raises:
      TypeError: func returns no scalar. ValueError: limits that are no real scalars, limit < 1.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> round(float(quad(lambda x: jnp.exp(-x * x), -jnp.inf, jnp.inf)[0]), 4)
    1.7725
    >>> round(float(nj.grad(lambda c: quad(lambda x: x ** c, 0.0, 1.0)[0])(2.0)), 4)
    -0.1111
    """
    ends = promote_dtypes_inexact(array_arg("quad", a), array_arg("quad", b))
    if ends[0].dtype not in dtypes.FLOATING or any(x.shape for x in ends):
        raise ValueError(f"quad: expected real scalars as limits, got {[f'{x.dtype.name}{list(x.shape)}' for x in ends]}")
    if limit < 1:
        raise ValueError(f"quad: limit must be at least 1, got {limit}")
    low, high = (jnp.astype(x, x.dtype) for x in ends)
    args = args if isinstance(args, tuple) else (args,)

    def scalar(x: Any) -> Any:
        out = jnp.asarray(func(x, *args))
        if out.shape:
            raise TypeError(f"quad: func must return a scalar, got shape {out.shape}")
        return jnp.astype(out, jnp.promote_types(x.dtype, jnp.complex64) if out.dtype in dtypes.COMPLEX else x.dtype)
    s, total = _integral(scalar, low, high, epsabs, jnp.maximum(epsrel, 100 * jnp.finfo(low.dtype).eps), limit)
    found = total, jnp.sum(s.errors)
    return (*found, {"last": s.count, "neval": 21 * (2 * s.count - 1)}) if full_output else found


def _integral(fun: Function, a: Any, b: Any, epsabs: Any, epsrel: Any, limit: int) -> tuple[_State, Any]:
    converted, values = closure_convert(fun, a)
    of = lambda values: lambda x: converted(x, *values)

    def run(a: Any, b: Any, values: list[Any]) -> tuple[_State, Any]:
        s = _adapted(of(values), a, b, epsabs, epsrel, limit)
        return s, jnp.sum(s.values)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        s, total = integral(*primals)
        change = jvp(lambda a, b, values: _on_intervals(of(values), a, b, s), primals, tangents)[1]
        return (s, total), (zero_from_primal(s), change.astype(aval_of(total).dtype))
    integral = custom_jvp(run)
    integral.defjvp(rule)
    return integral(a, b, values)
