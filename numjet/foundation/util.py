"""Small helpers: lists split and merged, caches, names, axes."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from numjet._native import exact_key
from numjet.foundation import locks
from numjet.foundation.config import config
from numjet.foundation.dimension import as_integer

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def partition_list(flags: Sequence[bool], values: Sequence[T]) -> tuple[list[T], list[T]]:
    """The values whose flag is false, and those whose flag is true; inverse of `merge_lists`.

    >>> partition_list([False, True, False], [1, 2, 3])
    ([1, 3], [2])
    """
    if len(flags) != len(values):
        raise ValueError(f"partition_list: got {len(flags)} flags for {len(values)} values")
    parts: tuple[list[T], list[T]] = ([], [])
    for flag, value in zip(flags, values, strict=True):
        parts[bool(flag)].append(value)
    return parts


def merge_lists(flags: Sequence[bool], falses: Sequence[T], trues: Sequence[T]) -> list[T]:
    """One list from two: for each flag the next of `trues` if it is true, else the next of `falses`.

    >>> merge_lists([False, True, False], [1, 3], [2])
    [1, 2, 3]
    """
    wanted = sum(map(bool, flags))
    if len(trues) != wanted or len(falses) != len(flags) - wanted:
        raise ValueError(
            f"merge_lists: flags ask for {len(flags) - wanted} and {wanted} values, got {len(falses)} and {len(trues)}"
        )
    sources = (iter(falses), iter(trues))
    return [next(sources[bool(flag)]) for flag in flags]


def split_list(values: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Consecutive pieces of the given sizes, and the rest as the last one.

    >>> split_list([1, 2, 3, 4], [1, 2])
    [[1], [2, 3], [4]]
    """
    if any(size < 0 for size in sizes) or sum(sizes) > len(values):
        raise ValueError(f"split_list: cannot take pieces of sizes {list(sizes)} from {len(values)} values")
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(values[start : start + size]))
        start += size
    return [*pieces, list(values[start:])]


def replace_at(values: Sequence[T], positions: Sequence[int], new: Sequence[T]) -> list[T]:
    """The values, with new ones at the given positions.

    >>> replace_at([1, 2, 3], (0, -1), [5, 6])
    [5, 2, 6]
    """
    out = list(values)
    for n, value in zip(positions, new, strict=True):
        out[n] = value
    return out


