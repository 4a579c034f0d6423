"""Types for annotating functions of arrays."""

from numjet.foundation.types import ArrayLike as ArrayLike, DTypeLike as DTypeLike
