"""Arrays of other libraries, under the signature of `jax.dlpack`."""
from __future__ import annotations

from typing import Any

from numjet.numpy.core import arrays


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library's array, through its __dlpack__; as numpy.from_dlpack. The values are copied.

    Raises ValueError for copy=False: memory that others can write is never shared.

    >>> import numpy as np
    >>> from_dlpack(np.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    return arrays.from_dlpack(external_array, device=device, copy=copy)
