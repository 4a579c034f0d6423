"""A linear system given by a product only; its derivative is another solve."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def product(x):
    return 2.5 * x - jnp.roll(x, 1) - jnp.roll(x, -1) + 0.5 * x


def conjugate_gradient(matvec, b):
    def step(_, state):
        x, r, p = state
        q = matvec(p)
        size = jnp.vdot(r, r)
        length = size / jnp.maximum(jnp.vdot(p, q), 1e-30)
        x, r = x + length * p, r - length * q
        return x, r, r + jnp.vdot(r, r) / jnp.maximum(size, 1e-30) * p
    return lax.fori_loop(0, 12, step, (jnp.zeros_like(b), b, b))[0]


def solve(b):
    return lax.custom_linear_solve(product, b, conjugate_gradient, symmetric=True)


def run():
    b = jnp.array([1.0, 0.0, 2.0, -1.0, 0.5, 0.0])
    x = nj.jit(solve)(b)
    return {"x": x, "residual is small": jnp.max(jnp.abs(product(x) - b)) < 1e-4,
            "gradient": nj.grad(lambda v: jnp.sum(solve(v) ** 2))(b)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
