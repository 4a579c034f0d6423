"""
A robot that finds out where it is
==================================

Monte Carlo localization: 2,000 particles guess the position in a room. Each step moves them, weighs them by four
distances that the robot measures, and draws them anew (systematic resampling, Kitagawa 1996). A ``scan`` with
gathers.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

BEACONS = jnp.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [4.0, 7.0]])
MANY, STEPS = 2000, 80
turn = jnp.linspace(0, 2 * jnp.pi, STEPS)
TRUTH = jnp.stack([5 + 3.5 * jnp.cos(turn), 5 + 3 * jnp.sin(2 * turn)], 1)


def distances(x):
    return jnp.linalg.norm(x - BEACONS, axis=-1)


def resampled(weights, key):
    places = (jnp.arange(MANY) + nj.random.uniform(key)) / MANY
    return jnp.clip(jnp.searchsorted(jnp.cumsum(weights), places), 0, MANY - 1)


@nj.jit
def run():
    k1, k2, k3 = nj.random.split(nj.random.key(0), 3)
    measured = nj.vmap(distances)(TRUTH) + 0.3 * nj.random.normal(k1, (STEPS, 4))
    moves = jnp.diff(TRUTH, axis=0, prepend=TRUTH[:1])

    def step(cloud, now):
        seen, move, key = now
        to_noise, to_draw = nj.random.split(key)
        cloud = cloud + move + 0.15 * nj.random.normal(to_noise, cloud.shape)
        weights = nj.nn.softmax(-0.5 * jnp.sum((nj.vmap(distances)(cloud) - seen) ** 2, 1) / 0.3 ** 2)
        cloud = cloud[resampled(weights, to_draw)]
        return cloud, (cloud.mean(0), cloud)

    start = nj.random.uniform(k2, (MANY, 2), maxval=10.0)
    return lax.scan(step, start, (measured, moves, nj.random.split(k3, STEPS)))[1]


means, clouds = run()
errors = jnp.linalg.norm(means - TRUTH, axis=1)
assert errors[5:].mean() < 0.3

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot(*TRUTH.T, "k--", lw=1, label="path")
left.plot(*means.T, lw=1.5, label="estimate")
left.plot(*clouds[0].T, ".", ms=1, alpha=0.4, label="particles after 1 step")
left.plot(*clouds[40].T, ".", ms=1, alpha=0.4, label="after 41")
left.plot(*BEACONS.T, "r^")
left.set(aspect="equal")
left.legend(loc="lower left", fontsize=7)
right.plot(errors)
right.set(xlabel="step", title="error of the estimate")
plt.show()
