"""Flags that name the CPU as the default device leave eager operations native: programs run with JAX_PLATFORMS=cpu."""
import sys

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.runtime.device import default_elsewhere

NAMES = [("jax_platforms", "cpu"), ("jax_platforms", "cpu,cuda"), ("jax_platform_name", "cpu"), ("jax_default_device", "cpu")]


def python_calls(function):
    """How many Python functions one call of it enters, in caches that know it."""
    for _ in range(3):
        function()
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls[1:]  # without the function itself


@pytest.mark.parametrize(("flag", "value"), NAMES)
def test_eager_operations_stay_native(flag, value):
    x = jnp.arange(4.0)
    operations = [lambda: x + x, lambda: x[1], lambda: x.at[1].set(2.0), lambda: jnp.sum(x)]
    usual = [python_calls(operation) for operation in operations]
    assert usual[0] == []
    before = nj.config.read(flag)
    nj.config.update(flag, value)
    try:
        assert not default_elsewhere()
        assert [python_calls(operation) for operation in operations] == usual
    finally:
        nj.config.update(flag, before)


def test_the_device_itself_is_here():
    with nj.default_device(nj.devices()[0]):
        assert not default_elsewhere()


@pytest.mark.parametrize("name", ["no_such_platform", "xla_cpu"])
def test_other_platforms_are_elsewhere(name):
    before = nj.config.read("jax_platforms")
    nj.config.update("jax_platforms", name)
    try:
        assert default_elsewhere()
    finally:
        nj.config.update("jax_platforms", before)
