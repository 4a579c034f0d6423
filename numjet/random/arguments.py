"""Arguments of samplers: shapes, dtypes and parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes
from numjet.lax import axes
from numjet.lax.elementwise import convert
from numjet.lax.shape import rearrange as shapes
from numjet.lax.sharding import created
from numjet.random.key_bits import Shape, single

_FLOATS = frozenset(dtypes.FLOATING)
_COMPLEX = frozenset(dtypes.COMPLEX)
_INTS = frozenset(dtypes.INTEGRAL)
_UNSIGNED = frozenset(dtypes.UNSIGNED)


def shape_of(name: str, shape: Any) -> Shape:
    """A shape from an int or a sequence of ints. TypeError for others, ValueError for negative sizes."""
    if type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape):
        return shape
    if hasattr(shape, "ndim") and shape.ndim == 1:
        items: Any = shape if isinstance(shape, Tracer) else np.asarray(shape)
        shape = tuple(items)
    found = axes.as_shape(axes.listed(shape))
    if any(n < 0 for n in found):
        raise ValueError(f"{name}: expected a shape of nonnegative sizes, got {found}")
    return found


def _dtype(name: str, dtype: Any, default: Any, allowed: frozenset[np.dtype], what: str) -> np.dtype:
    found = dtypes.check_user_dtype(default if dtype is None else dtype, name)
    if found not in allowed:
        raise ValueError(f"dtype argument to `{name}` must be {what} dtype, got {found.name}")
    return found


def float_dtype(name: str, dtype: Any) -> np.dtype:
    """A float dtype; None: the default float. ValueError for others."""
    return _dtype(name, dtype, float, _FLOATS, "a float")


def inexact_dtype(name: str, dtype: Any) -> np.dtype:
    """A float or complex dtype; None: the default float. ValueError for others."""
    return _dtype(name, dtype, float, _FLOATS | _COMPLEX, "a float or complex")


def int_dtype(name: str, dtype: Any) -> np.dtype:
    """An integer dtype; None: the default integer. ValueError for others."""
    return _dtype(name, dtype, int, _INTS, "an int")


def unsigned_dtype(name: str, dtype: Any) -> np.dtype:
    """An unsigned integer dtype; None: uint32, with jax_enable_x64 uint64. ValueError for others."""
    return _dtype(name, dtype, dtypes.canonicalize_dtype(dtypes.uint64), _UNSIGNED, "an unsigned int")


def fit(name: str, shape: Any, *params: Any) -> Shape:
    """The shape of samples: `shape`, or (None) the parameters' broadcast shape. ValueError when they don't fit."""
    given = [aval_of(p).shape for p in params]
    if shape is None:
        return shapes.broadcast_shapes(*given)
    found = shape_of(name, shape)
    if any(given) and shapes.broadcast_shapes(found, *given) != found:
        raise ValueError(f"{name}: expected parameters that broadcast to shape={found}, got parameters of shapes "
                         f"{', '.join(map(str, given))}; leave shape out or make it larger")
    return found


def as_float(value: Any, dtype: np.dtype) -> Any:
    """A parameter as an array in `dtype`, of its own shape."""
    return convert.convert_dtype(value, dtype)


def placed(samples: Any, out_sharding: Any) -> Any:
    """Samples, distributed as `out_sharding` says (None: as they are); errors as of lax.with_sharding_constraint."""
    return samples if out_sharding is None else created("random", samples, out_sharding)


def draw_floats(name: str, sampler: Callable[..., Any], key: Any, shape: Any, dtype: Any, out_sharding: Any, *params: Any,
                **options: Any) -> Any:
    """sampler(key, *params, shape=, dtype=, **options) of checked arguments, for a distribution of floats.

    shape: None stands for the shape to which the parameters broadcast.
    """
    found = float_dtype(name, dtype)
    target = fit(name, shape, *params) if params else shape_of(name, shape)
    return placed(sampler(single(name, key), *params, shape=target, dtype=found, **options), out_sharding)
