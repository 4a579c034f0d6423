"""Values above arrays as arrays, with what carries their tangents.

Programs and derivatives are of arrays. The tangents of a value are those of its arrays where its type says so; a type may have
other tangents, as an array of int8 with a scale has tangents of floats. The arrays of such a value are followed by *carriers*,
zeros of the types of its tangents, on whose tangents the derivative rules compute. While a function is traced, the value and
its carriers are one object, a `Traced`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.custom.custom_calls import for_user
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.op import Zero
from numjet.core.snapshots import frozen
from numjet.core.trace import EVAL, aval_of, current_trace
from numjet.foundation import dtypes
from numjet.lax.tangent import instantiate, zeros_like_aval


class aval_property:
    """A property of a type that its traced values show."""

    def __init__(self, fget: Any):
        self.fget = fget


class aval_method:
    """A method of a type that its traced values show."""

    def __init__(self, fun: Any):
        self.fun = fun


class Traced:
    """A value above arrays in a traced function. held: its arrays, then its carriers."""

    __slots__ = ("held", "kind")

    def __init__(self, kind: Any, held: Sequence[Any]):
        self.kind, self.held = kind, tuple(held)

    aval = property(lambda self: self.kind)

    def __repr__(self) -> str:
        return f"Traced<{self.kind}>"

    def __getattr__(self, name: str) -> Any:
        """What the type shows of its traced values: fields of values are known to primitives alone."""
        found = getattr(type(self.kind), name, None)
        if isinstance(found, aval_property):
            return found.fget(self)
        if isinstance(found, aval_method):
            return found.fun.__get__(self)
        raise AttributeError(f"a traced value of type {self.kind} has no attribute {name!r}: primitives take it apart, and "
                             "aval_property and aval_method of its type show more of it", name=name, obj=self)


hooks.types_above[Traced] = lambda x: x.kind


def type_of(x: Any) -> Any:
    """The type of a value above arrays; None for other values."""
    rule = hooks.types_above.get(type(x))
    return None if rule is None else rule(x)


def typed(x: Any) -> Any:
    """The type of any value."""
    return type_of(x) or aval_of(x)


def is_above(kind: Any) -> bool:
    """Whether a type is one of values above arrays."""
    return kind is not None and not isinstance(kind, ShapedArray)


def array_types(kind: Any) -> list[Any]:
    """The types of the arrays of a value."""
    return list(kind.lo_ty()) if is_above(kind) else [kind]


def carrier_types(kind: Any) -> list[Any]:
    """The types of the carriers of a value: none where tangents are those of its arrays, or where there are no tangents."""
    if not is_above(kind) or not hasattr(kind, "to_tangent_aval"):
        return []
    own, tangents = kind.lo_ty(), array_types(kind.to_tangent_aval())
    same = [(a.to_tangent_aval().shape, a.to_tangent_aval().dtype) for a in own] == [(t.shape, t.dtype) for t in tangents]
    return [] if same else tangents


def flat_types(kind: Any) -> list[Any]:
    """The types of arrays and carriers."""
    return [*array_types(kind), *carrier_types(kind)]


def arrays_of(x: Any) -> list[Any]:
    """The arrays of a value, without carriers."""
    kind = type_of(x)
    if kind is None:
        return [x]
    return list(x.held[:len(kind.lo_ty())]) if type(x) is Traced else list(kind.lower_val(x))


def flat(x: Any) -> list[Any]:
    """The arrays of a value and its carriers."""
    if type(x) is Traced:
        return list(x.held)
    return [*map(frozen, arrays_of(x)), *map(zeros_like_aval, carrier_types(type_of(x)))]


def plain(kind: Any, held: Sequence[Any]) -> Any:
    """The value of arrays and carriers as an object of the user's class, which primitives take apart."""
    return kind.raise_val(*held[:len(kind.lo_ty())]) if is_above(kind) else held[0]


def whole(kind: Any, held: Sequence[Any]) -> Any:
    """The value with its carriers: the user's object where it has none, or where nothing is traced."""
    if not is_above(kind):
        return held[0]
    return plain(kind, held) if current_trace() is EVAL or not carrier_types(kind) else Traced(kind, held)


def values(kinds: Sequence[Any], held: Sequence[Any], make: Any) -> list[Any]:
    """Values of several types, made by `plain` or `whole`, from all their arrays in a row."""
    rest = map(for_user, held)
    return [make(k, [next(rest) for _ in flat_types(k)]) for k in kinds]


# -- tangents and cotangents


def tangent(kind: Any, held: Sequence[Any], of: Any = None) -> Any:
    """The tangent of a value from those of its arrays and carriers; a symbolic zero if all are. of: its type, that of tangents
    if it is left out."""
    if not is_above(kind):
        return held[0]
    own = kind.to_tangent_aval() if of is None else of
    carriers = len(carrier_types(kind))
    parts = held[-carriers:] if carriers else held
    if all(type(t) is Zero for t in parts):
        return Zero(own)
    return plain(own, [instantiate(t) for t in parts]) if is_above(own) else instantiate(parts[0])


def flat_tangent(kind: Any, t: Any) -> list[Any]:
    """The tangents of arrays and carriers from that of a value: None and symbolic zeros stand for zeros."""
    types = flat_types(kind)
    zeros = [Zero(a.to_tangent_aval()) for a in types]
    if t is None or type(t) is Zero:
        return zeros
    carriers, parts = len(carrier_types(kind)), arrays_of(t)
    found = [*zeros[:len(types) - carriers], *parts] if carriers else parts
    return [z if _is_zero(x) else x for z, x in zip(zeros, found, strict=True)]


def _is_zero(t: Any) -> bool:
    return t is None or type(t) is Zero or getattr(t, "dtype", None) == dtypes.float0
