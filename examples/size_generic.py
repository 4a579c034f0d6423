"""One program for 200 batch sizes: `jit(dynamic_axes=)`, and what it costs beside programs for one size."""
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


def columns_of(x):
    """Running sums along a dynamic axis that is not the first, and products that contract it."""
    return jnp.cumsum(nj.nn.softmax(x, axis=1), 1), x @ x.T, jnp.concatenate([x[:, 1:], x[:, :1]], 1)


def batch(n):
    return jnp.sin(jnp.arange(64.0 * n).reshape(n, 64))


def run(sizes=(1, 30)):
    gradient = generic([])
    found = [gradient(WEIGHTS, batch(n)) for n in sizes]
    known = [nj.jit(nj.value_and_grad(loss))(WEIGHTS, batch(n)) for n in sizes]
    worst = max(float(jnp.abs(a - b).max()) for a, b in zip(nj.tree.leaves(found), nj.tree.leaves(known), strict=True))
    columns = nj.jit(columns_of, dynamic_axes={"x": {1: "n"}})
    same = all(bool(jnp.allclose(a, b, atol=1e-4)) for n in sizes
               for a, b in zip(columns(batch(n).T), columns_of(batch(n).T), strict=True))
    return {"losses": [value for value, _ in found], "as programs for one size give": jnp.bool_(worst < 1e-6),
            "columns as operations one by one give": jnp.bool_(same)}


if __name__ == "__main__":
    from _figures import least
    traced, largest = [], np.asarray(batch(20000))
    gradient = generic(traced)
    for n in range(1, 201):
        gradient(WEIGHTS, largest[:n])
    print("programs for 200 batch sizes =", len(traced))
    for n in (3000, 20000):
        images = jnp.asarray(largest[:n])
        ours, theirs = least([gradient, nj.jit(nj.value_and_grad(loss))], WEIGHTS, images, repeats=40)
        print(f"batch of {n}: {ours:.2f} ms, as a program for this size {theirs:.2f} ms, ratio {ours / theirs:.2f}")
    columns = nj.jit(columns_of, dynamic_axes={"x": {1: "n"}})
    for n in (300, 3000, 2000):
        x = jnp.asarray(largest[:n].T)
        ours, theirs = least([columns, nj.jit(columns_of)], x, repeats=60)
        print(f"{n} columns: {ours:.2f} ms, as a program for this size {theirs:.2f} ms, ratio {ours / theirs:.2f}")
    for name, value in run().items():
        print(name, value, sep=" = ")
