"""Types for annotations of functions of arrays."""

from numjet.core.trace import ArrayBase as Array, ArrayLike as ArrayLike  # noqa: F401
from numjet.foundation.types import DTypeLike as DTypeLike
