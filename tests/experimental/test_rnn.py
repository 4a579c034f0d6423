"""numjet.experimental.rnn: values of JAX 0.10, sequences written out in NumPy, derivatives, errors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.experimental import rnn

RNG = np.random.default_rng(0)
X, H, C = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 4, 3), (4, 2, 2), (4, 2, 2)))
WEIGHTS = rnn.init_lstm_weight(random.PRNGKey(0), 3, 2, 2, True)
SIZES = (3, 2, 2, 0.0, True)


def test_values_of_jax():
    np.testing.assert_allclose(WEIGHTS[:3], [0.63309675, 0.67681414, -0.23717566], rtol=1e-6)
    y, h, c = nj.jit(lambda *a: rnn.lstm(*a, *SIZES))(X, H, C, WEIGHTS, jnp.array([2, 3]))
    np.testing.assert_allclose(y[0], [[0.17278413, 0.04706007, 0.1374612, -0.10192049],
                                      [0.09149681, -0.10097215, 0.1423865, 0.15624735], [0] * 4, [0] * 4], atol=1e-6)
    np.testing.assert_allclose(y[1, 2], [-0.01143647, -0.26003695, -0.14533915, 0.09223817], atol=1e-6)
    np.testing.assert_allclose(h[0], [[-0.24385132, -0.00250512], [-0.13013437, 0.0067768]], atol=1e-6)
    np.testing.assert_allclose(c[3], [[0.3050844, -0.15241612], [0.14957188, -0.19977212]], atol=1e-6)


def test_padding_does_not_matter():
    lengths = jnp.array([2, 3])
    noisy = np.where(np.arange(4)[None, :, None] < np.array([2, 3])[:, None, None], X, 1e3)
    f = lambda x: rnn.lstm(x, H, C, WEIGHTS, lengths, *SIZES)
    for a, b in zip(f(X), f(noisy), strict=True):
        np.testing.assert_array_equal(a, b)
    slopes = nj.grad(lambda x: jnp.sum(f(x)[0]))(jnp.array(X))
    assert not jnp.any(slopes[0, 2:]) and jnp.all(jnp.any(slopes[0, :2] != 0, axis=1))


def test_one_layer_in_numpy():
    weights = rnn.init_lstm_weight(random.key(1), 3, 2, 1, False)
    (w,), (u,), (b,), (d,) = (list(map(np.asarray, p.values())) for p in rnn.unpack_lstm_weights(weights, 3, 2, 1, False))
    h, c, want = H[0], C[0], []
    squash = lambda v: 1 / (1 + np.exp(-v))
    for t in range(4):
        i, f, g, o = np.split(X[:, t] @ w.T + b + h @ u.T + d, 4, axis=1)
        c = squash(f) * c + squash(i) * np.tanh(g)
        h = squash(o) * np.tanh(c)
        want.append(h)
    y, *_ = rnn.lstm(X, H[:1], C[:1], weights, jnp.array([4, 4]), 3, 2, 1, 0.0, False)
    np.testing.assert_allclose(y, np.stack(want, 1), atol=1e-6)


def test_gates_are_swapped():
    swapped = rnn.swap_lstm_gates(jnp.arange(16), 1, 1, 1, False)
    assert swapped.tolist() == [0, 1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14]
    assert jnp.array_equal(rnn.swap_lstm_gates(rnn.swap_lstm_gates(WEIGHTS, 3, 2, 2, True), 3, 2, 2, True), WEIGHTS)


@pytest.mark.parametrize("args,error,match", [
    ((X, H, C, WEIGHTS[1:], [4, 4], 3, 2, 2, 0.0, True), ValueError, "weights of shape"),
    ((X[0], H, C, WEIGHTS, [4, 4], 3, 2, 2, 0.0, True), ValueError, "expected x"),
    ((X, H[:1], C, WEIGHTS, [4, 4], 3, 2, 2, 0.0, True), ValueError, "h_0 and c_0"),
    ((X, H, C, WEIGHTS, [4, 4], 3, 2, 2, 0.5, True), NotImplementedError, "dropout"),
])
def test_errors(args, error, match):
    with pytest.raises(error, match=match):
        rnn.lstm(*args[:4], jnp.array(args[4]), *args[5:])


@pytest.mark.parametrize("batch, steps, inputs, hidden, layers, both", [
    (1, 1, 1, 1, 1, False), (2, 5, 3, 4, 1, True), (3, 2, 1, 8, 3, False), (0, 3, 2, 2, 1, False), (2, 3, 2, 2, 2, True)])
def test_shapes_batches_and_gradients(batch, steps, inputs, hidden, layers, both):
    rng, width = np.random.default_rng(1), layers * (2 if both else 1)
    weights = rnn.init_lstm_weight(random.key(0), inputs, hidden, layers, both)
    x = jnp.asarray(rng.standard_normal((batch, steps, inputs)), "float32")
    h = jnp.asarray(rng.standard_normal((width, batch, hidden)), "float32")
    lengths = jnp.full(batch, steps)
    call = lambda x, h, w: rnn.lstm(x, h, h / 2, w, lengths, inputs, hidden, layers, 0.0, both)
    y, last, cell = call(x, h, weights)
    assert y.shape == (batch, steps, hidden * (2 if both else 1)) and last.shape == cell.shape == h.shape
    for got, want in zip(nj.jit(call)(x, h, weights), (y, last, cell), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    twice = nj.vmap(call, (0, 0, None))(jnp.stack([x, -x]), jnp.stack([h, 2 * h]), weights)
    for got, want in zip(twice, call(-x, 2 * h, weights), strict=True):
        np.testing.assert_allclose(got[1], want, rtol=1e-5, atol=1e-6)
    loss = lambda x, h, w: sum(jnp.sum(jnp.sin(part)) for part in call(x, h, w))
    slopes = nj.grad(loss, (0, 1, 2))(x, h, weights)
    directions = [jnp.asarray(rng.standard_normal(a.shape), "float32") for a in (x, h, weights)]
    along = sum(float(jnp.vdot(g, d)) for g, d in zip(slopes, directions, strict=True))
    want = nj.jvp(loss, (x, h, weights), tuple(directions))[1]
    np.testing.assert_allclose(along, want, rtol=1e-3, atol=1e-4)
