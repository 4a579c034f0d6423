"""Attributes of operations for XLA: in the text of programs, through transformations, calls, loops and branches."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental.compute_on import compute_on
from numjet.experimental.xla_metadata import set_xla_metadata

W = np.arange(4, dtype=np.float32)
AB = 'mhlo.frontend_attributes = {a = "b"}'


def lines(f, op, *args):
    return [line for line in nj.jit(f).lower(*args or (W,)).as_text().splitlines() if f"stablehlo.{op}" in line]


def block(x):
    with set_xla_metadata(a="b", c=1, d=True):
        y = jnp.sin(x)
        with set_xla_metadata(a=None, c="q"):
            y = jnp.cos(y)
    return jnp.exp(y)


def test_blocks_add_and_take_away():
    assert '{a = "b", c = "1", d = "true"}' in lines(block, "sine")[0]
    assert 'frontend_attributes = {c = "q", d = "true"}' in lines(block, "cosine")[0]
    assert "frontend_attributes" not in lines(block, "exponential")[0]
    eqns = nj.make_jaxpr(block)(W).eqns
    assert [e.ctx.xla_metadata for e in eqns] == [{"a": "b", "c": 1, "d": True}, {"c": "q", "d": True}, None]

    def again(x):
        with eqns[0].ctx.manager:
            return jnp.sin(x)
    assert nj.make_jaxpr(again)(W).eqns[0].ctx.xla_metadata == {"a": "b", "c": 1, "d": True}
    np.testing.assert_allclose(block(W), np.exp(np.cos(np.sin(W))), rtol=1e-6)


def test_jitted_functions_in_a_block_are_programs_of_their_own():
    f = nj.jit(lambda x: x + 1)
    with set_xla_metadata(b="c"):
        assert '{b = "c"}' in f.lower(W).as_text() and f(W).tolist() == [1, 2, 3, 4]
        with set_xla_metadata(a="b"):
            assert '{a = "b", b = "c"}' in f.lower(W).as_text()
        with set_xla_metadata(b=None):
            assert "frontend_attributes" not in f.lower(W).as_text()
    assert "frontend_attributes" not in f.lower(W).as_text()


def test_transformations_loops_branches_and_calls():
    tagged = set_xla_metadata(a="b")(lambda x: jnp.sin(x))
    assert AB in lines(nj.vmap(tagged), "sine")[0]
    assert AB in lines(nj.grad(lambda x: tagged(x).sum()), "cosine")[0]
    assert AB in lines(lambda x: lax.scan(lambda c, a: (c, tagged(a)), 0.0, x)[1], "sine")[0]
    branches = set_xla_metadata(a="b")(lambda x: lax.cond(x < 0, jnp.sin, set_xla_metadata(a=None)(lambda x: jnp.cos(x)), x))
    assert AB in lines(branches, "sine", 1.0)[0] and AB not in lines(branches, "cosine", 1.0)[0]
    calls = set_xla_metadata(c="d")(lambda x: nj.jit(tagged)(x))
    assert '{a = "b", c = "d"}' in lines(calls, "sine")[0]
    on_host = compute_on("device_host")(tagged)
    assert '{_xla_compute_type = "host", a = "b"}' in lines(on_host, "sine")[0]


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"a must be text, a number or None, got \[1\]"):
        set_xla_metadata(a=[1])
    with pytest.raises(TypeError, match=r"a must be text, a number or None, got \[1\]"):
        set_xla_metadata(W, a=[1])
    with pytest.raises(TypeError, match="Error interpreting argument to xla_metadata_value"):
        set_xla_metadata("text", a="b")


def test_the_operation_that_made_a_value():
    def f(x):
        once = set_xla_metadata(jnp.sin(x), a="b")
        twice = set_xla_metadata(set_xla_metadata(x * 2, a="b"), a="not this", c=True)
        return {"sum": once + twice, "input": set_xla_metadata(x, a="b")}
    (sine,), (product,), (total,) = (lines(f, op) for op in ("sine", "multiply", "add"))
    assert AB in sine and '{a = "b", c = "true"}' in product and "frontend" not in total
    np.testing.assert_allclose(nj.jit(f)(W)["sum"], np.sin(W) + 2 * W, rtol=1e-6)
    tree = set_xla_metadata({"a": W, "b": [1.0, ()]}, a="b")
    assert isinstance(tree["a"], nj.Array) and tree["a"].tolist() == W.tolist() and tree["b"][1] == ()


def test_values_in_loops_and_transformations():
    tagged = lambda x: set_xla_metadata(jnp.sin(x), a="b")
    assert AB in lines(nj.vmap(tagged), "sine")[0]
    text = str(nj.make_jaxpr(lambda x: nj.jvp(tagged, (x,), (x,)))(W))
    assert text.count("xla_metadata_value[xla_metadata_kvs=(('a', 'b'),)]") == 2
    np.testing.assert_allclose(nj.jit(nj.grad(lambda x: tagged(x).sum()))(W), np.cos(W), rtol=1e-6)
    loop = lambda x: lax.while_loop(lambda c: set_xla_metadata(c < 3, q=1), lambda c: set_xla_metadata(c + 1, w=2), x)
    assert '{q = "1"}' in lines(loop, "compare", 1.0)[0] and '{w = "2"}' in lines(loop, "add", 1.0)[0]
    of_scan = nj.jit(lambda x: set_xla_metadata(lax.scan(lambda c, a: (c + a, a * 2), 0.0, x)[1], a="b")).lower(W).as_text()
    assert AB in of_scan
