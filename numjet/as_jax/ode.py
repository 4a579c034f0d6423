"""Names of `jax.experimental.ode` by which libraries write their own solvers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.as_jax.jax import api_util as api_util
from numjet.flatten_util import ravel_pytree


def ravel_first_arg(f: Callable[..., Any], unravel: Callable[[Any], Any], debug_info: Any) -> Callable[..., Any]:
    """f as a function of its first argument's elements in one array, which gives its result as one array."""
    return lambda y_flat, *args: ravel_pytree(f(unravel(y_flat), *args))[0]
