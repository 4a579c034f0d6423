"""Named axes in scope, with their sizes: those of the enclosing vmap(axis_name=...).

Collectives read sizes here. Caches of traced functions have `scope()` in their keys, as programs depend on them.
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from numjet import _native
from numjet.foundation.record import Record

Axes = tuple[tuple[Any, int], ...]


class BatchAxis(Record):
    """The batch of a vmap whose elements are divided over devices. spmd: the axes of a mesh along which they are. varying:
    whether the batch is one device's part of it, inside of shard_map, so that its values vary over these axes."""
    name: Any
    spmd: tuple[Any, ...]
    varying: bool = False


def batch_name(axis: Any) -> Any:
    """The name of a batch's axis, or None, for that name or a BatchAxis."""
    return axis.name if type(axis) is BatchAxis else axis


def spmd_axes_of(axis: Any) -> tuple[Any, ...]:
    """The axes of a mesh along which a batch is divided, as vmap was told."""
    return axis.spmd if type(axis) is BatchAxis and not axis.varying else ()


def varying_axes_of(axis: Any) -> tuple[Any, ...]:
    """The axes of a mesh over which the values of a batch vary, because a device has a part of the batch."""
    return axis.spmd if type(axis) is BatchAxis and axis.varying else ()


class _Current(threading.local):
    axes: Axes = ()
    checked: frozenset[Any] = frozenset()
    dividing: frozenset[Any] = frozenset()


_current = _Current()


def named_axes() -> Axes:
    """(name, size) of every axis in scope, the innermost last."""
    return _current.axes


def with_named_axes(axes: Sequence[tuple[Any, int]]) -> _native.Scope:
    """A block with more axes in scope."""
    return _native.Scope(_current, "axes", (*_current.axes, *axes))


def checked_axes() -> frozenset[Any]:
    """The axes of enclosing shard_maps over which types say what varies (check_vma)."""
    return _current.checked


def with_checked_axes(axes: frozenset[Any]) -> _native.Scope:
    """A block in which types say what varies over these axes."""
    return _native.Scope(_current, "checked", axes)


@contextlib.contextmanager
def without_named_axes() -> Iterator[None]:
    """A block in which no axes are in scope."""
    with _native.Scope(_current, "axes", ()), _native.Scope(_current, "checked", frozenset()):
        yield


def dividing_axes() -> frozenset[Any]:
    """The axes of meshes along which the batches of enclosing vmaps are divided: no value of an element is."""
    return _current.dividing


def with_dividing_axes(axes: Iterable[Any]) -> _native.Scope:
    """A block that runs over a batch which is divided along axes, too."""
    return _native.Scope(_current, "dividing", _current.dividing.union(axes))


def scope() -> tuple[Any, ...]:
    """What traced programs depend on, for keys of caches."""
    more = _current.checked or _current.dividing
    return (_current.axes, _current.checked, _current.dividing) if more else _current.axes


def named_size(name: Any, what: str = "collectives") -> int:
    """The size of a named axis. NameError, for a call of `what`, when no enclosing vmap has that name."""
    for known, size in reversed(_current.axes):
        if known == name:
            return size
    raise unbound(name, what)


def unbound(name: Any, what: str = "collectives") -> NameError:
    """The error for a name that no enclosing vmap has."""
    return NameError(f"Found an unbound axis name: {name}. To fix this, please call {what} under `jax.shard_map` over a mesh "
                     f"that has the axis, or inside of vmap(..., axis_name={name!r}).")
