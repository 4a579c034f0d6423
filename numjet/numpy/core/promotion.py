"""Argument promotion of every function: type checks, conversion to one dtype, broadcasting.

Results of `promote_args` and its variants are Arrays and Tracers of one dtype and one shape. The functions named `operands`
may also give rank-0 operands and typed literals (`core.ir.Literal`), which elementwise records take as they are: for
them `x + 1` is one operation. Fast paths come first: two arrays of the same aval cost a few comparisons.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.trace import Array, Tracer, aval_of, is_array_like
from numjet.foundation import dtypes, source
from numjet.foundation.config import config, numpy_dtype_promotion
from numjet.foundation.dimension import Dimension
from numjet.foundation.errors import ShapeMismatchError
from numjet.lax.elementwise import convert
from numjet.lax.shape import rearrange
from numjet.runtime import dispatch

_SCALAR_RANK: dict[type, int] = {int: 1, float: 2, complex: 3}
_DTYPE_RANK: dict[np.dtype, int] = {
    **dict.fromkeys(dtypes.INTEGRAL, 1), **dict.fromkeys(dtypes.FLOATING, 2), **dict.fromkeys(dtypes.COMPLEX, 3),
}
_PYTHON_SCALARS = frozenset((bool, int, float, complex))
_INEXACT = frozenset(dtypes.INEXACT)


# -------------------------------------------------------------------------------------------- array-likes

def check_arraylike(name: str, *args: Any) -> None:
    """TypeError, naming the function and the position, for the first argument that is no array and no number.

    >>> check_arraylike("add", 1, [2])
    Traceback (most recent call last):
    TypeError: add requires ndarray or scalar arguments, got <class 'list'> at position 1.
    """
    for position, x in enumerate(args):
        if type(x) is not Array and not is_array_like(x):
            raise _refusal(name, x, position)


def _refusal(name: str, x: Any, position: int) -> TypeError:
    return TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}.")


def check_out(name: str, out: Any) -> None:
    """NotImplementedError when a result array is given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported: arrays are immutable. "
                                  "Use the returned array.")


def to_array(x: Any) -> Any:
    """x as an Array or Tracer: NumPy values and Python numbers become concrete Arrays (weakly typed as they are).

    TypeError for what is no array.
    """
    if type(x) is Array or isinstance(x, Tracer):
        return x
    if hasattr(x, "__jax_array__"):
        return to_array(x.__jax_array__())
    with np.errstate(all="ignore"):
        return dispatch.as_array(x)


def strong_array(x: Any) -> Any:
    """An array without weak type."""
    aval = x.aval
    return convert.convert_dtype(x, aval.dtype, False) if aval.weak_type else x


def strong_operand(x: Any) -> Any:
    """An operand (array, tracer, literal) without weak type."""
    return as_dtype(x, x.aval.dtype) if type(x) is Literal else strong_array(x)


def strong_beyond_scalars(x: Any) -> Any:
    """An array of rank 1 or more without weak type: that of functions which JAX writes with `where`."""
    return strong_array(x) if x.ndim else x


def array_arg(name: str, x: Any, position: int = 0) -> Any:
    """`to_array` of an argument of the function `name`, with the TypeError of `check_arraylike`."""
    if type(x) is Array or isinstance(x, Tracer):
        return x
    if not is_array_like(x):
        raise _refusal(name, x, position)
    return to_array(x)


# -------------------------------------------------------------------------------------------- dtypes

def size_literal(n: Any, dtype: np.dtype) -> Any:
    """A size as a number of a dtype, weakly typed; traced for a symbolic dimension.

    >>> size_literal(2, np.dtype("float32"))
    2.0:f32[]
    """
    return as_dtype(n, dtype, True) if isinstance(n, Dimension) else literal(float(n) if dtype in _INEXACT else n, dtype)


