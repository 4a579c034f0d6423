"""
Three bodies on a figure of eight
=================================

Moore's orbit (1993; Chenciner and Montgomery 2000): three equal masses chase each other along one curve. A symplectic
integrator, Yoshida's of fourth order (1990), keeps the energy; forces are the gradient of the potential.
"""
import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

H, STEPS = 1e-3, 20_000
CUBE = 2 ** (1 / 3)
WEIGHTS = np.array([1, -CUBE, 1], np.float32) / (2 - CUBE)

POSITIONS = jnp.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
THIRD = np.array([-0.93240737, -0.86473146], np.float32)
VELOCITIES = jnp.stack([-THIRD / 2, -THIRD / 2, THIRD])


def potential(x):
    pairs = x[:, None] - x[None]
    distances = jnp.sqrt(jnp.sum(pairs ** 2, -1) + jnp.eye(3))
    return -jnp.sum(jnp.triu(1 / distances, 1))


def energy(x, v):
    return potential(x) + 0.5 * jnp.sum(v ** 2)


def step(state, _):
    x, v = state
    for w in WEIGHTS:                       # three leapfrog steps, one of them backwards
        x = x + w * H / 2 * v
        v = v - w * H * nj.grad(potential)(x)
        x = x + w * H / 2 * v
    return (x, v), (x, energy(x, v))


@nj.jit
def run():
    return lax.scan(step, (POSITIONS, VELOCITIES), None, length=STEPS)[1]


path, energies = run()
drift = jnp.abs(energies / energies[0] - 1).max()
assert drift < 1e-4

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
for body in range(3):
    left.plot(*path[:6400, body].T, lw=1)
    left.plot(*path[0, body], "o")
left.set(title="three revolutions", aspect="equal")
right.plot(jnp.arange(STEPS) * H, energies / energies[0] - 1, lw=0.5)
right.set(xlabel="time", title="relative error of the energy")
plt.show()
