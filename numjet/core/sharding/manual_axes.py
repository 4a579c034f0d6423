"""What types inside of shard_map say of axes of a mesh, under JAX's name."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from numjet.foundation.record import Record


class ManualAxisType(Record):
    """Axes over which values inside of shard_map vary, and those along which sums are to be made or were (which no type here
    says). ValueError for an axis that is in two of them.

    >>> ManualAxisType(varying={"x"}).varying
    frozenset({'x'})
    """
    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(self, varying: Iterable[Any] = (), unreduced: Iterable[Any] = (), reduced: Iterable[Any] = ()):
        super().__init__(frozenset(varying), frozenset(unreduced), frozenset(reduced))
        for one, other in combinations(("varying", "unreduced", "reduced"), 2):
            if getattr(self, one) & getattr(self, other):
                raise ValueError(f"{one} and {other} cannot have common mesh axes. Got {one}={set(getattr(self, one))} and "
                                 f"{other}={set(getattr(self, other))}")

    def invarying(self, mesh: Any) -> frozenset[Any]:
        """The Manual axes of a mesh over which values are the same."""
        return frozenset(mesh.manual_axes) - self.varying - self.unreduced - self.reduced


def varying_axes(given: Any) -> frozenset[Any]:
    """The axes over which a type says that values vary. TypeError for what is no such type, NotImplementedError for sums that
    are still to be made."""
    if not isinstance(given, ManualAxisType):
        raise TypeError(f"manual_axis_type must be a ManualAxisType, got {given!r}: name the axes over which values vary by "
                        "ManualAxisType(varying=...)")
    if given.unreduced or given.reduced:
        raise NotImplementedError(f"types do not say which sums are still to be made: {given} with unreduced or reduced axes "
                                  "is not supported; sums are made at once")
    return given.varying