def literal(value: Any, dtype: np.dtype, weak: bool = True) -> Literal:
    """A typed constant of rank 0. Integers that the dtype does not hold wrap as those of arrays do, see `dtypes.wrap_int`;
    OverflowError for those that the default integer does not hold, next to floats, too: a number is an integer first.

    >>> literal(2, np.dtype("float32"))
    2.0:f32[]
    """
    kind = type(value)
    if kind is not int and not (kind is float and (value or math.copysign(1.0, value) > 0.0)):
        return _new_literal(value, dtype, weak)
    if kind is int and not -_INT32 <= value < _INT32 and dtype in _INEXACT:
        dtypes.check_int_fits(value, dtypes.python_scalar_dtype(int))
    key = (kind, value, dtype, weak)
    found = _literals.get(key)
    if found is None:
        if kind is int and dtype not in _INEXACT and dtype != dtypes.bool_:
            held = dtypes.wrap_int(value, dtype)
            if held != value:
                return literal(held, dtype, weak)  # not cached under the value: wrapping depends on jax_enable_x64
        if len(_literals) > _KEPT:
            _literals.clear()
        found = _literals[key] = _new_literal(value, dtype, weak)
    return found


_literals: dict[tuple[type, Any, np.dtype, bool], Literal] = {}
_KEPT = 4096
_INT32 = 2 ** 31
_SMALL = 256


def _new_literal(value: Any, dtype: np.dtype, weak: bool) -> Literal:
    with np.errstate(all="ignore"):
        wide = isinstance(value, (np.generic, float)) and dtype.kind != "c"
        element = convert.convert_values(np.asarray(value), dtype) if wide else np.asarray(value, dtype)
        return Literal(element[()], ShapedArray((), dtype, weak))


def as_dtype(x: Any, dtype: np.dtype, weak: bool = False) -> Any:
    """An operand (array, tracer, number) in a canonical dtype; unchanged when it has it already."""
    kind = type(x)
    if kind is Array or isinstance(x, Tracer):
        return x if x.aval.dtype == dtype else convert.convert_dtype(x, dtype, weak)
    if kind in _PYTHON_SCALARS:
        return literal(x, dtype, weak)
    if kind is Literal:
        if x.aval.dtype == dtype and x.aval.weak_type == weak:
            return x
        # Integers that every float represents exactly are cached under Python's number.
        small = isinstance(x.val, np.integer) and dtype in _INEXACT and -_SMALL <= x.val <= _SMALL
        return literal(int(x.val) if small else x.val, dtype, weak)
    return _foreign(x, dtype, weak)


def as_named_dtype(name: str, x: Any, dtype: np.dtype, weak: bool = False) -> Any:
    """An argument of the function `name` in the requested dtype: any Python integer of 64 bits wraps, or is rounded."""
    if type(x) is int and dtype in _INEXACT and not -_INT32 <= x < _INT32:
        return _new_literal(x, dtype, weak)
    if type(x) is int:
        return literal(dtypes.wrap_int(x, dtype, dtypes.int64), dtype, weak)
    x = operand(name, x)
    return as_dtype(x, dtype, weak) if type(x) is Literal else convert.convert_dtype(x, dtype, weak)


def _foreign(x: Any, dtype: np.dtype, weak: bool) -> Any:
    """NumPy values; and objects with __jax_array__, subclasses of numbers."""
    if isinstance(x, (np.ndarray, np.generic)):
        with np.errstate(all="ignore"):
            own = aval_of(x)
            if x.ndim == 0:
                return Literal(np.asarray(x).astype(dtype)[()], ShapedArray((), dtype, weak))
            if dtype == own.dtype and not weak:
                return dispatch.as_array(x)
            return dispatch.as_array(x.astype(own.dtype, copy=False), ShapedArray(x.shape, dtype, weak))
    if hasattr(x, "__jax_array__"):
        return as_dtype(x.__jax_array__(), dtype, weak)
    plain: Any = next(base for base in (bool, int, float, complex) if isinstance(x, base))
    return literal(plain(x), dtype, weak)


def _operand_of(name: str, x: Any, position: int) -> Any:
    """x, unless it has __jax_array__; TypeError when it is no array."""
    if type(x) is Array or type(x) in _PYTHON_SCALARS or isinstance(x, (Tracer, np.ndarray, np.generic)) or type(x) is Literal:
        return x
    if not is_array_like(x):
        raise _refusal(name, x, position)
    return x.__jax_array__() if hasattr(x, "__jax_array__") else x


