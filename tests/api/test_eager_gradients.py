"""Derivatives outside of jit, by tapes: the bits of the rules, the user's Python run each time, and no rule run again."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api import eager_gradients
from numjet.core.aval import placements_in_use
from numjet.core.op import ZERO, Missing, all_ops
from numjet.foundation import events
from numjet.foundation.util import replace_at
from numjet.interpreters import ad
from numjet.testing import records
from numjet.transforms import jvp

NAMES = sorted(name for name, op in all_ops().items()
               if not isinstance(op.samples, Missing) and op.samples.order
               and not isinstance(op.jvp, Missing) and op.jvp is not ZERO)


@pytest.fixture
def by_rules(monkeypatch):
    """Runs a function without tapes."""
    def run(fun, *args):
        with monkeypatch.context() as patch:
            patch.setattr(eager_gradients, "_allowed", lambda: False)
            return fun(*args)
    return run


def bits(tree):
    return nj.tree.map(lambda x: (str(x.dtype), x.shape, x.weak_type, np.asarray(x).tobytes()), tree)


def pull(fun, *args):
    """The value, and cotangents of cotangents that differ from element to element."""
    value, back = nj.vjp(fun, *args)
    cts = nj.tree.map(lambda y: jnp.linspace(-1, 2, y.size).astype(y.dtype).reshape(y.shape)
                      if jnp.issubdtype(y.dtype, jnp.inexact) else np.zeros(y.shape, nj.float0), value)
    return value, nj.tree.map(lambda g: g if g.dtype != nj.float0 else jnp.zeros(()), back(cts))


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_the_bits_of_its_rule(name, by_rules):
    for case in records.cases(all_ops()[name], 2):
        if case.op.programs or not any(x.dtype.kind in "fc" for x in case.operands):
            continue
        operands = [jnp.asarray(x) for x in case.operands]
        wrt = range(len(operands)) if case.samples.wrt is None else case.samples.wrt
        fun = lambda *xs, case=case, operands=operands, wrt=wrt: case.op.bind(
            *replace_at(operands, tuple(wrt), xs), **case.params)
        some = [operands[n] for n in wrt]
        expected = bits(by_rules(pull, fun, *some))
        for _ in range(5):   # rule, recorded, backward pass by rules, recorded, tape
            assert bits(pull(fun, *some)) == expected, str(case)


def loss(params, x, y):
    for p in params[:-1]:
        x = jnp.tanh(x @ p["w"] + p["b"])
    return ((x @ params[-1]["w"] + params[-1]["b"] - y) ** 2).mean()


def network(rng):
    params = [{"w": jnp.asarray(rng.normal(size=s), "float32"), "b": jnp.zeros(s[1])} for s in ((3, 4), (4, 4), (4, 1))]
    return params, jnp.asarray(rng.normal(size=(5, 3)), "float32"), jnp.ones((5, 1))


@pytest.fixture
def no_placements():
    """No test before has used types that say how arrays are divided, which end all tapes of a process."""
    before = placements_in_use[:]
    placements_in_use.clear()
    yield
    placements_in_use[:] = before


def test_no_rule_runs_again(rng, monkeypatch, by_rules, no_placements):
    nj.clear_caches()   # tables that are full are emptied, which could happen amid these calls
    args = network(rng)
    expected = bits(by_rules(nj.value_and_grad(loss), *args))
    for _ in range(5):   # rules, patterns recorded, their first backward pass, that recorded, all of it
        assert bits(nj.value_and_grad(loss)(*args)) == expected
    calls = []
    original = jvp.apply_jvp
    monkeypatch.setattr(jvp, "apply_jvp", lambda *a: calls.append("jvp") or original(*a))
    monkeypatch.setattr(eager_gradients, "backward_pass", lambda *a: calls.append("transpose"))
    with events.counting() as grown:
        assert bits(nj.value_and_grad(loss)(*args)) == expected
    assert not calls and not grown.get("compile") and not grown.get("trace")


def test_other_values_and_closures_count(rng, by_rules):
    params, x, y = network(rng)
    scale = 1.0
    fun = lambda p: loss(p, x, y) * scale
    for k in range(6):
        scale, x = 1.0 + k, x + 1
        assert bits(nj.grad(fun)(params)) == bits(by_rules(nj.grad(fun), params))


def test_python_runs_each_time():
    seen = []

    def fun(x):
        seen.append(x.item())
        return jnp.sin(x) * 2 if x > 0 else jnp.cos(x) * 3
    for k in range(8):
        x = jnp.float32(k if k % 2 else -k)
        expected = 2 * np.cos(k) if k % 2 else 3 * np.sin(k)
        np.testing.assert_allclose(nj.grad(fun)(x), expected, rtol=1e-6, atol=1e-7)
    assert seen == [float(k if k % 2 else -k) for k in range(8)]


FUNCTIONS = [
    lambda x: jnp.sum(x[::2] ** 3), lambda x: jnp.sum(jnp.where(x > 0, x, 0.0)), lambda x: x[0] * x[1] / (1 + x[2]),
    lambda x: jnp.sum(nj.vmap(lambda v: v * nj.grad(jnp.cos)(v))(x)), lambda x: jnp.max(jnp.sort(x)),
    lambda x: jnp.linalg.norm(x), lambda x: nj.grad(lambda y: jnp.sum(y ** 3))(x)[1],
    lambda x: jnp.sum(nj.nn.softmax(x)[:2]), lambda x: jnp.sum(x.at[1].set(2.0) * x),
    lambda x: jnp.prod(jnp.concatenate([x, x * 2])), lambda x: x[0],
    lambda x: jnp.float32(0) * jnp.sum(nj.lax.stop_gradient(x))]
WITH_PROGRAMS = [lambda x: jnp.sum(nj.jit(jnp.sin)(x) * x),
                 lambda x: jnp.sin(nj.lax.scan(lambda c, v: (c * v, c), 1.0, x)[0])]


@pytest.mark.parametrize("fun", FUNCTIONS + WITH_PROGRAMS)
def test_functions_of_other_kinds(fun, by_rules):
    x = jnp.asarray([0.5, -1.5, 2.0, 0.25])
    transforms = [nj.value_and_grad(fun), lambda x: pull(fun, x), lambda x: nj.linearize(fun, x)[1](x)]
    for transform in transforms + [nj.grad(lambda x: jnp.sum(nj.grad(fun)(x) ** 2))] * (fun in FUNCTIONS):
        expected = bits(by_rules(transform, x))
        for _ in range(5):
            assert bits(transform(x)) == expected


def test_large_arrays(by_rules):
    x = jnp.linspace(0, 3, 100_000)
    fun = lambda x: jnp.sum(jnp.tanh(x) * x)
    expected = bits(by_rules(nj.grad(fun), x))
    for _ in range(5):
        assert bits(nj.grad(fun)(x)) == expected


def test_deleted_arrays_are_errors():
    x = jnp.arange(3.0)
    _, back = nj.vjp(lambda x: jnp.sin(x) * x, x)
    for _ in range(5):
        back(jnp.ones(3))
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        nj.grad(lambda y: jnp.sum(y * x))(jnp.arange(3.0))


def test_rules_of_users_count():
    sin = nj.lax.sin_p
    table, own = ad.primitive_jvps, ad.primitive_jvps[sin]
    x = jnp.float32(1.0)
    for _ in range(5):
        nj.grad(jnp.sin)(x)
    try:
        table[sin] = lambda primals, tangents: (primals[0], tangents[0] * 7)
        assert nj.grad(jnp.sin)(x) == 7
    finally:
        table[sin] = own
    assert nj.grad(jnp.sin)(x) == jnp.cos(x)


def test_line_numbers_of_residuals_are_the_users():
    def fun(x):
        return jnp.sum(jnp.sin(x) * x)
    for _ in range(4):
        _, linear = nj.linearize(fun, jnp.ones(3))
    lines = {eqn.source.line for eqn in linear.func.args[0].eqns}
    assert lines == {fun.__code__.co_firstlineno + 1}
