"""Python numbers and NumPy arrays with a dtype, in JAX's programs. numjet's hold plain numbers: these classes are for
isinstance, and have no instances."""
from __future__ import annotations

from typing import Any, NoReturn


class _WithoutInstances:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"jax._src.literals.{cls.__name__} has no instances in numjet: make an array by "
                        "jax.numpy.asarray(x, dtype)")


class TypedInt(_WithoutInstances):
    """An int with a dtype."""


class TypedFloat(_WithoutInstances):
    """A float with a dtype."""


class TypedComplex(_WithoutInstances):
    """A complex number with a dtype."""


class TypedNdArray(_WithoutInstances):
    """A NumPy array with a weak type."""


typed_scalar_types = (TypedInt, TypedFloat, TypedComplex)