def _check_numbers(name: str, known: Sequence[Any]) -> None:
    """TypeError for float0, and for random keys beside other operands."""
    for k, x in enumerate(known):
        if getattr(x, "dtype", None) == dtypes.float0:
            raise TypeError(f"Called {name} with a float0 array at position {k}. {dtypes.NO_FLOAT0}")
    found = [x.aval.dtype if hasattr(x, "aval") else dtypes.result_type(x) for x in known]
    if any(map(dtypes.is_key, found)) and len(set(found)) > 1:
        raise TypeError(f"{name} does not accept dtypes {', '.join(map(dtypes.long_name, found))}: random keys are no numbers "
                        "(numjet.random.key_data gives their words)")


def _in_one_dtype(name: str, args: Sequence[Any], inexact: bool) -> list[Any]:
    known = [_operand_of(name, x, i) for i, x in enumerate(args)]
    _check_numbers(name, known)
    if all(type(x) in _PYTHON_SCALARS for x in known):  # nothing gives the integers a dtype but the default
        for x in known:
            aval_of(x)
    dtype, weak = dtypes.result_type_and_weakness(*[x.aval if type(x) is Literal else x for x in known])
    if inexact:
        dtype = dtypes.to_inexact_dtype(dtype)
    return [as_dtype(x, dtype, weak) for x in known]


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments as Arrays and Tracers of the dtype they promote to; shapes stay."""
    return [_solid(x) for x in _in_one_dtype("promote_dtypes", args, False)]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """As promote_dtypes; integers and bool become floats."""
    return [_solid(x) for x in _in_one_dtype("promote_dtypes", args, True)]


def _solid(x: Any) -> Any:
    return dispatch.as_array(x, x.aval) if type(x) is Literal else x


# -------------------------------------------------------------------------------------------- shapes

def broadcast_to(x: Any, target: tuple[int, ...]) -> Any:
    """An operand broadcast to a shape that it fits; itself when it has it."""
    old = aval_of(x).shape
    if old == target:
        return x
    return rearrange.broadcast_in_dim(x, target, range(len(target) - len(old), len(target)))


def check_rank_promotion(name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Warns or raises, as jax_numpy_rank_promotion says, when arrays of different ranks (not scalars) meet."""
    if config.rank_promotion == "allow" or len({len(s) for s in shapes if s}) < 2:
        return
    listed = " ".join(map(str, shapes))
    report_rank_promotion(
        f"Operands could not be broadcast together for {name} on shapes {listed} and with the config option "
        "jax_numpy_rank_promotion='raise'. Give the operands equal ranks, for example with x[None].",
        f"Following NumPy automatic rank promotion for {name} on shapes {listed}. Set the jax_numpy_rank_promotion "
        "config option to 'allow' to silence this warning.")


def report_rank_promotion(error: str, warning: str) -> None:
    """ValueError or UserWarning that arrays of different ranks meet, as jax_numpy_rank_promotion says."""
    if config.rank_promotion == "raise":
        raise ValueError(error)
    if config.rank_promotion == "warn":
        warnings.warn(warning, UserWarning, stacklevel=source.user_stacklevel())


def common_shape(name: str, shapes: Sequence[tuple[int, ...]], any_rank: bool = False) -> tuple[int, ...]:
    """The shape that operands broadcast to. TypeError (equal ranks) or ValueError (others) when they don't.

    any_rank: operands of different rank may meet, whatever jax_numpy_rank_promotion says.
    """
    if not any_rank:
        check_rank_promotion(name, shapes)
    found = _fitting(tuple(shapes))
    if found is not None:
        return found
    full = [s for s in shapes if s]
    if len({len(s) for s in full}) == 1 and any(len({n for n in column if n != 1}) > 1 for column in zip(*full, strict=True)):
        raise ShapeMismatchError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.")
    return rearrange.broadcast_shapes(*shapes)


