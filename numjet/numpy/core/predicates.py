"""Predicates and properties of arrays: shape, ndim, size, kinds, equality within tolerances."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import Array, Tracer, aval_of, is_array_like
from numjet.foundation import dtypes, source
from numjet.lax.axes import as_axes, listed
from numjet.lax.elementwise import arithmetic, bitwise, compare
from numjet.lax.shape import create, rearrange as shapes
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.promotion import as_dtype, check_arraylike, operand, operand_list, operands
from numjet.numpy.reduction import reductions
from numjet.numpy.ufuncs.arithmetic import absolute
from numjet.numpy.ufuncs.logic import equal, isfinite, isnan

_BOOL = np.dtype(np.bool_)


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes of an array, a number or nested lists.

    >>> shape(np.ones((1, 3)))
    (1, 3)
    """
    return _shape("shape", a)


def _shape(name: str, a: Any) -> tuple[int, ...]:
    if isinstance(a, (Array, Tracer)):
        return a.shape
    if hasattr(a, "shape") and hasattr(a, "dtype"):  # a ShapeDtypeStruct, for one
        return tuple(a.shape)
    if isinstance(a, (str, bytes)):
        return ()
    if not is_array_like(a):
        warnings.warn(f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. In a future JAX release this "
                      "will be an error.", DeprecationWarning, stacklevel=source.user_stacklevel())
    try:
        return aval_of(asarray(a)).shape
    except (TypeError, ValueError):  # no numbers, as None and strings: they have a shape all the same, as NumPy says
        return np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes.

    >>> ndim(np.ones((1, 3)))
    2
    """
    return len(_shape("ndim", a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the size of an axis (or the product of several).

    >>> size(np.ones((1, 3))), size(np.ones((1, 3)), axis=1)
    (3, 3)
    """
    sizes = _shape("size", a)
    if axis is None:
        return math.prod(sizes)
    places = as_axes(listed(axis), len(sizes))
    if len(set(places)) < len(places):
        raise ValueError(f"repeated axis in jnp.size: {axis}")
    return math.prod(sizes[i] for i in places)


def isscalar(element: Any) -> bool:
    """Whether the argument is a number, or an array of rank 0.

    >>> isscalar(1.0), isscalar([1.0])
    (True, False)
    """
    if np.isscalar(element):
        return True
    return is_array_like(element) and aval_of(element).ndim == 0


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex, whatever the values.

    >>> iscomplexobj(1j), iscomplexobj(1.0)
    (True, False)
    """
    if x is None or isinstance(x, str):
        return False
    return dtypes.issubdtype(_dtype_of(x), np.complexfloating)


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex.

    >>> isrealobj(1j), isrealobj(1.0)
    (False, True)
    """
    return not iscomplexobj(x)


def _dtype_of(x: Any) -> Any:
    if hasattr(x, "dtype"):
        return x.dtype
    return dtypes.dtype(x) if isinstance(x, (bool, int, float, complex)) else asarray(x).dtype


def iterable(y: Any) -> bool:
    """Whether iter(y) works.

    >>> iterable([1]), iterable(1)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


# -------------------------------------------------------------------------------------------- equality

def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and all elements are equal; with equal_nan, NaN equal each other. A bool array of rank 0.

    >>> array_equal([1, 2], [1, 2])
    Array(True, dtype=bool)
    """
    x, y = asarray(a1), asarray(a2)
    if x.shape != y.shape:
        return create.full((), False, _BOOL)
    return reductions.all(_same(x, y, equal_nan))


def _same(x: Any, y: Any, equal_nan: bool) -> Any:
    same = equal(x, y)
    equal_nan = equal_nan and not any(dtypes.is_extended(a.dtype) for a in (x, y))
    return bitwise.or_p.bind(same, bitwise.and_p.bind(*operands("array_equal", isnan(x), isnan(y)))) if equal_nan else same


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the arrays broadcast together and are equal then. A bool array of rank 0.

    >>> array_equiv([[1, 1], [1, 1]], 1)
    Array(True, dtype=bool)
    """
    x, y = asarray(a1), asarray(a2)
    try:
        shapes.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return create.full((), False, _BOOL)
    return reductions.all(equal(x, y))


@jit_when_eager("equal_nan")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol * |b|, elementwise; infinities are close to themselves only.

    >>> isclose(1.0, 1.0 + 1e-6)
    Array(True, dtype=bool)
    """
    check_arraylike("isclose", a, b, rtol, atol)
    if any(dtypes.is_key(aval_of(v).dtype) for v in (a, b)):  # random keys are equal or not
        return equal(a, b)
    if all(dtypes.as_dtype(aval_of(v).dtype) in (_BOOL, *dtypes.INTEGRAL) for v in (a, b)):
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, b))
        x, y = operands("isclose", as_dtype(operand("isclose", a), dtype), as_dtype(operand("isclose", b), dtype))
    else:
        x, y = operand_list("isclose", a, b, inexact=True)
    real = dtypes.to_floating_dtype(x.aval.dtype)
    relative, absolute_ = (as_dtype(operand("isclose", v), real) for v in (rtol, atol))
    scaled = arithmetic.mul_p.bind(*operands("isclose", relative, absolute(y)))
    bound = arithmetic.add_p.bind(*operands("isclose", absolute_, scaled))
    near = compare.le_p.bind(*operands("isclose", absolute(arithmetic.sub_p.bind(x, y)), bound))
    near = bitwise.and_p.bind(*operands("isclose", isfinite(y), near))
    out = bitwise.or_p.bind(near, compare.eq_p.bind(x, y))
    if equal_nan:
        out = bitwise.or_p.bind(out, bitwise.and_p.bind(isnan(x), isnan(y)))
    return out


@jit_when_eager("equal_nan")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close, as by `isclose`. A bool array of rank 0.

    >>> import numjet.numpy as jnp
    >>> allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0]))
    Array(True, dtype=bool)
    """
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))
