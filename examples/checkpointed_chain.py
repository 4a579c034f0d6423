"""A long chain whose gradient keeps the states between blocks only, and computes the rest again."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@nj.checkpoint
def block(x, w):
    for _ in range(4):
        x = jnp.tanh(x * w)
    return x


def loss(w):
    return lax.scan(lambda x, _: (block(x, w), None), jnp.linspace(0.1, 1.0, 5), None, length=10)[0].sum()


def run():
    value, slope = nj.jit(nj.value_and_grad(loss))(1.2)
    return {"loss": value, "gradient": slope}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
