"""check_grads, check_jvp and check_vjp pass for right derivatives and find wrong ones."""
import functools

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.test_util import check_grads, check_jvp, check_vjp


@pytest.mark.parametrize(("f", "args", "order"), [
    (jnp.sin, (0.5,), 3),
    (lambda x, n: {"a": jnp.sum(x ** 3) * n, "b": jnp.exp(x)}, (jnp.arange(3.0), 2), 2),
    (lambda tree: tree["x"] @ tree["y"], ({"x": jnp.ones((2, 3)), "y": jnp.arange(3.0)},), 2),
    (lambda z: z * z * 1j, (jnp.array([1 + 2j, 0.5]),), 2),
    (lambda x: (x, jnp.arange(3)), (1.0,), 2),
    (jnp.sin, (jnp.zeros((0, 2)),), 1),
])
def test_right_derivatives_pass(f, args, order):
    check_grads(f, args, order)


def test_tolerances_by_dtype():
    check_grads(jnp.sin, (0.5,), 2, atol={np.float32: 1e-2}, rtol={"float32": 1e-2})
    with pytest.raises(AssertionError):
        check_jvp(jnp.sin, lambda p, t: tuple(1.1 * x for x in nj.jvp(jnp.sin, p, t)), (0.5,), atol={np.float32: 1e-2})


def test_in_64_bits_the_tolerance_is_tight(x64):
    f = jnp.linalg.inv
    check_grads(f, (np.eye(3) * 2 + 1,), 2)
    wrong = lambda primals, tangents: tuple(x * (1 + 1e-3) for x in nj.jvp(f, primals, tangents))
    with pytest.raises(AssertionError):
        check_jvp(f, wrong, (np.eye(3) * 2 + 1,))


@pytest.fixture
def wrong():
    f = nj.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (3 * x * ct,))
    return f


def test_wrong_derivatives_fail(wrong):
    with pytest.raises(AssertionError, match="rev cotangent of the VJP"):
        check_grads(wrong, (2.0,), 1, modes="rev")
    with pytest.raises(AssertionError, match="mine cotangent of the VJP"):
        check_vjp(lambda x: x * x, functools.partial(nj.vjp, wrong), (2.0,), err_msg="mine")
    with pytest.raises(AssertionError, match="tangent of the JVP"):
        check_jvp(jnp.sin, lambda primals, tangents: (jnp.sin(*primals), *tangents), (2.0,))


def test_the_step_suits_the_dtype():
    check_grads(lambda x: x * 2, (jnp.ones(3, jnp.bfloat16),), 1, eps=0.25)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("f", [lambda x: x[::2], lambda x: jnp.pad(x, 1)])
def test_tolerances_of_inner_products_are_those_of_their_operands(f, dtype):
    check_grads(f, (np.random.RandomState(0).randn(7, 5).astype(dtype),), 2, eps=1.0)


def test_an_infinity_that_does_not_change_has_the_derivative_0():
    check_grads(lambda x: jnp.where(jnp.arange(3) == 1, jnp.inf, x * 2), (jnp.ones(3),), 1)


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="expected modes among 'fwd' and 'rev', got"):
        check_grads(jnp.sin, (0.5,), 1, modes=["forward"])
