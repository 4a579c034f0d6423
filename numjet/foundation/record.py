"""Record classes: named fields, without code generation.

`dataclasses.dataclass` generates and compiles the methods of every class at every import, which dominates the import time of
a small module. These classes share their methods.

>>> class Point(Record):
...     x: int
...     y: int = 0
>>> Point(1), Point(y=2, x=1).replace(x=3)
(Point(x=1, y=0), Point(x=3, y=2))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

T = TypeVar("T")


class _Factory:
    def __init__(self, make: Callable[[], Any]):
        self.make = make


def default_factory(make: Callable[[], T]) -> T:
    """Default of a field that gets a new value in every object: `children: list[Node] = default_factory(list)`."""
    return cast("T", _Factory(make))


def _value(default: Any) -> Any:
    return default.make() if type(default) is _Factory else default


class _Named:
    """Base of `Fields` and `Record`. The default of a field is its value in the class; subclasses add fields."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}
    _made: ClassVar[tuple[str, ...]] = ()  # fields that get a new value in every object

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)
        cls._defaults = {field: getattr(cls, field) for field in cls._fields if hasattr(cls, field)}
        cls._names = frozenset(cls._fields)
        cls._made = tuple(field for field, default in cls._defaults.items() if type(default) is _Factory)
        type.__setattr__(cls, "__match_args__", cls._fields)  # mypy rejects plain assignments to it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) != len(self._fields) or kwargs:
            args = self._complete(args, kwargs)
        self.__dict__.update(zip(self._fields, args, strict=True))
        self.__post_init__()

    def _complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all fields, in order."""
        fields = self._fields
        given = dict(zip(fields, args, strict=False))
        found = self._defaults | given | kwargs
        if len(args) > len(given) or not given.keys().isdisjoint(kwargs) or found.keys() != self._names:
            raise TypeError(self._mismatch(args, given, kwargs))
        for field in self._made:
            found[field] = _value(found[field])
        return tuple([found[field] for field in fields])

    def _mismatch(self, args: tuple[Any, ...], given: dict[str, Any], kwargs: dict[str, Any]) -> str:
        """Message of arguments that are not the fields."""
        fields, name = self._fields, type(self).__name__
        if len(args) > len(fields):
            return f"{name} takes the fields {list(fields)}, got {len(args)} positional arguments"
        if twice := kwargs.keys() & given.keys():
            return f"{name} got the fields {sorted(twice)} twice"
        if unknown := kwargs.keys() - set(fields):
            return f"{name} takes the fields {list(fields)}, got {sorted(unknown)}"
        return f"{name} misses the fields {[f for f in fields if f not in given | kwargs | self._defaults]}"

    def __post_init__(self) -> None:
        """Hook after construction, to check values or add attributes."""

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{field}={getattr(self, field)!r}' for field in self._fields)})"


@dataclass_transform(eq_default=False)
class Fields(_Named):
    """Mutable base class: annotations are fields, as in a dataclass; compared by identity."""


@dataclass_transform(frozen_default=True)
class Record(_Named):
    """Immutable base class: annotations are fields, as in a frozen dataclass; compared and hashed by their values."""

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}: {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r}: {type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __exact_key__(self) -> tuple[Any, ...]:
        return tuple(self.__dict__.values())
