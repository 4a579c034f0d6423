"""
Equations of motion from a Lagrangian
=====================================

A double pendulum, of which only the energies are written down. Its equations of motion follow by differentiation:
with the mass matrix as the Hessian of the Lagrangian by the velocities, ``solve`` gives the accelerations. 14,400
starts show where it tips over.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

H = 0.02


def lagrangian(q, v):
    """Kinetic minus potential energy; masses and lengths 1, gravity 9.81."""
    kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * jnp.cos(q[0] - q[1])
    potential = -9.81 * (2 * jnp.cos(q[0]) + jnp.cos(q[1]))
    return kinetic - potential


def acceleration(q, v):
    mass = nj.hessian(lagrangian, 1)(q, v)
    force = nj.grad(lagrangian, 0)(q, v) - nj.jacfwd(nj.grad(lagrangian, 1), 0)(q, v) @ v
    return jnp.linalg.solve(mass, force)


def step(state, _):
    def slope(q, v):
        return v, acceleration(q, v)

    q, v = state
    a, b = slope(q, v)
    c, d = slope(q + H / 2 * a, v + H / 2 * b)
    e, f = slope(q + H / 2 * c, v + H / 2 * d)
    g, h = slope(q + H * e, v + H * f)
    return (q + H / 6 * (a + 2 * c + 2 * e + g), v + H / 6 * (b + 2 * d + 2 * f + h)), q


def angles(start, steps):
    return lax.scan(step, (start, jnp.zeros(2)), None, length=steps)[1]


def time_to_tip(first, second, steps=250):
    """When the outer pendulum first goes over the top, in seconds."""
    tipped = jnp.abs(angles(jnp.stack([first, second]), steps)[:, 1]) > jnp.pi
    return H * jnp.where(tipped.any(), jnp.argmax(tipped), steps)


GRID = jnp.linspace(-3.0, 3.0, 120)


@nj.jit
def run():
    return nj.vmap(nj.vmap(time_to_tip, (None, 0)), (0, None))(GRID, GRID)


times = run()
path = nj.jit(angles, static_argnums=1)(jnp.array([2.0, 2.5]), 800)
assert times[60, 60] == 5.0                # small swings never tip

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
joint = jnp.stack([jnp.sin(path[:, 0]), -jnp.cos(path[:, 0])])
end = joint + jnp.stack([jnp.sin(path[:, 1]), -jnp.cos(path[:, 1])])
left.plot(*joint, lw=1)
left.plot(*end, lw=0.7)
left.set(aspect="equal", title="16 seconds")
image = right.imshow(times, extent=(-3, 3, -3, 3), origin="lower", cmap="magma")
right.set(xlabel="outer angle", ylabel="inner angle")
figure.colorbar(image, label="seconds until it tips over")
plt.show()
