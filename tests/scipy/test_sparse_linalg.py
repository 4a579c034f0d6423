"""numjet.scipy.sparse.linalg: solutions, derivatives and batches against dense solves; preconditioners, errors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy.sparse import linalg

SOLVERS = [linalg.cg, linalg.bicgstab, linalg.gmres]


def system(hermitian, complex_, n=8):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    if complex_:
        a, b = a + 1j * rng.standard_normal((n, n)), b + 1j * rng.standard_normal(n)
    return (a @ a.conj().T + n * np.eye(n) if hermitian else a + 6 * np.eye(n)), b


@pytest.fixture(params=[(s, c) for s in SOLVERS for c in (False, True)], ids=lambda p: f"{p[0].__name__}-{p[1]}")
def problem(request):
    solver, complex_ = request.param
    with enable_x64():
        yield solver, *map(jnp.array, system(solver is linalg.cg, complex_))


def test_solutions_and_derivatives(problem):
    solver, a, b = problem
    f = lambda a, b: solver(a @ a.conj().T + a if solver is linalg.cg else a, b, tol=1e-12)[0]
    want = lambda a, b: jnp.linalg.solve(a @ a.conj().T + a if solver is linalg.cg else a, b)
    np.testing.assert_allclose(nj.jit(f)(a, b), want(a, b), rtol=1e-8, atol=1e-10)
    real = lambda g: lambda a, b: jnp.sum(jnp.abs(g(a, b)) ** 2)
    for got, exact in zip(nj.grad(real(f), (0, 1))(a, b), nj.grad(real(want), (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-7, atol=1e-9)
    if not jnp.iscomplexobj(b):
        forward = [nj.jvp(g, (a, b), (a, b * b))[1] for g in (f, want)]
        np.testing.assert_allclose(*forward, rtol=1e-7, atol=1e-9)


def test_functions_trees_guesses_and_preconditioners(problem):
    solver, a, b = problem
    def product(tree):
        v = a @ jnp.concatenate([tree["u"], tree["v"].ravel()])
        return {"u": v[:2], "v": v[2:].reshape(3, 2)}
    rhs = {"u": b[:2], "v": b[2:].reshape(3, 2)}
    diagonal = jnp.real(jnp.diagonal(a))
    precondition = lambda t: {"u": t["u"] / diagonal[:2], "v": t["v"] / diagonal[2:].reshape(3, 2)}
    want = np.linalg.solve(a, b)
    for extra in ({}, {"M": precondition}, {"x0": rhs}):
        got, info = solver(product, rhs, tol=1e-10, **extra)
        assert info is None if solver is not linalg.gmres else int(info) == 0
        np.testing.assert_allclose(np.concatenate([got["u"], got["v"].ravel()]), want, rtol=1e-7, atol=1e-8)
    back = nj.grad(lambda r: jnp.sum(jnp.real(solver(product, r, tol=1e-10, M=precondition)[0]["u"])))(rhs)
    exact = nj.grad(lambda b: jnp.sum(jnp.real(jnp.linalg.solve(a, b)[:2])))(b)
    np.testing.assert_allclose(np.concatenate([back["u"], back["v"].ravel()]), exact, rtol=1e-7, atol=1e-8)


def test_batches(problem):
    solver, a, b = problem
    many = jnp.stack([b, 2 * b[::-1], b * 0])
    got = nj.vmap(lambda b: solver(a, b, tol=1e-10)[0])(many)
    np.testing.assert_allclose(got, np.linalg.solve(a, many.T).T, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_and_small_systems(solver):
    a, b = (jnp.array(x, jnp.float32) for x in system(True, False))
    x0 = jnp.ones(8)
    assert jnp.array_equal(solver(a, b, x0, maxiter=0)[0], x0)
    assert jnp.array_equal(solver(a, b, x0, atol=1e9)[0], x0)
    np.testing.assert_allclose(solver(jnp.array([[4.0]]), jnp.array([2.0]))[0], [0.5], rtol=1e-6)
    assert solver(jnp.zeros((0, 0)), jnp.zeros(0))[0].shape == (0,)
    assert solver(a, jnp.arange(8))[0].dtype == jnp.float32
    assert solver(lambda v: 2 * v, 3.0)[0] == 1.5


def test_gmres_restarts_ends_early_and_survives_singular_matrices():
    with enable_x64():
        a, b = map(jnp.array, system(False, False, 30))
        for method in ("batched", "incremental"):
            x = linalg.gmres(a, b, tol=1e-10, restart=5, maxiter=200, solve_method=method)[0]
            np.testing.assert_allclose(a @ x, b, atol=1e-8)
        singular = jnp.array([[2.0, 0.0], [0.0, 0.0]])
        np.testing.assert_allclose(linalg.gmres(singular, jnp.array([4.0, 0.0]))[0], [2.0, 0.0])
        nilpotent = jnp.array([[0.0, 1.0], [0.0, 0.0]])
        assert jnp.all(jnp.isfinite(linalg.gmres(nilpotent, jnp.array([1.0, 0.0]))[0]))


def test_gmres_says_whether_the_solution_is_nan():
    solve = nj.jit(lambda a, b: linalg.gmres(lambda x: {"x": a @ x["x"]}, {"x": b}, {"x": b}))
    assert int(solve(jnp.eye(2), jnp.ones(2))[1]) == 0
    x, info = solve(jnp.eye(2), jnp.array([1.0, jnp.nan]))
    assert info.dtype == "int32" and int(info) == -bool(jnp.isnan(x["x"]).any())


@pytest.mark.parametrize("solver", [linalg.bicgstab, linalg.gmres])
def test_solutions_are_weakly_typed_like_the_image_of_weak_types(solver):
    assert solver(lambda x: x, 1.0)[0].weak_type
    assert not solver(lambda x: x * jnp.float32(2), 1.0)[0].weak_type


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("call,error,match", [
    (lambda s, a, b: s("A", b), TypeError, "linear operator must be either a function or ndarray"),
    (lambda s, a, b: s(a[:2], b), ValueError, "must be a square matrix"),
    (lambda s, a, b: s(a, b, b[:2]), ValueError, "matching shapes"),
    (lambda s, a, b: s(a, b, {"b": b}), ValueError, "matching tree structure"),
    (lambda s, a, b: s(lambda x: x[:1], b), ValueError, "output shapes must match"),
    (lambda s, a, b: s(lambda x: (x,), b), TypeError, "same structure"),
])
def test_errors(solver, call, error, match):
    with pytest.raises(error, match=match):
        call(solver, jnp.eye(3), jnp.ones(3))


def test_gmres_errors():
    with pytest.raises(ValueError, match="solve_method"):
        linalg.gmres(jnp.eye(2), jnp.ones(2), solve_method="fast")
    with pytest.raises(ValueError, match="restart"):
        linalg.gmres(jnp.eye(2), jnp.ones(2), restart=0)
