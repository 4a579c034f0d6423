"""How long points of the complex plane stay near."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def run():
    c = jnp.linspace(-2, 0.5, 9)[None, :] + 1j * jnp.linspace(-1.1, 1.1, 5)[:, None]

    def step(_, state):
        z, count = state
        near = jnp.abs(z) < 2
        return jnp.where(near, z * z + c, z), count + near
    _, count = nj.jit(lambda: lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32))))()
    return {"steps": count}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
