"""Source lines and names of scopes of equations."""
from __future__ import annotations

from typing import Any

from numjet import _native
from numjet.foundation import source
from numjet.foundation.source_info import NameStack as NameStack, SourceInfo as SourceInfo

__all__ = [
    "NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack", "new_name_stack", "new_source_info",
    "register_exclusion", "reset_name_stack", "set_name_stack", "summarize", "transform_name_stack", "user_context",
]


def current_name_stack() -> NameStack:
    """The names of the scopes that this thread is in."""
    return NameStack(source.name_stack())


def current() -> SourceInfo:
    """The user's line and the names of scopes, now."""
    return SourceInfo(source.operation_frame(), current_name_stack())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one name, or none."""
    return NameStack((name,) if name else ())


def new_source_info() -> SourceInfo:
    """No line, no names."""
    return SourceInfo()


def register_exclusion(path: str) -> None:
    """Counts the files of a library as internal: messages show the line of its user."""
    source.hide_path(path)


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """`file.py:12 (function)`; num_frames is a hint.

    >>> summarize(SourceInfo())
    '<unknown>'
    """
    return source.summarize(source_info.traceback)


class _Scope:
    """A block with other names of scopes, or another line."""

    __slots__ = ("_scopes",)

    def __init__(self, *scopes: _native.Scope):
        self._scopes = scopes

    def __enter__(self) -> None:
        for scope in self._scopes:
            scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        for scope in reversed(self._scopes):
            scope.__exit__(*error)


class set_name_stack(_Scope):
    """A block whose operations are in these scopes only."""

    __slots__ = ()

    def __init__(self, name_stack: NameStack):
        super().__init__(source.names_scope(name_stack.stack))


def reset_name_stack() -> set_name_stack:
    """A block in no scope."""
    return set_name_stack(NameStack())


class extend_name_stack(_Scope):
    """A block in one more scope; gives the stack."""

    __slots__ = ("stack",)

    def __init__(self, name: str):
        self.stack = current_name_stack().extend(name)
        super().__init__(source.names_scope(self.stack.stack))

    def __enter__(self) -> NameStack:  # type: ignore[override]
        super().__enter__()
        return self.stack


class transform_name_stack(extend_name_stack):
    """As extend_name_stack, for the name of a transformation."""

    __slots__ = ()

    def __init__(self, name: str):
        super().__init__(source.Transform(name))


class user_context(_Scope):
    """A block whose operations have the line of an equation's source_info.traceback, and its scopes."""

    __slots__ = ()

    def __init__(self, traceback: Any, *, name_stack: NameStack | None = None):
        frame = traceback if isinstance(traceback, source.Frame) else None
        scopes = [source.frame_scope(frame)]
        if name_stack is not None:
            scopes.append(source.names_scope(name_stack.stack))
        super().__init__(*scopes)
