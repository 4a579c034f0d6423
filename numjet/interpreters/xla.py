"""Evaluation of primitives by compiling them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core import trace
from numjet.runtime import dispatch


def apply_primitive(prim: Any, *args: Any, **params: Any) -> Any:
    """The result of a primitive that has a lowering rule, compiled for the types of its operands.

    `primitive.def_impl(functools.partial(apply_primitive, primitive))` evaluates a primitive by its lowering rule.
    """
    return dispatch.run_operation(prim, args, params)


class Backend:
    """The type of JAX's clients; there are none here: see numjet.extend.backend."""


class _Conversions(dict[type, Callable[[Any], Any]]):
    """How values of a type become arrays, by type. A user's type that is entered is accepted wherever arrays are: its values
    get the method `__jax_array__`, which calls the handler, unless they have one."""

    def __setitem__(self, kind: type, handler: Callable[[Any], Any]) -> None:
        super().__setitem__(kind, handler)
        if not hasattr(kind, "__jax_array__"):
            kind.__jax_array__ = handler  # type: ignore[attr-defined]


def _from_numpy(x: Any) -> Any:
    """The array of a NumPy value, or of one that NumPy can read."""
    found = np.asarray(x)
    return dispatch.as_array(found, trace.aval_of(found))


canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = _Conversions({np.ndarray: _from_numpy, np.generic: _from_numpy})
pytype_aval_mappings: dict[type, Callable[[Any], Any]] = trace.aval_rules
