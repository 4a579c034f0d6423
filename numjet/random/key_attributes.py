"""What arrays of random keys have of their own: attributes under the names of JAX's private fields, which libraries read, and
how they are formatted."""
from __future__ import annotations

from typing import Any

from numjet.core import hooks
from numjet.core.trace import Array, Tracer
from numjet.foundation import dtypes
from numjet.lax.rng.key_marks import is_consumed
from numjet.lax.rng.key_words import unwrap
from numjet.random import generators


def _check(name: str, x: Any) -> None:
    if not dtypes.is_key(x.dtype):
        raise AttributeError(f"{name!r} is an attribute of random keys, got an array of dtype {x.dtype.name}")


def _base_array(self: Any) -> Any:
    """The words of random keys, as numjet.random.key_data."""
    _check("_base_array", self)
    return unwrap(self)


def _impl(self: Any) -> generators.Generator:
    """The generator of random keys."""
    _check("_impl", self)
    return generators.of_dtype(self.dtype)


def _was_consumed(self: Any) -> bool:
    """Whether a random key was used, while jax_debug_key_reuse is on."""
    _check("_consumed", self)
    return is_consumed(self)


for cls in (Array, Tracer):
    hooks.set_methods({"_base_array": property(_base_array), "_impl": property(_impl),
                       "_consumed": property(_was_consumed)}, cls)

_format_numbers = Array.__format__


def _format(self: Any, spec: str) -> str:
    """Keys are formatted as they print; they are no numbers."""
    if not dtypes.is_key(self.dtype):
        return _format_numbers(self, spec)
    if spec:
        raise TypeError(f"unsupported format string passed to an array of random keys: {spec!r}")
    return str(self)


hooks.set_methods({"__format__": _format}, Array)
