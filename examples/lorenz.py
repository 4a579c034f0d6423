"""The Lorenz system by Runge and Kutta's method, and how the end depends on the parameter."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def slope(y, rho):
    return jnp.array([10.0 * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def step(y, rho, h=0.01):
    k1 = slope(y, rho)
    k2 = slope(y + h / 2 * k1, rho)
    k3 = slope(y + h / 2 * k2, rho)
    k4 = slope(y + h * k3, rho)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def path(rho):
    return lax.scan(lambda y, _: (step(y, rho), y), jnp.array([1.0, 1.0, 1.0]), None, length=100)


def run():
    end, points = nj.jit(path)(28.0)
    return {"end": end, "some points": points[::25], "by rho": nj.jacfwd(lambda r: path(r)[0])(28.0),
            "gradient": nj.grad(lambda r: path(r)[0][2])(28.0)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
