"""Array creation: zeros, ones, full, empty and their *_like forms; ranges and spaces."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.jit_when_eager import jit_when_eager
from numjet.core import transfers
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace, held
from numjet.foundation import dtypes, errors
from numjet.foundation.dimension import Dimension, as_size, computed_sizes, is_empty, largest
from numjet.lax import axes
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.shape import create, join, rearrange as shapes
from numjet.numpy.core import promotion
from numjet.numpy.core.arrays import asarray, on_device_of, to_device
from numjet.numpy.core.concrete import value_of
from numjet.numpy.core.promotion import array_arg, as_dtype, broadcast_to, literal, size_literal
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.ufuncs.arithmetic import floor, power, sign, true_divide
from numjet.numpy.ufuncs.transcendental import log10
from numjet.runtime.device import CPU
from numjet.runtime.settings import fast_paths_allowed

_INTEGRAL = frozenset(dtypes.INTEGRAL)
_COMPLEX = frozenset(dtypes.COMPLEX)
_NUMBERS = frozenset(dtypes.ALL)
_RANGES = frozenset(map(np.dtype, ("int32", "int64")))
_INT32_END = 1 << 31


# -------------------------------------------------------------------------------------------- constants

def _shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape from an int or a sequence of ints. TypeError for anything else and for negative sizes."""
    if hasattr(shape, "ndim") and shape.ndim == 1:
        traced = isinstance(shape, Tracer)
        shape = [shape[i] for i in range(shape.shape[0])] if traced else np.asarray(shape)
    found = axes.as_shape(axes.listed(shape))
    if any(n < 0 for n in found):
        raise TypeError(f"{name} shape must have every element be nonnegative, got {found}.")
    return found


def _filled(name: str, shape: Any, value: Any, dtype: Any, device: Any, out_sharding: Any) -> Any:
    if type(dtype) is int and type(shape) is int:
        raise TypeError(f"Cannot interpret '{dtype}' as a data type. Did you accidentally write "
                        f"`jax.numpy.{name}({shape}, {dtype})` "
                        f"when you meant `jax.numpy.{name}(({shape}, {dtype}))`?")
    wanted = dtypes.check_user_dtype(float if dtype is None else dtype, name)
    target = _shape_of(name, shape)
    _check_transfer(ShapedArray((), wanted))
    if wanted in _NUMBERS and _by_numpy():
        filled = _repeated(target, np.asarray(value).astype(wanted)[()], wanted, False)
    else:
        filled = held(create.full(target, np.asarray(value).astype(wanted)[()]))
    return to_device(name, filled, device, out_sharding)


def _check_transfer(number: ShapedArray) -> None:
    """Asks the transfer guards about the number in a new array."""
    if current_trace() is EVAL:
        transfers.check_number(number, CPU)


def _by_numpy() -> bool:
    """Whether arrays can be made at once by NumPy, outside of traces and debugging flags."""
    return current_trace() is EVAL and fast_paths_allowed()


