"""Initial values of weights: functions (key, shape, dtype) -> array, and functions that make these.

Fans are numbers of inputs and outputs of a layer: sizes of `in_axis` and `out_axis`, times those of all other axes but
`batch_axis` (the field of a convolution).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import numjet.numpy as jnp
from numjet import lax, random
from numjet.foundation import dtypes
from numjet.lax.shape import rearrange as shapes
from numjet.random.arguments import placed, shape_of

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """A function (key, shape, dtype, out_sharding) -> array.

    >>> isinstance(zeros, Initializer)
    True
    """

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any: ...


def _dtype(asked: Any, default: Any) -> Any:
    return dtypes.check_user_dtype(next(d for d in (asked, default, float) if d is not None), "initializer")


# -------------------------------------------------------------------------------------------- constants

def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros.

    >>> zeros(None, (2,)).tolist()
    [0.0, 0.0]
    """
    return placed(jnp.zeros(shape, _dtype(dtype, None)), out_sharding)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones.

    >>> ones(None, (2,)).tolist()
    [1.0, 1.0]
    """
    return placed(jnp.ones(shape, _dtype(dtype, None)), out_sharding)


def constant(value: Any, dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of arrays that hold a value everywhere.

    >>> constant(3)(None, (2,)).tolist()
    [3.0, 3.0]
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return placed(jnp.full(shape, value, _dtype(dtype, None)), out_sharding)
    return init


# -------------------------------------------------------------------------------------------- fixed distributions

def uniform(scale: Any = 1e-2, dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of uniform numbers in [0, scale).

    >>> from numjet import lax, random
    >>> uniform(10.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        found = _dtype(dtype, None)
        return random.uniform(key, shape, found, out_sharding=out_sharding) * jnp.array(scale, found)
    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of normal numbers of mean 0.

    >>> from numjet import lax, random
    >>> normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        found = _dtype(dtype, None)
        return random.normal(key, shape, found, out_sharding=out_sharding) * jnp.array(stddev, found)
    return init


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Callable[..., Any]:
    """Makes an initializer of normal numbers between lower and upper, times stddev.

    >>> from numjet import lax, random
    >>> truncated_normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        found = _dtype(dtype, None)
        return random.truncated_normal(key, lower, upper, shape, found, out_sharding=out_sharding) * jnp.array(stddev, found)
    return init


# -------------------------------------------------------------------------------------------- by fans

def _product(shape: Sequence[int], axis: Axes) -> int:
    return math.prod(shape[a] for a in ((axis,) if isinstance(axis, int) else axis))


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    if len(shape) <= 1 and in_axis == -2:
        raise ValueError(f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with default "
                         "in_axis. Must be at least 2D or specify in_axis explicitly.")
    inputs, outputs, batch = (_product(shape, a) for a in (in_axis, out_axis, batch_axis))
    field = math.prod(shape) / inputs / outputs / batch if math.prod(shape) else 1.0  # no element has this variance
    return inputs * field, outputs * field


def _complex_disk(key: Any, shape: tuple[int, ...], dtype: np.dtype, radius: Callable[[Any], Any]) -> Any:
    """Complex numbers of uniform angle, whose radius is a function of uniform numbers."""
    real = dtypes.float64 if dtype == dtypes.complex128 else dtypes.float32
    for_radius, for_angle = random.split(key)
    angle = 2 * math.pi * random.uniform(for_angle, shape, real)
    r = radius(random.uniform(for_radius, shape, real))
    return jnp.astype(lax.complex(r * jnp.cos(angle), r * jnp.sin(angle)), dtype)


def _complex_uniform(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return _complex_disk(key, shape, dtype, lambda u: jnp.sqrt(2 * u))


def _complex_truncated_normal(key: Any, shape: tuple[int, ...], dtype: np.dtype, upper: float) -> Any:
    top = 1 - math.exp(-upper ** 2)
    return _complex_disk(key, shape, dtype, lambda u: jnp.sqrt(-jnp.log1p(-u * top)))


_TRUNCATED_STDDEV = 0.87962566103423978          # of a standard normal number between -2 and 2
_TRUNCATED_STDDEV_COMPLEX = 0.95311164380491208  # of a complex one of modulus below 2


def variance_scaling(scale: Any, mode: str, distribution: str, in_axis: Axes = -2, out_axis: Axes = -1,
                     batch_axis: Axes = (), dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of mean 0 and variance scale / n.

    mode: n is 'fan_in', 'fan_out', 'fan_avg' (their mean) or 'fan_geo_avg' (their geometric mean). distribution:
    'truncated_normal', 'normal' or 'uniform'. The initializer raises ValueError for other names and for shapes of rank < 2.

    >>> from numjet import lax, random
    >>> variance_scaling(1.0, "fan_in", "normal")(random.key(0), (4, 3)).shape
    (4, 3)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        target, found = shape_of("variance_scaling", shape), _dtype(dtype, None)
        fan_in, fan_out = _fans(target, in_axis, out_axis, batch_axis)
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
                "fan_geo_avg": math.sqrt(fan_in * fan_out)}
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}; expected one of {list(fans)}")
        variance = jnp.array(scale / fans[mode] if fans[mode] else scale, found)
        return placed(_of_variance(key, target, found, distribution, variance), out_sharding)
    return init


