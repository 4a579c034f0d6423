"""A wave on a string, by slices of the string."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def run():
    x = jnp.linspace(0, 1, 33)
    start = jnp.exp(-200 * (x - 0.3) ** 2).at[jnp.array([0, -1])].set(0.0)

    def step(state, _):
        before, now = state
        bend = now[:-2] - 2 * now[1:-1] + now[2:]
        after = jnp.pad(2 * now[1:-1] - before[1:-1] + 0.25 * bend, 1)
        return (now, after), jnp.sum(after ** 2)
    (_, shape), energy = nj.jit(lambda s: lax.scan(step, (s, s), None, length=50))(start)
    return {"shape": shape[::4], "energy": energy[::10]}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
