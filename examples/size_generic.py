"""One program for 200 batch sizes: `jit(dynamic_axes=)`, and what it costs beside programs for one size."""
import time

import numpy as np

import numjet as nj
import numjet.numpy as jnp

WEIGHTS = {"in": jnp.cos(jnp.arange(64.0 * 32).reshape(64, 32)) / 8, "out": jnp.sin(jnp.arange(32.0 * 4).reshape(32, 4)) / 6}


def loss(weights, images):
    """The cross entropy of a small network, if class 0 were always right."""
    scores = jnp.tanh(images @ weights["in"]) @ weights["out"]
    return -jnp.mean(nj.nn.log_softmax(scores)[:, 0])


def generic(traced):
    """The gradient for all batch sizes; appends to a list whenever it is traced."""
    @nj.jit(dynamic_axes={"images": {0: "batch"}})
    def gradient(weights, images):
        traced.append(images.shape)
        return nj.value_and_grad(loss)(weights, images)
    return gradient


def batch(n):
    return jnp.sin(jnp.arange(64.0 * n).reshape(n, 64))


def run(sizes=(1, 3, 30, 200)):
    gradient = generic([])
    found = [gradient(WEIGHTS, batch(n)) for n in sizes]
    known = [nj.jit(nj.value_and_grad(loss))(WEIGHTS, batch(n)) for n in sizes]
    worst = max(float(jnp.abs(a - b).max()) for a, b in zip(nj.tree.leaves(found), nj.tree.leaves(known), strict=True))
    return {"losses": [value for value, _ in found], "as programs for one size give": jnp.bool_(worst < 1e-6)}


def least(*functions, repeats=60):
    """The least time of each, called in turn, in milliseconds."""
    times = [[] for _ in functions]
    for _ in range(repeats):
        for f, own in zip(functions, times, strict=True):
            start = time.perf_counter()
            nj.block_until_ready(f())
            own.append(1e3 * (time.perf_counter() - start))
    return map(min, times)


if __name__ == "__main__":
    traced = []
    gradient = generic(traced)
    for n in range(1, 201):
        gradient(WEIGHTS, batch(n))
    print("programs for 200 batch sizes =", len(traced))
    for n in (3000, 20000):
        images = jnp.asarray(np.asarray(batch(n)))
        special = nj.jit(nj.value_and_grad(loss))
        gradient(WEIGHTS, images), special(WEIGHTS, images)
        ours, theirs = least(lambda x=images: gradient(WEIGHTS, x), lambda x=images, f=special: f(WEIGHTS, x))
        print(f"batch of {n}: {ours:.2f} ms, as a program for this size {theirs:.2f} ms, ratio {ours / theirs:.2f}")
    for name, value in run().items():
        print(name, value, sep=" = ")
