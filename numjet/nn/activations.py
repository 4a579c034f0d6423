"""Activation functions: elementwise, on arrays of any shape; integers become floats where the result has fractions."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.core.trace import Tracer
from numjet.foundation import dtypes, errors
from numjet.foundation.dimension import exceeds
from numjet.foundation.source import user_stacklevel
from numjet.lax import axes
from numjet.lax.elementwise import compare, convert, normal_distribution, transcendental
from numjet.lax.indexing import slicing
from numjet.lax.shape.rearrange import reshape
from numjet.numpy.core.concrete import value_of
from numjet.numpy.core.promotion import array_arg, promote_args_inexact, strong_array

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805   # Klambauer et al., 2017

_CERTAIN = 40.0  # from here on the normal distribution function is 0 or 1 in every dtype


def _inexact(name: str, x: Any) -> Any:
    """The argument as an array of floats or complex numbers."""
    return promote_args_inexact(name, x)[0]


def _weakly_inexact(name: str, x: Any) -> Any:
    """The argument as an array of floats or complex numbers; weakly typed floats of integers, which meet Python numbers."""
    return promote_args_inexact(name, x, 1.0)[0]


def _with_weak_booleans(name: str, x: Any) -> Any:
    """As _inexact; Booleans are weakly typed floats, as next to Python numbers."""
    return (_weakly_inexact if dtypes.result_type(x) == dtypes.bool_ else _inexact)(name, x)


# -------------------------------------------------------------------------------------------- rectifiers

@custom_jvp
def _relu(x: Any) -> Any:
    return jnp.maximum(x, 0)


_relu.defjvps(lambda t, out, x: compare.select(x > 0, t, jnp.zeros_like(t)))


@jit_when_eager()
def relu(x: Any) -> Any:
    """max(x, 0), whose derivative at 0 is 0.

    >>> import numjet.numpy as jnp
    >>> relu(jnp.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return _relu(array_arg("relu", x))


@custom_jvp
def _relu6(x: Any) -> Any:
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


_relu6.defjvps(lambda t, out, x: compare.select((x > 0) & (x < 6), t, jnp.zeros_like(t)))


@jit_when_eager()
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6), whose derivative at 0 and 6 is 0.

    >>> float(relu6(7.0))
    6.0
    """
    return _relu6(_weakly_inexact("relu6", x))


@jit_when_eager()
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where it is not negative, else negative_slope * x.

    >>> float(leaky_relu(-2.0, 0.5))
    -1.0
    """
    x = array_arg("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jit_when_eager()
def hard_tanh(x: Any) -> Any:
    """x limited to [-1, 1].

    >>> float(hard_tanh(-3.0))
    -1.0
    """
    x = array_arg("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit_when_eager()
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6.

    >>> float(hard_sigmoid(0.0))
    0.5
    """
    return relu6(array_arg("hard_sigmoid", x) + 3.0) / 6.0


@jit_when_eager()
def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x); also named hard_swish.

    >>> float(hard_silu(3.0))
    3.0
    """
    x = _weakly_inexact("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def sparse_plus(x: Any) -> Any:
    """0 up to -1, x from 1, and (x + 1)² / 4 between.

    >>> float(sparse_plus(0.0))
    0.25
    """
    x = _weakly_inexact("sparse_plus", x)
    near = jnp.minimum(jnp.maximum(x, -1.0), 1.0)  # of complex numbers, too
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, jnp.square(near + 1.0) / 4))


def sparse_sigmoid(x: Any) -> Any:
    """(x + 1) / 2 limited to [0, 1].

    >>> float(sparse_sigmoid(0.0))
    0.5
    """
    return 0.5 * jnp.clip(array_arg("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


# -------------------------------------------------------------------------------------------- sigmoids

@jit_when_eager()
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> float(sigmoid(0.0))
    0.5
    """
    return transcendental.logistic(_inexact("sigmoid", x))


@jit_when_eager()
def silu(x: Any) -> Any:
    """x * sigmoid(x); also named swish.

    >>> float(silu(0.0))
    0.0
    """
    x = _inexact("silu", x)
    return x * transcendental.logistic(x)


swish = silu


@custom_jvp
def _softplus(x: Any) -> Any:
    if jnp.iscomplexobj(x):
        return jnp.logaddexp(x, 0)
    return jnp.maximum(x, 0) + transcendental.log1p(transcendental.exp(-abs(x)))


_softplus.defjvps(lambda t, out, x: t * transcendental.logistic(x))


@jit_when_eager()
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow.

    >>> float(softplus(1000.0))
    1000.0
    """
    return _softplus(_with_weak_booleans("softplus", x))


@jit_when_eager()
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without underflow.

    >>> float(log_sigmoid(-1000.0))
    -1000.0
    """
    return -_softplus(-_inexact("log_sigmoid", x))


@jit_when_eager()
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|).

    >>> float(soft_sign(1.0))
    0.5
    """
    x = _with_weak_booleans("soft_sign", x)
    return x / (abs(x) + 1)


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent.

    >>> float(tanh(0.0))
    0.0
    """
    return jnp.tanh(x)


def identity(x: Any) -> Any:
    """x, as an array.

    >>> identity(3).tolist()
    3
    """
    return array_arg("identity", x)


# -------------------------------------------------------------------------------------------- exponential functions

@jit_when_eager()
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> float(elu(2.0))
    2.0
    """
    x = _weakly_inexact("elu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jit_when_eager()
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)): elu, smooth for all alpha.

    >>> float(celu(2.0))
    2.0
    """
    x = _weakly_inexact("celu", x)
    below = alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)
    return jnp.maximum(x, 0.0) + jnp.where(x > 0.0, 0.0, below)  # a slope of 0 makes 0 / 0 there


@jit_when_eager()
def selu(x: Any) -> Any:
    """elu with the scale and slope that keep mean 0 and variance 1 through layers (Klambauer et al., 2017).

    >>> float(selu(0.0))
    0.0
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@jit_when_eager("approximate")
def gelu(x: Any, approximate: bool = True) -> Any:
    """x Phi(x) with the normal distribution function Phi; approximate: by a tanh (Hendrycks, Gimpel, 2016).

    >>> round(float(gelu(1.0)), 4), round(float(gelu(1.0, approximate=False)), 4)
    (0.8412, 0.8413)
    """
    x = strong_array(_inexact("gelu", x))
    if approximate:
        near = x if jnp.iscomplexobj(x) else jnp.clip(x, -_CERTAIN, _CERTAIN)
        inner = math.sqrt(2 / math.pi) * (near + 0.044715 * (near * near * near))
        return x * (0.5 * (1.0 + transcendental.tanh(inner)))
    return x * normal_distribution.ndtr(jnp.clip(x, -_CERTAIN, _CERTAIN))


@jit_when_eager()
def mish(x: Any) -> Any:
    """x * tanh(softplus(x)).

    >>> float(mish(0.0))
    0.0
    """
    x = _with_weak_booleans("mish", x)
    return x * transcendental.tanh(_softplus(x))


@jit_when_eager()
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x² + b)) / 2.

    >>> float(squareplus(0.0))
    1.0
    """
    if dtypes.result_type(x) == dtypes.bool_ and jnp.issubdtype(dtypes.result_type(b), jnp.integer):
        x = _inexact("squareplus", x)    # 32 bits, whatever the default integers are
    x, b = promote_args_inexact("squareplus", x, b)
    if jnp.iscomplexobj(x):
        return (x + jnp.sqrt(jnp.square(x) + b)) / 2
    limit = math.sqrt(float(dtypes.finfo(x.dtype).max)) / 2  # squares overflow; b is far below the last digit there
    near = jnp.clip(x, -limit, limit)
    return jnp.where(abs(x) > limit, jnp.maximum(x, 0), (near + jnp.sqrt(jnp.square(near) + b)) / 2)


@custom_jvp
def _log1mexp(x: Any) -> Any:
    small = x < math.log(2)
    near = transcendental.log(-transcendental.expm1(-x))
    return compare.select(small, near, transcendental.log1p(-transcendental.exp(-x)))


@custom_jvp
def _inverse_expm1(x: Any) -> Any:
    """1 / (exp(x) - 1), infinite for -0, too; its derivative, too, is finite where the exponential overflows."""
    return 1 / transcendental.expm1(x + 0.0)


_inverse_expm1.defjvps(lambda t, out, x: -t * (out + out * out))
_log1mexp.defjvps(lambda t, out, x: t * _inverse_expm1(x))


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0, accurate everywhere (Mächler, 2012). NaN for negative x.

    >>> float(log1mexp(0.0))
    -inf
    """
    return _log1mexp(_inexact("log1mexp", x))


