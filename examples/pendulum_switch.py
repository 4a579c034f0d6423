"""A cart that is pushed one way or another: branches."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def push(mode, x):
    return lax.switch(mode, [lambda x: x, lambda x: x + 0.5, lambda x: -0.9 * x], x)


def run():
    def step(x, mode):
        x = lax.cond(jnp.abs(x) > 2, lambda v: v * 0.5, lambda v: v + 0.1, push(mode, x))
        return x, x
    modes = jnp.array([1, 1, 2, 0, 1, 1, 1, 9, -3])
    path = lambda start: lax.scan(step, start, modes)[1]
    return {"path": nj.jit(path)(0.0), "several": nj.vmap(path)(jnp.array([0.0, 1.0, -3.0])),
            "gradient": nj.grad(lambda s: path(s)[-1])(1.0)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
