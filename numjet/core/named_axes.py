"""Named axes in scope, with their sizes: those of the enclosing vmap(axis_name=...).

Collectives read sizes here. Caches of traced functions have `named_axes()` in their keys, as programs depend on them.
"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from numjet import _native

Axes = tuple[tuple[Any, int], ...]


class _Current(threading.local):
    axes: Axes = ()


_current = _Current()


def named_axes() -> Axes:
    """(name, size) of every axis in scope, the innermost last."""
    return _current.axes


def with_named_axes(axes: Sequence[tuple[Any, int]]) -> _native.Scope:
    """A block with more axes in scope."""
    return _native.Scope(_current, "axes", (*_current.axes, *axes))


def named_size(name: Any) -> int:
    """The size of a named axis. NameError when no enclosing vmap has that name."""
    for known, size in reversed(_current.axes):
        if known == name:
            return size
    raise unbound(name)


def unbound(name: Any) -> NameError:
    """The error for a name that no enclosing vmap has."""
    return NameError(f"unbound axis name: {name}. Collectives work inside of vmap(..., axis_name={name!r}).")
