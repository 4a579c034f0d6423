"""Threads with stacks of 256 KiB may call everything: kernels, programs, the compiler, deep containers, recursion without end.

Each case runs in a process of its own, as what it looks for is a segmentation fault.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = str(Path(__file__).parents[2])
STACK = 256 * 1024


def run_with_small_stack(case: Callable[[], None]) -> None:
    """Runs `case` in a thread with a stack of 256 KiB, and raises here what it raises there."""
    failure: list[BaseException] = []

    def run() -> None:
        try:
            case()
        except BaseException as error:
            failure.append(error)

    before = threading.stack_size(STACK)
    thread = threading.Thread(target=run)
    thread.start()
    threading.stack_size(before)
    thread.join()
    if failure:
        raise failure[0]


# (rows, columns, terms): every way of cutting a product (native/kernels/gemm/gemm.cpp), with edges beyond the width of vectors.
PRODUCTS = [(300, 310, 320), (65, 33, 1100), (700, 17, 70), (5, 400, 600), (40, 300, 513), (3, 5, 9000), (9, 8, 7),
            (1, 3000, 900), (3000, 1, 900), (7, 4096, 300), (0, 3, 4), (4, 3, 0)]


def _product_operands(m: int, n: int, k: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m + 3 * n + 5 * k)
    return tuple(rng.integers(-3, 4, shape).astype(dtype) for shape in ((m, k), (k, n)))


def products() -> None:
    """Products outside of programs, of all dtypes, forms and orders of the operands."""
    import numjet.numpy as jnp

    for dtype in ("float32", "int32", "complex64", "float16", "int8"):
        for m, n, k in PRODUCTS:
            a, b = _product_operands(m, n, k, dtype)
            want = (a.astype(np.complex128 if dtype == "complex64" else np.float64) @ b).astype(dtype)
            for x, y in ((jnp.array(a), jnp.array(b)), (jnp.array(a.T).T, jnp.array(b.T).T)):
                np.testing.assert_array_equal(np.asarray(x @ y), want, f"{dtype} {m} {n} {k}")


def products_in_programs() -> None:
    """Products with what follows them (kept, or passed on and forgotten), in batches, and in loops."""
    import numjet as nj
    import numjet.numpy as jnp

    for m, n, k in PRODUCTS:
        a, b = _product_operands(m, n, k, "float32")
        want = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_array_equal(np.asarray(nj.jit(lambda x, y: jnp.maximum(x @ y, 1))(a, b)), np.maximum(want, 1))
        np.testing.assert_array_equal(np.asarray(nj.jit(lambda x, y: jnp.sum(x @ y, axis=1))(a, b)), want.sum(1))
        batch = nj.vmap(jnp.matmul)(np.stack([a] * 3), np.stack([b] * 3))
        np.testing.assert_array_equal(np.asarray(batch), np.stack([want] * 3))


def kernels() -> None:
    """Sorts, prefixes, transforms and decompositions."""
    import numjet.numpy as jnp
    from numjet import lax

    rng = np.random.default_rng(0)
    for n in (1, 9, 70, 300):
        x = jnp.array(rng.normal(size=(n, n)).astype(np.float32))
        spd = x @ x.T + n * jnp.eye(n)
        for function in (jnp.sort, jnp.argsort, jnp.cumsum, jnp.linalg.qr, lax.linalg.lu, jnp.linalg.svd, jnp.linalg.eig,
                         jnp.linalg.inv, lax.linalg.schur, lax.linalg.hessenberg, jnp.linalg.slogdet):
            for result in (out if isinstance(out := function(x), tuple) else (out,)):
                np.asarray(result)
        for function in (jnp.linalg.cholesky, jnp.linalg.eigh, lax.linalg.tridiagonal):
            for result in (out if isinstance(out := function(spd), tuple) else (out,)):
                np.asarray(result)
        np.testing.assert_allclose(np.asarray(spd @ jnp.linalg.solve(spd, x)), np.asarray(x), atol=1e-2)
    large = rng.normal(size=1_000_003).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(jnp.sort(large)), np.sort(large))
    np.testing.assert_array_equal(np.asarray(lax.top_k(large, 100)[0]), np.sort(large)[:-101:-1])
    for n in (1, 64, 97, 101 * 64, 127 * 13, 65521, 3 * 5 * 7 * 11 * 13):
        x = rng.normal(size=(3, n)).astype(np.float32)
        np.testing.assert_allclose(np.asarray(jnp.fft.fft(x)), np.fft.fft(x), rtol=1e-3, atol=0.05)
        np.testing.assert_allclose(np.asarray(jnp.fft.irfft(jnp.fft.rfft(x), n)), x, rtol=1e-3, atol=1e-3)


def deep_trees() -> None:
    """Containers nested deeply: RecursionError at the latest where the stack ends, whatever Python's own limit is."""
    import numjet as nj
    from numjet import tree_util

    sys.setrecursionlimit(1_000_000)

    class Node:
        def __init__(self, child: object) -> None:
            self.child = child

    tree_util.register_pytree_node(Node, lambda node: ((node.child,), None), lambda _, children: Node(*children))
    for wrap in (lambda x: [x], lambda x: (x,), lambda x: {"a": x}, Node):
        tree: object = 1.0
        for _ in range(10_000):
            tree = wrap(tree)
        for function in (tree_util.tree_leaves, tree_util.tree_structure, nj.jit(lambda x: 1),
                         lambda x: tree_util.tree_leaves(x, is_leaf=lambda _: False)):
            with pytest.raises(RecursionError):
                function(tree)
        shallow = 1.0
        for _ in range(150):
            shallow = wrap(shallow)
        structure = tree_util.tree_structure(shallow)
        again = structure.unflatten([2.0])
        assert tree_util.tree_leaves(again) == [2.0]
        assert tree_util.tree_structure(again) == structure
    tree = again = wrap = None
    sys.setrecursionlimit(1000)


