"""where= of reductions: what is left out does not matter, for values and derivatives, and may be nothing at all."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import nn

MASK = np.array([True, True, False, True, False])
ODD = {"huge": 3e38, "inf": np.inf, "-inf": -np.inf, "nan": np.nan}
LIMIT = {"initial": -9.0}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": jnp.sum, "prod": jnp.prod, "mean": jnp.mean, "var": jnp.var, "std": jnp.std, "nansum": jnp.nansum,
    "nanprod": jnp.nanprod, "nanmean": jnp.nanmean, "nanvar": jnp.nanvar, "nanstd": jnp.nanstd, "logsumexp": nn.logsumexp,
    "logmeanexp": nn.logmeanexp, "softmax": nn.softmax, "log_softmax": nn.log_softmax, "standardize": nn.standardize,
    "max": lambda x, where: jnp.max(x, initial=-9.0, where=where), "min": lambda x, where: jnp.min(x, initial=9.0, where=where),
    "nanmax": lambda x, where: jnp.nanmax(x, initial=-9.0, where=where),
}
EMPTY = {"sum": 0, "prod": 1, "nansum": 0, "nanprod": 1, "logsumexp": -np.inf, "softmax": 0, "max": -9, "min": 9, "nanmax": -9}
KEEPS_SHAPE = ("softmax", "log_softmax", "standardize")


def scalar(name: str, mask: np.ndarray) -> Callable[[Any], Any]:
    reduction = REDUCTIONS[name]

    def run(x: Any) -> Any:
        out = reduction(x, where=mask)
        return jnp.sum(jnp.where(mask, out, 0) * np.arange(1.0, 6, dtype=np.float32)) if name in KEEPS_SHAPE else out
    return run


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_left_out_does_not_matter(name, odd):
    if name == "standardize" and not np.isfinite(odd):
        pytest.skip("its results where the mask is false are of the elements there, as in JAX")
    run = scalar(name, MASK)
    x, plain = (np.where(MASK, np.array([1, 2, 0, -1, 0]), other).astype(np.float32) for other in (odd, 0.5))
    for order, derivative in (("value", lambda f: f), ("reverse", nj.grad), ("forward", nj.jacfwd), ("second", nj.hessian)):
        want = np.asarray(derivative(run)(plain))
        for mode in (lambda f: f, nj.jit):
            np.testing.assert_allclose(np.asarray(mode(derivative(run))(x)), want, rtol=1e-4, atol=1e-5, err_msg=order)


def test_masks_of_lower_rank_broadcast_where_ranks_do_not_promote():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    mask = np.array([True, False, True])
    with nj.numpy_rank_promotion("raise"):
        for name in ("nanmean", "nanvar", "nanstd", "mean", "var", "nansum"):
            found = REDUCTIONS[name](x, where=mask)
            np.testing.assert_allclose(found, REDUCTIONS[name](x[:, mask]), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_is_left(name):
    run = scalar(name, np.zeros(5, bool))
    for odd in (1.0, *ODD.values()):
        x = np.full(5, odd, np.float32)
        assert float(run(x)) == EMPTY[name]
        assert not np.asarray(nj.grad(run)(x)).any() and not np.asarray(nj.jit(nj.jacfwd(run))(x)).any()


def test_slopes_of_what_has_no_spread():
    """Elements that are alone have a variance of 0 also when they are huge; no degrees of freedom: NaN, with slopes of 0."""
    huge, mask = np.full(5, 3e38, np.float32), np.arange(5) == 2
    few = np.arange(5, dtype=np.float32)
    alone = [lambda x, f=f: f(x, where=mask) for f in (jnp.var, jnp.nanvar)]
    beyond = [lambda x, f=f: f(x, ddof=6) for f in (jnp.var, jnp.std, jnp.nanvar, jnp.nanstd)]
    for call in (lambda f: f, nj.jit):
        assert not np.any(call(lambda x: [nj.grad(f)(x) for f in alone])(huge))
        assert not np.any(call(lambda x: [nj.grad(f)(x) for f in beyond])(few))
        assert np.isnan(call(lambda x: [f(x) for f in beyond])(few)).all()


def test_slopes_of_nothing():
    """Results of no elements depend on none."""
    averages = [REDUCTIONS[name] for name in ("nanmean", "nanvar", "nanstd", "mean", "var", "std")]
    slopes = lambda x: [nj.jvp(f, (x,), (x,)) for f in averages]
    for call in (slopes, nj.jit(slopes)):
        np.testing.assert_array_equal(call(np.zeros(0, np.float32)), [[np.nan, 0.0]] * 6)


@pytest.mark.parametrize("quantile", [jnp.quantile, jnp.nanquantile])
def test_slopes_of_quantiles_at_elements(quantile):
    """To q: that of the piece above an element; 0 at the last one and where q is limited."""
    x = np.array([5.0, 0.0, 2.0, 1.0], np.float32)
    slopes = nj.vmap(lambda q: (nj.grad(quantile, 1)(x, q), nj.jvp(lambda q: quantile(x, q), (q,), (1.0,))[1]))
    for call in (slopes, nj.jit(slopes)):
        for found in call(np.array([0.0, 1 / 3, 0.5, 2 / 3, 0.9, 1.0], np.float32)):
            np.testing.assert_allclose(found, [3, 3, 3, 9, 9, 0], rtol=1e-5)
    ends = np.array([np.inf, -np.inf, 2.0, 5.0], np.float32)
    assert quantile(ends, np.array([0, 1], np.float32)).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("reduction", [jnp.mean, jnp.var, jnp.std, jnp.nanmean, jnp.nanvar, jnp.nanstd])
@pytest.mark.parametrize("shape", [(3,), (1, 3), ()])
def test_masks_larger_than_the_array_have_no_mean(reduction, shape):
    with pytest.raises(ValueError, match="does not broadcast to the array's shape"):
        reduction(jnp.ones(shape), where=jnp.ones((2, 3), bool))
