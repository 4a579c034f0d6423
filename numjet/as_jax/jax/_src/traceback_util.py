"""Tracebacks without the frames of libraries: those of numjet, and of files that a library names."""
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from numjet.foundation import source
from numjet.foundation.source import (  # noqa: F401
    UnfilteredStackTrace as UnfilteredStackTrace, hidden_prefixes as _exclude_paths, hide as register_exclusion, is_internal,
)

Function = TypeVar("Function", bound=Callable[..., Any])


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not is_internal(frame.f_code)


def api_boundary(fun: Function, *, repro_api_name: str | None = None) -> Function:
    """Decorator of a library's functions that call the user's: errors show the user's frames only."""
    return source.api_boundary(fun)
