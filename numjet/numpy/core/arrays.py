"""Arrays from Python and NumPy values: array, asarray, copy, astype, and the readers of buffers and text."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.transfer import device_put
from numjet.core.aval import ShapedArray, explicit
from numjet.core.nan_checks import check_parts
from numjet.core.trace import EVAL, Array, Tracer, aval_of, aval_rules, current_trace, held, is_masked
from numjet.foundation import dtypes, lazy_import, source
from numjet.foundation.config import config
from numjet.lax.elementwise import convert
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core import dlpack
from numjet.numpy.core.promotion import array_arg, broadcast_to
from numjet.runtime import dispatch

_PYTHON_SCALARS = frozenset((bool, int, float, complex))
sharding = lazy_import.Module("numjet.lax.sharding")
_INTEGRAL = frozenset(dtypes.INTEGRAL)
_COMPLEX = frozenset(dtypes.COMPLEX)


# -------------------------------------------------------------------------------------------- placement

def to_device(name: str, x: Any, device: Any = None, out_sharding: Any = None) -> Any:
    """x on a device (None: its own), or distributed as `out_sharding` says. ValueError for both."""
    if out_sharding is None:
        return x if device is None else device_put(x, device)
    if device is not None:
        raise ValueError(f"jnp.{name}: expected a device or an out_sharding, got both")
    return sharding.created(f"jnp.{name}", x, out_sharding)


def on_device_of(x: Any, like: Any) -> Any:
    """x on the device to which the array `like` is committed, if to any; inside of shard_map, x varying as that does."""
    there = getattr(like, "aval", None)
    if there is not None and there.vma:
        x = create.varying_like(x, there)
    if there is not None and explicit.divides(there):
        return sharding.resharded(x, there.sharding) if there.shape == x.shape else x
    if type(like) is Array:
        divided = not hasattr(like.device, "platform")
        return dispatch.move(x, like.device) if _is_beside(like, x) and (not divided or like.shape == x.shape) else x
    given = None if isinstance(like, Tracer) else getattr(like, "sharding", None)  # of a struct
    if given is None or tuple(like.shape) != x.shape or getattr(getattr(given, "mesh", None), "is_abstract", False):
        return x
    return device_put(x, given)


def _is_beside(like: Any, x: Any) -> bool:
    """Whether a new array goes where another is committed to."""
    return bool(like.committed) and type(x) is Array


# -------------------------------------------------------------------------------------------- conversion

def _concrete(x: Any, aval: ShapedArray | None = None) -> Any:
    """An Array of NumPy values or a number; numbers too large for a narrower float become infinite, silently."""
    with np.errstate(all="ignore"):
        out = dispatch.as_array(x, aval)
    if config.debug_nans or config.debug_infs:
        check_parts(out, "array")
    return out


def _from_scalar(x: Any, dtype: np.dtype | None) -> Any:
    if dtype is None:
        return _concrete(x)
    if type(x) is int and dtype in _INTEGRAL:
        dtypes.check_int_fits(x, dtype)
    if type(x) is complex and dtype not in _COMPLEX and dtype != np.bool_:
        raise TypeError(f"jnp.array: expected a real number for dtype {dtype}, got {x}; take its .real")
    value = np.asarray(x)
    return _concrete(np.float64(x) if value.dtype == object else value, ShapedArray((), dtype))  # more than 64 bits


def _from_typed(x: Any, dtype: np.dtype | None) -> Any:
    """A number of a class that says its own aval."""
    aval = aval_of(x)
    if isinstance(x, int):
        dtypes.check_int_fits(int(x), aval.dtype)
    out = _concrete(np.asarray(x), aval)
    return out if dtype is None else convert.convert_element_type(out, dtype)


def _from_numpy(x: Any, dtype: np.dtype | None) -> Any:
    if is_masked(x):
        aval_of(x)  # refuses it: the mask would be lost
    if x.dtype.kind == "O" and dtype is not None:  # numbers among objects, as NumPy reads them; None is NaN
        x = x.astype(dtype)
    if x.dtype.kind in "OSUMm" or not dtypes.is_array_dtype(dtypes.as_dtype(x.dtype)):
        text = repr(x if x.ndim else x[()])
        raise TypeError(f"Value {text[:100]} with dtype {x.dtype} is not a valid JAX array type. Only arrays of numeric types "
                        "are supported: numbers and bools.")
    canonical = dtypes.canonicalize_dtype(x.dtype)
    if dtype is None or dtype == canonical:
        return _concrete(x, ShapedArray(x.shape, canonical))
    return convert.convert_dtype(convert.constant(x, canonical), dtype)


def _is_jax(x: Any) -> bool:
    return isinstance(x, (Array, Tracer)) or hasattr(x, "__jax_array__")


def _from_nested(x: Any, dtype: np.dtype | None) -> Any:
    """Lists and tuples: of numbers by NumPy, with arrays inside by joining."""
    leaves = _native.pytree_leaves(x, None, True)
    kinds = set(map(type, leaves))
    if not kinds <= _PYTHON_SCALARS:
        for leaf in leaves:
            if is_masked(leaf):
                aval_of(leaf)  # refuses it
    if type(None) in kinds:
        raise ValueError("None is not a valid value for jnp.array: arrays hold numbers")
    if not kinds <= _PYTHON_SCALARS and any(map(_is_jax, leaves)):
        return _stack(x, dtype or dtypes.result_type(*leaves))
    if dtype is not None:
        return _concrete(np.array(x, dtype))
    if not leaves:
        return _concrete(np.array(x, dtypes.python_scalar_dtype(float)))
    value = np.array(x)
    if value.dtype.kind == "O" and kinds <= _PYTHON_SCALARS:
        _check_range(leaves)
    if value.dtype.kind in "OSUMm":
        return _from_numpy(value, None)
    wanted = dtypes.result_type(*(kinds if kinds <= _PYTHON_SCALARS else leaves))
    if value.dtype.kind in "iu" and wanted in _INTEGRAL and value.size and wanted.itemsize < value.dtype.itemsize:
        _check_range((int(value.min()), int(value.max())), wanted)
    return _concrete(value, ShapedArray(value.shape, wanted))


def _check_range(values: Any, dtype: np.dtype | None = None) -> None:
    """OverflowError for integers of a list that its dtype does not hold."""
    for v in values:
        if type(v) is int:
            try:
                dtypes.check_int_fits(v, dtype or dtypes.python_scalar_dtype(int))
            except OverflowError as error:
                raise OverflowError(f"Python int too large for the array of a list: {error}") from None


def _stack(x: Any, dtype: np.dtype) -> Any:
    """Nested lists with arrays and tracers inside, in one dtype."""
    if not isinstance(x, (list, tuple)):
        return asarray(x, dtype)
    if not x:
        return _concrete(np.zeros((0,), dtype))
    parts = [_stack(item, dtype) for item in x]
    if any(p.shape != parts[0].shape for p in parts):
        raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape: the parts "
                         f"have shapes {', '.join(str(p.shape) for p in parts)}.")
    whole = parts[0].shape
    return join.concatenate([rearrange.broadcast_in_dim(p, (1, *whole), range(1, 1 + len(whole))) for p in parts], 0)


def _convert(x: Any, dtype: np.dtype | None) -> Any:
    """Anything as an Array or Tracer, in `dtype` (None: its own)."""
    if type(x) is Array or isinstance(x, Tracer):
        return x if dtype is None else convert.convert_element_type(x, dtype)
    if hasattr(x, "__jax_array__"):
        return _convert(x.__jax_array__(), dtype)
    if type(x) in _PYTHON_SCALARS:
        return _from_scalar(x, dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        return _from_numpy(x, dtype)
    if isinstance(x, (list, tuple)):
        return _from_nested(x, dtype)
    if type(x) in aval_rules:
        return _from_typed(x, dtype)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array: arrays hold numbers")
    return _from_numpy(np.asarray(x), dtype)


def _fresh(x: Any) -> Any:
    """A copy that shares no memory."""
    if type(x) is Array and current_trace() is EVAL:
        if config.debug_nans or config.debug_infs:
            check_parts(x, "copy")
        return dispatch.copied(x)
    return convert.copy_p(x)


def _check_order(name: str, order: str | None) -> None:
    if order not in (None, "K", "A", "C"):
        raise NotImplementedError(f"jnp.{name}: expected order 'K', 'A' or 'C', got {order!r}: arrays are stored row by row")


_POSITIONAL = {"copy": True, "order": "K", "ndmin": 0}


def _by_position(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """copy, order and ndmin given by position, which is deprecated. TypeError for those that are named as well."""
    if len(args) > len(_POSITIONAL):
        raise TypeError(f"array() takes at most 5 positional arguments but {2 + len(args)} were given")
    for name in list(named)[:len(args)]:
        if named[name] != _POSITIONAL[name]:
            raise TypeError(f"array() got multiple values for argument {name!r}")
    warnings.warn("Passing the copy, order, and ndmin arguments to jnp.array positionally is deprecated. Use keyword arguments "
                  "instead.", DeprecationWarning, stacklevel=source.user_stacklevel())
    return (*args, *list(named.values())[len(args):])


def array(object: Any, dtype: Any = None, *args: Any, copy: bool | None = True, order: str | None = "K", ndmin: int = 0,
          device: Any = None, out_sharding: Any = None) -> Any:
    """An array of numbers, nested lists of numbers, NumPy arrays, arrays or objects with __array__.

    dtype: default that of the values; Python ints and floats give int32 and float32 (64 bits with jax_enable_x64), and a
    single one gives a weakly typed array. ndmin: least rank; axes of size 1 come in front. Raises OverflowError for Python
    integers that do not fit, TypeError for strings and objects, ValueError for None and ragged lists.

    >>> array([1, 2.5])
    Array([1. , 2.5], dtype=float32)
    """
    if args:
        copy, order, ndmin = _by_position(args, {"copy": copy, "order": order, "ndmin": ndmin})
    _check_order("array", order)
    if copy and is_masked(object):
        object = object.data  # as numpy.array does: a copy has no mask
    wanted = None if dtype is None else dtypes.check_user_dtype(dtype, "array")
    out = _convert(object, wanted)
    if out is not object:
        out = held(out)
    elif copy:
        out = _fresh(out)
    if ndmin > out.ndim:
        out = broadcast_to(out, (1,) * (ndmin - out.ndim) + out.shape)
    return to_device("array", out, device, out_sharding)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None,
            out_sharding: Any = None) -> Any:
    """As `array`; an array of the requested dtype is returned as it is, unless copy=True.

    copy=False is a wish: NumPy arrays and buffers are copied all the same, as others could write their memory.

    >>> asarray([True, False])
    Array([ True, False], dtype=bool)
    """
    if dtype is None and (type(a) is Array or isinstance(a, Tracer)) and not copy and device is None and out_sharding is None:
        return a if type(a) is Array else a.as_array()
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of a.

    >>> copy(array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    return array(array_arg("copy", a), copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """x converted to `dtype` (None: the default float). Complex to real drops the imaginary part, with a warning.

    Floats to integers round towards zero and saturate; NaN gives 0. Random keys keep their dtype, else TypeError.

    >>> astype(array([1.7, -2.2]), int)
    Array([ 1, -2], dtype=int32)
    """
    x = array_arg("astype", x)
    wanted = dtypes.check_user_dtype(float if dtype is None else dtype, "astype")
    if x.dtype in _COMPLEX and wanted not in _COMPLEX and wanted != np.bool_:
        warnings.warn("Casting from complex to real dtypes will soon raise a ValueError. Please first use jnp.real or "
                      "jnp.imag to take the real/imaginary component of your input.", DeprecationWarning,
                      stacklevel=source.user_stacklevel())
        x = convert.real(x)
    as_truth = wanted == np.bool_  # != 0, of complex numbers, too
    out = convert.convert_dtype(x, wanted) if as_truth else convert.convert_element_type(x, wanted)
    return to_device("astype", _fresh(out) if copy and out is x else out, device)


# -------------------------------------------------------------------------------------------- readers

def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """A copy of the bytes of a buffer, as a one-dimensional array of `dtype`.

    >>> frombuffer(b"\\x01\\x02", dtype="uint8")
    Array([1, 2], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """A one-dimensional array of a file's numbers, as numpy.fromfile.

    >>> import numjet.numpy as jnp, tempfile
    >>> with tempfile.TemporaryFile() as f:
    ...     _ = f.write(b"\\x01\\x02"), f.seek(0)
    ...     jnp.fromfile(f, dtype="uint8").tolist()
    [1, 2]
    """
    return asarray(np.fromfile(*args, **kwargs))


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """A one-dimensional array of an iterable's numbers, as numpy.fromiter.

    >>> fromiter((i * i for i in range(3)), dtype="int32")
    Array([0, 1, 4], dtype=int32)
    """
    return asarray(np.fromiter(*args, **kwargs))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """A one-dimensional array of numbers in a text, separated by `sep`.

    >>> fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int32)
    """
    return numbers_of_text(lambda dtype: np.fromstring(string, dtype, count, sep=sep), dtypes.as_dtype(dtype))


def numbers_of_text(read: Callable[[np.dtype], np.ndarray], dtype: np.dtype) -> Any:
    """The array that NumPy reads from a text; numbers of dtypes that it cannot read, as bfloat16, are read in 64 bits first."""
    known = dtype.isbuiltin != 2  # a dtype of another library
    return asarray(read(dtype) if known else read(np.dtype(np.float64)).astype(dtype))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library's array, through its __dlpack__. The values are copied. ValueError for copy=False.

    Arrays of numjet share their buffer, which nobody can write, unless copy=True.

    >>> from_dlpack(np.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(x, Array) and not dtypes.is_key(x.dtype):
        if copy is False and device not in (None, x.device, x.sharding):
            raise ValueError(f"Specified {device=} which requires a copy since the source device is {x.device}, however "
                             "copy=False. Set copy=True or copy=None to perform the requested operation.")
        return to_device("from_dlpack", _fresh(x) if copy else _native.rewrap(x), device)
    if copy is False:
        raise ValueError("jnp.from_dlpack: arrays never share memory that others can write; use copy=None")
    return to_device("from_dlpack", asarray(dlpack.read(x)), device)
