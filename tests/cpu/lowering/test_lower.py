"""Lowering: loops, branches and updates of large and small arrays against op-by-op evaluation."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import Copy, For, Store
from numjet.cpu.ir.traversal import walk
from numjet.cpu.lowering.lower import lower
from numjet.cpu.native_code import jit
from numjet.cpu.passes import legalize_math, memory_plan
from numjet.foundation.tree import tree_leaves
from numjet.transforms.simplify import simplify

LARGE, SMALL = 40, 3


def agree(fun, *args, rtol=1e-5):
    """Compiled and op by op give the same."""
    args = [jnp.asarray(a) for a in args]
    with nj.disable_jit():
        want = [np.asarray(jnp.asarray(x)) for x in tree_leaves(fun(*args))]
    got = [np.asarray(x) for x in tree_leaves(nj.jit(fun)(*args))]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-6)


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_swapped_carries(n, length):
    agree(lambda a, b: lax.fori_loop(0, length, lambda i, c: (c[1], c[0]), (a, b)), values(n), values(n, seed=1))
    agree(lambda a, b: lax.fori_loop(0, length, lambda i, c: (c[1], c[0] + c[1]), (a, b)), values(n), values(n, seed=1))


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_carries_that_shift(n):
    roll = lambda x: lax.concatenate([x[1:], x[:1]], 0)
    agree(lambda a: lax.fori_loop(0, 7, lambda i, x: roll(x) + 0.5 * x, a), values(n))
    agree(lambda a: lax.scan(lambda x, _: (roll(x), x[0]), a, None, length=9), values(n))


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_of_rows(n, reverse):
    agree(lambda c, xs: lax.scan(lambda c, x: (jnp.tanh(c + x), (c * x, x)), c, xs, reverse=reverse), values(n), values(6, n))
    agree(lambda c, xs: lax.scan(lambda c, x: (c.at[1].add(x.sum()), c.sum()), c, 2 * jnp.sin(xs), reverse=reverse),
          values(n), values(6, n))


def test_while_with_large_state_and_dynamic_count():
    def fun(x, limit):
        return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1][::-1] * 0.9 + c[0]), (0, x))
    agree(fun, values(LARGE), 5)
    agree(fun, values(LARGE), 0)
    agree(fun, values(2), 4)


def test_shifted_copies_of_itself():
    """The update reads what it overwrites."""
    for n in (5, LARGE):
        agree(lambda x: lax.dynamic_update_slice(x, x[:-1], (1,)).reshape(-1), values(n))
        agree(lambda x: x.at[1:].set(x[:-1]).at[:-1].add(2 * x[1:]), values(n))
        agree(lambda x: lax.fori_loop(0, 4, lambda i, v: lax.dynamic_update_slice(v, v[:-1] + 1, (1,)), x), values(n))


def test_old_value_survives_an_update():
    for n in (5, LARGE):
        agree(lambda x: (x.at[0].set(1.0), x, x.at[1].set(2.0) + x), values(n))
        agree(lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0].at[i].set(9.0), c[1] + c[0]), (x, x)), values(n))


def test_overlapping_blocks():
    """Nested scans of dynamic slices over a padded array."""
    def fun(x):
        padded = lax.pad(x, jnp.float32(0), [(3, 3, 0)])

        def outer(c, i):
            def inner(s, j):
                return s + lax.dynamic_slice(padded, (i + j,), (4,)).sum(), s
            s, _ = lax.scan(inner, jnp.float32(0), jnp.arange(3))
            return c + s, s
        return lax.scan(outer, jnp.float32(0), jnp.arange(LARGE))
    agree(fun, values(LARGE))


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("flag", [False, True])
def test_branches(n, flag):
    def fun(p, x, y):
        return lax.cond(p, lambda a, b: (a.at[0].set(5.0), b), lambda a, b: (b * 2, jnp.sin(a)), x, y)
    agree(fun, flag, values(n), values(n, seed=1))
    agree(lambda p, x: (lax.cond(p, lambda v: v + x, lambda v: v, x), x * 2), flag, values(n))
    agree(lambda p, x: lax.scan(lambda c, r: lax.cond(r.sum() > 0, lambda: (c + r, r), lambda: (r, c)), x[0], x), flag,
          values(5, n))


def test_switch_clamps():
    for k in (-3, 0, 1, 2, 9):
        agree(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda v: v[::-1]], x), k, values(LARGE))


def test_update_of_a_carried_array_is_in_place():
    """No copy and no loop over the whole array inside the loop."""
    def fun(x):
        return lax.fori_loop(1, 100, lambda i, v: v.at[i].set(v[i - 1] * 0.5), x)
    function = lower(trace_call(fun, (values(1000),), {})[0], "f").function
    loop = next(s for s in walk(function.body) if isinstance(s, For))
    assert not any(isinstance(s, (Copy, For)) for s in walk(loop.body))
    assert sum(isinstance(s, Store) for s in walk(loop.body)) == 1
    agree(fun, values(1000))


def test_elementwise_chain_into_reduction_is_one_loop():
    function = lower(trace_call(lambda x: jnp.sum(jnp.exp(x) * 2 + x), (values(10_000),), {})[0], "f").function
    assert sum(isinstance(s, For) for s in walk(function.body)) == 1 and not function.temps


def test_donated_input_is_the_output():
    closed, _ = trace_call(lambda x, v: x.at[0].set(v), (values(1000), 1.0), {})
    assert lower(closed, "f", [True, False]).aliases == [(0, 0)]
    assert lower(closed, "f", [False, False]).aliases == []


def test_reductions_over_any_axes():
    x = values(3, 40, 5, 2)
    for axes in ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 2), (1, 3), (0, 1, 2), (0, 1, 2, 3), (0, 3)):
        agree(lambda v, a=axes: (jnp.sum(v * v, axis=a), jnp.max(v, axis=a)), x)
    agree(lambda v: (v.astype(jnp.bfloat16).sum(0), v.astype(jnp.float16).sum()), x, rtol=2e-2)
    agree(lambda v: ((v > 0).any(1), (v > 3).all(), jnp.argmax(v, 1), jnp.argmin(v)), x)


def test_reshapes_between_fused_operations():
    x = values(6, 8)
    agree(lambda v: jnp.sin(v).reshape(48) + jnp.arange(48.0), x)
    agree(lambda v: jnp.sin(v).reshape(4, 12).sum(0) + jnp.cos(v).reshape(12, 4).sum(1), x)
    agree(lambda v: (v * 2).reshape(3, 2, 8)[:, 1].reshape(24)[::5], x)


def test_products_of_all_sizes_and_layouts():
    for m, k, n in ((1, 1, 1), (2, 3, 2), (3, 17, 5), (20, 30, 40), (64, 64, 64), (1, 100, 40), (100, 40, 1)):
        x, y = values(m, k), values(k, n, seed=1)
        agree(lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ()))), x, y, rtol=1e-4)
        agree(lambda a, b: lax.dot_general(jnp.sin(a), b, (((0,), (1,)), ((), ()))), x.T.copy(), y.T.copy(), rtol=1e-4)
    agree(lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), values(4, 5, 6), values(4, 6, 7, seed=1), rtol=1e-4)


def test_complex_numbers_and_keys_as_loop_state():
    z = (values(LARGE) + 1j * values(LARGE, seed=1)).astype(np.complex64)
    agree(lambda a: lax.fori_loop(0, 5, lambda i, c: c * c * 0.3 + a, a), z, rtol=1e-4)
    agree(lambda a: lax.fori_loop(0, 5, lambda i, c: c * c * 0.3 + a[:2], a[:2]), z, rtol=1e-4)


def test_long_chains_do_not_overflow_the_stack():
    def chain(x):
        for k in range(3000):
            x = x * 0.999 + k * 1e-4
        return x
    agree(chain, values(LARGE))
    agree(chain, values(2))


def test_shared_definitions_are_computed_once():
    """x -> x * f(x), nested: the number of statements stays linear."""
    def fun(x):
        for _ in range(40):
            x = jnp.sin(x) * x
        return x
    agree(fun, values(LARGE))


def test_empty_arrays():
    agree(lambda x: (x.sum(), x * 2, lax.concatenate([x, x], 0)), np.zeros((0,), np.float32))
    agree(lambda x: (x.sum(0), x.sum(1), x.T), np.zeros((3, 0), np.float32))


def test_large_constants_are_neither_computed_with_nor_embedded():
    """Above 1 MiB: the program reads the memory that the user's array is in."""
    table = np.arange(2**18 + 5, dtype=np.float32)
    closed = simplify(trace_call(lambda x: jnp.sum(jnp.sqrt(jnp.asarray(table)) * x + table[::-1]), (2.0,), {})[0])
    function = lower(closed, "f").function
    assert max(c.nbytes for c in function.consts) == table.nbytes
    assert any(e.op == "sqrt" for e in function.exprs.table.values())
    memory_plan.plan(legalize_math.expand_math(function))
    text = llvm.emit(function, jit.host())
    addresses, kept = llvm.constant_symbols(function)
    assert len(text) < 50_000 and len(addresses) == len(kept) == len(function.consts)
    assert all(f'@"{name}" = external global i8' in text for name in addresses)


def test_results_of_one_equation_are_stored_together():
    """Both words of the cipher are made of the same rounds: one loop has them, and not one for each word."""
    text = nj.jit(lambda key: nj.random.split(key, 64).reshape(8, 8, 2)[::2].sum(0)).lower(nj.random.PRNGKey(0)).as_text()
    assert text.count("rotl(") <= 40
    x = values(LARGE)

    def fun(x):
        y = jnp.exp(jnp.sin(x))
        return lax.sort(y * 2.0), (y * 3.0).sum()
    agree(fun, x)
