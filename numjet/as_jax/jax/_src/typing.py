"""Types for annotations."""

from numjet.core.trace import ArrayBase as Array  # noqa: F401
from numjet.foundation.types import (
    ArrayLike as ArrayLike, DTypeLike as DTypeLike, Shape as Shape, SupportsDType as SupportsDType,
)
