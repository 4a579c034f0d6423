"""Computed sizes in loops and branches: results and gradients are those of the loops in Python."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import errors, lax

INPUTS = {
    "some": np.array([1.0, -2.0, 3.0, 0.5, -1.5], np.float64),
    "all": np.array([1.0, 2.0, 3.0, 0.5, 1.5], np.float64),
    "none": -np.array([1.0, 2.0, 3.0, 0.5, 1.5], np.float64),
}

# p: the positive elements of x
PROGRAMS = """
lax.scan(lambda c, t: (c + t * c, c * t), 0.5, p)
lax.scan(lambda c, t: (c + t.sum() + jnp.sort(x[x > t[0]])[:2].sum(), t * c), 0.5, jnp.stack([p, p * p], 1), reverse=True)
lax.scan(lambda c, t: (c + t, jnp.sin(c)), 0.5, p, length=p.shape[0], unroll=True)
lax.scan(lambda c, _: (jnp.sin(c) + x[0], c), 0.5, None, length=p.shape[0] + 1)
lax.scan(lambda c, t: (c * t + p, (c ** 2).sum()), p, jnp.arange(1.0, 4.0))
lax.scan(lambda c, t: (jnp.sin(c) + jnp.cos(x[x > t]).sum(), (x[x < c] ** 2).sum() * c), 0.3, jnp.arange(-2.0, 3.0))
lax.scan(lambda c, t: (c * 0.5 + lax.scan(lambda d, s: (d * 0.5 + x[x > s + t].sum() * d, d), c, p)[0], c), 0.1, x)
lax.fori_loop(0, p.shape[0] + 1, lambda i, c: jnp.sin(c) + p * c, p)
lax.while_loop(lambda c: x[x > c].sum() > 1, lambda c: c + 0.3 + x[x > c].sum() * 0.01, -0.2)
lax.cond(x[0] > 0, lambda p: jnp.sin(p) * 2, lambda p: p, p)
lax.cond(x[0] > 0, lambda x: jnp.sin(x[x > 0]).sum(), lambda x: (x[x < 0] ** 2).sum(), x)
lax.switch(p.shape[0] % 3, [lambda p: p.sum(), lambda p: (p * p).sum(), lambda p: jnp.sin(p).sum()], p)
lax.scan(lambda c, t: (lax.cond(t > 0, lambda c: c + jnp.exp(x[x < t]).sum() * c, lambda c: c * 2, c), c), 0.2, x)
lax.scan(remat(lambda c, t: (jnp.sin(c) + jnp.cos(x[x > t]).sum(), c * t)), 0.3, x)
lax.scan(lambda c, t: (c + nj.vmap(lambda s: jnp.sin(s * p).sum())(nj.grad(lambda y: (y[y > t] ** 3).sum())(x)), t), x, x)
""".strip().split("\n")


def program(text):
    body = compile(f"({text})", text, "eval")

    def run(x):
        remat = (lambda f: f) if nj.config.jax_disable_jit else nj.checkpoint
        return eval(body, {"nj": nj, "remat": remat, "jnp": jnp, "lax": lax, "x": x, "p": x[x > 0]})
    return run


def total(run):
    return lambda x: sum(jnp.sin(y).sum() for y in nj.tree.leaves(run(x)))


@pytest.mark.parametrize("text", PROGRAMS)
def test_results_and_gradients_are_those_of_python(text):
    run = program(text)
    slope = nj.grad(total(run))
    compiled = nj.jit(lambda x: (run(x), slope(x)), dynamic_shapes=True)
    with nj.enable_x64(True):
        _compare(run, slope, compiled)


def _compare(run, slope, compiled):
    for x in INPUTS.values():
        got = compiled(x)
        try:
            with nj.disable_jit():
                want = run(jnp.asarray(x)), slope(jnp.asarray(x))
        except (errors.NonConcreteBooleanIndexError, IndexError):  # a body that never runs is traced
            assert not (x > 0).any()
            continue
        for a, b in zip(nj.tree.leaves(want), nj.tree.leaves(got), strict=True):
            assert np.shape(a) == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


def test_scans_skip_what_is_beyond_the_size():
    calls = []
    noted = lambda c, t: (c + t, nj.debug.callback(lambda t: calls.append(float(t)), t, ordered=True))
    total = nj.jit(lambda x: lax.scan(noted, 0.0, x[x > 0])[0], dynamic_shapes=True)
    assert total(INPUTS["some"]) == 4.5 and total(INPUTS["none"]) == 0
    nj.effects_barrier()
    assert calls == [1.0, 3.0, 0.5]


def test_results_have_their_true_size():
    run = nj.jit(lambda x: lax.scan(lambda c, t: (c + t, (c, x * t)), 0.0, x[x > 0]), dynamic_shapes=True)
    for name, count in (("some", 3), ("all", 5), ("none", 0)):
        _, (a, b) = run(INPUTS[name])
        assert a.shape == (count,) and b.shape == (count, 5)


def test_checks_belong_to_the_iteration():
    x = INPUTS["some"]
    first = nj.jit(lambda x, t: lax.cond(t > 2, lambda: 0.0, lambda: x[x > t].max()), dynamic_shapes=True)
    assert first(x, 1.0) == 3 and first(x, 9.0) == 0
    with pytest.raises(ValueError, match="size"):
        first(-x * 0, 1.0)
    loop = nj.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: c + x[x > i].max(), 0.0), dynamic_shapes=True)
    assert loop(x, 3) == 9
    with pytest.raises(ValueError, match="size"):
        loop(x, 4)
    with pytest.raises(ValueError, match="above the bound 5"):
        nj.jit(lambda n: lax.map(lambda k: jnp.arange(k).sum(), jnp.arange(n)), dynamic_shapes=5)(8)
    until = nj.jit(lambda x: lax.while_loop(lambda c: x[x > c].max() > 1, lambda c: c + 1.0, 0.0), dynamic_shapes=True)
    with pytest.raises(ValueError, match="size"):
        until(x)


@pytest.mark.parametrize(("text", "error", "message"), [
    ("lax.scan(lambda c, t: (c, x[x > t]), 0.0, x)", NotImplementedError, "another one in each iteration.*known size"),
    ("lax.scan(lambda c, t: (c[c > t], None), x, x)", TypeError, "carry"),
    ("lax.while_loop(lambda c: c.sum() > 0, lambda c: c[c > 1], p)", TypeError, "carry"),
    ("lax.cond(x[0] > 0, lambda: x[x > 0], lambda: x[x < 0])", TypeError, "size"),
    ("nj.vmap(lambda t: lax.scan(lambda c, s: (c + x[x > s + t].sum(), None), 0.0, x)[0])(x)", NotImplementedError,
     "differ from element to element"),
])
def test_what_loops_cannot_follow(text, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        nj.jit(program(text), dynamic_shapes=True)(INPUTS["some"])


def test_batches_of_functions_with_loops():
    run = nj.jit(lambda x: lax.scan(lambda c, t: (c + x[x > t].sum(), None), 0.0, x[x > 0])[0], dynamic_shapes=True)
    rows = np.stack(list(INPUTS.values()))
    assert nj.vmap(run)(rows).tolist() == [run(r) for r in rows]
