"""Functions of floats evaluated in 64 bits and rounded once, whichever dtype the arguments have."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.grad import jvp
from numjet.api.vmap import vmap
from numjet.control.custom.custom_calls import is_symbolic_zero
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.core.trace import aval_of
from numjet.foundation import tree
from numjet.foundation.config import enable_x64, numpy_dtype_promotion
from numjet.lax.elementwise.convert import convert_dtype


def in_64_bits(function: Callable[..., Any], *xs: Any) -> Any:
    """The value of a function of floats, evaluated in float64 and rounded to the dtype of the last argument; weakly typed when
    all arguments are. Complex arguments have complex128 there, and meet real constants whatever programs may mix.

    >>> import numjet.numpy as jnp
    >>> round(float(in_64_bits(lambda x: (x + 1) - x, jnp.float32(1e9))), 2)
    1.0
    """
    dtype, weak = xs[-1].dtype, all(aval_of(x).weak_type for x in xs)
    with enable_x64(True), numpy_dtype_promotion("standard"):
        found = function(*(lax.convert_element_type(x, np.complex128 if x.dtype.kind == "c" else np.float64) for x in xs))
        return tree.tree_map(lambda y: convert_dtype(y, dtype, weak), found)


def lane_by_lane(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers for arrays of one shape: each element runs its own loops, as long as it needs, in registers.

    >>> import numjet.numpy as jnp
    >>> lane_by_lane(lambda x, y: x * y)(jnp.ones((2, 3)), jnp.ones((2, 3))).shape
    (2, 3)
    """
    def mapped(*xs: Any) -> Any:
        return vmap(function)(*(x.reshape(-1) for x in xs)).reshape(xs[0].shape)
    return mapped


def smooth_in_64_bits(function: Callable[..., Any], by_last: Callable[..., Any] | None = None,
                      by_lane: bool = False) -> Callable[..., Any]:
    """The function in 64 bits, of real arguments of one dtype, with derivatives of any order, in 64 bits, too.

    They are mixed partial derivatives by forward mode; those to the last argument may have a formula, `by_last(order, *xs)`.
    The linear part of the rule has the arguments' dtype. by_lane: the functions are of numbers, see `lane_by_lane`.

    >>> import numjet.numpy as jnp
    >>> from numjet.api.grad import grad
    >>> float(grad(smooth_in_64_bits(lambda x, y: x * x * y), argnums=1)(jnp.float32(3.0), jnp.float32(2.0)))
    9.0
    """
    def partial_derivative(orders: tuple[int, ...], *xs: Any) -> Any:
        derived, ahead = function, orders
        if by_last is not None:
            derived, ahead = functools.partial(by_last, orders[-1]), orders[:-1]
        for place, order in enumerate(ahead):
            for _ in range(order):
                derived = _along(derived, place)
        return in_64_bits(lane_by_lane(derived) if by_lane else derived, *xs)

    def rule(orders: tuple[int, ...], primals: Any, tangents: Any) -> Any:
        out = smooth(orders, *primals)
        changes = jnp.zeros_like(out)
        for place, tangent in enumerate(tangents):
            if not is_symbolic_zero(tangent):
                higher = tuple(order + (k == place) for k, order in enumerate(orders))
                changes = changes + smooth(higher, *primals) * tangent
        return out, changes
    smooth = custom_jvp(partial_derivative, nondiff_argnums=(0,))
    smooth.defjvp(rule, symbolic_zeros=True)
    return lambda *xs: smooth((0,) * len(xs), *xs)


def smooth_by_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a function with an argument `precise`: whether its result stays in 64 bits.

    >>> import numjet.numpy as jnp
    >>> float(smooth_by_precision(lambda x, precise: x if precise else -x)(jnp.float32(3.0)))
    -3.0
    """
    kinds = {kind: smooth_in_64_bits(functools.partial(function, precise=kind)) for kind in (True, False)}
    return lambda *xs: kinds[xs[-1].dtype == np.float64](*xs)


def _along(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    def derived(*xs: Any) -> Any:
        return jvp(lambda x: function(*xs[:place], x, *xs[place + 1:]), (xs[place],), (jnp.ones_like(xs[place]),))[1]
    return derived
