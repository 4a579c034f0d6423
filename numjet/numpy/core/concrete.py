"""Concrete values: arguments that must be known while tracing, because they decide the shape of a result."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import Tracer
from numjet.foundation import errors

SIZE = ("The size of the result depends on the values. Pass size=, the number of elements wanted, to use it under jit and "
        "other transformations.")


def value_of(x: Any) -> np.ndarray | None:
    """The NumPy value of an array, a number or a tracer that depends on no input; None when it is not known."""
    if hasattr(x, "__jax_array__"):
        x = x.__jax_array__()
    while isinstance(x, Tracer):
        x = x.concrete()
    return None if x is None else np.asarray(x)


def known(name: str, x: Any, what: str, checked: str = "") -> np.ndarray:
    """The value of x. ConcretizationTypeError, with the use of the value in jnp.<name>, when it is not known.

    checked: names the function whose mode='raise' checks the value.
    """
    value = value_of(x)
    if value is None and checked:
        raise errors.ConcretizationTypeError(x, f"The error occurred because {checked} was jit-compiled with mode='raise'. Use "
                                                f"mode='wrap' or mode='clip' instead. The argument says {what}.")
    if value is None:
        raise errors.ConcretizationTypeError(x, f"It arose in jnp.{name}: the argument says {what} and must be known.")
    return value


def known_for_size(name: str, x: Any) -> np.ndarray:
    """The value of x. ConcretizationTypeError that recommends size= when it is not known."""
    value = value_of(x)
    if value is None:
        raise errors.ConcretizationTypeError(x, f"The size argument of jnp.{name} must be statically specified. {SIZE}")
    return value
