"""`jax.experimental.hijax`: values and primitives above arrays, which libraries define.

numjet's programs are of arrays. So values above arrays are taken apart where a program begins and put together again inside
of it (as_jax/hijax_values.py), and a primitive is applied to them while the function is traced: what the program shows is the
operations on arrays that the primitive's `to_lojax` makes of it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numjet.api.diagnostics import typeof
from numjet.as_jax import hijax_values
from numjet.as_jax.hijax_flat import aval_method as aval_method, aval_property as aval_property
from numjet.as_jax.hijax_primitives import VJPHiPrimitive as VJPHiPrimitive
from numjet.as_jax.hijax_transforms import MappingSpec as MappingSpec
from numjet.core import hooks
from numjet.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from numjet.core.op import Zero as Zero
from numjet.core.refs import AbstractRef as AbstractRef
from numjet.core.trace import EVAL, current_trace
from numjet.interpreters.ad import instantiate_zeros as instantiate_zeros, is_undefined_primal as is_undefined_primal
from numjet.interpreters.mlir import lowerable_effects as control_flow_allowed_effects  # noqa: F401


class HiType(AbstractValue):
    """The type of a value above arrays; a base. Classes have `lo_ty`, `lower_val` and `raise_val`."""


class MutableHiType(AbstractValue):
    """The type of a value that changes; a base. Classes have `lo_ty_qdd`, `new_from_loval`, `read_loval`, `update_from_loval`;
    values have `cur_qdd`."""


hijax_values.set_mutable(MutableHiType)


class HiPrimitive:
    """An operation on values above arrays; a base."""

    multiple_results = False

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def impl(self, *args: Any, **params: Any) -> Any:
        """The results of known arguments; those of `to_lojax` where the class that is derived does not say how."""
        return self.to_lojax(*args, **params)

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """The results by operations on arrays. Raises NotImplementedError: the class that is derived says how."""
        raise NotImplementedError(f"{type(self).__name__} has neither a method to_lojax nor one impl")

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """The types of the results, and effects."""
        raise NotImplementedError(f"{type(self).__name__} has no method abstract_eval")

    def jvp(self, primals: Any, tangents: Any, **params: Any) -> Any:
        """Results and their tangents, where the derivative is not that of `to_lojax`."""
        raise NotImplementedError(f"{type(self).__name__} has no method jvp")

    def bind(self, *args: Any, **params: Any) -> Any:
        """The results, in a program that is traced by operations on arrays."""
        with hijax_values.opened(args) as values:
            if current_trace() is EVAL or type(self).to_lojax is HiPrimitive.to_lojax:
                out = self.impl(*values, **params)
            elif self._says_derivative(values, params):
                out = hijax_values.apply_with_jvp(self, values, params)
            else:
                out = self.to_lojax(*values, **params)
        hijax_values.note_home(out)
        return out

    def _says_derivative(self, values: list[Any], params: dict[str, Any]) -> bool:
        """Whether the class has a rule of its own for derivatives, and neither arguments nor results change: what those hold
        is differentiated as the arrays that it is."""
        if type(self).jvp is HiPrimitive.jvp or hijax_values.any_mutable(values):
            return False
        found, _ = self.abstract_eval(*map(typeof, values), **params)
        return not any(isinstance(t, (AvalQDD, MutableHiType)) for t in (found if self.multiple_results else (found,)))


class AvalQDD(NamedTuple):
    """The type of a value that changes, with what is known of its content."""

    aval: Any
    qdd: Any


class AvalMutableQDD(NamedTuple):
    """The type of a value that changes, with what is known of its content while a function is traced."""

    aval: Any
    mutable_qdd: Any


def cur_qdd(x: Any) -> Any:
    """What a mutable value holds now, as the value itself says."""
    return x.cur_qdd()


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declares a class of values above arrays, which functions may take and return, and jit takes apart."""
    hooks.types_above[val_cls] = typeof_fn
