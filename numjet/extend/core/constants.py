"""Types and constants that only users of JAX's names need."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import stage
from numjet.core.aval import AbstractValue
from numjet.foundation import dtypes
from numjet.lax.barrier import TOKEN

no_effects: frozenset[Any] = frozenset()

array_types: set[type] = {
    np.ndarray, np.bool_, _native.Array,
    *(np.dtype(name).type for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                                       "float32", "float64", "complex64", "complex128")),
    dtypes.bfloat16.type,
}


class AbstractToken(AbstractValue):
    """The type of tokens in JAX. Here tokens are empty arrays of bools, so nothing has this type."""

    __slots__ = ()


class _TokenMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or getattr(instance, "aval", None) == TOKEN


class Token(metaclass=_TokenMeta):
    """A token outside of programs. Those that lax.create_token and lax.after_all make are instances, though they are arrays.
    buf: the array that it waits for."""

    __slots__ = ("_buf",)

    def __init__(self, buf: Any):
        self._buf = buf

    def block_until_ready(self) -> None:
        """Waits for the array."""
        self._buf.block_until_ready()


class DebugInfo(stage.DebugInfo):
    """The function being traced, for messages. traced_for: the transformation; func_src_info: the function's name and place;
    arg_names: an expression per leaf of the arguments."""

    def __init__(self, traced_for: str, func_src_info: str | None, arg_names: Sequence[str] | None = None,
                 result_paths: Any = None):
        super().__init__(name=func_src_info or "<function>", kind=traced_for, arg_names=tuple(arg_names or ()))
