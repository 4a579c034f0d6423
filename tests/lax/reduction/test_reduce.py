"""Reductions by monoids, argmax and argmin, and lax.reduce."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.transforms.jvp import jvp_flat
from tests.lax.lax_gradients import by_loop, grad, jvp, vmap

X = np.array([[3, -1, 2, 5], [0, 7, -4, 5], [2, 2, 2, -9]], np.float32)
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("name, reference", [
    ("reduce_sum", np.sum), ("reduce_prod", np.prod), ("reduce_max", np.max), ("reduce_min", np.min)])
def test_values(name, reference, axes):
    for dtype in (np.float32, np.float16, np.int8, np.complex64, ml_dtypes.bfloat16):
        out = np.asarray(getattr(lax, name)(X.astype(dtype), axes))
        expected = reference(X.astype(np.complex64 if dtype is np.complex64 else np.float32), axes)
        if dtype is np.int8 and name == "reduce_prod":
            expected = np.prod(X.astype(np.int64), axes).astype(np.int8)
        assert out.dtype == dtype
        np.testing.assert_allclose(out.astype(expected.dtype), expected, rtol=1e-2)


def test_small_floats_accumulate_in_float32_and_integers_wrap():
    assert lax.reduce_sum(np.ones(5000, np.float16), (0,)).tolist() == 5000
    assert float(lax.reduce_sum(np.ones(4096, ml_dtypes.bfloat16), (0,))) == 4096
    assert lax.reduce_sum(np.full(3, 100, np.int8), (0,)).tolist() == 300 - 256
    assert lax.reduce_sum(np.full(9000, 60000, np.float16), (0,)).tolist() == INF


@pytest.mark.parametrize("name, dtype, expected", [
    ("reduce_sum", np.float32, 0), ("reduce_prod", np.int32, 1), ("reduce_max", np.float32, -INF),
    ("reduce_min", np.float32, INF), ("reduce_max", np.int8, -128), ("reduce_min", np.uint8, 255),
    ("reduce_max", bool, False), ("reduce_min", bool, True), ("reduce_and", bool, True), ("reduce_and", np.int8, -1),
    ("reduce_or", np.int8, 0), ("reduce_xor", bool, False), ("reduce_max", np.complex64, complex(-INF, 0)),
    ("reduce_max", ml_dtypes.float8_e4m3fn, -448)])
def test_the_reduction_of_nothing_is_the_identity(name, dtype, expected):
    out = np.asarray(getattr(lax, name)(np.zeros((0, 2), dtype), (0,)))
    assert out.dtype == dtype
    assert out.tolist() == [expected, expected]


def test_nan_wins():
    x = np.array([1, NAN, 3], np.float32)
    assert np.isnan(lax.reduce_max(x, (0,)).tolist())
    assert np.isnan(lax.reduce_min(x.astype(np.float16), (0,)).tolist())


@pytest.mark.parametrize("name, reference", [
    ("reduce_and", np.bitwise_and), ("reduce_or", np.bitwise_or), ("reduce_xor", np.bitwise_xor)])
def test_logical(name, reference):
    for x in (np.array([[3, 6], [5, 7]], np.uint8), np.array([[True, True], [False, True]])):
        np.testing.assert_array_equal(np.asarray(getattr(lax, name)(x, (1,))), reference.reduce(x, 1))


@pytest.mark.parametrize("x, expected", [
    ([1, 2, 2], [0, 0.5, 0.5]), ([4, 4, 4, 4], [0.25] * 4), ([1, 2, NAN], [NAN] * 3), ([-INF, -INF], [0.5, 0.5])])
def test_ties_share_the_gradient_of_a_maximum(x, expected):
    x = np.array(x, np.float32)
    np.testing.assert_array_equal(grad(lambda v: lax.reduce_max(v, (0,)), x), np.float32(expected))
    np.testing.assert_array_equal(grad(lambda v: lax.reduce_min(v, (0,)), -x), np.float32(expected))


@pytest.mark.parametrize("x", [[2, 3, 5, 7, 11], [2, 0, 5, 7, 11], [0, 3, 0, 7, 11], [0, 0, 0, 1, 1]], ids=str)
def test_the_derivatives_of_a_product_are_right_at_zeros(x):
    x = np.array(x, np.float32)
    others = np.array([np.prod(np.delete(x, i)) for i in range(5)])
    product = lambda v: lax.reduce_prod(v, (0,))
    np.testing.assert_allclose(grad(product, x), others)
    e = np.eye(5, dtype=np.float32)
    for i in range(5):
        second = jvp(lambda v, i=i: _tangent(product, v, e[i]), [x], [e[0]])
        np.testing.assert_allclose(second, 0 if i == 0 else np.prod(np.delete(x, [0, i])))


def _tangent(fun, x, t):
    return jvp_flat(lambda v: [fun(v)], [x], [t])[1][0]


def test_reductions_of_several_axes_of_a_batch():
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    for dim in range(4):
        for name in ("reduce_sum", "reduce_prod", "reduce_max"):
            fun = lambda v, name=name: getattr(lax, name)(v, (0, 2))
            np.testing.assert_allclose(vmap(fun, [x], [dim]), by_loop(fun, [x], [dim]), rtol=1e-6)


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.reduce_sum(X, (2,)), ValueError, "out-of-bounds indices for float32"),
    (lambda: lax.reduce_sum(X, (-1,)), ValueError, "out-of-bounds"),
    (lambda: lax.reduce_sum(X, (0, 0)), ValueError, "duplicate value in 'axes'"),
    (lambda: lax.reduce_sum(X, 0), TypeError, "not iterable"),
    (lambda: lax.reduce_sum(X > 0, (0,)), TypeError, "reduce_sum does not accept dtype bool"),
    (lambda: lax.reduce_prod(X > 0, (0,)), TypeError, "reduce_prod does not accept dtype bool"),
    (lambda: lax.reduce_and(X, (0,)), TypeError, "requires operand dtype bool or int"),
    (lambda: lax.argmax(X, 2, np.int32), ValueError, "Invalid axis 2"),
    (lambda: lax.argmax(X, -1, np.int32), ValueError, "Invalid axis -1"),
    (lambda: lax.argmax(X, 0, np.float32), TypeError, "index_dtype must be an integer type"),
    (lambda: lax.argmin(X.astype(np.complex64), 0, np.int32), TypeError, "does not accept dtype complex64"),
    (lambda: lax.argmin(X[:0], 0, np.int32), ValueError, "non-empty reduced dimension"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


# ------------------------------------------------------------------------------------------------ positions

@pytest.mark.parametrize("x, most, least", [
    ([1, 3, 3, 1], 1, 0), ([1, NAN, 9, NAN], 1, 1), ([-INF, -INF], 0, 0), ([INF, INF], 0, 0), ([-0.0, 0.0], 0, 0)])
def test_positions(x, most, least):
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        assert lax.argmax(np.array(x, dtype), 0, np.int32).tolist() == most
        assert lax.argmin(np.array(x, dtype), 0, np.int32).tolist() == least


def test_positions_have_the_asked_dtype_and_no_derivative():
    assert lax.argmax(X, 1, np.uint8).dtype == np.uint8
    assert lax.argmax(X[:, :0], 0, "int32").shape == (0,)
    assert lax.argmax(X > 0, 0, np.int32).tolist() == [0, 1, 0, 0]
    to_float = lambda v: lax.convert_element_type(lax.argmax(v, 0, np.int32), np.float32)
    np.testing.assert_array_equal(grad(to_float, X), np.zeros_like(X))


# ------------------------------------------------------------------------------------------------ lax.reduce

def names(fun, *args):
    jaxpr, _ = trace_to_jaxpr(lambda *xs: [fun(*xs)], [aval_of(a) for a in args])
    return [e.primitive.name for e in jaxpr.eqns]


@pytest.mark.parametrize("fun, init, expected", [
    (lax.add, 0.0, "reduce_sum"), (lax.mul, 1.0, "reduce_prod"), (lax.max, -INF, "reduce_max"),
    (lax.min, INF, "reduce_min"), (lambda a, b: lax.add(b, a), 0.0, "reduce_sum")])
def test_known_functions_become_known_reductions(fun, init, expected):
    assert names(lambda x: lax.reduce(x, init, fun, (0,)), X) == [expected]


def test_an_initial_value_that_is_no_identity_counts():
    assert lax.reduce(X, 100.0, lax.add, (0, 1)).tolist() == X.sum() + 100
    assert lax.reduce(X, 100.0, lax.max, (1,)).tolist() == [100] * 3
    assert lax.reduce(X > 0, False, lax.bitwise_or, (0, 1)).tolist() is True


def compose(f, g):
    """The affine map x -> g(f(x)), each map a pair (slope, offset)."""
    return lax.mul(f[0], g[0]), lax.add(lax.mul(g[0], f[1]), g[1])


def reduce_affine(a, b):
    return lax.reduce((a, b), (1.0, 0.0), compose, (1,))


def test_a_general_function_of_several_operands():
    a, b = X, X[::-1]
    slopes, offsets = np.ones(3), np.zeros(3)
    for k in range(4):
        slopes, offsets = slopes * a[:, k], offsets * a[:, k] + b[:, k]
    out = reduce_affine(a, b)
    np.testing.assert_allclose(np.asarray(out[0]), slopes)
    np.testing.assert_allclose(np.asarray(out[1]), offsets)
    empty = lax.reduce({"a": X[:, :0]}, {"a": 4.0}, lambda x, y: {"a": lax.sub(x["a"], y["a"])}, (1,))
    assert empty["a"].tolist() == [4] * 3


def test_derivatives_and_batches_of_a_general_reduction():
    rng = np.random.default_rng(0)
    a, b, t = (rng.standard_normal((3, 5)).astype(np.float32) for _ in range(3))
    fun = lambda v: reduce_affine(v, b)[1]
    eps = np.float32(1e-2)
    difference = (np.asarray(fun(a + eps * t)) - np.asarray(fun(a - eps * t))) / (2 * eps)
    np.testing.assert_allclose(jvp(fun, [a], [t]), difference, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(np.sum(grad(fun, a) * t), np.sum(jvp(fun, [a], [t])), rtol=1e-4)
    stack = np.stack([a, 2 * a, b], axis=1)
    np.testing.assert_allclose(vmap(fun, [stack], [1]), by_loop(fun, [stack], [1]), rtol=1e-5)


def test_results_have_the_structure_that_the_computation_returns():
    total, (largest,) = lax.reduce({"a": X, "b": X}, {"a": 0.0, "b": -np.inf},
                                   lambda p, q: [p["a"] + q["a"], (lax.max(p["b"], q["b"]),)], (0,))
    np.testing.assert_allclose(total, np.sum(X, 0), rtol=1e-6)
    np.testing.assert_array_equal(largest, np.max(X, 0))
    (alone,) = lax.reduce(X, 0.0, lambda p, q: (p + q,), (0,))
    np.testing.assert_allclose(alone, np.sum(X, 0), rtol=1e-6)


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.reduce(X, np.zeros(3, np.float32), lax.add, (0,)), ValueError, "non-scalar initial value"),
    (lambda: lax.reduce((X, X[0]), (0.0, 0.0), lambda a, b: a, (0,)), ValueError, "equal shapes"),
    (lambda: lax.reduce(X, 0.0, lambda a, b: lax.gt(a, b), (0,)), TypeError, "must return scalars of the dtypes"),
    (lambda: lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)), ValueError, "as many leaves as the operands"),
    (lambda: lax.reduce(X, 0.0, lax.add, (0, 0)), ValueError, "duplicate value"),
    (lambda: lax.reduce(X, 0.0, lax.add, (5,)), ValueError, "out-of-bounds"),
    *[(lambda run=run: run(), TypeError, "same dtypes as their initial values") for run in (
        lambda: lax.reduce(np.arange(3), 2.5, lax.add, (0,)), lambda: lax.reduce(X, np.int32(2), lax.add, (0,)),
        lambda: lax.reduce(np.arange(3, dtype=np.uint8), -1, lax.max, (0,)),
        lambda: lax.reduce_window(np.arange(3), 0.5, lax.add, (2,)))],
    (lambda: lax.reduce(X, np.int32(0), lax.sub, (0,)), TypeError, "same dtypes as their initial values"),
    (lambda: lax.reduce((X, X), 0.0, lax.sub, (0,)), ValueError, "same tree structure"),
    (lambda: lax.reduce(X, 0.0, lambda a, b: lax.add(a, lax.reduce_sum(lax.broadcast(b, (2,)), (0,))), (0,)),
     NotImplementedError, "elementwise operations on scalars, but it uses 'broadcast_in_dim'"),
])
def test_errors_of_reduce(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


def test_a_computation_cannot_use_arrays_from_outside():
    table = lax.transpose(X, (1, 0))
    with pytest.raises(NotImplementedError, match="from outside"):
        lax.reduce(X, 0.0, lambda a, b: lax.add(lax.add(a, b), lax.reduce_sum(table, (0, 1))), (0,))


def test_the_identity_of_a_monoid_may_have_any_dtype():
    x = np.array([3, 1, 2], np.int32)
    assert lax.reduce(x, -np.inf, lax.max, (0,)) == lax.reduce(x, np.float32(-np.inf), lax.max, (0,)) == 3
    assert lax.reduce(x, 0.0, lax.add, (0,)) == lax.reduce(x.astype(np.float16), np.int8(0), lax.add, (0,)) == 6
    found = lax.reduce_window(x, np.float32(np.inf), lax.min, (2,))
    assert found.dtype == np.int32 and found.tolist() == [1, 1]


@pytest.mark.parametrize(("name", "reference"), [("sum", np.sum), ("max", np.max), ("prod", np.prod)])
@pytest.mark.parametrize("shape", [(6, 9, 10), (6, 16, 10), (5, 17, 10), (12, 40), (2, 3, 5, 20)], ids=str)
def test_few_rows_need_no_result_in_memory_to_add_to(name, reference, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    axes = tuple(range(1, len(shape) - 1)) or (0,)
    f = lambda x: getattr(jnp, name)(x, axes) + 1
    np.testing.assert_allclose(nj.jit(f)(x), reference(x, axis=axes) + 1, rtol=1e-5, atol=1e-5)
    few = np.prod([shape[d] for d in axes]) <= 16
    assert f"reduce_{name} f32[{','.join(map(str, np.delete(shape, axes)))}]: {'fused' if few else 'stored'}" \
        in str(nj.explain(f)(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_functions_made_of_other_functions_reduce(dtype):
    """Calls of jitted functions, and of those with derivatives of their own, are taken apart."""
    x = jnp.asarray(np.linspace(-2, 2, 12).reshape(3, 4), dtype)
    low = jnp.asarray(-np.inf, dtype)
    combined = lambda x: lax.reduce(x, low, nj.jit(jnp.logaddexp), (1,))
    rtol = 1e-5 if dtype == "float32" else 2e-2
    for f in (combined, nj.jit(combined), nj.vmap(lambda row: lax.reduce(row, low, jnp.logaddexp, (0,)))):
        assert f(x).dtype == dtype
        np.testing.assert_allclose(f(x).astype("float32"), nj.nn.logsumexp(x, 1).astype("float32"), rtol=rtol)
    slope = nj.grad(lambda x: combined(x).sum())(x)
    np.testing.assert_allclose(slope.astype("float32"), nj.nn.softmax(x, 1).astype("float32"), rtol=rtol)
    windows = lax.reduce_window(x, low, jnp.logaddexp, (1, 2), (1, 1), "VALID")
    np.testing.assert_allclose(windows.astype("float32"), np.logaddexp(x[:, 1:], x[:, :-1]).astype("float32"), rtol=rtol)


def test_over_no_axes_operands_are_results():
    x = np.arange(3, dtype=np.float32)
    for f in (lambda x: lax.reduce(x, 5.0, lax.add, ()), nj.jit(lambda x: lax.reduce(x, 5.0, lax.add, ()))):
        assert isinstance(f(x), nj.Array) and f(x).tolist() == [0, 1, 2]
    assert [v.tolist() for v in lax.reduce((x, x), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), ())] == [[0, 1, 2]] * 2


@pytest.mark.parametrize("of_array, of_start", [(False, False), (False, True), (True, False), (True, True)])
def test_results_are_weak_where_both_operands_are(of_array, of_start):
    x = nj.numpy.asarray(2) * nj.numpy.ones(3, bool) if of_array else np.arange(3, dtype=np.int32)
    start = nj.numpy.asarray(1) if of_start else np.int32(1)
    for f in (lambda: lax.reduce(x, start, lax.add, (0,)), nj.jit(lambda: lax.reduce(x, start, lax.add, (0,)))):
        assert f().weak_type == (nj.numpy.asarray(x).weak_type and of_start)
