"""Printing rules: how the parameters of an operation print, and the classes of parameters that print by name."""
from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.foundation.record import Record


class PrintingRule(Record):
    """How the parameters of one operation print.

    first: parameters that stand in front of the others, which are in alphabetical order.
    implied: parameters that are left out when they have this value, or the value of this function of the avals of operands
      and results. lists: parameters whose innermost tuples print as lists.
    called: the parameter that is a program called on the operands, so that its variables go by their names.
    """
    first: tuple[str, ...] = ()
    implied: Mapping[str, Any] = MappingProxyType({})
    lists: frozenset[str] = frozenset()
    called: str | None = None

    def default(self, name: str, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> Any:
        """The value that a parameter in `implied` has when it is left out."""
        value = self.implied[name]
        return value(ins, outs) if callable(value) else value


PLAIN = PrintingRule()

parameter_types: dict[str, type] = {}


def register_parameter_type(cls: type) -> type:
    """Lets core.parse read parameters of an enum or NamedTuple class by its name, as they are printed: `Mode.CLIP`,
    `Numbers(first=(0,), second=())`. Usable as a decorator. TypeError for other classes."""
    if not (issubclass(cls, enum.Enum) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))):
        raise TypeError(f"register_parameter_type takes enums and NamedTuples, got {cls!r}")
    parameter_types[cls.__name__] = cls
    return cls


def printing_rule(op: Any) -> PrintingRule:
    """How an operation's parameters print."""
    return op.printing or PLAIN
