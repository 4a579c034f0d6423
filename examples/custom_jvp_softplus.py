"""log(1 + exp(x)) with a derivative that does not overflow."""
import numjet as nj
import numjet.numpy as jnp


@nj.custom_jvp
def softplus(x):
    return jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.maximum(x, 0)


@softplus.defjvp
def softplus_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus(x), nj.nn.sigmoid(x) * t


def run():
    x = jnp.array([-100.0, -1.0, 0.0, 1.0, 100.0])
    slope = nj.grad(softplus)
    return {"values": nj.jit(softplus)(x), "slopes": nj.vmap(slope)(x), "curvature": nj.vmap(nj.grad(slope))(x)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
