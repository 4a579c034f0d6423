"""Small matrices and convolutions, written out as scalar code as long as a program has room for it."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Call
from numjet.cpu.ir.traversal import walk
from numjet.transforms.simplify import simplify

RNG = np.random.default_rng(0)


def statements(fun, *args) -> list:
    closed = simplify(nj.make_jaxpr(fun)(*args))
    return walk(compiler.planned(closed, "f").body)


def kernels(fun, *args) -> int:
    return sum(isinstance(stmt, Call) and stmt.symbol.startswith("nj_") for stmt in statements(fun, *args))


def positive(*shape: int) -> np.ndarray:
    x = RNG.normal(size=shape).astype(np.float32)
    return x @ x.swapaxes(-1, -2) + 2 * np.eye(shape[-1], dtype=np.float32)


def factors(times: int):
    def fun(x):
        for k in range(times):
            lower = jnp.linalg.cholesky(x + (2 + k) * jnp.eye(x.shape[-1]))
            x = 0.1 * lower + jnp.swapaxes(lower, -1, -2) + 0.3
        return x
    return fun


def convolutions(times: int):
    def fun(x, w):
        for _ in range(times):
            x = jnp.tanh(lax.conv_general_dilated(x, w, (1, 1), "SAME"))
        return x
    return fun


IMAGE, WINDOW = RNG.normal(size=(1, 3, 6, 6)).astype(np.float32), RNG.normal(size=(3, 3, 3, 3)).astype(np.float32) * 0.2


def test_some_small_matrices_are_written_out_and_many_call_the_kernel():
    assert kernels(factors(3), positive(6, 6)) == 0
    many = kernels(factors(100), positive(6, 6))
    assert 40 < many < 90
    assert kernels(factors(200), positive(6, 6)) == many + 100


@pytest.mark.parametrize(("fun", "args"), [(factors, (positive(8, 8),)), (convolutions, (IMAGE, WINDOW))])
def test_programs_of_very_many_grow_by_a_few_statements_each(fun, args):
    counts = [len(statements(fun(times), *args)) for times in (2, 60, 120)]
    written, called = counts[0] / 2, (counts[2] - counts[1]) / 60
    assert called < written / 3 and called < 60


def test_a_large_batch_is_always_written_out():
    assert kernels(factors(100), positive(20_000, 4, 4)) == 0


def test_loops_have_more_room():
    def fun(x):
        return lax.fori_loop(0, 10, lambda k, y: factors(60)(y), x)
    assert kernels(fun, positive(6, 6)) == 0


@pytest.mark.parametrize("order", range(1, 10))
def test_one_matrix_and_many_agree_with_numpy(order):
    x, y = positive(order, order), RNG.normal(size=(order, order)).astype(np.float32)
    many = np.stack([x, positive(order, order)] * 5)
    for fun, expected in ((lambda a: jnp.linalg.solve(a, y), lambda a: np.linalg.solve(a, y)),
                          (jnp.linalg.inv, np.linalg.inv), (jnp.linalg.cholesky, np.linalg.cholesky)):
        np.testing.assert_allclose(nj.jit(fun)(x), expected(x), rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(nj.jit(nj.vmap(fun))(many), np.stack([expected(a) for a in many]), rtol=2e-4, atol=2e-4)


def test_the_two_ways_agree():
    fun, x = factors(60), positive(5, 5)
    expected = x
    for k in range(60):
        lower = np.linalg.cholesky((expected + expected.T) / 2 + (2 + k) * np.eye(5))
        expected = 0.1 * lower + lower.T + 0.3
    np.testing.assert_allclose(nj.jit(fun)(x), expected, rtol=1e-4)
    np.testing.assert_allclose(nj.jit(convolutions(40))(IMAGE, WINDOW), convolutions(40)(IMAGE, WINDOW), rtol=1e-3, atol=1e-5)
