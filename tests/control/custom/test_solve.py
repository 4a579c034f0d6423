"""custom_linear_solve and custom_root: values, implicit derivatives, batches, errors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import grad, jit, lax, vmap
from numjet.foundation.config import enable_x64
from numjet.testing.records import check_function

A = np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.0, 2.0]])
B = np.array([1.0, 2.0, 3.0])


def solve(a, b):
    fixed = lax.stop_gradient(a)
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, y: jnp.linalg.solve(fixed, y),
                                   lambda _, y: jnp.linalg.solve(fixed.T, y))


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_linear_solve(transform):
    with enable_x64():
        np.testing.assert_allclose(transform(solve)(A, B), np.linalg.solve(A, B))
        check_function(lambda a, b: [transform(solve)(a, b)], [A, B], 2, "custom_linear_solve")


def test_linear_solve_batched():
    with enable_x64():
        many = np.stack([A, A + 1])
        rows = np.arange(6.0).reshape(2, 3)
        expected = np.stack([np.linalg.solve(a, b) for a, b in zip(many, rows, strict=True)])
        np.testing.assert_allclose(vmap(solve)(many, rows), expected)
        np.testing.assert_allclose(vmap(solve, (None, 0))(A, rows), np.linalg.solve(A, rows.T).T)
        np.testing.assert_allclose(vmap(solve, (0, None))(many, B), [np.linalg.solve(a, B) for a in many])
        one = grad(lambda a, b: solve(a, b).sum())
        np.testing.assert_allclose(vmap(one)(many, rows)[1], one(many[1], rows[1]))


def test_symmetric_solver_of_pytrees_with_aux():
    with enable_x64():
        b = {"x": np.array([2.0]), "y": np.array([4.0, 6.0])}

        def by_hand(matvec, right):
            return {k: v / 2 for k, v in right.items()}, 7

        def total(b):
            x, aux = lax.custom_linear_solve(lambda t: {k: 2 * v for k, v in t.items()}, b, by_hand, symmetric=True,
                                             has_aux=True)
            return x["x"].sum() + x["y"].sum(), aux
        (value, aux) = total(b)
        assert (float(value), int(aux)) == (6.0, 7)
        assert {k: v.tolist() for k, v in grad(lambda b: total(b)[0])(b).items()} == {"x": [0.5], "y": [0.5, 0.5]}


def square_root(a):
    newton = lambda f, x: lax.fori_loop(0, 30, lambda i, x: x - f(x) / (2 * x), x)
    return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_root(transform):
    with enable_x64():
        assert abs(float(transform(square_root)(2.0)) - 2**0.5) < 1e-12
        check_function(lambda a: [transform(square_root)(a)], [np.array(2.0)], 2, "custom_root")
        np.testing.assert_allclose(vmap(grad(square_root))(np.array([1.0, 4.0])), [0.5, 0.25])


ERRORS = [
    (lambda: lax.custom_linear_solve(lambda x: (x, x), B, lambda m, b: b), ValueError, r"matvec\(\) output shapes"),
    (lambda: lax.custom_linear_solve(lambda x: x, B, lambda m, b: (b, b)), ValueError, r"solve\(\) output shapes"),
    (lambda: lax.custom_linear_solve(lambda x: (x,), B, lambda m, b: b), TypeError, "structure must match b"),
    (lambda: grad(lambda b: lax.custom_linear_solve(lambda x: x, b, lambda m, y: y).sum())(B), TypeError, "transpose_solve"),
    (lambda: lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y), TypeError, "must match initial_guess"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("transform", [grad, lambda f: jit(grad(f)), lambda f: grad(jit(f))])
def test_a_solver_may_close_over_what_is_differentiated(transform):
    def root(x):
        newton = lambda f, guess: lax.fori_loop(0, 30, lambda _, r: 0.5 * (r + x / r), guess)
        return lax.custom_root(lambda r: r * r - x, x, newton, lambda g, y: y / g(1.0))
    np.testing.assert_allclose(transform(root)(4.0), 0.25, rtol=1e-6)


def test_a_tangent_solve_of_another_structure_is_named():
    def root(a):
        return lax.custom_root(lambda x: x ** 3 - a, 2.0, lambda f, x: x, lambda g, y: (y, y))
    with pytest.raises(TypeError, match=r"tangent_solve\(\) output pytree structure must match x, got"):
        grad(root)(8.0)


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_a_tangent_solve_may_close_over_what_is_differentiated(transform):
    """A factorization that serves for the solution and for its derivative."""
    def solution(a, b):
        inverse = jnp.linalg.inv(a)
        solve = lambda _, y: inverse @ y
        return lax.custom_root(lambda x: a @ x - b, b, solve, lambda g, y: lax.custom_linear_solve(g, y, solve, symmetric=True))
    with enable_x64(True):
        a, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0])
        symmetric = lambda m: (m + m.T) / 2
        check_function(lambda a, b: [transform(solution)(symmetric(a), b)], [a, b], 2, "custom_root")
        np.testing.assert_allclose(vmap(solution, (None, 0))(a, np.stack([b, 2 * b]))[1], np.linalg.solve(a, 2 * b))


@pytest.mark.parametrize("call", [
    lambda: lax.custom_root(lambda x: x, 0.0, lambda f, x: x, lambda g, y: y, has_aux=True),
    lambda: lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: x, lambda f, x: x, has_aux=True)])
def test_a_solver_that_lacks_the_announced_aux_is_named(call):
    with pytest.raises(ValueError, match=r"solve\(\) produced .* expected because has_aux was set to True"):
        call()
