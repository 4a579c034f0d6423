"""`composite`: a named operation that is defined by a program of other operations.

A backend may have an implementation under the name; every other computes the program. Derivatives and batches are
those of the program, without the name, which promises nothing about them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.control.call.body_tracing import cached_with, trace_body
from numjet.control.call.call import call_dce, calling_op, jit_p
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import NAMED_CALL
from numjet.foundation import tree
from numjet.foundation.errors import UnexpectedTracerError
from numjet.foundation.util import function_name, wraps
from numjet.transforms.simplify import Rewritten


def _dce(eqn: Any, used: list[bool]) -> Any:
    """Dead code elimination: a named implementation gives all results, so they stay as long as one is read."""
    return eqn if any(used) else call_dce(eqn, used)


def _hlo(b: Any, *args: Any, name: str, version: int, attributes: tuple[tuple[str, tuple[Any, ...], Any], ...], jaxpr: Any
         ) -> list[Any]:
    """The operation of StableHLO, beside a function for backends that have no implementation."""
    values = {key: tree.tree_unflatten(structure, leaves) for key, leaves, structure in attributes}
    return b.composite(name, version, values, jaxpr, args)


def _simplify(eqn: Any, simplify: Any) -> Rewritten:
    body = simplify(eqn.params["jaxpr"], list(map(simplify.facts.interval, eqn.invars)))
    return Rewritten(eqn.replace(params={**eqn.params, "jaxpr": body}), eqn.outvars)


composite_p = calling_op("composite", ("name", "version", "attributes", "jaxpr"),
                         lambda params: {"name": params["name"], "inline": False, "keep_unused": False}, through=jit_p,
                         compiled=True, dce=_dce, hlo=_hlo, traits=NAMED_CALL,
                         simplify=_simplify)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that is one operation `name` in programs, and computes what `decomposition` does.

    Positional arguments of the function are operands, keyword arguments are attributes of the operation: they are passed
    on, and kept in the program unless they are None.

    Args:
      decomposition: the function.
      name: of the operation, "my.softmax" say.
      version: changes when the semantics of the name change.

    Raises:
      TypeError: the decomposition is not callable, or returns something other than arrays.
      UnexpectedTracerError: an attribute is a traced value.

    >>> from numjet import lax
    >>> float(composite(lambda x, *, times: x * times, "my.scale")(2.0, times=3.0))
    6.0
    """
    if not callable(decomposition):
        raise TypeError(f"composite: decomposition must be a function, got {decomposition!r}")

    @wraps(decomposition)
    def call(*args: Any, **attributes: Any) -> Any:
        leaves, in_tree = tree.tree_flatten(args)
        _check_attributes(name, attributes)
        fun = _with_attributes(decomposition, attributes) if attributes else decomposition
        body = trace_body(fun, in_tree, [aval_of(x) for x in leaves], "composite")
        outs = composite_p.bind(*body.consts, *leaves, name=name, version=version, attributes=_kept(attributes),
                                jaxpr=body.jaxpr)
        return tree.tree_unflatten(body.out_tree, outs)

    return cached_with(decomposition, call)


def _check_attributes(name: str, attributes: dict[str, Any]) -> None:
    """UnexpectedTracerError for traced values: attributes are part of the program."""
    for key, value in attributes.items():
        traced = [leaf for leaf in tree.tree_leaves(value) if isinstance(leaf, Tracer)]
        if traced:
            raise UnexpectedTracerError(
                f"Found a JAX Tracer as attribute {key!r} of the composite op {name!r}: {traced[0]}. Attributes are constants "
                "of the program; pass what is computed as a positional argument. Note: If you are passing jax arrays as "
                "attributes, use numpy arrays instead.")


def _with_attributes(fun: Callable[..., Any], attributes: dict[str, Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return fun(*args, **attributes)

    call.__name__ = function_name(fun)
    return call


def _kept(attributes: dict[str, Any]) -> tuple[tuple[str, tuple[Any, ...], Any], ...]:
    """(name, leaves, structure) of every attribute that is not None."""
    flat = ((k, *tree.tree_flatten(v)) for k, v in sorted(attributes.items()) if v is not None)
    return tuple((k, tuple(leaves), structure) for k, leaves, structure in flat)
