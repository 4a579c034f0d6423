"""numjet.ops and numjet.flatten_util."""
import functools

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import ops
from numjet.flatten_util import ravel_pytree

DATA, IDS = np.arange(12.0, dtype="float32").reshape(6, 2), np.array([0, 2, 2, 0, 4, -1])
REDUCERS = {"segment_sum": (np.sum, 0), "segment_prod": (np.prod, 1), "segment_max": (np.max, -np.inf),
            "segment_min": (np.min, np.inf)}


@pytest.mark.parametrize("name", REDUCERS)
@pytest.mark.parametrize("kwargs", [{}, {"num_segments": 3}, {"num_segments": 6}, {"num_segments": 5, "bucket_size": 2}])
def test_segments(name, kwargs):
    fn, (reducer, empty) = getattr(ops, name), REDUCERS[name]
    count = kwargs.get("num_segments", 5)
    want = [reducer(DATA[n == IDS], 0) if (n == IDS).any() else [empty] * 2 for n in range(count)]
    assert fn(DATA, IDS, **kwargs).tolist() == np.array(want).tolist()
    if kwargs:
        assert nj.jit(lambda d, i: fn(d, i, **kwargs))(DATA, IDS).tolist() == np.array(want).tolist()


def test_segment_derivatives():
    slope = nj.grad(lambda d: (ops.segment_sum(d, IDS, 5) ** 2).sum())(DATA)
    assert slope.tolist() == [[12, 16], [12, 16], [12, 16], [12, 16], [16, 18], [0, 0]]
    assert nj.grad(lambda d: ops.segment_max(d, IDS, 5)[2].sum())(DATA).tolist() == [[0, 0], [0, 0], [1, 1], [0, 0],
                                                                                     [0, 0], [0, 0]]


def test_empty_integer_segments_hold_the_limits():
    assert ops.segment_max(jnp.arange(2), jnp.array([0, 2])).tolist() == [0, -2 ** 31, 1]
    assert ops.segment_min(jnp.array([True, False]), jnp.array([0, 2])).tolist() == [True, True, False]


def test_segment_errors():
    with pytest.raises(ValueError, match="non-negative"):
        ops.segment_sum(DATA, IDS, -1)
    with pytest.raises(ValueError, match="segment_ids"):
        ops.segment_sum(DATA, IDS[:3])
    with pytest.raises(nj.errors.ConcretizationTypeError):
        nj.jit(ops.segment_sum)(DATA, IDS)


def test_ravel_and_back():
    tree = {"a": jnp.ones((2, 2)), "b": [jnp.arange(3), 2.5]}
    flat, unravel = ravel_pytree(tree)
    assert flat.tolist() == [1, 1, 1, 1, 0, 1, 2, 2.5] and flat.dtype == "float32"
    back = unravel(flat * 2)
    assert back["a"].tolist() == [[2, 2], [2, 2]] and back["b"][0].dtype == "int32" and float(back["b"][1]) == 5
    assert nj.grad(lambda v: (unravel(v)["a"] ** 2).sum())(flat).tolist() == [2, 2, 2, 2, 0, 0, 0, 0]
    assert nj.jit(lambda t: ravel_pytree(t)[0])(tree).tolist() == flat.tolist()
    assert ravel_pytree({})[0].shape == (0,)


def test_unravel_checks_its_vector():
    _, unravel = ravel_pytree([jnp.arange(3), jnp.arange(2.0)])
    with pytest.raises(ValueError, match="expected shape"):
        unravel(jnp.arange(4.0))
    with pytest.raises(TypeError, match="expected dtype float32"):
        unravel(jnp.arange(5))


def test_unravel_keeps_the_dtype_of_its_vector_where_the_leaves_have_one():
    _, unravel = ravel_pytree([jnp.arange(3), jnp.arange(2)])
    assert [x.dtype for x in unravel(jnp.arange(5) < 2)] == ["bool", "bool"]


def test_unravels_of_equal_trees_are_equal():
    flat, unravel = ravel_pytree([jnp.arange(3), 1.5])
    _, other = ravel_pytree([jnp.ones(3, "int32"), 2.5])
    assert unravel == other and hash(unravel) == hash(other) and unravel != ravel_pytree([jnp.arange(4), 1.5])[1]
    call = nj.jit(lambda v, f: f(v + 1), static_argnums=1)
    assert call(flat, unravel)[0].tolist() == call(flat, other)[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("data", [2.0, np.float32(2), np.full((1,), 2, "f"), np.full((1, 3), 2, "f")], ids=np.shape)
@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_one_number_or_row_joins_every_segment(name, data):
    """As the update of a scatter is broadcast in JAX: jraph counts nodes by segment_sum(1, ids)."""
    ids = np.array([0, 1, 1, 0, 2, 2, 0, 1])
    f = getattr(nj.ops, name)
    want = f(np.broadcast_to(np.asarray(data, np.float32), (8, *np.shape(data)[1:])), ids, 3)
    for g in (f, nj.jit(f, static_argnums=2)):
        np.testing.assert_array_equal(g(data, ids, 3), want)
    with pytest.raises(ValueError, match="segment_ids of shape"):
        f(np.ones((2, 3)), ids, 3)


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
@pytest.mark.parametrize("bucket_size", [None, 1])
def test_segment_numbers_of_other_shapes(name, bucket_size):
    """Every number takes a row of the data, which are broadcast to the numbers' shape, as `.at` does."""
    rows, ids = jnp.arange(1.0, 7).reshape(2, 3), jnp.array([[0, 2], [2, 1]])
    f = functools.partial(getattr(nj.ops, name), num_segments=3, bucket_size=bucket_size)
    want = f(rows[jnp.array([0, 1, 0, 1])], ids.ravel())
    for g in (f, nj.jit(f)):
        np.testing.assert_array_equal(g(rows, ids), want)
        np.testing.assert_array_equal(g(rows[0, 2], ids[1, 1]), f(rows[:1, 2], ids[1, 1:]))


@pytest.mark.parametrize("name", ["segment_sum", "segment_max", "segment_min"])
def test_gradients_of_no_segments_are_zeros(name):
    f = lambda data: getattr(nj.ops, name)(data, jnp.arange(3), 0).sum()
    np.testing.assert_array_equal(nj.grad(f)(jnp.ones((3, 2))), np.zeros((3, 2)))


@pytest.mark.parametrize("bucket_size", [0, -1])
def test_buckets_hold_a_row_at_least(bucket_size):
    with pytest.raises(ValueError, match="segment_prod: bucket_size must be None or at least 1"):
        nj.ops.segment_prod(jnp.ones(3), jnp.arange(3), 3, bucket_size=bucket_size)
