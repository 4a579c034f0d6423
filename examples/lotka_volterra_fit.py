"""The rates of predators and prey, found from a few counts."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def simulate(rates):
    a, b, c, d = rates

    def step(y, _):
        y = y + 0.05 * jnp.array([a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]])
        return y, y
    return lax.scan(step, jnp.array([1.0, 0.5]), None, length=60)[1][::10]


def run():
    counts = simulate(jnp.array([1.0, 0.8, 0.6, 0.9]))
    loss = lambda r: jnp.mean((simulate(r) - counts) ** 2)
    descend = lambda r, _: (r - 0.05 * nj.grad(loss)(r), loss(r))
    rates, losses = nj.jit(lambda r: lax.scan(descend, r, None, length=50))(jnp.array([0.8, 0.9, 0.5, 1.0]))
    return {"rates": rates, "first and last loss": losses[jnp.array([0, -1])]}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
