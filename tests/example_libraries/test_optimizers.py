"""numjet.example_libraries.optimizers: descent on a quadratic, schedules, clipping, states as pytrees."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.example_libraries import optimizers

ALL = {
    "sgd": (0.1,), "momentum": (0.05, 0.9), "nesterov": (0.05, 0.9), "adagrad": (0.3,), "rmsprop": (0.02,),
    "rmsprop_momentum": (0.01,), "adam": (0.1,), "adamax": (0.1,), "sm3": (0.3,),
}


@pytest.mark.parametrize("name", ALL)
def test_all_descend_on_trees_under_jit(name):
    opt_init, opt_update, get_params = getattr(optimizers, name)(*ALL[name])
    params = {"a": jnp.array([2.0, -1.0]), "b": (jnp.ones((2, 2)),)}
    loss = lambda p: sum(jnp.sum(jnp.square(x)) for x in nj.tree.leaves(p))

    @nj.jit
    def step(i, state):
        return opt_update(i, nj.grad(loss)(get_params(state)), state)
    state = opt_init(params)
    for i in range(150):
        state = step(i, state)
    assert loss(get_params(state)) < 0.05 * loss(params)
    assert nj.tree.structure(get_params(state)) == nj.tree.structure(params)


def test_schedules():
    at = lambda schedule, *steps: [float(schedule(i)) for i in steps]
    assert at(optimizers.constant(0.5), 0, 9) == [0.5, 0.5]
    assert at(optimizers.exponential_decay(1.0, 2, 0.25), 0, 1, 2) == [1.0, 0.5, 0.25]
    assert at(optimizers.inverse_time_decay(1.0, 2, 1.0), 2, 6) == [0.5, 0.25]
    assert at(optimizers.inverse_time_decay(1.0, 2, 1.0, staircase=True), 1, 3) == [1.0, 0.5]
    assert at(optimizers.polynomial_decay(1.0, 2, 0.5), 0, 1, 2, 5) == [1.0, 0.75, 0.5, 0.5]
    assert at(optimizers.piecewise_constant([2, 4], [1.0, 0.5, 0.25]), 2, 3, 5) == [1.0, 0.5, 0.25]
    assert optimizers.make_schedule(3)(0) == 3
    with pytest.raises(ValueError, match="one more value"):
        optimizers.piecewise_constant([2], [1.0])
    with pytest.raises(TypeError, match="a number or a function"):
        optimizers.make_schedule(np.ones(2))


def test_gradients_are_clipped():
    assert optimizers.clip_grads({"a": 3.0, "b": 4.0}, 10.0) == {"a": 3.0, "b": 4.0}
    assert float(optimizers.l2_norm(optimizers.clip_grads([jnp.array([3.0]), 4.0], 1.0))) == pytest.approx(1)


def test_states_are_packed_and_unpacked():
    opt = optimizers.adam(0.1)
    state = opt.init_fn({"w": jnp.ones(2), "b": 1.0})
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["w"], optimizers.JoinPoint)
    back = optimizers.pack_optimizer_state(marked)
    assert nj.tree.structure(back) == nj.tree.structure(state)
    with pytest.raises(TypeError, match="JoinPoints"):
        optimizers.pack_optimizer_state({"w": 1.0})


def test_errors():
    opt = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="gradient tree that did not match the parameter tree"):
        opt.update_fn(0, {"v": 1.0}, opt.init_fn({"w": 1.0}))
    with pytest.raises(ValueError, match="at least one axis"):
        optimizers.sm3(0.1).init_fn(1.0)
    with pytest.raises(ValueError, match="equal lengths"):
        optimizers.safe_zip([1], [1, 2])
