"""Types for annotations: array-likes, dtype-likes, shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, Union, runtime_checkable

import numpy as np

from numjet.foundation.dtypes.table import DType


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype."""

    @property
    def dtype(self) -> DType: ...


# What functions accept as an array, besides numjet's arrays.
ArrayLike: TypeAlias = Union[np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007

# What functions accept as a dtype.
DTypeLike: TypeAlias = Union[str, type[Any], DType, SupportsDType]  # noqa: UP007

Shape: TypeAlias = Sequence[SupportsIndex]
