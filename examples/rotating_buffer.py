"""A delay line: an array that a loop updates in place."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@nj.jit
def echo(signal):
    def step(state, x):
        buffer, at = state
        delayed = lax.dynamic_index_in_dim(buffer, at, keepdims=False)
        buffer = lax.dynamic_update_index_in_dim(buffer, x + 0.5 * delayed, at, 0)
        return (buffer, (at + 1) % buffer.shape[0]), x + delayed
    (buffer, _), out = lax.scan(step, (jnp.zeros(4), 0), signal)
    return buffer, out


def run():
    buffer, out = echo(jnp.zeros(12).at[0].set(1.0))
    return {"buffer": buffer, "echo": out, "window": lax.dynamic_slice(out, (3,), (5,))}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
