"""broadcast_in_dim, reshape, transpose, squeeze, rev and the functions made of them."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from tests.lax.lax_gradients import vjp

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def names(fun, *args):
    jaxpr, _ = trace_to_jaxpr(lambda *xs: [fun(*xs)], [aval_of(a) for a in args])
    return [e.primitive.name for e in jaxpr.eqns]


@pytest.mark.parametrize("fun, expected", [
    (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), np.broadcast_to(X, (2, 3, 4))),
    (lambda x: lax.broadcast_in_dim(x[:1], (3, 4), (0, 1)), np.broadcast_to(X[:1], (3, 4))),
    (lambda x: lax.broadcast(x, (2, 1)), np.broadcast_to(X, (2, 1, 3, 4))),
    (lambda x: lax.broadcast_to_rank(x, 4), X[None, None]),
    (lambda x: lax.expand_dims(x, (0, -1)), X[None, :, :, None]),
    (lambda x: lax.reshape(x, (2, 6)), X.reshape(2, 6)),
    (lambda x: lax.reshape(x, (4, 3), (1, 0)), X.T),
    (lambda x: lax.reshape(x, [np.int64(12)]), X.reshape(12)),
    (lambda x: lax.transpose(x, (1, 0)), X.T),
    (lambda x: lax.squeeze(lax.expand_dims(x, (0, 2)), (0, -2)), X),
    (lambda x: lax.rev(x, (0, 1)), X[::-1, ::-1]),
    (lambda x: lax.collapse(lax.broadcast(x, (2,)), 1), np.stack([X.reshape(12)] * 2)),
    (lambda x: lax.collapse(x, 0, 0), X[None]),
])
def test_values(fun, expected):
    out = np.asarray(fun(X))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, ml_dtypes.bfloat16, np.complex64,
                                   dtypes.key_dtype],
                         ids=str)
def test_any_dtype_is_moved_unchanged(dtype, x64):
    x = np.frombuffer(np.random.default_rng(0).bytes(6 * np.dtype(dtype).itemsize), np.uint8)
    x = (x & 1 if dtype is bool else x).view(dtype).reshape(2, 3)
    out = lax.rev(lax.transpose(x, (1, 0)), (0,))._value
    assert out.tobytes() == np.ascontiguousarray(x.T[::-1]).tobytes()


def test_identities_apply_no_operation():
    x = lax.transpose(X, (1, 0))
    assert lax.reshape(x, (4, 3)) is x
    assert lax.transpose(x, (0, 1)) is x
    assert lax.broadcast_in_dim(x, (4, 3), (0, 1)) is x
    assert lax.squeeze(x, ()) is x
    assert lax.broadcast_to_rank(x, 1) is x


def test_names_in_jaxprs():
    assert names(lambda x: lax.expand_dims(x, (0,)), X) == ["broadcast_in_dim"]
    assert names(lambda x: lax.collapse(x, 0), X) == ["reshape"]
    assert names(lambda x: lax.transpose(x, (1, 0)), X) == ["transpose"]


def test_a_python_scalar_stays_weakly_typed():
    assert lax.broadcast(1.0, (3,)).weak_type
    assert not lax.broadcast(np.float32(1), (3,)).weak_type


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.broadcast_in_dim(X, (2, 4), (0, 1)), TypeError, "must either be 1, or be equal"),
    (lambda: lax.broadcast_in_dim(X, (3, 4), (0,)), TypeError, "length equal to operand ndim"),
    (lambda: lax.broadcast_in_dim_p.bind(X[:, :3], shape=(3, 3), broadcast_dimensions=(1, 0)), TypeError,
     "strictly increasing"),
    (lambda: lax.broadcast_in_dim(X, (3,), (0, 1)), TypeError, "equal or higher rank"),
    (lambda: lax.broadcast_in_dim(X, (3, 4), (0, 2)), TypeError, "subset of output dimensions"),
    (lambda: lax.broadcast_in_dim(X, (3, -4), (0, 1)), TypeError, "nonnegative"),
    (lambda: lax.broadcast_in_dim([1.0], (3,), ()), TypeError, "not a valid JAX type"),
    (lambda: lax.broadcast(X, (2,), out_sharding=object()), TypeError, "out_sharding"),
    (lambda: lax.broadcast_shapes((2, 3), (4,)), ValueError, "Incompatible shapes for broadcasting"),
    (lambda: lax.expand_dims(X, (0, 0)), ValueError, "repeated axis"),
    (lambda: lax.expand_dims(X, (5,)), ValueError, "out of bounds for array of dimension 3"),
    (lambda: lax.reshape(X, (5,)), TypeError, "total size must be unchanged"),
    (lambda: lax.reshape(X, (-1,)), TypeError, "must all be positive"),
    (lambda: lax.reshape(X, (12,), (0, 0)), TypeError, "permutation of operand dimensions"),
    (lambda: lax.reshape(X, (3.5,)), TypeError, "concrete values of integer type"),
    (lambda: lax.collapse(X, 1, 0), ValueError, "Invalid dimension range"),
    (lambda: lax.transpose(X, (0,)), TypeError, "isn't a permutation"),
    (lambda: lax.transpose(X, (0, -1)), TypeError, "isn't a permutation"),
    (lambda: lax.squeeze(X, (0,)), ValueError, "size not equal to one"),
    (lambda: lax.squeeze(X, (7,)), ValueError, "axis 7 is out of bounds"),
    (lambda: lax.squeeze(X[None], (0, 0)), ValueError, "not unique"),
    (lambda: lax.rev(X, (2,)), TypeError, "less than operand ndim"),
    (lambda: lax.rev(X, (0, 0)), TypeError, "must be unique"),
    (lambda: lax.rev(X, (-1,)), TypeError, "nonnegative"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


@pytest.mark.parametrize("shapes, expected", [
    (((2, 1), (3,), ()), (2, 3)), (((),), ()), ((), ()), (((0, 1), (1, 5)), (0, 5)), (((1,), (1,)), (1,))])
def test_broadcast_shapes(shapes, expected):
    assert lax.broadcast_shapes(*shapes) == expected


def test_the_cotangent_of_a_broadcast_is_a_sum():
    ct = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    (out,) = vjp(lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)), [np.ones((1, 4), np.float32)], ct)
    np.testing.assert_array_equal(out, ct.sum((0, 1))[None])


def test_broadcast_in_dim_along_axes_in_any_order():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = lambda x: lax.broadcast_in_dim(x, (3, 4, 2), (2, 0))
    expected = np.broadcast_to(x.T[:, None], (3, 4, 2))
    for found in (f(x), nj.jit(f)(x), nj.vmap(f)(x[None])[0]):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(nj.grad(lambda x: f(x).sum())(x), np.full((2, 3), 4))
