"""
Reading without knowing where the letters are
=============================================

Connectionist temporal classification (Graves and others 2006): a recurrent network labels each moment of a signal,
and the loss adds up all ways to line the labels up. The sum is a ``scan`` over time; its gradient is the alignment.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

CLASSES, TIME, LABELS, WIDTH = 5, 60, 4, 32            # class 0 is the blank


def sample(key):
    """Four different pulses at random times in a noisy signal."""
    k1, k2, k3 = nj.random.split(key, 3)
    labels = nj.random.randint(k1, (LABELS,), 1, CLASSES)
    centers = 8 + 14 * jnp.arange(LABELS) + nj.random.uniform(k2, (LABELS,), minval=-4, maxval=4)
    t = jnp.arange(TIME)[:, None] - centers
    shapes = jnp.stack([t * 0, jnp.exp(-t ** 2 / 4), -jnp.exp(-t ** 2 / 4), t * jnp.exp(-t ** 2 / 6), jnp.exp(-t ** 2 / 30)])
    signal = jnp.take_along_axis(shapes, labels[None, None], 0)[0].sum(1)
    return signal + 0.1 * nj.random.normal(k3, (TIME,)), labels


def scores(params, signal):
    def cell(h, x):
        h = jnp.tanh(params["h"] @ h + params["x"] * x + params["b"])
        return h, h

    zero = jnp.zeros(WIDTH)
    forth = lax.scan(cell, zero, signal)[1]
    back = lax.scan(cell, zero, signal, reverse=True)[1]
    return nj.nn.log_softmax(jnp.concatenate([forth, back], 1) @ params["out"])


def ctc(log_p, labels):
    """Minus the logarithm of the probability of the labels, by the forward algorithm over labels with blanks between."""
    states = jnp.zeros(2 * LABELS + 1, int).at[1::2].set(labels)
    skip = jnp.zeros(len(states), bool).at[3::2].set(labels[1:] != labels[:-1])
    none = jnp.full(2, -1e9)

    def step(alpha, p):
        before = jnp.concatenate([none, alpha])
        two = jnp.where(skip, before[:-2], -1e9)
        return jnp.logaddexp(jnp.logaddexp(alpha, before[1:-1]), two) + p[states], None

    first = jnp.full(len(states), -1e9).at[:2].set(log_p[0, states[:2]])
    alpha, _ = lax.scan(step, first, log_p[1:])
    return -jnp.logaddexp(alpha[-1], alpha[-2])


@nj.jit
def run():
    k1, k2, k3, k4 = nj.random.split(nj.random.key(0), 4)
    params = {"h": 0.15 * nj.random.normal(k1, (WIDTH, WIDTH)), "x": nj.random.normal(k2, (WIDTH,)),
              "b": jnp.zeros(WIDTH), "out": 0.1 * nj.random.normal(k3, (2 * WIDTH, CLASSES))}

    def loss(params, key):
        one = lambda k: (lambda s, labels: ctc(scores(params, s), labels))(*sample(k))
        return nj.vmap(one)(nj.random.split(key, 32)).mean()

    def step(state, key):
        params, mean, square, i = state
        value, slope = nj.value_and_grad(loss)(params, key)
        mean = nj.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = nj.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
        rate = 5e-3 * jnp.sqrt(1 - 0.99 ** i) / (1 - 0.9 ** i)
        params = nj.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
        return (params, mean, square, i + 1), value

    zero = nj.tree.map(jnp.zeros_like, params)
    (params, *_), losses = lax.scan(step, (params, zero, zero, 1.0), nj.random.split(k4, 500))
    return params, losses


params, losses = run()
signal, labels = sample(nj.random.key(99))
log_p = scores(params, signal)
alignment = -nj.grad(ctc)(log_p, labels)
print("labels", labels.tolist(), "loss", float(ctc(log_p, labels)))
assert losses[-1] < 1.0 < losses[0]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
axes[0].plot(signal)
axes[0].set(title=f"pulses {labels.tolist()}", xlabel="time")
axes[1].imshow(alignment.T, aspect="auto", cmap="Blues", interpolation="nearest")
axes[1].set(title="alignment: minus the gradient", xlabel="time", ylabel="class")
axes[2].semilogy(losses)
axes[2].set(title="loss", xlabel="step")
plt.show()