def _of_variance(key: Any, shape: tuple[int, ...], dtype: np.dtype, distribution: str, variance: Any) -> Any:
    is_complex = dtype in dtypes.COMPLEX
    if distribution == "normal":
        return random.normal(key, shape, dtype) * jnp.sqrt(variance)
    if distribution == "uniform":
        if is_complex:
            return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    if distribution == "truncated_normal":
        if is_complex:
            factor = jnp.sqrt(variance) / jnp.array(_TRUNCATED_STDDEV_COMPLEX, dtype)
            return _complex_truncated_normal(key, shape, dtype, 2) * factor
        return random.truncated_normal(key, -2, 2, shape, dtype) * (jnp.sqrt(variance) / jnp.array(_TRUNCATED_STDDEV, dtype))
    raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}; expected 'truncated_normal', "
                     "'normal' or 'uniform'")


_EXAMPLE = """

    >>> from numjet import nn, random
    >>> nn.initializers.{name}()(random.key(0), (4, 3)).shape
    (4, 3)
    """


def _named(name: str, doc: str, scale: float, mode: str, distribution: str) -> Callable[..., Callable[..., Any]]:
    def make(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Callable[..., Any]:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)
    make.__doc__ = doc.format(distribution.replace("_", " ")) + _EXAMPLE.format(name=name)
    make.__name__ = make.__qualname__ = name
    return make


_GLOROT = "Makes an initializer of variance 2 / (fan_in + fan_out) (Glorot, Bengio, 2010), {}."
_LECUN = "Makes an initializer of variance 1 / fan_in (LeCun et al., 1998), {}."
_HE = "Makes an initializer of variance 2 / fan_in, for relu (He et al., 2015), {}."

glorot_uniform = _named("glorot_uniform", _GLOROT, 1.0, "fan_avg", "uniform")
glorot_normal = _named("glorot_normal", _GLOROT, 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named("lecun_uniform", _LECUN, 1.0, "fan_in", "uniform")
lecun_normal = _named("lecun_normal", _LECUN, 1.0, "fan_in", "truncated_normal")
he_uniform = _named("he_uniform", _HE, 2.0, "fan_in", "uniform")
he_normal = _named("he_normal", _HE, 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# -------------------------------------------------------------------------------------------- orthogonal

def _orthogonal_columns(key: Any, rows: int, columns: int, dtype: Any) -> Any:
    """(rows, columns) with orthonormal columns, or rows where these are fewer."""
    return random.orthogonal(key, rows, (), dtype, columns)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of matrices with orthonormal columns or rows, times scale (Saxe et al., 2013).

    All axes but column_axis count as rows. ValueError for shapes of rank < 2.

    >>> from numjet import lax, random
    >>> orthogonal()(random.key(0), (3, 2)).shape
    (3, 2)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        target, found = shape_of("orthogonal", shape), _dtype(dtype, None)
        if len(target) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = target[column_axis]
        rows = math.prod(target) // columns if columns else 0
        q = _orthogonal_columns(key, rows, columns, found)
        axis = column_axis % len(target)
        q = shapes.reshape(q, (*target[:axis], *target[axis + 1:], columns))
        order = [*range(axis), len(target) - 1, *range(axis, len(target) - 1)]
        return placed(jnp.array(scale, found) * shapes.transpose(q, order), out_sharding)
    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Callable[..., Any]:
    """Makes an initializer of convolutions that act as an orthogonal matrix at their centre (Xiao et al., 2018).

    Shapes of rank 3 to 5, with at least as many outputs (last axis) as inputs, else ValueError.

    >>> from numjet import lax, random
    >>> delta_orthogonal()(random.key(0), (3, 2, 4)).shape
    (3, 2, 4)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        target, found = shape_of("delta_orthogonal", shape), _dtype(dtype, None)
        if len(target) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D, or 5D shape.")
        if target[-1] < target[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`.")
        matrix = orthogonal(scale, column_axis, found)(key, target[-2:])
        centre = tuple((n - 1) // 2 for n in target[:-2])
        return placed(jnp.zeros(target, found).at[centre].set(matrix), out_sharding)
    return init