def _repeated(shape: tuple[int, ...], value: Any, dtype: np.dtype, weak: bool) -> Any:
    """A number everywhere in a new array."""
    return _native.from_numpy(np.full(shape, value, dtype), ShapedArray(shape, dtype, weak), CPU)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of a shape (an int or a sequence of ints); dtype: default float32 (float64 with jax_enable_x64).

    >>> zeros(2, dtype=int)
    Array([0, 0], dtype=int32)
    """
    return _filled("zeros", shape, 0, dtype, device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Ones of a shape (an int or a sequence of ints); dtype: default float32 (float64 with jax_enable_x64).

    >>> ones(2)
    Array([1., 1.], dtype=float32)
    """
    return _filled("ones", shape, 1, dtype, device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros: nothing is left uninitialised.

    >>> empty(2)
    Array([0., 0.], dtype=float32)
    """
    return _filled("empty", shape, 0, dtype, device, out_sharding)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of `shape` with fill_value everywhere, a number or an array that broadcasts to it.

    dtype: default that of the value; Python numbers give a weakly typed array.

    >>> full(2, 7, dtype=float)
    Array([7., 7.], dtype=float32)
    """
    promotion.check_arraylike("full", fill_value)
    target = _shape_of("full", shape)
    if dtypes.is_key(dtype):
        return _full_of_keys("full", fill_value, dtypes.as_dtype(dtype), target)
    if dtype is None:
        value = promotion.operand("full", fill_value)
    else:
        value = promotion.as_named_dtype("full", fill_value, dtypes.check_user_dtype(dtype, "full"))
    return to_device("full", _spread("full", value, target), device, out_sharding)


def _spread(name: str, value: Any, target: tuple[int, ...]) -> Any:
    if type(value) is Literal:
        _check_transfer(value.aval)
    if type(value) is Literal and value.aval.dtype in _NUMBERS and _by_numpy():
        return _repeated(target, value.val, value.aval.dtype, value.aval.weak_type)
    if value.aval.shape == target:
        return promotion.to_array(value) if type(value) is not Literal else held(
            convert.constant(value.val, value.aval.dtype, value.aval.weak_type))
    if promotion.rearrange.broadcast_shapes(value.aval.shape, target) != target:
        raise ValueError(f"jnp.{name}: fill_value of shape {value.aval.shape} does not broadcast to {target}")
    return broadcast_to(value, target)


def _full_of_keys(name: str, value: Any, dtype: np.dtype, target: tuple[int, ...]) -> Any:
    """A key everywhere; a number stands for the key all of whose words it is."""
    if dtypes.is_key(getattr(value, "dtype", None)):
        return _spread(name, value, target)
    return create.full_like(convert.constant(np.zeros((), dtype)), value, shape=target)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any, out_sharding: Any = None) -> Any:
    a = array_arg(name, a) if not hasattr(a, "dtype") or not hasattr(a, "shape") else a
    weak = dtype is None and getattr(a, "weak_type", False)
    wanted = dtypes.canonicalize_dtype(a.dtype) if dtype is None else dtypes.check_user_dtype(dtype, name)
    target = tuple(a.shape) if shape is None else _shape_of(name, shape)
    if dtypes.is_key(wanted):
        return _full_of_keys(name, value, wanted, target)
    if wanted == dtypes.float0:
        return np.zeros(target, wanted)  # a tangent of integers, which has no values
    filled = promotion.as_named_dtype(name, value, wanted, bool(weak))
    return to_device(name, on_device_of(_spread(name, filled, target), a), device, out_sharding)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of the shape and dtype of a, unless others are given.

    >>> zeros_like(np.asarray([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Ones of the shape and dtype of a, unless others are given.

    >>> ones_like(np.asarray([1, 2]))
    Array([1, 1], dtype=int32)
    """
    return _like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros of the shape and dtype of the prototype, unless others are given.

    >>> empty_like(np.asarray([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _like("empty_like", prototype, 0, dtype, shape, device)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None,
              out_sharding: Any = None) -> Any:
    """An array of the shape and dtype of a (unless others are given) with fill_value everywhere.

    >>> full_like(np.asarray([1, 2]), 7)
    Array([7, 7], dtype=int32)
    """
    promotion.check_arraylike("full_like", 0, fill_value)
    return _like("full_like", a, fill_value, dtype, shape, device, out_sharding)


# -------------------------------------------------------------------------------------------- ranges

def _known(name: str, x: Any) -> Any:
    """A limit of jnp.arange as a Python or NumPy number; ConcretizationTypeError for a tracer that depends on an input."""
    if isinstance(x, Tracer):
        value = value_of(x)
        if value is None and computed_sizes.maker is not None:
            return x
        if value is None:
            raise errors.ConcretizationTypeError(x, f"It arose in the jnp.arange argument {name!r}: the arguments decide the "
                                                    "shape of the result.")
        return value[()]
    if isinstance(x, (bool, int, float, complex, Dimension)) or x is None:
        return x
    value = np.asarray(x)
    if value.ndim or value.dtype.kind in "OSUMm":
        raise TypeError(f"jnp.arange: expected a number as {name}, got {x!r}")
    return value[()]


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None,
           out_sharding: Any = None) -> Any:
    """start, start + step, ... below stop; with one argument: 0, 1, ... below it. Arguments are known numbers.

    dtype: default the dtype that the arguments promote to. ZeroDivisionError for step 0.

    >>> arange(2, 10, 3)
    Array([2, 5, 8], dtype=int32)
    """
    if start is None:
        raise TypeError(f"jnp.arange: expected a number as {'stop' if stop is None else 'start'}, got None")
    names = ("start" if stop is not None else "stop", "stop", "step")
    given = [_known(name, v) for name, v in zip(names, (start, stop, step), strict=True)]
    if any(isinstance(v, (complex, np.complexfloating)) for v in given):
        raise ValueError("Passing complex start/stop/step to jnp.arange is no longer supported: complex numbers have no order. "
                         "Use jnp.linspace, or a real range times a complex number.")
    if dtype is None:
        wanted = dtypes.result_type(*[v for v in (start, stop, step) if v is not None])
    else:
        wanted = dtypes.check_user_dtype(dtype, "arange")
    first, last, by = given
    if last is None:
        first, last = 0, first
    return to_device("arange", _range(first, last, by, wanted, dtype is not None), device, out_sharding)


def _range(first: Any, last: Any, by: Any, dtype: np.dtype, named: bool) -> Any:
    """`named`: the caller asked for the dtype, so integers beyond its range wrap."""
    by = 1 if by is None else by
    if any(isinstance(v, Tracer) for v in (first, last, by)):
        return _computed_range(first, last, by, dtype)
    if isinstance(last, Dimension) or isinstance(first, Dimension) or isinstance(by, Dimension):
        return _symbolic_range(first, last, by, dtype)
    size = max(0, math.ceil((_exact(last) - _exact(first)) / _exact(by)))
    if dtype in _INTEGRAL and not size:
        return create.full((0,), np.zeros((), dtype)[()])
    if dtype in _INTEGRAL and not all(float(v).is_integer() for v in (first, by)):
        return asarray(np.arange(first, last, by).astype(dtype))
    given = (first, last, by)
    if dtype in _RANGES and all(type(v) is int and -_INT32_END < v < _INT32_END for v in given) and _by_numpy():
        return _native.from_numpy(np.arange(first, last, by, dtype=dtype), ShapedArray((size,), dtype, False), CPU)
    steps = create.iota(dtype, size)

    def number(value: Any) -> Any:
        held = dtypes.int64 if named else None
        return literal(dtypes.wrap_int(int(value), dtype, held) if dtype in _INTEGRAL else float(value), dtype)

    scaled = steps if by == 1 else arithmetic.mul(steps, number(by))
    return scaled if first == 0 else arithmetic.add(scaled, number(first))


def _symbolic_range(first: Any, last: Any, by: Any, dtype: np.dtype) -> Any:
    """A range of symbolic length: its limits are integers."""
    for v in (first, last, by):
        if isinstance(v, (float, np.floating)):
            raise ValueError("In arange with symbolic dimensions all of start, stop, and step must be either dimension "
                             f"expressions or integers, got start={first}, stop={last}, step={by}")
    if is_empty(by):
        raise ValueError(f"jnp.arange has step == 0, got start={first}, stop={last}")
    count = largest((last - first + by - (1 if _goes_up(by) else -1)) // by, 0)
    steps = create.iota(dtype, count)
    scaled = steps if by == 1 else arithmetic.mul(steps, convert.size_constant(by, dtype))
    return scaled if first == 0 else arithmetic.add(scaled, convert.size_constant(first, dtype))


def _goes_up(step: Any) -> bool:
    """Whether a step is positive. InconclusiveDimensionOperation where that depends on the variables of a symbolic one."""
    try:
        return bool(step > 0)
    except errors.InconclusiveDimensionOperation as error:
        raise errors.InconclusiveDimensionOperation(f"In arange with symbolic dimensions the step ({step}) must be resolved "
                                                    f"statically if it is > 0 or < 0. {error}") from error


def _computed_range(first: Any, last: Any, by: Any, dtype: np.dtype) -> Any:
    """A range of computed length: its limits are integers, and its step a known one."""
    kinds = [dtypes.kind(aval_of(v).dtype) for v in (first, last, by)]
    if any(kind not in "iu" for kind in kinds) or isinstance(by, Tracer) or by == 0:
        raise ValueError("jnp.arange of computed length takes integers and a known step other than 0, got "
                         f"start={first}, stop={last}, step={by}")
    first, last = (convert.convert_element_type(v, np.dtype(np.int32)) for v in (first, last))
    span = arithmetic.sub(last, first) if by > 0 else arithmetic.sub(first, last)
    count = arithmetic.div(arithmetic.add(span, np.int32(abs(by) - 1)), np.int32(abs(by)))
    count = as_size(compare.max(count, np.int32(0)))
    scaled = arithmetic.mul(create.iota(dtype, count), convert.convert_element_type(by, dtype))
    return arithmetic.add(scaled, convert.convert_element_type(first, dtype))


def _exact(x: Any) -> Any:
    """NumPy integers as Python's, so that differences do not wrap."""
    return int(x) if isinstance(x, (np.integer, np.bool_)) else x


@jit_when_eager("num", "endpoint", "retstep", "dtype", "axis", "device")
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0, *, device: Any = None) -> Any:
    """`num` evenly spaced numbers from start to stop, which is the last one, unless endpoint=False.

    start, stop: arrays that broadcast; the numbers run along a new `axis`. dtype: default float; integers are rounded down.
    retstep: also the distance between neighbours. ValueError for num < 0.

    >>> linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = as_size(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    promotion.check_arraylike("linspace", start, stop)
    inexact = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    wanted = inexact if dtype is None else dtypes.check_user_dtype(dtype, "linspace")
    working = dtypes.common_dtype(inexact, wanted) if wanted not in _INTEGRAL else inexact
    ends = [as_dtype(promotion.operand("linspace", v), working) for v in (start, stop)]
    first, last = promotion.promote_shapes("linspace", *ends)
    parts = num - 1 if endpoint else num
    out = _evenly(first, last, num, parts, endpoint, working)
    if wanted in _INTEGRAL:
        out = floor(out)
    out = as_dtype(out, wanted)
    out = promotion.strong_array(out)
    if axis != 0 and out.ndim > 1:
        out = shapes.transpose(out, _order(out.ndim, axes.as_axis(axis, out.ndim)))
    out = to_device("linspace", out, device)
    if not retstep:
        return out
    if not parts > 0:
        return out, create.full((), np.asarray(np.nan).astype(working)[()])
    first, last = (broadcast_to(v, first.aval.shape) for v in (first, last))
    step = arithmetic.div(arithmetic.sub_p.bind(last, first), size_literal(parts, working))
    return out, promotion.strong_array(step)


def _order(ndim: int, axis: int) -> list[int]:
    """The permutation that moves axis 0 to `axis`."""
    order = list(range(1, ndim))
    order.insert(axis, 0)
    return order


def _evenly(first: Any, last: Any, num: int, parts: int, endpoint: bool, dtype: np.dtype) -> Any:
    """first * (1 - t) + last * t with t = i / parts; the end point exactly."""
    whole = first.aval.shape
    one_row = lambda x: shapes.broadcast_in_dim(x, (1, *whole), range(1, 1 + len(whole)))
    if num == 0 or parts == 0:
        return broadcast_to(one_row(first), (num, *whole))
    real = dtypes.to_floating_dtype(dtype)
    t = as_dtype(arithmetic.div(create.iota(real, parts), size_literal(parts, real)), dtype)
    low, high = first, last
    if whole:
        t = shapes.broadcast_in_dim(t, (parts, *whole), (0,))
        low, high = (broadcast_to(one_row(v), (parts, *whole)) for v in (first, last))
    rest = arithmetic.add(arithmetic.mul(low, arithmetic.sub(literal(1.0, dtype), t)), arithmetic.mul(high, t))
    if endpoint and isinstance(parts, Dimension):   # of one number, that is the first
        several = compare.gt(size_literal(parts, real), literal(0.0, real))
        last = compare.select(broadcast_to(several, whole), last, first)
    return join.concatenate([rest, one_row(last)], 0) if endpoint else rest


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
             axis: int = 0) -> Any:
    """base ** t for t evenly spaced from start to stop, as in `linspace`.

    >>> logspace(0, 2, 3, base=2)
    Array([1., 2., 4.], dtype=float32)
    """
    wanted = None if dtype is None else dtypes.check_user_dtype(dtype, "logspace")
    exponents = linspace(start, stop, num, endpoint, dtype=_dtype_of_powers(start, stop, wanted), axis=axis)
    out = promotion.strong_array(power(as_dtype(promotion.to_array(base), exponents.dtype), exponents))
    return out if wanted is None else convert.convert_element_type(out, wanted)


@jit_when_eager("num", "endpoint", "dtype", "axis")
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """`num` numbers from start to stop with a constant ratio between neighbours.

    Real start and stop have the same sign; neither is 0.

    >>> geomspace(1, 100, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    first, last = promotion.promote_args_inexact("geomspace", start, stop)
    wanted = first.dtype if dtype is None else dtypes.check_user_dtype(dtype, "geomspace")
    working = dtypes.common_dtype(first.dtype, wanted) if wanted not in _INTEGRAL else first.dtype
    first, last = promotion.promote_shapes("geomspace", as_dtype(first, working), as_dtype(last, working))
    direction = sign(first)
    if working not in _COMPLEX:
        both = arithmetic.mul(direction, sign(last))
        direction = choose_by("geomspace", _negative(both), literal(float("nan"), working), direction)
    powers = logspace(log10(true_divide(first, direction)), log10(true_divide(last, direction)), num, endpoint, 10.0, axis=0)
    out = promotion.strong_array(arithmetic.mul(broadcast_to(direction, powers.shape), powers))
    if axis != 0 and out.ndim > 1:
        out = shapes.transpose(out, _order(out.ndim, axes.as_axis(axis, out.ndim)))
    return convert.convert_element_type(out, wanted)


def _dtype_of_powers(start: Any, stop: Any, wanted: np.dtype | None) -> np.dtype | None:
    """The dtype of exponents that loses digits neither of the ends nor of the result; None for theirs."""
    if wanted is None or wanted in _INTEGRAL:
        return None
    return dtypes.common_dtype(dtypes.to_inexact_dtype(dtypes.result_type(start, stop)), wanted)


def _negative(x: Any) -> Any:
    return compare.lt(x, literal(0.0, x.dtype))
