"""What a compilation makes is freed when it is done, without waiting for the collector of cyclic garbage, which would look
through all of it: an eighth of the time of compiling large programs."""
from __future__ import annotations

import gc
from collections import Counter

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.op import all_ops
from numjet.testing import records

# Operations whose rules are of different kinds: register arrays, recursion, inner programs, kernels, loops, parts of arrays.
NAMES = ("cholesky", "concatenate", "dot_general", "gather", "igamma", "linear_recurrence", "lu", "reduce_window_sum",
         "scatter", "sort", "tanh")


def cyclic_garbage(run):
    """Objects of this package's classes, and functions, that a call leaves in cycles."""
    run()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        return Counter(f"{type(x).__module__}.{type(x).__qualname__}" if type(x).__name__ != "function" else x.__qualname__
                       for x in gc.garbage if type(x).__module__.startswith("numjet") or type(x).__name__ == "function")
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_the_test_sees_cycles():
    def run():
        def f():
            return f
    assert "test_the_test_sees_cycles.<locals>.run.<locals>.f" in cyclic_garbage(run)


@pytest.mark.parametrize("name", NAMES)
def test_operations(name):
    op = all_ops()[name]
    case = next(iter(records.cases(op, 1)))

    def run():
        nj.jit(lambda *xs: op.bind(*xs, **case.params))(*case.operands)
    assert cyclic_garbage(run) == Counter()


def test_the_gradient_of_a_loop():
    def loss(w, x):
        def step(c, y):
            return jnp.where(y > 0, jnp.tanh(w @ c) + y, c), c[:2]
        c, ys = lax.scan(step, jnp.zeros(3), x)
        return jnp.sum(c) + jnp.sum(jnp.concatenate([ys[0], ys[1]]))

    def run():
        nj.jit(nj.vmap(nj.grad(lambda w, x: loss(w, x)), (None, 0)))(jnp.ones((3, 3)), jnp.ones((2, 5, 3)))
    assert cyclic_garbage(run) == Counter()


def test_a_scan_of_many_small_arrays():
    def run():
        tree = {k: jnp.ones(3) for k in range(30)}
        nj.jit(lambda t: lax.scan(lambda c, _: ({k: jnp.sin(v) * 2 for k, v in c.items()}, None), t, None, length=4))(tree)
    assert cyclic_garbage(run) == Counter()
