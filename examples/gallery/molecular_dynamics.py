"""
A droplet of argon
==================

Molecular dynamics of 144 atoms in two dimensions. Only the potential of Lennard and Jones is written down; forces are
its gradient. Velocity Verlet with a thermostat cools the gas until it freezes; the radial distribution shows the
crystal.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

ATOMS, BOX, H = 144, 14.0, 0.005
side = jnp.linspace(0, BOX, 12, endpoint=False)
START = jnp.stack(jnp.meshgrid(side, side), -1).reshape(ATOMS, 2)


def distances_squared(x):
    apart = x[:, None] - x[None]
    apart = apart - BOX * jnp.round(apart / BOX)         # the nearest image in a periodic box
    return jnp.sum(apart ** 2, -1) + BOX ** 2 * jnp.eye(ATOMS)


def potential(x):
    inverse = 1 / distances_squared(x) ** 3
    return 2 * jnp.sum(inverse ** 2 - inverse)


def step(state, temperature):
    x, v, force = state
    v = v + H / 2 * force
    x = (x + H * v) % BOX
    force = -nj.grad(potential)(x)
    v = v + H / 2 * force
    now = jnp.mean(v ** 2)
    v = v * jnp.sqrt(1 + 0.02 * (temperature / now - 1))   # Berendsen's thermostat (1984)
    return (x, v, force), (now, potential(x) / ATOMS)


@nj.jit
def run():
    v = nj.random.normal(nj.random.key(0), (ATOMS, 2))
    first = START, v - v.mean(0), -nj.grad(potential)(START)
    hot, warm = lax.scan(step, first, jnp.full(2000, 1.2))
    cold, cooling = lax.scan(step, hot, jnp.geomspace(1.2, 0.05, 6000))
    return hot[0], cold[0], jnp.concatenate([warm[1], cooling[1]])


def radial(x):
    counts, edges = jnp.histogram(jnp.sqrt(distances_squared(x)), 100, (0.5, 5.0))
    return (edges[1:] + edges[:-1]) / 2, counts / (edges[1:] + edges[:-1])


hot, cold, energies = run()
assert energies[-1] < energies[0] - 0.5

figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
for place, x, title in zip(axes, (hot, cold), ("gas", "frozen"), strict=False):
    place.plot(*x.T, "o", ms=5)
    place.set(title=title, xlim=(0, BOX), ylim=(0, BOX), aspect="equal")
for x, label in ((hot, "gas"), (cold, "frozen")):
    axes[2].plot(*radial(x), label=label)
axes[2].set(title="radial distribution", xlabel="distance")
axes[2].legend()
axes[3].plot(energies)
axes[3].set(title="energy per atom", xlabel="step")
plt.show()
