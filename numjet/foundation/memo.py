"""Two-generation caches, an approximation of least recently used that costs one look-up.

Hits and new entries are in the young generation. When that reaches half of the bound, in number or in bytes, it becomes the
old one, and the rest of the old one, unused since the last such turn, is dropped. Keys are made by `exact_key`, so that
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
    """A cache of values, none of which is None.

    most: bound of the number of entries; most_bytes: bound of their bytes, as given to `put` and `grew`; on_turn: called
    after each turn: faster caches in front of this one drop their entries, so that values in use are looked up here again.

    >>> squares = Memo("squares", 4)
    >>> for n in range(100):
    ...     squares.put(n, n * n)
    >>> squares.get(99), squares.get(1), len(squares) <= 4
    (9801, None, True)
    """

    def __init__(self, name: str, most: int, most_bytes: int = 1 << 62, on_turn: Callable[[], None] | None = None):
        self.name, self.most, self.most_bytes, self.on_turn = name, most, most_bytes, on_turn
        self.turns = 0  # how often the young generation became the old one
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
        """Drops all."""
        self._young: dict[Hashable, tuple[T, int]] = {}
        self._old: dict[Hashable, tuple[T, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def _keep(self, key: Hashable, kept: tuple[T, int]) -> None:
        before = self._young.get(key)
        self._bytes += kept[1] - (0 if before is None else before[1])
        self._young[key] = kept
        if 2 * len(self._young) >= self.most or 2 * self._bytes >= self.most_bytes:
            self._old, self._young, self._bytes = self._young, {}, 0
            self.turns += 1
            if self.on_turn is not None:
                self.on_turn()


def memoized(name: str, most: int = 4096) -> Callable[[F], F]:
    """Decorator: caches results under the exact arguments and the flags that programs depend on."""
    def decorate(fun: F) -> F:
        memo: Memo[Any] = Memo(name, most)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            token, epoch = config.token, config_epoch()
            key = exact_key((token, args, tuple(kwargs.items())))
            found = memo.get(key)
            if found is None:
                found = fun(*args, **kwargs)
                if epoch == config_epoch():  # else flags changed while it was made
                    memo.put(key, found)
            return found

        call.memo = memo  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def clear_memos() -> None:
    """Empties all caches."""
    for memo in list(memos):
        memo.clear()
