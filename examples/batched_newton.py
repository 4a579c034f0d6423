"""Cube roots by Newton's method: in a batch, every number stops when it is done."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def cube_root(x):
    step = lambda s: (s[0] - (s[0] ** 3 - x) / (3 * s[0] ** 2), s[1] + 1)
    return lax.while_loop(lambda s: jnp.abs(s[0] ** 3 - x) > 1e-4 * x, step, (jnp.maximum(x, 1.0), 0))


def run():
    roots, steps = nj.jit(nj.vmap(cube_root))(jnp.array([1.0, 8.0, 27.0, 1000.0]))
    return {"roots": roots, "steps": steps}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
