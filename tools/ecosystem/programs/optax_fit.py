"""Optax: a logistic regression by AdamW with a schedule and clipped gradients.

    python -m numjet.as_jax tools/ecosystem/programs/optax_fit.py
"""
import jax
import jax.numpy as jnp
import optax


def loss(weights: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """The mean cross entropy of a linear classifier."""
    return optax.sigmoid_binary_cross_entropy(x @ weights, y).mean()


def main() -> None:
    """Fits 4 weights to the signs of a known linear function."""
    x = jax.random.normal(jax.random.key(0), (256, 4))
    y = (x @ jnp.array([1.0, -2.0, 0.5, 3.0]) > 0).astype(jnp.float32)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.3, 20, 200)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
    weights = jnp.zeros(4)
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state):
        value, gradient = jax.value_and_grad(loss)(weights, x, y)
        updates, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state, value

    for _ in range(200):
        weights, state, value = step(weights, state)
    accuracy = jnp.mean((x @ weights > 0) == (y > 0))
    print(f"loss {value:.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
