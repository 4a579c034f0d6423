"""Functions on sequences of equal lengths."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numjet.foundation.util import (
    canonicalize_axis as canonicalize_axis, merge_lists as merge_lists, partition_list as partition_list,
    split_list as split_list,
)


class HashablePartial:
    """A function with its first arguments given; equal to another of the same function and equal arguments."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kwargs: Any):
        self.f, self.args, self.kwargs = f, args, kwargs

    def _key(self) -> tuple[Any, ...]:
        return getattr(self.f, "__code__", self.f), self.args, tuple(sorted(self.kwargs.items()))

    def __eq__(self, other: object) -> bool:
        return type(other) is HashablePartial and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """zip as a list. Raises ValueError if lengths differ."""
    return list(zip(*args, strict=True))


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """map as a list. Raises ValueError if lengths differ."""
    return [f(*xs) for xs in safe_zip(*args)]
