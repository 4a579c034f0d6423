"""Placeholders for what JAX has and numjet lacks: they can be imported, named in annotations and asked about by isinstance;
using them raises NotImplementedError with their name. Those of primitives are primitives, for which libraries define rules."""
from __future__ import annotations

import functools
from typing import Any, NoReturn

from numjet.as_jax.names import VERSION_TEXT
from numjet.core.primitive import Primitive


def refuse(name: str) -> NoReturn:
    """Raises NotImplementedError that says which name of JAX is not supported."""
    raise NotImplementedError(f"{name} is part of JAX {VERSION_TEXT} and not supported by numjet, which this program uses in "
                              f"JAX's place (numjet.as_jax).")


class UnsupportedType(type):
    """The type of placeholders. They are classes, as annotations and isinstance ask for classes; none has instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: for the placeholder, and for classes that programs derive from it."""
        refuse(cls.jax_name)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return placeholder(f"{cls.jax_name}.{name}")

    def __getitem__(cls, parameters: object) -> UnsupportedType:
        """The placeholder: types of annotations may have parameters."""
        return cls

    def __repr__(cls) -> str:
        return f"<{cls.jax_name}: not supported by numjet>"

    def __bool__(cls) -> NoReturn:
        refuse(cls.jax_name)

    def __iter__(cls) -> NoReturn:
        refuse(cls.jax_name)


class UnsupportedPrimitive(Primitive):
    """A primitive that stands in no program. Rules may be registered for it, as libraries do when they are imported."""

    def __init__(self, jax_name: str):
        super().__init__(jax_name.rpartition(".")[2].removesuffix("_p"))
        self.jax_name = jax_name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        """Raises NotImplementedError."""
        refuse(self.jax_name)


PLACEHOLDERS = (UnsupportedType, UnsupportedPrimitive)


@functools.cache
def placeholder(name: str) -> UnsupportedType | UnsupportedPrimitive:
    """The placeholder of a name of JAX."""
    if name.endswith("_p"):
        return UnsupportedPrimitive(name)
    return UnsupportedType(name.rpartition(".")[2], (), {"jax_name": name, "__module__": name.rpartition(".")[0]})
