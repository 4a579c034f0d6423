"""Products with the same rows run for a strip of rows at a time: which programs, what is stored, the same values."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import For, Function
from numjet.cpu.ir.traversal import walk
from numjet.cpu.passes import row_strips
from numjet.cpu.passes.strips import emission
from numjet.cpu.verification import races, unset_reads, verifier


@pytest.fixture
def small(monkeypatch):
    """Strips of a few rows, of small arrays."""
    monkeypatch.setattr(row_strips, "WORTH_BYTES", 1 << 14)
    monkeypatch.setattr(emission, "STRIP_BYTES", 1 << 14)
    monkeypatch.setattr(emission, "LEAST_ROWS", 16)


def normal(*shape: int, dtype=np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def planned(f, *args) -> Function:
    function = verifier.check(compiler.planned(nj.make_jaxpr(f)(*args), "f"))
    assert races.find(function) is None and unset_reads.find(function) is None
    return function


def strips(function: Function) -> list[For]:
    return [s for s in walk(function.body) if isinstance(s, For) and str(s.var.attr).startswith("strip")]


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(scores, axis=-1), v)


def causal(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    mask = jnp.arange(q.shape[2])[:, None] >= jnp.arange(k.shape[2])[None]
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1), v)


def biased(q, k, v, bias, heads):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) + bias + heads[:, None, None]
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(scores, axis=-1), v)


def one_head(q, k, v):
    return nj.nn.softmax(q @ k.T, axis=-1) @ v


def kernel_regression(x, z, y):
    """A squared-exponential kernel, the sums over whose rows are loops."""
    squares = jnp.sum(x ** 2, 1)[:, None] + jnp.sum(z ** 2, 1)[None] - 2 * x @ z.T
    weights = jnp.exp(-0.5 * squares)
    return weights @ y / weights.sum(1, keepdims=True)


def network(x, w, u):
    return jnp.tanh(x @ w) @ u


def squared(q, k, v):
    return jnp.square(q @ k.T) @ v


def weighted(f, args):
    """A loss, and its arguments."""
    out = nj.eval_shape(f, *args)
    weights = normal(*out.shape, dtype=out.dtype, seed=9)
    return (lambda weights, *args: jnp.sum(f(*args) * weights)), (weights, *args)


Q, K, V = normal(2, 3, 90, 16), normal(2, 3, 70, 16, seed=1), normal(2, 3, 70, 24, seed=2)
PROGRAMS = {
    "attention": (attention, (Q, K, V)),
    "float64": (attention, (Q.astype(np.float64), K.astype(np.float64), V.astype(np.float64))),
    "a causal mask": (causal, (Q, K, V)),
    "biases of columns and heads": (biased, (Q, K, V, normal(90, 70, seed=3), normal(3, seed=4))),
    "one head": (one_head, (normal(150, 16), normal(130, 16, seed=1), normal(130, 40, seed=2))),
    "as many rows as columns": (one_head, (normal(128, 16), normal(128, 16, seed=1), normal(128, 16, seed=2))),
    "small items": (attention, (normal(21, 1, 40, 32), normal(21, 1, 41, 32, seed=1), normal(21, 1, 41, 32, seed=2))),
    "long rows": (one_head, (normal(40, 16), normal(3000, 16, seed=1), normal(3000, 8, seed=2))),
    "elements alone": (squared, (normal(200, 16), normal(150, 16, seed=1), normal(150, 40, seed=2))),
    "a network": (network, (normal(500, 30), normal(30, 64, seed=1), normal(64, 17, seed=2))),
}


def tolerance(args) -> dict[str, float]:
    return {"rtol": 1e-11, "atol": 1e-11} if args[0].dtype == np.float64 else {"rtol": 2e-4, "atol": 2e-4}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("transformed", [nj.grad, nj.value_and_grad])
def test_gradients_of_chains_are_cut(name, transformed, small):
    f, args = PROGRAMS[name]
    with nj.enable_x64(args[0].dtype == np.float64):
        loss, args = weighted(f, args)
        run = transformed(loss, tuple(range(1, len(args))))
        function = planned(run, *args)
        assert strips(function)
        got = nj.jit(run)(*args)
        with nj.disable_jit():
            want = run(*map(jnp.asarray, args))
        for a, b in zip(nj.tree.leaves(got), nj.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, **tolerance(args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_small_strips_nothing_is_cut(name):
    f, args = PROGRAMS[name]
    with nj.enable_x64(args[0].dtype == np.float64):
        loss, args = weighted(f, args)
        assert not strips(planned(nj.grad(loss, 1), *args))


LARGE = normal(150, 16), normal(130, 16, seed=1), normal(130, 40, seed=2)
WHOLE = {
    "forward alone": lambda w, q, k, v: one_head(q, k, v),
    "scores are a result": lambda w, q, k, v: nj.vjp(lambda q: q @ k.T, q)[0],
    "columns together": lambda w, q, k, v: nj.grad(lambda q: jnp.sum(nj.nn.softmax(q @ k.T, axis=0) @ v * w))(q),
    "other rows": lambda w, q, k, v: nj.grad(lambda q: jnp.sum((jnp.tanh(q @ k.T)[::-1] @ v) * w))(q),
    "sums over rows by a loop": lambda w, q, k, v: nj.grad(lambda z: jnp.sum(kernel_regression(q[:, :5], z, v) * w))(k[:, :5]),
    "a step reads rows of the one before": lambda w, q, k, v: lax.fori_loop(
        0, 3, lambda _, s: jnp.tanh(s + k @ q.T) * 0.5, jnp.zeros((130, 150), np.float32)).T @ v,
}


@pytest.mark.parametrize("name", WHOLE)
def test_other_programs_keep_it_whole_and_have_the_values(name, small):
    f, args = WHOLE[name], (normal(150, 40, seed=5), *LARGE)
    planned(f, *args)
    with nj.disable_jit():
        want = f(*map(jnp.asarray, args))
    for a, b in zip(nj.tree.leaves(nj.jit(f)(*args)), nj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * float(jnp.abs(b).max()))


def test_memory_grows_with_the_sequence_not_with_its_square():
    def temporary(n: int) -> int:
        q = normal(1, 2, n, 16)
        loss, args = weighted(attention, (q, q, q))
        return nj.jit(nj.grad(loss, (1, 2, 3))).lower(*args).compile().memory_analysis().temp_size_in_bytes
    small, large = temporary(2048), temporary(8192)
    assert large <= 4 * small and large < 8192 * 8192


def test_full_size():
    q, k, v = normal(1, 2, 1030, 16), normal(1, 2, 1040, 16, seed=1), normal(1, 2, 1040, 8, seed=2)
    loss, args = weighted(causal, (q, k, v))
    run = nj.value_and_grad(loss, (1, 2, 3))
    assert strips(planned(run, *args))
    with nj.disable_jit():
        want = run(*map(jnp.asarray, args))
    for a, b in zip(nj.tree.leaves(nj.jit(run)(*args)), nj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", ["attention", "one head", "small items", "a network"])
def test_the_number_of_threads_changes_nothing(name, small):
    f, args = PROGRAMS[name]
    loss, args = weighted(f, args)
    run = nj.jit(nj.grad(loss, tuple(range(1, len(args)))))
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            _native.set_num_threads(count)
            results.append([np.asarray(x) for x in run(*args)])
    finally:
        _native.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_step_of_training_in_a_loop(small):
    """The strips are in the body of a loop, whose weights change from step to step."""
    x, w, u = PROGRAMS["a network"][1]
    y = normal(500, 17, seed=3)

    def train(w, u):
        loss = lambda p: jnp.mean((network(x, *p) - y) ** 2)
        step = lambda p, _: ([a - 0.1 * g for a, g in zip(p, nj.grad(loss)(p), strict=True)], None)
        return lax.scan(step, [w, u], None, 4)[0]
    assert strips(planned(train, w, u))
    with nj.disable_jit():
        want = train(jnp.asarray(w), jnp.asarray(u))
    for a, b in zip(nj.jit(train)(w, u), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_batches_of_gradients(small):
    f, args = PROGRAMS["one head"]
    loss, args = weighted(f, args)
    twice = [np.stack([a, a[::-1]]) for a in args]
    run = nj.grad(loss, (1, 2, 3))
    got = nj.jit(nj.vmap(run))(*twice)
    with nj.disable_jit():
        for row in range(2):
            want = run(*(jnp.asarray(a[row]) for a in twice))
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a[row], b, rtol=2e-4, atol=2e-4)


def test_layers_with_checkpoints_store_no_scores():
    """Each layer's scores are computed again in reverse mode; and the values are transposed after the scores."""
    def layer(weights, x):
        q, k, v = jnp.split((x @ weights).reshape(x.shape[0], 6, 16), 3, axis=1)
        return x + nj.checkpoint(nj.nn.dot_product_attention)(q[None], k[None], v[None]).reshape(x.shape)

    def temporary(n: int) -> int:
        x, layers = normal(n, 32), [normal(32, 96, seed=1), normal(32, 96, seed=2)]
        loss = lambda layers: jnp.sum(layer(layers[1], layer(layers[0], x)) ** 2)
        return nj.jit(nj.grad(loss)).lower(layers).compile().memory_analysis().temp_size_in_bytes
    assert temporary(4096) < 4096 * 4096
