"""A function over many inputs, some at a time."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def run():
    f = lambda x: jnp.sum(jnp.sin(x * jnp.arange(4.0)))
    x = jnp.linspace(0, 1, 10)
    return {"one by one": lax.map(f, x), "by threes": lax.map(f, x, batch_size=3), "all at once": nj.vmap(f)(x)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
