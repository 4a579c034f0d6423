"""Transfer guards and no_tracing: what is a transfer, which ones each level lets through, and what the errors say."""
from __future__ import annotations

import logging

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.errors import JaxRuntimeError

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
        assert (plus(x) + 1)[0] == 3 and float(x.sum()) == 3 and nj.device_get(x).tolist() == [1, 1, 1]
        assert nj.device_put(ONES).sum() == 3 and nj.random.key(0).shape == () and np.asarray(x * 2).sum() == 6
    with nj.transfer_guard("disallow_explicit"), pytest.raises(JaxRuntimeError, match=r"is 'disallow_explicit'\.$"):
        nj.device_put(ONES)
    with nj.transfer_guard("disallow"), nj.transfer_guard_host_to_device("allow"):
        plus(ONES)
    with nj.transfer_guard_device_to_host("disallow"):
        plus(ONES)


def test_transfers_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "numjet"), nj.transfer_guard("log"):
        plus(ONES)
        nj.device_put(ONES)
    assert [r.getMessage() for r in caplog.records] == ["host-to-device transfer: aval=float32[3], device=CPU_0"]


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
