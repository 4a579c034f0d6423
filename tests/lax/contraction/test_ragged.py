"""ragged_dot, ragged_dot_general and scaled_dot against loops."""
import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

RNG = np.random.default_rng(0)
Numbers = lax.RaggedDotDimensionNumbers
LHS, RHS = RNG.normal(size=(7, 3)).astype(np.float32), RNG.normal(size=(3, 3, 2)).astype(np.float32)


def parts(sizes):
    ends = np.cumsum(sizes)
    return [slice(e - n, e) for e, n in zip(ends, sizes, strict=True)]


def by_loop(x, w, sizes, first=0):
    out = np.zeros((len(x), w.shape[2]), x.dtype)
    for g, rows in list(enumerate(parts(sizes)))[first:first + len(w)]:
        out[rows] = x[rows] @ w[g - first]
    return out


@pytest.mark.parametrize("sizes", [[2, 3, 2], [0, 7, 0], [1, 0, 2], [0, 0, 0], [5, 5, 5]])
def test_ragged_dot(sizes):
    want = by_loop(LHS, RHS, sizes)
    for f in (lax.ragged_dot, nj.jit(lax.ragged_dot)):
        np.testing.assert_allclose(f(LHS, RHS, np.int32(sizes)), want, rtol=1e-5, atol=1e-6)


def test_group_offset_leaves_the_other_groups_zero():
    sizes = np.int32([1, 2, 1, 3])
    got = lax.ragged_dot(LHS, RHS[:2], sizes, group_offset=np.int32([1]))
    np.testing.assert_allclose(got, by_loop(LHS, RHS[:2], sizes, 1), rtol=1e-5, atol=1e-6)


def test_nan_outside_of_the_groups_is_not_read():
    x = LHS.copy()
    x[5:] = np.nan
    assert np.isfinite(lax.ragged_dot(x, RHS, np.int32([2, 1, 2]))).all()


def test_batches_and_sizes_per_batch():
    x, w = RNG.normal(size=(4, 5, 3)).astype(np.float32), RNG.normal(size=(2, 4, 3, 6)).astype(np.float32)
    sizes = np.int32([[1, 4], [5, 0], [0, 2], [2, 2]])
    numbers = Numbers((((2,), (2,)), ((0,), (1,))), [1], [0])
    want = np.stack([by_loop(x[b], w[:, b], sizes[b]) for b in range(4)])
    np.testing.assert_allclose(lax.ragged_dot_general(x, w, sizes, numbers), want, rtol=1e-5, atol=1e-6)
    one = np.stack([by_loop(x[b], w[:, b], [1, 3]) for b in range(4)])
    np.testing.assert_allclose(lax.ragged_dot_general(x, w, np.int32([1, 3]), numbers), one, rtol=1e-5, atol=1e-6)
    batched = nj.vmap(lax.ragged_dot, in_axes=(0, 1, 0))(x, w, sizes)
    np.testing.assert_allclose(batched, want, rtol=1e-5, atol=1e-6)


def test_a_contracted_ragged_axis_gives_a_result_per_group():
    y, sizes = RNG.normal(size=(7, 2)).astype(np.float32), np.int32([3, 0, 2])
    got = lax.ragged_dot_general(LHS, y, sizes, Numbers((((0,), (0,)), ((), ())), [0], []))
    np.testing.assert_allclose(got, np.stack([LHS[p].T @ y[p] for p in parts(sizes)]), rtol=1e-5, atol=1e-6)


def test_a_ragged_batch():
    x, y = RNG.normal(size=(4, 2, 3)).astype(np.float32), RNG.normal(size=(4, 3, 2)).astype(np.float32)
    got = lax.ragged_dot_general(x, y, np.int32([1, 2]), Numbers((((2,), (1,)), ((0,), (0,))), [0], []))
    want = x @ y
    want[3:] = 0
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_dtypes():
    half = lambda x: x.astype(ml_dtypes.bfloat16)
    assert lax.ragged_dot(half(LHS), half(RHS), np.int32([1, 2, 3])).dtype == ml_dtypes.bfloat16
    wide = lax.ragged_dot(half(LHS), half(RHS), np.int32([1, 2, 3]), preferred_element_type=np.float32)
    assert wide.dtype == np.float32
    assert lax.ragged_dot(np.int32(LHS), np.int32(RHS), np.int32([1, 2, 3])).dtype == np.int32


def test_derivatives():
    sizes = np.int32([2, 1, 3])
    loss = lambda x, w: jnp.sum(lax.ragged_dot(x, w, sizes) ** 2)
    gx, gw = nj.jit(nj.grad(loss, (0, 1)))(LHS, RHS)
    out = by_loop(LHS, RHS, sizes)
    for g, p in enumerate(parts(sizes)):
        np.testing.assert_allclose(gw[g], 2 * LHS[p].T @ out[p], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gx[p], 2 * out[p] @ RHS[g].T, rtol=1e-4, atol=1e-5)
    assert not gx[6:].any()


