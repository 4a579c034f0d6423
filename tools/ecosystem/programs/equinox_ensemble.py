"""Equinox: an ensemble of networks, made and trained by one vmap, with filtered transformations and a saved checkpoint.

    python -m numjet.as_jax tools/ecosystem/programs/equinox_ensemble.py
"""
import io

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

MEMBERS = 5


@eqx.filter_vmap
def make(key):
    """A member for each key."""
    return eqx.nn.MLP("scalar", "scalar", width_size=32, depth=2, activation=jnp.tanh, key=key)


def loss(network, x, y):
    """The mean squared error of one member."""
    return jnp.mean((jax.vmap(network)(x) - y) ** 2)


def main() -> None:
    """Fits sines by all members; members differ away from the data."""
    x = jnp.linspace(-2, 2, 64)
    y = jnp.sin(2 * x)
    optimizer = optax.adam(1e-2)
    networks = make(jax.random.split(jax.random.key(0), MEMBERS))
    states = eqx.filter_vmap(lambda network: optimizer.init(eqx.filter(network, eqx.is_inexact_array)))(networks)

    @eqx.filter_jit
    @eqx.filter_vmap
    def step(network, state):
        value, gradient = eqx.filter_value_and_grad(loss)(network, x, y)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(network, updates), state, value

    for _ in range(300):
        networks, states, values = step(networks, states)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, networks)
    file.seek(0)
    loaded = eqx.tree_deserialise_leaves(file, make(jax.random.split(jax.random.key(1), MEMBERS)))
    spread = eqx.filter_vmap(lambda network, x: network(x), in_axes=(eqx.if_array(0), None))(loaded, jnp.array(4.0)).std()
    print(f"losses {values.min():.4f} to {values.max():.4f}, spread at 4: {spread:.2f}")


if __name__ == "__main__":
    main()
