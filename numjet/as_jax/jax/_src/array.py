"""The class of arrays."""

from numjet.core.trace import Array as ArrayImpl  # noqa: F401
