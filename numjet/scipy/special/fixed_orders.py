"""Functions f(order, x) with a derivative to x alone; and sines and cosines of multiples of pi."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit import jit
from numjet.control.custom.custom_calls import is_symbolic_zero
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.core.trace import Tracer
from numjet.foundation import tree
from numjet.scipy.special.wide_evaluation import in_64_bits


def fixed_orders(name: str, function: Callable[..., Any], slope: Callable[..., Any],
                 by_order: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function (*orders, x) with the derivative `slope(result, *orders, x)` to x; NotImplementedError to an order, unless
    there is one order, to which `by_order` is the derivative.

    It is evaluated in 64 bits, whichever floats the arguments are, and rounded once: the differences in recurrences and sums
    cancel digits."""
    def value(*xs: Any) -> Any:
        return in_64_bits(function, *xs)
    value.__name__ = name
    call = custom_jvp(value)

    def rule(primals: Any, tangents: Any) -> Any:
        *orders, t = tangents
        moving = [place for place, order in enumerate(orders) if not is_symbolic_zero(order)]
        for place in moving:
            if by_order is None:
                raise NotImplementedError(
                    f"{name}: expected a derivative to the last argument alone, got one to argument {place}, a parameter; "
                    "take lax.stop_gradient of the parameter, or differences")
        out = compiled(*primals)
        parts = [(by_order, orders[0])] if moving and by_order else []
        parts += [] if is_symbolic_zero(t) else [(slope, t)]
        changes = [tree.tree_map(lambda s, t=t: s * t, of(out, *primals)) for of, t in parts]
        return out, tree.tree_map(lambda *terms: sum(terms[1:], terms[0]), *changes)

    call.defjvp(rule, symbolic_zeros=True)
    compiled = jit(call)  # one program outside of transformations, too: there are loops in these functions
    return compiled


def wide(*xs: Any) -> list[Any]:
    """Halves as float32; others as they are."""
    return [x.astype(np.float32) if x.dtype.itemsize == 2 else x for x in xs]


def largest(order: Any) -> float:
    """The largest size of an order, infinite where it is traced."""
    return math.inf if isinstance(order, Tracer) else float(np.max(np.abs(np.asarray(order, np.float64)), initial=0.0))


def cos_sin_pi(v: Any) -> tuple[Any, Any]:
    """cos(pi v) and sin(pi v), right relatively beside their zeros: v less the nearest whole number is exact.

    >>> [float(x) for x in cos_sin_pi(jnp.array(2.5))]
    [0.0, 1.0]
    """
    whole = jnp.round(v)
    rest = v - whole
    sign = jnp.where(whole == 2 * jnp.round(0.5 * whole), 1, -1)
    sine = jnp.where(rest == 0, 0, sign * jnp.sin(math.pi * rest))
    return sign * jnp.sin(math.pi * (0.5 - jnp.abs(rest))), sine
