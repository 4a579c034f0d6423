"""Kernels whose results nobody reads are not called."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Call, For
from numjet.cpu.ir.traversal import walk

X = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)


def program(fun, *args):
    return compiler.planned(nj.make_jaxpr(fun)(*args), "f")


def calls(fun, *args) -> list[str]:
    return [s.symbol for s in walk(program(fun, *args).body) if isinstance(s, Call)]


@pytest.mark.parametrize(("fun", "expected"), [
    (lambda a: jnp.linalg.qr(a)[1], ["nj_geqrf"]),
    (lambda a: jnp.linalg.qr(a)[0], ["nj_geqrf", "nj_orgqr"]),
    (lambda a: jnp.linalg.qr(a), ["nj_geqrf", "nj_orgqr"]),
    (lambda a: jnp.linalg.qr(jnp.linalg.qr(a)[0])[1], ["nj_geqrf", "nj_orgqr", "nj_geqrf"]),
])
def test_calls(fun, expected):
    assert calls(fun, X) == expected


def test_what_only_an_unread_kernel_reads_goes_too():
    tall = X[:, :20]  # Q of all columns has its vectors in a matrix of their own
    complete = program(lambda a: jnp.linalg.qr(a, mode="complete"), tall)
    only_r = program(lambda a: jnp.linalg.qr(a, mode="complete")[1], tall)
    loops = [sum(isinstance(s, For) for s in walk(f.body)) for f in (complete, only_r)]
    assert loops[0] > loops[1] and len(complete.temps) > len(only_r.temps)


def test_the_rest_is_as_before():
    _, r = np.linalg.qr(X)
    np.testing.assert_allclose(nj.jit(lambda a: jnp.abs(jnp.linalg.qr(a)[1]))(X), np.abs(r), atol=1e-4)

    def loop(a):
        def body(_, c):
            _, upper = jnp.linalg.qr(c)
            return jnp.abs(upper) + jnp.eye(40, dtype=np.float32)
        return nj.lax.fori_loop(0, 3, body, a)
    want = X
    for _ in range(3):
        want = np.abs(np.linalg.qr(want)[1]) + np.eye(40, dtype=np.float32)
    np.testing.assert_allclose(nj.jit(loop)(X), want, rtol=1e-3, atol=1e-3)
    assert calls(loop, X) == ["nj_geqrf"]


def test_callbacks_are_called_though_nobody_reads():
    seen = []

    def fun(a):
        nj.debug.callback(lambda v: seen.append(float(v)), a[0, 0])
        return a + 1
    nj.jit(fun)(X).block_until_ready()
    nj.effects_barrier()
    assert seen == [float(X[0, 0])]
