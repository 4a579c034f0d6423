"""Recurrent networks: layers of long short-term memory (Hochreiter, Schmidhuber 1997), with weights in the order of cuDNN.

Arrays are (batch, time, features), states (layers * directions, batch, hidden size). Gates come in the order of PyTorch:
input, forget, cell, output.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.control.loops.scan import scan
from numjet.nn.activations import sigmoid
from numjet.numpy.core.promotion import array_arg

Weights = dict[int, Any]


# -------------------------------------------------------------------------------------------- weights

def _shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(kind, shape) of all parts of the vector of weights, in order; kinds: W_ih, W_hh, b_ih, b_hh."""
    directions = 2 if bidirectional else 1
    for layer, _ in itertools.product(range(num_layers), range(directions)):
        yield 0, (4 * hidden_size, input_size if layer == 0 else hidden_size * directions)
        yield 1, (4 * hidden_size, hidden_size)
    for _, kind in itertools.product(range(num_layers * directions), (2, 3)):
        yield kind, (4 * hidden_size,)


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """The size of the vector of weights.

    >>> get_num_params_in_lstm(3, 2, 1, False)
    56
    """
    return sum(math.prod(shape) for _, shape in _shapes(input_size, hidden_size, num_layers, bidirectional))


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """A vector of uniform random weights between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size).

    >>> init_lstm_weight(random.key(0), 3, 2, 1, False).shape
    (56,)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    top = 1 / math.sqrt(hidden_size)
    return random.uniform(rng, (count,), jnp.float32, -top, top)


def _parts(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> list[tuple[int, Any]]:
    weights = array_arg("lstm", weights)
    shapes = list(_shapes(input_size, hidden_size, num_layers, bidirectional))
    sizes = [math.prod(shape) for _, shape in shapes]
    if weights.shape != (sum(sizes),):
        raise ValueError(f"expected LSTM weights of shape ({sum(sizes)},) for input_size {input_size}, hidden_size "
                         f"{hidden_size}, num_layers {num_layers}, bidirectional {bidirectional}, got {weights.shape}")
    pieces = jnp.split(weights, list(itertools.accumulate(sizes))[:-1])
    return [(kind, jnp.reshape(piece, shape)) for (kind, shape), piece in zip(shapes, pieces, strict=True)]


def unpack_lstm_weights(weights: Any, input_size: int, hidden_size: int, num_layers: int,
                        bidirectional: bool) -> tuple[Weights, Weights, Weights, Weights]:
    """(W_ih, W_hh, b_ih, b_hh), each by the number of layer and direction: layer, or 2 layer + direction.

    >>> W_ih, W_hh, b_ih, b_hh = unpack_lstm_weights(jnp.zeros(56), 3, 2, 1, False)
    >>> W_ih[0].shape, W_hh[0].shape, b_ih[0].shape
    ((8, 3), (8, 2), (8,))
    """
    parts = _parts(weights, input_size, hidden_size, num_layers, bidirectional)
    w_ih, w_hh, b_ih, b_hh = (dict(enumerate(p for kind, p in parts if kind == wanted)) for wanted in range(4))
    return w_ih, w_hh, b_ih, b_hh


def swap_lstm_gates(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """The vector of weights with the cell's and the output's gates exchanged, as other libraries order them.

    >>> swap_lstm_gates(jnp.arange(16), 1, 1, 1, False)[:4].tolist()
    [0, 1, 3, 2]
    """
    def swapped(piece: Any) -> Any:
        a, b, c, d = jnp.split(piece, 4)
        return jnp.ravel(jnp.concatenate([a, b, d, c]))
    return jnp.concatenate([swapped(p) for _, p in _parts(weights, input_size, hidden_size, num_layers, bidirectional)])


# -------------------------------------------------------------------------------------------- layers

def _reversed(x: Any, lengths: Any) -> Any:
    """Each sequence backwards, within its length; its own inverse."""
    time = jnp.expand_dims(jnp.arange(x.shape[1]), 0)
    ends = jnp.expand_dims(lengths, 1)
    return jnp.take_along_axis(x, jnp.expand_dims(jnp.where(time < ends, ends - 1 - time, time), 2), axis=1)


def _run(x: Any, h: Any, c: Any, lengths: Any, w_ih: Any, w_hh: Any, bias: Any, precision: Any) -> tuple[Any, Any, Any]:
    """One direction of one layer: outputs (batch, time, hidden), zeros from the lengths on, and the last states."""
    inputs = jnp.matmul(x, w_ih.T, precision=precision) + jnp.expand_dims(bias, (0, 1))

    def step(state: Any, part: Any) -> tuple[Any, Any]:
        h, c = state
        t, gates = part
        i, f, g, o = jnp.split(gates + jnp.matmul(h, w_hh.T, precision=precision), 4, axis=1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        runs = jnp.expand_dims(t < lengths, 1)
        return (jnp.where(runs, new_h, h), jnp.where(runs, new_c, c)), jnp.where(runs, new_h, 0)
    (h, c), out = scan(step, (h, c), (jnp.arange(x.shape[1]), jnp.swapaxes(inputs, 0, 1)))
    return jnp.swapaxes(out, 0, 1), h, c


def _check(x: Any, h_0: Any, c_0: Any, lengths: Any, input_size: int, hidden_size: int, states: int, dropout: float) -> None:
    if dropout:
        raise NotImplementedError(f"lstm: dropout {dropout} between layers; use 0.0 and drop elements outside")
    if x.ndim != 3 or x.shape[2] != input_size:
        raise ValueError(f"lstm: expected x of shape (batch, time, {input_size}), got {x.shape}")
    expected = (states, x.shape[0], hidden_size)
    if h_0.shape != expected or c_0.shape != expected or lengths.shape != x.shape[:1]:
        raise ValueError(f"lstm: expected h_0 and c_0 of shape {expected} and seq_lengths {x.shape[:1]}, got {h_0.shape}, "
                         f"{c_0.shape} and {lengths.shape}")


def _layers(x: Any, h_0: Any, c_0: Any, lengths: Any, num_layers: int, bidirectional: bool,
            run: Callable[..., tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    directions = 2 if bidirectional else 1
    states = []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            turn = (lambda v: _reversed(v, lengths)) if direction else (lambda v: v)
            out, *state = run(k, turn(x), h_0[k], c_0[k])
            outs.append(turn(out))
            states.append(state)
        x = jnp.concatenate(outs, axis=2)
    return x, jnp.stack([h for h, _ in states]), jnp.stack([c for _, c in states])


def lstm_ref(x: Any, h_0: Any, c_0: Any, W_ih: Weights, W_hh: Weights, b_ih: Weights, b_hh: Weights, seq_lengths: Any,
             input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool) -> tuple[Any, Any, Any]:
    """lstm with weights as unpack_lstm_weights gives them.

    >>> parts = unpack_lstm_weights(init_lstm_weight(random.key(0), 3, 2, 1, False), 3, 2, 1, False)
    >>> y, h, c = lstm_ref(jnp.ones((1, 4, 3)), *jnp.zeros((2, 1, 1, 2)), *parts, jnp.array([4]), 3, 2, 1, 0.0, False)
    >>> y.shape, h.shape
    ((1, 4, 2), (1, 1, 2))
    """
    return _lstm(x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, input_size, hidden_size, num_layers, dropout,
                 bidirectional, None)


def _lstm(x: Any, h_0: Any, c_0: Any, weights: tuple[Weights, ...], seq_lengths: Any, input_size: int, hidden_size: int,
          num_layers: int, dropout: float, bidirectional: bool, precision: Any) -> tuple[Any, Any, Any]:
    x, h_0, c_0, lengths = (array_arg("lstm", v, i) for i, v in enumerate((x, h_0, c_0, seq_lengths)))
    _check(x, h_0, c_0, lengths, input_size, hidden_size, num_layers * (2 if bidirectional else 1), dropout)
    w_ih, w_hh, b_ih, b_hh = weights

    def run(k: int, x: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
        return _run(x, h, c, lengths, w_ih[k], w_hh[k], b_ih[k] + b_hh[k], precision)
    return _layers(x, h_0, c_0, lengths, num_layers, bidirectional, run)


def lstm(x: Any, h_0: Any, c_0: Any, weights: Any, seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int,
         dropout: float, bidirectional: bool, precision: Any = None) -> tuple[Any, Any, Any]:
    """Layers of long short-term memory: (y, h_n, c_n).

    x: (batch, time, input_size). h_0, c_0: (layers * directions, batch, hidden_size). weights: a vector, as of
    init_lstm_weight. seq_lengths: int[batch]; outputs y (batch, time, hidden_size * directions) are 0 from there on, and
    h_n, c_n are the states there. bidirectional: each layer has a second direction, backwards in time, whose outputs follow.
    precision: of the products. dropout other than 0: NotImplementedError. ValueError for shapes that do not fit.

    >>> weights = init_lstm_weight(random.key(0), 3, 2, 1, False)
    >>> y, h, c = lstm(jnp.ones((1, 4, 3)), *jnp.zeros((2, 1, 1, 2)), weights, jnp.array([4]), 3, 2, 1, 0.0, False)
    >>> y.shape, h.shape
    ((1, 4, 2), (1, 1, 2))
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _lstm(x, h_0, c_0, parts, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional, precision)
