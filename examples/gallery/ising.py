"""
How magnets lose their magnetism
================================

The Ising model on 64 x 64 sites, sampled by Metropolis's rule on the two colours of a chessboard, at 40 temperatures
at once. Onsager's exact solution (Yang 1952) is drawn beside the samples.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, SWEEPS = 64, 2000
TEMPERATURES = jnp.linspace(1.5, 3.5, 40)
COLOUR = (jnp.arange(N)[:, None] + jnp.arange(N)) % 2


def neighbours(s):
    return jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)


def sampled(temperature, key):
    def sweep(carry, key):
        spins, total = carry
        chance = nj.random.uniform(key, (2, N, N))
        for colour in (0, 1):
            cost = 2.0 * spins * neighbours(spins)
            flip = (COLOUR == colour) & (chance[colour] < jnp.exp(-cost / temperature))
            spins = jnp.where(flip, -spins, spins)
        return (spins, total + abs(jnp.mean(spins))), None

    keys = nj.random.split(key, SWEEPS)
    spins = jnp.ones((N, N))
    (spins, _), _ = lax.scan(sweep, (spins, 0.0), keys[:SWEEPS // 2])
    (spins, total), _ = lax.scan(sweep, (spins, 0.0), keys[SWEEPS // 2:])
    return spins, total / (SWEEPS // 2)


@nj.jit
def run():
    return nj.vmap(sampled)(TEMPERATURES, nj.random.split(nj.random.key(0), len(TEMPERATURES)))


spins, magnetization = run()
exact = jnp.maximum(0, 1 - jnp.sinh(2 / TEMPERATURES) ** -4.0) ** 0.125
cold = TEMPERATURES < 2.1
assert abs(magnetization - exact)[cold].max() < 0.03

figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for place, k in zip(axes, (4, 15, 35), strict=False):
    place.imshow(spins[k], cmap="gray")
    place.set(title=f"temperature {TEMPERATURES[k]:.2f}", xticks=[], yticks=[])
axes[3].plot(TEMPERATURES, magnetization, ".", label="sampled")
axes[3].plot(TEMPERATURES, exact, lw=1, label="exact, infinite lattice")
axes[3].set(xlabel="temperature", title="magnetization")
axes[3].legend()
plt.show()
