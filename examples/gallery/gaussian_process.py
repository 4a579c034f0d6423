"""
Gaussian process regression
===========================

A function from noisy samples, with its uncertainty. The length scale, the amplitude and the noise maximise the
marginal likelihood (Rasmussen and Williams 2006, algorithm 2.1), by gradients through a Cholesky factorization.
"""
import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.scipy.linalg import cho_solve, cholesky, solve_triangular

generator = np.random.default_rng(4)
x = jnp.asarray(np.sort(generator.uniform(-4, 4, 60)), jnp.float32)
y = jnp.sin(2 * x) * jnp.exp(-x ** 2 / 10) + 0.1 * jnp.asarray(generator.normal(size=60), jnp.float32)
grid = jnp.linspace(-6, 6, 300)


def kernel(a, b, params):
    distance = (a[:, None] - b[None]) / jnp.exp(params["scale"])
    return jnp.exp(2 * params["size"] - 0.5 * distance ** 2)


def factor(params):
    noise = jnp.exp(2 * params["noise"]) + 1e-5
    return cholesky(kernel(x, x, params) + noise * jnp.eye(len(x)), lower=True)


def loss(params):
    """Minus the logarithm of the marginal likelihood, without its constant."""
    root = factor(params)
    return 0.5 * y @ cho_solve((root, True), y) + jnp.sum(jnp.log(jnp.diag(root)))


def predict(params):
    root = factor(params)
    across = kernel(grid, x, params)
    mean = across @ cho_solve((root, True), y)
    explained = solve_triangular(root, across.T, lower=True)
    return mean, jnp.sqrt(jnp.exp(2 * params["size"]) - jnp.sum(explained ** 2, 0))


@nj.jit
def run():
    def step(params, _):
        value, slope = nj.value_and_grad(loss)(params)
        return nj.tree.map(lambda p, g: p - 0.01 * g, params, slope), value

    start = {"scale": 0.0, "size": 0.0, "noise": -1.0}
    params, losses = lax.scan(step, start, None, length=300)
    return params, losses, predict(params)


params, losses, (mean, spread) = run()
print({name: round(float(jnp.exp(value)), 3) for name, value in params.items()}, "(noise made with 0.1)")
assert losses[-1] < losses[0] and 0.07 < jnp.exp(params["noise"]) < 0.15

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.fill_between(grid, mean - 2 * spread, mean + 2 * spread, alpha=0.25, label="two standard deviations")
axes.plot(grid, mean, label="mean")
axes.plot(grid, jnp.sin(2 * grid) * jnp.exp(-grid ** 2 / 10), "--", lw=1, label="truth")
axes.plot(x, y, "k.", ms=4)
axes.legend()
plt.show()
