"""Arrays of all pairs are not stored, in reverse mode neither; results take over what they replace: counted in bytes."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api.stages import trace_call
from numjet.cpu.ir.traversal import expressions, nodes, operands, walk
from numjet.cpu.lowering.lower import lower
from numjet.transforms.simplify import simplify

M, N = 700, 600


def values(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def stored(fun, *args):
    """Bytes of temporaries."""
    return nj.jit(fun).lower(*args).compile().memory_analysis().temp_size_in_bytes


def closeness(x, y):
    return jnp.sum(jnp.exp(-(x[:, None] - y[None]) ** 2), 1)


def loss(x, y):
    return jnp.sum(closeness(x, y) ** 2)


def loss_gradients(x, y):
    """By NumPy, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    d = x[:, None] - y[None]
    e = np.exp(-d ** 2)
    g = 2 * e.sum(1)[:, None] * e * -2 * d
    return g.sum(1), -g.sum(0)


def energy(p):
    d = p[:, None] - p[None]
    return jnp.sum(1 / jnp.sqrt(jnp.sum(d ** 2, -1) + 1e-3))


def energy_gradient(p):
    p = p.astype(np.float64)
    d = p[:, None] - p[None]
    return -2 * np.sum(d * (np.sum(d ** 2, -1) + 1e-3)[..., None] ** -1.5, 1)


def close(got, want, dtype=np.float32):
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    assert got.dtype == dtype
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


# --- pairs