@lru_cache(4096)
def _fitting(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """The shape that shapes broadcast to, or None."""
    try:
        return rearrange.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _broadcast(name: str, args: Sequence[Any]) -> list[Any]:
    """Arrays of rank > 0 get one shape; those of rank 0 stay."""
    shapes = [x.aval.shape for x in args]
    full = [s for s in shapes if s]
    if len(full) < 2 or all(s == full[0] for s in full):
        return list(args)
    target = common_shape(name, shapes)
    return [broadcast_to(x, target) if s else x for x, s in zip(args, shapes, strict=True)]


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Arrays and tracers broadcast to one shape."""
    shapes = [x.aval.shape for x in args]
    if all(s == shapes[0] for s in shapes):
        return list(args)
    target = common_shape(name, shapes)
    return [broadcast_to(x, target) for x in args]


# -------------------------------------------------------------------------------------------- both

def promote_args(name: str, *args: Any) -> list[Any]:
    """Arguments of the function `name` as Arrays and Tracers of one dtype. TypeError for other objects."""
    return [_solid(x) for x in _in_one_dtype(name, args, False)]


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """As promote_args; integers and bool become floats."""
    return [_solid(x) for x in _in_one_dtype(name, args, True)]


def promote_kinds_inexact(name: str, *args: Any) -> list[Any]:
    """As promote_args_inexact, by the standard rules whatever jax_numpy_dtype_promotion says.

    For arguments whose kinds differ by what they are: positions and filters are real, their values and samples may be complex.
    """
    with numpy_dtype_promotion("standard"):
        return promote_args_inexact(name, *args)


def _scalar_beside(x: Any, kind: type, aval: ShapedArray) -> Literal | None:
    """A Python number as operand beside an array whose dtype it takes; None when the dtypes must be promoted."""
    if _SCALAR_RANK.get(kind, 9) <= _DTYPE_RANK.get(aval.dtype, 0):
        return literal(x, aval.dtype)
    return None


def operands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of equal dtype, of equal shape or rank 0, for an elementwise record."""
    x, y = typed_operands(name, x, y)
    a, b = x.aval, y.aval
    if a is b or not a.shape or not b.shape or a.shape == b.shape:
        return x, y
    x, y = _broadcast(name, (x, y))
    return x, y


def typed_operands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of equal dtype and any shapes."""
    kx, ky = type(x), type(y)
    x_is = kx is Array or kx is Literal or isinstance(x, Tracer)
    y_is = ky is Array or ky is Literal or isinstance(y, Tracer)
    if x_is and y_is:
        if x.aval.dtype == y.aval.dtype:
            return x, y
    elif x_is:
        scalar = _scalar_beside(y, ky, x.aval)
        if scalar is not None:
            return x, scalar
    elif y_is:
        scalar = _scalar_beside(x, kx, y.aval)
        if scalar is not None:
            return scalar, y
    x, y = _in_one_dtype(name, (x, y), False)
    return x, y


def operands_inexact(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """As `operands`; integers and bool become floats, without passing through a narrower dtype."""
    a, b = operands(name, x, y)
    if a.aval.dtype not in _INEXACT:
        a, b = _broadcast(name, _in_one_dtype(name, (x, y), True))
    return a, b


def operands_numeric(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """As `operands`; bool becomes int32, with 64 bits, too."""
    x, y = operands(name, x, y)
    if x.aval.dtype == dtypes.bool_:
        return as_dtype(x, dtypes.int32), as_dtype(y, dtypes.int32)
    return x, y


def operand(name: str, x: Any) -> Any:
    """One operand: an Array, Tracer or literal."""
    if type(x) is Array or isinstance(x, Tracer):
        return x
    return _in_one_dtype(name, (x,), False)[0]


def operand_inexact(name: str, x: Any) -> Any:
    """One operand; integers and bool become floats."""
    if type(x) is Array or isinstance(x, Tracer):
        aval = x.aval
        if aval.dtype in _INEXACT:
            return x
        return convert.convert_dtype(x, dtypes.to_inexact_dtype(aval.dtype), aval.weak_type)
    return _in_one_dtype(name, (x,), True)[0]


def operand_list(name: str, *args: Any, inexact: bool = False) -> list[Any]:
    """Any number of operands of equal dtype, of equal shape or rank 0."""
    return _broadcast(name, _in_one_dtype(name, args, inexact))
