"""Gradients, Hessians and batches of them for functions of all libraries, on XLA's CPU client against numjet's backend."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
import numjet.scipy.linalg as jsl
from numjet import lax, nn, tree_util
from numjet.scipy import special

X = np.linspace(0.15, 0.85, 4)
square = lambda x: jnp.outer(x, x) + jnp.diag(jnp.cos(x) + 1.0) + jnp.tri(4) * x[0] * 0.1
positive = lambda x: square(x) @ square(x).T + jnp.eye(4)
symmetric = lambda x: jnp.diag(jnp.arange(4.0)) + jnp.outer(x, x)

FUNCTIONS = {
    "sin": jnp.sin, "tanh": jnp.tanh, "log1p": jnp.log1p, "arctan2": lambda x: jnp.arctan2(x, x[::-1] + 1),
    "power": lambda x: x ** (x + 1), "hypot": lambda x: jnp.hypot(x, 1 - x), "logaddexp": lambda x: jnp.logaddexp(x, x[::-1]),
    "where": lambda x: jnp.where(x > 0.5, x ** 3, jnp.exp(x)), "clip": lambda x: jnp.clip(x, 0.3, 0.7) ** 2,
    "prod": lambda x: jnp.prod(x), "cumsum": lambda x: jnp.cumsum(x ** 2) ** 2, "cumprod": lambda x: jnp.cumprod(x) ** 2,
    "sort": lambda x: jnp.sort(-x ** 2) * jnp.arange(4.0), "max": lambda x: jnp.max(x ** 2), "var": lambda x: jnp.var(x ** 2),
    "roll": lambda x: jnp.roll(x, 1) * x, "gather": lambda x: x[jnp.array([0, 2, 2])] ** 3,
    "scatter": lambda x: x.at[jnp.array([1, 1])].add(x[:2] ** 2) ** 2, "convolve": lambda x: jnp.convolve(x, x ** 2),
    "interp": lambda x: jnp.interp(x * 2, jnp.arange(4.0), x ** 2), "einsum": lambda x: jnp.einsum("i,ij,j", x, square(x), x),
    "norm": lambda x: jnp.linalg.norm(square(x)), "det": lambda x: jnp.linalg.det(square(x)),
    "slogdet": lambda x: jnp.linalg.slogdet(square(x))[1], "inv": lambda x: jnp.linalg.inv(square(x)),
    "solve": lambda x: jnp.linalg.solve(square(x), x), "cholesky": lambda x: jnp.linalg.cholesky(positive(x)),
    "eigh": lambda x: jnp.linalg.eigh(symmetric(x))[0], "svd": lambda x: jnp.linalg.svd(symmetric(x) + jnp.eye(4))[1],
    "qr": lambda x: jnp.abs(jnp.linalg.qr(square(x))[1]), "expm": lambda x: jsl.expm(square(x) * 0.3),
    "solve_triangular": lambda x: jsl.solve_triangular(square(x), x, lower=True), "fft": lambda x: jnp.abs(jnp.fft.fft(x)) ** 2,
    "softmax": lambda x: nn.softmax(x) ** 2, "gelu": nn.gelu, "silu": nn.silu, "logsumexp": lambda x: nn.logsumexp(x ** 2),
    "elu": nn.elu, "gammaln": special.gammaln, "digamma": special.digamma, "erf": special.erf, "erfinv": special.erfinv,
    "betainc": lambda x: special.betainc(2.0, 3.0, x), "i0e": special.i0e, "zeta": lambda x: special.zeta(2.0, x + 1),
    "gammainc": lambda x: special.gammainc(2.0, x), "xlogy": lambda x: special.xlogy(x, x + 1), "ndtri": special.ndtri,
    "scan": lambda x: lax.scan(lambda c, a: (c * a + jnp.sin(c), c), jnp.ones(()), x)[1] ** 2,
    "cond": lambda x: lax.cond(x[0] > 0, lambda v: v ** 3, lambda v: v, x),
}


def summed(f):
    return lambda x: jnp.sum(f(x) * 1.25)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_and_batches_agree(name):
    xla = nj.devices("xla_cpu")[0]
    f = summed(FUNCTIONS[name])
    both = lambda x, xs: (f(x), nj.grad(f)(x), nj.vmap(nj.hessian(f))(xs))
    with nj.enable_x64(True):
        batch = np.stack([X, X[::-1] * 0.9])
        want, got = nj.jit(both)(X, batch), nj.jit(both, device=xla)(X, batch)
        for w, g in zip(tree_util.tree_leaves(want), tree_util.tree_leaves(got), strict=True):
            assert g.device == xla and (g.dtype, g.weak_type) == (w.dtype, w.weak_type)
            assert np.isfinite(w).all()
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-8, atol=1e-9)
