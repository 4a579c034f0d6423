"""
Where was the camera?
=====================

Bundle adjustment: five photographs of 30 points give the places of the cameras and of the points. ``least_squares``
with Levenberg's and Marquardt's method, and a Jacobian by differentiation, starts far from the answer.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.optimize import least_squares

CAMERAS, POINTS = 5, 30


def rotated(axis, x):
    """Rodrigues's formula: x turned about an axis, by its length."""
    angle = jnp.sqrt(axis @ axis + 1e-12)
    unit = axis / angle
    cross = jnp.cross(jnp.broadcast_to(unit, x.shape), x)
    return x * jnp.cos(angle) + cross * jnp.sin(angle) + jnp.outer(x @ unit, unit) * (1 - jnp.cos(angle))


def photograph(camera, points):
    seen = rotated(camera[:3], points) + camera[3:]
    return seen[:, :2] / seen[:, 2:]


def errors(params, pictures):
    cameras, points = params[:6 * CAMERAS].reshape(CAMERAS, 6), params[6 * CAMERAS:].reshape(POINTS, 3)
    return (nj.vmap(photograph, (0, None))(cameras, points) - pictures).ravel()


def truth(key):
    k1, k2 = nj.random.split(key)
    turns = 0.3 * nj.random.normal(k1, (CAMERAS, 3))
    cameras = jnp.concatenate([turns, jnp.tile(jnp.array([0.0, 0.0, 6.0]), (CAMERAS, 1))], 1)
    return jnp.concatenate([cameras.ravel(), nj.random.normal(k2, (POINTS * 3,))])


@nj.jit
def run():
    k1, k2, k3 = nj.random.split(nj.random.key(0), 3)
    exact = truth(k1)
    pictures = errors(exact, 0.0).reshape(CAMERAS, POINTS, 2)
    pictures = pictures + 0.001 * nj.random.normal(k2, pictures.shape)
    start = exact + 0.15 * nj.random.normal(k3, exact.shape)
    found = least_squares(errors, start, args=(pictures,), method="lm")
    return pictures, start, found.x, found.cost


pictures, start, found, cost = run()
spread = jnp.sqrt(2 * cost / pictures.size)
print(f"error per picture coordinate {spread:.5f} (noise of 0.001)")
assert spread < 0.0012

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for place, params, title in zip(axes, (start, found), ("at the start", "found"), strict=False):
    again = (errors(params, 0.0 * pictures)).reshape(CAMERAS, POINTS, 2)[0]
    place.plot(*pictures[0].T, "ko", mfc="none", label="photographed")
    place.plot(*again.T, "r.", label="computed")
    place.set(title=title, aspect="equal")
    place.legend(fontsize=7)
sizes = [jnp.abs(errors(p, pictures)) + 1e-6 for p in (start, found)]
axes[2].hist(sizes, jnp.geomspace(1e-6, 1, 30), label=["start", "found"])
axes[2].set(xscale="log", title="errors")
axes[2].legend()
plt.show()
