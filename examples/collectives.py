"""Sums and numbers along an axis that vmap has named."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def normalized(x):
    mean = lax.pmean(x, "rows")
    return (x - mean) / jnp.sqrt(lax.pmean((x - mean) ** 2, "rows") + 1e-6), lax.axis_index("rows")


def run():
    x = jnp.arange(12.0).reshape(4, 3) ** 2
    values, number = nj.vmap(normalized, axis_name="rows")(x)
    total = nj.vmap(lambda v: lax.psum(v, "rows"), axis_name="rows")(x)
    largest = nj.vmap(lambda v: lax.pmax(v, "rows"), axis_name="rows")(x)
    return {"normalized": values, "numbers": number, "sums": total[0], "largest": largest[0]}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
