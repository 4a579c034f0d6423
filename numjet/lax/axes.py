"""Checks of axes and shapes that users give: numbers to tuples of ints, with the errors users expect."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.core.ir import JaxprEqn
from numjet.core.trace import Tracer
from numjet.foundation.config import config, enable_x64
from numjet.foundation.dimension import as_integer, as_size, computed_sizes, is_symbolic

Ints = tuple[int, ...]
_INT32_MAX = int(np.iinfo(np.int32).max)


def as_shape(shape: Any, what: str = "Shapes") -> tuple[int, ...]:
    """`shape` as a tuple of sizes. Entries may be anything with `__index__`, known tracers included.

    TypeError when it is no sequence of integers.

    >>> as_shape([2, 3])
    (2, 3)
    """
    if computed_sizes.maker is not None and any(isinstance(d, Tracer) for d in _entries(shape)):
        return tuple(map(as_size, _entries(shape)))
    try:
        return tuple(map(operator.index, shape))
    except TypeError as error:
        if is_symbolic(_entries(shape)):
            return tuple(map(as_size, shape))
        text = f"{what} must be 1D sequences of concrete values of integer type, got {shape}."
        if any(isinstance(d, Tracer) for d in _entries(shape)):
            text += ("\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions.\n" + str(error))
        raise TypeError(text) from error


def _entries(shape: Any) -> tuple[Any, ...]:
    try:
        return tuple(shape)
    except TypeError:
        return (shape,)


def listed(value: Any) -> tuple[Any, ...]:
    """The entries of a sequence, a range or an array of rank 1; anything else alone.

    >>> listed(range(2)), listed(2)
    ((0, 1), (2,))
    """
    return tuple(value) if isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0 else (value,)


def as_axis(axis: Any, ndim: int, op: str = "") -> int:
    """An axis in range(ndim); negative ones count from the end. AxisError, naming `op`, when out of bounds: a
    ValueError and an IndexError, as NumPy's.

    >>> as_axis(-1, 3)
    2
    """
    index = as_integer(axis, f"{op + ': ' * bool(op)}axis")
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(f"{op + ': ' * bool(op)}axis {index} is out of bounds for array of dimension {ndim}")
    return index + ndim if index < 0 else index


def as_axes(axes: Sequence[Any], ndim: int, op: str = "") -> tuple[int, ...]:
    """as_axis of each. TypeError if `axes` is no sequence."""
    if not isinstance(axes, Iterable):
        raise TypeError(f"{op + ': ' * bool(op)}axes must be a sequence of integers, got {axes!r}: "
                        f"'{type(axes).__name__}' object is not iterable")
    return tuple(as_axis(a, ndim, op) for a in axes)


def without(values: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """The entries of `values` whose positions are not among `axes`.

    >>> without((2, 3, 4), (1,))
    (2, 4)
    """
    return tuple(v for i, v in enumerate(values) if i not in axes)


def shift(axes: Sequence[int], dim: int) -> tuple[int, ...]:
    """The numbers of `axes` after an axis is inserted at `dim`.

    >>> shift((0, 1, 2), 1)
    (0, 2, 3)
    """
    return tuple(a + (a >= dim) for a in axes)


def insert(values: Sequence[Any], dim: int, value: Any) -> tuple[Any, ...]:
    """`values` with `value` at position `dim`."""
    return (*values[:dim], value, *values[dim:])


def replace(values: Sequence[Any], dim: int, value: Any) -> tuple[Any, ...]:
    """`values` with `value` instead of the entry at position `dim`."""
    return (*values[:dim], value, *values[dim + 1:])


def row_major(shape: Sequence[int], index: Sequence[Any]) -> Any:
    """The position of an index in row-major order: a number, or what arithmetic on indices of a builder gives.

    >>> row_major((2, 3), (1, 2))
    5
    """
    position: Any = 0
    for n, i in zip(shape, index, strict=True):
        position = position * n + i
    return position


def cut_axis(eqn: JaxprEqn, result: int) -> int | None:
    """The one axis along which a result of an equation differs in size from its first operand; None if there are more."""
    sizes = zip(eqn.invars[0].aval.shape, eqn.outvars[result].aval.shape, strict=True)
    cut = [d for d, (whole, part) in enumerate(sizes) if whole != part]
    return cut[0] if len(cut) == 1 else None


# ------------------------------------------------------------------------------------------------ long axes
# The default of integers, int32, does not hold positions along axes of more than 2^31 elements: indices would saturate or wrap.
# Functions that take indices run with 64-bit integers there; those that return positions in int32 raise.

def is_long(shape: Sequence[Any]) -> bool:
    """Whether an axis has positions beyond int32. Sizes that are not known yet count as short."""
    return any(type(n) is int and n > _INT32_MAX for n in shape)


def needs_64_bits(shape: Sequence[Any]) -> bool:
    """Whether positions along an axis would not fit the default of integers."""
    return is_long(shape) and not config.enable_x64


def in_64_bits(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """function(*args, **kwargs) with 64-bit integers on."""
    with enable_x64(True):
        return function(*args, **kwargs)


def check_positions(name: str, axes: Sequence[Any], dtype: np.dtype) -> None:
    """OverflowError where a 32-bit dtype is to hold positions along axes of these sizes, and does not."""
    if dtype.itemsize == 4 and dtype.kind in "iu" and is_long(axes) and max(axes) - 1 > np.iinfo(dtype).max:
        raise OverflowError(f"{name}: the positions along an axis of {max(axes)} elements do not fit {dtype}. Enable 64-bit "
                            "integers (jax_enable_x64), or split the axis by reshape.")