@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_sums_over_pairs(dtype):
    with nj.enable_x64(dtype == np.float64):
        x, y = values(M, dtype=dtype), values(N, dtype=dtype, seed=1)
        grad = nj.grad(loss, (0, 1))
        assert stored(grad, x, y) < 64 * (M + N) * x.itemsize
        for got, want in zip(nj.jit(grad)(x, y), loss_gradients(x, y), strict=True):
            close(got, want, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_of_an_energy_of_points(dtype):
    with nj.enable_x64(dtype == np.float64):
        p = values(400, 3, dtype=dtype)
        assert stored(nj.grad(energy), p) < 64 * p.nbytes
        close(nj.jit(nj.grad(energy))(p), energy_gradient(p), dtype)
        assert stored(nj.value_and_grad(energy), p) < 64 * p.nbytes


def test_batches_of_pairs():
    x, y = values(5, 300), values(5, 350, seed=1)
    grad = nj.vmap(nj.grad(loss, (0, 1)))
    assert stored(grad, x, y) < 64 * (x.nbytes + y.nbytes)
    got = nj.jit(grad)(x, y)
    for k in range(5):
        for g, want in zip(got, loss_gradients(x[k], y[k]), strict=True):
            close(g[k], want)


def test_infinite_points_and_nan():
    x, y = values(M), values(N, seed=1)
    x[3], y[5], y[6] = np.inf, -np.inf, np.nan
    got = nj.jit(nj.grad(lambda x, y: jnp.sum(jnp.abs(x[:, None] - y)), (0, 1)))(x, y)
    d = np.where(x[:, None] - y >= 0, 1.0, -1.0)   # the derivative of abs, at NaN too, is JAX's
    np.testing.assert_array_equal(got[0], d.sum(1))
    np.testing.assert_array_equal(got[1], -d.sum(0))


def test_nearest_points():
    x, y = values(M), values(N, seed=1)
    grad = nj.grad(lambda x, y: jnp.sum(jnp.min((x[:, None] - y) ** 2, 1)), (0, 1))
    assert stored(grad, x, y) < 64 * (x.nbytes + y.nbytes)
    nearest = np.abs(x[:, None].astype(np.float64) - y).argmin(1)
    want = 2 * (x.astype(np.float64) - y[nearest])
    got = nj.jit(grad)(x, y)
    close(got[0], want)
    close(got[1], -np.bincount(nearest, want, N))


def test_pairs_inside_of_a_loop():
    p = values(400, 3)
    fall = lambda p: nj.lax.fori_loop(0, 3, lambda _, q: q - 1e-4 * nj.grad(energy)(q), p)
    assert stored(fall, p) < 64 * p.nbytes
    want = p.astype(np.float64)
    for _ in range(3):
        want = want - 1e-4 * energy_gradient(want)
    close(nj.jit(fall)(p), want)


def test_sums_of_few_terms_that_are_dear():
    p = values(400, 3)
    def waves(p):
        d = p[:, None] - p[None]
        return jnp.sum(jnp.sqrt(jnp.sum(jnp.sin(d) ** 2, -1) + 1e-3))
    assert stored(waves, p) < 64 * p.nbytes
    assert stored(nj.grad(waves), p) < 64 * p.nbytes
    q = p.astype(np.float64)
    d = q[:, None] - q[None]
    root = np.sqrt(np.sum(np.sin(d) ** 2, -1) + 1e-3)
    assert nj.jit(waves)(p) == pytest.approx(root.sum(), rel=1e-5)
    close(nj.jit(nj.grad(waves))(p), 2 * np.sum(np.sin(d) * np.cos(d) / root[..., None], 1))


def test_pairs_that_are_kept_are_stored_once():
    """What a result needs anyway is read from it, not computed again."""
    x, y = values(M), values(N, seed=1)
    def table(x, y):
        e = jnp.exp(-(x[:, None] - y[None]) ** 2)
        return e, jnp.sum(e, 0), jnp.sum(e, 1)
    function = lower(simplify(trace_call(table, (x, y), {})[0]), "f").function
    assert len([e for e in nodes(expressions(function.body)) if e.op == "exp"]) == 1
    want = np.exp(-(x[:, None].astype(np.float64) - y) ** 2)
    for got, w in zip(nj.jit(table)(x, y), (want, want.sum(0), want.sum(1)), strict=True):
        close(got, w)


# --- results in the place of what they replace

def softmax(a, axis):
    e = np.exp(a.astype(np.float64) - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax(axis):
    a = values(M, N)
    fun = lambda a: nj.nn.softmax(a, axis)
    assert stored(fun, a) < 32 * (M + N) * 4
    close(nj.jit(fun)(a), softmax(a, axis))
    a[2, 3], a[4, 5], a[6] = np.nan, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(nj.jit(fun)(a), softmax(a, axis), rtol=1e-4)


def test_gradients_of_softmax_and_logsumexp():
    a = values(M, N)
    p = softmax(a, 1)
    squares = nj.grad(lambda a: jnp.sum(nj.nn.softmax(a, 1) ** 2))
    assert stored(squares, a) < a.nbytes / 8
    close(nj.jit(squares)(a), 2 * p * (p - np.sum(p * p, 1, keepdims=True)))
    sums = nj.grad(lambda a: jnp.sum(nj.nn.logsumexp(a, 1) ** 2))
    assert stored(sums, a) < a.nbytes / 8
    close(nj.jit(sums)(a), 2 * p * np.log(np.exp(a.astype(np.float64)).sum(1, keepdims=True)))


@pytest.mark.parametrize("read", [
    lambda e: (e / jnp.sum(e), e[::-1] + 1),                   # by another result
    lambda e: (e / jnp.sum(e) + e[::-1],),                     # in another place by the same one
    lambda e: (e / jnp.sum(e) + e.T[:1].T,),                   # a part of it, repeated
    lambda e: (e / jnp.sum(e), e),                             # as it is
    lambda e: (e / jnp.sum(e), 2 * (e / jnp.sum(e))),          # by a result and what that result is
    lambda e: ((e / jnp.sum(e)).astype(jnp.int32), e.ravel()),
])
def test_what_is_read_otherwise_is_not_written_over(read):
    a = values(M, N)
    fun = lambda a: read(jnp.exp(a))
    with nj.disable_jit():
        want = fun(jnp.asarray(a))
    for got, w in zip(nj.jit(fun)(a), want, strict=True):
        np.testing.assert_allclose(got, w, rtol=1e-5)


def test_a_result_wanted_twice():
    a = values(M, N)
    one, two = nj.jit(lambda a: (lambda s: (s, s))(nj.nn.softmax(a, 1)))(a)
    close(one, softmax(a, 1))
    np.testing.assert_array_equal(one, two)


def test_a_donated_argument():
    a = values(M, N)
    given = jnp.asarray(a)
    close(nj.jit(lambda a: nj.nn.softmax(a, 1), donate_argnums=0)(given), softmax(a, 1))


def gates(count):
    """A state of as many two-level systems, each of which a matrix rotates."""
    def run(angles, state):
        for k in range(count):
            matrix = jnp.array([[jnp.cos(angles[k]), -jnp.sin(angles[k])], [jnp.sin(angles[k]), jnp.cos(angles[k])]])
            state = jnp.moveaxis(jnp.tensordot(matrix, state, ((1,), (k,))), 0, k)
        return state
    return run


def test_products_of_products_grow_with_their_number_only():
    """Each would compute the one before twice, and so on: four multiplications for each product are enough."""
    def products(count):
        function = lower(simplify(trace_call(gates(count), (np.ones(count), np.ones((2,) * count)), {})[0]), "f").function
        return sum(e.op == "mul" and e.dtype.kind == "f" for e in nodes([x for s in walk(function.body) for x in operands(s)]))
    assert products(12) <= 4 * 12


def test_products_of_products():
    angles, state = np.linspace(0.1, 2.0, 6), np.random.default_rng(0).standard_normal((2,) * 6)
    found = nj.jit(gates(6))(angles, state)
    expected = state
    for k, a in enumerate(angles):
        rotation = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        expected = np.moveaxis(np.tensordot(rotation, expected, ((1,), (k,))), 0, k)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
