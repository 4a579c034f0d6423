"""Operations with programs that a user traced and bound: arrays that these close over become operands."""

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.extend.core import primitives

C = jnp.arange(3.0)
X = jnp.array([1.0, 2.0, 3.0])
_COND = nj.make_jaxpr(lambda i, x: (i < 2) & (C[1] > 0))(0, C)
_STEP = nj.make_jaxpr(lambda i, x: (i + 1, x * C + 1))(0, C)
_SCAN = nj.make_jaxpr(lambda c, x: (c + C, x * C[0]))(C, 1.0)
_BRANCHES = tuple(nj.make_jaxpr(f)(C) for f in (lambda x: (x * C,), lambda x: (x + C,), lambda x: (x,)))
_CALLED = nj.make_jaxpr(lambda x: (jnp.sin(x) * C,))(C)


def _while(x):
    return lax.while_p.bind(0, x, cond_jaxpr=_COND, cond_nconsts=0, body_jaxpr=_STEP, body_nconsts=0)[1]


def _scan(x):
    return lax.scan_p.bind(x, x, jaxpr=_SCAN, length=3, reverse=False, unroll=1, num_consts=0, num_carry=1)[0]


def _cond(x):
    return lax.cond_p.bind(jnp.int32(x[0] > 0), x, branches=_BRANCHES)[0]


def _jit(x):
    return primitives.jit_p.bind(x, jaxpr=_CALLED, name="called", inline=False, donated_invars=(False,), keep_unused=False)[0]


@pytest.mark.parametrize("bound, fun", [
    (_while, lambda x: (x * C + 1) * C + 1), (_scan, lambda x: x + 3 * C), (_cond, lambda x: x + C),
    (_jit, lambda x: jnp.sin(x) * C)])
def test_constants_of_programs(bound, fun):
    ways = [lambda f: f(X), lambda f: nj.jit(f)(X), lambda f: nj.jvp(f, (X,), (X,)),
            lambda f: nj.vmap(f)(jnp.stack([X, 2 * X])),
            lambda f: nj.jit(nj.vmap(f))(jnp.stack([X, 2 * X])), lambda f: nj.jit(nj.jacfwd(f))(X)]
    if bound is not _while:
        ways += [lambda f: nj.jacrev(f)(X), lambda f: nj.jit(nj.jacrev(f))(X)]
    for way in ways:
        for a, b in zip(nj.tree.leaves(way(bound)), nj.tree.leaves(way(fun)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
