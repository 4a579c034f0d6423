"""Transfer guards and no_tracing: what is a transfer, which ones each level lets through, and what the errors say."""
from __future__ import annotations

import logging

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.errors import JaxRuntimeError
from numjet.testing import generator, programs

ONES = np.ones(3, np.float32)
plus = nj.jit(lambda x: x + 1)
IMPLICIT = {
    "a NumPy argument": lambda: plus(ONES), "a number": lambda: plus(2.0), "asarray": lambda: jnp.asarray(ONES),
    "a list": lambda: jnp.array([1.0, 2.0]), "an operand": lambda: jnp.add(ONES, 1),
}


@pytest.fixture(autouse=True)
def compiled():
    plus(ONES), plus(2.0), plus(jnp.ones(3))


@pytest.mark.parametrize("call", IMPLICIT.values(), ids=IMPLICIT)
@pytest.mark.parametrize("guard", [nj.transfer_guard, nj.transfer_guard_host_to_device])
def test_implicit_transfers_are_refused(guard, call):
    call()
    for level in ("disallow", "disallow_explicit"):
        with guard(level), pytest.raises(JaxRuntimeError, match=r"Disallowed host-to-device transfer: .*device_put\(x\)"):
            call()
    call()


def test_what_is_no_transfer_or_meant_is_let_through():
    x = jnp.ones(3)
    with nj.transfer_guard("disallow"):
        assert (plus(x) + x).tolist() == [3, 3, 3] and float(x.sum()) == 3 and nj.device_get(x).tolist() == [1, 1, 1]
        assert float(nj.device_put(ONES).sum()) == 3 and nj.random.key(0).shape == () and np.asarray(x * x).sum() == 3
    with nj.transfer_guard("disallow_explicit"), pytest.raises(JaxRuntimeError, match=r"is 'disallow_explicit'\.\n"):
        nj.device_put(ONES)
    with nj.transfer_guard("disallow"), nj.transfer_guard_host_to_device("allow"):
        plus(ONES)
    with nj.transfer_guard_device_to_host("disallow"):
        plus(ONES)


X, I, MASK = jnp.arange(3.0), jnp.array(1), jnp.array([True, False, True])
# Calls outside of jit that JAX refuses: operations that take numbers or NumPy arrays, and indices.
REFUSED = {
    "float(x[0])": lambda: float(X[0]), "x[-1]": lambda: X[-1], "x[i]": lambda: X[I], "x[1:]": lambda: X[1:],
    "x[..., 0]": lambda: X[..., 0], "x[array]": lambda: X[np.array([0, 1])], "x[mask]": lambda: X[MASK],
    "x.at[0].set": lambda: X.at[0].set(X.sum()), "x.at[0].get": lambda: X.at[0].get(),
    "vmap": lambda: nj.vmap(lambda x: x * 2 + 1)(X), "vmap of numpy": lambda: nj.vmap(lambda x: x + 1)(ONES),
    "grad": lambda: nj.grad(lambda x: (x * 2).sum())(X), "grad of a number": lambda: nj.grad(lambda x: x)(1.0),
    "x + 1": lambda: X + 1, "x / 2": lambda: X / 2, "x + numpy": lambda: X + ONES, "where": lambda: jnp.where(MASK, X, 0.0),
    "jnp.sin(1.0)": lambda: jnp.sin(1.0), "scan": lambda: nj.lax.scan(lambda c, x: (c + x, c), 0.0, X),
}
# Calls that JAX lets through.
LET_THROUGH = {
    "x[None]": lambda: X[None], "x[::2]": lambda: X[::2], "x[...]": lambda: X[...], "x[:]": lambda: X[:],
    "list(x)": lambda: list(X),
    "x ** 2": lambda: X ** 2, "-x": lambda: -X, "x == x": lambda: X == X, "sum": lambda: X.sum(), "sort": lambda: jnp.sort(X),
    "reshape": lambda: X.reshape(3, 1), "stack": lambda: jnp.stack([X, X]), "take": lambda: jnp.take(X, I),
    "argmax": lambda: X.argmax(), "float": lambda: float(I), "int": lambda: int(I), "tolist": lambda: X.tolist(),
    "repr": lambda: repr(X), "jit": lambda: plus(X), "vmap of sum": lambda: nj.vmap(jnp.sum)(X[None]),
    "arange": lambda: jnp.arange(4), "split": lambda: nj.random.split(KEY), "normal": lambda: nj.random.normal(KEY, (3,)),
    "roll": lambda: jnp.roll(X, 1), "cumsum": lambda: jnp.cumsum(X), "copy": lambda: X.copy(), "relu": lambda: nj.nn.relu(X),
}
KEY = nj.random.key(0)


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_operations_outside_of_jit_transfer_numbers_and_indices(call):
    call()
    for level in ("disallow", "disallow_explicit"):
        with nj.transfer_guard_host_to_device(level), pytest.raises(JaxRuntimeError, match="Disallowed host-to-device"):
            call()
    with nj.transfer_guard_device_to_host("disallow"):
        call()


