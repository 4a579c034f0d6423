"""Two products and the loop between them are one pass over rows: which programs, what is stored, the same values."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Call, Function, GemmWithEpilogue
from numjet.cpu.ir.traversal import walk
from numjet.cpu.kernels.products import CODES, GEMM, ROWS, THEN
from numjet.cpu.verification import races, unset_reads, verifier


def normal(*shape: int, dtype=np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def planned(f, *args) -> Function:
    function = verifier.check(compiler.planned(nj.make_jaxpr(f)(*args), "f"))
    assert races.find(function) is None and unset_reads.find(function) is None
    return function


def symbols(function: Function) -> list[str]:
    return [s.symbol for s in walk(function.body) if isinstance(s, Call)]


def outside(f, *args) -> np.ndarray:
    with nj.disable_jit():
        return np.asarray(f(*map(jnp.asarray, args)))


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(scores, axis=-1), v)


def causal(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    mask = jnp.arange(q.shape[2])[:, None] >= jnp.arange(k.shape[2])[None]
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1), v)


def biased(q, k, v, bias):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) + bias
    return jnp.einsum("bhqk,bhkd->bhqd", nj.nn.softmax(scores, axis=-1), v)


def heads_inside(q, k, v):
    """The heads are an inner axis, and the values are brought into order between the scores and their use."""
    def ordered(x):
        return jnp.concatenate([x[..., None, :], -x[..., None, :]], 2).transpose(0, 2, 1, 3)
    weights = nj.nn.softmax(ordered(q) @ ordered(k).mT, axis=-1)
    return weights @ ordered(v)


def one_head(q, k, v):
    return nj.nn.softmax(q @ k.T, axis=-1) @ v


def squared(q, k, v):
    return jnp.square(q @ k.T) @ v


def network(x, w, b, u):
    return jnp.tanh(x @ w + b) @ u


Q, K, V = normal(2, 3, 150, 16), normal(2, 3, 200, 16, seed=1), normal(2, 3, 200, 24, seed=2)
CHAINS = {
    "attention": (attention, (Q, K, V)),
    "float64": (attention, (Q.astype(np.float64), K.astype(np.float64), V.astype(np.float64))),
    "a causal mask": (causal, (Q, K, V)),
    "a bias": (biased, (Q, K, V, normal(3, 150, 200, seed=3))),
    "one head": (one_head, (normal(400, 16), normal(300, 16, seed=1), normal(300, 40, seed=2))),
    "values made in between": (heads_inside, (normal(2, 300, 16), normal(2, 200, 16, seed=1), normal(2, 200, 24, seed=2))),
    "long rows": (one_head, (normal(150, 16), normal(5000, 16, seed=1), normal(5000, 8, seed=2))),
    "elements alone": (squared, (normal(400, 16), normal(300, 16, seed=1), normal(300, 40, seed=2))),
    "a network": (network, (normal(1000, 30), normal(30, 256, seed=1), normal(256, seed=2), normal(256, 7, seed=3))),
    "one column": (network, (normal(1000, 30), normal(30, 256, seed=1), normal(256, seed=2), normal(256, 1, seed=3))),
    "its result goes on": (lambda q, k, v: attention(q, k, v).transpose(0, 2, 1, 3).reshape(2, 150, 72) + 1.0, (Q, K, V)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_lies_between_is_never_stored(name):
    f, args = CHAINS[name]
    with nj.enable_x64(args[0].dtype == np.float64):
        function = planned(f, *args)
        (found,) = [s for s in walk(function.body) if isinstance(s, GemmWithEpilogue)]
        assert found.result.kind == "tile" and found.whole and symbols(function) == [THEN, ROWS]
        assert all(t.size < found.result.size for t in function.temps)
        want = outside(f, *args)
        tolerance = 1e-12 if want.dtype == np.float64 else 2e-5
        np.testing.assert_allclose(nj.jit(f)(*args), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


LARGE = normal(400, 16), normal(300, 16, seed=1), normal(300, 40, seed=2)
STORED = {
    "read afterwards": lambda q, k, v: ((p := nj.nn.softmax(q @ k.T, axis=-1)) @ v, p),
    "read by a loop": lambda q, k, v: ((p := jnp.tanh(q @ k.T)) @ v, p.sum(0)),
    "the right operand": lambda q, k, v: v.T @ jnp.tanh(k @ q.T),
    "transposed": lambda q, k, v: jnp.tanh(k @ q.T).T @ v,
    "with itself": lambda q, k, v: (p := jnp.tanh(q @ k.T)) @ p.T,
    "other rows": lambda q, k, v: jnp.tanh(q @ k.T)[::-1] @ v,
    "rows together": lambda q, k, v: nj.nn.softmax(q @ k.T, axis=0) @ v,
    "a matrix made of it": lambda q, k, v: (p := jnp.tanh(q @ k.T)) @ p[:300, :30],
    "a matrix with rows across": lambda q, k, v: jnp.tanh(q @ k.T) @ v.reshape(40, 300).T,
    "a matrix that the kernel would pass over repeatedly": lambda q, k, v: jnp.tanh(q @ k.T) @ jnp.tile(v, (1, 8)),
    "parts of it": lambda q, k, v: jnp.tanh(q @ k.T)[:, :200] @ v[:200],
}


@pytest.mark.parametrize("name", STORED)
def test_other_programs_store_it_and_have_the_values(name):
    function = planned(STORED[name], *LARGE)
    assert ROWS not in symbols(function)
    with nj.disable_jit():
        want = STORED[name](*map(jnp.asarray, LARGE))
    for a, b in zip(nj.tree.leaves(nj.jit(STORED[name])(*LARGE)), nj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * float(jnp.abs(b).max()))


def test_few_scores_are_stored():
    q, k, v = normal(2, 64, 16), normal(2, 64, 16, seed=1), normal(2, 64, 16, seed=2)
    f = lambda q, k, v: nj.nn.softmax(q @ k.mT, axis=-1) @ v
    assert ROWS not in symbols(planned(f, q, k, v))


def test_memory_grows_with_the_sequence_not_with_its_square():
    def temporary(n: int) -> int:
        q = normal(1, 2, n, 16)
        return nj.jit(attention).lower(q, q, q).compile().memory_analysis().temp_size_in_bytes
    small, large = temporary(1024), temporary(4096)
    assert large <= 4 * small + 4096 and large < 4096 * 4096


def test_a_donated_operand_is_whole_until_it_is_read():
    q = normal(400, 40)
    k, v = normal(300, 40, seed=1), normal(300, 40, seed=2)
    want = outside(one_head, q, k, v)
    got = nj.jit(lambda q, k, v: q.at[:].set(one_head(q, k, v)), donate_argnums=0)(jnp.array(q), k, v)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CHAINS)
def test_the_number_of_threads_changes_nothing(name):
    f, args = CHAINS[name]
    run = nj.jit(f)
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            _native.set_num_threads(count)
            results.append(np.asarray(run(*args)))
    finally:
        _native.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("name", ["attention", "a causal mask", "one head"])
def test_gradients_and_batches(name):
    f, args = CHAINS[name]
    loss = lambda *a: jnp.sum(jnp.sin(f(*a)))
    with nj.disable_jit():
        want = nj.grad(loss, (0, 1, 2))(*map(jnp.asarray, args))
    for a, b in zip(nj.jit(nj.grad(loss, (0, 1, 2)))(*args), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    twice = [np.stack([x, x[..., ::-1]]) for x in args]
    got = nj.jit(nj.vmap(f))(*twice)
    for row in range(2):
        np.testing.assert_allclose(got[row], outside(f, *(x[row] for x in twice)), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bfloat16"])
@pytest.mark.parametrize("shape", [(61, 40, 700), (61, 1, 700), (17, 100, 3000), (15, 33, 1), (14, 5, 513)])
def test_rows_have_the_same_bits_wherever_they_are_cut(dtype, shape):
    m, n, k = shape
    with nj.enable_x64():
        a = np.asarray(jnp.asarray(normal(m, k) * 8, dtype))
        b = np.asarray(jnp.asarray(normal(k, n, seed=1) * 8, dtype))
    kinds = [ctypes.c_int64] * 4 + [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64] * 2 + [ctypes.c_void_p]
    run = ctypes.CFUNCTYPE(None, *kinds)(_native.kernel_address(ROWS))

    def rows(first: int, end: int) -> np.ndarray:
        out = np.full((end - first, n), 7, np.float32 if dtype == "bfloat16" else dtype)
        run(CODES[dtype], end - first, n, k, a[first:].ctypes.data, k, 1, b.ctypes.data, n, 1, out.ctypes.data)
        return out
    whole = rows(0, m)
    np.testing.assert_allclose(whole, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-5, atol=0.1)
    for step in (1, 3, 14):
        parts = [rows(first, min(m, first + step)) for first in range(0, m, step)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_product_alone_is_none():
    assert symbols(planned(lambda x, w: x @ w, *LARGE[:1], LARGE[1].T)) == [GEMM]
