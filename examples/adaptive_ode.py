"""A pendulum with friction, integrated by Heun's method with a step that follows the error."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def slope(y):
    return jnp.array([y[1], -jnp.sin(y[0]) - 0.1 * y[1]])


def step(state):
    t, y, h, taken = state
    first = slope(y)
    second = slope(y + h * first)
    error = jnp.max(jnp.abs(second - first)) * h / 2
    good = error < 1e-3
    t, y = jnp.where(good, t + h, t), jnp.where(good, y + h * (first + second) / 2, y)
    return t, y, h * jnp.clip(0.9 * jnp.sqrt(1e-3 / (error + 1e-12)), 0.3, 2.0), taken + 1


@nj.jit
def integrate(y, end):
    return lax.while_loop(lambda s: s[0] < end, step, (0.0, y, 0.1, 0))


def run():
    t, y, _, taken = integrate(jnp.array([1.0, 0.0]), 10.0)
    return {"end": t, "angle and speed": y, "steps": taken}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
