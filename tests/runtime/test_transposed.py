"""Large transposed arrays outside of jit: copied when they are looked at, and not at all by products."""
from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

import numjet as nj
from numjet import _native, lax, numpy as jnp

RNG = np.random.default_rng(0)
WIDE = RNG.integers(-5, 5, (300, 700)).astype(np.float32)
DEEP = RNG.integers(-5, 5, (3, 200, 400)).astype(np.float32)


def allocations(run):
    """How many buffers are taken from the pool."""
    gc.collect()
    before = _native.counters()["allocations"]
    kept = nj.block_until_ready(run())
    return _native.counters()["allocations"] - before, kept


def test_a_transpose_is_copied_once_when_it_is_looked_at():
    x = jnp.asarray(WIDE)
    before = _native.counters()["allocations"]
    turned = x.T
    assert turned._lazy_transpose is not None and turned.is_ready() and turned.shape == (700, 300)
    assert _native.counters()["allocations"] == before
    assert np.asarray(turned).tolist() == WIDE.T.tolist()
    assert turned._lazy_transpose is None and _native.counters()["allocations"] == before + 1
    assert turned.unsafe_buffer_pointer() == turned.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert _native.counters()["allocations"] == before + 1


def test_small_transposes_are_copied_at_once():
    assert jnp.asarray(WIDE[:9, :9]).T._lazy_transpose is None


PRODUCTS = {
    "right": (lambda x, t: x @ t, WIDE @ WIDE.T), "left": (lambda x, t: t @ x, WIDE.T @ WIDE),
    "matmul": (lambda x, t: jnp.matmul(x, t), WIDE @ WIDE.T), "dot": (lambda x, t: jnp.dot(t, x), WIDE.T @ WIDE),
    "einsum": (lambda x, t: jnp.einsum("ij,jk->ik", x, t), WIDE @ WIDE.T),
    "vector": (lambda x, t: t @ x[:, 0], WIDE.T @ WIDE[:, 0])}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_read_where_it_lies(name):
    fun, expected = PRODUCTS[name]
    x = jnp.asarray(WIDE)
    turned = x.T
    assert np.asarray(fun(x, turned)).tolist() == expected.tolist() and turned._lazy_transpose is not None


@pytest.mark.parametrize("axes, contract, batch, copied", [
    ((0, 2, 1), ((2,), (1,)), ((0,), (0,)), False), ((2, 1, 0), ((1,), (1,)), ((2,), (0,)), False),
    ((1, 2, 0), ((2, 0), (0, 1)), ((), ()), False), ((1, 2, 0), ((0,), (1,)), ((), ()), True),
    ((2, 1, 0), ((1,), (1,)), ((), ()), True)], ids=str)
def test_products_of_any_axes(axes, contract, batch, copied):
    """Also those where the axes that are left would come in another order: these are copied."""
    x, y = jnp.asarray(DEEP).transpose(axes), jnp.asarray(DEEP[:, :, :2])
    numbers = (contract, batch)
    expected = lax.dot_general(np.ascontiguousarray(DEEP.transpose(axes)), DEEP[:, :, :2], numbers)
    assert np.asarray(lax.dot_general(x, y, numbers)).tolist() == np.asarray(expected).tolist()
    assert (x._lazy_transpose is None) == copied


def test_it_outlives_what_it_was_made_of():
    x = jnp.asarray(WIDE)
    first, second = x.T, x.T
    x.delete()
    assert np.asarray(first).tolist() == WIDE.T.tolist()
    assert np.asarray(jnp.asarray(WIDE[:2]) @ second).tolist() == (WIDE[:2] @ WIDE.T).tolist()
    second.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(second)


def test_donating_what_it_was_made_of_leaves_it_alone():
    x = jnp.asarray(WIDE) + 0
    turned = x.T
    out = nj.jit(lambda x: x * 2, donate_argnums=(0,))(x)
    assert np.asarray(turned).tolist() == WIDE.T.tolist() and np.asarray(out).tolist() == (WIDE * 2).tolist()


@pytest.mark.parametrize("use", [
    lambda t: nj.jit(lambda x: x + 1)(t), lambda t: t + 1, lambda t: (t.reshape(-1) + 1).reshape(t.shape),
    lambda t: jnp.asarray(pickle.loads(pickle.dumps(t))) + 1, lambda t: t.T.T + 1, lambda t: jnp.concatenate([t], 0) + 1,
    lambda t: nj.jit(lambda x: x + 1, donate_argnums=0)(t), lambda t: nj.vmap(lambda x: x + 1)(t), lambda t: t.at[:].add(1),
    lambda t: jnp.array(np.from_dlpack(t)) + 1, lambda t: jnp.array(memoryview(t)) + 1])
def test_every_other_use_sees_the_values(use):
    x = jnp.asarray(WIDE)
    assert np.asarray(use(x.T)).tolist() == (WIDE.T + 1).tolist()
    assert np.asarray(x).tolist() == WIDE.tolist()


def test_gradients_of_products_with_transposes():
    x, y = jnp.asarray(WIDE[:10]), jnp.asarray(WIDE)
    slopes = nj.grad(lambda x, y: (x @ y.T).sum(), (0, 1))(x, y)
    assert np.asarray(slopes[0]).tolist() == np.broadcast_to(WIDE.sum(0), (10, 700)).tolist()
    assert np.asarray(slopes[1]).tolist() == np.broadcast_to(WIDE[:10].sum(0), (300, 700)).tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(520, 1000), (1000, 519), (70_001, 8), (8, 70_001), (130_000, 2), (3, 500, 301)], ids=str)
def test_copies_of_all_widths(shape, dtype):
    data = RNG.integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)
    with nj.enable_x64():
        turned = jnp.asarray(data).transpose(tuple(reversed(range(len(shape)))))
        assert np.asarray(turned).tobytes() == np.ascontiguousarray(data.T).tobytes()
