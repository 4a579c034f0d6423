"""Neural networks as pairs of functions: (init, apply).

init(rng, input_shape) gives (output_shape, params); apply(params, inputs, rng=None) the outputs. A size of -1 in a shape
stands for any.

    init, apply = serial(Dense(32), Relu, Dense(10), LogSoftmax)
    output_shape, params = init(random.key(0), (-1, 784))
    predictions = apply(params, images)
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numjet.numpy as jnp
from numjet import lax, random
from numjet.nn import (
    elu as elu,
    gelu as gelu,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    relu as relu,
    selu as selu,
    sigmoid as sigmoid,
    softmax as softmax,
    softplus as softplus,
    standardize as standardize,
)
from numjet.nn.initializers import (
    glorot_normal as glorot_normal,
    normal as normal,
    ones as ones,
    zeros as zeros,
)

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp", "FanInConcat",
    "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax",
    "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "elu", "gelu", "glorot",
    "glorot_normal", "leaky_relu", "log_softmax", "logsoftmax", "normal", "ones", "parallel", "randn", "relu", "selu",
    "serial", "shape_dependent", "sigmoid", "softmax", "softplus", "standardize", "zeros",
]

logsoftmax, glorot, randn = log_softmax, glorot_normal, normal
Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]
_GLOROT, _NORMAL, _SMALL = glorot_normal(), normal(), normal(1e-6)


# -------------------------------------------------------------------------------------------- layers with parameters

def Dense(out_dim: int, W_init: Callable[..., Any] = _GLOROT, b_init: Callable[..., Any] = _NORMAL) -> Layer:
    """An affine map of the last axis to out_dim numbers.

    >>> init, apply = Dense(3)
    >>> shape, params = init(random.key(0), (-1, 5))
    >>> shape, apply(params, jnp.ones((2, 5))).shape
    ((-1, 3), (2, 3))
    """
    def init(rng: Any, input_shape: Shape) -> Any:
        for_weights, for_bias = random.split(rng)
        return (*input_shape[:-1], out_dim), (W_init(for_weights, (input_shape[-1], out_dim)), b_init(for_bias, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias
    return init, apply


def _convolution(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], strides: Any, padding: Any, W_init: Any,
                 b_init: Any, convolve: Callable[..., Any], output_shape: Callable[..., Any]) -> Layer:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    strides = strides or (1,) * len(filter_shape)
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init(rng: Any, input_shape: Shape) -> Any:
        sizes = iter(filter_shape)
        kernel = tuple({"O": out_chan, "I": input_shape[lhs_spec.index("C")]}.get(c) or next(sizes) for c in rhs_spec)
        bias = tuple(out_chan if c == "C" else 1 for c in out_spec)
        for_weights, for_bias = random.split(rng)
        out = output_shape(input_shape, kernel, strides, padding, dimension_numbers)
        return out, (W_init(for_weights, kernel), b_init(for_bias, bias))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return convolve(inputs, weights, strides, padding, dimension_numbers=dimension_numbers) + bias
    return init, apply


def GeneralConv(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], strides: Any = None,
                padding: Any = "VALID", W_init: Any = None, b_init: Callable[..., Any] = _SMALL) -> Layer:
    """A convolution with out_chan filters. dimension_numbers: as of lax.conv_general_dilated, such as ('NHWC', 'HWIO', 'NHWC').

    >>> init, apply = GeneralConv(("NHWC", "HWIO", "NHWC"), 4, (3, 3))
    >>> shape, params = init(random.key(0), (-1, 8, 8, 2))
    >>> shape, apply(params, jnp.ones((1, 8, 8, 2))).shape
    ((-1, 6, 6, 4), (1, 6, 6, 4))
    """
    return _convolution(dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
                        lax.conv_general_dilated, lax.conv_general_shape_tuple)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))


def GeneralConvTranspose(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], strides: Any = None,
                         padding: Any = "VALID", W_init: Any = None,
                         b_init: Callable[..., Any] = _SMALL) -> Layer:
    """A transposed convolution with out_chan filters; arguments as of GeneralConv.

    >>> init, apply = GeneralConvTranspose(("NHWC", "HWIO", "NHWC"), 4, (3, 3))
    >>> shape, params = init(random.key(0), (-1, 8, 8, 2))
    >>> shape, apply(params, jnp.ones((1, 8, 8, 2))).shape
    ((-1, 10, 10, 4), (1, 10, 10, 4))
    """
    return _convolution(dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
                        lax.conv_transpose, lax.conv_transpose_shape_tuple)


Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(axis: int | Sequence[int] = (0, 1, 2), epsilon: Any = 1e-5, center: bool = True, scale: bool = True,
              beta_init: Callable[..., Any] = zeros, gamma_init: Callable[..., Any] = ones) -> Layer:
    """Standardization over axes (Ioffe, Szegedy 2015), then gamma x + beta. center=False: no beta; scale=False: no gamma.

    >>> init, apply = BatchNorm(0)
    >>> shape, params = init(random.key(0), (-1, 3))
    >>> apply(params, jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).round(2).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(n for d, n in enumerate(input_shape) if d not in axes)
        for_beta, for_gamma = random.split(rng)
        return input_shape, (beta_init(for_beta, shape) if center else (), gamma_init(for_gamma, shape) if scale else ())

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        place = tuple(None if d in axes else slice(None) for d in range(jnp.ndim(x)))
        z = standardize(x, axes, epsilon=epsilon)
        z = gamma[place] * z if scale else z
        return z + beta[place] if center else z
    return init, apply


