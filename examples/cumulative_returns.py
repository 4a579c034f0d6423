"""Discounted rewards, summed from the end."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@nj.jit
def returns(rewards, ends):
    step = lambda later, now: (now[0] + 0.9 * later * (1 - now[1]),) * 2
    return lax.scan(step, jnp.float32(0), (rewards, ends), reverse=True)[1]


def run():
    rewards, ends = jnp.array([1.0, 0.0, 2.0, 0.5, 1.0]), jnp.array([0.0, 0.0, 1.0, 0.0, 1.0])
    return {"returns": returns(rewards, ends)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
