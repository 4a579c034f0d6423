"""stack, unstack, broadcast_like, stage, with_sharding_constraint, approximate top k and accuracies."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack(axis):
    np.testing.assert_array_equal(lax.stack([X, X + 1, X + 2], axis), np.stack([X, X + 1, X + 2], axis))
    assert lax.stack((1, 2)).dtype == np.int32


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack(axis):
    got = lax.unstack(X, axis)
    assert isinstance(got, tuple) and len(got) == X.shape[axis]
    np.testing.assert_array_equal(np.stack(got, axis), X)
    assert nj.grad(lambda x: jnp.sum(lax.unstack(x, axis)[1] ** 2))(X).shape == X.shape
    assert lax.unstack(np.zeros((2, 0)), 1) == ()


def test_broadcast_like():
    np.testing.assert_array_equal(lax.broadcast_like(X[0], X), np.broadcast_to(X[0], X.shape))
    got = lax.broadcast_like(X[:, :1], np.zeros((4, 2, 3), np.int8))
    assert got.shape == (4, 2, 3) and got.dtype == np.float32


def test_stage():
    assert lax.stage(2.0).weak_type and lax.stage(X).shape == (2, 3)
    seen = []

    def f(x):
        seen.append(lax.stage(3))
        return seen[0] + x
    assert nj.jit(f)(1) == 4 and isinstance(seen[0], nj.core.trace.Tracer)


HERE = nj.sharding.SingleDeviceSharding(nj.devices()[0])


def test_with_sharding_constraint():
    out = nj.jit(lambda x: lax.with_sharding_constraint({"a": x, "b": 1.0}, HERE))(X)
    np.testing.assert_array_equal(out["a"], X)
    for sharding, error, message in ((None, ValueError, "sharding None which"), ("cpu", TypeError, "with a device_set")):
        with pytest.raises(error, match=message):
            lax.with_sharding_constraint(X, sharding)


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.stack([]), ValueError, "lax.stack requires at least one operand"),
    (lambda: lax.stack([X, X[0]]), ValueError, r"equal shapes, got \(2, 3\), \(3,\)"),
    (lambda: lax.stack([X, X], 4), ValueError, "axis 4 is out of bounds"),
    (lambda: lax.stack([X, np.int32(X)]), TypeError, "the same dtypes, got float32, int32"),
    (lambda: lax.unstack(X, 2), ValueError, "axis 2 is out of bounds"),
    (lambda: lax.unstack(1.0), ValueError, "axis 0 is out of bounds"),
    (lambda: lax.broadcast_like(X, X[0]), ValueError, "broadcast_like: cannot broadcast to fewer dimensions"),
    (lambda: lax.broadcast_like(X, np.ones((3, 3))), ValueError, "does not broadcast to the shape"),
    (lambda: lax.approx_max_k(np.arange(5), 2), ValueError, "approx_max_k: operand must be a floating type, got int"),
    (lambda: lax.approx_min_k(X, 4), ValueError, "approx_min_k: k must be smaller than .* 3, got 4"),
    (lambda: lax.approx_min_k(X, 2, 2), ValueError, "axis 2 is out of bounds"),
    (lambda: lax.approx_min_k(X, 2, recall_target=1.5), ValueError, "recall_target must be above 0 and at most 1"),
    (lambda: lax.exp(X, accuracy="high"), TypeError, "lax.exp: accuracy must be None, an AccuracyMode or a Tolerance"),
    (lambda: lax.Tolerance(), ValueError, "At least one"), (lambda: lax.Tolerance(-1.0), ValueError, "non-negative"),
    (lambda: lax.Tolerance(1, 1, 1), ValueError, "At most two"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_approximate_top_k_gives_a_list():
    assert type(lax.approx_max_k(X, 2)) is type(lax.approx_min_k(X, 2)) is list


def test_approximate_top_k_is_exact():
    x = np.random.default_rng(0).normal(size=(4, 30)).astype(np.float32)
    for f, order in ((lax.approx_max_k, -x), (lax.approx_min_k, x)):
        want = np.argsort(order, 1, kind="stable")[:, :5]
        for options in ({}, {"recall_target": 0.5}):
            values, places = f(x, 5, **options)
            np.testing.assert_array_equal(places, want)
            np.testing.assert_array_equal(values, np.take_along_axis(x, want, 1))
        values, places = f(x, 2, reduction_dimension=0)
        np.testing.assert_array_equal(places, np.argsort(order, 0, kind="stable")[:2])
        g = nj.grad(lambda x, f=f: jnp.sum(f(x, 5)[0] ** 2))(x)
        chosen = np.zeros_like(x)
        np.put_along_axis(chosen, want, 2 * np.take_along_axis(x, want, 1), 1)
        np.testing.assert_allclose(g, chosen)


@pytest.mark.parametrize(("shape", "k", "options", "size"), [
    ((10,), 1, {}, 10), ((1025,), 1, {}, 1024), ((1025,), 2, {}, 1025), ((4096,), 3, {"recall_target": 0.999}, 2048),
    ((5000,), 50, {"recall_target": 0.99, "reduction_input_size_override": 10000}, 3072), ((3, 300), 1, {}, 128),
    ((3, 300), 3, {}, 256), ((2, 2000), 10, {"recall_target": 0.99}, 1024), ((2, 2000), 10, {"recall_target": 1.0}, 2000),
    ((2, 1000), 2, {"recall_target": 0.5, "reduction_input_size_override": 7000}, 128)])
def test_candidates_that_are_not_aggregated_are_as_many_as_in_jax(shape, k, options, size):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    values, places = nj.jit(lambda x: lax.approx_max_k(x, k, aggregate_to_topk=False, **options))(x)
    assert values.shape == places.shape == (*shape[:-1], size)
    np.testing.assert_array_equal(values, np.take_along_axis(x, np.asarray(places), -1))
    np.testing.assert_array_equal(values, -np.sort(-x)[..., :size])


def test_approximate_top_k_is_an_operation_of_its_own():
    assert "approx_top_k[" in str(nj.make_jaxpr(nj.vmap(lambda x: lax.approx_min_k(x, 2)))(X)) and lax.approx_top_k_p
    with pytest.raises(ValueError, match="ask for 2048 candidates"):
        lax.approx_max_k(np.zeros(1025, np.float32), 2, reduction_input_size_override=9000, aggregate_to_topk=False)


def test_least_elements_keep_the_order_of_equal_zeros():
    values, places = lax.approx_min_k(np.float32([0, -0.0, 0]), 3)
    assert places.tolist() == [0, 1, 2] and np.signbit(values).tolist() == [False, True, False]


def test_accuracies():
    for accuracy in (lax.AccuracyMode.HIGHEST, lax.AccuracyMode.DEFAULT, lax.Tolerance(rtol=1e-5), lax.Tolerance(1e-6, 0, 3)):
        np.testing.assert_allclose(lax.sin(X, accuracy=accuracy), np.sin(X), rtol=1e-6)
    assert lax.Tolerance(1.0) == lax.Tolerance(1.0) != lax.Tolerance(2.0)
    assert repr(lax.Tolerance(ulps=2)) == "Tolerance(atol=0.0, rtol=0.0, ulps=2)"


def test_shapes_as_values():
    assert lax.shape_as_value((2, 3)).tolist() == [2, 3] and lax.shape_as_value(()).shape == (0,)
    assert lax.shape_as_value((2, 3)).dtype == np.int32


def test_shape_as_value_of_arrays():
    for shape in ((2, 3), [2, 3], np.array([2, 3]), jnp.array([2, 3])):
        assert lax.shape_as_value(shape).tolist() == [2, 3]
    assert lax.shape_as_value(jnp.zeros(0)).shape == (0,)
