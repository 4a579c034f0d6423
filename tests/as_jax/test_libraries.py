"""Libraries for JAX, unmodified, on numjet: small programs after their documentation, with JAX not installed.

tools/ecosystem runs the libraries' own tests.
"""
from __future__ import annotations

import os
import textwrap
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("equinox") is None and "CI" not in os.environ,
                                reason="pip install --no-deps -r tests/as_jax/libraries.txt")

PROGRAMS = {
    "optax": """
        import jax, jax.numpy as jnp, numpy as np, optax
        target = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(0.5)}
        loss = lambda w: sum(jnp.sum((w[k] - target[k]) ** 2) for k in w)
        start = jax.tree.map(jnp.zeros_like, target)

        def fit(optimizer, steps):
            def step(carry, _):
                weights, state = carry
                value, gradient = jax.value_and_grad(loss)(weights)
                updates, state = optimizer.update(gradient, state, weights, value=value, grad=gradient, value_fn=loss)
                return (optax.apply_updates(weights, updates), state), value
            return jax.jit(lambda w: jax.lax.scan(step, (w, optimizer.init(w)), length=steps))(start)[0][0]

        np.testing.assert_allclose(fit(optax.sgd(0.1), 1)["a"], [0.2, -0.4], rtol=1e-6)
        np.testing.assert_allclose(fit(optax.adam(0.1), 1)["a"], [0.1, -0.1], rtol=1e-5)
        clipped = fit(optax.chain(optax.clip_by_global_norm(1.0), optax.scale(-1.0)), 1)
        assert abs(optax.global_norm(clipped) - 1) < 1e-6
        schedule = optax.warmup_cosine_decay_schedule(0.0, 0.3, 20, 300)
        np.testing.assert_allclose([schedule(0), schedule(20), schedule(300)], [0.0, 0.3, 0.0], atol=1e-6)
        labels = {"a": "fast", "b": "slow"}
        for optimizer in (optax.adamw(schedule, weight_decay=0.0), optax.lion(schedule), optax.rmsprop(schedule),
                          optax.multi_transform({"fast": optax.adam(0.1), "slow": optax.sgd(0.1)}, labels)):
            found = fit(optimizer, 300)
            assert loss(found) < 2e-2, found
        assert loss(fit(optax.lbfgs(), 10)) < 1e-9
        frozen = fit(optax.multi_transform({"fast": optax.adam(0.1), "slow": optax.set_to_zero()}, labels), 200)
        assert frozen["b"] == 0 and abs(frozen["a"][0] - 1) < 1e-2
        logits = jnp.array([[2.0, 1.0, -1.0]])
        np.testing.assert_allclose(optax.softmax_cross_entropy_with_integer_labels(logits, jnp.array([1])), [1.3490], rtol=1e-4)
    """,
    "chex": """
        import chex, jax, jax.numpy as jnp
        @chex.dataclass
        class Point:
            x: chex.Array
            y: chex.Array
        p = jax.jit(lambda p: p.replace(x=p.x + p.y))(Point(x=jnp.ones(2), y=jnp.ones(2)))
        chex.assert_trees_all_close(p, Point(x=jnp.full(2, 2.0), y=jnp.ones(2)))
        chex.assert_shape([p.x, p.y], (2,))
        chex.assert_tree_all_finite(p)
        chex.assert_equal_shape([p.x, p.y])

        def fails(check, *args, error=AssertionError, **kwargs):
            try:
                check(*args, **kwargs)
            except error as found:
                return str(found)
            raise RuntimeError("no error")

        assert "shape" in fails(chex.assert_shape, p.x, (3,))
        fails(chex.assert_type, p.x, int)
        traced = jax.jit(chex.assert_max_traces(lambda x: x + 1, n=1))
        traced(1.0), traced(2.0)
        assert "traced > 1 times" in fails(traced, jnp.ones(3))
        fails(chex.assert_max_traces, jax.jit(lambda x: x), n=1, error=ValueError)

        @chex.chexify
        @jax.jit
        def positive_log(x):
            chex.assert_trees_all_equal(x > 0, jnp.ones_like(x, bool))
            return jnp.log(x)
        positive_log(jnp.ones(2))
        def run(x):
            positive_log(x)
            positive_log.wait_checks()
        assert "chexify" in fails(run, -jnp.ones(2))
        with chex.fake_jit():
            assert jax.jit(lambda x: x if x > 1 else -x)(3) == 3
        chex.assert_numerical_grads(lambda x: jnp.sum(jnp.sin(x)), (jnp.ones(3),), order=1, atol=1e-2, rtol=1e-2)
    """,
    "equinox": """
        import io
        import equinox as eqx, jax, jax.numpy as jnp, numpy as np
        key = jax.random.key(0)
        network = eqx.nn.MLP(2, "scalar", width_size=8, depth=2, key=key)

        @eqx.filter_jit
        @eqx.filter_value_and_grad
        def loss(network, x, y):
            return jnp.mean((jax.vmap(network)(x) - y) ** 2)

        x = jnp.arange(8.0).reshape(4, 2)
        value, gradient = loss(network, x, jnp.ones(4))
        after = eqx.apply_updates(network, jax.tree.map(lambda g: -1e-4 * g, gradient))
        assert loss(after, x, jnp.ones(4))[0] < value and gradient.activation is None

        several = eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 3, key=key))(jax.random.split(key, 5))
        outs = eqx.filter_vmap(lambda layer, x: layer(x), in_axes=(eqx.if_array(0), None))(several, x[0])
        np.testing.assert_allclose(outs, several.weight @ x[0] + several.bias, rtol=1e-5)

        norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, axis_name="batch", mode="batch")
        out, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
        np.testing.assert_allclose(out.mean(0), 0, atol=1e-6)

        file = io.BytesIO()
        eqx.tree_serialise_leaves(file, network)
        file.seek(0)
        assert eqx.tree_equal(eqx.tree_deserialise_leaves(file, after), network)

        def power(x):
            step = lambda c: (jnp.sin(c[0]) * 1.1, c[1] + 1)
            return eqx.internal.while_loop(lambda c: c[1] < 3, step, (x, 0), max_steps=8, kind="checkpointed")[0]
        want = jax.grad(lambda x: 1.1 * jnp.sin(1.1 * jnp.sin(1.1 * jnp.sin(x))))(0.7)
        np.testing.assert_allclose(jax.jit(jax.grad(power))(0.7), want, rtol=1e-5)

        checked = eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "negative"))
        assert checked(jnp.array(1.0)) == 1
        try:
            checked(jnp.array(-1.0))
        except Exception as error:
            assert "negative" in str(error)
        else:
            raise AssertionError("no error")
        assert "weight=f32[3,2]" in eqx.tree_pformat(eqx.nn.Linear(2, 3, key=key))
    """,
}


@pytest.mark.parametrize("library", PROGRAMS)
def test_programs_of_libraries(run_as_jax, library):
    run_as_jax('import warnings\nwarnings.simplefilter("ignore")\n' + textwrap.dedent(PROGRAMS[library]))
