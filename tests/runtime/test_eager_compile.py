"""Operations on large arrays outside of jit: compiled once, queued, and with the values of small ones."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.foundation import events
from numjet.foundation.config import debug_nans, disable_jit
from numjet.runtime.eager_compile import LARGE, MANY

N = LARGE + 77
RNG = np.random.default_rng(0)
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "sin": lax.sin, "add": lambda x: x + x, "scaled": lambda x: x * 3.0, "less": lambda x: x < 0.5,
    "sum": lambda x: lax.cumsum(lax.round(x)),  # sums of whole numbers are exact
    "reduced": lambda x: lax.reduce_max(x, (0,)), "astype": lambda x: lax.convert_element_type(x, np.int32),
    "reversed": lambda x: lax.rev(x, (0,)), "where": lambda x: lax.select(x > 0, x, -x),
    "joined": lambda x: lax.concatenate([x, x], 0),
    "sorted": lax.sort, "top": lambda x: lax.top_k(x, 3)[1],
    "part": lambda x: lax.slice(x, (5,), (N - 5,), (3,)),
}


def compilations(f: Callable[[], Any]) -> int:
    before = events.counters().get("compile", 0)
    nj.block_until_ready(f())
    return events.counters().get("compile", 0) - before


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_are_those_of_the_eager_slots(name: str) -> None:
    x = jnp.asarray(RNG.normal(size=N).astype(np.float32))
    with disable_jit():
        expected = OPERATIONS[name](x)
    out = OPERATIONS[name](x)
    assert out.aval == expected.aval
    np.testing.assert_allclose(np.asarray(out), np.asarray(expected), rtol=1e-5, atol=1e-5)


FACTORIZATIONS: dict[str, Callable[[Any], Any]] = {
    "eig": lambda x: lax.linalg.eig(x, compute_left_eigenvectors=False)[0], "eigh": lambda x: lax.linalg.eigh(x)[1],
    "svd": lambda x: lax.linalg.svd(x, compute_uv=False), "qr": lambda x: lax.linalg.qr(x)[1],
    "schur": lambda x: lax.linalg.schur(x)[0],
    "hessenberg": lambda x: lax.linalg.hessenberg(x)[0], "tridiagonal": lambda x: lax.linalg.tridiagonal(x)[1],
    "lu": lambda x: lax.linalg.lu(x)[0], "cholesky": lambda x: lax.linalg.cholesky(x + 5 * np.eye(3, dtype=np.float32)),
}


@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_many_matrices_are_factored_by_one_program(name: str) -> None:
    x = RNG.uniform(size=(MANY, 3, 3)).astype(np.float32)
    f, few, many = FACTORIZATIONS[name], jnp.asarray(x[1:]), jnp.asarray(x)
    compilations(lambda: f(jnp.concatenate([many, many])))  # what else the function does
    assert compilations(lambda: f(few)) == 0
    found = []
    compilations(lambda: found.append(f(many)) or found[0])
    assert compilations(lambda: f(many)) == 0
    np.testing.assert_allclose(np.asarray(found[0])[1:], np.asarray(f(few)), rtol=1e-4, atol=1e-5)


def test_an_operation_is_compiled_once_for_its_avals_whatever_the_numbers() -> None:
    x = jnp.asarray(RNG.normal(size=N + 1).astype(np.float32))
    assert compilations(lambda: x * 2.5) == 1
    assert compilations(lambda: x * 2.5) == 0
    assert compilations(lambda: (x + x) * 7.25) == 1  # the sum
    assert compilations(lambda: x[:100] * 2.5) == 0


def test_small_arrays_and_views_are_not_compiled() -> None:
    small, large = jnp.ones(LARGE - 1), jnp.ones(LARGE)
    assert compilations(lambda: lax.cos(small)) == 0
    assert compilations(lambda: large.reshape(2, -1)) == 0
    assert compilations(lambda: lax.cos(large)) == 1


def test_the_caller_does_not_wait() -> None:
    x = jnp.ones(50 * LARGE)
    lax.sin(x).block_until_ready()
    before = _native.counters()["enqueued"]
    y = lax.sin(lax.sin(x))
    assert _native.counters()["enqueued"] == before + 2
    np.testing.assert_allclose(y[:3], np.sin(np.sin(np.ones(3))), rtol=1e-6)


def test_numpy_arrays_are_copied_first() -> None:
    x = np.ones(50 * LARGE, np.float32)
    y = lax.neg(x)
    x[:] = 5
    assert set(np.unique(np.asarray(y)).tolist()) == {-1.0}


def test_what_the_backend_cannot_compile_runs_by_its_eager_slot() -> None:
    x = jnp.asarray(np.zeros(LARGE), ml_dtypes.float8_e5m2)
    assert compilations(lambda: lax.add(x, x)) == 0
    assert lax.add(x, x).dtype == x.dtype


def test_debug_flags_look_at_every_operation() -> None:
    x = jnp.zeros(LARGE)
    assert compilations(lambda: lax.log(x)) == 1
    with debug_nans(True), pytest.raises(FloatingPointError):
        lax.div(x, x)
    with disable_jit():
        assert compilations(lambda: lax.exp(x)) == 0


def test_results_do_not_depend_on_threads() -> None:
    x = jnp.asarray(RNG.normal(size=20 * LARGE).astype(np.float32))
    before, results = _native.num_threads(), []
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            results.append(np.asarray(lax.reduce_sum(x, (0,))).tobytes() + np.asarray(lax.cumsum(x)).tobytes())
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1]


def test_broadcasts_that_only_add_axes_copy_nothing():
    x = jnp.arange(100_000.0)
    with events.counting() as grown:
        y = lax.broadcast_in_dim(x, (1, 100_000, 1), (1,))
        stacked = jnp.stack([x, x])
    assert np.shares_memory(np.asarray(x), np.asarray(y)) and grown.get("compile", 0) <= 1   # the concatenation
    np.testing.assert_array_equal(stacked, np.stack([np.arange(100_000.0)] * 2))
    x.delete()
    assert y[0, 7, 0] == 7
