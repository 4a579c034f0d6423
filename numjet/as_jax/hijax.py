"""`jax.experimental.hijax`: values and primitives above arrays, which libraries define when they are imported.

Classes can be derived and primitives made; binding one, or giving a value of such a type to a program, is refused: numjet's
programs are of arrays.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from numjet.as_jax.unsupported import refuse
from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.op import Zero as Zero
from numjet.core.refs import AbstractRef as AbstractRef
from numjet.interpreters.ad import instantiate_zeros as instantiate_zeros, is_undefined_primal as is_undefined_primal
from numjet.interpreters.mlir import lowerable_effects as control_flow_allowed_effects  # noqa: F401


class HiType(AbstractValue):
    """The type of a value above arrays; a base."""


class MutableHiType(AbstractValue):
    """The type of a value that changes; a base."""


class HiPrimitive:
    """An operation on values above arrays; a base."""

    multiple_results = False

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        """Raises NotImplementedError."""
        refuse(f"jax.experimental.hijax.{type(self).__name__}.bind")


class aval_property(NamedTuple):
    """A property of a type that its traced values show."""

    fget: Callable[[Any], Any]


class aval_method(NamedTuple):
    """A method of a type that its traced values show."""

    fun: Callable[..., Any]


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declares a class of values above arrays. They stay refused as arguments of programs, with their class in the message."""
