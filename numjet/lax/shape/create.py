"""Creation of arrays: constants and ranges."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray, explicit
from numjet.core.intervals import largest
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.core.trace import aval_of, held
from numjet.core.traits import COMPACT, LANES
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, exceeds
from numjet.lax.axes import as_shape, check_positions
from numjet.lax.elementwise.convert import constant, convert_dtype
from numjet.lax.operands import real_dtype
from numjet.lax.shape.rearrange import divided, filled
from numjet.lax.sharding_later import sharding
from numjet.lax.templates import NUMBER, call, kind_of

# ------------------------------------------------------------------------------------------------ constants

def _check_shape(shape: Any, what: str) -> tuple[int, ...]:
    shape = as_shape((shape,) if isinstance(shape, (int, np.integer, Dimension)) else shape)
    if any(exceeds(0, d) for d in shape):
        raise TypeError(f"{what} shape must have every element be nonnegative, got {shape}.")
    return shape


def _fill(shape: tuple[int, ...], value: Any) -> Any:
    return value if not shape else filled(value, shape)


def _number(value: Any, dtype: np.dtype, weak: bool) -> Any:
    """A number in a dtype; a new one is part of the program that is being traced, not a constant beside it."""
    converted = convert_dtype(value, dtype, weak)
    return converted if converted is value else held(converted)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` that holds the scalar `fill_value` everywhere.

    dtype: default the dtype of the value; a Python scalar then gives a weakly typed array.
    TypeError when the value is no scalar or the shape holds negative numbers. sharding: over several devices, or None.

    >>> full((2,), 3.0)
    Array([3., 3.], dtype=float32, weak_type=True)
    """
    shape = _check_shape(shape, "broadcast_in_dim")
    if type(fill_value) is not int and aval_of(fill_value).shape:
        raise TypeError("full must be called with scalar fill_value, got fill_value.shape "
                        f"{aval_of(fill_value).shape}.")
    weak = dtype is None and dtypes.is_weakly_typed(fill_value)
    wanted = aval_of(fill_value).dtype if dtype is None else dtypes.check_user_dtype(dtype, "full")
    if wanted == dtypes.float0:
        return np.zeros(shape, wanted)
    return _divided("full", _fill(shape, _number(fill_value, wanted, weak)), sharding)


def _divided(op: str, x: Any, sharding: Any) -> Any:
    """An array that was made, divided over devices."""
    if sharding is None or getattr(getattr(sharding, "mesh", None), "empty", False):
        return x
    if getattr(sharding, "num_devices", 1) == 1:
        raise NotImplementedError(f"{op}: expected a sharding over several devices, got {sharding!r}; place the result with "
                                  "device_put.")
    ndim = len(aval_of(x).shape)
    if len(getattr(sharding, "spec", ())) <= ndim:
        sharding.check_compatible_aval(aval_of(x).shape)
        return call("sharding_constraint", x, sharding=sharding)
    sharding.shard_shape(aval_of(x).shape)  # empty entries beyond the rank are taken, and kept in the array's sharding
    made = _divided(op, x, sharding.update(spec=sharding.spec.update(partitions=tuple(sharding.entries(ndim)))))
    return _native.rewrap(made, device=sharding) if type(made) is _native.Array else made


def varying_like(made: Any, aval: ShapedArray) -> Any:
    """A value made inside of shard_map for use beside another: its type says that it varies over the axes that the other's
    says, so that it can be the first value of a loop, or the result of another branch."""
    missing = aval.vma - aval_of(made).vma if aval.vma else ()
    return call("pvary", made, axes=tuple(sorted(missing, key=str))) if missing else made


