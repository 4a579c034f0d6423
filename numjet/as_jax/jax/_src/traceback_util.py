"""Tracebacks without the frames of libraries: those of numjet, and of files that a library names."""
from types import FrameType

from numjet.foundation.source import hide as register_exclusion, is_internal  # noqa: F401


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not is_internal(frame.f_code)