@pytest.mark.parametrize("call, message", [
    (lambda: lax.ragged_dot(LHS, RHS, np.float32([1, 2, 3])), "group_sizes.dtype is a subtype of np.integer, got float32"),
    (lambda: lax.ragged_dot(LHS, RHS, np.int32([1, 2])), "expected rhs group dimension size to be 2, got 3"),
    (lambda: lax.ragged_dot(LHS, RHS, np.int32(1)), "at least one axis"),
    (lambda: lax.ragged_dot(LHS, RHS[:, :2], np.int32([1, 2, 3])), "contracting dimensions to have the same shape"),
    (lambda: lax.ragged_dot_general(LHS, RHS, np.int32([1, 2, 3]), Numbers((((1,), (1,)), ((), ())), [0, 1], [0])),
     "exactly one lhs ragged dimension"),
    (lambda: lax.ragged_dot_general(LHS, RHS, np.int32([1, 2, 3]), Numbers((((1,), (1,)), ((), ())), [4], [0])),
     "lhs ragged dimension numbers to be nonnegative and less than .* got 4"),
    (lambda: lax.ragged_dot_general(LHS, RHS[0], np.int32([1, 2, 3]), Numbers((((1,), (0,)), ((), ())), [0], [])),
     "exactly one rhs group dimension"),
    (lambda: lax.ragged_dot_general(LHS, RHS, np.int32([1, 2, 3]), Numbers((((1,), (1,)), ((), ())), [1], [0])),
     "zero group dimensions in the rhs"),
    (lambda: lax.ragged_dot_general(LHS, RHS, np.ones((3, 3), np.int32), Numbers((((1,), (1,)), ((), ())), [0], [0])),
     r"expected group_sizes to have shape \(3,\)"),
    (lambda: lax.ragged_dot_general(LHS, RHS, np.int32([1, 2, 3]), Numbers((((1,), (1,)), ((), ())), [0], [1])),
     "rhs group dimension numbers to be distinct from contracting"),
])
def test_ragged_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# ------------------------------------------------------------------------------------------------ scaled_dot

def test_scaled_dot():
    x, y = RNG.normal(size=(4, 6)).astype(ml_dtypes.float8_e4m3fn), RNG.normal(size=(6, 5)).astype(ml_dtypes.float8_e4m3fn)
    s, t = np.float32([[1, 2], [4, 0.5], [1, 1], [2, 8]]), np.float32(2.0 ** RNG.integers(-2, 3, (3, 5)))
    want = (x.astype(np.float32) * np.repeat(s, 3, 1)) @ (y.astype(np.float32) * np.repeat(t, 2, 0))
    got = lax.scaled_dot(x, y, lhs_scale=s.astype(ml_dtypes.float8_e8m0fnu), rhs_scale=t.astype(ml_dtypes.float8_e8m0fnu),
                         preferred_element_type=np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    half = lax.scaled_dot(x, y, lhs_scale=s, rhs_scale=t)
    assert half.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(np.asarray(half), want.astype(ml_dtypes.bfloat16))
    plain = lax.scaled_dot(x, y, preferred_element_type=np.float32)
    np.testing.assert_allclose(plain, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-6, atol=1e-6)
    batched = lax.scaled_dot(np.stack([x, x]), np.stack([y, y]), lhs_scale=np.stack([s, 2 * s]), rhs_scale=np.stack([t, t]),
                             preferred_element_type=np.float32)
    np.testing.assert_allclose(batched, np.stack([want, 2 * want]), rtol=1e-6, atol=1e-6)
    across = lax.scaled_dot(x.T, y, lhs_scale=s.T, rhs_scale=t, dimension_numbers=(((0,), (0,)), ((), ())),
                            preferred_element_type=np.float32)
    np.testing.assert_allclose(across, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale, message", [
    ((4, 4), "LHS contracting dim 1 of size 6 must be divisible by its scale's dim size 4"),
    ((4, 6), r"the ratio of LHS contracting dim 1 to its scale's dim size \(1\) must be at least 2"),
    ((2, 2), "LHS dim 0 of size 4 does not match scale dim size 2"), ((4,), "equally many dimensions"),
])
def test_scaled_dot_errors(scale, message):
    with pytest.raises(TypeError, match=message):
        lax.scaled_dot(np.ones((4, 6), np.float32), np.ones((6, 2), np.float32), lhs_scale=np.ones(scale, np.float32))
