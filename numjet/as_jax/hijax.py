"""`jax.experimental.hijax`: values and primitives above arrays, which libraries define when they are imported.

Outside of programs a primitive is evaluated by its own `impl`. Binding one to traced values, or giving a value above arrays
to a program, is refused: numjet's programs are of arrays.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numjet.as_jax.unsupported import refuse
from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.op import Zero as Zero
from numjet.core.refs import AbstractRef as AbstractRef
from numjet.core.trace import EVAL, Tracer, current_trace
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

    def impl(self, *args: Any, **params: Any) -> Any:
        """The results of known arguments. Raises NotImplementedError: the class that is derived says how."""
        raise NotImplementedError(f"{type(self).__name__} has no method impl")

    def bind(self, *args: Any, **params: Any) -> Any:
        """The results of known arguments. Raises NotImplementedError where a function is traced: the program would lose the
        primitive's own rules, and when it reads and writes."""
        if current_trace() is not EVAL or any(isinstance(x, Tracer) for x in args):
            refuse(f"{type(self).__name__}, a primitive of jax.experimental.hijax, in a function that is traced,")
        return self.impl(*args, **params)


class aval_property(NamedTuple):
    """A property of a type that its traced values show."""

    fget: Callable[[Any], Any]


class aval_method(NamedTuple):
    """A method of a type that its traced values show."""

    fun: Callable[..., Any]


def cur_qdd(x: Any) -> Any:
    """What a mutable value holds now, as the value itself says."""
    return x.cur_qdd()


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declares a class of values above arrays. They stay refused as arguments of programs, with their class in the message."""
