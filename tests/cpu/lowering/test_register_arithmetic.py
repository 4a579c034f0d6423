"""Arithmetic of a few elements in registers, which makes no deferred arrays."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.ir import printer
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.lower import lower
from numjet.cpu.remarks import Recorder

X = np.array([0.5, -1.5, 2.5], np.float32)


def lorenz(s):
    x, y, z = s
    return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - z])


PROGRAMS = {
    "unrolled": (lambda s: s + 0.1 * lorenz(s + 0.5 * lorenz(s)), X),
    "loop": (lambda s: lax.fori_loop(0, 9, lambda i, s: s + i * 0.01 * lorenz(s), s), X),
    "lanes": (lambda x: lax.scan(lambda c, _: (nj.vmap(lambda s: s + 0.01 * lorenz(s))(c), None), x, None, length=5)[0],
              np.ones((64, 3), np.float32)),
    "complex": (lambda x: (x * 1j + jnp.flip(x)) ** 2 / (x + 2j), X),
    "scalars and vectors": (lambda x: jnp.where(x > x[0], x * x[1], jnp.max(x)) + jnp.sum(x) * jnp.arange(3), X),
    "halves": (lambda x: (x.astype(jnp.bfloat16) * 3 + 1).astype(jnp.float16), X),
    "empty": (lambda x: jnp.sin(x[:0]) * 2 + x[0], X),
    "branches": (lambda x: lax.cond(x[0] > 0, lambda x: lorenz(x) * 2, lambda x: x[::-1] - x[0], x), X)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_is_that_of_deferred_arrays(name):
    """A recorder sees every array, so with one no equation takes the short way."""
    function, x = PROGRAMS[name]
    closed = nj.make_jaxpr(nj.jit(function))(x)
    short = lower(closed, "f", notes=False).function
    watched = lower(closed, "f", notes=False, recorder=Recorder()).function
    assert printer.show(short) == printer.show(watched)


def test_no_deferred_array_is_made(monkeypatch):
    closed = nj.make_jaxpr(PROGRAMS["unrolled"][0])(X)
    made = []
    elementwise = DeferredArrays.elementwise
    monkeypatch.setattr(DeferredArrays, "elementwise", lambda *a, **options: made.append(a) or elementwise(*a, **options))
    lower(closed, "f")
    assert len(closed.jaxpr.eqns) > 30 and len(made) == 2   # those that read the argument, which is in memory