def recursion() -> None:
    """A jitted function that calls itself without end: RecursionError, also where Python's limit is far away."""
    import numjet as nj

    sys.setrecursionlimit(1_000_000)

    @nj.jit
    def endless(x: object) -> object:
        return endless((x,))

    with pytest.raises(RecursionError):
        endless(1.0)
    nest = endless
    for _ in range(900):
        nest = nj.jit(nest)
    assert repr(nest).startswith("<PjitFunction of <PjitFunction")


def long_programs() -> None:
    """Programs of 10,000 equations in a chain, one after the other, and chains of queued computations: made, run and freed."""
    import numjet as nj
    import numjet.numpy as jnp

    def chain(x: object) -> object:
        for k in range(10_000):
            x = x * 0.5 + float(k % 3)
        return x

    program = nj.make_jaxpr(chain)(1.0)
    assert len(program.jaxpr.eqns) == 20_000
    want = 1.0
    for k in range(10_000):
        want = want * 0.5 + float(k % 3)
    np.testing.assert_allclose(float(nj.jit(chain)(1.0)), want, rtol=1e-5)
    del program
    step = nj.jit(lambda x: x * 0.5 + 1)
    x = jnp.zeros(100_000)
    for _ in range(3000):
        x = step(x)
    np.testing.assert_allclose(np.asarray(x), 2.0, rtol=1e-5)


def large_frames() -> None:
    """Programs whose machine code holds much on the stack: loops over many small arrays, small products written out."""
    import numjet as nj
    import numjet.numpy as jnp
    from numjet import lax

    def many_carries(xs: list) -> list:
        def step(carry: list, _: object) -> tuple:
            return [jnp.sin(a) + b for a, b in zip(carry, [*carry[1:], carry[0]], strict=True)], None

        return lax.scan(step, xs, None, length=3)[0]

    carries = [jnp.full(16, k / 60, "float32") for k in range(60)]
    got = nj.jit(many_carries)(carries)
    want = [np.asarray(c, np.float64) for c in carries]
    for _ in range(3):
        want = [np.sin(a) + b for a, b in zip(want, [*want[1:], want[0]], strict=True)]
    np.testing.assert_allclose(np.stack(got), np.stack(want), rtol=1e-3, atol=1e-3)
    a = np.random.default_rng(0).normal(size=(20, 20)).astype(np.float32) / 5

    def products(a: object) -> object:
        x = a
        for _ in range(12):
            x = jnp.tanh(x @ a) + a.T
        return x

    expected = a.astype(np.float64)
    for _ in range(12):
        expected = np.tanh(expected @ a) + a.T
    np.testing.assert_allclose(np.asarray(nj.jit(products)(a)), expected, rtol=1e-3, atol=1e-3)
    small = [jnp.full((4, 4), k / 50, "float32") for k in range(16)]
    summed = nj.jit(lambda ms: sum((m @ n for m in ms for n in ms), jnp.zeros((4, 4))))(small)
    np.testing.assert_allclose(np.asarray(summed), np.sum(small, 0) @ np.sum(small, 0), rtol=1e-3)


CASES = {case.__name__: case for case in (
    products, products_in_programs, kernels, deep_trees, recursion, long_programs, large_frames)}


@pytest.mark.parametrize("name", CASES)
def test_small_stack(name: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.stdout.endswith("done\n")


if __name__ == "__main__":
    run_with_small_stack(CASES[sys.argv[1]])
    print("done")
