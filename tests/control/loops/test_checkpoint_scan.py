"""Scans whose reverse mode stores a given number of carries: equal to scan in all derivatives, with smaller residuals."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.walk import all_eqns
from numjet.experimental import checkify

XS = np.linspace(-1, 1, 11)


def chain(scan, x, w, xs):
    """Carries of which one stays and one is a counter, slices, results of which one depends on nothing."""
    def step(c, a):
        y, w, n = c
        y = jnp.sin(y * w + a) + x
        return (y, w, n + 1), (y * n, n)

    (y, w, _), (ys, _) = scan(step, (x, w, 0), xs)
    return y * w + jnp.sum(ys * ys)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("budget", [1, 3, 20])
def test_derivatives_are_those_of_scan(x64, budget, reverse):
    mine = lambda *xs: chain(lambda f, i, a: nj.checkpoint_scan(f, i, a, reverse=reverse, budget=budget), *xs)
    want = lambda *xs: chain(lambda f, i, a: lax.scan(f, i, a, reverse=reverse), *xs)
    args = (np.float64(0.3), np.float64(0.8), XS)
    np.testing.assert_allclose(mine(*args), want(*args), rtol=1e-14)
    for transform in (lambda f: nj.grad(f, (0, 1, 2)), lambda f: nj.jacfwd(f, (0, 1, 2)), lambda f: nj.hessian(f, (0, 2)),
                      lambda f: nj.grad(lambda *xs: jnp.sum(nj.grad(f, 2)(*xs) ** 2), (0, 1, 2))):
        for got, w in zip(*[nj.tree.leaves(nj.jit(transform(f))(*args)) for f in (mine, want)], strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-10, atol=1e-12)
    batch = (np.array([0.3, 0.5]), np.float64(0.8), np.stack([XS, XS * 2]))
    for got, w in zip(*[nj.vmap(nj.grad(f, (0, 1, 2)), (0, None, 0))(*batch) for f in (mine, want)], strict=True):
        np.testing.assert_allclose(got, w, rtol=1e-10, atol=1e-12)


def test_what_is_kept_does_not_grow_with_the_length():
    w = jnp.ones((50, 50)) / 50

    def largest(length, scan):
        loss = lambda x: jnp.sum(scan(lambda c, _: (jnp.sin(w @ c), None), x, length)[0])
        made = nj.make_jaxpr(nj.grad(loss))(jnp.ones(50))
        return max(v.aval.size for e in all_eqns(made.jaxpr) for v in e.outvars)

    budgeted = lambda f, x, n: nj.checkpoint_scan(f, x, length=n, budget=7)
    plain = lambda f, x, n: lax.scan(f, x, None, n)
    assert largest(1000, plain) == 1000 * 50
    assert largest(100, budgeted) == largest(1000, budgeted) == 8 * 50  # rows, with one for the state at hand


def test_residuals_are_the_inputs():
    loss = lambda x: nj.checkpoint_scan(lambda c, _: (jnp.sin(c), jnp.cos(c)), x, length=1000, budget=5)[0]
    _, pull_back = nj.vjp(loss, 1.0)
    sizes = [np.size(leaf) for leaf in nj.tree.leaves(pull_back)]
    assert max(sizes, default=1) == 1


def test_lengths_of_zero_and_one(x64):
    for n in (0, 1):
        loss = lambda x, n=n: nj.checkpoint_scan(lambda c, a: (c * a, c), x, np.full(n, 3.0), budget=2)[0]
        assert nj.grad(loss)(2.0) == 3.0 ** n


def test_checks_within():
    def loop(x):
        return nj.checkpoint_scan(lambda c, a: (c / a, None), x, np.array([1.0, 0.0, 2.0]), budget=2)[0]

    error, _ = checkify.checkify(loop, checkify.div_checks)(1.0)
    assert "division by zero" in error.get()


def test_errors():
    step = lambda c, _: (c, None)
    with pytest.raises(ValueError, match="expected a budget of at least 1 stored carry, got 0"):
        nj.checkpoint_scan(step, 1.0, length=3, budget=0)
    with pytest.raises(TypeError):
        nj.checkpoint_scan(step, 1.0, length=3, budget=2.5)

    def prints(c, _):
        nj.debug.print("{}", c)
        return jnp.sin(c), None

    with pytest.raises(NotImplementedError, match="of a checkpoint_scan computes its steps again"):
        nj.grad(lambda x: nj.checkpoint_scan(prints, x, length=3, budget=2)[0])(1.0)
