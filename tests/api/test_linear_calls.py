"""Library functions in derivatives outside of jit, by patterns: the bits and errors of the rules, for other values, too."""
from __future__ import annotations

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api import eager_gradients, linear_calls
from numjet.core import ir
from numjet.scipy import special, stats
from numjet.transforms import jvp
from tests.api.test_eager_gradients import bits, by_rules, no_placements, pull
from tests.api.test_tapes_of_libraries import MODULES, TEXTS, Arrays, _other, arrays

assert by_rules and no_placements   # fixtures
CALLS = 5   # rules, patterns recorded, their first backward pass, that recorded, all of it


def outcome(fun, *args):
    try:
        return bits(fun(*args)), None
    except Exception as error:
        return None, (type(error), str(error))


def of_floats(text, operands):
    """A call as a function of its operands of inexact dtype, and these."""
    call = eval(f"lambda {', '.join(Arrays._fields)}: {text}", dict(MODULES))
    places = [k for k, x in enumerate(operands) if x.dtype.kind in "fc"]

    def fun(*xs):
        given = dict(zip(places, xs, strict=True))
        return call(*[given.get(k, x) for k, x in enumerate(operands)])
    return fun, [operands[k] for k in places]


@pytest.mark.parametrize("part", range(3))
def test_functions_at_other_values_than_those_they_were_recorded_with(part, by_rules):
    host = arrays(8, 4, 8, 4)
    first, second = ([jnp.asarray(v) for v in given] for given in (host, _other(host)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for text in TEXTS[part::21]:
            expected = [by_rules(outcome, pull, fun, *some) for fun, *some in (
                (f, *xs) for f, xs in (of_floats(text, first), of_floats(text, second)))]
            for operands, wanted in ((first, expected[0]),) * CALLS + ((second, expected[1]),):
                fun, some = of_floats(text, operands)
                assert outcome(pull, fun, *some) == wanted, text


def test_a_repeated_gradient_calls_no_rule_and_writes_no_equation(monkeypatch, no_placements):
    def loss(x, key):
        y = nj.nn.softmax(x @ x.T + nj.random.normal(key, (3,)))[1:]
        return -jnp.log(y.mean() + 1.5).sum() + (x[0, 0] - 2) ** 2 + stats.norm.logpdf(x, 0.5, 2).sum()
    x, key = jnp.linspace(-1, 1, 9).reshape(3, 3), nj.random.key(3)
    expected = [bits(nj.grad(loss)(x, key)) for _ in range(CALLS + 2)]   # sampling is recorded once more
    assert expected == expected[:1] * len(expected)

    def refuse(*args):
        raise AssertionError(args)
    monkeypatch.setattr(jvp, "apply_jvp", refuse)
    monkeypatch.setattr(eager_gradients, "eval_jaxpr", refuse)   # known values are found without Python
    monkeypatch.setattr(linear_calls.Pattern, "write", refuse)
    monkeypatch.setattr(ir.JaxprEqn, "__init__", refuse)
    assert bits(nj.grad(loss)(x, key)) == expected[0]


def test_numbers_are_operands(by_rules):
    x = jnp.asarray([0.5, -1.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (1.5, 2, 1e300, -0.0, True, float("nan"), 2**40, 3 + 1j):
            fun = lambda x, k=k: (abs(x * k) + jnp.where(x > 0, x, k)).sum()
            expected = by_rules(outcome, nj.grad(fun), x)
            for _ in range(CALLS):
                assert outcome(nj.grad(fun), x) == expected, k


def test_values_of_static_arguments_count(by_rules):
    x = jnp.asarray([0.5, 1.5, 2.5])
    for k in range(3 * CALLS):
        fun = lambda x, n=k % 5: (x ** n).sum() + jnp.sum(jnp.roll(x, n) * x) + jnp.quantile(x, 0.2 * n)
        assert bits(nj.grad(fun)(x)) == bits(by_rules(nj.grad(fun), x))


def test_functions_that_read_functions(by_rules):
    """What they compute may change without a word."""
    x, scale = jnp.asarray([0.5, 1.5, 2.5]), [1.0]
    fun = lambda x: jnp.piecewise(x, [x < 1], [lambda v: v * scale[0] * x.sum(), lambda v: v * x[1]]).sum()
    for k in range(2 * CALLS):
        scale[0] = 1.0 + k
        assert bits(nj.grad(fun)(x)) == bits(by_rules(nj.grad(fun), x))


INDICES = [0, -1, (1, 2), slice(1, None), (slice(None, None, -1), 0), (..., None, 1), (None, 0), np.int64(1),
           (0, np.array([1, 0])), np.array([True, False]), slice(0, 0), ()]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_parts(index, by_rules):
    x = jnp.arange(6.0).reshape(2, 3)
    fun = lambda x: jnp.sum(x[index] ** 2)
    expected = bits(by_rules(nj.grad(fun), x))
    for _ in range(CALLS):
        assert bits(nj.grad(fun)(x)) == expected


def test_parts_that_are_not_there_are_errors_each_time():
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(CALLS):
        for index in ((0, 0, 0), 1.5, "a", (slice(0.5),)):
            with pytest.raises((IndexError, TypeError)):
                nj.grad(lambda x, index=index: x[index].sum())(x)


def test_arrays_of_a_derivative_end_with_it():
    """Nothing that it made refers to itself, so that memory is free without the garbage collector."""
    def fun(x):
        y = jnp.tanh(x) * x
        seen.append(weakref.ref(y.primal))
        return jnp.sum(y * y)
    gc.collect()
    gc.disable()
    try:
        for _ in range(CALLS + 1):
            seen: list[weakref.ref] = []
            nj.grad(fun)(jnp.arange(5.0))
            assert seen[0]() is None
    finally:
        gc.enable()


def test_programs_of_calls_are_programs(by_rules):
    """What users see of a derivative does not depend on how often it was taken."""
    x = jnp.arange(1.0, 4)
    fun = lambda x: jnp.sum(jnp.log(x) * x[0])
    shown = []
    for _ in range(CALLS):
        value, linear = nj.linearize(fun, x)
        shown.append((str(linear.func.args[0]), bits(linear(x)), [v.aval for v in linear.func.args[0].constvars]))
    assert shown[1:] == shown[-1:] * (CALLS - 1)
    assert bits(nj.jvp(fun, (x,), (x,))) == (bits(value), shown[-1][1])


def test_threads():
    """Patterns are shared among threads."""
    nj.clear_caches()
    fun = lambda x, k: jnp.sum(special.xlogy(x, x + k) * jnp.stack([x, x * 2])[1])
    expected = {n: bits(nj.grad(fun)(jnp.linspace(1, 2, n), 0.5)) for n in range(1, 9)}
    wrong = []

    def work():
        for k in range(60):
            n = 1 + k % 8
            if bits(nj.grad(fun)(jnp.linspace(1, 2, n), 0.5)) != expected[n]:
                wrong.append(n)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_nans_are_looked_for_in_each_call():
    fun = lambda x: jnp.sum(jnp.log(x) * x)
    for _ in range(CALLS):
        assert np.isnan(nj.value_and_grad(fun)(jnp.asarray([-1.0]))[0])
    with nj.debug_nans(True), pytest.raises(FloatingPointError):
        nj.grad(fun)(jnp.asarray([-1.0]))


def test_other_transformations_inside(by_rules):
    x = jnp.asarray([0.5, 1.5, 2.5])
    fun = lambda x: (nj.vmap(lambda v: jnp.sin(v) * v)(x).sum() + nj.jit(lambda v: jnp.tanh(v).sum())(x * 2)
                     + nj.grad(lambda v: jnp.prod(v ** 2))(x)[0] + nj.checkpoint(lambda v: jnp.exp(v).sum())(x - 1))
    expected = bits(by_rules(nj.value_and_grad(fun), x))
    for _ in range(CALLS):
        assert bits(nj.value_and_grad(fun)(x)) == expected


def test_arrays_of_numpy_are_read_when_they_are_given(by_rules):
    """Such an operand is a residual, as it was during the call."""
    x, weights = jnp.arange(3.0), np.zeros(3, np.float32)
    functions = (lambda x: jnp.vdot(x, weights), lambda x: jnp.sum(x * weights),
                 lambda x: jnp.sum(jnp.where(x > 1, weights, x)))
    for k in range(2 * CALLS):
        for fun in functions:
            weights[:] = k, 2 * k, 3
            expected = bits(by_rules(nj.grad(fun), x))
            assert bits(nj.grad(fun)(x)) == expected
            _, back = nj.vjp(fun, x)
            weights[:] = -1
            assert bits(back(jnp.float32(1))[0]) == expected


@pytest.mark.parametrize("fun", [lambda x: special.mathieu_a(2, x), lambda x: jnp.where(np.bool_(True), x * x, x),
                                 lambda x: special.kv(np.float64(2.5), x), lambda x: jnp.clip(x * x, np.float32(0.5), 9)])
def test_scalars_of_numpy_are_residuals(fun, by_rules):
    """A condition that a function makes of a static argument is such a scalar, and is what the backward pass reads."""
    for k in range(CALLS):
        x = jnp.array(1.5 + k, jnp.float32)
        assert bits(nj.grad(fun)(x)) == bits(by_rules(nj.grad(fun), x))
