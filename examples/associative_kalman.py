"""The products of many small matrices from the left, all at once."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def run():
    angles = jnp.linspace(0.0, 1.0, 16)
    turn = nj.vmap(lambda a: jnp.array([[jnp.cos(a), -jnp.sin(a)], [jnp.sin(a), jnp.cos(a)]]))
    products = lax.associative_scan(lambda a, b: jnp.matmul(b, a), turn(angles))
    return {"last product": products[-1], "angle": jnp.arctan2(products[:, 1, 0], products[:, 0, 0])}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
