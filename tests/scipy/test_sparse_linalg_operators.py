"""LinearOperator, minres and lsqr: products, solutions, derivatives and batches against dense ones; errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.sparse import linalg
from numjet.scipy.sparse.linalg import LinearOperator, aslinearoperator, lsqr, minres

RNG = np.random.default_rng(0)


def _matrix(complex_, rows=6, columns=4):
    a = RNG.standard_normal((rows, columns))
    return a + 1j * RNG.standard_normal((rows, columns)) if complex_ else a


@pytest.mark.parametrize("complex_", [False, True])
def test_products_of_operators(complex_, x64):
    a, b = _matrix(complex_), _matrix(complex_)
    v, u = RNG.standard_normal(4), RNG.standard_normal(6)
    op = LinearOperator((6, 4), lambda v: jnp.asarray(a) @ v, dtype=a.dtype)
    for got, want in [
        (op @ v, a @ v), (op(v[:, None]), a @ v[:, None]), (op.H @ u, a.conj().T @ u), (op.T @ u, a.T @ u), (op @ b.T, a @ b.T),
        ((op + b) @ v, (a + b) @ v), ((op - aslinearoperator(b)) @ v, (a - b) @ v), ((2 * op) @ v, 2 * a @ v),
        ((op.H @ op) @ v, a.conj().T @ a @ v), (nj.jit(lambda v: op.rmatvec(v))(u), a.conj().T @ u), ((-op).dot(v), -a @ v),
        (aslinearoperator(a).H @ u, a.conj().T @ u)]:
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert repr(op) == f"<6x4 LinearOperator with dtype={a.dtype}>" and op.H.shape == (4, 6)
    for call, error, match in [
        (lambda: op @ u, ValueError, "dimension mismatch"), (lambda: op.matmat(u[None]), ValueError, "dimension mismatch"),
        (lambda: op @ op, ValueError, "dimension mismatch"), (lambda: op + op.T, ValueError, "cannot add operators"),
        (lambda: LinearOperator((2,), lambda v: v), ValueError, "rows, columns"),
        (lambda: LinearOperator((2, 3), lambda v: v) @ np.ones(3), ValueError, "expected \\(2,\\)"),
        (lambda: aslinearoperator("x"), TypeError, "got str"), (lambda: aslinearoperator(jnp.ones(2)), ValueError, "a matrix")]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("complex_", [False, True])
def test_minimal_residuals(complex_, x64):
    a = _matrix(complex_, 7, 7)
    a, b = a + a.conj().T, _matrix(complex_, 7, 1)[:, 0]  # indefinite
    want = np.linalg.solve(a, b)
    solve = lambda a, b: minres(a, b, tol=1e-12)[0]
    np.testing.assert_allclose(nj.jit(solve)(a, b), want, rtol=1e-8)
    preconditioner = np.diag(1 / np.abs(np.diag(a).real))
    np.testing.assert_allclose(minres(aslinearoperator(a), b, tol=1e-12, M=preconditioner, x0=b)[0], want, rtol=1e-7)
    np.testing.assert_allclose(nj.vmap(solve, (None, 0))(a, np.stack([b, 2 * b]))[1], 2 * want, rtol=1e-8)
    real = lambda solve: lambda a, b: jnp.sum(jnp.abs(solve((a + a.conj().T) / 2, b)) ** 2)
    for got, exact in zip(nj.grad(real(solve), (0, 1))(a, b), nj.grad(real(jnp.linalg.solve), (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-8)
    assert np.all(np.asarray(minres(a, 0 * b)[0]) == 0)
    with pytest.raises(ValueError, match="minres: linear operator must be a square matrix"):
        minres(a[:3], b)


@pytest.mark.parametrize("shape", [(8, 5), (5, 5), (1, 1)])
@pytest.mark.parametrize("complex_", [False, True])
def test_least_squares(shape, complex_, x64):
    a, b = _matrix(complex_, *shape), _matrix(complex_, shape[0], 1)[:, 0]
    tight = {"atol": 1e-13, "btol": 1e-13, "iter_lim": 60}
    for damp in (0.0, 0.7):
        found = nj.jit(lambda a, b, damp=damp: lsqr(a, b, damp, **tight))(a, b)
        want = oracle.lsqr(a, b, damp, atol=1e-14, btol=1e-14)
        np.testing.assert_allclose(found.x, want[0], rtol=1e-8)
        np.testing.assert_allclose(found.r1norm, want[3], rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(found.xnorm, want[8], rtol=1e-8)
        moved = lsqr(a, b, damp, **tight, x0=np.ones(shape[1])).x
        np.testing.assert_allclose(moved, oracle.lsqr(a, b, damp, 1e-14, 1e-14, x0=np.ones(shape[1]))[0], rtol=1e-7)
    exact = lambda a, b: jnp.linalg.solve(a.conj().T @ a + 0.49 * jnp.eye(shape[1]), a.conj().T @ b)
    solve = lambda a, b: lsqr(a, b, 0.7, **tight).x
    real = lambda solve: lambda a, b: jnp.sum(jnp.abs(solve(a, b)) ** 2)
    for got, wanted in zip(nj.grad(real(solve), (0, 1))(a, b), nj.grad(real(exact), (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(nj.vmap(solve, (None, 0))(a, np.stack([b, 2 * b]))[1], 2 * np.asarray(exact(a, b)), rtol=1e-8)


def test_shapes_and_errors_of_least_squares():
    a = jnp.asarray(_matrix(False), "float32")
    assert lsqr(a, jnp.ones((6, 1), "float32")).x.dtype == "float32"
    assert int(lsqr(a, jnp.zeros(6)).istop) == 0 and int(lsqr(a, a @ jnp.ones(4)).istop) == 1
    assert int(lsqr(a, jnp.arange(6.0)).istop) == 2 and int(lsqr(a, jnp.arange(6.0), iter_lim=1).istop) == 7
    with pytest.raises(ValueError, match="lsqr: expected b as a vector of 6 elements"):
        lsqr(a, jnp.ones(4))
    with pytest.raises(ValueError, match="lsqr: expected x0 of the shape"):
        lsqr(a, jnp.ones(6), x0=jnp.ones(3))
    with pytest.raises(TypeError, match="aslinearoperator"):
        lsqr(lambda v: v, jnp.ones(6))
    assert linalg.LinearOperator is LinearOperator
