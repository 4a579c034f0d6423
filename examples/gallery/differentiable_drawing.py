"""
Drawing by gradient descent
===========================

A renderer made of 60 soft discs that can be differentiated, and a picture (a handwritten digit, enlarged, from
scikit-learn) that they learn to draw: positions, sizes and shades all follow the gradient.
"""
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

SIZE, DISCS = 48, 60
digit = jnp.asarray(load_digits().images[3], jnp.float32) / 16
TARGET = nj.image.resize(digit, (SIZE, SIZE), "cubic")
axis = jnp.linspace(0, 1, SIZE)
PIXELS = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), -1)


def draw(discs):
    """Discs are painted over each other, in order."""
    def paint(canvas, disc):
        distance = jnp.linalg.norm(PIXELS - disc["center"] + 1e-6, axis=-1)
        cover = nj.nn.sigmoid((jnp.exp(disc["radius"]) - distance) * 60) * nj.nn.sigmoid(disc["opacity"])
        return canvas * (1 - cover) + nj.nn.sigmoid(disc["shade"]) * cover, None

    return lax.scan(paint, jnp.zeros((SIZE, SIZE)), discs)[0]


def loss(discs):
    return jnp.mean((draw(discs) - TARGET) ** 2)


@nj.jit
def run():
    keys = nj.random.split(nj.random.key(0), 2)
    start = {"center": nj.random.uniform(keys[0], (DISCS, 2)), "radius": jnp.full(DISCS, -2.5),
             "opacity": jnp.zeros(DISCS), "shade": nj.random.normal(keys[1], (DISCS,))}

    def step(state, i):
        discs, mean, square = state
        value, slope = nj.value_and_grad(loss)(discs)
        mean = nj.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = nj.tree.map(lambda s, g: 0.99 * s + 0.01 * g ** 2, square, slope)
        rate = 0.02 * jnp.sqrt(1 - 0.99 ** (i + 1)) / (1 - 0.9 ** (i + 1))
        discs = nj.tree.map(lambda d, m, s: d - rate * m / (jnp.sqrt(s) + 1e-8), discs, mean, square)
        return (discs, mean, square), value

    zeros = nj.tree.map(jnp.zeros_like, start)
    (discs, *_), losses = lax.scan(step, (start, zeros, zeros), jnp.arange(200.0))
    return draw(start), draw(discs), losses


before, after, losses = run()
assert losses[-1] < 0.1 * losses[0]

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for place, image, title in zip(axes, (TARGET, before, after), ("target", "first", "after 200 steps"), strict=False):
    place.imshow(image, cmap="gray", vmin=0, vmax=1)
    place.set(title=title, xticks=[], yticks=[])
axes[3].semilogy(losses)
axes[3].set(title="loss", xlabel="step")
plt.show()
