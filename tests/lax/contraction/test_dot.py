"""dot_general, dot, batch_matmul, and precisions."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.config import config
from numjet.lax.contraction.precision import canonicalize_precision
from tests.lax.lax_gradients import by_loop, jvp, vjp, vmap

X = np.arange(12, dtype=np.float32).reshape(3, 4)
RNG = np.random.default_rng(0)
# shapes, dimension numbers, and the same for einsum
CASES = [
    ((3, 4), (4, 2), (((1,), (0,)), ((), ())), "ij,jk->ik"),
    ((4,), (4,), (((0,), (0,)), ((), ())), "i,i->"),
    ((), (3,), (((), ()), ((), ())), ",i->i"),
    ((2, 3, 4), (5, 4, 2), (((2,), (1,)), ((0,), (2,))), "bij,kjb->bik"),
    ((2, 3, 4), (4, 3, 5), (((1, 2), (1, 0)), ((), ())), "aij,jib->ab"),
    ((3, 2, 6, 4), (2, 4, 3, 5), (((3,), (1,)), ((0, 1), (2, 0))), "abij,bjak->abik"),
    ((0, 4), (4, 2), (((1,), (0,)), ((), ())), "ij,jk->ik"),
    ((3, 0), (0, 2), (((1,), (0,)), ((), ())), "ij,jk->ik"),
]
case = pytest.mark.parametrize("left, right, numbers, formula", CASES, ids=[c[3] for c in CASES])


def operands(left, right):
    return RNG.standard_normal(left).astype(np.float32), RNG.standard_normal(right).astype(np.float32)


@case
def test_values(left, right, numbers, formula):
    x, y = operands(left, right)
    out = np.asarray(lax.dot_general(x, y, numbers))
    np.testing.assert_allclose(out, np.einsum(formula, x, y), rtol=1e-5, atol=1e-5)


@case
def test_cotangents(left, right, numbers, formula):
    x, y = operands(left, right)
    fun = lambda a, b: lax.dot_general(a, b, numbers)
    ct = RNG.standard_normal(np.asarray(fun(x, y)).shape).astype(np.float32)
    for which, (operand, found) in enumerate(zip((x, y), vjp(fun, [x, y], ct), strict=True)):
        t = RNG.standard_normal(operand.shape).astype(np.float32)
        out = np.einsum(formula, *((t, y) if which == 0 else (x, t)))
        np.testing.assert_allclose(np.sum(out * ct), np.sum(found * t), rtol=1e-4, atol=1e-4)


@case
def test_batches_along_every_axis(left, right, numbers, formula):
    x, y = operands(left, right)
    fun = lambda a, b: lax.dot_general(a, b, numbers)
    for dx in (None, *range(len(left) + 1)):
        for dy in (None, *range(len(right) + 1)):
            if dx is None and dy is None:
                continue
            args = [v if d is None else np.stack([v, 2 * v, -v], d) for v, d in ((x, dx), (y, dy))]
            np.testing.assert_allclose(vmap(fun, args, [dx, dy]), by_loop(fun, args, [dx, dy]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("left, right, preferred, expected_dtype, expected", [
    (np.uint8([1, 2, 3]), np.uint8([200, 2, 3]), None, np.uint8, 213),
    (np.int8([100, 100]), np.int8([100, 100]), np.int32, np.int32, 20000),
    (np.int8([100, 100]), np.int8([100, 100]), None, np.int8, 20000 % 256),
    (np.int8([1, 2]), np.int32([1000, 2]), None, np.int32, 1004),
    (np.ones(4096, ml_dtypes.bfloat16), np.ones(4096, ml_dtypes.bfloat16), None, ml_dtypes.bfloat16, 4096),
    (np.ones(257, ml_dtypes.bfloat16), np.ones(257, ml_dtypes.bfloat16), np.float32, np.float32, 257),
    (np.ones(4096, np.float16), np.full(4096, 100, np.float16), None, np.float16, np.inf),
    (np.float32([1.5, 2.5]), np.float32([1.5, 2.5]), np.int32, np.int32, 8),
    (np.int32([1, 2]), np.int32([1, 2]), np.float32, np.float32, 5),
    (np.float32([1, 2]), np.array([3, 4], ml_dtypes.bfloat16), None, np.float32, 11),
    (np.complex64([1j, 2]), np.complex64([1j, 3]), None, np.complex64, 5),
    (np.array([True, True]), np.array([False, True]), None, bool, True),
    (np.array([True, True]), np.array([True, True]), np.int32, np.int32, 2),
    (np.int32([2**31 - 1, 1]), np.int32([2, 1]), None, np.int32, -1),
])
def test_dtypes(left, right, preferred, expected_dtype, expected):
    out = np.asarray(lax.dot(left, right, preferred_element_type=preferred))
    assert out.dtype == expected_dtype
    assert out.astype(complex) == expected


def test_bools_are_combined_by_and_and_or():
    x = np.array([[True, False], [False, False]])
    assert lax.dot(x, x).tolist() == (x @ x).tolist()


def test_cotangents_have_the_dtypes_of_the_operands():
    x, y = X.astype(ml_dtypes.bfloat16), X.T.copy()
    ct_x, ct_y = vjp(lambda a, b: lax.dot(a, b), [x, y], np.ones((3, 3), np.float32))
    assert (ct_x.dtype, ct_y.dtype) == (x.dtype, y.dtype)
    np.testing.assert_array_equal(ct_y, x.astype(np.float32).sum(0)[:, None] * np.ones(3))


def test_products_rounded_to_integers_have_no_derivative():
    t = jvp(lambda a: lax.dot(a, a, preferred_element_type=np.int32), [X[0]], [X[0]])
    assert t.dtype.fields is not None  # float0


def test_matrix_and_vector_products():
    np.testing.assert_array_equal(np.asarray(lax.dot(X, X.T)), X @ X.T)
    np.testing.assert_array_equal(np.asarray(lax.dot(X, X[0])), X @ X[0])
    x = np.stack([X, -X])
    np.testing.assert_array_equal(np.asarray(lax.batch_matmul(x, x.transpose(0, 2, 1))), x @ x.transpose(0, 2, 1))
    assert lax.dot(lax.broadcast(1.0, (3,)), lax.broadcast(1.0, (3,))).weak_type


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.dot(X, X), ValueError, "dimension_numbers must be specified"),
    (lambda: lax.dot(X, 1.0), ValueError, "dimension_numbers must be specified"),
    (lambda: lax.dot_general(X, X, (((1,), (1,)), ((1,), (1,)))), TypeError, "disjoint from contracting"),
    (lambda: lax.dot_general(X, X, (((1,), (1, 0)), ((), ()))), TypeError, "same shape, got"),
    (lambda: lax.dot_general(X, X, (((1,), (0,)), ((), ()))), TypeError, r"contracting.* got \(4,\) and \(3,\)"),
    (lambda: lax.dot_general(X, X[:2], (((1,), (1,)), ((0,), (0,)))), TypeError, "batch dimensions to have"),
    (lambda: lax.dot_general(X, X, (((2,), (0,)), ((), ()))), TypeError, "less than the number of axes"),
    (lambda: lax.dot_general(X, X, (((-1,), (-1,)), ((), ()))), TypeError, "nonnegative"),
    (lambda: lax.dot_general(X, X, (((1, 1), (1, 1)), ((), ()))), TypeError, "distinct"),
    (lambda: lax.dot(np.int32([1]), np.int32([1]), preferred_element_type=np.int8), TypeError, "narrower"),
    (lambda: lax.dot(X, X.T, precision="foo"), ValueError, "Precision argument must be one of"),
    (lambda: lax.dot(X, X.T, precision=("high",)), ValueError, "Precision argument must be one of"),
    (lambda: lax.batch_matmul(X, X.T[None]), ValueError, "same ndim, got 2, 3"),
    (lambda: lax.batch_matmul(X[0], X[0]), ValueError, "at least 2D"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


def test_names_of_precisions():
    assert [str(p) for p in lax.Precision] == ["DEFAULT", "HIGH", "HIGHEST"]
    assert repr(lax.Precision("highest")) == "Precision.HIGHEST"
    assert lax.Precision(None) is lax.Precision("bfloat16") is lax.Precision("fastest") is lax.Precision.DEFAULT
    assert lax.Precision("tensorfloat32") is lax.Precision.HIGH


@pytest.mark.parametrize("precision", [
    "highest", ("high", "default"), lax.Precision.HIGH, "BF16_BF16_F32", *lax.DotAlgorithmPreset,
    lax.DotAlgorithm(np.float32, np.float32, np.float64)], ids=str)
def test_every_precision_is_at_least_that_of_the_operands(precision):
    x = np.float32([[1.001, 1], [2, 3]])
    np.testing.assert_allclose(np.asarray(lax.dot(x, x, precision=precision)), x @ x, rtol=1e-6)


def test_float64_accumulation():
    x = np.float32([1e8, 1, -1e8])
    assert lax.dot(x, np.ones(3, np.float32), precision="F64_F64_F64").tolist() == 1


def test_the_default_precision_is_a_flag():
    assert canonicalize_precision(None) is None
    config.update("jax_default_matmul_precision", "highest")
    try:
        assert canonicalize_precision(None) == (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
    finally:
        config.update("jax_default_matmul_precision", None)


# ------------------------------------------------------------------------------------------------ the kernel of large products

LARGE = [((70, 50), (50, 60), (((1,), (0,)), ((), ())), "ij,jk->ik"),
         ((70, 50), (60, 50), (((1,), (1,)), ((), ())), "ij,kj->ik"),
         ((3, 50, 40), (3, 50, 30), (((1,), (1,)), ((0,), (0,))), "bji,bjk->bik"),
         ((40, 5, 30), (30, 4, 40), (((2, 0), (0, 2)), ((), ())), "abc,cda->bd"),
         ((1, 300), (300, 200), (((1,), (0,)), ((), ())), "ij,jk->ik"),
         ((300, 200), (200,), (((1,), (0,)), ((), ())), "ij,j->i")]
large = pytest.mark.parametrize("left, right, numbers, formula", LARGE, ids=[c[3] + str(c[0]) for c in LARGE])


@large
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "uint16", "int32", "complex64"])
def test_large_products(left, right, numbers, formula, dtype):
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 8, s).astype(np.float32) for s in (left, right))
    a, b = (nj.numpy.asarray(v).astype(dtype) for v in (x, y))
    fun = lambda p, q: lax.dot_general(p, q, numbers, preferred_element_type=np.float32 if "float" in dtype else None)
    want = np.einsum(formula, x, y).astype(np.int64)
    for out in (fun(a, b), nj.jit(fun)(a, b)):
        same = want.astype(out.dtype) if np.dtype(out.dtype).kind in "iu" else want
        np.testing.assert_array_equal(np.asarray(out), same)


@large
def test_large_products_under_transformations(left, right, numbers, formula):
    x, y = operands(left, right)
    fun = lambda p, q: lax.dot_general(p, q, numbers)
    ct = RNG.standard_normal(np.einsum(formula, x, y).shape).astype(np.float32)
    into, out = formula.split("->")
    first, second = into.split(",")
    dx, dy = nj.jit(nj.grad(lambda p, q: (fun(p, q) * ct).sum(), (0, 1)))(x, y)
    np.testing.assert_allclose(dx, np.einsum(f"{out},{second}->{first}", ct, y), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(dy, np.einsum(f"{first},{out}->{second}", x, ct), rtol=1e-3, atol=1e-3)
    xs = np.stack([x, 2 * x, -x])
    got = nj.jit(nj.vmap(fun, (0, None)))(xs, y)
    np.testing.assert_allclose(got, np.stack([np.einsum(formula, v, y) for v in xs]), rtol=1e-3, atol=1e-3)


def test_products_in_loops():
    w, x = RNG.standard_normal((64, 64)).astype(np.float32) / 8, RNG.standard_normal((5, 20, 64)).astype(np.float32)

    def loss(w, xs):
        return lax.scan(lambda h, v: (nj.numpy.tanh(h @ w + v), h), xs[0] * 0, xs)[0].sum()
    compiled = nj.jit(nj.value_and_grad(loss))(w, x)
    with nj.disable_jit():
        plain = nj.value_and_grad(loss)(w, x)
    for got, want in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_fields_of_records():
    records = np.zeros((40, 50), np.dtype([("a", "i1"), ("x", "f4"), ("y", "c16")], align=False))
    records["x"], records["y"] = RNG.standard_normal((40, 50)), RNG.standard_normal((40, 50))
    for name in ("x", "y"):
        field = records[name]
        got = lax.dot_general_p.eager(field, field, dimension_numbers=(((1,), (1,)), ((), ())))
        np.testing.assert_allclose(got, field.copy() @ field.copy().T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", range(1, 9))
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "bfloat16"])
@pytest.mark.parametrize(("rows", "terms"), [(64, 32), (17, 9)])
def test_few_columns_are_lanes_of_one_loop(columns, dtype, rows, terms):
    with nj.enable_x64():
        x, y = (RNG.integers(-4, 5, shape).astype(dtype) for shape in ((3, rows, terms), (3, terms, columns)))
        product = lambda x, y: lax.batch_matmul(x, y)
        expected = np.matmul(x.astype("complex128"), y.astype("complex128"))
        np.testing.assert_array_equal(np.asarray(nj.jit(product)(x, y)).astype("complex128"), expected)
        if dtype == "float32" and columns > 1:
            assert str(nj.explain(product)(x, y)).count("serial loop") == (2 if columns == 2 else 0)


@pytest.mark.parametrize("left, right, want", [
    ("float16", "bfloat16", "bfloat16"), ("int8", "uint8", "int8"), ("int8", "uint32", "uint32"), ("uint16", "int16", "int16"),
    ("int32", "float16", "float16"), ("bool", "uint8", "uint8"), ("float32", "complex64", "complex64")])
def test_products_of_two_dtypes_have_the_wider_one(left, right, want):
    a, b = np.ones((2, 3), left), np.ones((3, 2), right)
    for x, y in ((a, b), (b.T, a.T)):
        for call in (lax.dot, nj.jit(lax.dot)):
            out = call(x, y)
            assert out.dtype == want
            np.testing.assert_array_equal(np.asarray(out).astype(np.complex64), np.full((2, 2), 3))


def test_long_sums_of_operands_that_are_read_as_they_lie_are_made_in_parts():
    """A tiled operand, which is no array in memory: its columns were added up in one go, with an error of 5e-4."""
    x = (np.arange(200_000) % 5 + 9).astype(np.float32) * -1.01

    def product(x):
        return jnp.dot(x, jnp.tile(x, 2).reshape(200_000, 2)), jnp.dot(jnp.tile(x, 3).reshape(200_000, 3).T, x)
    wide = x.astype(np.float64)
    expected = wide @ np.tile(wide, 2).reshape(-1, 2), np.tile(wide, 3).reshape(-1, 3).T @ wide
    for got, want in zip((*nj.jit(product)(x), *product(x)), expected * 2, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
