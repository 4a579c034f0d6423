"""Gathers from large arrays fetch ahead; from others, and where that could read what is not there, they do not."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax, numpy as jnp
from numjet.api.stages import trace_call
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.codegen.memory.prefetch import LARGE
from numjet.cpu.native_code import jit
from numjet.experimental import checkify
from numjet.transforms.simplify import simplify
from tests.cpu.codegen.test_transposes import function_of

LONG = jit.host().caches.last_level // LARGE // 4 + 100
X = np.random.default_rng(0).normal(size=LONG).astype(np.float32)
PLACES = np.random.default_rng(1).integers(-LONG, LONG, 100_003).astype(np.int32)


def fetches(fun, *args):
    return "llvm.prefetch" in str(llvm.emit(function_of(fun, *args), jit.host()))


def compiled(fun, *args):
    """LLVM IR after all passes."""
    return compiler.compile_program(simplify(trace_call(fun, args, {})[0]), "f").text


def test_large_arrays():
    fun = lambda x, i: x[i] * 2
    assert fetches(fun, X, PLACES)
    assert np.asarray(nj.jit(fun)(X, PLACES)).tolist() == (X[PLACES] * 2).tolist()


@pytest.mark.parametrize("fun, args", [
    (lambda x, i: x[i], (X[:1000], PLACES % 1000)), (lambda x, i: x[i], (X, PLACES[:1000])),
    (lambda x: x[::5] + x[1::5], (X[:LONG // 5 * 5],))], ids=["small array", "few places", "no places from memory"])
def test_no_use(fun, args):
    assert not fetches(fun, *args)


def test_places_that_are_computed():
    fun = lambda x, i: x[(i * 7 + 3) % x.shape[0]] + x[i]
    assert fetches(fun, X, PLACES)
    places = (PLACES * np.int32(7) + np.int32(3)) % np.int32(LONG)
    assert np.asarray(nj.jit(fun)(X, PLACES)).tolist() == (X[places] + X[PLACES]).tolist()


def test_places_that_the_iteration_has_bound_or_stored():
    """Rows, whose index is bound for all their elements, and places that are a result, too."""
    rows = X[:LONG // 3 * 3].reshape(-1, 3)
    fun, at = lambda x, i: x[i], PLACES % len(rows)
    assert "llvm.prefetch" in compiled(fun, rows, at)
    assert np.asarray(nj.jit(fun)(rows, at)).tolist() == rows[at].tolist()
    checked = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
    assert "llvm.prefetch" in compiled(checked, X, PLACES)
    error, out = nj.jit(checked)(X, PLACES)
    assert error.get() is None and np.asarray(out).tolist() == X[PLACES].tolist()


def test_places_of_elements_that_the_iteration_updates():
    """Such an element has a value that reads the element: following values to memory goes in circles."""
    weights = np.where(np.arange(LONG) % 3 == 0, 0, 1).astype(np.float32)
    chosen = np.asarray(nj.random.choice(nj.random.key(0), LONG, (70_000,), p=jnp.asarray(weights / weights.sum())))
    assert weights[chosen].all() and len(set(chosen.tolist())) > 60_000


def test_places_that_the_loop_writes_are_not_fetched_ahead():
    """Each step reads at places that the one before has computed."""
    def run(x, i):
        step = lambda _, state: ((state[0] * 5 + 1) % x.shape[0], state[1] + x[state[0]])
        return lax.fori_loop(0, 3, step, (i, jnp.zeros(i.shape, np.float32)))
    places, total = PLACES % np.int32(LONG), np.zeros(PLACES.shape, np.float32)
    out = nj.jit(run)(X, places)
    for _ in range(3):
        total, places = total + X[places], (places * np.int32(5) + np.int32(1)) % np.int32(LONG)
    assert np.asarray(out[1]).tolist() == total.tolist() and np.asarray(out[0]).tolist() == places.tolist()
