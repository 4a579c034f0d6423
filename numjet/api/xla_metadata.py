"""Attributes of operations for XLA: hints for its compiler, which change no result."""
from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import Any

from numjet.foundation import tree, xla_metadata
from numjet.foundation.config import Override, config
from numjet.foundation.source import named_scope
from numjet.lax.tagged import tagged


def set_xla_metadata(x: Any = None, /, **attributes: Any) -> Any:
    """A block, or a decorator of functions, whose operations have attributes for XLA (`mhlo.frontend_attributes`).

    They are added to those of blocks around; None takes one away. With a pytree x of arrays: the arrays, and the operations
    that made them have the attributes. numjet's own compiler has no use for them. TypeError for values that are no text,
    number or None.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> lowered = nj.jit(set_xla_metadata(a="b")(lambda x: jnp.sin(x))).lower(1.0)
    >>> 'frontend_attributes = {a = "b"}' in lowered.as_text()
    True
    >>> lowered = nj.jit(lambda x: set_xla_metadata(jnp.sin(x), a="b")).lower(1.0)
    >>> 'frontend_attributes = {a = "b"}' in lowered.as_text()
    True
    """
    if x is None:
        return _Block(attributes)
    return tree.tree_map(lambda leaf: tagged(leaf, attributes), x)


class _Block(contextlib.ContextDecorator):
    """The block of set_xla_metadata."""

    def __init__(self, attributes: Mapping[str, Any]):
        self._name = xla_metadata.scope_name(attributes)
        self._inside: list[contextlib.ExitStack] = []

    def _recreate_cm(self) -> _Block:
        """Each call of a decorated function is a block of its own."""
        made = copy.copy(self)
        made._inside = []
        return made

    def __enter__(self) -> None:
        stack = contextlib.ExitStack()
        stack.enter_context(named_scope(self._name))
        around = config.numjet_xla_metadata   # programs that are called in the block are others
        stack.enter_context(Override("numjet_xla_metadata", f"{around}\n{self._name}".strip()))
        self._inside.append(stack)

    def __exit__(self, *exc_info: object) -> None:
        self._inside.pop().close()
