"""
What is inside? An inverse problem
==================================

Heat spreads through a plate with an unknown inclusion. Sensors on the rim record temperatures; the conductivity
inside is found by gradient descent through 400 time steps. The plate is never opened.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, STEPS = 32, 400
axis = jnp.linspace(-1, 1, N)
X, Y = jnp.meshgrid(axis, axis, indexing="ij")
TRUTH = 1.0 - 0.8 * ((X - 0.2) ** 2 + (Y + 0.1) ** 2 < 0.15)
SOURCES = jnp.stack([jnp.exp(-40 * ((X - a) ** 2 + (Y - b) ** 2)) for a, b in
                     ((-0.9, 0), (0.9, 0), (0, -0.9), (0, 0.9), (-0.9, -0.9), (0.9, 0.9))])


def step(u, conductivity):
    """One explicit step with fluxes between neighbours, and an insulated rim."""
    def flux(u, k):
        return 0.5 * (k[1:] + k[:-1]) * (u[1:] - u[:-1])

    down, right = flux(u, conductivity), flux(u.T, conductivity.T)
    gain = jnp.pad(down, ((0, 1), (0, 0))) - jnp.pad(down, ((1, 0), (0, 0)))
    return u + 0.2 * (gain + (jnp.pad(right, ((0, 1), (0, 0))) - jnp.pad(right, ((1, 0), (0, 0)))).T)


def rim(u):
    return jnp.concatenate([u[0], u[-1], u[:, 0], u[:, -1]])


def recorded(conductivity, source):
    def body(u, _):
        u = step(u, conductivity)
        return u, rim(u)

    return lax.scan(body, source, None, length=STEPS)[1]


MEASURED = nj.jit(nj.vmap(recorded, (None, 0)))(TRUTH, SOURCES)


def loss(logits):
    conductivity = nj.nn.sigmoid(logits)
    misfit = nj.vmap(recorded, (None, 0))(conductivity, SOURCES) - MEASURED
    rough = jnp.abs(jnp.diff(conductivity, axis=0)).mean() + jnp.abs(jnp.diff(conductivity, axis=1)).mean()
    return 1e3 * jnp.mean(misfit ** 2) + 1e-4 * rough


@nj.jit
def run():
    def descend(state, i):
        logits, mean, square = state                    # Adam (Kingma and Ba 2015)
        value, slope = nj.value_and_grad(loss)(logits)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope ** 2
        rate = 0.1 * jnp.sqrt(1 - 0.99 ** (i + 1)) / (1 - 0.9 ** (i + 1))
        return (logits - rate * mean / (jnp.sqrt(square) + 1e-12), mean, square), value

    start = jnp.full((N, N), 2.0)
    (logits, *_), losses = lax.scan(descend, (start, 0 * start, 0 * start), jnp.arange(100.0))
    return nj.nn.sigmoid(logits), losses


found, losses = run()
assert losses[-1] < 0.1 * losses[0]

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for place, image, title in zip(axes, (TRUTH, found), ("conductivity", "found from the rim"), strict=False):
    place.imshow(image, vmin=0, vmax=1, cmap="viridis")
    place.set(title=title, xticks=[], yticks=[])
axes[2].semilogy(losses)
axes[2].set(xlabel="step", title="loss")
plt.show()
