"""numjet.sparse_jacobian and sparse_hessian against dense derivatives; colourings against their definitions."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental import sparse
from numjet.experimental.sparse_derivatives import colour_columns, colour_symmetric, hessian_pattern, jacobian_pattern
from numjet.foundation.config import enable_x64

KERNEL = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0.0]])
PLACES = np.array([3, 3, 0, 7])
BAND = np.diag(np.arange(1.0, 9)) + np.diag(np.ones(7), -1)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def laplacian(u):
    p = jnp.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u + jnp.sin(u)


def pooled(name):
    start = {"max": -jnp.inf, "add": 0.0}[name]
    return lambda x: lax.reduce_window(x.reshape(2, 4) ** 2, start, getattr(lax, name), (1, 3), (1, 1), "SAME")


def conv(x, groups=1):
    return lax.conv_general_dilated(x.reshape(1, 2, 4), jnp.arange(12 / groups).reshape(2, -1, 3) % 4, (2,), [(1, 2)],
                                    feature_group_count=groups, rhs_dilation=(1,))


def by_kernel(k):
    return lax.conv_general_dilated(jnp.arange(1.0, 11).reshape(1, 1, 10), k.reshape(2, 1, 4), (2,), "SAME")


@nj.custom_jvp
def straight(x):
    return jnp.round(x)


straight.defjvps(lambda t, out, x: t * x)

# name, function of 8 numbers, elements of the pattern (None: those of the dense Jacobian at a random point)
FUNCTIONS = [
    ("elementwise", lambda x: jnp.sin(x) * 2 + x ** 3 / (1 + x * x), None),
    ("scalars", lambda x: x[2] * x + x.sum(), None),
    ("constant", lambda x: jnp.ones(3), 0),
    ("no derivative", lambda x: jnp.floor(x) + jnp.sign(x) + lax.stop_gradient(x), 0),
    ("shapes", lambda x: jnp.tile(x.reshape(2, 4).T[::-1, :1], (1, 2)).squeeze(), None),
    ("joined", lambda x: jnp.concatenate([x[::2], jnp.zeros(3), jnp.flip(x[1:3])]), None),
    ("padded", lambda x: lax.pad(x, 1.5, ((1, -2, 1),)) + lax.pad(jnp.ones(8), x[0], ((1, -2, 1),)), None),
    ("rolled", lambda x: jnp.roll(x, 3) * x, None),
    ("taken", lambda x: x[PLACES] ** 2, None),
    ("taken outside", lambda x: x.at[np.array([1, 9])].get(mode="fill", fill_value=7.0), None),
    ("taken by x", lambda x: x[jnp.argmax(x)][None], 8),
    ("written", lambda x: jnp.zeros(10).at[PLACES[1:]].set(x[:3]), None),
    ("added", lambda x: x.at[PLACES].add(x[4:] ** 2).at[0].multiply(3.0), None),
    ("slices", lambda x: lax.dynamic_update_slice(x, x[:2] ** 2, (5,)) + lax.dynamic_slice(jnp.tile(x, 2), (3,), (8,)), None),
    ("slice by x", lambda x: lax.dynamic_update_slice(x, jnp.ones(2), (jnp.argmax(x),)), 8),
    ("chosen", lambda x: jnp.where(np.arange(8) < 3, x, x[::-1]) + jnp.where(x > 0, 0, x[0]), 20),
    ("masked", lambda x: (np.arange(8) % 2) * (x * x[0]), None),
    ("sums", lambda x: x.reshape(2, 4).sum(0) + x.reshape(4, 2).mean(1), None),
    ("products", lambda x: x.reshape(2, 4) @ jnp.arange(8.0).reshape(4, 2), None),
    ("band", lambda x: jnp.asarray(BAND) @ x, 15),
    ("outer", lambda x: jnp.einsum("i,j->ij", x[:3], x[3:]), None),
    ("batched product", lambda x: jnp.einsum("bij,bj->bi", x.reshape(2, 2, 2), x[:4].reshape(2, 2)), None),
    ("cumulative", lambda x: jnp.cumsum(x.reshape(2, 4), 1) + lax.cumsum(x.reshape(2, 4), 0, reverse=True), None),
    ("cumulative product", lambda x: jnp.cumprod(x), None),
    ("greatest", lambda x: x.reshape(2, 4).max(1), 8),
    ("sorted", lambda x: jnp.sort(x), 64),
    ("pooled", pooled("add"), None),
    ("pooled by size", pooled("max"), 20),
    ("convolved", conv, None),
    ("convolved in groups", lambda x: conv(x, 2), None),
    ("by kernel", by_kernel, None),
    ("stencil", lambda x: laplacian(x.reshape(2, 4)), None),
    ("spectrum", lambda x: jnp.fft.rfft(x.reshape(2, 4)).imag[:, 1:2], 8),
    ("solved", lambda x: jnp.linalg.solve(jnp.asarray(BAND), x), 64),
    ("triangle", lambda x: lax.linalg.triangular_solve(jnp.asarray(BAND[:4, :4]), x.reshape(2, 4), lower=True), 32),
    ("jit", nj.jit(lambda x: x[1:] * x[:-1]), None),
    ("checkpoint", nj.checkpoint(lambda x: x[1:] * x[:-1]), None),
    ("custom", straight, None),
    ("map", lambda x: lax.map(lambda v: v * x[0], x), None),
    ("scan", lambda x: lax.scan(lambda c, v: (c + v, c * v), 1.0, x)[1], None),
    ("reverse scan", lambda x: lax.scan(lambda c, v: (c + v, c * v), 1.0, x, reverse=True)[1], None),
    ("loop", lambda x: lax.fori_loop(0, 3, lambda i, x: x.at[i].add(x[i + 1] ** 2), x), None),
    ("unknown steps", lambda x: lax.while_loop(lambda x: x[0] < 9, lambda x: x.at[0].add(x[1] ** 2 + 1), x), 9),
    ("branch", lambda x: lax.cond(x[0] > 0, lambda: x, lambda: x[::-1]), 16),
    ("known branch", lambda x: lax.switch(1, [lambda: x, lambda: x[::-1]]), None),
]


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name,fun,count", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_jacobians(name, fun, count, mode):
    x = jnp.asarray(np.random.default_rng(0).uniform(0.5, 2, 8))
    if (name, mode) == ("unknown steps", "reverse"):
        fun = lambda x: lax.fori_loop(0, 2, lambda i, x: x.at[0].add(x[1] ** 2 + 1), x)
    dense = nj.jacrev(fun)(x)
    made = nj.sparse_jacobian(fun, mode=mode)(x)
    np.testing.assert_allclose(made.todense(), dense, atol=1e-12)
    assert made.nse == int((dense != 0).sum()) if count is None else made.nse <= count


@pytest.mark.parametrize("fun", [
    lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    lambda x: jnp.sum(laplacian(x.reshape(2, 4)) ** 2),
    lambda x: x[0] * jnp.sum(x[1:] ** 3),
    lambda x: jnp.sum(x) * 2,
    lambda x: jnp.prod(x[:3]) + jnp.log(x[3] + jnp.exp(x[5])),
    lambda x: lax.scan(lambda c, v: (c + jnp.sin(v) * v, None), 0.0, x)[0],
])
def test_hessians(fun):
    x = jnp.asarray(np.random.default_rng(1).uniform(0.5, 2, 8))
    made = nj.sparse_hessian(fun)(x)
    dense = nj.hessian(fun)(x)
    np.testing.assert_allclose(made.todense(), dense, atol=1e-10)
    assert made.nse >= int((dense != 0).sum()) and made.indices_sorted and made.unique_indices


class Count:
    """How many tangents or cotangents a function was given: the length of the batch that its derivative sees."""

    def __init__(self, fun):
        self.seen = 0
        @nj.custom_batching.custom_vmap
        def identity(t):
            return t
        @identity.def_vmap
        def rule(size, batched, t):
            self.seen = size
            return t, True
        self.fun = nj.custom_jvp(fun)
        self.fun.defjvp(lambda x, t: (fun(*x), identity(nj.jvp(fun, x, t)[1])))


def test_one_product_per_colour():
    n = 30
    x = jnp.arange(1.0, n + 1)
    banded = Count(lambda x: jnp.asarray(np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)) @ (x * x))
    nj.sparse_jacobian(banded.fun)(x)
    assert banded.seen == 3
    grid = hessian_pattern(lambda u: jnp.sum(laplacian(u.reshape(12, 12)) * u.reshape(12, 12)))(jnp.ones(144))
    assert grid.nse == 144 + 4 * 12 * 11
    assert colour_symmetric(np.asarray(grid.todense())).max() + 1 <= 6
    arrow = np.eye(n)
    arrow[0] = arrow[:, 0] = 1
    assert colour_symmetric(arrow).max() == 1 and colour_columns(arrow).max() == n - 1


def is_star(a, colours):
    n = len(a)
    near = [[w for w in range(n) if w != v and a[v, w]] for v in range(n)]
    if any(colours[v] == colours[w] for v in range(n) for w in near[v]):
        return False
    paths = ((u, v, w, x) for v in range(n) for w in near[v] for u in near[v] if u != w for x in near[w] if x not in (u, v))
    return all(len({colours[k] for k in path}) > 2 for path in paths)


@pytest.mark.parametrize("seed", range(12))
def test_colourings_of_random_patterns(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 16))
    a = rng.random((n, n)) < rng.uniform(0.05, 0.6)
    colours = colour_columns(a)
    for i, j in itertools.combinations(range(n), 2):
        assert colours[i] != colours[j] or not (a[:, i] & a[:, j]).any()
    symmetric = a | a.T
    assert is_star(symmetric, colour_symmetric(symmetric))
    assert colour_symmetric(symmetric).max() <= colour_columns(symmetric | np.eye(n, dtype=bool)).max()
    m = rng.standard_normal((n, n)) * symmetric
    m = jnp.asarray(m + m.T)
    np.testing.assert_allclose(nj.sparse_hessian(lambda x: x @ m @ x / 2)(jnp.ones(n)).todense(), m, atol=1e-12)
    np.testing.assert_allclose(nj.sparse_jacobian(lambda x: jnp.asarray(a) @ x ** 2 / 2)(jnp.ones(n)).todense(), a, atol=1e-12)


def test_given_patterns():
    fun = lambda x: jnp.sin(x) * x[::-1]
    x = jnp.arange(4.0)
    dense = nj.jacfwd(fun)(x)
    pattern = np.eye(4) + np.eye(4)[::-1]
    for given in (pattern, pattern != 0, scipy.sparse.csr_matrix(pattern), sparse.BCOO.fromdense(jnp.asarray(pattern)),
                  jacobian_pattern(fun)(x)):
        np.testing.assert_allclose(nj.sparse_jacobian(fun, pattern=given)(x).todense(), dense, atol=1e-12)
    hessian = nj.sparse_hessian(lambda x: jnp.sum(x ** 3), pattern=np.eye(4))(x)
    np.testing.assert_allclose(hessian.todense(), np.diag(6 * x))


def test_composes_with_transformations():
    fun = lambda x, a: a * x[1:] * x[:-1]
    xs, jacobian = jnp.arange(12.0).reshape(3, 4), nj.sparse_jacobian(fun)
    many = nj.jit(nj.vmap(jacobian, (0, None)))(xs, 2.0)
    np.testing.assert_allclose(many.todense(), nj.vmap(nj.jacfwd(fun), (0, None))(xs, 2.0))
    weighed = lambda j: jnp.sum(j * jnp.arange(12.0).reshape(3, 4))
    got = nj.grad(lambda x: weighed(jacobian(x, 2.0).todense()))(xs[0])
    np.testing.assert_allclose(got, nj.grad(lambda x: weighed(nj.jacfwd(fun)(x, 2.0)))(xs[0]))
    tangent = nj.jvp(lambda x: jacobian(x, 2.0).data, (xs[0],), (jnp.ones(4),))[1]
    assert tangent.tolist() == [2.0] * 6
    places = nj.jit(lambda x, i: nj.sparse_jacobian(lambda x: x[i])(x))(xs[0], jnp.array([2, 1]))
    assert places.nse == 8 and places.todense().tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    by_second = nj.sparse_jacobian(lambda a, x: a * x, argnums=-1)(3.0, jnp.ones(2, jnp.float32))
    assert by_second.dtype == jnp.float32 and by_second.todense().tolist() == [[3, 0], [0, 3]]


def test_reverse_rules_and_empty_arrays():
    clipped = nj.custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    assert nj.sparse_jacobian(clipped, mode="reverse")(jnp.ones(3)).todense().tolist() == np.eye(3).tolist()
    assert nj.sparse_jacobian(lambda x: x * 2)(jnp.ones(0)).shape == (0, 0)
    assert nj.sparse_jacobian(lambda x: x * 2)(3.0).todense() == 2
    assert nj.sparse_hessian(lambda x: x * x)(3.0).todense() == 2
    assert nj.sparse_jacobian(lambda x: x[:0])(jnp.ones(3)).shape == (0, 3)


def test_large_sizes():
    x = jnp.ones(20_000)
    made = nj.jit(nj.sparse_jacobian(lambda x: x[2:] * x[:-2] + x[1:-1] ** 2))(x)
    assert made.nse == 3 * (x.size - 2) and made.data.tolist()[:3] == [1, 2, 1]


@pytest.mark.parametrize("call,error,match", [
    (lambda: nj.sparse_jacobian(jnp.sin, mode="both"), ValueError, "mode must be one of"),
    (lambda: nj.sparse_jacobian(jnp.sin)(jnp.arange(3)), TypeError, "real floats to differentiate by"),
    (lambda: nj.sparse_jacobian(jnp.sin)({"a": 1.0}), TypeError, "one array"),
    (lambda: nj.sparse_jacobian(jnp.sin, argnums=1)(1.0), ValueError, "argnums=1"),
    (lambda: nj.sparse_jacobian(lambda x: (x, x))(1.0), TypeError, "must return one array"),
    (lambda: nj.sparse_jacobian(lambda x: x * 1j)(1.0), TypeError, "must return real floats"),
    (lambda: nj.sparse_jacobian(jnp.sin, pattern=np.ones((2, 3)))(jnp.ones(3)), ValueError, r"\(3, 3\)"),
    (lambda: nj.sparse_hessian(jnp.sin)(jnp.ones(3)), TypeError, "scalar"),
    (lambda: nj.sparse_hessian(lambda x: x.sum(), pattern=np.tri(3))(jnp.ones(3)), ValueError, "symmetric"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
