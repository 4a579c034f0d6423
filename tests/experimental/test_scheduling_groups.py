"""Calls with attributes for XLA: in lowered text, and under derivatives, batches, loops and checkpoint."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental.scheduling_groups import scheduling_group, xla_metadata_call

X = np.arange(4, dtype=np.float32)
HEAD = "func.func private @xla_metadata_call"

called = xla_metadata_call(lambda x: jnp.sin(x), inlineable="false")


def text(f, *args):
    return nj.jit(f).lower(*args).as_text()


def test_groups_are_calls_with_attributes():
    group = scheduling_group("a:b")(lambda x, *, by=2.0: {"y": x * by})
    assert group(X)["y"].tolist() == [0, 2, 4, 6] and group(X, by=3.0)["y"].tolist() == [0, 3, 6, 9]
    assert nj.make_jaxpr(group)(X).eqns[0].primitive.name == "xla_metadata_call"
    outer = text(scheduling_group(name="a")(lambda x: group(x)["y"] + 1), X)
    assert 'scheduling_group = "a"' in outer and 'scheduling_group = "a:b"' in outer and outer.count(HEAD) == 2
    with pytest.raises(TypeError, match="must be text"):
        scheduling_group(name=[1])


def test_calls_of_one_program_share_a_function():
    assert text(lambda x: called(called(x)), X).count(HEAD) == 1
    assert 'inlineable = "false"' in text(nj.grad(lambda x: called(x).sum()), X)


@pytest.mark.parametrize("f", [
    lambda g, x: g(g(x)),
    lambda g, x: nj.checkpoint(lambda y: jnp.sin(g(y)))(x),
    lambda g, x: lax.scan(lambda c, _: (g(c), c), x, None, length=3)[0],
    lambda g, x: lax.cond(x[0] < 1, g, jnp.cos, x),
    lambda g, x: nj.vmap(g)(x),
], ids=["twice", "checkpoint", "scan", "cond", "vmap"])
def test_derivatives_are_those_of_the_program(f):
    for g in (called, nj.jit(called)):
        for of in (lambda h: lambda x: f(h, x), lambda h: nj.grad(lambda x: f(h, x).sum()),
                   lambda h: nj.hessian(lambda x: f(h, x).sum()), lambda h: nj.jit(nj.grad(lambda x: f(h, x).sum()))):
            np.testing.assert_allclose(of(g)(X), of(jnp.sin)(X), rtol=1e-6, atol=1e-6)
