"""Types for annotating functions of arrays."""

from numjet.foundation.types import ArrayLike as ArrayLike
from numjet.foundation.types import DTypeLike as DTypeLike
