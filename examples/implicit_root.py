"""Kepler's equation, solved by Newton's method, differentiated by the implicit function theorem."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def eccentric_anomaly(mean, e):
    f = lambda x: x - e * jnp.sin(x) - mean
    newton = lambda f, x: lax.fori_loop(0, 8, lambda _, x: x - f(x) / (1 - e * jnp.cos(x)), x)
    return lax.custom_root(f, mean, newton, lambda g, y: y / g(1.0))


def run():
    mean = jnp.linspace(0.2, 3.0, 5)
    solve = nj.vmap(eccentric_anomaly, (0, None))
    slope = nj.vmap(nj.grad(eccentric_anomaly, 1), (0, None))
    return {"anomaly": nj.jit(solve)(mean, 0.3), "by the eccentricity": slope(mean, 0.3)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