# -------------------------------------------------------------------------------------------- elementwise layers

def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer without parameters that applies a function of arrays.

    >>> init, apply = elementwise(jnp.clip, min=0.0)
    >>> apply((), jnp.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return (lambda rng, input_shape: (input_shape, ())), (lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda inputs: inputs)   # of any kind: tuples of arrays, and None


def _flatten() -> Layer:
    def init(rng: Any, input_shape: Shape) -> Any:
        return (input_shape[0], functools.reduce(operator.mul, input_shape[1:], 1)), ()
    return init, lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flatten()


def Dropout(rate: Any, mode: str = "train") -> Layer:
    """Elements are kept with the probability `rate` and divided by it, else 0. mode: 'train', or else nothing happens.
    ValueError when apply gets no rng.

    >>> init, apply = Dropout(0.5)
    >>> sorted(set(apply((), jnp.ones(100), rng=random.key(0)).tolist()))
    [0.0, 2.0]
    """
    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout layer requires apply_fun to be called with a PRNG key argument: "
                             "`apply_fun(params, inputs, rng)` instead of `apply_fun(params, inputs)`")
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)
    return (lambda rng, input_shape: (input_shape, ())), apply


# -------------------------------------------------------------------------------------------- pooling

class _Windows:
    """Windows of all axes: those of batch and channels have size and stride 1."""

    def __init__(self, window_shape: Sequence[int], strides: Any, padding: str, spec: str | None):
        strides = strides or (1,) * len(window_shape)
        single = (0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C"))
        sizes, steps = iter(window_shape), iter(strides)
        axes = range(len(window_shape) + 2)
        self.sizes = tuple(1 if d in single else next(sizes) for d in axes)
        self.steps = tuple(1 if d in single else next(steps) for d in axes)
        self.spatial = [d for d in axes if d not in single]
        self.padding = padding

    def shape(self, input_shape: Shape) -> Shape:
        known = [n if d in self.spatial else 1 for d, n in enumerate(input_shape)]   # the batch may have any size, -1
        pads = lax.padtype_to_pads(known, self.sizes, self.steps, self.padding)
        pooled = lax.reduce_window_shape_tuple(known, self.sizes, self.steps, pads)
        return tuple(pooled[d] if d in self.spatial else n for d, n in enumerate(input_shape))

    def reduce(self, reducer: Callable[..., Any], start: float, x: Any) -> Any:
        return lax.reduce_window(x, start, reducer, self.sizes, self.steps, self.padding)

    def layer(self, pool: Callable[[_Windows, Any], Any]) -> Layer:
        return (lambda rng, input_shape: (self.shape(input_shape), ())), (lambda params, inputs, **kwargs: pool(self, inputs))


def MaxPool(window_shape: Sequence[int], strides: Any = None, padding: str = "VALID", spec: str | None = None) -> Layer:
    """The largest element of each window. spec: the order of axes, such as 'NHWC'; default: batch first, channels last.

    >>> init, apply = MaxPool((2,))
    >>> apply((), jnp.array([[[1.0], [3.0], [2.0]]])).tolist()
    [[[3.0], [3.0]]]
    """
    windows = _Windows(window_shape, strides, padding, spec)
    return windows.layer(lambda w, x: w.reduce(lax.max, -jnp.inf, x))


def SumPool(window_shape: Sequence[int], strides: Any = None, padding: str = "VALID", spec: str | None = None) -> Layer:
    """The sum of each window; arguments as of MaxPool.

    >>> init, apply = SumPool((2,))
    >>> apply((), jnp.array([[[1.0], [3.0], [2.0]]])).tolist()
    [[[4.0], [5.0]]]
    """
    windows = _Windows(window_shape, strides, padding, spec)
    return windows.layer(lambda w, x: w.reduce(lax.add, 0.0, x))


def AvgPool(window_shape: Sequence[int], strides: Any = None, padding: str = "VALID", spec: str | None = None) -> Layer:
    """The mean of each window, of those elements that lie in the input; arguments as of MaxPool.

    >>> init, apply = AvgPool((2,))
    >>> apply((), jnp.array([[[1.0], [3.0], [2.0]]])).tolist()
    [[[2.0], [2.5]]]
    """
    def mean(windows: _Windows, x: Any) -> Any:
        ones_ = jnp.ones([n if d in windows.spatial else 1 for d, n in enumerate(x.shape)], x.dtype)
        return windows.reduce(lax.add, 0.0, x) / windows.reduce(lax.add, 0.0, ones_)
    return _Windows(window_shape, strides, padding, spec).layer(mean)


# -------------------------------------------------------------------------------------------- composition

def FanOut(num: int) -> Layer:
    """A layer with num outputs, each its input.

    >>> init, apply = FanOut(2)
    >>> apply((), 1.0)
    [1.0, 1.0]
    """
    return (lambda rng, input_shape: ([input_shape] * num, ())), (lambda params, inputs, **kwargs: [inputs] * num)


FanInSum: Layer = ((lambda rng, input_shape: (input_shape[0], ())),
                   (lambda params, inputs, **kwargs: functools.reduce(operator.add, inputs)))


def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins its inputs along an axis.

    >>> init, apply = FanInConcat()
    >>> apply((), [jnp.ones(1), jnp.zeros(1)]).tolist()
    [1.0, 0.0]
    """
    def init(rng: Any, input_shape: Sequence[Shape]) -> Any:
        at = axis % len(input_shape[0])
        joined = sum(shape[at] for shape in input_shape)
        return (*input_shape[0][:at], joined, *input_shape[0][at + 1:]), ()
    return init, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def _rngs(kwargs: dict[str, Any], count: int) -> Any:
    """A key for each layer of the one that apply got, or None for each."""
    rng = kwargs.pop("rng", None)
    return random.split(rng, count) if rng is not None else (None,) * count


def serial(*layers: Layer) -> Layer:
    """Layers one after the other.

    >>> init, apply = serial(Dense(4), Relu, Dense(2))
    >>> shape, params = init(random.key(0), (-1, 3))
    >>> shape, apply(params, jnp.ones((5, 3))).shape
    ((-1, 2), (5, 2))
    """
    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for layer_init, _ in layers:
            rng, layer_rng = random.split(rng)
            input_shape, param = layer_init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for (_, layer_apply), param, rng in zip(layers, params, _rngs(kwargs, len(layers)), strict=True):
            inputs = layer_apply(param, inputs, rng=rng, **kwargs)
        return inputs
    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Layers side by side: a list of inputs, each for one layer, to a list of outputs. Parameters and shapes are tuples.

    >>> init, apply = parallel(Dense(4), Identity)
    >>> shapes, params = init(random.key(0), [(-1, 3), (-1, 2)])
    >>> shapes
    ((-1, 4), (-1, 2))
    """
    def init(rng: Any, input_shape: Sequence[Any]) -> Any:
        found = [f(key, shape) for (f, _), key, shape in
                 zip(layers, random.split(rng, len(layers)), input_shape, strict=True)]
        return tuple(shape for shape, _ in found), tuple(param for _, param in found)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _rngs(kwargs, len(layers))
        return [f(p, x, rng=key, **kwargs) for (_, f), p, x, key in zip(layers, params, inputs, keys, strict=True)]
    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that make_layer makes once the shape of the input is known: for reshapes and windows of all of an image.

    >>> init, apply = shape_dependent(lambda shape: AvgPool(shape[1:-1]))
    >>> apply((), jnp.ones((2, 4, 4, 3))).shape
    (2, 1, 1, 3)
    """
    return (lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape)), (
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs))
