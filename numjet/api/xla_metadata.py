"""Attributes of operations for XLA: hints for its compiler, which change no result."""
from __future__ import annotations

import contextlib
import copy
from typing import Any

from numjet.foundation import xla_metadata
from numjet.foundation.config import Override, config
from numjet.foundation.source import named_scope


class set_xla_metadata(contextlib.ContextDecorator):
    """A block, or a decorator of functions, whose operations have attributes for XLA (`mhlo.frontend_attributes`).

    They are added to those of blocks around; None takes one away. numjet's own compiler has no use for them. TypeError for
    values that are no text, number or None; NotImplementedError for attributes of a single value.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> lowered = nj.jit(set_xla_metadata(a="b")(lambda x: jnp.sin(x))).lower(1.0)
    >>> 'frontend_attributes = {a = "b"}' in lowered.as_text()
    True
    """

    def __init__(self, x: Any = None, /, **attributes: Any):
        if x is not None:
            raise NotImplementedError("set_xla_metadata(x, ...), for the operation that made x, is not supported: compute x in "
                                      "the block `with set_xla_metadata(...):`")
        self._name = xla_metadata.scope_name(attributes)
        self._inside: list[contextlib.ExitStack] = []

    def _recreate_cm(self) -> set_xla_metadata:
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
