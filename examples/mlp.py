"""A small network that learns exclusive or."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax

X, Y = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), jnp.array([0.0, 1.0, 1.0, 0.0])


def predict(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params):
    return jnp.mean((nj.vmap(predict, (None, 0))(params, X) - Y) ** 2)


def run():
    k1, k2 = nj.random.split(nj.random.key(0))
    params = {"w1": nj.random.normal(k1, (2, 8)), "b1": jnp.zeros(8), "w2": nj.random.normal(k2, (8,)) / 3, "b2": 0.0}

    def step(params, _):
        value, slopes = nj.value_and_grad(loss)(params)
        return nj.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value
    params, losses = nj.jit(lambda p: lax.scan(step, p, None, length=100))(params)
    return {"losses": losses[::33], "predictions": nj.vmap(predict, (None, 0))(params, X)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
