"""stack, unstack, broadcast_like, stage and shape_as_value: functions made of operations on shapes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import as_axis, insert
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.indexing.slicing import slice_in_dim
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import broadcast_in_dim, is_array, reshaped, squeeze_p


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape and dtype joined along a new axis.

    ValueError for no operands, operands of different shapes and an axis out of bounds; TypeError for different dtypes.

    >>> stack([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """
    if not operands:
        raise ValueError("lax.stack requires at least one operand")
    avals = [aval_of(x) for x in operands]
    first = avals[0]
    if any(a.shape != first.shape for a in avals):
        raise ValueError(f"lax.stack requires operands of equal shapes, got {', '.join(str(a.shape) for a in avals)}.")
    if any(a.dtype != first.dtype for a in avals):
        raise TypeError("lax.stack requires arguments to have the same dtypes, got "
                        f"{', '.join(dtypes.long_name(a.dtype) for a in avals)}.")
    d = as_axis(axis, first.ndim + 1, "stack")
    return concatenate([reshaped(x, insert(first.shape, d, 1)) for x in operands], d)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The arrays along `axis`, without that axis. ValueError for an axis out of bounds.

    >>> import numpy as np
    >>> [float(v) for v in unstack(np.float32([1, 2]))]
    [1.0, 2.0]
    """
    aval = aval_of(x)
    d = as_axis(axis, aval.ndim, "unstack")
    return tuple(squeeze_p.bind(slice_in_dim(x, i, i + 1, axis=d), dimensions=(d,)) for i in range(aval.shape[d]))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` broadcast to the shape of another array, as NumPy broadcasts; it keeps its dtype. ValueError if it doesn't fit.

    >>> import numpy as np
    >>> broadcast_like(np.float32([1, 2]), np.zeros((2, 2))).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    own, shape = aval_of(arr).shape, aval_of(like_arr).shape
    lead = len(shape) - len(own)
    if lead < 0:
        raise ValueError(f"broadcast_like: cannot broadcast to fewer dimensions: arr has shape {own}, like_arr {shape}")
    if any(n not in (1, m) for n, m in zip(own, shape[lead:], strict=True)):
        raise ValueError(f"broadcast_like: arr of shape {own} does not broadcast to the shape {shape} of like_arr: sizes must "
                         "be equal, or 1 in arr")
    return broadcast_in_dim(arr, shape, tuple(range(lead, len(shape))))


def stage(x: Any, /) -> Any:
    """The value as an array, or, while a function is traced for jit, as a value of its program.

    >>> stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if is_array(x):
        return x
    aval = aval_of(x)
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


def shape_as_value(shape: Sequence[Any]) -> Any:
    """The sizes of a shape, symbolic ones too, as an array of the default integer dtype.

    >>> shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    dtype = dtypes.canonicalize_dtype(np.int64)
    if len(shape) == 0:
        return stage(np.zeros(0, dtype))
    return concatenate([broadcast_in_dim(convert_element_type_p.bind(n, new_dtype=dtype, weak_type=False), (1,), ())
                        for n in shape], 0)
