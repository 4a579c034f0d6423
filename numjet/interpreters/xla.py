"""Evaluation of primitives by compiling them."""
from __future__ import annotations

from typing import Any

from numjet.runtime import dispatch


def apply_primitive(prim: Any, *args: Any, **params: Any) -> Any:
    """The result of a primitive that has a lowering rule, compiled for the types of its operands.

    `primitive.def_impl(functools.partial(apply_primitive, primitive))` evaluates a primitive by its lowering rule.
    """
    return dispatch.run_operation(prim, args, params)


class Backend:
    """The type of JAX's clients; there are none here: see numjet.extend.backend."""


canonicalize_dtype_handlers: dict[type, Any] = {}
