"""
Through a wall
==============

Schrödinger's equation by the split-step method (Feit and others 1982): half a step in space, a full one in momentum
by FFT, half a step in space. A wave packet meets a barrier that is higher than its energy, and a part of it tunnels.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, WIDTH, H, STEPS = 1024, 100.0, 0.02, 1200
x = jnp.linspace(-WIDTH / 2, WIDTH / 2, N, endpoint=False)
k = 2 * jnp.pi * jnp.fft.fftfreq(N, WIDTH / N)


def packet(momentum):
    psi = jnp.exp(-(x + 20) ** 2 / 16 + 1j * momentum * x)
    return psi / jnp.sqrt(jnp.sum(jnp.abs(psi) ** 2) * WIDTH / N)


def travel(height, momentum=1.5):
    wall = jnp.where(jnp.abs(x) < 0.75, height, 0.0)
    half, whole = jnp.exp(-0.5j * H * wall), jnp.exp(-0.5j * H * k ** 2)

    def step(psi, _):
        psi = half * jnp.fft.ifft(whole * jnp.fft.fft(half * psi))
        return psi, jnp.abs(psi) ** 2

    return lax.scan(step, packet(momentum), None, length=STEPS)[1]


HEIGHTS = jnp.linspace(0.0, 2.5, 26)


@nj.jit
def run():
    through = lambda height: jnp.sum(jnp.where(x > 0.75, travel(height)[-1], 0)) * WIDTH / N
    return lax.map(through, HEIGHTS)


through = run()
density = nj.jit(travel)(1.3)
assert abs(density[-1].sum() * WIDTH / N - 1) < 1e-3 and through[0] > 0.95 > 0.5 > through[-1] > 0

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.imshow(density[::6].T ** 0.5, aspect="auto", origin="lower", extent=(0, STEPS * H, -WIDTH / 2, WIDTH / 2), cmap="magma")
left.axhspan(-0.75, 0.75, color="white", alpha=0.4)
left.set(xlabel="time", ylabel="place", title="height 1.3, energy 1.1")
right.plot(HEIGHTS, through, ".-")
right.axvline(1.5 ** 2 / 2, ls="--", color="gray")
right.set(xlabel="height of the wall", title="part that comes through")
plt.show()
