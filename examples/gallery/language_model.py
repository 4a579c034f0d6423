"""
A small transformer that writes
===============================

A transformer learns the letters of a text (the licence of this project), then writes with a cache of keys and values:
each new letter costs one step, and the loop that writes is one ``scan``.
"""
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

LENGTH, WIDTH, HEADS, LAYERS, STEPS = 64, 64, 4, 2, 300
here = Path.cwd()
text = next(p for folder in (here, *here.parents) if (p := folder / "LICENSE").exists()).read_text()
letters = sorted(set(text))
codes = jnp.asarray(np.array([letters.index(c) for c in text]), jnp.int32)


def weights(key):
    make = lambda k, *shape: nj.random.normal(k, shape) / jnp.sqrt(shape[-2])
    k = nj.random.split(key, 7)
    layers = {"qkv": make(k[0], LAYERS, WIDTH, 3 * WIDTH), "out": make(k[1], LAYERS, WIDTH, WIDTH),
              "up": make(k[2], LAYERS, WIDTH, 4 * WIDTH), "down": make(k[3], LAYERS, 4 * WIDTH, WIDTH)}
    return {"letter": make(k[4], len(letters), WIDTH), "place": make(k[5], LENGTH, WIDTH), "layers": layers,
            "head": make(k[6], WIDTH, len(letters))}


def normal(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def block(x, layer, cache, at):
    """Attention of x, at positions from `at` on, to the cache and to itself; and a perceptron."""
    q, k, v = jnp.split(normal(x) @ layer["qkv"], 3, -1)
    heads = lambda a: a.reshape(len(a), HEADS, -1)
    keys = lax.dynamic_update_slice(cache[0], heads(k), (at, 0, 0))
    values = lax.dynamic_update_slice(cache[1], heads(v), (at, 0, 0))
    seen = jnp.arange(LENGTH) <= at + jnp.arange(len(x))[:, None]
    mixed = nj.nn.dot_product_attention(heads(q), keys, values, mask=seen[None])
    x = x + mixed.reshape(x.shape) @ layer["out"]
    return x + nj.nn.gelu(normal(x) @ layer["up"]) @ layer["down"], (keys, values)


EMPTY = jnp.zeros((LAYERS, LENGTH, HEADS, WIDTH // HEADS)),  jnp.zeros((LAYERS, LENGTH, HEADS, WIDTH // HEADS))


def logits(params, letters, cache=EMPTY, at=0):
    place = lax.dynamic_slice_in_dim(params["place"], at, len(letters))
    x = params["letter"][letters] + place
    x, cache = lax.scan(lambda x, layer: block(x, layer[0], layer[1], at), x, (params["layers"], cache))
    return normal(x) @ params["head"], cache


def loss(params, batch):
    scores = nj.vmap(lambda line: logits(params, line)[0])(batch[:, :-1])
    return -jnp.mean(jnp.take_along_axis(nj.nn.log_softmax(scores), batch[:, 1:, None], -1))


@nj.jit
def run():
    def step(state, key):
        params, mean, square, i = state
        starts = nj.random.randint(key, (16,), 0, len(codes) - LENGTH - 1)
        batch = codes[starts[:, None] + jnp.arange(LENGTH + 1)]
        value, slope = nj.value_and_grad(loss)(params, batch)
        mean = nj.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = nj.tree.map(lambda s, g: 0.98 * s + 0.02 * g * g, square, slope)
        rate = 3e-3 * jnp.minimum(1, i / 20) * jnp.sqrt(1 - 0.98 ** i) / (1 - 0.9 ** i)
        params = nj.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
        return (params, mean, square, i + 1), value

    params = weights(nj.random.key(0))
    zero = nj.tree.map(jnp.zeros_like, params)
    (params, *_), losses = lax.scan(step, (params, zero, zero, 1.0), nj.random.split(nj.random.key(1), STEPS))
    return params, losses


@nj.jit
def write(params, first, key):
    def step(state, key):
        letter, cache, at = state
        scores, cache = logits(params, letter[None], cache, at)
        letter = nj.random.categorical(key, scores[0] / 0.7)
        return (letter, cache, at + 1), letter

    return lax.scan(step, (first, EMPTY, 0), nj.random.split(key, LENGTH - 1))[1]


params, losses = run()
for seed in range(4):
    print(repr("T" + "".join(letters[i] for i in write(params, letters.index("T"), nj.random.key(seed)).tolist())))
assert losses[-20:].mean() < 0.7 * losses[:20].mean()

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(losses)
axes.axhline(np.log(len(letters)), ls="--", color="gray", label="guessing")
axes.set(xlabel="step", ylabel="loss per letter (nats)")
axes.legend()
plt.show()
