"""Control flow, calls and callbacks on XLA's CPU client, against numjet's own backend."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax, tree_util
from numjet.foundation.errors import JaxRuntimeError

XS = np.linspace(0.1, 1.5, 6, dtype=np.float32)


@pytest.fixture(scope="module")
def xla():
    return nj.devices("xla_cpu")[0]


def square_root(x):
    return lax.custom_root(lambda r: r * r - x, x, lambda f, x0: lax.fori_loop(0, 30, lambda _, r: 0.5 * (r + x / r), x0),
                           lambda g, y: y / g(1.0))


@nj.custom_jvp
def clipped(x):
    return jnp.minimum(x, 1.0)


clipped.defjvps(lambda t, out, x: t * 0.5)

FUNCTIONS = {
    "scan": lambda x: lax.scan(lambda c, a: (c * 0.5 + a, (c * a, -c)), jnp.float32(0), x),
    "scan reverse": lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c * a), jnp.float32(0), x, reverse=True),
    "scan without xs": lambda x: lax.scan(lambda c, _: (c * 0.9, None), x, None, length=4),
    "scan of length 0": lambda x: lax.scan(lambda c, a: (c + a, c), jnp.float32(1), jnp.zeros((0,), jnp.float32)),
    "nested scans": lambda x: lax.scan(lambda c, a: (lax.scan(lambda d, b: (d + a * b, d), c, x)[0], c), jnp.float32(0), x),
    "while": lambda x: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1.5, s[1] * x), (jnp.float32(0), x)),
    "fori": lambda x: lax.fori_loop(0, 5, lambda i, c: c * 1.1 + i, x),
    "cond": lambda x: lax.cond(x.sum() > 3, lambda v: v + 1, lambda v: v * 2, x),
    "switch": lambda x: [lax.switch(i, [jnp.sin, jnp.cos, lambda v: -v], x) for i in (-7, 0, 1, 2, 9)],
    "map": lambda x: lax.map(lambda a: a * 2, x),
    "custom_root": square_root,
    "custom_jvp": clipped,
    "checkpoint": nj.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "inner jit": lambda x: nj.jit(lambda v: v * 2)(x) + 1,
}


CASES = [(name, way) for name in FUNCTIONS for way in ("value", "gradient", "batch")]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_agrees_with_the_cpu_backend(xla, name, way):
    f = function = FUNCTIONS[name]
    if way == "gradient":
        f = nj.grad(lambda x: sum(jnp.sum(leaf) for leaf in tree_util.tree_leaves(function(x))))
    elif way == "batch":
        f = nj.vmap(f)
    x = np.stack([XS, XS + 1]) if way == "batch" else XS
    want, got = nj.jit(f)(x), nj.jit(f, device=xla)(x)
    for w, g in zip(tree_util.tree_leaves(want), tree_util.tree_leaves(got), strict=True):
        assert g.device == xla and g.dtype == w.dtype
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=2e-5, atol=1e-6)


def test_pure_callbacks(xla):
    f = lambda x: nj.pure_callback(lambda v: np.sin(v) * 2, nj.ShapeDtypeStruct(x.shape, x.dtype), x) + 1
    np.testing.assert_allclose(np.asarray(nj.jit(f, device=xla)(XS)), np.sin(XS) * 2 + 1, rtol=1e-6)


def test_errors_of_callbacks_come_back(xla):
    def fails(v):
        raise ValueError("the sky is falling")
    f = nj.jit(lambda x: nj.pure_callback(fails, nj.ShapeDtypeStruct(x.shape, x.dtype), x), device=xla)
    with pytest.raises(JaxRuntimeError, match="the sky is falling"):
        f(XS).block_until_ready()


def test_ordered_callbacks_keep_their_order(xla):
    seen = []

    def f(x):
        def step(c, a):
            nj.debug.callback(lambda v: seen.append(round(float(v), 3)), a, ordered=True)
            return lax.cond(a > 0.5, lambda v: v + 1, lambda v: v, c), None
        out = lax.scan(step, jnp.float32(0), x)[0]
        nj.debug.callback(lambda v: seen.append("end"), out, ordered=True)
        return out
    out = nj.jit(f, device=xla)(XS)
    nj.effects_barrier()
    assert float(out) == 4 and seen == [*[round(float(x), 3) for x in XS], "end"]


def test_debug_print(xla, capfd):
    nj.jit(lambda x: [nj.debug.print("x is {x}", x=x), x][1], device=xla)(2.0)
    nj.effects_barrier()
    assert "x is 2.0" in capfd.readouterr().out


def test_stages_of_a_device(xla):
    lowered = nj.jit(lambda x: jnp.sin(x) * 2, device=xla).lower(XS)
    assert "stablehlo.sine" in lowered.as_text()
    compiled = lowered.compile()
    np.testing.assert_allclose(np.asarray(compiled(XS)), np.sin(XS) * 2, rtol=1e-6)
    assert "HloModule" in compiled.as_text()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (XS.nbytes, XS.nbytes)
    assert compiled.cost_analysis()["flops"] > 0


def test_stablehlo_names_the_users_lines():
    text = nj.jit(lambda x: jnp.sin(x) * 2).lower(XS).as_text("stablehlo", debug_info=True)
    assert "test_control.py" in text


def test_platform_dependent_takes_the_branch_of_its_backend(xla):
    here = {"cpu": lambda x: x + 1, "default": lambda x: x - 1}
    there = {"xla_cpu": lambda x: x + 2, **here}
    never = lambda x: nj.pure_callback(lambda v: 1 / 0, nj.ShapeDtypeStruct((), np.float32), x)
    run = lambda branches: nj.jit(lambda x: lax.platform_dependent(x, **branches), device=xla)(1.0)
    assert float(run(here)) == 2 and float(run(there)) == 3 and float(run({"cuda": never, "default": lambda x: x})) == 1
    with pytest.raises(NotImplementedError, match="for platform xla_cpu: platform_dependent has functions for tpu only"):
        run({"tpu": lambda x: x + 3})
