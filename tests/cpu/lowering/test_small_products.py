"""Products of two matrices that are too small for the kernel: lanes are columns wherever a transpose pays for that."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Call, For
from numjet.cpu.ir.traversal import walk

FORMS = ("mk,nk->mn", "km,nk->mn", "mk,kn->mn", "km,kn->mn", "zmk,znk->zmn", "zkm,znk->zmn")
SHAPES = [(20, 8, 10), (9, 8, 9), (8, 9, 15), (12, 33, 31), (3, 12, 16), (40, 2, 9), (1, 16, 12), (8, 40, 100),
          (40, 4, 10), (17, 7, 31)]


def operands(form, m, n, k, dtype):
    sizes, rng = {"m": m, "n": n, "k": k, "z": 3}, np.random.default_rng(m + n + k)
    left, right = form.split("->")[0].split(",")
    return [rng.integers(-3, 4, [sizes[c] for c in letters]).astype(dtype) for letters in (left, right)]


def in_a_loop(form):
    """The product again and again, of a right operand that changes."""
    return lambda x, y: lax.fori_loop(0, 5, lambda i, c: c * 0 + jnp.einsum(form, x, y + 0 * c.ravel()[0]),
                                      0 * jnp.einsum(form, x, y))


def planned(fun, *args):
    return compiler.planned(nj.make_jaxpr(nj.jit(fun))(*args), "f")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form, dtype):
    with nj.enable_x64(True):
        for shape in SHAPES:
            x, y = operands(form, *shape, np.float64)
            want = np.einsum(form, x, y)
            for fun in (lambda a, b: jnp.einsum(form, a, b), in_a_loop(form)):
                got = nj.jit(fun)(jnp.asarray(x, dtype), jnp.asarray(y, dtype))
                np.testing.assert_array_equal(np.asarray(got), np.asarray(jnp.asarray(want, dtype)))


@pytest.mark.parametrize("form, shape", [("mk,nk->mn", (20, 8, 10)), ("mk,nk->mn", (9, 40, 20)), ("mk,nk->mn", (40, 4, 10)),
                                         ("km,nk->mn", (12, 9, 30))])
def test_no_sum_goes_along_lanes(form, shape):
    """The right operand is transposed, and no element of the product is the sum of the lanes of a vector."""
    function = planned(in_a_loop(form), *operands(form, *shape, np.float32))
    (steps,) = [s for s in function.body if isinstance(s, For) and s.stop.attr == 5]
    assert not [s for s in walk(steps.body) if isinstance(s, For) and s.mode == "vector" and s.carries]


@pytest.mark.parametrize("form, shape", [("mk,nk->mn", (15, 8, 64)), ("mk,nk->mn", (3, 12, 16))])
def test_long_sums_and_few_rows_are_not_worth_a_transpose(form, shape):
    function = planned(in_a_loop(form), *operands(form, *shape, np.float32))
    assert [s for s in walk(function.body) if isinstance(s, For) and s.mode == "vector" and s.carries]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("m, n, k", [(2, 2, 9000), (3, 2, 40001), (2, 7, 12345), (4, 4, 5000)])
def test_few_long_sums_are_products_with_vectors(dtype, m, n, k):
    with nj.enable_x64(True):
        x, y = operands("mk,nk->mn", m, n, k, dtype)
        want = x.astype(np.result_type(dtype, np.float64)) @ y.astype(np.result_type(dtype, np.float64)).T
        fun = lambda a, b: a @ b.T + 1
        np.testing.assert_array_equal(nj.jit(fun)(x, y), want.astype(dtype) + 1)
        calls = [s for s in walk(planned(fun, x, y).body) if isinstance(s, Call)]
        assert [[a.attr for a in c.args[1:5]] for c in calls] == [[n, m, 1, k]]   # batch, rows, columns, terms


def test_covariances_of_two_long_vectors():
    x, y = np.random.default_rng(0).normal(size=(2, 50_000)).astype(np.float32)
    np.testing.assert_allclose(nj.jit(jnp.cov)(x, y), np.cov(x, y), rtol=1e-3, atol=1e-4)
