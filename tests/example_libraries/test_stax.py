"""numjet.example_libraries.stax: shapes that init predicts are those that apply gives; values of small layers."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.example_libraries import stax

IMAGE = (2, 8, 9, 3)
LAYERS = {
    "Dense": (stax.Dense(4), (2, 3)),
    "Conv": (stax.Conv(4, (3, 2), strides=(2, 1), padding="SAME"), IMAGE),
    "GeneralConv": (stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (3, 3)), (2, 3, 8, 9)),
    "Conv1DTranspose": (stax.Conv1DTranspose(4, (3,), strides=(2,)), (2, 8, 3)),
    "ConvTranspose": (stax.ConvTranspose(4, (3, 3), padding="SAME"), IMAGE),
    "BatchNorm": (stax.BatchNorm(), IMAGE),
    "BatchNormBare": (stax.BatchNorm(axis=(0, 1), center=False, scale=False), (4, 3, 2)),
    "MaxPool": (stax.MaxPool((3, 3), strides=(2, 2)), IMAGE),
    "SumPool": (stax.SumPool((2, 2), padding="SAME"), IMAGE),
    "AvgPool": (stax.AvgPool((2, 2), spec="NCHW"), IMAGE),
    "Flatten": (stax.Flatten, IMAGE),
    "Flatten1": (stax.Flatten, (2, 3)),
    "Dropout": (stax.Dropout(0.9), (2, 3)),
    "all": (stax.serial(stax.FanOut(2), stax.parallel(stax.serial(stax.Dense(5), stax.Tanh), stax.Identity),
                        stax.FanInConcat(), stax.Dense(3), stax.LogSoftmax), (2, 3)),
    "sum": (stax.serial(stax.FanOut(3), stax.parallel(stax.Relu, stax.Exp, stax.Gelu), stax.FanInSum), (2, 3)),
    "dependent": (stax.shape_dependent(lambda shape: stax.AvgPool(shape[1:-1])), IMAGE),
}


@pytest.mark.parametrize("name", LAYERS)
def test_shapes_and_gradients(name):
    (init, apply), shape = LAYERS[name]
    key = random.key(0)
    predicted, params = init(key, shape)
    x = random.normal(random.key(1), shape)
    out = nj.jit(lambda p, x: apply(p, x, rng=key))(params, x)
    assert out.shape == predicted
    grads = nj.grad(lambda p: jnp.sum(apply(p, x, rng=key)))(params)
    assert all(jnp.all(jnp.isfinite(g)) for g in nj.tree.leaves((out, grads)))


@pytest.mark.parametrize("name", ["Conv", "MaxPool", "SumPool", "Flatten", "ConvTranspose"])
def test_any_batch_size(name):
    (init, _), shape = LAYERS[name]
    out, _ = init(random.key(0), (-1, *shape[1:]))
    assert out == (-1, *init(random.key(0), shape)[0][1:])


def test_parameters_of_parallel_layers_are_tuples():
    shapes, params = stax.parallel(stax.Dense(2), stax.Identity)[0](random.key(0), [(1, 3), (1, 2)])
    assert shapes == ((1, 2), (1, 2)) and isinstance(params, tuple) and params[1] == ()


def test_values():
    x = jnp.arange(4.0).reshape(1, 2, 2, 1)
    assert stax.AvgPool((2, 2), padding="SAME")[1]((), x).ravel().tolist() == [1.5, 2.0, 2.5, 3.0]
    assert stax.MaxPool((2, 2))[1]((), x).ravel().tolist() == [3.0]
    kept = stax.Dropout(0.25)[1]((), jnp.ones(4000), rng=random.key(0))
    assert set(kept.tolist()) == {0.0, 4.0} and abs(float(kept.mean()) - 1) < 0.15
    assert stax.Dropout(0.25, mode="test")[1]((), x, rng=random.key(0)) is x
    out = stax.BatchNorm(0)[1]((jnp.array([1.0]), jnp.array([2.0])), jnp.array([[1.0], [3.0]]))
    np.testing.assert_allclose(out, [[-1.0], [3.0]], atol=1e-4)


def test_dropout_needs_a_key():
    with pytest.raises(ValueError, match="requires apply_fun to be called with a PRNG key"):
        stax.Dropout(0.5)[1]((), jnp.ones(2))


def test_identity_takes_anything():
    _, apply = stax.Identity
    assert apply((), (1.0, None)) == (1.0, None)
