"""Compiled against eager on NaN, infinities, zeros of both signs and ties, in sizes with and without vectors."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core.op import lookup
from numjet.runtime import dispatch, eager

NAN, INF = np.nan, np.inf
INT32 = np.dtype(np.int32)
EXACT = [
    ("reduce_max", {"axes": (0,)}), ("reduce_min", {"axes": (1,)}), ("cummax", {"axis": 0, "reverse": False}),
    ("cummin", {"axis": 1, "reverse": True}), ("argmax", {"axes": (0,), "index_dtype": INT32}),
    ("argmin", {"axes": (1,), "index_dtype": INT32}), ("sort", {"dimension": 0, "is_stable": True, "num_keys": 1}),
    ("top_k", {"k": 3, "axis": 1}),
]


def special(dtype, shape):
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, shape).astype(np.float64)
    spots = rng.permutation(x.size)
    for k, value in enumerate([NAN, INF, -INF, -0.0, -0.0, 0.0]):
        x.reshape(-1)[spots[k]] = value
    return x.astype(dtype)


def both(name, args, params):
    op = lookup(name)
    compiled, meant = dispatch.run_operation(op, args, params), eager.interpret(op, args, params)
    pairs = zip(compiled, meant, strict=True) if op.multiple else [(compiled, meant)]
    return [(np.asarray(c), np.asarray(m)) for c, m in pairs]


@pytest.mark.parametrize("shape", [(3, 5), (40, 3), (3, 40)], ids=str)
@pytest.mark.parametrize("name, params", EXACT, ids=[n for n, _ in EXACT])
def test_special_values(name, params, shape):
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        for compiled, meant in both(name, [special(dtype, shape)], params):
            assert compiled.dtype == meant.dtype
            np.testing.assert_array_equal(compiled.astype(np.float64), meant.astype(np.float64))
            if name in ("sort", "top_k"):
                np.testing.assert_array_equal(np.signbit(compiled[compiled == 0]), np.signbit(meant[meant == 0]))


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "cummax", "cummin", "sort"])
def test_complex_numbers_in_lexicographic_order(name, n):
    rng = np.random.default_rng(1)
    x = (rng.integers(-1, 2, n) + 1j * rng.integers(-1, 2, n)).astype(np.complex64)
    params = {"reduce_max": {"axes": (0,)}, "sort": {"dimension": 0, "is_stable": True, "num_keys": 1}}
    params["reduce_min"] = params["reduce_max"]
    for compiled, meant in both(name, [x], params.get(name, {"axis": 0, "reverse": True})):
        np.testing.assert_array_equal(compiled, meant)


def test_more_keys_than_the_kernel_takes_at_once():
    keys = list(np.random.default_rng(2).integers(0, 2, (6, 30)).astype(np.int32))
    payload = np.arange(30, dtype=np.int32)
    for compiled, meant in both("sort", [*keys, payload], {"dimension": 0, "is_stable": True, "num_keys": 5}):
        np.testing.assert_array_equal(compiled, meant)


@pytest.mark.parametrize("left, right, preferred", [
    ("int8", "int8", "int32"), ("uint8", "uint8", None), ("int8", "int32", None), ("bool", "bool", None),
    ("bool", "bool", "int32"), ("bfloat16", "bfloat16", "float32"), ("bfloat16", "float32", None),
    ("float32", "float32", "int32"), ("float32", "float32", "int8"), ("int32", "int32", "float32")], ids=str)
def test_products_of_mixed_dtypes(left, right, preferred):
    rng = np.random.default_rng(3)
    x, y = rng.integers(-4, 5, (9, 20)).astype(left), rng.integers(-4, 5, (20, 7)).astype(right)
    params = {"dimension_numbers": (((1,), (0,)), ((), ())), "precision": None,
              "preferred_element_type": None if preferred is None else np.dtype(preferred)}
    for compiled, meant in both("dot_general", [x, y], params):
        assert compiled.dtype == meant.dtype
        np.testing.assert_array_equal(compiled, meant)


@pytest.mark.parametrize("shape", [(30000, 10), (30007, 9), (4003, 100), (2003, 33, 5), (7, 4001, 12)], ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
def test_rows_are_combined_in_chunks_and_several_at_a_time(name, shape):
    """Lengths with rests of every kind: rows per go, rows per chunk, groups of short rows."""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x = np.exp(x * 1e-3).astype(np.float32) if name == "prod" else x
    for axes in {(0,), tuple(range(len(shape) - 1)), (len(shape) - 2,)}:
        expected = getattr(np, name)(x.astype(np.float64), axis=axes)
        out = nj.jit(lambda v, axes=axes: getattr(jnp, name)(v * 1, axis=axes))(x)
        np.testing.assert_allclose(out, expected, rtol=2e-4, atol=2e-3)
        mixed = nj.jit(lambda v, axes=axes: getattr(jnp, name)((jnp.broadcast_to(v[..., :1], shape) + v) / 2, axis=axes))(x)
        expected = getattr(np, name)((x[..., :1] + x).astype(np.float64) / 2, axis=axes)
        np.testing.assert_allclose(mixed, expected, rtol=2e-4, atol=2e-3)


def test_nan_and_infinities_in_rows_that_are_combined_in_chunks():
    x = np.zeros((30000, 10), np.float32)
    x[29999, 0], x[3, 1], x[20000, 2], x[17, 3] = np.nan, np.inf, -np.inf, np.nan
    for name in ("sum", "max", "min"):
        out = nj.jit(lambda v, name=name: getattr(jnp, name)(v, axis=0))(x)
        np.testing.assert_array_equal(out, getattr(np, name)(x, axis=0))


def test_integers_and_halves_in_chunks():
    x = np.random.default_rng(1).integers(-9, 9, (30001, 12))
    for dtype in (np.int8, np.int32, np.float16):
        expected = x.astype(dtype).astype(np.int64).sum(0)
        out = np.asarray(nj.jit(lambda v, dtype=dtype: jnp.sum(v, 0, dtype))(x.astype(dtype)))
        assert out.tolist() == expected.astype(dtype).tolist()
