"""Products, einsum and norms, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import check, check_grad

RNG = np.random.default_rng(0)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def ints(*shape: int) -> np.ndarray:
    return RNG.integers(-5, 6, shape).astype(np.int32)


def z(*shape: int) -> np.ndarray:
    return (f(*shape) + 1j * f(*shape)).astype(np.complex64)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("dot", (f(2, 3), f(3, 4)), {}),
    ("dot", (f(2, 3), f(3)), {}),
    ("dot", (f(5, 2, 3), f(4, 3, 2)), {}),
    ("dot", (ints(3), ints(3)), {}),
    ("dot", (np.float32(2), f(2, 3)), {}),
    ("dot", (f(2, 0), f(0, 3)), {}),
    ("inner", (f(2, 3), f(4, 3)), {}),
    ("vdot", (z(2, 2), z(2, 2)), {}),
    ("outer", (f(3), f(2, 2)), {}),
    ("kron", (f(2, 3), f(2, 2)), {}),
    ("kron", (f(3), f(2, 2)), {}),
    ("cross", (f(4, 3), f(3)), {}),
    ("cross", (f(3, 4), f(3, 4)), {"axis": 0}),
    ("tensordot", (f(2, 3, 4), f(3, 4, 5)), {}),
    ("tensordot", (f(2, 3), f(4, 3)), {"axes": (1, 1)}),
    ("tensordot", (f(2, 3, 4), f(4, 3)), {"axes": ((1, 2), (1, 0))}),
    ("vecdot", (z(4, 3), z(3)), {}),
    ("vecdot", (f(4, 3), f(4, 3)), {"axis": 0}),
]
MATMULS = [
    ((2, 3), (3, 4)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 6)),
    ((1, 4, 2, 3), (5, 1, 3, 2)),
    ((1, 2, 3), (1, 3, 2)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((7, 1, 3), (1, 3, 2)),
    ((0, 2, 3), (3, 2)),
]
EINSUMS: list[tuple[str, tuple[Any, ...]]] = [
    ("ij,jk", (f(2, 3), f(3, 4))),
    ("ij,jk->ki", (f(2, 3), f(3, 4))),
    ("ij->", (f(2, 3),)),
    ("ii->i", (f(3, 3),)),
    ("ii", (f(3, 3),)),
    ("iij->j", (f(3, 3, 2),)),
    ("ij,ij->ij", (f(2, 3), f(2, 3))),
    ("i,j", (f(2), f(3))),
    ("...ij,...jk", (f(2, 2, 3), f(5, 2, 3, 4))),
    ("bij,bjk->bik", (f(2, 3, 4), f(2, 4, 5))),
    ("bij,kj->bki", (f(2, 3, 4), f(5, 4))),
    ("ij,jk,kl->il", (f(2, 3), f(3, 4), f(4, 2))),
    ("ab,bc,cd->", (f(2, 3), f(3, 4), f(4, 2))),
    ("i,i,i->i", (f(3), f(3), f(3))),
    ("i...->...", (f(2, 3),)),
    ("ij,j", (f(2, 1), f(3))),
    ("ik,jk->ji", (ints(2, 3), ints(4, 3))),
    ("bhqd,bhkd->bhqk", (f(2, 3, 4, 5), f(2, 3, 6, 5))),
    ("ii,i->", (f(3, 3), f(3))),
    ("ijk->kji", (f(2, 3, 4),)),
    ("i,ij,j->", (f(3), f(3, 4), f(4))),
    ("i,i->", (z(3), z(3))),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_as_numpy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    check(getattr(jnp, name), getattr(np, name)(*args, **kwargs), *args, rtol=2e-5, **kwargs)


@pytest.mark.parametrize(("left", "right"), MATMULS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = f(*left), f(*right)
    check(jnp.matmul, np.matmul(a, b), a, b, rtol=2e-5)
    if a.size:
        check_grad(jnp.matmul, a, b)


@pytest.mark.parametrize(("subscripts", "args"), EINSUMS)
def test_einsum(subscripts: str, args: tuple[Any, ...]) -> None:
    check(lambda *xs: jnp.einsum(subscripts, *xs), np.einsum(subscripts, *args), *args, rtol=2e-5)


def test_einsum_sums_in_the_wider_dtype_of_the_result():
    bytes_ = np.full((2, 100), 100, np.int8)
    wide = lambda subscripts, *xs: jnp.einsum(subscripts, *xs, preferred_element_type="int32")
    for arrays in (lambda *xs: xs, nj.jit(lambda *xs: xs)):
        x, y = arrays(bytes_, np.ones(2, np.int8))
        assert wide("ij->i", x).tolist() == wide("ij,i->i", x, y).tolist() == [10000, 10000]
        assert wide("ij,k->i", x, y).tolist() == [20000, 20000]
    halves = jnp.full(3000, 1.1, "float16")
    assert jnp.einsum("i->", halves, preferred_element_type="float32") == jnp.sum(halves.astype("float32"))


@pytest.mark.parametrize("subscripts, shapes, text", [
    ("ij,jk->ik", [(2, 3), (4, 4)], r"Size of label 'j' for operand 1 \(4\) does not match previous terms \(3\)"),
    ("ijk", [(2, 3)], "Einstein sum subscript 'ijk' does not contain the correct number of indices"),
    ("ij,jk->ik", [(2, 3)], "Number of einsum subscripts, 2, must be equal to the number of operands, 1"),
    ("ij->ii", [(2, 3)], "Output character 'i' appeared more than once in the output"),
])
def test_errors_of_einsum(subscripts: str, shapes: list[tuple[int, ...]], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        jnp.einsum(subscripts, *[np.ones(s) for s in shapes])


def test_einsum_by_lists_and_paths() -> None:
    a, b, c = f(2, 3), f(3, 4), f(4, 2)
    check(lambda x, y: jnp.einsum(x, [0, 1], y, [1, 2], [0, 2]), a @ b, a, b, rtol=2e-5)
    check(lambda x, y: jnp.einsum("q1,1_->q_", x, y), a @ b, a, b, rtol=2e-5)
    for how in (False, True, "greedy", [(1, 2), (0, 1)]):
        np.testing.assert_allclose(jnp.einsum("ij,jk,kl", a, b, c, optimize=how), a @ b @ c, rtol=2e-5, atol=1e-6)
    path, text = jnp.einsum_path("ij,jk,kl", a, b, c)
    assert sorted(path[-1]) == [0, 1]
    assert "FLOP" in str(text)


def test_one_contraction_is_one_dot_general() -> None:
    count = lambda fn, *args: [e.primitive.name for e in nj.make_jaxpr(fn)(*args).eqns]
    assert count(lambda x, y: jnp.einsum("bij,bjk->bik", x, y), f(2, 3, 4), f(2, 4, 5)) == ["dot_general"]
    assert count(lambda x, y: jnp.einsum("ij,jk->ki", x, y), f(2, 3), f(3, 4)) == ["dot_general"]
    assert count(jnp.matmul, f(5, 2, 3), f(3, 4)) == ["dot_general"]
    assert count(jnp.dot, f(3), f(3)) == ["dot_general"]


def test_dtypes() -> None:
    half = f(2, 3).astype(jnp.bfloat16)
    assert jnp.dot(half, half.T, preferred_element_type="float32").dtype == jnp.float32
    assert jnp.matmul(ints(2, 3), f(3)).dtype == jnp.float32
    assert jnp.dot(np.array([True, True]), np.array([False, True])).tolist() is True


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.dot(f(2, 3), f(2)), TypeError, "contracting dimensions"),
        (lambda: jnp.matmul(2.0, f(2)), ValueError, "at least 1"),
        (lambda: jnp.matmul(f(5, 2, 3), f(4, 3, 2)), ValueError, "Incompatible"),
        (lambda: jnp.matmul(f(2, 3), f(2, 3)), TypeError, "contract"),
        (lambda: jnp.dot([1], f(1)), TypeError, "requires ndarray"),
        (lambda: jnp.cross(f(4), f(4)), ValueError, "2 or 3"),
        (lambda: jnp.einsum("ij->k", f(2, 2)), ValueError, "Output character .k. did not appear in the input"),
        (lambda: jnp.einsum("i>,j", f(2), f(2)), ValueError, "expected letters"),
        (lambda: jnp.einsum("...i...", f(2)), ValueError, "Invalid Ellipses"),
        (lambda: jnp.einsum("i..", f(2)), ValueError, "Invalid Ellipses"),
        (lambda: jnp.einsum("i->...i...", f(2)), ValueError, "Invalid Ellipses"),
        (lambda: jnp.tensordot(f(2), f(2), 3), TypeError, "exceeds"),
        (lambda: jnp.linalg.norm(f(3), "fro"), ValueError, "Invalid order"),
        (lambda: jnp.linalg.norm(f(2, 2), 7), ValueError, "Invalid order"),
        (lambda: jnp.linalg.matrix_power(f(2, 3), 2), TypeError, "square"),
        (lambda: jnp.linalg.multi_dot([f(2, 2)]), ValueError, "at least two"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((f(2, 3),), {}),
        ((f(2, 3),), {"axis": 1}),
        ((f(2, 3), 1), {}),
        ((f(2, 3), np.inf), {"keepdims": True}),
        ((f(2, 3), -1), {}),
        ((f(4), 3), {}),
        ((f(4), 0), {}),
        ((f(4), -np.inf), {}),
        ((f(4), 1), {}),
        ((z(4),), {}),
        ((f(2, 3, 4), "fro"), {"axis": (0, 2)}),
    ],
)
def test_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    check(lambda x: jnp.linalg.norm(x, *args[1:], **kwargs), np.linalg.norm(*args, **kwargs), args[0], rtol=2e-5)


def test_linalg_products() -> None:
    m = f(3, 3)
    for n in (0, 1, 2, 5):
        check(lambda x, n=n: jnp.linalg.matrix_power(x, n), np.linalg.matrix_power(m, n), m, rtol=5e-5)
    chain = [f(3), f(3, 4), f(4, 2), f(2, 5)]
    check(lambda *xs: jnp.linalg.multi_dot(xs), np.linalg.multi_dot(chain), *chain, rtol=5e-5)
    check(jnp.linalg.vector_norm, np.linalg.vector_norm(m), m, rtol=2e-5)
    check(jnp.linalg.matrix_norm, np.linalg.matrix_norm(m), m, rtol=2e-5)
    check(jnp.linalg.trace, np.linalg.trace(m), m, rtol=2e-5)


@pytest.mark.parametrize("left, right, expected", [
    ("float8_e4m3fn", "float8_e5m2", "float8_e5m2"), ("float8_e5m2", "bfloat16", "bfloat16"),
    ("int8", "float8_e4m3", "float8_e4m3"),
    ("float4_e2m1fn", "float8_e3m4", "float8_e3m4"), ("float8_e8m0fnu", "float32", "float32")])
def test_products_of_small_floats_have_the_wider_dtype(left: str, right: str, expected: str) -> None:
    x, y = (jnp.asarray(np.eye(3, dtype=np.float32) + 1).astype(d) for d in (left, right))
    numbers = (((1,), (0,)), ((), ()))
    for a, b in ((x, y), (y, x)):
        assert nj.lax.dot_general(a, b, numbers).dtype == jnp.dtype(expected)
        product = nj.jit(lambda a, b: nj.lax.dot_general(a, b, numbers, preferred_element_type=jnp.float32))(a, b)
        np.testing.assert_array_equal(product, (np.eye(3) + 1) @ (np.eye(3) + 1))
        np.testing.assert_array_equal(jnp.einsum("ij,jk", a, b, preferred_element_type=jnp.float32), product)


def test_einsum_by_a_function_of_the_user() -> None:
    seen = []

    def product(a: Any, b: Any, numbers: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
        seen.append((a.shape, b.shape, numbers, precision, preferred_element_type))
        return nj.lax.dot_general(a, b, numbers, precision, preferred_element_type)

    a, b = f(2, 3), f(3, 4)
    np.testing.assert_allclose(jnp.einsum("ij,jk->ik", a, b, _dot_general=product, precision="highest"), a @ b, rtol=2e-5)
    np.testing.assert_allclose(jnp.einsum("i,j->ij", a[0], b[0], _dot_general=product), np.outer(a[0], b[0]), rtol=2e-5)
    assert seen[0] == ((2, 3), (3, 4), (((1,), (0,)), ((), ())), "highest", np.float32)
    assert seen[1][2] == (((), ()), ((), ())) and len(seen) == 2
