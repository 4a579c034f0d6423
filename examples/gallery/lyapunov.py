"""
How chaotic is it?
==================

Lyapunov exponents of Lorenz's equations: tangent vectors carried along by ``jvp``, and made orthogonal again by
``qr`` after each step (Benettin and others 1980). ``vmap`` scans the parameter that leads from rest to chaos.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

H, STEPS = 0.01, 4000


def slope(s, rho):
    x, y, z = s
    return jnp.stack([10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z])


def move(s, rho):
    k1 = slope(s, rho)
    k2 = slope(s + H / 2 * k1, rho)
    k3 = slope(s + H / 2 * k2, rho)
    return s + H / 6 * (k1 + 2 * k2 + 2 * k3 + slope(s + H * k3, rho))


def exponents(rho):
    def step(state, _):
        s, frame = state
        push = lambda direction: nj.jvp(lambda s: move(s, rho), (s,), (direction,))[1]
        frame, growth = jnp.linalg.qr(nj.vmap(push, 1, 1)(frame))
        return (move(s, rho), frame), (jnp.log(abs(jnp.diag(growth))), s)

    start = lax.fori_loop(0, 1000, lambda i, s: move(s, rho), jnp.array([1.0, 1.0, 20.0]))
    logs, path = lax.scan(step, (start, jnp.eye(3)), None, length=STEPS)[1]
    return logs.mean(0) / H, path


RHOS = jnp.linspace(5.0, 40.0, 71)


@nj.jit
def run():
    return nj.vmap(lambda rho: exponents(rho)[0])(RHOS)


spectrum = run()
classic, path = nj.jit(exponents)(28.0)
print("at 28:", classic.round(2).tolist(), "published: 0.91, 0, -14.57")
assert abs(classic[0] - 0.91) < 0.15 and abs(classic.sum() + 13.667) < 0.1

figure = plt.figure(figsize=(10, 4), layout="constrained")
left = figure.add_subplot(1, 2, 1, projection="3d")
left.plot(*path.T, lw=0.3)
right = figure.add_subplot(1, 2, 2)
right.plot(RHOS, spectrum[:, :2])
right.axhline(0, color="gray", lw=0.5)
right.set(xlabel="rho", title="two largest exponents: chaos is above 0", ylim=(-3, 1.5))
plt.show()
