"""
Two-dimensional turbulence
==========================

The Navier-Stokes equations in vorticity form, by Fourier modes (two thirds of them, against aliasing). Random whirls
merge into larger ones. Three FFTs each way per stage, Heun's method, all in one program.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N, H, VISCOSITY = 128, 0.005, 5e-4
k = jnp.fft.fftfreq(N, 1 / N)
KX, KY = jnp.meshgrid(k, jnp.arange(N // 2 + 1.0), indexing="ij")
SQUARE = KX ** 2 + KY ** 2
KEPT = (abs(KX) < N / 3) & (abs(KY) < N / 3)


def advection(w):
    """Minus the velocity times the gradient of the vorticity, in Fourier space."""
    stream = w / jnp.where(SQUARE == 0, 1, SQUARE)
    back = lambda a: jnp.fft.irfft2(a, (N, N))
    u, v = back(1j * KY * stream), back(-1j * KX * stream)
    gain = u * back(1j * KX * w) + v * back(1j * KY * w)
    return jnp.where(KEPT, -jnp.fft.rfft2(gain), 0)


def step(w, _):
    fade = jnp.exp(-VISCOSITY * SQUARE * H)
    first = advection(w)
    guess = fade * (w + H * first)
    w = fade * (w + H / 2 * first) + H / 2 * advection(guess)
    energy = jnp.sum(jnp.abs(w) ** 2 / jnp.where(SQUARE == 0, 1, SQUARE)) / N ** 4
    return w, energy


@nj.jit
def run():
    noise = jnp.fft.rfft2(nj.random.normal(nj.random.key(2), (N, N)))
    w = KEPT * noise * SQUARE * jnp.exp(-SQUARE / 50)
    w = w / jnp.abs(jnp.fft.irfft2(w, (N, N))).max() * 20

    def part(w, _):
        w, energies = lax.scan(step, w, None, length=400)
        return w, (jnp.fft.irfft2(w, (N, N)), energies)

    return lax.scan(part, w, None, length=3)[1]


fields, energies = run()
energies = energies.ravel()
assert jnp.isfinite(fields).all() and energies[-1] < energies[0]

figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for place, field, time in zip(axes, fields, (2, 4, 6), strict=False):
    place.imshow(field, cmap="RdBu", vmin=-10, vmax=10)
    place.set(title=f"vorticity, time {time}", xticks=[], yticks=[])
axes[3].plot(jnp.arange(1200) * H, energies)
axes[3].set(xlabel="time", title="energy", ylim=(0, None))
plt.show()
