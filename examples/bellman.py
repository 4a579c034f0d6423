"""Value iteration on a ring of states with a reward in one of them."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def run():
    reward = jnp.zeros(8).at[3].set(1.0)

    def backup(_, value):
        return reward + 0.9 * jnp.maximum(jnp.roll(value, 1), jnp.roll(value, -1))
    value = nj.jit(lambda: lax.fori_loop(0, 100, backup, jnp.zeros(8)))()
    return {"value": value, "policy": jnp.argmax(jnp.stack([jnp.roll(value, 1), jnp.roll(value, -1)]), 0)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
