"""
Filtering and smoothing
=======================

A Kalman filter as a ``scan`` over measurements, Rauch, Tung and Striebel's smoother as a ``scan`` backwards, and the
noise's size by maximum likelihood, with the gradient of the filter. A car drives a curve; a receiver measures its
position with errors.
"""
import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

STEP = 0.1
EYE = jnp.eye(2)
MOVE = jnp.block([[EYE, STEP * EYE], [jnp.zeros((2, 2)), EYE]])
LOOK = jnp.eye(2, 4)
SHAKE = jnp.block([[STEP ** 3 / 3 * EYE, STEP ** 2 / 2 * EYE], [STEP ** 2 / 2 * EYE, STEP * EYE]])

time = np.arange(400) * STEP
truth = np.stack([np.sin(time / 4) * 10, np.sin(time / 2) * 5], 1)
measured = jnp.asarray(truth + np.random.default_rng(0).normal(size=truth.shape), jnp.float32)


def filtered(noises, y):
    """Means and covariances after each measurement, and the logarithm of the likelihood."""
    process, sensor = jnp.exp(noises)

    def step(carry, z):
        mean, cov = carry
        mean, cov = MOVE @ mean, MOVE @ cov @ MOVE.T + process * SHAKE
        spread = LOOK @ cov @ LOOK.T + sensor * EYE
        gain = jnp.linalg.solve(spread, LOOK @ cov).T
        error = z - LOOK @ mean
        fit = -0.5 * (error @ jnp.linalg.solve(spread, error) + jnp.linalg.slogdet(2 * jnp.pi * spread)[1])
        mean, cov = mean + gain @ error, cov - gain @ LOOK @ cov
        return (mean, cov), (mean, cov, fit)

    start = jnp.zeros(4), 100 * jnp.eye(4)
    means, covs, fits = lax.scan(step, start, y)[1]
    return means, covs, fits.sum()


def smoothed(noises, means, covs):
    def step(later, now):
        mean, cov = now
        ahead = MOVE @ cov @ MOVE.T + jnp.exp(noises[0]) * SHAKE
        gain = jnp.linalg.solve(ahead, MOVE @ cov).T
        mean = mean + gain @ (later[0] - MOVE @ mean)
        cov = cov + gain @ (later[1] - ahead) @ gain.T
        return (mean, cov), mean

    last = means[-1], covs[-1]
    rest = lax.scan(step, last, (means[:-1], covs[:-1]), reverse=True)[1]
    return jnp.concatenate([rest, means[-1:]])


@nj.jit
def run():
    slope = nj.grad(lambda noises: -filtered(noises, measured)[2] / len(measured))
    noises = lax.fori_loop(0, 60, lambda i, n: n - 1.0 * slope(n), jnp.zeros(2))
    means, covs, _ = filtered(noises, measured)
    return noises, means, smoothed(noises, means, covs)


noises, means, path = run()
error = lambda p: float(jnp.sqrt(jnp.mean(jnp.sum((p - truth) ** 2, 1))))
print(f"process {jnp.exp(noises[0]):.2f}, sensor {jnp.exp(noises[1]):.2f} (made with 1)")
assert error(path[:, :2]) < error(means[:, :2]) < error(measured)

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.plot(*measured.T, ".", ms=3, color="silver", label=f"measured, error {error(measured):.2f}")
axes.plot(*means[:, :2].T, lw=1, label=f"filtered, {error(means[:, :2]):.2f}")
axes.plot(*path[:, :2].T, lw=2, label=f"smoothed, {error(path[:, :2]):.2f}")
axes.legend()
plt.show()