@pytest.mark.parametrize("call", LET_THROUGH.values(), ids=LET_THROUGH)
def test_what_jax_lets_through(call):
    with nj.transfer_guard("disallow_explicit"):
        call()


def test_programs_hold_their_numbers_and_indices():
    f = nj.jit(lambda x: nj.vmap(lambda x: x * 2 + 1)(x)[0])
    g = nj.jit(lambda x: nj.random.normal(nj.random.key(0), (3,)) + jnp.linalg.inv(jnp.eye(3) * x)[0])
    with nj.transfer_guard("disallow"):
        assert float(f(X)) == 1 and float(nj.jit(nj.grad(lambda x: (x * 2)[1]))(X).sum()) == 2 and g(X).shape == (3,)


@pytest.mark.parametrize("seed", range(12))
def test_first_calls_of_programs_transfer_nothing_by_themselves(seed):
    p = generator.Generator(seed, length=5, depth=2, large=False).program()
    with p.context():
        args = nj.tree.map(nj.device_put, programs.arguments(p))
        f = nj.jit(programs.load(p))
        with nj.transfer_guard("disallow"):
            f(*args)


def test_transfers_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "numjet"), nj.transfer_guard("log"):
        plus(ONES)
        nj.device_put(ONES)
    assert [r.getMessage() for r in caplog.records] == ["host-to-device transfer: aval=float32[3], device=cpu:0"]


def test_reading_from_another_device():
    pytest.importorskip("jaxlib")
    x = nj.device_put(ONES, nj.devices("xla_cpu")[0])
    with nj.transfer_guard("disallow"):
        with pytest.raises(JaxRuntimeError, match=r"device-to-host transfer.*device_get"):
            np.asarray(x)
        assert nj.device_get(x).sum() == 3
        with pytest.raises(JaxRuntimeError, match="host-to-device"):
            nj.jit(lambda x, y: x + y)(x, ONES)
    with nj.transfer_guard_device_to_device("disallow_explicit"), pytest.raises(JaxRuntimeError, match="device-to-device"):
        nj.device_put(x * 2, nj.devices("cpu")[0])


def test_no_tracing():
    x = jnp.ones(3)
    with nj.no_tracing(True):
        assert plus(x)[0] == 2
        for kind, call in (("jit", lambda: plus(jnp.ones(4))), ("make_jaxpr", lambda: nj.make_jaxpr(jnp.sin)(x)),
                           ("eval_shape", lambda: nj.eval_shape(jnp.sin, x))):
            with pytest.raises(RuntimeError, match=f"re-tracing function .* for `{kind}`, but 'no_tracing' is set"):
                call()
    assert plus(jnp.ones(4))[0] == 2


def test_colour_of_programs_is_refused():
    with pytest.raises(ValueError, match="jax_pprint_use_color: not supported, it can only be False"):
        nj.config.update("jax_pprint_use_color", True)
    nj.config.update("jax_pprint_use_color", False)


@pytest.mark.parametrize("make", [jnp.ones, jnp.zeros, jnp.empty, lambda shape: jnp.full(shape, 2.0)])
def test_arrays_of_one_number_transfer_it(make):
    with nj.transfer_guard("disallow"), pytest.raises(nj.errors.JaxRuntimeError, match="Disallowed host-to-device transfer"):
        make(3)
    with nj.transfer_guard("disallow"):
        assert nj.jit(lambda: make(3))().shape == (3,)
