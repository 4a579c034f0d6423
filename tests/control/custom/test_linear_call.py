"""linear_call: its transpose is the one given, in every order of transformations."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.custom_derivatives import linear_call

R, X = jnp.float32(2.0), jnp.float32(3.0)
XS = jnp.arange(1.0, 4.0)
# x / r, of which the transpose is said to be 10 ct / r (so that one sees which ran).
divided = lambda r, x: linear_call(lambda r, x: x / r, lambda r, ct: 10 * ct / r, r, x)

CASES = [
    (divided, (R, X), 1.5),
    (nj.jit(divided), (R, X), 1.5),
    (nj.grad(divided, 1), (R, X), 5.0),
    (nj.jit(nj.grad(divided, 1)), (R, X), 5.0),
    (nj.grad(divided, 0), (R, X), -0.75),
    (lambda r, x: nj.jvp(divided, (r, x), (r, x))[1], (R, X), 0.0),
    (lambda r, x: nj.linear_transpose(lambda x: divided(r, x), x)(x)[0], (R, X), 15.0),
    (lambda r, x: nj.linear_transpose(lambda c: nj.linear_transpose(lambda x: divided(r, x), x)(c)[0], x)(x)[0], (R, X), 1.5),
    (nj.vmap(divided), (XS, XS), np.ones(3)),
    (nj.vmap(divided, (None, 0)), (R, XS), XS / 2),
    (nj.vmap(nj.grad(divided, 1)), (XS, XS), 10 / XS),
    (nj.vmap(nj.grad(divided, 1), (0, None)), (XS, X), 10 / XS),
    (nj.grad(lambda r, x: nj.vmap(divided, (None, 0))(r, x).sum(), 1), (R, XS), np.full(3, 5.0)),
    (nj.grad(lambda r, x: nj.vmap(divided, (0, None))(r, x).sum(), 1), (XS, X), (10 / XS).sum()),
    (nj.grad(nj.grad(divided, 1)), (R, X), -2.5),
    (nj.grad(lambda r, x: nj.lax.scan(lambda c, s: (divided(s, c), None), x, r)[0], 1), (XS, X), 1000 / 6),
    (nj.grad(lambda r, x: nj.checkpoint(divided)(r, x), 1), (R, X), 5.0),
    (nj.grad(lambda r, x: nj.lax.cond(True, divided, jnp.add, r, x), 1), (R, X), 5.0),
]


@pytest.mark.parametrize("fun,args,expected", CASES)
def test_composition(fun, args, expected):
    np.testing.assert_allclose(fun(*args), expected, rtol=1e-6, atol=1e-7)


def test_structures_and_constants():
    k = jnp.float32(7.0)
    fun = lambda r, d: linear_call(lambda r, d: (d["a"] * r[0] * k, d["b"]), lambda r, ct: {"a": ct[0] * k, "b": ct[1] * r[1]},
                                   r, d)
    a, b = fun((R, R), {"a": X, "b": XS})
    assert float(a) == 42 and b.tolist() == XS.tolist()
    g = nj.grad(lambda d: fun((R, R), d)[0])({"a": X, "b": XS})
    assert float(g["a"]) == 7 and g["b"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("transpose,match", [
    (lambda r, ct: (ct,), "transpose output pytree structure must match that of linear inputs"),
    (lambda r, ct: jnp.ones(3), r"transpose output types must match those of linear inputs, got float32\[3\]"),
])
def test_bad_transposes(transpose, match):
    with pytest.raises(TypeError, match=match):
        linear_call(lambda r, x: x, transpose, R, X)