@jit_when_eager("axis")
def glu(x: Any, axis: int = -1) -> Any:
    """The first half along `axis`, times the sigmoid of the second. AssertionError for an odd size.

    >>> import numjet.numpy as jnp
    >>> glu(jnp.array([4.0, 0.0])).tolist()
    [2.0]
    """
    x = _inexact("glu", x)
    position = axes.as_axis(axis, x.ndim)
    size = x.shape[position]
    if size % 2:
        raise AssertionError(f"axis size must be divisible by 2, got {size} along axis {axis} of shape {x.shape}")
    first = slicing.slice_in_dim(x, 0, size // 2, axis=position)
    return first * transcendental.logistic(slicing.slice_in_dim(x, size // 2, size, axis=position))


@jit_when_eager("num_classes", "dtype", "axis")
def one_hot(x: Any, num_classes: Any, *, dtype: Any = None, axis: int = -1) -> Any:
    """One-hot encoding: ones at the indices x along a new axis of size num_classes, zeros elsewhere and for indices out of
    range.

    x: integers of any shape. dtype: default the float one. axis: position of the new axis in the result. Indices of other
    dtypes warn. TypeError if num_classes is traced, as it decides the shape, negative, or no integer.

    >>> import numjet.numpy as jnp
    >>> one_hot(jnp.array([0, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if isinstance(num_classes, Tracer) and value_of(num_classes) is None:
        raise errors.ConcretizationTypeError(num_classes, "It arose in jax.nn.one_hot argument `num_classes`.")
    num_classes = axes.as_shape((num_classes,), "num_classes")[0]
    if exceeds(0, num_classes):
        raise TypeError("nn.one_hot: expected num_classes >= 0, as every element of a shape must be nonnegative, got "
                        f"{num_classes}. It is the size of the new axis: one more than the greatest index, as a rule.")
    x = jnp.asarray(x)
    if x.dtype not in dtypes.INTEGRAL:
        warnings.warn(f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype.name}", DeprecationWarning,
                      stacklevel=user_stacklevel())
    axis = axes.as_axis(axis, x.ndim + 1)
    classes = jnp.arange(num_classes, dtype=x.dtype if x.dtype != bool else None)
    wide = (*x.shape[:axis], 1, *x.shape[axis:])
    values = convert.convert_dtype(reshape(x, wide), classes.dtype)
    hits = values == reshape(classes, (1,) * axis + classes.shape + (1,) * (x.ndim - axis))
    return jnp.astype(hits, float if dtype is None else dtype)

