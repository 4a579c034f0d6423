"""Two-generation caches, an approximation of LRU that costs one look-up.

Hits and new entries go to the young generation. When that reaches half of the bound, in number or in bytes, it becomes the
old one; what remains of the previous old one, unused since the last rotation, is dropped. Keys come from `exact_key`, so that
equal values of different types have different entries.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from numjet._native import config_epoch, exact_key
from numjet.foundation.config import config

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

memos: weakref.WeakSet[Memo[Any]] = weakref.WeakSet()


class Memo(Generic[T]):
    """A cache of values other than None.

    most: bound of the number of entries; most_bytes: bound of their bytes, as passed to `put` and `grew`; on_rotation: called
    after each rotation, so that faster caches in front of this one drop their entries and look them up here again.

    >>> squares = Memo("squares", 4)
    >>> for n in range(100):
    ...     squares.put(n, n * n)
    >>> squares.get(99), squares.get(1), len(squares) <= 4
    (9801, None, True)
    """

    def __init__(self, name: str, most: int, most_bytes: int = 1 << 62, on_rotation: Callable[[], None] | None = None):
        self.name, self.most, self.most_bytes, self.on_rotation = name, most, most_bytes, on_rotation
        self.rotations = 0  # how often the young generation became the old one
        self.clear()
        memos.add(self)

    def get(self, key: Hashable) -> T | None:
        """The value under a key, or None."""
        found = self._young.get(key)
        if found is None and self._old:
            kept = self._old.pop(key, None)
            if kept is not None:
                self._keep(key, kept)
                return kept[0]
        return None if found is None else found[0]

    def put(self, key: Hashable, value: T, nbytes: int = 0) -> T:
        """Adds a value; returns it."""
        self._old.pop(key, None)
        self._keep(key, (value, nbytes))
        return value

    def grew(self, key: Hashable, nbytes: int) -> None:
        """Adds to the recorded bytes of the value under a key, if it is still cached."""
        found = self._young.get(key) or self._old.pop(key, None)
        if found is not None:
            self._keep(key, (found[0], found[1] + nbytes))

    def clear(self) -> None:
        """Drops all entries."""
        self._young: dict[Hashable, tuple[T, int]] = {}
        self._old: dict[Hashable, tuple[T, int]] = {}
        self._bytes = 0

    def values(self) -> list[T]:
        """All values, which does not count as a use of them."""
        return [value for value, _ in (*self._old.values(), *self._young.values())]

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def _keep(self, key: Hashable, kept: tuple[T, int]) -> None:
        before = self._young.get(key)
        self._bytes += kept[1] - (0 if before is None else before[1])
        self._young[key] = kept
        if 2 * len(self._young) >= self.most or 2 * self._bytes >= self.most_bytes:
            self._old, self._young, self._bytes = self._young, {}, 0
            self.rotations += 1
            if self.on_rotation is not None:
                self.on_rotation()


def memoized(name: str, most: int = 4096) -> Callable[[F], F]:
    """Decorator: caches results by the exact arguments and the flags that programs depend on."""
    def decorate(fun: F) -> F:
        memo: Memo[Any] = Memo(name, most)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            token, epoch = config.token, config_epoch()
            key = exact_key((token, args, tuple(kwargs.items())))
            found = memo.get(key)
            if found is None:
                found = fun(*args, **kwargs)
                if epoch == config_epoch():  # otherwise flags have changed meanwhile
                    memo.put(key, found)
            return found

        call.memo = memo  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def clear_memos() -> None:
    """Empties all caches."""
    for memo in list(memos):
        memo.clear()
