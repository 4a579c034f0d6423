"""Source information of equations: the user's frame and the names of the scopes around it."""
from __future__ import annotations

from typing import Any

from numjet.foundation.record import Record
from numjet.foundation.source import Frame, Transform, names_text


class NameStack(Record):
    """The names of scopes, outermost first; `+` joins two.

    >>> str(NameStack(("model",)) + NameStack().transform("jvp").extend("layer1"))
    'model/jvp(layer1)'
    """
    stack: tuple[str, ...] = ()

    def extend(self, name: str) -> NameStack:
        return NameStack((*self.stack, name))

    def transform(self, transform_name: str) -> NameStack:
        """The names inside of a transformation."""
        return NameStack((*self.stack, Transform(transform_name)))

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack((*self.stack, *other.stack))

    def __radd__(self, other: NameStack) -> NameStack:
        return NameStack((*other.stack, *self.stack))

    def __len__(self) -> int:
        return len(self.stack)

    def __str__(self) -> str:
        return names_text(self.stack)


class SourceInfo(Record):
    """Where an equation comes from. traceback: the user's frame, or None."""
    traceback: Frame | None = None
    name_stack: NameStack = NameStack()

    def replace(self, **changes: Any) -> SourceInfo:
        return super().replace(**changes)