def function_name(fun: Callable[..., Any]) -> str:
    """The name of a function in messages and printed programs."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    name = getattr(fun, "__name__", None)
    return name if name and isinstance(name, str) else type(fun).__name__


OF_JITTED = frozenset(("_jit_options", "_jit_state", "_jit_stages", "_dynamic_axes"))   # attributes of jitted functions alone
_TYPES = {"__name__": str, "__qualname__": str, "__annotations__": dict}


def wraps(fun: Callable[..., Any], assigned: Sequence[str] = functools.WRAPPER_ASSIGNMENTS,
          updated: Sequence[str] = functools.WRAPPER_UPDATES) -> Callable[[F], F]:
    """functools.wraps for callables of any kind: what no function can have, as a `__name__` that is an array, is left out, and
    so is what belongs to a jitted function alone: its wrapper has other options and programs."""
    fit = [name for name in assigned if name not in _TYPES or isinstance(getattr(fun, name, None), _TYPES[name])]

    def update(wrapper: F) -> F:
        for name in updated:
            theirs = getattr(fun, name, {})
            getattr(wrapper, name).update({key: value for key, value in theirs.items() if key not in OF_JITTED})
        return functools.update_wrapper(wrapper, fun, assigned=fit, updated=())  # type: ignore[return-value]
    return update


def canonicalize_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """`axis` counted from the front, 0 to ndim - 1.

    Raises AxisError (a ValueError and an IndexError) when it is out of bounds, TypeError when it is no integer.

    >>> canonicalize_axis(-1, 3)
    2
    """
    found = as_integer(axis, what)
    if not -ndim <= found < ndim:
        raise np.exceptions.AxisError(f"{what} {found} is out of bounds for array of dimension {ndim}")
    return found + ndim if found < 0 else found


# Registry of all caches, for `clear_caches`.
_caches: weakref.WeakSet[Any] = weakref.WeakSet()


def clear_caches() -> None:
    """Empties all caches made by `weakref_lru_cache`."""
    for one in list(_caches):
        one.cache_clear()


_weak_lock = locks.lock()  # of all caches with weakly held arguments


class _WeakCache:
    """LRU cache keyed by the identity of a weakly held first argument and the values of the others."""

    def __init__(self, fun: Callable[..., Any], max_size: int | None, keeps: Callable[[Any], bool] | None,
                 state: Callable[[], Hashable] | None):
        self._fun = fun
        self._keeps = keeps
        self._state = state
        self._max_size = max_size
        # In order of use: the first entry is the next one to drop.
        self._entries: dict[tuple[Hashable, ...], tuple[weakref.ref[Any], Any]] = {}
        self._keys_of: dict[int, set[tuple[Hashable, ...]]] = {}
        self.hits = 0
        self.misses = 0
        functools.update_wrapper(self, fun)

    def __call__(self, first: Any, *args: Hashable, **kwargs: Hashable) -> Any:
        key = (id(first), config.token, exact_key(args), exact_key(tuple(sorted(kwargs.items()))),
               None if self._state is None else self._state())
        with _weak_lock:
            entry = self._entries.pop(key, None)
            if entry is not None and entry[0]() is first:
                self._entries[key] = entry
                self.hits += 1
                return entry[1]
            self.misses += 1
        result = self._fun(first, *args, **kwargs)
        if self._keeps is None or self._keeps(result):
            self._store(key, first, result)
        return result

    def _store(self, key: tuple[Hashable, ...], first: Any, result: Any) -> None:
        owner, self_ref = id(first), weakref.ref(self)

        def forget(ref: weakref.ref[Any]) -> None:
            alive = self_ref()
            if alive is not None:
                alive._forget(owner, ref)

        with _weak_lock:
            self._entries[key] = (weakref.ref(first, forget), result)
            self._keys_of.setdefault(owner, set()).add(key)
            if self._max_size is not None and len(self._entries) > self._max_size:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: tuple[Hashable, ...]) -> None:
        self._entries.pop(key, None)
        keys = self._keys_of.get(key[0])  # type: ignore[call-overload]
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._keys_of[key[0]]  # type: ignore[arg-type]

    def _forget(self, owner: int, ref: weakref.ref[Any], lock: Any = _weak_lock) -> None:
        # Only entries of the dead object: its id may belong to a newer one. `lock` is bound as globals die first at exit.
        with lock:
            for key in [key for key in self._keys_of.get(owner, ()) if self._entries.get(key, (None,))[0] is ref]:
                self._drop(key)

    def cache_clear(self) -> None:
        """Drops all results."""
        with _weak_lock:
            self._entries.clear()
            self._keys_of.clear()
            self.hits = self.misses = 0

    def cache_info(self) -> tuple[int, int, int | None, int]:
        """(hits, misses, max_size, entries)."""
        return self.hits, self.misses, self._max_size, len(self._entries)

    def evict(self, first: Any) -> None:
        """Drops the results of `first`."""
        with _weak_lock:
            for key in list(self._keys_of.get(id(first), ())):
                self._drop(key)


def weakref_lru_cache(fun: Callable[..., T] | None = None, max_size: int | None = 2048,
                      keeps: Callable[[T], bool] | None = None, state: Callable[[], Hashable] | None = None) -> Any:
    """Decorator: caches results by the identity of the first argument, which is held weakly, and the other arguments.

    Flags that programs depend on are part of the key. A result must not hold the first argument, or both live for ever.
    keeps: of a result, whether it is cached; by default all are. state: what else the function depends on, part of the key.
    The decorated function has `cache_info`, `cache_clear` and `evict(first)`.
    """
    if fun is None:
        return functools.partial(weakref_lru_cache, max_size=max_size, keeps=keeps, state=state)
    made = _WeakCache(fun, max_size, keeps, state)
    _caches.add(made)
    return made


def function_parameters(fun: Callable[..., Any]) -> list[str]:
    """The names of a Python function's parameters, in order; faster than inspect.signature.

    >>> function_parameters(lambda x, *, axis=None: x)
    ['x', 'axis']
    """
    code = fun.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
