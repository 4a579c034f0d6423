"""Partition specifications: along which axes of a mesh each dimension of an array is divided."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any


class _Unconstrained:
    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """Along which axes of a mesh each dimension of an array is divided: a name, a tuple of names, or None.

    unreduced, reduced: axes whose devices hold summands of the array, and axes over which cotangents will be summed.
    Raises ValueError for tuples in tuples and for axes that occur twice. Equal ones that are alive are one object.

    >>> PartitionSpec("x", None)
    P('x', None)
    """

    __slots__ = ("partitions", "unreduced", "reduced", "__weakref__")
    UNCONSTRAINED = UNCONSTRAINED
    partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __new__(cls, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> PartitionSpec:
        for name, given in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(given, (set, frozenset)):
                raise TypeError(f"{name} argument of PartitionSpec should of type `frozenset` or `set`. Got type "
                                f"{type(given).__name__}: {given!r}")
        key = tuple(map(_canonical, partitions)), frozenset(unreduced), frozenset(reduced)
        known = _alive.get(key)
        if known is not None:
            return known
        made = object.__new__(cls)
        made.partitions, made.unreduced, made.reduced = key
        made._check()
        return _alive.setdefault(key, made)

    def _check(self) -> None:
        used = set(axes_of(self))
        for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if None in axes:
                raise ValueError(f"{name} cannot contain None. All elements in {name} should refer to the mesh axes. Got "
                                 f"{set(axes)}")
            if used & axes:
                raise ValueError(f"partitions cannot overlap with {name} axes passed to PartitionSpec. Got partitions: "
                                 f"{self.partitions} and {name} axes: {axes}")
        if self.unreduced & self.reduced:
            raise ValueError(f"unreduced cannot overlap with reduced axes in PartitionSpec. Got unreduced: "
                             f"{self.unreduced} and reduced: {self.reduced}")

    def __init_subclass__(cls) -> None:
        raise TypeError("Subclassing `jax.P` is prohibited: write a function that makes one")

    def _key(self) -> tuple[Any, ...]:
        return self.partitions, self.unreduced, self.reduced

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = lambda axes: "{" + ", ".join(sorted(map(repr, axes))) + "}"
        sets = [f"{side}={names(axes)}" for side in ("unreduced", "reduced") if (axes := getattr(self, side))]
        return f"P({', '.join([*map(repr, self.partitions), *sets])}{',' if len(self.partitions) == 1 and not sets else ''})"

    def __reduce__(self) -> Any:
        return functools.partial(PartitionSpec, unreduced=self.unreduced, reduced=self.reduced), self.partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return self._joined("__add__", self.partitions, other, False)

    def __radd__(self, other: Any) -> PartitionSpec:
        return self._joined("__radd__", self.partitions, other, True)

    def _joined(self, method: str, own: tuple[Any, ...], other: Any, before: bool) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*own, *other, unreduced=self.unreduced | other.unreduced, reduced=self.reduced | other.reduced)
        if not isinstance(other, tuple):
            return NotImplemented
        if self.unreduced or self.reduced:
            raise TypeError(f"other {other} cannot be of instance `tuple` when self {self} has unreduced in `{method}` of "
                            "PartitionSpec. Make it a PartitionSpec, which says what is unreduced.")
        return PartitionSpec(*other, *own) if before else PartitionSpec(*own, *other)

    def index(self, value: Any) -> int:
        """The position of a partition. Raises ValueError if there is none."""
        return self.partitions.index(_canonical(value))

    def count(self, value: Any) -> int:
        """How often a partition occurs."""
        return self.partitions.count(_canonical(value))

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other partitions, unreduced or reduced."""
        new = {"partitions": self.partitions, "unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*new.pop("partitions"), **new)


_alive: weakref.WeakValueDictionary[tuple[Any, ...], PartitionSpec] = weakref.WeakValueDictionary()


def _canonical(partition: Any) -> Any:
    """None for no axis, the name for one, a tuple for several."""
    if not isinstance(partition, (list, tuple)):
        return partition
    if any(isinstance(name, (list, tuple)) for name in partition):
        raise ValueError(f"A tuple inside PartitionSpec cannot contain a nested tuple, got {partition}")
    return None if not partition else partition[0] if len(partition) == 1 else tuple(partition)


def axes_of(spec: PartitionSpec) -> list[Any]:
    """The axes that partition dimensions, in order."""
    return [axis for part in spec for axis in parts_of(part)]


def entries_of(spec: PartitionSpec, ndim: int) -> list[Any]:
    """What each of `ndim` dimensions is divided along. Entries of the specification beyond them are left out."""
    given = list(spec)[:ndim]
    return given + [None] * (ndim - len(given))


def parts_of(partition: Any) -> tuple[Any, ...]:
    """The axes of one dimension."""
    if partition is None or partition is UNCONSTRAINED:
        return ()
    return partition if isinstance(partition, tuple) else (partition,)
