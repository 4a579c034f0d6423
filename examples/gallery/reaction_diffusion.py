"""
Spots and stripes
=================

Gray and Scott's reaction of two chemicals (Pearson 1993), for four feeds at once by ``vmap``. 5,000 steps on 128 x
128 cells each are one native loop.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, STEPS = 128, 5000
FEEDS = jnp.array([0.022, 0.030, 0.037, 0.055])
KILLS = jnp.array([0.051, 0.057, 0.060, 0.062])


def laplace(a):
    return (jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1)) - 4 * a


def pattern(feed, kill):
    noise = 0.05 * nj.random.uniform(nj.random.key(1), (2, N, N))
    u = jnp.ones((N, N)).at[N // 2 - 12:N // 2 + 12, N // 2 - 12:N // 2 + 12].set(0.5) - noise[0]
    v = jnp.zeros((N, N)).at[N // 2 - 12:N // 2 + 12, N // 2 - 12:N // 2 + 12].set(0.25) + noise[1]

    def step(_, state):
        u, v = state
        reaction = u * v * v
        return (u + 0.16 * laplace(u) - reaction + feed * (1 - u),
                v + 0.08 * laplace(v) + reaction - (feed + kill) * v)

    return lax.fori_loop(0, STEPS, step, (u, v))[1]


@nj.jit
def run():
    return nj.vmap(pattern)(FEEDS, KILLS)


patterns = run()
assert jnp.isfinite(patterns).all() and patterns.std() > 0.05

figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
for place, image, feed, kill in zip(axes, patterns, FEEDS, KILLS, strict=True):
    place.imshow(image, cmap="cividis")
    place.set(title=f"feed {feed:.3f}, kill {kill:.3f}", xticks=[], yticks=[])
plt.show()
