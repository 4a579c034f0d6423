"""The optimizer Adam, for any pytree of parameters.

Source: D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet import tree


class AdamState(NamedTuple):
    """Number of updates so far, and running means of the gradients and of their squares."""

    count: Any
    mean: Any
    square: Any


def start(params: Any) -> AdamState:
    """The state before the first update.

    >>> start({"w": jnp.ones(2)}).mean
    {'w': Array([0., 0.], dtype=float32)}
    """
    zeros = tree.map(jnp.zeros_like, params)
    return AdamState(jnp.zeros((), jnp.int32), zeros, zeros)


def update(params: Any, grads: Any, state: AdamState, rate: Any, decay: tuple[float, float] = (0.9, 0.999),
           eps: float = 1e-8) -> tuple[Any, AdamState]:
    """New parameters and state after one gradient. `rate` is the step size, a number or a scalar array."""
    count = state.count + 1
    mean = tree.map(lambda m, g: decay[0] * m + (1 - decay[0]) * g, state.mean, grads)
    square = tree.map(lambda s, g: decay[1] * s + (1 - decay[1]) * g * g, state.square, grads)
    scale = rate * jnp.sqrt(1 - decay[1] ** count) / (1 - decay[0] ** count)
    params = tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + eps), params, mean, square)
    return params, AdamState(count, mean, square)
