"""
Waves through two slits
=======================

The wave equation on 200 x 200 cells, with a wall that has two openings and a sponge around. A ``scan`` keeps four
snapshots; behind the wall the two waves interfere as Young saw it with light.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, STEPS = 200, 450
rows, columns = jnp.meshgrid(jnp.arange(N), jnp.arange(N), indexing="ij")
SLITS = (abs(rows - N // 2 + 18) < 4) | (abs(rows - N // 2 - 18) < 4)
OPEN = ~((abs(columns - 60) < 2) & ~SLITS)
edge = jnp.minimum(jnp.minimum(rows, N - 1 - rows), jnp.minimum(columns, N - 1 - columns))
SPONGE = 1 - 0.3 * jnp.clip(1 - edge / 20, 0, 1) ** 2


def step(state, i):
    now, before = state
    around = jnp.pad(now, 1)
    laplace = around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * now
    after = OPEN * (now + SPONGE * (now - before) + 0.25 * laplace)
    after = after.at[:, 20].add(0.1 * jnp.sin(0.35 * i))
    return (after, now), None


@nj.jit
def run():
    def part(state, first):
        state, _ = lax.scan(step, state, first + jnp.arange(STEPS / 3))
        return state, state[0]

    def bright(carry, i):
        state, light = carry
        state, _ = step(state, i)
        return (state, light + state[0] ** 2 / 200), None

    zero = jnp.zeros((N, N))
    end, snapshots = lax.scan(part, (zero, zero), jnp.arange(3) * STEPS / 3)
    (_, light), _ = lax.scan(bright, (end, zero), STEPS + jnp.arange(200.0))
    return snapshots, light


snapshots, light = run()
assert jnp.isfinite(light).all() and light[:, 150].max() > 1.5 * light[:, 150].mean() > 0

figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for place, image, k in zip(axes, snapshots, (150, 300, 450), strict=False):
    place.imshow(jnp.where(OPEN, image, jnp.nan), cmap="RdBu", vmin=-0.4, vmax=0.4)
    place.set(title=f"step {k}", xticks=[], yticks=[])
axes[3].plot(light[:, 150], jnp.arange(N))
axes[3].set(title="brightness at column 150", ylim=(N, 0))
plt.show()