def _beside(made: Any, x: Any) -> Any:
    """An array that was made where another is committed to: on its device of the host, or divided as it is."""
    there = getattr(x, "aval", None)
    if there is not None and explicit.divides(there):
        return sharding.resharded(made, there.sharding) if there.shape == aval_of(made).shape else made
    if type(x) is not _native.Array or type(made) is not _native.Array or not x.committed:
        return made
    if x._remote is None:
        return _native.rewrap(made, device=x.device, committed=True)
    same = hasattr(x.device, "num_devices") and x.shape == made.shape
    return call("sharding_constraint", made, sharding=x.device) if same else made


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
    """As `full`, with the shape and dtype of the array x unless others are given, on the devices that x is committed to.

    >>> import numpy as np
    >>> full_like(np.zeros(2, np.int32), 7)
    Array([7, 7], dtype=int32)
    """
    aval = x.aval if hasattr(x, "aval") else aval_of(x)  # x may be a ShapeDtypeStruct
    weak = dtype is None and aval.weak_type
    shape = aval.shape if shape is None else _check_shape(shape, "broadcast_in_dim")
    if dtype is None and dtypes.is_key(aval.dtype):
        return varying_like(_fill(shape, constant(np.full((), fill_value, aval.dtype))), aval)
    if type(fill_value) is not int and aval_of(fill_value).shape:
        raise TypeError(f"full_like takes a scalar fill_value, got fill_value.shape {aval_of(fill_value).shape}.")
    wanted = aval.dtype if dtype is None else dtypes.check_user_dtype(dtype, "full_like")
    if wanted == dtypes.float0:
        return np.zeros(shape, wanted)
    made = varying_like(_fill(shape, _number(fill_value, wanted, weak)), aval)
    return _beside(made, x) if sharding is None else _divided("full_like", made, sharding)


def zeros_like_array(x: Any) -> Any:
    """Zeros of the shape, dtype and weak type of x.

    >>> zeros_like_array(2.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return full_like(x, 0)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array to be filled by later updates; its elements are zeros.

    >>> empty((2,), "float32").shape
    (2,)
    """
    if out_sharding is not None:
        return divided("empty", lambda: full(shape, 0, dtype), out_sharding)
    return full(shape, 0, dtype)


# ------------------------------------------------------------------------------------------------ ranges

def _iota_abstract(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if kind_of(np.dtype(dtype)) not in NUMBER:
        raise TypeError(f"iota does not accept dtype {dtypes.long_name(dtype)}. Accepted dtypes are subtypes of "
                        "integer, floating, complexfloating.")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota dimension must be between 0 and len(shape), got dimension={dimension} for "
                         f"shape={shape}")
    check_positions("iota", (shape[dimension],), np.dtype(dtype))
    return ShapedArray(shape, np.dtype(dtype))


def _iota_eager(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> np.ndarray:
    column = [1] * len(shape)
    column[dimension] = shape[dimension]
    values = np.arange(shape[dimension]).astype(dtype).reshape(column)
    return np.ascontiguousarray(np.broadcast_to(values, shape))


def _iota_cpu(b: Any, *, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> Any:
    part = real_dtype(np.dtype(dtype))

    def element(*index: Any) -> Any:
        value = b.convert(index[dimension], part)
        return b.complex(value, b.const(0, part)) if np.dtype(dtype).kind == "c" else value

    return b.compute(shape, dtype, element)


iota_p = Op(
    name="iota", params=("dtype", "shape", "dimension"), abstract=_iota_abstract, eager=_iota_eager, jvp=ZERO,
    transpose=Missing("it has no operands"), batch=Missing("it has no operands"), cpu=_iota_cpu,
    hlo=lambda b, *, dtype, shape, dimension: b.iota(shape, dimension, dtype), traits=COMPACT | LANES,
    interval=lambda eqn, known: (0, largest(eqn.params["shape"][eqn.params["dimension"]]) - 1),
    samples=Samples(shapes=([],), order=0, ulps=0, make=lambda rng, shapes, dtype, params: [], params=tuple(
        {"dtype": np.dtype(d), "shape": shape, "dimension": i} for d, shape, i in (
            ("int32", (4,), 0), ("float32", (2, 3), 1), ("uint8", (2, 3), 0), (dtypes.bfloat16, (3,), 0),
            ("complex64", (2, 1, 3), 2), ("int32", (0, 2), 1), ("float16", (2, 1, 2, 3), 3)))))


def iota(dtype: Any, size: int | Dimension) -> Any:
    """0, 1, ..., size - 1 in `dtype`: integers, floats or complex numbers. TypeError for others.

    >>> iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """The array of `shape` whose elements are their own index along `dimension`.

    ValueError when there is no such dimension.

    >>> broadcasted_iota("int32", (2, 2), 1)
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    if out_sharding is not None:
        return divided("iota", lambda: broadcasted_iota(dtype, shape, dimension), out_sharding)
    shape = _check_shape(shape, "iota")
    return iota_p.bind(dtype=dtypes.check_user_dtype(dtype, "iota"), shape=shape, dimension=int(dimension))
