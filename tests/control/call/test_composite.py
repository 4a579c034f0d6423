"""composite: a program under a name."""
from functools import partial

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.transforms.simplify import simplify

X = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)


@partial(lax.composite, name="my.softmax", version=2)
def softmax(x, /, *, axis, scale=None):
    e = jnp.exp(x - jnp.max(x, axis, keepdims=True))
    return e / jnp.sum(e, axis, keepdims=True)


tangent = lax.composite(lambda x: {"y": jnp.sin(x) / jnp.cos(x)}, "my.tangent")


def test_it_computes_its_decomposition():
    want = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    for f in (softmax, nj.jit(softmax, static_argnames="axis")):
        np.testing.assert_allclose(f(X, axis=1), want, rtol=1e-6)
        np.testing.assert_allclose(f(X, axis=0), np.exp(X) / np.exp(X).sum(0), rtol=1e-6)
    np.testing.assert_allclose(tangent(X)["y"], np.tan(X), rtol=1e-6)


def test_programs_keep_name_version_and_attributes():
    closed = nj.make_jaxpr(lambda x: softmax(x, axis=1, scale=None))(X)
    (eqn,) = closed.eqns
    assert eqn.primitive.name == "composite" and eqn.params["name"] == "my.softmax" and eqn.params["version"] == 2
    ((name, leaves, _),) = eqn.params["attributes"]
    assert (name, leaves) == ("axis", (1,))
    assert "exp" in str(eqn.params["jaxpr"])
    text = str(closed)
    assert "composite[" in text and "name=my.softmax" in text and "version=2" in text
    assert [e.primitive.name for e in simplify(closed).jaxpr.eqns].count("exp") == 1, "written out for the CPU"


def test_transformations_are_those_of_the_decomposition():
    f = lambda x: tangent(x)["y"]
    for g in (nj.grad(f), nj.jit(nj.grad(f)), nj.grad(nj.jit(f))):
        assert np.isclose(g(np.float32(0.5)), 1 / np.cos(0.5) ** 2, rtol=1e-5)
    np.testing.assert_allclose(nj.jit(nj.vmap(f))(X), np.tan(X), rtol=1e-6)
    second = nj.grad(nj.grad(f))(np.float32(0.5))
    assert np.isclose(second, 2 * np.tan(0.5) / np.cos(0.5) ** 2, rtol=1e-5)
    closure = np.float32(3)
    assert np.isclose(nj.grad(lambda s: lax.composite(lambda x: x * s, "my.scaled")(closure))(2.0), 3)


def test_errors():
    with pytest.raises(TypeError, match="composite: decomposition must be a function, got 3"):
        lax.composite(3, "three")


def test_what_its_program_prints_is_printed_though_nobody_reads_the_result(capsys):
    def noisy(x):
        nj.debug.print("x = {}", x)
        return x * 2

    f = lax.composite(noisy, "my.noisy")
    nj.jit(lambda x: (f(x), x + 1)[1])(2.0).block_until_ready()
    nj.effects_barrier()
    assert capsys.readouterr().out == "x = 2.0\n"


def test_traced_attributes_are_refused():
    scaled = lax.composite(lambda x, *, by: x * by, "my.scaled")
    with pytest.raises(nj.errors.UnexpectedTracerError, match=r"attribute 'by' .* use numpy arrays instead"):
        nj.jit(lambda x: scaled(x, by=jnp.ones(2)))(1.0)
    assert nj.jit(lambda x: scaled(x, by=np.full(2, 3.0, np.float32)))(1.0).tolist() == [3, 3]


def test_stablehlo_names_the_operation_and_its_attributes():
    @partial(lax.composite, name="my.outer", version=2)
    def outer(x, **_):
        return inner(x, k=3, kind="a", dtype=np.dtype(np.int8), w=np.ones(2, np.float32), flags=(True, 0.5))

    inner = lax.composite(lambda x, **_: x * 2, "my.inner")
    text = nj.jit(lambda x: outer(outer(x))).lower(1.0).as_text()
    assert text.count('stablehlo.composite "my.outer"') == 2 == text.count('stablehlo.composite "my.inner"')
    assert "version = 2 : i32" in text and "func.func private @my.outer_" in text
    assert 'dtype = i8, flags = [true, 5.000000e-01], k = 3 : i64, kind = "a", w = dense<1.000000e+00> : tensor<2xf32>' in text
    unnamed = lax.composite(lambda x: x * 2, "no namespace")
    assert "composite" not in nj.jit(unnamed).lower(1.0).as_text() and float(nj.jit(unnamed)(1.0)) == 2
    with pytest.raises(TypeError, match="cannot be an attribute in StableHLO: expected a string"):
        nj.jit(lambda x: lax.composite(lambda x, k: x, "my.op")(x, k=1j)).lower(1.0).as_text()
