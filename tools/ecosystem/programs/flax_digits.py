"""Flax: a convolutional network with batch normalization and dropout, in both of Flax's interfaces.

    python -m numjet.as_jax tools/ecosystem/programs/flax_digits.py
"""
import flax.linen as nn
import jax
import optax
from flax import nnx
from flax.training.train_state import TrainState


def images(key):
    """Noisy 8x8 images with a bright row, and which row it is."""
    rows = jax.random.randint(key, (128,), 0, 4)
    return jax.nn.one_hot(2 * rows, 8)[:, :, None, None] + 0.3 * jax.random.normal(key, (128, 8, 8, 1)), rows


class Linen(nn.Module):
    """The network as a module with state outside."""

    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
        x = nn.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1)
        return nn.Dense(4)(nn.Dropout(0.2, deterministic=not train)(x))


class State(TrainState):
    """Parameters, optimizer, and the averages of batch normalization."""
    averages: dict


def train_linen(x, y):
    """The loss after 60 steps."""
    model = Linen()
    made = model.init(jax.random.key(1), x, False)
    state = State.create(apply_fn=model.apply, params=made["params"], averages=made["batch_stats"], tx=optax.adam(1e-2))

    @jax.jit
    def step(state):
        def loss(params):
            out, changed = state.apply_fn({"params": params, "batch_stats": state.averages}, x, True, mutable=["batch_stats"],
                                          rngs={"dropout": jax.random.fold_in(jax.random.key(2), state.step)})
            return optax.softmax_cross_entropy_with_integer_labels(out, y).mean(), changed["batch_stats"]
        (value, averages), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=gradient, averages=averages), value

    for _ in range(60):
        state, value = step(state)
    return value


class Nnx(nnx.Module):
    """The network as an object that holds its state."""

    def __init__(self, rngs):
        self.conv, self.norm = nnx.Conv(1, 8, (3, 3), rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.dropout, self.dense = nnx.Dropout(0.2, rngs=rngs), nnx.Linear(128, 4, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), (2, 2))
        return self.dense(self.dropout(x.reshape(x.shape[0], -1)))


def train_nnx(x, y):
    """The loss after 60 steps."""
    model = Nnx(nnx.Rngs(1))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        value, gradient = nnx.value_and_grad(
            lambda model: optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean())(model)
        optimizer.update(model, gradient)
        return value

    for _ in range(60):
        value = step(model, optimizer)
    return value


def main() -> None:
    """Trains both."""
    x, y = images(jax.random.key(0))
    print(f"linen: loss {train_linen(x, y):.4f}")
    print(f"nnx: loss {train_nnx(x, y):.4f}")


if __name__ == "__main__":
    main()
