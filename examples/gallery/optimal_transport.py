"""
Moving one cloud to another
===========================

Optimal transport between two sets of points with Sinkhorn's algorithm (Cuturi 2013), in logarithms. The plan says
which mass goes where; moving along it deforms one shape into the other.
"""
import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.scipy.special import logsumexp

N = 400
generator = np.random.default_rng(0)
turn = np.linspace(0, 2 * np.pi, N)
RING = jnp.asarray(np.stack([np.cos(turn), np.sin(turn)], 1) + 0.05 * generator.normal(size=(N, 2)), jnp.float32)
SPIRAL = jnp.asarray(np.stack([turn * np.cos(2 * turn), turn * np.sin(2 * turn)], 1) / 6
                     + 0.03 * generator.normal(size=(N, 2)), jnp.float32)


def plan(x, y, blur=0.01, iterations=200):
    cost = jnp.sum((x[:, None] - y[None]) ** 2, -1) / blur
    mass = -jnp.log(jnp.float32(N))

    def step(_, duals):
        f, g = duals
        f = mass - logsumexp(g[None] - cost, 1)
        return f, mass - logsumexp(f[:, None] - cost, 0)

    f, g = lax.fori_loop(0, iterations, step, (jnp.zeros(N), jnp.zeros(N)))
    return jnp.exp(f[:, None] + g[None] - cost)


@nj.jit
def run():
    coupling = plan(RING, SPIRAL)
    return coupling, coupling @ SPIRAL * N      # where each point goes, on average


coupling, goals = run()
assert abs(coupling.sum() - 1) < 1e-3 and abs(coupling.sum(0) - 1 / N).max() < 1e-4

figure, axes = plt.subplots(1, 5, figsize=(12, 2.6), layout="constrained")
for place, t in zip(axes, np.linspace(0, 1, 5), strict=True):
    place.scatter(*((1 - t) * RING + t * goals).T, c=turn, s=4, cmap="hsv")
    place.set(title=f"{t:.2f}", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[], aspect="equal")
plt.show()
