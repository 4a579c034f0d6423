"""Conway's game: integers and booleans."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def generation(_, cells):
    around = sum(jnp.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
    return jnp.where((around == 3) | ((around == 2) & (cells == 1)), 1, 0).astype(jnp.int8)


def run():
    glider = jnp.zeros((8, 8), jnp.int8).at[jnp.array([0, 1, 2, 2, 2]), jnp.array([1, 2, 0, 1, 2])].set(1)
    later = nj.jit(lambda c: lax.fori_loop(0, 16, generation, c))(glider)
    return {"cells": later, "alive": later.sum()}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
