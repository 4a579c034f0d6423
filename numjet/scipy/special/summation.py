"""Sums of series whose terms follow from one another, until no term of any element matters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import tree


def summed(active: Callable[..., Any], step: Callable[..., Any], start: tuple[Any, ...], most: int) -> Any:
    """The sums of a series: `start` is a term and the sums up to it, and `step` leads from (n, term, *sums) to the next ones.

    NaN where elements of the state are still active after the most terms.

    >>> half = jnp.full(1, 0.5)
    >>> term = lambda state: (state[0] + 1, state[1] * half, state[2] + state[1] * half)
    >>> [float(total[0]) for total in summed(lambda state: state[1] > 0.1, term, (half, half), 9)]
    [0.9375]
    """
    dtype = tree.tree_leaves(start)[0].real.dtype
    state = while_loop(lambda state: (state[0] < most) & jnp.any(active(state)), step, (jnp.zeros((), dtype), *start))
    unfinished = active(state)
    return tree.tree_map(lambda total: jnp.where(unfinished, jnp.nan, total), state[2:])
