"""Operations of rules, on the padded arrays behind symbolic ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.axes import without
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p, rem_p, sign_p, sub_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import ge_p, le_p, lt_p, max_p, min_p, select_n_p
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from numjet.lax.indexing.gather import gather_p
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import expand_dims

INT32 = np.dtype(np.int32)
BOOL = np.dtype(np.bool_)


def number(n: Any) -> Any:
    """An int as an int32 of the program; an int32 scalar as it is."""
    return np.int32(n) if isinstance(n, (int, np.integer)) else n


def positions(shape: Sequence[int], axis: int) -> Any:
    """The index along an axis, at each element of a shape."""
    return iota_p.bind(dtype=INT32, shape=tuple(shape), dimension=axis)


def steps(count: int) -> Any:
    """0, 1, ... count - 1."""
    return positions((count,), 0)


def plus(x: Any, n: Any) -> Any:
    return add_p.bind(x, number(n))


def minus(x: Any, n: Any) -> Any:
    return sub_p.bind(x, number(n))


def times(x: Any, n: Any) -> Any:
    return mul_p.bind(x, number(n))


def quotient(x: Any, n: Any) -> Any:
    """The quotient by a size; by 1 where that is 0."""
    return div_p.bind(x, max_p.bind(number(n), np.int32(1)))


def modulo(x: Any, n: Any) -> Any:
    """The remainder by a size; 0 where that is 0."""
    return rem_p.bind(x, max_p.bind(number(n), np.int32(1)))


def remainder(a: Any, b: Any) -> Any:
    """The remainder of scalars of int32, with the sign of the divisor, as Python's."""
    rest = rem_p.bind(a, b)
    wraps = lt_p.bind(mul_p.bind(sign_p.bind(rest), sign_p.bind(b)), np.int32(0))
    return select_n_p.bind(wraps, rest, add_p.bind(rest, b))


def below(x: Any, n: Any) -> Any:
    return lt_p.bind(x, number(n))


def between(x: Any, low: Any, high: Any) -> Any:
    """low <= x <= high"""
    return and_p.bind(ge_p.bind(x, number(low)), le_p.bind(x, number(high)))


def clamped(x: Any, high: Any) -> Any:
    """x between 0 and high; 0 where high is below 0."""
    return max_p.bind(min_p.bind(x, number(high)), np.int32(0))


def chosen(mask: Any, x: Any, otherwise: Any) -> Any:
    """x where the mask holds, else a scalar or an array of x's shape. The mask has the shape of x."""
    aval = aval_of(x)
    other = aval_of(otherwise)
    if other.dtype != aval.dtype:
        otherwise = convert_element_type(otherwise, aval.dtype)
    return select_n_p.bind(mask, otherwise, x)


def constant(value: Any, dtype: np.dtype) -> Any:
    """A number of that dtype."""
    return np.asarray(value).astype(dtype)[()]


def take(x: Any, index: Any, axis: int) -> Any:
    """x[..., index, ...] for a vector of int32; positions out of bounds give the nearest element."""
    shape = aval_of(x).shape
    sizes = tuple(1 if d == axis else n for d, n in enumerate(shape))
    numbers = GatherDimensionNumbers(offset_dims=without(range(len(shape)), (axis,)), collapsed_slice_dims=(axis,),
                                     start_index_map=(axis,))
    return gather_p.bind(x, expand_dims(index, (1,)), dimension_numbers=numbers, slice_sizes=sizes, indices_are_sorted=False,
                         unique_indices=False, mode=GatherScatterMode.CLIP, fill_value=None)


def narrow(index: Any) -> Any:
    """Indices as int32; those beyond its range stay out of bounds on their side."""
    dtype = aval_of(index).dtype
    if dtype == INT32:
        return index
    if dtype.itemsize > 4 or dtype == np.uint32:
        most = constant(2 ** 31 - 1, dtype)
        index = min_p.bind(index, most)
        if dtypes.issubdtype(dtype, np.signedinteger):
            index = max_p.bind(index, constant(-2 ** 31, dtype))
    return convert_element_type(index, INT32)
