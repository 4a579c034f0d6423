"""Shapes, joining, splitting and repeating, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import check, check_grad

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3)).astype(np.float32)
B = RNG.normal(size=(2, 3, 4)).astype(np.float32)
I = np.arange(6, dtype=np.int32).reshape(2, 3)
V = np.arange(5, dtype=np.int32)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("reshape", (A, (3, -1)), {}),
    ("reshape", (A, 6), {}),
    ("reshape", (A, (3, 2)), {"order": "F"}),
    ("ravel", (B,), {}),
    ("ravel", (B,), {"order": "F"}),
    ("transpose", (B,), {}),
    ("transpose", (B, (1, -1, 0)), {}),
    ("swapaxes", (B, 0, -1), {}),
    ("moveaxis", (B, (0, 1), (-1, 0)), {}),
    ("rollaxis", (B, 2), {}),
    ("rollaxis", (B, 0, 3), {}),
    ("squeeze", (A[None, :, None],), {}),
    ("squeeze", (A[None, :, None], 0), {}),
    ("expand_dims", (A, (0, -1)), {}),
    ("broadcast_to", (V, (3, 5)), {}),
    ("broadcast_arrays", (A, A[:, :1]), {}),
    ("atleast_1d", (A[0, 0],), {}),
    ("atleast_2d", (V,), {}),
    ("atleast_3d", (A,), {}),
    ("matrix_transpose", (B,), {}),
    ("permute_dims", (B, (2, 0, 1)), {}),
    ("append", (A, I), {}),
    ("append", (A, I), {"axis": 0}),
    ("split", (B, 3, 1), {}),
    ("split", (V, [1, 3]), {}),
    ("array_split", (V, 3), {}),
    ("hsplit", (B, 3), {}),
    ("vsplit", (B, 2), {}),
    ("dsplit", (B, 2), {}),
    ("unstack", (B,), {"axis": 1}),
    ("tile", (A, (2, 1, 2)), {}),
    ("tile", (V, 2), {}),
    ("tile", (B, 0), {}),
    ("repeat", (A, 2), {"axis": 1}),
    ("repeat", (A, 3), {}),
    ("repeat", (V, [1, 0, 2, 0, 1]), {}),
    ("roll", (A, 1), {}),
    ("roll", (B, (1, -2), (0, 2)), {}),
    ("flip", (B,), {}),
    ("flip", (B, (0, -1)), {}),
    ("flipud", (A,), {}),
    ("fliplr", (A,), {}),
    ("rot90", (A,), {}),
    ("rot90", (B, 3, (1, 2)), {}),
    ("rot90", (A, 2), {}),
    ("resize", (A, (4, 4)), {}),
    ("diagonal", (B, 1, 1, 2), {}),
    ("trace", (I,), {}),
    ("trace", (B, -1), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=[f"{i}-{c[0]}" for i, c in enumerate(CALLS)])
def test_as_numpy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    want = getattr(np, name)(*args, **kwargs)
    check(getattr(jnp, name), list(want) if isinstance(want, tuple) else want, *args, **kwargs)


JOINS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("concatenate", [A, A], {"axis": 1}),
    ("concatenate", [A, B[:, :, 0]], {"axis": None}),
    ("concat", [A, A], {"axis": 0}),
    ("stack", [A, A], {"axis": -1}),
    ("vstack", [V, V], {}),
    ("vstack", [A, A[0]], {}),
    ("hstack", [A, A], {}),
    ("hstack", [V, V], {}),
    ("dstack", [V, V], {}),
    ("column_stack", [V, V], {}),
    ("block", [[A, A], [A, A]], {}),
    ("block", [V, V[:1]], {}),
]


@pytest.mark.parametrize(("name", "arrays", "kwargs"), JOINS)
def test_joins(name: str, arrays: list[Any], kwargs: dict[str, Any]) -> None:
    check(
        lambda x: getattr(jnp, name)([*arrays[:-1], x] if name != "block" else arrays, **kwargs),
        getattr(np, name)(arrays, **kwargs),
        arrays[-1] if name != "block" else A,
    )


def test_dtypes_of_joins() -> None:
    assert jnp.concatenate([I, A]).dtype == jnp.float32
    assert jnp.concatenate([I, I], dtype="float16").dtype == jnp.float16
    assert jnp.stack([jnp.int8(1), 2]).dtype == jnp.int8
    assert jnp.stack([1.0, 2.0]).weak_type


def test_values_that_are_traced() -> None:
    counts = np.array([1, 0, 2], np.int32)
    repeat = nj.jit(lambda x, n: jnp.repeat(x, n, total_repeat_length=5))
    assert repeat(np.arange(3), counts).tolist() == [0, 2, 2, 2, 2]
    assert nj.jit(lambda x, s: jnp.roll(x, s))(V, -7).tolist() == np.roll(V, -7).tolist()
    for n in (counts, 2):
        with pytest.raises(nj.errors.ConcretizationTypeError, match=r"repeats must be static.*total_repeat_length="):
            nj.jit(jnp.repeat)(np.arange(3), n)


@pytest.mark.parametrize("shift", [1.5, True, -1.5, np.float32(2), jnp.float32(2.5), np.array([1.5, 1.0]), jnp.bfloat16(2)])
def test_roll_cuts_shifts_to_integers(shift: Any) -> None:
    want = np.roll(V, int(np.sum(np.asarray(shift).astype(int))))
    assert jnp.roll(V, shift).tolist() == want.tolist() == nj.jit(jnp.roll)(V, shift).tolist()


@pytest.mark.parametrize("parts", [3.0, np.float64(3), np.array(3.0), jnp.float32(3), 3.5])
def test_split_cuts_the_number_of_parts_to_an_integer(parts: Any) -> None:
    assert [x.tolist() for x in jnp.split(V[:3], parts)] == [[x] for x in V[:3].tolist()]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.split(A, [1.0]), TypeError, "must be an integer, got 1.0"),
        (lambda: jnp.split(A, "2"), TypeError, "must be an integer, got '2'"),
        (lambda: jnp.roll(A, "2"), TypeError, "integer"),
        (lambda: jnp.reshape(A, (4, 2)), TypeError, "cannot reshape"),
        (lambda: jnp.reshape(A, (4, -1)), TypeError, "cannot reshape"),
        (lambda: jnp.reshape(A, (-1, -1)), TypeError, "only specify one unknown axis size"),
        (lambda: jnp.reshape([1, 2], 2), TypeError, "requires ndarray"),
        (lambda: jnp.reshape(A, 6, order="A"), NotImplementedError, "order='A'"),
        (lambda: jnp.transpose(A, (0, 0)), TypeError, "permut"),
        (lambda: jnp.swapaxes(A, 0, 2), ValueError, "out of bounds"),
        (lambda: jnp.squeeze(A, 0), ValueError, "not equal to one|size"),
        (lambda: jnp.broadcast_to(A, (3, 2)), ValueError, "Incompatible shapes"),
        (lambda: jnp.moveaxis(A, (0, 1), 0), ValueError, "number"),
        (lambda: jnp.matrix_transpose(V), ValueError, "two-dimensional"),
        (lambda: jnp.concatenate([]), ValueError, "at least one"),
        (lambda: jnp.concatenate([A, V]), TypeError, "different numbers of dimensions"),
        (lambda: jnp.concatenate([A, A[:, :2]]), TypeError, "differ in dimensions other than .* agree"),
        (lambda: jnp.concatenate([1.0, 2.0]), ValueError, "Zero-dimensional"),
        (lambda: jnp.concatenate([[1], [2]]), TypeError, "list"),
        (lambda: jnp.stack([A, A[0]]), ValueError, "same shape"),
        (lambda: jnp.split(V, 2), ValueError, "equal division"),
        (lambda: jnp.split(V, 0), ValueError, "larger than 0"),
        (lambda: jnp.unstack(1.0), ValueError, "rank > 0"),
        (lambda: jnp.rot90(A, 1, (0, 0)), ValueError, "different"),
        (lambda: jnp.repeat(V, -1), ValueError, "repeats >= 0"),
        (lambda: jnp.block([[A], A]), ValueError, "nested"),
        (lambda: jnp.diagonal(V), ValueError, "two dimensions"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: jnp.reshape(x, (3, 2), order="F"),
        lambda x: jnp.stack([x, x * x], 1),
        lambda x: jnp.tile(x, (2, 2)),
        lambda x: jnp.repeat(x, 2, 1),
        lambda x: jnp.roll(x, 1, 1),
        jnp.rot90,
        lambda x: jnp.split(x, 3, 1)[1],
        jnp.trace,
    ],
)
def test_derivatives(fn: Any) -> None:
    check_grad(fn, A)


def test_one_equation_each() -> None:
    assert len(nj.make_jaxpr(lambda x: x.reshape(3, 2))(A).eqns) == 1
    assert len(nj.make_jaxpr(lambda x: x.T)(A).eqns) == 1
    assert len(nj.make_jaxpr(lambda x: jnp.concatenate([x, x]))(A).eqns) == 1
    assert len(nj.make_jaxpr(lambda x: jnp.broadcast_to(x, (2, 3)))(A).eqns) == 0


@pytest.mark.parametrize("end", [0, 1, 100, 10.0, 3.5, -5, (1.5, 2.5)])
@pytest.mark.parametrize("width", [1, 2, 3, (2, 3), 7])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_ramps_are_numpys(dtype, width, end):
    """Of integers rounded down, from end values that need not be integers."""
    a = np.array([[1, -3, 2], [4, -5, 3]], dtype)
    expected = np.pad(a, width, mode="linear_ramp", end_values=end)
    np.testing.assert_allclose(jnp.pad(a, width, mode="linear_ramp", end_values=end), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 100_000])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32])
def test_ramps_of_integers_are_exact(dtype, width):
    """Also where differences of the ends overflow, and where float32 has no such integers. NumPy rounds steps in float64."""
    k = np.arange(width)
    ramp = lambda end, edge: int(end) + (int(edge) - int(end)) * k // width
    padded = nj.jit(lambda x, end: jnp.pad(x, width, mode="linear_ramp", end_values=end))
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([high, low, low + 3, high // 2 + 1, high - 3], dtype)
    for end in (dtype(high - 2), dtype(low + 1), dtype(high // 3)):
        for array in (a, np.roll(a, 1)):
            found = padded(array, end)
            np.testing.assert_array_equal(found, [*ramp(end, array[0]), *array.tolist(), *ramp(end, array[-1])[::-1]])


@pytest.mark.parametrize("axis", [0, -1, None])
def test_repeat_of_a_scalar(axis):
    np.testing.assert_array_equal(jnp.repeat(3.0, 2, axis=axis), np.repeat(3.0, 2, axis=axis))


@pytest.mark.parametrize("k", [2**31 - 1, -2**31, 2**100, -2**100])
@pytest.mark.parametrize("f", [lambda np, k: np.eye(3, 4, k=k), lambda np, k: np.tri(3, 4, k=k),
                               lambda np, k: np.tril(np.ones((3, 3)), k=k), lambda np, k: np.triu(np.ones((3, 3)), k=k)])
def test_diagonals_far_outside(f, k):
    near = 10 if k > 0 else -10
    np.testing.assert_array_equal(f(jnp, k), f(np, near))
