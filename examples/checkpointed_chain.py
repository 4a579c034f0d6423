"""A long chain whose gradient keeps the states between blocks only, and computes the rest again."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def block(x, w):
    for _ in range(4):
        x = jnp.tanh(x * w)
    return x


checkpointed = nj.checkpoint(block)


def loss(w, block=checkpointed, size=5, length=10):
    return lax.scan(lambda x, _: (block(x, w), None), jnp.linspace(0.1, 1.0, size), None, length=length)[0].sum()


def run():
    value, slope = nj.jit(nj.value_and_grad(loss))(1.2)
    return {"loss": value, "gradient": slope}


if __name__ == "__main__":
    from _figures import least, temporaries
    plain, kept = [nj.grad(lambda w, b=b: loss(w, b, 1000, 500)) for b in (block, checkpointed)]
    times = least([nj.jit(plain), nj.jit(kept)], 1.2)
    for name, fun, ms in zip(("all states", "states between blocks"), (plain, kept), times, strict=True):
        print(f"gradient that keeps {name}: {temporaries(fun, 1.2):.0f} KiB of temporaries, {ms:.1f} ms")
    for name, value in run().items():
        print(name, value, sep=" = ")
